#include "base/heap.h"

#include <stdlib.h>

#include "base/buf.h"

/* As one number, without a branch that nobody could foretell. */
static inline bool item_before(const struct heap_item *a, const struct heap_item *b) {
    __extension__ unsigned __int128 x = (unsigned __int128)a->key << 64 | a->tie;
    __extension__ unsigned __int128 y = (unsigned __int128)b->key << 64 | b->tie;
    return x < y;
}

void heap_push(struct heap *h, uint64_t key, uint64_t tie, void *item) {
    mem_room(h->items, h->count, h->cap);
    struct heap_item added = {key, tie, item};
    uint64_t i = h->count++;
    while (i > 0 && item_before(&added, &h->items[(i - 1) / 2])) {
        h->items[i] = h->items[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    h->items[i] = added;
}

void heap_shrink(struct heap *h) {
    struct heap_item last = h->items[h->count];
    uint64_t i = 0;
    for (;;) {
        uint64_t child = 2 * i + 1;
        if (child >= h->count) break;
        if (child + 1 < h->count) child += item_before(&h->items[child + 1], &h->items[child]);
        if (!item_before(&h->items[child], &last)) break;
        h->items[i] = h->items[child];
        i = child;
    }
    h->items[i] = last;
}

void heap_free(struct heap *h) {
    free(h->items);
    *h = (struct heap){0};
}
