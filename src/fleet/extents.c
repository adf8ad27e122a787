#include "fleet/extents.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/hash.h"

#define NONE UINT32_MAX
enum { TIER_BITS = 4, TIER_MASK = (1 << TIER_BITS) - 1, SLOTS_LEAST = 1024 };
_Static_assert((int)KVF_TIERS <= (int)TIER_BITS, "a bit for each tier");

struct run {
    uint64_t context;
    uint32_t pod_tiers;     /* pod << TIER_BITS | a bit for each tier */
    uint32_t from, count;   /* blocks; none only while the first run of a pod is being changed */
    uint32_t next;          /* of the same context and pod; or of the free list */
    uint32_t before, after; /* of a pod's first run: those of other pods that hold the context */
};

/* Open addressing, to a run plus one; 0: empty. */
struct table {
    uint32_t *slots;
    uint32_t mask, used; /* slots - 1; of them taken */
    bool by_pod;         /* the first run of a context and a pod; else of a context alone */
};

struct extents {
    struct run *run;
    uint32_t made, cap, spare;
    uint64_t count, runs;
    struct table of_pod, of_context;
    uint32_t pods;
    struct holders_prefix *found;
    uint32_t *place; /* of a pod in found, plus one; 0: none */
};

/* ---- tables ---- */

static uint32_t home_of(const struct table *t, uint64_t context, uint32_t pod) {
    uint64_t h = hash_mix64(context);
    return (uint32_t)(t->by_pod ? hash_mix64(h ^ pod) : h) & t->mask;
}

static uint32_t home_of_run(const struct extents *x, const struct table *t, uint32_t slot) {
    const struct run *r = &x->run[t->slots[slot] - 1];
    return home_of(t, r->context, r->pod_tiers >> TIER_BITS);
}

static uint32_t slot_of(const struct extents *x, const struct table *t, uint64_t context, uint32_t pod) {
    for (uint32_t i = home_of(t, context, pod);; i = (i + 1) & t->mask) {
        if (t->slots[i] == 0) return i;
        const struct run *r = &x->run[t->slots[i] - 1];
        if (r->context == context && (!t->by_pod || r->pod_tiers >> TIER_BITS == pod)) return i;
    }
}

/* NONE: there is none. */
static uint32_t first_of(const struct extents *x, const struct table *t, uint64_t context, uint32_t pod) {
    return t->slots[slot_of(x, t, context, pod)] - 1;
}

static void table_grow(const struct extents *x, struct table *t) {
    uint32_t *old = t->slots, slots = t->mask + 1;
    t->mask = 2 * slots - 1;
    t->slots = mem_zalloc(2 * (size_t)slots, sizeof *t->slots);
    for (uint32_t i = 0; i < slots; i++) {
        if (!old[i]) continue;
        const struct run *r = &x->run[old[i] - 1];
        t->slots[slot_of(x, t, r->context, r->pod_tiers >> TIER_BITS)] = old[i];
    }
    free(old);
}

static void table_set(const struct extents *x, struct table *t, uint32_t i) {
    const struct run *r = &x->run[i];
    if (4 * (uint64_t)t->used >= 3 * (uint64_t)t->mask) table_grow(x, t);
    uint32_t slot = slot_of(x, t, r->context, r->pod_tiers >> TIER_BITS);
    t->used += t->slots[slot] == 0;
    t->slots[slot] = i + 1;
}

/* Entries behind a slot that is emptied move up, so that every search still finds its own. */
static void table_drop(const struct extents *x, struct table *t, uint64_t context, uint32_t pod) {
    uint32_t hole = slot_of(x, t, context, pod);
    t->used--;
    for (uint32_t i = (hole + 1) & t->mask; t->slots[i]; i = (i + 1) & t->mask) {
        uint32_t home = home_of_run(x, t, i);
        if (((i - home) & t->mask) < ((i - hole) & t->mask)) continue;
        t->slots[hole] = t->slots[i];
        hole = i;
    }
    t->slots[hole] = 0;
}

