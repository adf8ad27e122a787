#include "cache/policy.h"

#include "base/buf.h"
#include "cache/policy/segments.h"

/* Segmented LRU: R. Karedla, J. S. Love, B. G. Wherry, "Caching Strategies to Improve Disk System
 * Performance", IEEE Computer 27(3), 1994. Newcomers are on probation; one that is accessed again is
 * protected; what the protected segment cannot hold goes back to probation, as its most recent.
 * Victims are the least recent on probation.
 *
 * The protected segment has four fifths of the tier's bytes, whatever the size of entries. An entry
 * that falls into the tier is a newcomer. */
enum { PROBATION, PROTECTED };
struct policy {
    struct segments s;
    uint64_t most; /* bytes of the protected segment */
};

static struct policy *slru_open(const struct policy_config *config) {
    struct policy *p = mem_zalloc(1, sizeof *p);
    segments_init(&p->s, config);
    p->most = config->usable_bytes - config->usable_bytes / 5;
    return p;
}

static void slru_insert(struct policy *p, uint32_t entry, const struct policy_info *info) {
    (void)info;
    segments_append(&p->s, entry, PROBATION);
}

static void slru_touch(struct policy *p, uint32_t entry, const struct policy_info *info) {
    (void)info;
    segments_remove(&p->s, entry);
    segments_append(&p->s, entry, PROTECTED);
    while (p->s.bytes[PROTECTED] > p->most) {
        uint32_t least = segments_first(&p->s, PROTECTED);
        segments_remove(&p->s, least);
        segments_append(&p->s, least, PROBATION);
    }
}

static uint32_t slru_first(struct policy *p, const struct cache_key *incoming) {
    (void)incoming;
    uint32_t entry = segments_first(&p->s, PROBATION);
    return entry == POLICY_END ? segments_first(&p->s, PROTECTED) : entry;
}

static bool slru_check(const struct policy *p, uint64_t *entries) {
    return segments_check(&p->s, entries);
}

const struct policy_ops policy_slru = {
    .open = slru_open,
    .insert = slru_insert,
    .remove = segments_policy_remove,
    .restore = segments_policy_restore,
    .touch = slru_touch,
    .first = slru_first,
    .check = slru_check,
};
