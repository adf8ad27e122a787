#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "compare/comparison_parts.h"
#include "draw/format.h"

/* Bases of work left undone: they make its counts comparable between runs of unequal length or load. */

static double count_of(const struct comparison_input *i, const char *metric) {
    const char *unit;
    double v = comparison_value(i, metric, &unit);
    return kvf_present(v) ? v : 0;
}

static double warmup_of(const struct run_record *r) {
    json_t *root = r->effective_json ? json_loads(r->effective_json, 0, NULL) : NULL;
    const char *text = json_string_value(json_object_get(json_object_get(root, "run"), "warmup"));
    uint64_t ns = 0;
    double s = text && units_parse_duration(text, &ns) == 0 ? (double)ns / (double)KVF_NS_PER_S : KVF_MISSING;
    json_decref(root);
    return s;
}

/* Requests at a pod when it went are counted for the whole run: in the measured part where that had an
 * outage, as far as requests failed there, and the rest in the warm-up. */
void comparison_bases(const struct comparison_input *i, struct comparison_side *side) {
    double all = count_of(i, "outage_requests_failed");
    side->warmup_s = warmup_of(i->run);
    side->failed_once = count_of(i, "outages_s") > 0 ? fmin(all, count_of(i, "requests_failed")) : 0;
    side->warmup_failed_once = fmin(all - side->failed_once, count_of(i, "warmup_failed"));
}

static double once_of(const struct comparison_side *s, const char *metric) {
    return strcmp(metric, "requests_failed") == 0 ? s->failed_once
           : strcmp(metric, "warmup_failed") == 0 ? s->warmup_failed_once
                                                  : 0;
}

/* Requests in a second; where the length is not known, requests. */
static double rate_of(const struct comparison_side *s) {
    return s->load > 0 ? s->ended * s->offered / s->load : s->ended;
}

static enum standing_base base_of(const char *metric, const struct comparison_side *a,
                                  const struct comparison_side *b) {
    enum standing_base base = standing_base(metric);
    bool known = kvf_present(a->warmup_s) && kvf_present(b->warmup_s);
    return base == STANDING_OF_WARMUP && !known ? STANDING_OF_REQUESTS : base;
}

static double amount_of(enum standing_base base, const char *metric, const struct comparison_side *s,
                        double n) {
    return base == STANDING_OF_WARMUP     ? s->warmup_s
           : base == STANDING_OF_RATE     ? rate_of(s)
           : base == STANDING_OF_REQUESTS ? comparison_out_of(s, metric, n)
                                          : 1;
}

/* Of more the part that is as much as the other side's; all, where either had none. */
static double part_for(double own, double other) {
    return other > 0 && other < own ? other / own : 1;
}

/* Of `n` those that come once go by the rate, and the others by `part`. */
static double blend(double n, double once, double rate, double part) {
    return n > 0 && once > 0 ? (fmin(once, n) * rate + fmax(n - once, 0) * part) / n : part;
}

struct comparison_parts comparison_parts_of(const char *metric, const struct comparison_side *side, double n,
                                            const struct comparison_side *than, double n_than) {
    enum standing_base base = base_of(metric, side, than);
    double own = amount_of(base, metric, side, n), other = amount_of(base, metric, than, n_than),
           rate = rate_of(side), rate_than = rate_of(than);
    struct comparison_parts p = {part_for(own, other), part_for(other, own)};
    /* without a warm-up there was nothing to fail in it */
    if (base == STANDING_OF_WARMUP && own > 0 && !(other > 0)) p.own = 0;
    if (base == STANDING_OF_WARMUP && other > 0 && !(own > 0)) p.than = 0;
    p.own = blend(n, once_of(side, metric), part_for(rate, rate_than), p.own);
    p.than = blend(n_than, once_of(than, metric), part_for(rate_than, rate), p.than);
    return p;
}

#define UNEQUAL 1.05

void comparison_put_base(const char *metric, const struct comparison_side *side, double n,
                         const struct comparison_side *other, double n_other, struct buf *out) {
    enum standing_base base = base_of(metric, side, other);
    double own = amount_of(base, metric, side, n), theirs = amount_of(base, metric, other, n_other);
    char number[32];
    if (!(fmax(own, theirs) > UNEQUAL * fmin(own, theirs))) return;
    if (base == STANDING_OF_WARMUP)
        buf_addf(out, " in %s", format_seconds(own).text);
    else if (base == STANDING_OF_RATE)
        buf_addf(out, " at %.3g requests/s", own);
    else
        buf_addf(out, " in %s requests", units_count_human(own, number, sizeof number));
}
