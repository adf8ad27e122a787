#include "cache/policy.h"

#include <stdlib.h>

#include "base/buf.h"
#include "cache/ghost.h"
#include "cache/policy/segments.h"

/* 2Q, the full version: T. Johnson, D. Shasha, "2Q: A Low Overhead High Performance Buffer Management
 * Replacement Algorithm", VLDB 1994. Newcomers go through a queue, A1in, in which accesses count for
 * nothing; what falls out of it is remembered in A1out; what comes back while it is remembered goes to
 * Am, which is an LRU. The victim is the oldest of A1in while that has more than its share.
 *
 * A1in's share is a quarter of the tier's bytes, A1out remembers as much as half of them would hold,
 * and at most 4,194,304 keys. What comes back has left A1out before its victim enters it; the paper leaves
 * that order open, and libCacheSim has it so. An entry that falls into the tier is a newcomer, or comes back.
 */
enum { A1IN, AM, A1OUT = 0 };
struct policy {
    struct segments s;
    struct ghosts ghosts; /* A1out */
    uint64_t share, remembered;
    struct ghosts back; /* who victims were sought for when it was remembered, and is not there yet */
};

static struct policy *twoq_open(const struct policy_config *config) {
    struct policy *p = mem_zalloc(1, sizeof *p);
    segments_init(&p->s, config);
    ghosts_open(&p->ghosts, GHOSTS_MAX);
    ghosts_open(&p->back, GHOSTS_BACK);
    p->share = config->usable_bytes / 4;
    p->remembered = config->usable_bytes / 2;
    return p;
}

static void twoq_close(struct policy *p) {
    ghosts_close(&p->ghosts);
    ghosts_close(&p->back);
    free(p);
}

static void twoq_insert(struct policy *p, uint32_t entry, const struct policy_info *info) {
    bool back = ghosts_find(&p->back, info->key, NULL) >= 0 || ghosts_find(&p->ghosts, info->key, NULL) >= 0;
    segments_append(&p->s, entry, back ? AM : A1IN);
}

static void twoq_touch(struct policy *p, uint32_t entry, const struct policy_info *info) {
    (void)info;
    if (*segments_word(&p->s, entry) != AM) return;
    segments_remove(&p->s, entry);
    segments_append(&p->s, entry, AM);
}

static uint32_t twoq_first(struct policy *p, const struct cache_key *incoming) {
    if (incoming && ghosts_remove(&p->ghosts, *incoming)) ghosts_add(&p->back, *incoming, 0, 0);
    uint32_t in = segments_first(&p->s, A1IN), main = segments_first(&p->s, AM);
    if (main == POLICY_END || (in != POLICY_END && p->s.bytes[A1IN] > p->share)) return in;
    return main;
}

static void twoq_admitted(struct policy *p, const struct policy_info *info) {
    ghosts_remove(&p->ghosts, info->key);
    ghosts_remove(&p->back, info->key);
}

static void twoq_evicted(struct policy *p, struct cache_key key, uint64_t bytes,
                         const struct policy_node *was) {
    if (was->word != A1IN) return;
    ghosts_add_new(&p->ghosts, key, bytes, A1OUT);
    ghosts_trim(&p->ghosts, A1OUT, p->remembered);
}

static bool twoq_check(const struct policy *p, uint64_t *entries) {
    return segments_check(&p->s, entries) && ghosts_check(&p->ghosts) && ghosts_check(&p->back) &&
           ghosts_bytes(&p->ghosts, A1OUT) <= p->remembered;
}

static size_t twoq_memory(const struct policy *p) {
    return ghosts_memory(&p->ghosts) + ghosts_memory(&p->back);
}

const struct policy_ops policy_twoq = {
    .open = twoq_open,
    .close = twoq_close,
    .insert = twoq_insert,
    .remove = segments_policy_remove,
    .restore = segments_policy_restore,
    .touch = twoq_touch,
    .first = twoq_first,
    .admitted = twoq_admitted,
    .evicted = twoq_evicted,
    .check = twoq_check,
    .memory = twoq_memory,
};
