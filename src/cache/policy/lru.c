#include "cache/policy.h"

#include <stdlib.h>

#include "base/buf.h"
#include "cache/order.h"

/* The entry accessed longest ago falls first. */
struct policy {
    struct order order;
};

static struct policy *lru_open(const struct policy_config *config) {
    struct policy *p = mem_zalloc(1, sizeof *p);
    order_init(&p->order, config->nodes);
    return p;
}

static void lru_close(struct policy *p) {
    free(p);
}

static void lru_insert(struct policy *p, uint32_t entry, const struct policy_info *info) {
    order_insert(&p->order, entry, info->access);
}

static void lru_remove(struct policy *p, uint32_t entry) {
    order_remove(&p->order, entry);
}

static void lru_restore(struct policy *p, uint32_t entry) {
    order_restore(&p->order, entry);
}

static void lru_touch(struct policy *p, uint32_t entry, const struct policy_info *info) {
    order_move(&p->order, entry, info->access);
}

static uint32_t lru_first(struct policy *p, const struct cache_key *incoming) {
    (void)incoming;
    return order_first(&p->order);
}

static bool lru_check(const struct policy *p, uint64_t *entries) {
    *entries = order_count(&p->order);
    return order_check(&p->order);
}

const struct policy_ops policy_lru = {
    .open = lru_open,
    .close = lru_close,
    .insert = lru_insert,
    .remove = lru_remove,
    .restore = lru_restore,
    .touch = lru_touch,
    .first = lru_first,
    .check = lru_check,
};
