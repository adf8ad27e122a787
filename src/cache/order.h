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

/* Entries come in sequences, and two of them at a time: those that are new here, and those accessed again. */
enum order_hint { ORDER_NEW, ORDER_AGAIN, ORDER_HINTS };

struct order {
    struct policy_node *const *nodes; /* the owner's; may be reallocated between calls */
    uint32_t head, tail;              /* of the list; left and right lead to the one before and behind */
    uint32_t hint[ORDER_HINTS];       /* put into it last, or what stood beside that */
    uint64_t listed;                  /* entries in the list */
    struct treap rest;
};

void order_init(struct order *o, struct policy_node *const *nodes); /* empty; keeps `nodes` */
void order_insert(struct order *o, uint32_t entry, uint64_t rank);  /* must not be in it */
void order_remove(struct order *o, uint32_t entry);              /* must be in it; leaves its rank and word */
void order_restore(struct order *o, uint32_t entry);             /* puts it back with the rank it has */
void order_move(struct order *o, uint32_t entry, uint64_t rank); /* must be in it; gives it another rank */
/* The one before or behind an entry in the list; POLICY_END: none, or it is in the treap. */
uint32_t order_neighbour(const struct order *o, uint32_t entry, bool behind);
/* Puts an entry right before or behind another one, where the rank in its node belongs. */
void order_beside(struct order *o, uint32_t entry, uint32_t at, bool behind);
uint32_t order_first(const struct order *o);                /* POLICY_END when it is empty */
uint32_t order_next(const struct order *o, uint32_t entry); /* O(n) at worst */
/* Walks everything: whether order, links, ends and count are right. */
bool order_check(const struct order *o);

static inline uint64_t order_count(const struct order *o) {
    return o->listed + o->rest.count;
}

#endif
