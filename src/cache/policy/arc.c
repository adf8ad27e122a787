#include "cache/policy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "cache/ghost.h"
#include "cache/policy/segments.h"

/* ARC: N. Megiddo, D. S. Modha, "ARC: A Self-Tuning, Low Overhead Replacement Cache", FAST 2003. T1
 * has entries accessed once, T2 those accessed more than once, both in LRU order; B1 and B2 remember
 * what fell out of each. An entry that comes back while B1 remembers it raises the target of T1, one
 * that B2 remembers lowers it; the victim is T1's when T1 has more than its target.
 *
 * All lengths are bytes: the target moves by the size of what comes back, times the ratio of B2 to B1
 * or of B1 to B2 where that is more than one. As in the paper T1 and B1 together have no more bytes than
 * the tier, and all four no more than twice as many; beside that 4,194,304 keys are remembered at most.
 * The target moves when the entry that comes back is there, but by as much as when its victims were sought,
 * which are chosen as if it had moved already: the paper's order. An entry that falls into the tier is a
 * newcomer, or comes back. */
enum { T1, T2, B1 = T1, B2 = T2 };
struct policy {
    struct segments s;
    struct ghosts ghosts;
    uint64_t usable;
    double target;      /* not whole, as in the paper: what steps lose by rounding would add up */
    struct ghosts back; /* keys that victims were sought for; bytes: step_bits() of how far to move then */
};

static uint64_t step_bits(double step) {
    uint64_t bits;
    memcpy(&bits, &step, sizeof bits);
    return bits;
}

static double step_of_bits(uint64_t bits) {
    double step;
    memcpy(&step, &bits, sizeof step);
    return step;
}

static struct policy *arc_open(const struct policy_config *config) {
    struct policy *p = mem_zalloc(1, sizeof *p);
    segments_init(&p->s, config);
    ghosts_open(&p->ghosts, GHOSTS_MAX);
    ghosts_open(&p->back, GHOSTS_BACK);
    p->usable = config->usable_bytes;
    return p;
}

static void arc_close(struct policy *p) {
    ghosts_close(&p->ghosts);
    ghosts_close(&p->back);
    free(p);
}

static void arc_insert(struct policy *p, uint32_t entry, const struct policy_info *info) {
    segments_append(&p->s, entry, ghosts_find(&p->ghosts, info->key, NULL) >= 0 ? T2 : T1);
}

static void arc_touch(struct policy *p, uint32_t entry, const struct policy_info *info) {
    (void)info;
    segments_remove(&p->s, entry);
    segments_append(&p->s, entry, T2);
}

/* How far the target moves for an entry of this size that the list remembers. */
static double step_for(const struct policy *p, int list, uint64_t bytes) {
    double mine = (double)ghosts_bytes(&p->ghosts, list), others = (double)ghosts_bytes(&p->ghosts, !list);
    return (double)bytes * (mine > 0 && others > mine ? others / mine : 1);
}

static double target_moved(const struct policy *p, int list, double step) {
    return list == B1 ? fmin(p->target + step, (double)p->usable) : fmax(p->target - step, 0);
}

static uint32_t arc_first(struct policy *p, const struct cache_key *incoming) {
    uint32_t once = segments_first(&p->s, T1), often = segments_first(&p->s, T2);
    double target = p->target, first = (double)p->s.bytes[T1];
    uint64_t bytes;
    int list = incoming ? ghosts_find(&p->ghosts, *incoming, &bytes) : -1;
    if (list >= 0) {
        double step = step_for(p, list, bytes);
        target = target_moved(p, list, step);
        ghosts_add(&p->back, *incoming, step_bits(step), 0);
    }
    if (once == POLICY_END || often == POLICY_END) return once == POLICY_END ? often : once;
    return first > target || (list == B2 && first >= target) ? once : often;
}

/* The lists are cut to their bounds. */
static void ghosts_bound(struct policy *p) {
    uint64_t here = p->s.bytes[T1] + p->s.bytes[T2], first = p->s.bytes[T1];
    ghosts_trim(&p->ghosts, B1, p->usable > first ? p->usable - first : 0);
    here += ghosts_bytes(&p->ghosts, B1);
    ghosts_trim(&p->ghosts, B2, 2 * p->usable > here ? 2 * p->usable - here : 0);
}

static void arc_admitted(struct policy *p, const struct policy_info *info) {
    uint64_t bytes, bits;
    int list = ghosts_find(&p->ghosts, info->key, &bytes);
    if (list >= 0) {
        bool sought = ghosts_find(&p->back, info->key, &bits) >= 0;
        p->target = target_moved(p, list, sought ? step_of_bits(bits) : step_for(p, list, bytes));
        ghosts_remove(&p->ghosts, info->key);
    }
    ghosts_remove(&p->back, info->key);
    ghosts_bound(p);
}

static void arc_evicted(struct policy *p, struct cache_key key, uint64_t bytes,
                        const struct policy_node *was) {
    ghosts_add_new(&p->ghosts, key, bytes, (int)was->word);
    ghosts_bound(p);
}

static bool arc_check(const struct policy *p, uint64_t *entries) {
    return segments_check(&p->s, entries) && ghosts_check(&p->ghosts) && ghosts_check(&p->back) &&
           p->target >= 0 && p->target <= (double)p->usable;
}

static size_t arc_memory(const struct policy *p) {
    return ghosts_memory(&p->ghosts) + ghosts_memory(&p->back);
}

const struct policy_ops policy_arc = {
    .open = arc_open,
    .close = arc_close,
    .insert = arc_insert,
    .remove = segments_policy_remove,
    .restore = segments_policy_restore,
    .touch = arc_touch,
    .first = arc_first,
    .admitted = arc_admitted,
    .evicted = arc_evicted,
    .check = arc_check,
    .memory = arc_memory,
};
