#include <math.h>

#include "record/judge/judge.h"

double judge_capacity_misses(const struct judge_input *in) {
    double by_size = in->capacity_ratio >= 0 ? fmin(in->miss_ratio, in->capacity_ratio) : in->miss_ratio;
    double share = by_size - in->first_ratio;
    return share > 0 ? share : 0; /* NaN: nothing was looked up */
}

double judge_routing_misses(const struct judge_input *in) {
    if (in->routing == JUDGE_ROUTING_NONE || !(in->capacity_ratio >= 0)) return 0;
    return fmax(in->miss_ratio - fmax(in->capacity_ratio, in->first_ratio), 0);
}

/* The lookups that miss what had been there and make work; where others make none, what is new is of the
 * former alone: an unlimited cache has all documents. */
static double working_again(const struct judge_input *in) {
    double working = in->miss_ratio * judge_working(in) - in->first_ratio;
    return fmax(fmin(working, (in->miss_ratio - in->first_ratio) * judge_working(in)), 0);
}

double judge_recomputed(const struct judge_input *in) {
    bool again = in->compute_busy >= 0 && in->prefill_ms > 0;
    return again ? fmin(fmax(judge_capacity_misses(in) * judge_working(in), 0), working_again(in)) : 0;
}

double judge_computed_again(const struct judge_input *in) {
    bool again = in->compute_busy >= 0 && in->prefill_ms > 0;
    return again ? working_again(in) : 0;
}

double judge_prefilled_again(const struct judge_input *in) {
    double again = judge_share(judge_recomputed(in), judge_working(in) * in->miss_ratio);
    return again > 0 && in->missed_prefill > 0 ? again * in->missed_prefill : 0;
}

double judge_saved_by_hits(const struct judge_input *in) {
    double prefill = judge_share(in->compute_prefill, in->compute_busy);
    return prefill > 0 ? judge_prefilled_again(in) * prefill : 0;
}

double judge_rewrites(const struct judge_input *in, enum kvf_tier tier) {
    struct judge_resource last = JUDGE_NO_RESOURCE;
    int lowest = judge_last_tier(in);
    if (tier >= KVF_TIERS || lowest < 0 || judge_free_misses(in) || in->compute_busy >= 0) return 0;
    judge_consider_tier(in, (enum kvf_tier)lowest, &last);
    double writes = judge_share(in->busy[tier][KVF_DIR_WRITE],
                                in->busy[tier][KVF_DIR_READ] + in->busy[tier][KVF_DIR_WRITE]);
    double again = judge_share(judge_capacity_misses(in), in->miss_ratio);
    return (int)tier < lowest && last.load < JUDGE_SATURATED && writes * again > 0 ? writes * again : 0;
}

void judge_evidence_of_misses(struct verdict *v, const struct judge_input *in) {
    verdict_add_evidence(v, "reuse_miss_ratio", in->miss_ratio, "");
    verdict_add_evidence(v, "capacity_miss_ratio", judge_capacity_misses(in), "");
    verdict_add_evidence(v, "capacity_miss_error", in->reuse_error, "");
    if (judge_routing_misses(in) > 0) {
        bool sessions =
            in->routing == JUDGE_ROUTING_BY_SESSION || in->routing == JUDGE_ROUTING_NOT_BY_SESSION;
        bool so = in->routing == JUDGE_ROUTING_BY_SESSION || in->routing == JUDGE_ROUTING_BY_PREFIX;
        verdict_add_evidence(v, VERDICT_ROUTING, judge_routing_misses(in), "");
        verdict_add_evidence(v, sessions ? VERDICT_BY_SESSION : VERDICT_BY_PREFIX, so, "");
    }
    if (in->free_ratio > 0) verdict_add_evidence(v, VERDICT_FREE_MISSES, in->free_ratio, "");
    if (judge_unwritten(in) > 0) verdict_add_evidence(v, "unwritten_miss_ratio", judge_unwritten(in), "");
    if (judge_recomputed(in) > 0) {
        verdict_add_evidence(v, VERDICT_RECOMPUTED, judge_recomputed(in), "");
        verdict_add_evidence(v, VERDICT_RECOMPUTING, judge_saved_by_hits(in), "");
    }
    verdict_add_evidence(v, "working_set", in->reuse_bytes, "B");
    if (judge_last_tier(in) >= 0) verdict_add_evidence(v, "tiers_hold", judge_held_bytes(in), "B");
}
