#include "cache/policy.h"

#include <stdlib.h>

#include "base/buf.h"
#include "cache/ghost.h"
#include "cache/segments.h"

/* ARC: N. Megiddo, D. S. Modha, "ARC: A Self-Tuning, Low Overhead Replacement Cache", FAST 2003. T1
 * has entries accessed once, T2 those accessed more than once, both in LRU order; B1 and B2 remember
 * what fell out of each. An entry that comes back while B1 remembers it raises the target of T1, one
 * that B2 remembers lowers it; the victim is T1's when T1 has more than its target.
 *
 * All lengths are bytes: the target moves by the size of what comes back, times the ratio of B2 to B1
 * or of B1 to B2 where that is more than one. As in the paper T1 and B1 together have no more bytes than
 * the tier, and all four no more than twice as many; beside that 4,194,304 keys are remembered at most.
 * The target moves when the entry that comes back is there, but its victims are chosen as if it had moved
 * already, which is the paper's order. An entry that falls into the tier is a newcomer, or comes back. */
enum { T1, T2, B1 = T1, B2 = T2 };
struct policy {
    struct segments s;
    struct ghosts ghosts;
    uint64_t usable, target;
    struct cache_key sought; /* who a victim was last sought for, if it was remembered; kind 0: nobody */
    uint64_t sought_target;  /* what the target is to be when it comes */
};

static struct policy *arc_open(const struct policy_config *config) {
    struct policy *p = mem_zalloc(1, sizeof *p);
    segments_init(&p->s, config);
    ghosts_open(&p->ghosts, GHOSTS_MAX);
    p->usable = config->usable_bytes;
    return p;
}

static void arc_close(struct policy *p) {
    ghosts_close(&p->ghosts);
    free(p);
}

static void arc_insert(struct policy *p, uint32_t entry, const struct policy_info *info) {
    segments_append(&p->s, entry, ghosts_find(&p->ghosts, info->key, NULL) >= 0 ? T2 : T1);
}

static void arc_remove(struct policy *p, uint32_t entry) {
    segments_remove(&p->s, entry);
}

static void arc_restore(struct policy *p, uint32_t entry) {
    segments_restore(&p->s, entry);
}

static void arc_touch(struct policy *p, uint32_t entry, const struct policy_info *info) {
    (void)info;
    segments_remove(&p->s, entry);
    segments_append(&p->s, entry, T2);
}

/* The target when an entry of this size that the list remembers comes back. */
static uint64_t target_moved(const struct policy *p, int list, uint64_t bytes) {
    double mine = (double)ghosts_bytes(&p->ghosts, list), others = (double)ghosts_bytes(&p->ghosts, !list);
    uint64_t step = others > mine ? (uint64_t)((double)bytes * (others / mine)) : bytes;
    if (list == B1) return p->target + step < p->usable ? p->target + step : p->usable;
    return p->target > step ? p->target - step : 0;
}

static uint32_t arc_first(struct policy *p, const struct cache_key *incoming) {
    uint32_t once = segments_first(&p->s, T1), often = segments_first(&p->s, T2);
    uint64_t target = p->target, bytes;
    int list = incoming ? ghosts_find(&p->ghosts, *incoming, &bytes) : -1;
    if (list >= 0) target = target_moved(p, list, bytes);
    p->sought = list >= 0 ? *incoming : (struct cache_key){0, 0};
    p->sought_target = target;
    if (once == POLICY_END || often == POLICY_END) return once == POLICY_END ? often : once;
    return p->s.bytes[T1] > target || (list == B2 && p->s.bytes[T1] == target) ? once : often;
}

/* The lists are cut to their bounds. */
static void ghosts_bound(struct policy *p) {
    uint64_t here = p->s.bytes[T1] + p->s.bytes[T2], first = p->s.bytes[T1];
    ghosts_trim(&p->ghosts, B1, p->usable > first ? p->usable - first : 0);
    here += ghosts_bytes(&p->ghosts, B1);
    ghosts_trim(&p->ghosts, B2, 2 * p->usable > here ? 2 * p->usable - here : 0);
}

static void arc_admitted(struct policy *p, const struct policy_info *info) {
    uint64_t bytes;
    int list = ghosts_find(&p->ghosts, info->key, &bytes);
    if (list >= 0) {
        bool known = cache_key_equal(p->sought, info->key);
        p->target = known ? p->sought_target : target_moved(p, list, bytes);
        p->sought = (struct cache_key){0, 0};
        ghosts_remove(&p->ghosts, info->key);
    }
    ghosts_bound(p);
}

static void arc_evicted(struct policy *p, struct cache_key key, uint64_t bytes,
                        const struct policy_node *was) {
    ghosts_add(&p->ghosts, key, bytes, (int)was->word);
    ghosts_bound(p);
}

static bool arc_check(const struct policy *p, uint64_t *entries) {
    return segments_check(&p->s, entries) && ghosts_check(&p->ghosts) && p->target <= p->usable;
}

static size_t arc_memory(const struct policy *p) {
    return ghosts_memory(&p->ghosts);
}

const struct policy_ops policy_arc = {
    .name = "arc",
    .id = KVF_EVICTION_ARC,
    .open = arc_open,
    .close = arc_close,
    .insert = arc_insert,
    .remove = arc_remove,
    .restore = arc_restore,
    .touch = arc_touch,
    .first = arc_first,
    .admitted = arc_admitted,
    .evicted = arc_evicted,
    .check = arc_check,
    .memory = arc_memory,
};
