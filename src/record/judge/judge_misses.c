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
