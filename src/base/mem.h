/* Memory that is there or ends the program, and the way out when there is none. */
#ifndef KVF_BASE_MEM_H
#define KVF_BASE_MEM_H

#include <stddef.h>
#include <string.h>

/* malloc, calloc, realloc and strndup that call mem_exhausted() instead of returning NULL. The caller frees
 * what they return. Any thread. */
void *mem_alloc(size_t len);
void *mem_zalloc(size_t count, size_t size);
void *mem_realloc(void *p, size_t len);
char *mem_strdup(const char *text);
char *mem_strndup(const char *text, size_t most);
/* Makes room for one more item in an array with `count` items and room for `cap`: doubles it when it is full.
 */
#define mem_room(items, count, cap)                                                                          \
    do {                                                                                                     \
        if ((count) < (cap)) break;                                                                          \
        (cap) = (cap) ? 2 * (cap) : 64;                                                                      \
        (items) = mem_realloc((items), (size_t)(cap) * sizeof *(items));                                     \
    } while (0)

/* Advises the kernel that this memory is large and read in random order: huge pages spare most walks through
 * page tables. Pieces without a whole huge page in them are left alone. Any thread. */
void mem_scattered(void *p, size_t len);

/* Prefetches the cache line at p, which is written soon. Without the empty statement gcc takes a function
 * that only calls this for one without effect and drops its calls. */
static inline void mem_soon(const void *p) {
    __asm__ volatile("" : : "r"(p));
    __builtin_prefetch(p, 1);
}
/* Zeroes a few hundred bytes. For a size known at compile time gcc writes rep stos, which takes longer to
 * start than memset() of the C library takes in all. */
static inline void mem_clear(void *p, size_t len) {
    __asm__("" : "+r"(len));
    memset(p, 0, len);
}

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
