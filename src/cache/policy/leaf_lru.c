#include "cache/policy.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "cache/order.h"

/* The leaves of the prefix tree, the one accessed longest ago first: L. Zheng, L. Yin, Z. Xie and others,
 * "SGLang: Efficient Execution of Structured Language Model Programs", NeurIPS 2024 (RadixAttention). A block
 * is of no use without those before it, so one falls only when no block behind it is in the tier.
 *
 * The paper's nodes are pieces of text of any length, here they are blocks. What counts is the tier: blocks
 * behind that have fallen before, to a tier below, keep nothing here. A block in use is out of the tree as
 * long as a search has met it, and so no longer keeps those before it. The parents come from the cache; a
 * block whose parent has gone is a root until a request links it to the one that was written anew. */
#define HERE (UINT32_C(1) << 31) /* in this tier; the other bits count the blocks here that are behind it */

struct policy {
    struct order leaves; /* by rank of the access; the rank of others is in their nodes as well */
    struct policy_config config;
    uint32_t *state; /* by entry, of this tier or not */
    uint32_t cap;
    uint64_t count;
};

static struct policy *leaf_lru_open(const struct policy_config *config) {
    struct policy *p = mem_zalloc(1, sizeof *p);
    p->config = *config;
    order_init(&p->leaves, config->nodes);
    return p;
}

static void leaf_lru_close(struct policy *p) {
    free(p->state);
    free(p);
}

static void leaf_lru_begins(struct policy *p, uint32_t entry) {
    if (entry >= p->cap) {
        uint32_t cap = entry + entry / 8 + 4096;
        p->state = mem_realloc(p->state, cap * sizeof *p->state);
        memset(p->state + p->cap, 0, (cap - p->cap) * sizeof *p->state);
        p->cap = cap;
    }
    p->state[entry] = 0;
}

static void leaf_lru_restore(struct policy *p, uint32_t entry) {
    uint32_t parent = p->config.parent_of(p->config.entries, entry);
    p->state[entry] |= HERE;
    p->count++;
    if (p->state[entry] == HERE) order_restore(&p->leaves, entry);
    if (parent == POLICY_END) return;
    if (p->state[parent] == HERE) order_remove(&p->leaves, parent);
    p->state[parent]++;
}

static void leaf_lru_insert(struct policy *p, uint32_t entry, const struct policy_info *info) {
    (*p->config.nodes)[entry].rank = info->access;
    leaf_lru_restore(p, entry);
}

static void leaf_lru_remove(struct policy *p, uint32_t entry) {
    uint32_t parent = p->config.parent_of(p->config.entries, entry);
    if (p->state[entry] == HERE) order_remove(&p->leaves, entry);
    p->state[entry] &= ~HERE;
    p->count--;
    if (parent == POLICY_END) return;
    p->state[parent]--;
    if (p->state[parent] == HERE) order_restore(&p->leaves, parent);
}

static void leaf_lru_touch(struct policy *p, uint32_t entry, const struct policy_info *info) {
    if (p->state[entry] == HERE)
        order_move(&p->leaves, entry, info->access);
    else
        (*p->config.nodes)[entry].rank = info->access;
}

/* Without leaves the blocks follow one another in circles, as no prefixes do: any order will do. */
static uint32_t any_first(const struct policy *p) {
    const struct policy_node *n = *p->config.nodes;
    uint32_t best = POLICY_END;
    for (uint32_t i = 0; i < p->cap; i++) {
        if (p->state[i] & HERE && (best == POLICY_END || policy_before(n, i, best))) best = i;
    }
    return best;
}

static uint32_t leaf_lru_first(struct policy *p, const struct cache_key *incoming) {
    (void)incoming;
    uint32_t entry = order_first(&p->leaves);
    return entry == POLICY_END && p->count > 0 ? any_first(p) : entry;
}

static bool leaf_lru_check(const struct policy *p, uint64_t *entries) {
    uint64_t here = 0, leaves = 0;
    for (uint32_t i = 0; i < p->cap && here < p->count; i++) {
        here += (p->state[i] & HERE) != 0;
        leaves += p->state[i] == HERE;
    }
    *entries = p->count;
    return here == p->count && leaves == order_count(&p->leaves) && order_check(&p->leaves);
}

static size_t leaf_lru_memory(const struct policy *p) {
    return p->cap * sizeof *p->state;
}

const struct policy_ops policy_leaf_lru = {
    .open = leaf_lru_open,
    .close = leaf_lru_close,
    .insert = leaf_lru_insert,
    .remove = leaf_lru_remove,
    .restore = leaf_lru_restore,
    .touch = leaf_lru_touch,
    .first = leaf_lru_first,
    .begins = leaf_lru_begins,
    .check = leaf_lru_check,
    .memory = leaf_lru_memory,
};
