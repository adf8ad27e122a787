/* Hints to the compiler and the processor about memory, for the few places where they show. Any thread. */
#ifndef KVF_BASE_HINT_H
#define KVF_BASE_HINT_H

#include <stddef.h>
#include <string.h>

/* Prefetches the cache line at p, which is written soon. Without the empty statement gcc takes a function
 * that only calls this for one without effect and drops its calls. */
static inline void mem_soon(const void *p) {
    __asm__ volatile("" : : "r"(p));
    __builtin_prefetch(p, 1);
}
/* memset() to zero of a few hundred bytes. For a size that it knows gcc writes rep stos, which takes longer
 * to start than the C library takes for the whole. */
static inline void mem_clear(void *p, size_t len) {
    __asm__("" : "+r"(len));
    memset(p, 0, len);
}

#endif
