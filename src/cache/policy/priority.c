#include "cache/policy.h"

#include "base/buf.h"
#include "cache/order.h"

/* Priorities that the user gives: P. Cao, E. W. Felten, K. Li, "Implementation and Performance of
 * Application-Controlled File Caching", OSDI 1994, where files have priorities, for a time if so wished, and
 * the least recent of the lowest priority falls. Here the cause and the class of the request that wrote an
 * entry give its priority, by the first rule of cache.priorities that fits; a rule's duration counts from the
 * last access of the entry. Without a rule, and after its time, it is 35.
 *
 * An entry that falls into a tier has its time there anew. Where a rule has a duration, the time of an entry
 * is over no sooner than that of the rule's entries which were accessed before it. Durations are kept to the
 * millisecond, and no time ends after 49 days of the run. */
enum { RULE_SHIFT = 56, NS_PER_MS = 1000000 };

/* One order a rule, and one for the rest. In a node's rank the top byte tells which; its word is the
 * millisecond at which it goes to the rest, UINT32_MAX: never. */
struct policy {
    struct policy_config config;
    struct order order[POLICY_RULES_MAX + 1];
};

static struct policy *priority_open(const struct policy_config *config) {
    struct policy *p = mem_zalloc(1, sizeof *p);
    p->config = *config;
    for (uint32_t r = 0; r <= config->rule_count; r++) order_init(&p->order[r], config->nodes);
    return p;
}

static struct order *order_of(struct policy *p, uint32_t entry) {
    return &p->order[(*p->config.nodes)[entry].rank >> RULE_SHIFT];
}

static uint32_t rule_for(const struct policy *p, const struct policy_info *info) {
    uint32_t r = 0;
    for (; r < p->config.rule_count; r++) {
        const struct policy_rule *rule = &p->config.rules[r];
        if ((rule->cause < 0 || rule->cause == info->cause) &&
            (rule->klass < 0 || rule->klass == info->klass))
            break;
    }
    return r;
}

static uint32_t ends_ms(const struct policy *p, uint32_t r) {
    uint64_t duration = r < p->config.rule_count ? p->config.rules[r].duration_ns : 0;
    uint64_t ms = (*p->config.now_ns + duration) / NS_PER_MS;
    return duration == 0 || ms > UINT32_MAX ? UINT32_MAX : (uint32_t)ms;
}

static void priority_insert(struct policy *p, uint32_t entry, const struct policy_info *info) {
    uint32_t r = rule_for(p, info);
    (*p->config.nodes)[entry].word = ends_ms(p, r);
    order_insert(&p->order[r], entry, (uint64_t)r << RULE_SHIFT | info->access);
}

static void priority_remove(struct policy *p, uint32_t entry) {
    order_remove(order_of(p, entry), entry);
}

static void priority_restore(struct policy *p, uint32_t entry) {
    order_restore(order_of(p, entry), entry);
}

static void priority_touch(struct policy *p, uint32_t entry, const struct policy_info *info) {
    priority_remove(p, entry);
    priority_insert(p, entry, info);
}

static void rule_lapse(struct policy *p, uint32_t r) {
    uint64_t now = *p->config.now_ns / NS_PER_MS;
    uint32_t entry, rest = p->config.rule_count;
    while ((entry = order_first(&p->order[r])) != POLICY_END) {
        struct policy_node *n = &(*p->config.nodes)[entry];
        if (n->word == UINT32_MAX || n->word > now) return;
        order_remove(&p->order[r], entry);
        n->word = UINT32_MAX;
        n->rank &= (UINT64_C(1) << RULE_SHIFT) - 1;
        order_insert(&p->order[rest], entry, n->rank | (uint64_t)rest << RULE_SHIFT);
    }
}

static uint32_t priority_first(struct policy *p, const struct cache_key *incoming) {
    (void)incoming;
    const struct policy_node *n = *p->config.nodes;
    uint32_t best = POLICY_END, lowest = 0;
    uint64_t age = 0;
    for (uint32_t r = 0; r < p->config.rule_count; r++) {
        if (p->config.rules[r].duration_ns) rule_lapse(p, r);
    }
    for (uint32_t r = 0; r <= p->config.rule_count; r++) {
        uint32_t entry = order_first(&p->order[r]);
        if (entry == POLICY_END) continue;
        uint32_t priority = r < p->config.rule_count ? p->config.rules[r].priority : POLICY_PRIORITY;
        uint64_t access = n[entry].rank & ((UINT64_C(1) << RULE_SHIFT) - 1);
        if (best != POLICY_END && (priority > lowest || (priority == lowest && access > age))) continue;
        best = entry;
        lowest = priority;
        age = access;
    }
    return best;
}

static bool priority_check(const struct policy *p, uint64_t *entries) {
    *entries = 0;
    for (uint32_t r = 0; r <= p->config.rule_count; r++) {
        if (!order_check(&p->order[r])) return false;
        *entries += order_count(&p->order[r]);
    }
    return true;
}

const struct policy_ops policy_priority = {
    .open = priority_open,
    .insert = priority_insert,
    .remove = priority_remove,
    .restore = priority_restore,
    .touch = priority_touch,
    .first = priority_first,
    .check = priority_check,
};
