#include "cache/policy.h"

#include "base/buf.h"

/* SIEVE: Y. Zhang, J. Yang, Y. Yue, Y. Vigfusson, K. V. Rashmi, "SIEVE is Simpler than LRU: an
 * Efficient Turn-Key Eviction Algorithm for Web Caches", NSDI 2024. A queue in the order of arrival;
 * an access sets an entry's bit; the hand goes from the oldest to the newest and round again, takes
 * the first entry whose bit is clear, and clears the bits that it passes. Nothing is moved, so what
 * the hand has passed stays among the old ones, and newcomers are soon met.
 *
 * An entry that falls into the tier is a newcomer. A victim that is put back stands under the hand.
 * An entry that was in use when the hand met it goes back to its place, which is looked for from the
 * hand: as many steps as the hand has taken meanwhile. */
struct policy {
    struct policy_node *const *nodes; /* left is older, right newer; the word is the bit */
    uint32_t oldest, newest;
    uint32_t hand; /* where the search goes on; POLICY_END: at the oldest */
    uint64_t tick, count;
};

static struct policy *sieve_open(const struct policy_config *config) {
    struct policy *p = mem_zalloc(1, sizeof *p);
    *p = (struct policy){
        .nodes = config->nodes, .oldest = POLICY_END, .newest = POLICY_END, .hand = POLICY_END};
    return p;
}

static void sieve_link(struct policy *p, uint32_t entry, uint32_t older, uint32_t newer) {
    struct policy_node *n = *p->nodes;
    n[entry].left = older;
    n[entry].right = newer;
    *(older == POLICY_END ? &p->oldest : &n[older].right) = entry;
    *(newer == POLICY_END ? &p->newest : &n[newer].left) = entry;
    p->count++;
}

static void sieve_insert(struct policy *p, uint32_t entry, const struct policy_info *info) {
    (void)info;
    struct policy_node *n = *p->nodes;
    n[entry].rank = ++p->tick;
    n[entry].word = 0;
    sieve_link(p, entry, p->newest, POLICY_END);
}

static void sieve_remove(struct policy *p, uint32_t entry) {
    struct policy_node *n = *p->nodes;
    uint32_t older = n[entry].left, newer = n[entry].right;
    *(older == POLICY_END ? &p->oldest : &n[older].right) = newer;
    *(newer == POLICY_END ? &p->newest : &n[newer].left) = older;
    if (p->hand == entry) p->hand = newer;
    p->count--;
}

/* The hand is under the entry again if it would have met it next. */
static void sieve_restore(struct policy *p, uint32_t entry) {
    const struct policy_node *n = *p->nodes;
    uint32_t newer = p->hand, older;
    while (newer != POLICY_END && n[newer].rank < n[entry].rank) newer = n[newer].right;
    older = newer == POLICY_END ? p->newest : n[newer].left;
    while (older != POLICY_END && n[older].rank > n[entry].rank) {
        newer = older;
        older = n[older].left;
    }
    bool next = newer == p->hand;
    sieve_link(p, entry, older, newer);
    if (next) p->hand = entry;
}

static void sieve_touch(struct policy *p, uint32_t entry, const struct policy_info *info) {
    (void)info;
    (*p->nodes)[entry].word = 1;
}

static uint32_t sieve_first(struct policy *p, const struct cache_key *incoming) {
    (void)incoming;
    struct policy_node *n = *p->nodes;
    uint32_t at = p->hand == POLICY_END ? p->oldest : p->hand;
    while (at != POLICY_END && n[at].word) {
        n[at].word = 0;
        at = n[at].right == POLICY_END ? p->oldest : n[at].right;
    }
    p->hand = at;
    return at;
}

static bool sieve_check(const struct policy *p, uint64_t *entries) {
    const struct policy_node *n = *p->nodes;
    uint64_t seen = 0;
    uint32_t last = POLICY_END;
    bool met = p->hand == POLICY_END;
    for (uint32_t x = p->oldest; x != POLICY_END; last = x, x = n[x].right) {
        if (++seen > p->count || n[x].left != last || n[x].word > 1) return false;
        if (last != POLICY_END && n[last].rank >= n[x].rank) return false;
        met = met || x == p->hand;
    }
    *entries = seen;
    return seen == p->count && last == p->newest && met;
}

const struct policy_ops policy_sieve = {
    .open = sieve_open,
    .insert = sieve_insert,
    .remove = sieve_remove,
    .restore = sieve_restore,
    .touch = sieve_touch,
    .first = sieve_first,
    .check = sieve_check,
};
