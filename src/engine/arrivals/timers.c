#include "engine/arrivals/timers.h"

#include <stdlib.h>

#include "base/buf.h"

enum { BLOCK = 255 }; /* timers in 4 KiB; a bucket of no more goes into the heap as it is */

struct timer {
    uint64_t at_ns, number;
};
struct timers_block {
    struct timers_block *next;
    uint64_t count;
    struct timer timer[BLOCK];
};

static void bucket_add(struct timers *t, uint64_t at_ns, uint64_t number) {
    int b = 63 - __builtin_clzll(at_ns ^ t->last_ns);
    struct timers_block *into = t->bucket[b];
    if (!into || into->count == BLOCK) {
        struct timers_block *fresh = t->spare;
        if (fresh)
            t->spare = fresh->next;
        else
            fresh = mem_alloc(sizeof *fresh);
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

void timers_add(struct timers *t, uint64_t at_ns, uint64_t number) {
    if (t->near.count == 0 && at_ns > t->last_ns) t->last_ns = at_ns; /* the only one */
    place(t, at_ns, number);
}

uint64_t timers_next_ns(const struct timers *t) {
    return heap_min_key(&t->near);
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

static void blocks_free(struct timers_block *from) {
    while (from) {
        struct timers_block *next = from->next;
        free(from);
        from = next;
    }
}

void timers_free(struct timers *t) {
    heap_free(&t->near);
    for (int b = 0; b < 64; b++) blocks_free(t->bucket[b]);
    blocks_free(t->spare);
    *t = (struct timers){0};
}
