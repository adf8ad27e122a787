#include "engine/curve.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/hash.h"
#include "cache/cache.h"
#include "cache/stack.h"
#include "engine/cacheconfig.h"

uint64_t curve_usable_bytes(const struct scenario *s, enum kvf_tier tier, uint64_t capacity_bytes) {
    struct scenario *one = mem_alloc(sizeof *one);
    memcpy(one, s, sizeof *one);
    *scenario_capacity_field(one, tier) = capacity_bytes;
    uint64_t usable = scenario_usable_bytes(one, tier);
    free(one);
    return usable;
}

double curve_sample(const struct references *r, uint64_t accesses) {
    double part = 1;
    while (part * (double)r->count > (double)accesses) part /= 2;
    return part;
}

double curve_sample_at(const struct references *r, uint64_t usable_bytes, double part) {
    enum { ENTRIES = 128, LARGEST = 8 };
    double least = r->ids > 0 ? ENTRIES * (double)r->total_bytes / r->ids : 0;
    if (!r->blocks) least = fmax(least, LARGEST * (double)r->largest_bytes); /* of blocks it is a request's */
    while (part < 1 && part * (double)usable_bytes < least) part *= 2;
    return fmin(part, 1);
}

static void curve_end(struct sweep_curve *c, const char *policy, const char *method) {
    snprintf(c->policy, sizeof c->policy, "%s", policy);
    snprintf(c->method, sizeof c->method, "%s", method);
    c->miss_ratio = c->lookups > 0 ? (double)c->misses / (double)c->lookups : NAN;
}

static uint64_t request_end(const struct references *r, uint64_t from) {
    while (r->at[from].kind == REFERENCE_BLOCK) from++;
    return from + 1;
}

/* ---- stack distances ---- */

/* A block is found only behind blocks that are found: it counts as far as the farthest of them. */
void curve_stack(const struct references *r, const struct scenario *s, enum kvf_tier tier,
                 struct sweep_curve *out, size_t count) {
    bool forward = s->cache.touch_order == KVF_TOUCH_FORWARD;
    struct stack *stack = stack_open(r->ids);
    uint64_t *usable = mem_alloc((count + 1) * sizeof *usable);
    for (size_t c = 0; c < count; c++) {
        usable[c] = curve_usable_bytes(s, tier, out[c].capacity_bytes);
        out[c].misses = 0;
        out[c].lookups = r->lookups;
        out[c].sample = 1;
    }
    for (uint64_t from = 0, to; from < r->count; from = to) {
        uint64_t farthest = 0;
        to = request_end(r, from);
        for (uint64_t i = from; i < to; i++) {
            uint64_t distance = stack_distance(stack, r->at[i].id);
            if (distance > farthest) farthest = distance;
            for (size_t c = 0; c < count; c++) out[c].misses += farthest > usable[c];
        }
        for (uint64_t k = 0; k < to - from; k++) {
            uint32_t id = r->at[forward ? from + k : to - 1 - k].id;
            stack_touch(stack, id, r->bytes[id]);
        }
    }
    for (size_t c = 0; c < count; c++) curve_end(&out[c], "lru", "stack");
    stack_close(stack);
    free(usable);
}

/* ---- a cache ---- */

/* Requests one after another on a cache in which everything that is ready is done at once. */
struct trial {
    const struct references *r;
    const struct scenario *s;
    struct cache *cache;
    uint64_t *next_use; /* by access: position from 1 of the next one of its key, UINT64_MAX: none */
    bool *taken;        /* by id: it is in the sample */
    uint64_t lookups, misses;
    uint64_t request; /* the next one's number */
    bool one_by_one;  /* each write ends before the next one begins */
};

static uint64_t place_alloc(void *ctx, int tier, uint64_t bytes) {
    (void)ctx;
    (void)tier;
    (void)bytes;
    return 0;
}

static void place_drop(void *ctx, int tier, uint64_t place, uint64_t bytes) {
    (void)ctx;
    (void)tier;
    (void)place;
    (void)bytes;
}

