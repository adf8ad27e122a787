#include "cache/policy.h"

#include <stdlib.h>

#include "base/buf.h"
#include "cache/order.h"

/* The entry written first falls first; accesses change nothing. */
struct policy {
    struct order order;
};

static struct policy *fifo_open(const struct policy_config *config) {
    struct policy *p = mem_zalloc(1, sizeof *p);
    order_init(&p->order, config->nodes);
    return p;
}

static void fifo_close(struct policy *p) {
    free(p);
}

static void fifo_insert(struct policy *p, uint32_t entry, const struct policy_info *info) {
    order_insert(&p->order, entry, info->first);
}

static void fifo_remove(struct policy *p, uint32_t entry) {
    order_remove(&p->order, entry);
}

static void fifo_restore(struct policy *p, uint32_t entry) {
    order_restore(&p->order, entry);
}

static void fifo_touch(struct policy *p, uint32_t entry, const struct policy_info *info) {
    (void)p;
    (void)entry;
    (void)info;
}

static uint32_t fifo_first(struct policy *p, const struct cache_key *incoming) {
    (void)incoming;
    return order_first(&p->order);
}

static bool fifo_check(const struct policy *p, uint64_t *entries) {
    *entries = order_count(&p->order);
    return order_check(&p->order);
}

const struct policy_ops policy_fifo = {
    .open = fifo_open,
    .close = fifo_close,
    .insert = fifo_insert,
    .remove = fifo_remove,
    .restore = fifo_restore,
    .touch = fifo_touch,
    .first = fifo_first,
    .check = fifo_check,
};
