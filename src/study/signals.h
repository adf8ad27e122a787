/* Signals of a run or a watch, handled by one thread: SIGINT, SIGTERM and SIGHUP stop it in good order, a
 * second one at once; SIGTSTP pauses it, stops the process and resumes the run when the process continues;
 * SIGWINCH is for the screen. Before and after, and in other commands, a signal ends the process at once. */
#ifndef KVF_STUDY_SIGNALS_H
#define KVF_STUDY_SIGNALS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "record/command.h"
#include "record/publish.h"

struct ui;

/* Call it before any other thread is started, as threads inherit the mask. `slot` tells when the run has
 * paused. Both NULL for a watch, which has no run to stop. 0 or a negative code. */
int signals_start(struct command_queue *commands, struct slot *slot, struct err *e);
/* Sets the screen that signals are for; after a call with NULL no signal reaches a screen. Any thread. */
void signals_screen(struct ui *ui);
/* Stops the process as SIGTSTP does, until it is continued. Any thread. */
void signals_stop_process(void);
/* While the list of runs has the terminal (shown), it handles SIGTSTP itself: signals_stop_asked() tells
 * whether one has come since the last call. Any thread. */
void signals_list(bool shown);
bool signals_stop_asked(void);
/* In a forked child: restores the state before signals_start(). */
void signals_forget(void);
int signals_asked(void); /* the first signal that asked for the end, or 0; any thread */
/* The signal named at the end of a sentence such as "stopped by SIGTERM"; 0: none. Any thread. */
int signals_named(const char *sentence);
int signals_stop(void); /* joins the thread; returns signals_asked(). Signals end the process again */
/* Sets a handler for signals, except those that are ignored. */
void signals_handle(const int *numbers, size_t count, void (*handler)(int number), int flags);
/* From now on SIGINT, SIGTERM, SIGHUP and SIGQUIT end the process as by default, but leave no file
 * half-written. Ignored signals stay ignored. */
void signals_end(void);
/* Ends the process at once with a sentence and status 1: restores the terminal, leaves no file half-written,
 * and removes the files of the tiers. Any thread. */
void signals_cut_off(const char *why);

#endif
