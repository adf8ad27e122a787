/* A sequence of entries sorted by (rank, entry): a treap in the nodes that the entries carry, held
 * at both ends. Appending behind the last is expected O(1), so is removing; inserting anywhere else
 * costs O(log of the distance to the end). An entry's priority is a hash of its index, so the shape
 * depends on the content alone: taking changes back restores it exactly.
 * One caller at a time. Entries are POLICY_END where there is none. */
#ifndef KVF_CACHE_ORDER_H
#define KVF_CACHE_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "cache/policy.h"

struct order {
    struct policy_node *const *nodes; /* the owner's; may be reallocated between calls */
    uint32_t root, min, max;          /* POLICY_END when empty */
    uint64_t count;                   /* entries in it */
};

void order_init(struct order *o, struct policy_node *const *nodes);
void order_insert(struct order *o, uint32_t entry, uint64_t rank); /* must not be in it */
void order_remove(struct order *o, uint32_t entry);              /* must be in it; leaves its rank and word */
void order_restore(struct order *o, uint32_t entry);             /* puts it back with the rank it has */
void order_move(struct order *o, uint32_t entry, uint64_t rank); /* must be in it; gives it another rank */
uint32_t order_next(const struct order *o, uint32_t entry);
/* Walks everything: sorted, heap-ordered, links and ends right, as many as counted. */
bool order_check(const struct order *o);

static inline uint32_t order_first(const struct order *o) {
    return o->min;
}

#endif
