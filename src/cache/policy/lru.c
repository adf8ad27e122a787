#include "cache/policy.h"

#include "cache/policy/ordered.h"

/* The entry accessed longest ago falls first. */
struct policy {
    struct order order;
};

static void lru_insert(struct policy *p, uint32_t entry, const struct policy_info *info) {
    order_insert(&p->order, entry, info->access);
}

static void lru_touch(struct policy *p, uint32_t entry, const struct policy_info *info) {
    order_move(&p->order, entry, info->access);
}

static uint32_t lru_neighbour(const struct policy *p, uint32_t entry, bool behind) {
    return order_neighbour(&p->order, entry, behind);
}

static void lru_beside(struct policy *p, uint32_t entry, uint32_t at, bool behind) {
    order_beside(&p->order, entry, at, behind);
}

const struct policy_ops policy_lru = {
    .open = ordered_open,
    .insert = lru_insert,
    .remove = ordered_remove,
    .restore = ordered_restore,
    .touch = lru_touch,
    .first = ordered_first,
    .neighbour = lru_neighbour,
    .beside = lru_beside,
    .check = ordered_check,
};
