#include "cache/policy.h"

#include "base/buf.h"
#include "cache/policy/ordered.h"

/* The entry accessed longest ago falls first. */
struct policy {
    struct order order;
};

static struct policy *lru_open(const struct policy_config *config) {
    struct policy *p = mem_zalloc(1, sizeof *p);
    order_init(&p->order, config->nodes);
    return p;
}

static void lru_insert(struct policy *p, uint32_t entry, const struct policy_info *info) {
    order_insert(&p->order, entry, info->access);
}

static void lru_touch(struct policy *p, uint32_t entry, const struct policy_info *info) {
    order_move(&p->order, entry, info->access);
}

const struct policy_ops policy_lru = {
    .open = lru_open,
    .insert = lru_insert,
    .remove = ordered_remove,
    .restore = ordered_restore,
    .touch = lru_touch,
    .first = ordered_first,
    .check = ordered_check,
};