static void table_open(struct table *t, bool by_pod) {
    *t = (struct table){.mask = SLOTS_LEAST - 1, .by_pod = by_pod};
    t->slots = mem_zalloc(SLOTS_LEAST, sizeof *t->slots);
}

static void table_empty(struct table *t) {
    memset(t->slots, 0, ((size_t)t->mask + 1) * sizeof *t->slots);
    t->used = 0;
}

/* ---- runs ---- */

static uint32_t run_new(struct extents *x) {
    uint32_t i = x->spare;
    x->runs++;
    if (i != NONE) {
        x->spare = x->run[i].next;
        return i;
    }
    if (x->made == x->cap) {
        x->cap = x->cap ? x->cap + x->cap / 2 : SLOTS_LEAST;
        x->run = mem_realloc(x->run, x->cap * sizeof *x->run);
    }
    return x->made++;
}

static void run_free(struct extents *x, uint32_t i) {
    x->runs--;
    x->run[i].next = x->spare;
    x->spare = i;
}

/* A first run without blocks: the pod holds nothing of the context yet. */
static uint32_t first_new(struct extents *x, uint64_t context, uint32_t pod) {
    uint32_t after = first_of(x, &x->of_context, context, 0), i = run_new(x);
    x->run[i] = (struct run){context, pod << TIER_BITS, 0, 0, NONE, NONE, after};
    if (after != NONE) x->run[after].before = i;
    table_set(x, &x->of_context, i);
    table_set(x, &x->of_pod, i);
    return i;
}

static void first_free(struct extents *x, uint32_t i) {
    struct run r = x->run[i];
    table_drop(x, &x->of_pod, r.context, r.pod_tiers >> TIER_BITS);
    if (r.after != NONE) x->run[r.after].before = r.before;
    if (r.before != NONE)
        x->run[r.before].after = r.after;
    else if (r.after != NONE)
        table_set(x, &x->of_context, r.after);
    else
        table_drop(x, &x->of_context, r.context, 0);
    run_free(x, i);
}

static uint32_t end_of(const struct run *r) {
    return r->from + r->count;
}

/* Blocks and tiers of a run go into another's place. */
static void run_copy(struct run *to, const struct run *from) {
    to->pod_tiers = from->pod_tiers;
    to->from = from->from;
    to->count = from->count;
    to->next = from->next;
}

/* A place between two runs of a pod, either NONE. */
struct gap {
    uint32_t first, left, right;
};

static void run_enter(struct extents *x, struct gap *g, uint32_t from, uint32_t count, uint32_t tiers) {
    bool filled = x->run[g->first].count > 0;
    uint32_t i = g->left == NONE && !filled ? g->first : run_new(x);
    struct run *first = &x->run[g->first], *r = &x->run[i];
    uint32_t pod_tiers = (first->pod_tiers & ~(uint32_t)TIER_MASK) | tiers;
    struct run made = {first->context, pod_tiers, from, count, NONE, NONE, NONE};
    if (g->left != NONE) {
        *r = made;
        r->next = x->run[g->left].next;
        x->run[g->left].next = i;
        g->left = i;
        return;
    }
    if (filled) { /* in front of the first, whose place it takes */
        *r = *first;
        r->before = r->after = NONE;
        made.next = g->right = i;
    }
    run_copy(first, &made);
    g->left = g->first;
}

/* The run on the right has no block left. */
static void run_leave(struct extents *x, struct gap *g) {
    uint32_t i = g->right, next = x->run[i].next;
    if (g->left != NONE) {
        x->run[g->left].next = g->right = next;
        run_free(x, i);
    } else if (next != NONE) {
        run_copy(&x->run[i], &x->run[next]);
        run_free(x, next);
    } else {
        x->run[i].count = 0;
        g->right = NONE;
    }
}

