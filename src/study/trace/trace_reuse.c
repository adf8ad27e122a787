#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "engine/limits/cacheconfig.h"
#include "engine/pipeline/trial.h"
#include "study/trace/trace_stats.h"
#include "traits/traits.h"

const double trace_distance_part[TRACE_DISTANCES] = {0.1, 0.25, 0.5, 0.75, 0.9, 0.99};

/* ---- curves ---- */

/* From what a sample can tell, a hundred entries of it and its largest request, to where nothing has to go.
 */
static void capacities_choose(struct trace_stats *t, const struct references *r) {
    enum { ENTRIES = 128 };
    double part = sample_part(t->sample), high = (double)r->total_bytes / part;
    double low = fmax((double)t->largest_bytes, ENTRIES * (double)r->total_bytes / r->ids / part);
    low = fmax(low, high / 1024);
    t->points = low < high ? TRACE_POINTS : 1;
    for (unsigned i = 0; i < t->points; i++)
        t->capacity[i] = i + 1 < t->points ? low * pow(high / low, (double)i / (t->points - 1)) : high;
}

/* A cache of that many bytes, smaller by the part of the entries that the sample has. As for lru, what the
 * lookups of the sample are over or under those of the trace counts as hits. */
static int curve_add(struct trace_stats *t, const struct references *r, const struct traits_policy *row,
                     enum scenario_eviction policy, struct err *e) {
    struct trace_curve *c = &t->curve[t->curves++];
    struct trial_setup setup = {
        .scenario = &t->in->s, .part = 1, .one_by_one = (row->caps & POLICY_LOOKS_AHEAD) != 0};
    struct trial_counts counts;
    double first, lookups;
    sample_firsts(t->sample, &first, &lookups);
    snprintf(c->policy, sizeof c->policy, "%s", row->word);
    for (unsigned i = 0; i < t->points; i++) {
        cacheconfig_fill(&setup.cache, &t->in->s);
        setup.cache.usable_bytes[KVF_TIER_CPU] = (uint64_t)(t->capacity[i] * sample_part(t->sample));
        setup.cache.eviction[KVF_TIER_CPU] = policy;
        int rc = trial_run(r, &setup, &counts, e);
        if (rc) return rc;
        c->miss_ratio[i] = fmin((double)counts.misses / sample_part(t->sample) / lookups, 1);
    }
    return 0;
}

static int curves_make(struct trace_stats *t, const struct references *r, uint64_t policies, struct err *e) {
    capacities_choose(t, r);
    snprintf(t->curve[0].policy, sizeof t->curve[0].policy, "lru");
    t->curves = 1;
    for (unsigned i = 0; i < t->points; i++)
        t->curve[0].miss_ratio[i] = sample_miss_ratio(t->sample, t->capacity[i], &t->error[i]);
    for (unsigned i = 0; traits_policy(i); i++) {
        const struct traits_policy *row = traits_policy(i);
        if (!(policies >> i & 1) || i == KVF_EVICTION_LRU || t->curves == TRACE_POLICIES) continue;
        if (row->caps & POLICY_BY_PARENTS && !r->blocks) continue;
        int rc = curve_add(t, r, row, (enum scenario_eviction)i, e);
        if (rc) return rc;
    }
    return 0;
}

/* ---- the working set ---- */

/* Bytes used in each part of the span, and all that there are so far, of the entries of the sample. */
static void working_set(struct trace_stats *t, const struct references *r) {
    double scale = 1 / sample_part(t->sample), so_far = 0;
    uint32_t *part_of = mem_zalloc((size_t)r->ids + 1, sizeof *part_of); /* the last it was used in, + 1 */
    uint64_t request = 0;
    t->parts = TRACE_PARTS;
    for (uint64_t i = 0; i < r->count; i++) {
        request += r->at[i].first;
        uint64_t at = request ? r->arrival_ns[request - 1] : 0;
        uint32_t id = r->at[i].id, p = (uint32_t)((double)at / ((double)t->span_ns + 1) * TRACE_PARTS);
        if (part_of[id] != p + 1) t->active_bytes[p] += (double)r->bytes[id] * scale;
        if (part_of[id] == 0) t->so_far_bytes[p] += (double)r->bytes[id] * scale;
        part_of[id] = p + 1;
    }
    for (unsigned p = 0; p < TRACE_PARTS; p++) {
        t->part_s[p] = ((double)p + 1) * (double)t->span_ns / TRACE_PARTS / (double)KVF_NS_PER_S;
        so_far += t->so_far_bytes[p];
        t->so_far_bytes[p] = so_far;
    }
    free(part_of);
}

static void tree_count(struct trace_stats *t) {
    double weight = 0x1p32 / (double)t->tree.threshold;
    for (uint64_t i = 0; i < t->tree.children.slots; i++) {
        const struct idmap_slot *s = &t->tree.children.slot[i];
        bool root = s->key == UINT64_MAX - 1;
        if (s->value == 0) continue;
        t->nodes += (double)s->value * (root ? 1 : weight);
        if (root) continue;
        t->inner += weight;
        t->branches += s->value > 1 ? weight : 0;
        t->most_children = fmax(t->most_children, (double)s->value);
    }
}

int trace_stats_end(struct trace_stats *t, uint64_t policies, struct err *e) {
    uint64_t from;
    const struct references *r = sample_references(t->sample, &from);
    for (uint64_t i = 0; i < t->session_count; i++) histogram_record(t->turns, t->session[i].turns);
    if (!t->in) return 0;
    t->forgot = t->in->sessions.forgot;
    t->bytes_per_token = (double)model_bytes_per_token(&t->in->s.model, t->in->s.tensor_parallel);
    tree_count(t);
    if (r->count == 0 || t->span_ns == 0) return 0;
    working_set(t, r);
    for (unsigned i = 0; i < TRACE_DISTANCES; i++)
        t->distance_bytes[i] = sample_reuse_bytes(t->sample, trace_distance_part[i]);
    return curves_make(t, r, policies, e);
}
