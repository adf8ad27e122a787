/* Signals of a run, taken by one thread: SIGINT, SIGTERM and SIGHUP stop it in good order, a second
 * one at once; SIGTSTP pauses it, stops the process and resumes it when it goes on. */
#ifndef KVF_CLI_SIGNALS_H
#define KVF_CLI_SIGNALS_H

#include "base/err.h"
#include "record/command.h"
#include "record/publish.h"

/* Before any other thread is started: they inherit the mask. `slot` tells when the run has paused. */
int signals_start(struct command_queue *commands, struct slot *slot, struct err *e);
int signals_stop(void); /* joins the thread; the first signal that asked for the end, or 0 */

#endif