static int trial_open(struct trial *t, enum kvf_tier tier, enum scenario_eviction policy,
                      const struct sweep_curve *c, struct err *e) {
    struct cache_config config = {.ctx = t, .alloc = place_alloc, .drop = place_drop};
    uint64_t usable = curve_usable_bytes(t->s, tier, c->capacity_bytes);
    cacheconfig_fill(&config, t->s);
    config.placement = KVF_PLACEMENT_WATERFALL; /* there is nothing above or below */
    config.promotion = KVF_PROMOTION_NEVER;
    config.background = false;
    memset(config.on, 0, sizeof config.on);
    config.on[tier] = true;
    config.usable_bytes[tier] = (uint64_t)((double)usable * c->sample);
    config.eviction[tier] = policy;
    t->cache = cache_open(&config, e);
    return t->cache ? 0 : -(int)e->code;
}

/* Spatial sampling: an entry is in or out of it with all its accesses. */
static void trial_sample(struct trial *t, double part) {
    t->taken = mem_alloc((size_t)t->r->ids + 1);
    for (uint32_t id = 0; id < t->r->ids; id++) {
        uint64_t h = hash_mix64(hash_mix64(t->r->key[id].lo) + t->r->key[id].hi);
        t->taken[id] = (double)(h >> 11) < part * 0x1p53;
    }
}

static void trial_look_ahead(struct trial *t) {
    uint64_t *seen = mem_alloc(((size_t)t->r->ids + 1) * sizeof *seen);
    t->next_use = mem_alloc((t->r->count + 1) * sizeof *t->next_use);
    for (uint32_t id = 0; id < t->r->ids; id++) seen[id] = UINT64_MAX;
    for (uint64_t i = t->r->count; i-- > 0;) {
        t->next_use[i] = seen[t->r->at[i].id];
        seen[t->r->at[i].id] = i + 1;
    }
    free(seen);
}

/* Everything that is ready, and what becomes so. What still waits is refused, as after its patience. */
static void settle(struct trial *t, struct cache_op *waiting) {
    for (;;) {
        struct cache_op *op = cache_next_ready(t->cache);
        if (op) {
            if (op == waiting) waiting = NULL;
            cache_finish(t->cache, op, op->failed_wait ? CACHE_ABANDONED : CACHE_DONE, false);
        } else if (!waiting || !cache_cancel(t->cache, waiting)) {
            return;
        }
    }
}

static struct cache_access access_of(const struct trial *t, uint64_t i, uint64_t rank) {
    const struct reference *at = &t->r->at[i];
    return (struct cache_access){
        .cause = at->cause, .klass = at->klass, .rank = rank, .next_use = t->next_use[i]};
}

/* The writes of a request go on side by side, as in a run, and what is being written makes room for nobody;
 * one that has to wait for room waits for all of them. The ceiling is that of writes one by one. */
static void write_entry(struct trial *t, uint64_t i, const struct cache_access *access) {
    uint32_t id = t->r->at[i].id;
    struct cache_op *op = NULL;
    enum cache_verdict verdict = cache_write(t->cache, t->r->key[id], t->r->bytes[id], access, 0, t, &op);
    if (verdict == CACHE_NO_ROOM_NOW || t->one_by_one) settle(t, verdict == CACHE_NO_ROOM_NOW ? op : NULL);
}

/* With its neighbours in the sample, which may be there already: blocks are written in either direction. */
static void link_blocks(struct trial *t, uint64_t from, uint64_t to, uint64_t i) {
    const struct references *r = t->r;
    uint64_t before = i, behind = i + 1;
    if (!cache_links(t->cache)) return;
    while (before > from && !t->taken[r->at[before - 1].id]) before--;
    while (behind < to && !t->taken[r->at[behind].id]) behind++;
    if (before > from) cache_link(t->cache, r->key[r->at[i].id], r->key[r->at[before - 1].id]);
    if (behind < to) cache_link(t->cache, r->key[r->at[behind].id], r->key[r->at[i].id]);
}

