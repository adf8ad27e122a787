/* The launcher of MPI on this machine, started by the program itself. It starts as many processes as there
 * are ranks; the first of them hands its place to the process that asked for them, which has the terminal,
 * the files of the command line and the shell's attention, and then waits for its end. */
#ifndef KVF_RANK_LAUNCHER_H
#define KVF_RANK_LAUNCHER_H

#include <stdbool.h>

#include "base/err.h"

struct launcher;

/* Starts `ranks` times `argv` (its first word is the program's path) and takes the place of the first: this
 * process is then as if a launcher had started it. -KVF_ERR_USAGE with the launcher's own words where it
 * cannot. Main thread. */
int launcher_start(struct launcher **out, unsigned ranks, char *const argv[], struct err *e);
/* Lets the launcher end, and makes it end after some seconds. Takes NULL. */
void launcher_end(struct launcher *l);
/* At the program's start: true in the process that was started first, once the one that has its place has
 * ended; there is nothing else for it to do then. */
bool launcher_stood_in(void);

#endif