/* The gap before the run that has the block, or where it would be; whether one has it. */
static bool gap_find(const struct extents *x, uint32_t first, uint32_t number, struct gap *g) {
    *g = (struct gap){first, NONE, x->run[first].count > 0 ? first : NONE};
    while (g->right != NONE && end_of(&x->run[g->right]) <= number) {
        g->left = g->right;
        g->right = x->run[g->right].next;
    }
    return g->right != NONE && x->run[g->right].from <= number;
}

/* Takes the block out of the run on the right, and leaves the gap where it was. */
static void block_cut(struct extents *x, struct gap *g, uint32_t number) {
    struct run *r = &x->run[g->right];
    uint32_t behind = end_of(r) - number - 1, tiers = r->pod_tiers & TIER_MASK;
    r->count = number - r->from;
    if (r->count > 0) {
        g->left = g->right;
        if (behind > 0) {
            struct gap rest = *g;
            run_enter(x, &rest, number + 1, behind, tiers);
        }
        g->right = x->run[g->left].next;
        return;
    }
    r->from = number + 1;
    r->count = behind;
    if (behind == 0) run_leave(x, g);
}

/* Puts the block into the gap, joined with what is beside it in the same tiers. */
static void block_put(struct extents *x, struct gap *g, uint32_t number, uint32_t tiers) {
    struct run *l = g->left != NONE ? &x->run[g->left] : NULL;
    struct run *r = g->right != NONE ? &x->run[g->right] : NULL;
    bool joins_left = l && end_of(l) == number && (l->pod_tiers & TIER_MASK) == tiers;
    bool joins_right = r && r->from == number + 1 && (r->pod_tiers & TIER_MASK) == tiers;
    if (joins_left && joins_right) {
        l->count += 1 + r->count;
        run_leave(x, g);
    } else if (joins_left) {
        l->count++;
    } else if (joins_right) {
        r->from--;
        r->count++;
    } else {
        run_enter(x, g, number, 1, tiers);
    }
}

static void block_set(struct extents *x, uint32_t first, uint32_t number, uint32_t add, uint32_t drop) {
    struct gap g;
    bool there = gap_find(x, first, number, &g);
    uint32_t old = there ? x->run[g.right].pod_tiers & TIER_MASK : 0, tiers = (old | add) & ~drop;
    if (tiers == old) return;
    if (there) block_cut(x, &g, number);
    if (tiers) block_put(x, &g, number, tiers);
    x->count += (uint64_t)(tiers != 0) - (uint64_t)there;
    if (x->run[first].count == 0) first_free(x, first);
}

void extents_add(struct extents *x, uint64_t context, uint32_t number, uint32_t pod, enum kvf_tier tier) {
    uint32_t first = first_of(x, &x->of_pod, context, pod);
    if (first == NONE) first = first_new(x, context, pod);
    block_set(x, first, number, UINT32_C(1) << tier, 0);
}

void extents_remove(struct extents *x, uint64_t context, uint32_t number, uint32_t pod, enum kvf_tier tier) {
    uint32_t first = first_of(x, &x->of_pod, context, pod);
    if (first != NONE) block_set(x, first, number, 0, UINT32_C(1) << tier);
}

/* ---- questions ---- */

/* The run of a list that has the block, from one on that begins no later than it; NONE: none has. */
static uint32_t run_at(const struct extents *x, uint32_t i, uint32_t number) {
    while (i != NONE && end_of(&x->run[i]) <= number) i = x->run[i].next;
    return i != NONE && x->run[i].from <= number ? i : NONE;
}

/* Goes on through a part with what the pod has, else with what the store has. Weights are added one by one,
 * for sums of the same order are the same to the last bit. */
