#include "cache/policy.h"

#include "base/buf.h"
#include "cache/policy/ordered.h"

/* LFU with dynamic aging: M. Arlitt, L. Cherkasova, J. Dilley, R. Friedrich, T. Jin, "Evaluating Content
 * Management Techniques for Web Proxy Caches", ACM SIGMETRICS Performance Evaluation Review 27(4), 2000.
 * The victim has the least key, which is its number of accesses plus the age of the cache when it was
 * last accessed; the age is the greatest key of a victim so far, so what was popular once does not stay for
 * ever. Among equal keys, which the paper leaves open, the one accessed longest ago falls.
 *
 * Accesses count from the arrival in the tier: an entry that falls into it begins anew. Keys end at
 * 2^28 - 1, where the order is that of accesses alone. */
enum { ACCESS_BITS = 36 };
#define KEY_MOST ((UINT64_C(1) << (64 - ACCESS_BITS)) - 1)

struct policy {
    struct order order; /* by key, then access; a node's word counts the accesses */
    uint64_t age;
};

static struct policy *lfu_open(const struct policy_config *config) {
    struct policy *p = mem_zalloc(1, sizeof *p);
    order_init(&p->order, config->nodes);
    return p;
}

static uint64_t rank_of(const struct policy *p, uint32_t accesses, uint64_t access) {
    uint64_t key = accesses + p->age;
    if (key > KEY_MOST) key = KEY_MOST;
    return key << ACCESS_BITS | (access & ((UINT64_C(1) << ACCESS_BITS) - 1));
}

static void lfu_insert(struct policy *p, uint32_t entry, const struct policy_info *info) {
    (*p->order.nodes)[entry].word = 1;
    order_insert(&p->order, entry, rank_of(p, 1, info->access));
}

static void lfu_touch(struct policy *p, uint32_t entry, const struct policy_info *info) {
    uint32_t *accesses = &(*p->order.nodes)[entry].word;
    if (*accesses < KEY_MOST) ++*accesses;
    order_move(&p->order, entry, rank_of(p, *accesses, info->access));
}

static void lfu_evicted(struct policy *p, struct cache_key key, uint64_t bytes,
                        const struct policy_node *was) {
    (void)key;
    (void)bytes;
    if (was->rank >> ACCESS_BITS > p->age) p->age = was->rank >> ACCESS_BITS;
}

const struct policy_ops policy_lfu = {
    .open = lfu_open,
    .insert = lfu_insert,
    .remove = ordered_remove,
    .restore = ordered_restore,
    .touch = lfu_touch,
    .first = ordered_first,
    .evicted = lfu_evicted,
    .check = ordered_check,
};
