/* A binary min-heap of items with a 64-bit key and a 64-bit tie-breaker, so that the order is total
 * and the same on every machine. Zeroed, it is empty. One thread at a time. */
#ifndef KVF_BASE_HEAP_H
#define KVF_BASE_HEAP_H

#include <stdbool.h>
#include <stdint.h>

struct heap_item {
    uint64_t key, tie;
    void *item; /* the caller's; may be NULL */
};
struct heap {
    struct heap_item *items; /* items[0] is the smallest when count > 0 */
    uint64_t count, cap;
};

void heap_push(struct heap *h, uint64_t key, uint64_t tie, void *item); /* ends the program without memory */
void heap_shrink(struct heap *h); /* for heap_pop() alone: the last item goes where the first was */
static inline bool heap_pop(struct heap *h, struct heap_item *out) { /* takes the smallest; false: empty */
    if (h->count == 0) return false;
    *out = h->items[0];
    if (--h->count > 0) heap_shrink(h);
    return true;
}
static inline uint64_t heap_min_key(const struct heap *h) { /* UINT64_MAX when empty */
    return h->count ? h->items[0].key : UINT64_MAX;
}
void heap_free(struct heap *h); /* leaves it empty */

#endif
