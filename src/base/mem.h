/* Memory that is there or ends the program, and the way out when there is none. */
#ifndef KVF_BASE_MEM_H
#define KVF_BASE_MEM_H

#include <stddef.h>

/* malloc, calloc, realloc and strndup that call mem_exhausted() instead of returning NULL. The caller frees
 * what they return. Any thread. */
void *mem_alloc(size_t len);
void *mem_zalloc(size_t count, size_t size);
void *mem_realloc(void *p, size_t len);
char *mem_strdup(const char *text);
char *mem_strndup(const char *text, size_t most);

/* Advises the kernel that this memory is large and read in random order: huge pages spare most walks through
 * page tables. Pieces without a whole huge page in them are left alone. Any thread. */
void mem_scattered(void *p, size_t len);

/* Gives private memory new pages with the same content: references to the old pages, in a pipe or a socket,
 * keep what they had. Takes whole pages around the range, which other threads may read meanwhile. Calls
 * mem_exhausted() when there is no memory. Any thread. */
void mem_renew(void *p, size_t len);

/* Ends the process: runs the acts below, prints that `bytes` could not be had, and exits with the status of
 * KVF_ERR_NOMEM. The database keeps what it has; the next start finds the run as crashed. Any thread. */
_Noreturn void mem_exhausted(size_t bytes);

/* Registers something to do before that end, in the order of the calls; at most MEM_ACTS. An act runs once,
 * on the thread that found no memory, beside all others, and may neither allocate nor take a lock.
 * Registering the same act again changes nothing. One thread at a time. */
enum { MEM_ACTS = 4 };
void mem_exhausted_act(void (*act)(void));

/* Sets the function that ends the process with a status, such as _exit(). Without one abort() ends it. Any
 * thread. */
void mem_exhausted_end(void (*end)(int status));

#endif
