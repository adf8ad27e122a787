#include "cache/policy/ordered.h"

static struct order *order_of(struct policy *p) {
    return (struct order *)(void *)p;
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
