#include "engine/arrivals/timers.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/terms.h"

/* Timers in 4 KiB, a bucket of no more goes into the heap as it is; blocks allocated together at most; and
 * so many in the heap, or twice as many as could not leave it, that some of it goes into buckets. */
enum { BLOCK = 255, SLAB = 512, NEAR = 256 };

struct timer {
    uint64_t at_ns, number;
};
struct timers_block {
    struct timers_block *next;
    uint64_t count;
    struct timer timer[BLOCK];
};

/* Twice as many each time: many timers stand in huge pages. */
static void blocks_grow(struct timers *t) {
    uint32_t n = t->slabs < 9 ? 1u << t->slabs : SLAB;
    struct timers_block *slab = mem_alloc(n * sizeof *slab);
    mem_scattered(slab, n * sizeof *slab);
    for (uint32_t i = n; i-- > 0; t->spare = &slab[i]) slab[i].next = t->spare;
    t->slab = mem_realloc(t->slab, (t->slabs + 1) * sizeof(struct timers_block *));
    t->slab[t->slabs++] = slab;
}

static void bucket_add(struct timers *t, uint64_t at_ns, uint64_t number) {
    int b = 63 - __builtin_clzll(at_ns ^ t->last_ns);
    struct timers_block *into = t->bucket[b];
    if (!into || into->count == BLOCK) {
        if (!t->spare) blocks_grow(t);
        struct timers_block *fresh = t->spare;
        t->spare = fresh->next;
        fresh->next = into;
        fresh->count = 0;
        t->bucket[b] = into = fresh;
        t->filled |= 1ull << b;
    }
    into->timer[into->count++] = (struct timer){at_ns, number};
}

static void place(struct timers *t, uint64_t at_ns, uint64_t number) {
    if (at_ns <= t->last_ns)
        heap_push(&t->near, at_ns, number, NULL);
    else
        bucket_add(t, at_ns, number);
}

static uint64_t block_earliest(const struct timers_block *from) {
    uint64_t least = UINT64_MAX;
    for (; from; from = from->next)
        for (uint64_t i = 0; i < from->count; i++)
            if (from->timer[i].at_ns < least) least = from->timer[i].at_ns;
    return least;
}

/* The heap is empty: the lowest bucket, whose times are before those of all others, goes into it, or if it
 * is large is spread over the buckets below. Those above stay right, for last_ns keeps its higher bits. */
static void near_fill(struct timers *t) {
    while (t->near.count == 0 && t->filled) {
        int b = __builtin_ctzll(t->filled);
        struct timers_block *from = t->bucket[b];
        t->bucket[b] = NULL;
        t->filled &= ~(1ull << b);
        bool few = !from->next;
        t->last_ns = few ? t->last_ns | ((2ull << b) - 1) : block_earliest(from);
        while (from) {
            struct timers_block *next = from->next;
            for (uint64_t i = 0; i < from->count; i++) place(t, from->timer[i].at_ns, from->timer[i].number);
            from->next = t->spare;
            t->spare = from;
            from = next;
        }
    }
}

/* Times in buckets below that of the highest bit in which last_ns goes down differ from it in that bit. */
static void buckets_raise(struct timers *t, int to) {
    for (int b = 0; b < to; b++) {
        while (t->bucket[b]) {
            struct timers_block *block = t->bucket[b];
            t->bucket[b] = block->next;
            block->next = t->bucket[to];
            t->bucket[to] = block;
            t->filled |= 1ull << to;
        }
        t->filled &= ~(1ull << b);
    }
}

/* The heap has become large, as when many begin in any order: only the first of it stays there, and those of
 * the same time. */
static void near_spill(struct timers *t) {
    struct heap all = t->near;
    uint64_t first_ns = heap_min_key(&all);
    if (first_ns < t->last_ns) buckets_raise(t, 63 - __builtin_clzll(first_ns ^ t->last_ns));
    t->last_ns = first_ns;
    t->near = (struct heap){0};
    for (uint64_t i = 0; i < all.count; i++) place(t, all.items[i].key, all.items[i].tie);
    heap_free(&all);
    t->near_most = kvf_max(NEAR, 2 * t->near.count);
}

void timers_add(struct timers *t, uint64_t at_ns, uint64_t number) {
    if (t->near.count == 0 && at_ns > t->last_ns) t->last_ns = at_ns; /* the only one */
    place(t, at_ns, number);
    if (t->near.count > kvf_max(NEAR, t->near_most)) near_spill(t);
}

bool timers_next(const struct timers *t, uint64_t *number) {
    if (t->near.count > 0) *number = t->near.items[0].tie;
    return t->near.count > 0;
}

bool timers_take(struct timers *t, uint64_t *number, uint64_t *at_ns) {
    struct heap_item top;
    if (!heap_pop(&t->near, &top)) return false;
    *number = top.tie;
    *at_ns = top.key;
    near_fill(t);
    return true;
}

void timers_free(struct timers *t) {
    heap_free(&t->near);
    for (uint32_t i = 0; i < t->slabs; i++) free(t->slab[i]);
    free(t->slab);
    *t = (struct timers){0};
}
