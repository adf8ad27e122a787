/* A sequence of entries sorted by (rank, entry): a treap in the nodes that the entries carry, held
 * at both ends. Appending behind the last is expected O(1), so is removing; inserting anywhere else
 * costs O(log of the distance to the end). An entry's priority is a hash of its index, so the shape
 * depends on the content alone. POLICY_END stands for no entry. Caller's lock. */
#ifndef KVF_CACHE_TREAP_H
#define KVF_CACHE_TREAP_H

#include <stdbool.h>
#include <stdint.h>

#include "cache/policy.h"

struct treap {
    struct policy_node *const *nodes; /* the owner's; may be reallocated between calls */
    uint32_t root, min, max;          /* POLICY_END when empty */
    uint64_t count;                   /* entries in it */
};

void treap_init(struct treap *t, struct policy_node *const *nodes); /* empty; keeps `nodes` */
void treap_insert(struct treap *t, uint32_t entry);         /* its node has a rank; must not be in it */
void treap_remove(struct treap *t, uint32_t entry);         /* must be in it; leaves its rank and word */
uint32_t treap_next(const struct treap *t, uint32_t entry); /* the one after it; POLICY_END: it is the last */
/* Walks everything: whether order, heap order, links, ends and count are right. */
bool treap_check(const struct treap *t);

/* The order: by rank, then by the number of the entry. */
static inline bool policy_before(const struct policy_node *n, uint32_t a, uint32_t b) {
    return n[a].rank != n[b].rank ? n[a].rank < n[b].rank : a < b;
}

#endif
