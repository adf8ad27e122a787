#include "study/sweep/curve.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "cache/cache.h"
#include "cache/stack.h"
#include "engine/limits/cacheconfig.h"
#include "engine/pipeline/trial.h"

uint64_t curve_usable_bytes(const struct scenario *s, enum kvf_tier tier, uint64_t capacity_bytes) {
    struct scenario *one = mem_alloc(sizeof *one);
    memcpy(one, s, sizeof *one);
    one->tier[tier].capacity_bytes = capacity_bytes;
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

int curve_try(const struct references *r, const struct scenario *s, enum kvf_tier tier,
              enum scenario_eviction policy, struct sweep_curve *out, struct err *e) {
    const struct traits_policy *row = traits_policy(policy);
    uint64_t usable = curve_usable_bytes(s, tier, out->capacity_bytes);
    struct trial_setup setup = {
        .scenario = s, .part = out->sample, .one_by_one = (row->caps & POLICY_LOOKS_AHEAD) != 0};
    struct trial_counts counts;
    cacheconfig_fill(&setup.cache, s);
    setup.cache.placement = KVF_PLACEMENT_WATERFALL; /* there is nothing above or below */
    setup.cache.promotion = KVF_PROMOTION_NEVER;
    setup.cache.background = false;
    memset(setup.cache.on, 0, sizeof setup.cache.on);
    setup.cache.on[tier] = true;
    setup.cache.usable_bytes[tier] = (uint64_t)((double)usable * out->sample);
    setup.cache.eviction[tier] = policy;
    int rc = trial_run(r, &setup, &counts, e);
    if (rc != 0) return rc;
    out->lookups = counts.lookups;
    out->misses = counts.misses;
    curve_end(out, row->word, "cache");
    return 0;
}