static void prefix_goes_on(const struct extents *x, struct holders_prefix *p, uint32_t own, uint32_t store,
                           uint32_t blocks, const double weight[KVF_TIERS]) {
    for (uint32_t n = 0; n < blocks;) {
        uint32_t i = run_at(x, own, n);
        bool its = i != NONE;
        if (!its) i = run_at(x, store, n);
        if (i == NONE) return;
        uint32_t end = its && end_of(&x->run[i]) < blocks ? end_of(&x->run[i]) : blocks;
        if (!its) end = n + 1; /* the pod may have the next itself */
        double each = its ? holders_weight(x->run[i].pod_tiers, weight) : weight[KVF_TIER_REMOTE];
        for (; n < end; n++, p->blocks++) p->weight += each;
    }
}

/* Every pod that has the first block. */
static uint32_t found_first(struct extents *x, uint32_t i) {
    uint32_t found = 0;
    for (; i != NONE; i = x->run[i].after) {
        if (x->run[i].from > 0) continue;
        uint32_t pod = x->run[i].pod_tiers >> TIER_BITS;
        x->found[found] = (struct holders_prefix){.pod = pod};
        x->place[pod] = ++found;
    }
    return found;
}

/* Whether anybody has all blocks of the part behind those before it. */
static bool match_part(struct extents *x, const struct extents_part *part, uint32_t before, uint32_t found,
                       const double weight[KVF_TIERS]) {
    uint32_t store = first_of(x, &x->of_pod, part->context, x->pods);
    bool any = false;
    for (uint32_t i = first_of(x, &x->of_context, part->context, 0); i != NONE; i = x->run[i].after) {
        uint32_t place = x->place[x->run[i].pod_tiers >> TIER_BITS];
        if (place == 0) continue;
        struct holders_prefix *p = &x->found[place - 1];
        if (p->blocks == before) prefix_goes_on(x, p, i, store, part->blocks, weight);
        any = any || p->blocks == before + part->blocks;
    }
    for (uint32_t i = 0; i < found && store != NONE; i++) {
        struct holders_prefix *p = &x->found[i];
        if (p->blocks == before) prefix_goes_on(x, p, NONE, store, part->blocks, weight);
        any = any || p->blocks == before + part->blocks;
    }
    return any;
}

uint32_t extents_match(struct extents *x, const struct extents_part *part, uint32_t parts,
                       const double weight[KVF_TIERS], const struct holders_prefix **out) {
    uint32_t found = 0, before = 0;
    if (parts > 0) found = found_first(x, first_of(x, &x->of_context, part->context, 0));
    for (uint32_t n = 0; n < parts && found > 0; before += part[n++].blocks)
        if (!match_part(x, &part[n], before, found, weight)) break;
    for (uint32_t i = 0; i < found; i++) x->place[x->found[i].pod] = 0;
    *out = x->found;
    return found;
}

/* ---- the whole ---- */

void extents_empty(struct extents *x) {
    table_empty(&x->of_pod);
    table_empty(&x->of_context);
    x->spare = NONE;
    x->made = 0;
    x->count = x->runs = 0;
}

uint64_t extents_count(const struct extents *x) {
    return x->count;
}

uint64_t extents_runs(const struct extents *x) {
    return x->runs;
}

size_t extents_bytes(const struct extents *x) {
    size_t slots = (size_t)x->of_pod.mask + 1 + (size_t)x->of_context.mask + 1;
    return x->cap * sizeof *x->run + slots * sizeof *x->of_pod.slots;
}

struct extents *extents_open(uint32_t pods) {
    struct extents *x = mem_zalloc(1, sizeof *x);
    table_open(&x->of_pod, true);
    table_open(&x->of_context, false);
    x->spare = NONE;
    x->pods = pods;
    x->found = mem_zalloc(pods + 1, sizeof *x->found);
    x->place = mem_zalloc(pods + 1, sizeof *x->place);
    return x;
}

void extents_close(struct extents *x) {
    if (!x) return;
    free(x->run);
    free(x->of_pod.slots);
    free(x->of_context.slots);
    free(x->found);
    free(x->place);
    free(x);
}
