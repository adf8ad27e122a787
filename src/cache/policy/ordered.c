#include "cache/policy/ordered.h"

#include "base/buf.h"

static struct order *order_of(struct policy *p) {
    return (struct order *)(void *)p;
}

struct policy *ordered_open(const struct policy_config *config) {
    struct order *o = mem_zalloc(1, sizeof *o);
    order_init(o, config->nodes);
    return (struct policy *)(void *)o;
}

void ordered_remove(struct policy *p, uint32_t entry) {
    order_remove(order_of(p), entry);
}

void ordered_restore(struct policy *p, uint32_t entry) {
    order_restore(order_of(p), entry);
}

uint32_t ordered_first(struct policy *p, const struct cache_key *incoming) {
    (void)incoming;
    return order_first(order_of(p));
}

bool ordered_check(const struct policy *p, uint64_t *entries) {
    const struct order *o = (const struct order *)(const void *)p;
    *entries = order_count(o);
    return order_check(o);
}
