#include "cache/policy.h"

#include "cache/policy/ordered.h"

/* The entry written first falls first; accesses change nothing. */
struct policy {
    struct order order;
};

static void fifo_insert(struct policy *p, uint32_t entry, const struct policy_info *info) {
    order_insert(&p->order, entry, info->first);
}

static void fifo_touch(struct policy *p, uint32_t entry, const struct policy_info *info) {
    (void)p;
    (void)entry;
    (void)info;
}

const struct policy_ops policy_fifo = {
    .open = ordered_open,
    .insert = fifo_insert,
    .remove = ordered_remove,
    .restore = ordered_restore,
    .touch = fifo_touch,
    .first = ordered_first,
    .check = ordered_check,
};