/* As the pipeline serves blocks: the longest prefix that is there is read, all are touched in one order,
 * what is missing is written in it. */
static void try_blocks(struct trial *t, uint64_t from, uint64_t to) {
    const struct references *r = t->r;
    bool forward = t->s->cache.touch_order == KVF_TOUCH_FORWARD, all = true;
    uint64_t n = to - from, hits = 0, lookups = 0, base = cache_ranks(t->cache, n);
    uint64_t hit_end = to; /* the first that is not found, and those behind it */
    for (uint64_t i = from; i < to; i++) {
        if (!t->taken[r->at[i].id]) continue;
        lookups++;
        if (all && cache_peek(t->cache, r->key[r->at[i].id]) == CACHE_RESIDENT) {
            hits++;
        } else if (all) {
            all = false;
            hit_end = i;
        }
    }
    t->lookups += lookups;
    t->misses += lookups - hits;
    for (uint64_t k = 0; k < n && lookups > 0; k++) {
        uint64_t i = forward ? from + k : to - 1 - k;
        struct cache_access access = access_of(t, i, base + k);
        if (!t->taken[r->at[i].id]) continue;
        if (i < hit_end)
            (void)cache_read(t->cache, r->key[r->at[i].id], &access, 0, t);
        else
            cache_touch(t->cache, r->key[r->at[i].id], &access);
    }
    settle(t, NULL); /* what is there is read before anything is written */
    for (uint64_t k = 0; k < n && lookups > hits; k++) {
        uint64_t i = forward ? from + k : to - 1 - k;
        struct cache_access access = access_of(t, i, base + k);
        if (i < hit_end || !t->taken[r->at[i].id]) continue;
        write_entry(t, i, &access);
        link_blocks(t, from, to, i);
    }
    settle(t, NULL);
}

static void try_entry(struct trial *t, uint64_t i) {
    const struct reference *at = &t->r->at[i];
    struct cache_key key = t->r->key[at->id];
    struct cache_access access = access_of(t, i, 0);
    bool there = cache_peek(t->cache, key) == CACHE_RESIDENT, read = at->kind != REFERENCE_WRITE;
    if (!t->taken[at->id]) return;
    if ((at->kind == REFERENCE_LOOKUP || at->kind == REFERENCE_FILL) && at->cause != KVF_CAUSE_DECODE) {
        t->lookups++;
        t->misses += !there;
    }
    if (!there && (at->kind == REFERENCE_FILL || at->kind == REFERENCE_WRITE)) write_entry(t, i, &access);
    if (there && read) (void)cache_read(t->cache, key, &access, 0, t);
    settle(t, NULL);
}

int curve_try(const struct references *r, const struct scenario *s, enum kvf_tier tier,
              enum scenario_eviction policy, struct sweep_curve *out, struct err *e) {
    static const char *const names[] = {
#define X(id, name) name,
        SCENARIO_EVICTION_LIST(X)
#undef X
    };
    struct trial t = {.r = r, .s = s, .one_by_one = policy == KVF_EVICTION_BELADY};
    int rc = trial_open(&t, tier, policy, out, e);
    if (rc != 0) return rc;
    trial_sample(&t, out->sample);
    trial_look_ahead(&t);
    for (uint64_t from = 0, to; from < r->count; from = to) {
        bool block = r->at[from].kind == REFERENCE_BLOCK || r->at[from].kind == REFERENCE_LAST_BLOCK;
        to = block ? request_end(r, from) : from + 1;
        if (r->at[from].first && r->arrival_ns) cache_time(t.cache, r->arrival_ns[t.request++]);
        if (block)
            try_blocks(&t, from, to);
        else
            try_entry(&t, from);
    }
    out->lookups = t.lookups;
    out->misses = t.misses;
    curve_end(out, names[policy], "cache");
    free(t.taken);
    free(t.next_use);
    cache_close(t.cache);
    return 0;
}
