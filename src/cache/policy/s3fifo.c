#include "cache/policy.h"

#include <stdlib.h>

#include "base/buf.h"
#include "cache/ghost.h"
#include "cache/policy/segments.h"

/* S3-FIFO: J. Yang, Y. Zhang, Z. Qiu, Y. Yue, K. V. Rashmi, "FIFO Queues are All You Need for Cache
 * Eviction", SOSP 2023. Newcomers go into a small queue; at its end those that were accessed more than
 * once go on to the main queue, the others out, and their keys are remembered; what comes back while it
 * is remembered goes to the main queue at once. At the end of the main queue an entry that was accessed
 * goes round again, with one access less; accesses are counted up to three.
 *
 * The small queue has a tenth of the tier's bytes, and as many bytes are remembered as the main queue
 * has, at most 4,194,304 keys. The paper's search puts an entry of the main queue out when one that
 * goes on makes it too long; here the next victim comes from the queue that is too long, which is the
 * same for entries of one size. An entry that falls into the tier is a newcomer, or comes back. */
enum { SMALL, MAIN, ACCESS = SEGMENT_BIT + 1, ACCESSES_MOST = 3 };
struct policy {
    struct segments s; /* the accesses are in the word, above the segment */
    struct ghosts ghosts;
    uint64_t share, remembered;
};

static struct policy *s3fifo_open(const struct policy_config *config) {
    struct policy *p = mem_zalloc(1, sizeof *p);
    segments_init(&p->s, config);
    ghosts_open(&p->ghosts, GHOSTS_MAX);
    p->share = config->usable_bytes / 10;
    p->remembered = config->usable_bytes - p->share;
    return p;
}

static void s3fifo_close(struct policy *p) {
    ghosts_close(&p->ghosts);
    free(p);
}

static void s3fifo_insert(struct policy *p, uint32_t entry, const struct policy_info *info) {
    segments_append(&p->s, entry, ghosts_find(&p->ghosts, info->key, NULL) >= 0 ? MAIN : SMALL);
}

static void s3fifo_touch(struct policy *p, uint32_t entry, const struct policy_info *info) {
    (void)info;
    uint32_t *word = segments_word(&p->s, entry);
    if (*word / ACCESS < ACCESSES_MOST) *word += ACCESS;
}

/* To the end of the main queue with so many accesses. */
static void go_on(struct policy *p, uint32_t entry, uint32_t accesses) {
    segments_remove(&p->s, entry);
    segments_append(&p->s, entry, MAIN);
    *segments_word(&p->s, entry) += accesses * ACCESS;
}

static uint32_t s3fifo_first(struct policy *p, const struct cache_key *incoming) {
    (void)incoming;
    for (;;) {
        uint32_t main = segments_first(&p->s, MAIN), small = segments_first(&p->s, SMALL);
        bool from_small = small != POLICY_END && (p->s.bytes[SMALL] > p->share || main == POLICY_END);
        uint32_t entry = from_small ? small : main;
        if (entry == POLICY_END) return POLICY_END;
        uint32_t accesses = *segments_word(&p->s, entry) / ACCESS;
        if (from_small && accesses > 1)
            go_on(p, entry, 0);
        else if (!from_small && accesses > 0)
            go_on(p, entry, accesses - 1);
        else
            return entry;
    }
}

static void s3fifo_admitted(struct policy *p, const struct policy_info *info) {
    ghosts_remove(&p->ghosts, info->key);
}

static void s3fifo_evicted(struct policy *p, struct cache_key key, uint64_t bytes,
                           const struct policy_node *was) {
    if ((was->word & SEGMENT_BIT) != SMALL) return;
    ghosts_add(&p->ghosts, key, bytes, 0);
    ghosts_trim(&p->ghosts, 0, p->remembered);
}

static bool s3fifo_check(const struct policy *p, uint64_t *entries) {
    return segments_check(&p->s, entries) && ghosts_check(&p->ghosts) &&
           ghosts_bytes(&p->ghosts, 0) <= p->remembered;
}

static size_t s3fifo_memory(const struct policy *p) {
    return ghosts_memory(&p->ghosts);
}

const struct policy_ops policy_s3fifo = {
    .open = s3fifo_open,
    .close = s3fifo_close,
    .insert = s3fifo_insert,
    .remove = segments_policy_remove,
    .restore = segments_policy_restore,
    .touch = s3fifo_touch,
    .first = s3fifo_first,
    .admitted = s3fifo_admitted,
    .evicted = s3fifo_evicted,
    .check = s3fifo_check,
    .memory = s3fifo_memory,
};
