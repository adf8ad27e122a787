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
 * same for entries of one size. An entry that falls into the tier is a newcomer, or comes back.
 *
 * s3fifo_ref follows the authors' implementation, S3FIFO.c of libCacheSim 0.3.5: until the first search for
 * a victim newcomers go to the main queue while the small one is full; a victim comes from the main queue
 * only when that has more than its share or the small one is empty, and one search stays with its queue;
 * what comes back is forgotten before its victim is remembered. There an entry larger than the small queue
 * is not let in; here it is. */
enum { SMALL, MAIN, ACCESS = SEGMENT_BIT + 1, ACCESSES_MOST = 3 };
struct policy {
    struct segments s; /* the accesses are in the word, above the segment */
    struct ghosts ghosts;
    uint64_t share, remembered;
    struct ghosts
        back;      /* s3fifo_ref: who victims were sought for when it was remembered, and is not there yet */
    bool searched; /* for a victim */
};

static struct policy *s3fifo_open(const struct policy_config *config) {
    struct policy *p = mem_zalloc(1, sizeof *p);
    segments_init(&p->s, config);
    ghosts_open(&p->ghosts, GHOSTS_MAX);
    ghosts_open(&p->back, GHOSTS_BACK);
    p->share = config->usable_bytes / 10;
    p->remembered = config->usable_bytes - p->share;
    return p;
}

static void s3fifo_close(struct policy *p) {
    ghosts_close(&p->ghosts);
    ghosts_close(&p->back);
    free(p);
}

static void s3fifo_insert(struct policy *p, uint32_t entry, const struct policy_info *info) {
    segments_append(&p->s, entry, ghosts_find(&p->ghosts, info->key, NULL) >= 0 ? MAIN : SMALL);
}

static void reference_insert(struct policy *p, uint32_t entry, const struct policy_info *info) {
    bool back = ghosts_find(&p->back, info->key, NULL) >= 0 || ghosts_find(&p->ghosts, info->key, NULL) >= 0;
    bool full = !p->searched && p->s.bytes[SMALL] >= p->share;
    segments_append(&p->s, entry, back || full ? MAIN : SMALL);
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

/* The queue's oldest if it may go; else that goes on, and POLICY_END. */
static uint32_t oldest_of(struct policy *p, unsigned segment) {
    uint32_t entry = segments_first(&p->s, segment), accesses = *segments_word(&p->s, entry) / ACCESS;
    if (segment == SMALL ? accesses <= 1 : accesses == 0) return entry;
    go_on(p, entry, segment == SMALL ? 0 : accesses - 1);
    return POLICY_END;
}

/* Looks at the oldest entry of the small queue, or of the main one; where that is empty, of the other. True:
 * the search is over, with the victim or, with both empty, POLICY_END. */
static bool search_step(struct policy *p, bool *from_small, uint32_t *victim) {
    bool main = segments_first(&p->s, MAIN) != POLICY_END, small = segments_first(&p->s, SMALL) != POLICY_END;
    *from_small = small && (*from_small || !main);
    *victim = main || small ? oldest_of(p, *from_small ? SMALL : MAIN) : POLICY_END;
    return *victim != POLICY_END || !(main || small);
}

static uint32_t s3fifo_first(struct policy *p, const struct cache_key *incoming) {
    (void)incoming;
    uint32_t victim;
    bool from_small;
    do from_small = p->s.bytes[SMALL] > p->share;
    while (!search_step(p, &from_small, &victim));
    return victim;
}

static uint32_t reference_first(struct policy *p, const struct cache_key *incoming) {
    if (incoming && ghosts_remove(&p->ghosts, *incoming)) ghosts_add(&p->back, *incoming, 0, 0);
    p->searched = true;
    uint32_t victim;
    bool from_small = p->s.bytes[MAIN] <= p->remembered;
    while (!search_step(p, &from_small, &victim)) continue;
    return victim;
}

static void s3fifo_admitted(struct policy *p, const struct policy_info *info) {
    ghosts_remove(&p->ghosts, info->key);
    ghosts_remove(&p->back, info->key);
}

static void s3fifo_evicted(struct policy *p, struct cache_key key, uint64_t bytes,
                           const struct policy_node *was) {
    if ((was->word & SEGMENT_BIT) != SMALL) return;
    ghosts_add_new(&p->ghosts, key, bytes, 0);
    ghosts_trim(&p->ghosts, 0, p->remembered);
}

static bool s3fifo_check(const struct policy *p, uint64_t *entries) {
    return segments_check(&p->s, entries) && ghosts_check(&p->ghosts) && ghosts_check(&p->back) &&
           ghosts_bytes(&p->ghosts, 0) <= p->remembered;
}

static size_t s3fifo_memory(const struct policy *p) {
    return ghosts_memory(&p->ghosts) + ghosts_memory(&p->back);
}

#define S3FIFO_OPS(insertion, search)                                                                        \
    {                                                                                                        \
        .open = s3fifo_open, .close = s3fifo_close, .insert = (insertion), .remove = segments_policy_remove, \
        .restore = segments_policy_restore, .touch = s3fifo_touch, .first = (search),                        \
        .admitted = s3fifo_admitted, .evicted = s3fifo_evicted, .check = s3fifo_check,                       \
        .memory = s3fifo_memory                                                                              \
    }
const struct policy_ops policy_s3fifo = S3FIFO_OPS(s3fifo_insert, s3fifo_first);
const struct policy_ops policy_s3fifo_ref = S3FIFO_OPS(reference_insert, reference_first);
