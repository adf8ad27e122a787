/* The process's end at once, by its own will or by that of a library. */
#ifndef KVF_STUDY_RANKS_EXIT_H
#define KVF_STUDY_RANKS_EXIT_H

/* _exit() of this program's own code, which calls no hook. Any thread; allowed in a signal handler. */
_Noreturn void exit_now(int status);
/* From now on `hook` is called, once, when a library ends this process by _exit(), in the library's thread.
 * It may end the process itself; if it returns, the library's status stands. NULL: no more. A fork has none.
 */
void exit_hook(void (*hook)(void));

#endif
