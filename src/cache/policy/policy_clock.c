#include "cache/policy.h"

#include "base/buf.h"
#include "cache/policy/ordered.h"

/* CLOCK: F. J. Corbató, "A Paging Experiment with the Multics System", MIT Project MAC report
 * MAC-M-384, 1968. Entries stand in a ring; an access sets an entry's bit; the hand takes the next
 * entry whose bit is clear, and clears the bits that it passes.
 *
 * The ring is cut open at the hand: the first is under it, and what it passes goes to the end. A
 * newcomer, and one that falls into the tier is one, stands behind the hand with its bit clear. */
struct policy {
    struct order ring;
    uint64_t tick; /* position of the last one; a node's word is its bit */
};

static struct policy *clock_open(const struct policy_config *config) {
    struct policy *p = mem_zalloc(1, sizeof *p);
    order_init(&p->ring, config->nodes);
    return p;
}

static void clock_insert(struct policy *p, uint32_t entry, const struct policy_info *info) {
    (void)info;
    (*p->ring.nodes)[entry].word = 0;
    order_insert(&p->ring, entry, ++p->tick);
}

static void clock_touch(struct policy *p, uint32_t entry, const struct policy_info *info) {
    (void)info;
    (*p->ring.nodes)[entry].word = 1;
}

static uint32_t clock_first(struct policy *p, const struct cache_key *incoming) {
    (void)incoming;
    struct policy_node *n = *p->ring.nodes;
    uint32_t entry;
    while ((entry = order_first(&p->ring)) != POLICY_END && n[entry].word) {
        n[entry].word = 0;
        order_move(&p->ring, entry, ++p->tick);
    }
    return entry;
}

const struct policy_ops policy_clock = {
    .open = clock_open,
    .insert = clock_insert,
    .remove = ordered_remove,
    .restore = ordered_restore,
    .touch = clock_touch,
    .first = clock_first,
    .check = ordered_check,
};
