/* A priority queue of millions of timers. The next ones are in a small binary heap; the rest lie unsorted in
 * buckets by the highest bit in which their time differs from last_ns (radix heap: Ahuja, Mehlhorn, Orlin and
 * Tarjan, 1990). A timer moves between buckets a few times, sequentially in memory, whereas a heap of a
 * million would miss the CPU cache at every level. Times may be added in any order. Not thread safe: the
 * owner's lock. */
#ifndef KVF_ENGINE_ARRIVALS_TIMERS_H
#define KVF_ENGINE_ARRIVALS_TIMERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/heap.h"

struct timers_block;
struct timers {
    struct heap near;                /* due up to last_ns; never empty while there is any */
    uint64_t last_ns;                /* later ones are in buckets */
    uint64_t filled;                 /* a bit for each bucket that has some */
    struct timers_block *bucket[64]; /* by the highest bit in which a time differs from last_ns */
    struct timers_block *spare;      /* empty blocks */
    struct timers_block **slab;      /* all blocks, as they were allocated */
    uint32_t slabs;
    uint64_t near_most; /* with more the heap is spread over the buckets */
};

/* All zeros is an empty one. */
void timers_add(struct timers *t, uint64_t at_ns,
                uint64_t number); /* ends the program when memory is exhausted */
static inline uint64_t timers_next_ns(const struct timers *all) { /* UINT64_MAX when empty */
    return heap_min_key(&all->near);
}
bool timers_next(const struct timers *t, uint64_t *number); /* false: empty */
/* Takes the earliest; of equal times the least number. False: empty. */
bool timers_take(struct timers *t, uint64_t *number, uint64_t *at_ns);
void timers_free(struct timers *t); /* leaves it empty */

#endif
