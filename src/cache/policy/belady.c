#include "cache/policy.h"

#include "cache/policy/ordered.h"

/* The offline optimum: L. A. Belady, "A Study of Replacement Algorithms for a Virtual-Storage Computer",
 * IBM Systems Journal 5(2), 1966 (MIN). The victim is the entry that is accessed again last of all; it
 * needs a trace that is known. Those that are never accessed again fall first, the one accessed longest ago
 * before the others, and so does what nothing is known of.
 *
 * No policy hits more with entries of one size in one tier where everything is admitted. With entries of
 * several sizes it is a strong yardstick, but not the optimum, which is NP-hard. */
#define LATER (UINT64_C(1) << 63)

struct policy {
    struct order order;
};

static uint64_t rank_of(const struct policy_info *info) {
    if (info->next_use == 0 || info->next_use >= LATER) return info->access & (LATER - 1);
    return UINT64_MAX - info->next_use;
}

static void belady_insert(struct policy *p, uint32_t entry, const struct policy_info *info) {
    order_insert(&p->order, entry, rank_of(info));
}

static void belady_touch(struct policy *p, uint32_t entry, const struct policy_info *info) {
    order_move(&p->order, entry, rank_of(info));
}

const struct policy_ops policy_belady = {
    .open = ordered_open,
    .insert = belady_insert,
    .remove = ordered_remove,
    .restore = ordered_restore,
    .touch = belady_touch,
    .first = ordered_first,
    .check = ordered_check,
};
