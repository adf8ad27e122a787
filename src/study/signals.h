/* Signals of a run or a watch, taken by one thread: SIGINT, SIGTERM and SIGHUP stop it in good order, a
 * second one at once; SIGTSTP pauses it, stops the process and resumes it when it goes on; SIGWINCH is
 * for the screen. Before and after, and in other commands, one ends the process at once. */
#ifndef KVF_STUDY_SIGNALS_H
#define KVF_STUDY_SIGNALS_H

#include <stdbool.h>

#include "base/err.h"
#include "record/command.h"
#include "record/publish.h"

struct ui;

/* Before any other thread is started: they inherit the mask. `slot` tells when the run has paused.
 * Both NULL for a watch: there is no run to stop, only a screen to leave. */
int signals_start(struct command_queue *commands, struct slot *slot, struct err *e);
/* The screen that signals concern from now on, or NULL: then none does when this returns. Any thread. */
void signals_screen(struct ui *ui);
/* Stops the process as SIGTSTP does, until it is continued. Any thread. */
void signals_stop_process(void);
/* While the list of runs has the terminal SIGTSTP is left to it, which asks for it here: whether one has
 * come since it asked last. Any thread. */
void signals_list(bool shown);
bool signals_stop_asked(void);
/* In a forked child: as before signals_start(), and no screen is told. */
void signals_forget(void);
int signals_asked(void); /* the first signal that asked for the end, or 0; any thread */
/* The signal that a sentence ends with, as "stopped by SIGTERM"; 0: none. Any thread. */
int signals_named(const char *sentence);
int signals_stop(void); /* joins the thread; the same. Signals end the process again */
/* From now on SIGINT, SIGTERM, SIGHUP and SIGQUIT end the process as they do by default, but leave no file
 * half-written. What was ignored stays so. */
void signals_end(void);
/* Ends the process at once with a sentence and status 1: the terminal is restored, no file is half-written,
 * and those of the tiers are removed. Any thread. */
void signals_cut_off(const char *why);

#endif
