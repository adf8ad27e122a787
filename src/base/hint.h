/* Hints to the compiler and the processor about memory, for the few places where they show. Any thread. */
#ifndef KVF_BASE_HINT_H
#define KVF_BASE_HINT_H

#include <stddef.h>
#include <string.h>

/* A hint: what stands there is used soon, and comes from memory meanwhile. The empty statement keeps a
 * function that only calls this from being taken for one without effect, whose calls gcc leaves out. */
static inline void mem_soon(const void *p) {
    __asm__ volatile("" : : "r"(p));
    __builtin_prefetch(p, 1);
}
/* memset() to zero of a few hundred bytes. A size that the compiler knows becomes rep stos, which takes
 * longer to begin than the C library takes for all of it. */
static inline void mem_clear(void *p, size_t len) {
    __asm__("" : "+r"(len));
    memset(p, 0, len);
}

#endif
