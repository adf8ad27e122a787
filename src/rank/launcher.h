/* The MPI launcher of this machine, started by the program itself. It starts one process for each rank. The
 * first of them hands its place to the process that the user started, which has the terminal and the files of
 * the command line, and then waits for it to end. */
#ifndef KVF_RANK_LAUNCHER_H
#define KVF_RANK_LAUNCHER_H

#include <stdbool.h>

#include "base/err.h"

struct launcher;

/* Starts `ranks` times `argv` (its first word is the program's path), takes the place of the first, and waits
 * for the others' launcher_ready(): this process is then as if a launcher had started it. -KVF_ERR_USAGE with
 * the launcher's own words where it cannot. Main thread. */
int launcher_start(struct launcher **out, unsigned ranks, char *const argv[], struct err *e);
/* 0 while all the processes that it has started live, or are yet to come; -KVF_ERR_USAGE with their words
 * when one of them ended before it joined the others. Takes NULL. Main thread. */
int launcher_check(struct launcher *l, struct err *e);
/* All have joined: from here on they look after each other. Takes NULL. */
void launcher_joined(struct launcher *l);
/* A descriptor that becomes readable when the first process or the launcher is gone; -1 for NULL. */
int launcher_fd(const struct launcher *l);
/* Asks the launcher to end all that it has started, and waits for nothing. Takes NULL. Any thread. */
void launcher_stop(const struct launcher *l);
/* False once the launcher has ended. Any thread, until launcher_end(). */
bool launcher_lives(const struct launcher *l);
/* Waits some seconds for the launcher to end, then kills it. Takes NULL. */
void launcher_end(struct launcher *l);
/* At the program's start: true in the first process, once the process that took its place has ended; it then
 * has nothing else to do. In the others it opens the connection that shows that they are alive. */
bool launcher_stood_in(void);
/* Before rank_join(), in a process that may have been started so. */
void launcher_ready(void);
/* A process found itself alone: 0 if it was meant to be. Another MPI's launcher than that of `library` starts
 * processes each of which is alone: strangers, not one run; -KVF_ERR_USAGE with the remedy. */
int launcher_alone(const char *library, struct err *e);

#endif
