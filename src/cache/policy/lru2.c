#include "cache/policy.h"

#include <stdlib.h>

#include "base/buf.h"
#include "cache/policy/ordered.h"

/* LRU-2: E. J. O'Neil, P. E. O'Neil and G. Weikum, "The LRU-K Page Replacement Algorithm for Database Disk
 * Buffering", SIGMOD 1993, with K = 2 and without a correlated reference period or retained history. Entries
 * with one access in the tier fall first, the least recent before the others; then those whose access before
 * the last is oldest. The rank of an entry is that access, above all ranks of entries with one. */
struct policy {
    struct order order;
    uint64_t *last; /* access of each entry */
    uint32_t cap;   /* entries that `last` has room for */
};

enum { LEAST_CAP = 1024 };
#define TWICE (UINT64_C(1) << 63)

static struct policy *lru2_open(const struct policy_config *config) {
    struct policy *p = mem_zalloc(1, sizeof *p);
    order_init(&p->order, config->nodes);
    return p;
}

static void lru2_close(struct policy *p) {
    free(p->last);
    free(p);
}

static void lru2_insert(struct policy *p, uint32_t entry, const struct policy_info *info) {
    if (entry >= p->cap) {
        p->cap = entry < LEAST_CAP / 2 ? LEAST_CAP : 2 * entry;
        p->last = mem_realloc(p->last, p->cap * sizeof *p->last);
    }
    p->last[entry] = info->access;
    order_insert(&p->order, entry, info->access);
}

static void lru2_touch(struct policy *p, uint32_t entry, const struct policy_info *info) {
    uint64_t before = p->last[entry];
    p->last[entry] = info->access;
    order_move(&p->order, entry, TWICE | before);
}

static size_t lru2_memory(const struct policy *p) {
    return p->cap * sizeof *p->last;
}

const struct policy_ops policy_lru2 = {
    .open = lru2_open,
    .close = lru2_close,
    .insert = lru2_insert,
    .remove = ordered_remove,
    .restore = ordered_restore,
    .touch = lru2_touch,
    .first = ordered_first,
    .check = ordered_check,
    .memory = lru2_memory,
};
