#include "cache/policy.h"

#include "base/buf.h"
#include "cache/policy/ordered.h"

/* Time to live: J. Jung, A. W. Berger, H. Balakrishnan, "Modeling TTL-based Internet Caches", INFOCOM 2003.
 * An entry leaves the cache when it has not been accessed for cache.ttl; when room is needed before, the one
 * whose time is up first falls. Where the paper's entries live from their retrieval, here each access begins
 * the time anew, as providers of prompt caches do, and so does the arrival in the tier: an entry that falls
 * into it lives there for cache.ttl at least, room permitting.
 *
 * Times are kept to the microsecond, for 834 days: longer than a run and its warmup may be. */
enum { TICK_BITS = 18, TIME_SHIFT = 10 };

struct policy {
    struct order order; /* by time, and by turn within 1024 ns */
    struct policy_config config;
    uint64_t tick;
};

static struct policy *ttl_open(const struct policy_config *config) {
    struct policy *p = mem_zalloc(1, sizeof *p);
    p->config = *config;
    order_init(&p->order, config->nodes);
    return p;
}

static uint64_t rank_now(struct policy *p) {
    uint64_t tick = ++p->tick & ((UINT64_C(1) << TICK_BITS) - 1);
    return *p->config.now_ns >> TIME_SHIFT << TICK_BITS | tick;
}

static void ttl_insert(struct policy *p, uint32_t entry, const struct policy_info *info) {
    (void)info;
    order_insert(&p->order, entry, rank_now(p));
}

static void ttl_touch(struct policy *p, uint32_t entry, const struct policy_info *info) {
    (void)info;
    order_move(&p->order, entry, rank_now(p));
}

static uint32_t ttl_expired(struct policy *p) {
    uint32_t entry = order_first(&p->order);
    if (entry == POLICY_END) return entry;
    uint64_t since = (*p->config.nodes)[entry].rank >> TICK_BITS << TIME_SHIFT;
    return since + p->config.ttl_ns <= *p->config.now_ns ? entry : POLICY_END;
}

const struct policy_ops policy_ttl = {
    .open = ttl_open,
    .insert = ttl_insert,
    .remove = ordered_remove,
    .restore = ordered_restore,
    .touch = ttl_touch,
    .first = ordered_first,
    .expired = ttl_expired,
    .check = ordered_check,
};
