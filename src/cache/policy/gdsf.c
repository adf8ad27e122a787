#include "cache/policy.h"

#include "base/buf.h"
#include "cache/policy/ordered.h"

/* Greedy-Dual-Size-Frequency: L. Cherkasova, "Improving WWW Proxies Performance with
 * Greedy-Dual-Size-Frequency Caching Policy", Hewlett-Packard Laboratories report HPL-98-69 (R.1), 1998.
 * The victim has the least worth, which is
 *     age of the cache when it was last accessed + accesses x cost / size,
 * and the age is the greatest worth of a victim so far.
 *
 * The cost of a miss has a fixed part and one that grows with the size, as has the paper's that counts
 * packets: 1 and 1 for each MiB. So cost / size is 1 + 1 MiB / size, kept in 1/1024: small entries are worth
 * more, by their byte, and large ones no less than their accesses. Among equals the one accessed longest ago
 * falls. Accesses count from the arrival in the tier. Worths end at 2^28 - 1, where the order is that
 * of accesses alone. */
enum { ACCESS_BITS = 26, PARTS = 1024 };
#define WORTH_MOST ((UINT64_C(1) << (64 - ACCESS_BITS)) - 1)
#define UNIT       (UINT64_C(1) << 20)

struct policy {
    struct order order; /* by worth, then access; a node's word counts the accesses */
    uint64_t age;
};

static struct policy *gdsf_open(const struct policy_config *config) {
    struct policy *p = mem_zalloc(1, sizeof *p);
    order_init(&p->order, config->nodes);
    return p;
}

static uint64_t rank_of(const struct policy *p, uint32_t accesses, const struct policy_info *info) {
    uint64_t bytes = info->bytes ? info->bytes : 1;
    uint64_t worth = p->age + accesses * (PARTS + PARTS * UNIT / bytes);
    if (worth > WORTH_MOST) worth = WORTH_MOST;
    return worth << ACCESS_BITS | (info->access & ((UINT64_C(1) << ACCESS_BITS) - 1));
}

static void gdsf_insert(struct policy *p, uint32_t entry, const struct policy_info *info) {
    (*p->order.nodes)[entry].word = 1;
    order_insert(&p->order, entry, rank_of(p, 1, info));
}

static void gdsf_touch(struct policy *p, uint32_t entry, const struct policy_info *info) {
    uint32_t *accesses = &(*p->order.nodes)[entry].word;
    if (*accesses < UINT32_MAX) ++*accesses;
    order_move(&p->order, entry, rank_of(p, *accesses, info));
}

static void gdsf_evicted(struct policy *p, struct cache_key key, uint64_t bytes,
                         const struct policy_node *was) {
    (void)key;
    (void)bytes;
    if (was->rank >> ACCESS_BITS > p->age) p->age = was->rank >> ACCESS_BITS;
}

const struct policy_ops policy_gdsf = {
    .open = gdsf_open,
    .insert = gdsf_insert,
    .remove = ordered_remove,
    .restore = ordered_restore,
    .touch = gdsf_touch,
    .first = ordered_first,
    .evicted = gdsf_evicted,
    .check = ordered_check,
};
