/* The way out when memory is exhausted where nothing can go on without it. */
#ifndef KVF_BASE_EXHAUSTED_H
#define KVF_BASE_EXHAUSTED_H

#include <stddef.h>

/* Something that must be done before such an end, in the order of the calls; at most EXHAUSTED_ACTS. It runs
 * once, on whatever thread found no memory, beside all others, and may neither allocate nor take a lock.
 * Giving the same act again changes nothing. One thread at a time. */
enum { EXHAUSTED_ACTS = 4 };
void exhausted_act(void (*act)(void));

/* Sets the function that ends the process with a status, such as _exit(); unset, abort() ends it. */
void exhausted_end(void (*end)(int status));

/* Does what was asked for, says that `bytes` could not be had, and ends the process with the status of
 * KVF_ERR_NOMEM. What the database has stays there: a run is found by the next start as one that crashed. Any
 * thread. */
_Noreturn void memory_exhausted(size_t bytes);

#endif
