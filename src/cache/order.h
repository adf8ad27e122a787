/* A sequence of entries sorted by (rank, entry), made for ranks that nearly always grow. Entries appended, or
 * inserted near the end or near the last insertion, go into a list in O(1); all others into a treap. The
 * first is the lesser of the two firsts, so the order does not depend on where an entry stands. No call is
 * expected to cost more than O(log n). POLICY_END stands for no entry. Caller's lock. */
#ifndef KVF_CACHE_ORDER_H
#define KVF_CACHE_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "cache/policy.h"
#include "cache/treap.h"

struct order {
    struct policy_node *const *nodes; /* the owner's; may be reallocated between calls */
    uint32_t head, tail;              /* of the list; left and right lead to the one before and behind */
    uint32_t hint;                    /* inserted into it last, or what stood beside that */
    uint64_t listed;                  /* entries in the list */
    struct treap rest;
};

void order_init(struct order *o, struct policy_node *const *nodes); /* empty; keeps `nodes` */
void order_insert(struct order *o, uint32_t entry, uint64_t rank);  /* must not be in it */
void order_remove(struct order *o, uint32_t entry);              /* must be in it; leaves its rank and word */
void order_restore(struct order *o, uint32_t entry);             /* puts it back with the rank it has */
void order_move(struct order *o, uint32_t entry, uint64_t rank); /* must be in it; gives it another rank */
uint32_t order_first(const struct order *o);                     /* POLICY_END when it is empty */
uint32_t order_next(const struct order *o, uint32_t entry);      /* O(n) at worst */
/* Walks everything: whether order, links, ends and count are right. */
bool order_check(const struct order *o);

static inline uint64_t order_count(const struct order *o) {
    return o->listed + o->rest.count;
}

#endif
