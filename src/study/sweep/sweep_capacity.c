#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "draw/format.h"
#include "metrics/bisect.h"
#include "scenario/load.h"
#include "study/sweep/sweep.h"

static bool holds(const struct sweep *s, double v) {
    const struct scenario_sweep *sweep = &s->base.scenario.sweep;
    return scenario_op_holds(sweep->target.op, v, sweep->target.value);
}

/* A queue that is kept full says how much can be done, and nothing of how soon. */
static bool waits(const struct sweep *s, size_t i) {
    const char *metric = s->base.scenario.sweep.target.metric;
    return s->point[i].flaw == STANDING_FLAW_BEHIND && !buf_ends_with(s->unit[0], "/s") &&
           strcmp(metric, "unserved_ratio") != 0 && strcmp(metric, "achieved_ratio") != 0;
}

/* A point that left work undone meets no target, unless that work is what the target counts; nor does one
 * with a flaw, such as the figures of the few requests that found no crowd. Where what arrived was not
 * served, throughput is known all the same. */
static bool counts(const struct sweep *s, size_t i) {
    double undone[STANDING_UNDONE];
    memcpy(undone, s->point[i].undone, sizeof undone);
    size_t asked = standing_undone_find(s->base.scenario.sweep.target.metric);
    if (asked < STANDING_UNDONE) undone[asked] = 0;
    return standing_nothing_undone(undone) && !standing_flaw_hides(s->point[i].flaw) && !waits(s, i);
}

static bool is_met(const struct sweep *s, size_t i) {
    return counts(s, i) && holds(s, s->point[i].value[0]);
}

static const char *target_text(const struct sweep *s, char out[160]) {
    const struct scenario_sweep *sweep = &s->base.scenario.sweep;
    snprintf(out, 160, "%s %s %s", sweep->target.metric, scenario_op_name(sweep->target.op),
             format_measure(sweep->target.value, s->unit[0], sweep->target.metric).text);
    return out;
}

static struct format_cell measured(const struct sweep *s, size_t i) {
    return format_measure(s->point[i].value[0], s->unit[0], s->metric[0]);
}

/* "512 tok/s, but 3 writes fell through" */
struct given {
    char text[120 + STANDING_TEXT];
};
static struct given given(const struct sweep *s, size_t i) {
    struct given g = {"--"};
    char why[STANDING_TEXT];
    if (i == SIZE_MAX) return g;
    const struct sweep_point *p = &s->point[i];
    standing_why(p->undone, p->flaw, why);
    if (standing_nothing_undone(p->undone) && p->flaw == STANDING_FLAW_BEHIND && p->waiting > 0)
        snprintf(why, sizeof why, "%s of the arrivals were left waiting", format_percent(p->waiting).text);
    bool longer = standing_nothing_undone(p->undone) && p->flaw == STANDING_FLAW_CUT;
    if (counts(s, i))
        snprintf(g.text, sizeof g.text, "%s", measured(s, i).text);
    else
        snprintf(g.text, sizeof g.text, "%s, but %s%s", measured(s, i).text, why,
                 longer ? " (make run.duration longer)" : "");
    return g;
}

static size_t point_at(const struct sweep *s, double v) {
    char text[SWEEP_VALUE];
    sweep_number_text(s->base.scenario.sweep.find, v, text);
    for (size_t i = 0; i < s->points; i++)
        if (strcmp(s->point[i].sought, text) == 0) return i;
    return SIZE_MAX;
}

static size_t add_value(struct sweep *s, double v) {
    size_t i = sweep_point_add(s, 0);
    sweep_number_text(s->base.scenario.sweep.find, v, s->point[i].sought);
    return i;
}

/* A search that believes in monotony can be led astray where there is none: a larger value that meets less.
 */
static void warn_not_monotone(struct sweep *s) {
    const char *find = s->base.scenario.sweep.find;
    bool lower =
        s->base.scenario.sweep.target.op == KVF_OP_LT || s->base.scenario.sweep.target.op == KVF_OP_LE;
    for (size_t a = 0; a < s->points; a++)
        for (size_t b = 0; b < s->points; b++) {
            double va, vb, ma = s->point[a].value[0], mb = s->point[b].value[0];
            if (!sweep_number_parse(find, s->point[a].sought, &va) ||
                !sweep_number_parse(find, s->point[b].sought, &vb) || !(va < vb) || isnan(ma) || isnan(mb))
                continue;
            bool worse = lower ? mb > ma : mb < ma;
            if (!worse || !counts(s, a) || !counts(s, b)) continue;
            if ((holds(s, ma) == holds(s, mb) && fabs(mb - ma) <= 0.01 * fabs(ma))) continue;
            buf_addf(
                &s->warnings,
                "Warning: %s is %s at %s and %s at the larger %s: it does not only get better, so smaller "
                "values than the answer may meet the target, or larger ones miss it.\n",
                s->metric[0], measured(s, a).text, s->point[a].sought, measured(s, b).text,
                s->point[b].sought);
            return;
        }
}

/* Whether the target is met more easily with smaller requests, of a key that does not itself change them. */
static bool eased_by_size(const struct sweep *s) {
    const char *metric = s->base.scenario.sweep.target.metric;
    bool of_time = strcmp(s->unit[0], "ms") == 0 || buf_ends_with(s->unit[0], "/s") ||
                   strncmp(metric, "slo_", strlen("slo_")) == 0;
    return of_time && !work_asked(s->base.scenario.sweep.find);
}

static bool gains(const struct sweep *s, const struct sweep_point *p, const struct sweep_point *q,
                  bool alike) {
    bool by_tokens = strcmp(s->base.scenario.sweep.target.metric, "total_tok_s") == 0;
    return by_tokens ? work_skips(&p->work, &q->work, alike) : work_smaller(&p->work, &q->work, alike);
}

/* Where users wait for answers a slow system is asked for less of what is slow. */
static void warn_smaller(struct sweep *s) {
    bool alike = strncmp(s->base.scenario.sweep.find, "cache.", strlen("cache.")) != 0;
    char text[WORK_TEXT];
    for (size_t a = 0; a < s->points && eased_by_size(s); a++)
        for (size_t b = 0; b < s->points; b++) {
            const struct sweep_point *p = &s->point[a], *q = &s->point[b];
            if (p->state != OUTCOME_DONE || q->state != OUTCOME_DONE || !gains(s, p, q, alike)) continue;
            buf_addf(&s->warnings,
                     "Warning: the requests done at %s were %s than those at %s: %s. Smaller requests take "
                     "less time, so a slower system may meet the target where a faster one misses it.\n",
                     p->sought, work_word(&p->work, &q->work, alike), q->sought,
                     work_text(&p->work, &q->work, alike, text));
            return;
        }
}

/* A point that failed, or has no such metric, ends the search. Which one is said, and what is known by then.
 */
static void answer_failed(const struct sweep *s, const struct bisect *b, const char *target, double v,
                          struct buf *out) {
    char value[SWEEP_VALUE];
    const char *find = s->base.scenario.sweep.find;
    size_t i = point_at(s, v);
    if (i == SIZE_MAX || s->point[i].state != OUTCOME_FAILED) return; /* it was stopped */
    sweep_number_text(find, v, value);
    if (!b->low_known)
        buf_addf(out, "No answer: even the lower bound, %s of %s, does not meet %s, as its run failed: %s.",
                 find, value, target, s->point[i].why);
    else
        buf_addf(out, "No answer: the run of %s%s of %s failed, so it does not meet %s: %s.",
                 b->high_known ? "" : "the upper bound, ", find, value, target, s->point[i].why);
}

/* " 120 lookups missed at 64MiB, ...": a target of time or of throughput is met more easily without them. */
static void put_no_work(const struct sweep *s, size_t i, const char *value, struct buf *out) {
    if (i == SIZE_MAX || !(s->point[i].no_work > 0) ||
        strstr(s->base.scenario.sweep.target.metric, "hit_ratio"))
        return;
    double chunks = s->point[i].chunk_misses, missed = s->point[i].no_work;
    if (chunks >= missed)
        buf_addf(
            out,
            " %s lookups of document chunks missed at %s. Such a miss makes no work, so less room can look "
            "faster.",
            format_count(chunks).text, value);
    else
        buf_addf(
            out,
            " %s lookups missed at %s. At granularity request a miss makes no work, so less room can look "
            "faster; with cache.granularity: block a modelled GPU (compute.mode: roofline) computes it%s.",
            format_count(missed).text, value, chunks > 0 ? ", unless it is of a document chunk" : "");
}

/* " The reuse hit ratio is 0.2 % at 8GiB and 83.5 % at 800GiB. ...": without a modelled GPU nothing computes
 * what missed, which a target of time or of throughput is met more easily with. */
static void put_written(const struct sweep *s, size_t i, const char *value, struct buf *out) {
    const struct scenario_sweep *sweep = &s->base.scenario.sweep;
    size_t most = i;
    if (i == SIZE_MAX || s->point[i].no_work > 0 || s->point[i].computes ||
        !sweep_point_by_blocks(&s->base, &s->point[i]) || strstr(sweep->target.metric, "hit_ratio") ||
        strncmp(sweep->find, "workload.", strlen("workload.")) == 0)
        return;
    for (size_t k = 0; k < s->points; k++)
        if (s->point[k].state == OUTCOME_DONE && s->point[k].reuse_hits > s->point[most].reuse_hits) most = k;
    if (!(s->point[most].reuse_hits - s->point[i].reuse_hits >= OUTCOME_FEWER_HITS)) return;
    buf_addf(
        out,
        " The reuse hit ratio is %.1f %% at %s and %.1f %% at %s. At granularity block without a modelled "
        "GPU a miss is written instead of being read and computed by nothing, so less room can look "
        "faster; compute.mode: roofline counts that work.",
        100 * s->point[i].reuse_hits, value, 100 * s->point[most].reuse_hits, s->point[most].sought);
}

static void answer(struct sweep *s, const struct bisect *b) {
    const char *find = s->base.scenario.sweep.find;
    char target[160], low[SWEEP_VALUE], high[SWEEP_VALUE];
    double next;
    size_t at_low = point_at(s, b->low), at_high = point_at(s, b->high);
    sweep_number_text(find, b->low, low);
    sweep_number_text(find, b->high, high);
    target_text(s, target);
    struct buf text = {0};
    switch (b->state) {
    case BISECT_AT_LOW:
        buf_addf(&text, "%s is met at the lower bound already: %s of %s gives %s; less was not tried.",
                 target, find, high, given(s, at_high).text);
        break;
    case BISECT_NOT_MET:
        buf_addf(&text, "%s cannot be met within the bounds: %s of %s, the upper one, gives %s.", target,
                 find, high, given(s, at_high).text);
        break;
    case BISECT_FOUND:
        buf_addf(&text, "Required for %s: %s of %s, which gives %s; %s gives %s and is not enough.", target,
                 find, high, given(s, at_high).text, low, given(s, at_low).text);
        break;
    case BISECT_GOES_ON:
        if (bisect_next(b, &next)) answer_failed(s, b, target, next, &text);
        break;
    }
    if (b->state == BISECT_AT_LOW || b->state == BISECT_FOUND) {
        put_no_work(s, at_high, high, &text);
        put_written(s, at_high, high, &text);
    }
    snprintf(s->record.answer, sizeof s->record.answer, "%s", buf_text(&text));
    buf_free(&text);
}

/* Whether a point says anything; what it cannot say ends the search. */
static bool usable(struct sweep *s, size_t i) {
    if (s->point[i].state != OUTCOME_DONE) return false;
    if (kvf_present(s->point[i].value[0])) return true;
    char why[200];
    snprintf(why, sizeof why, "its results have no %s", s->metric[0]);
    sweep_point_fail(s, i, why);
    return false;
}

static bool is_whole(const char *key) {
    size_t count;
    const struct scenario_key *keys = scenario_keys(&count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(keys[i].name, key) == 0) return strcmp(keys[i].type, "number") != 0;
    return false;
}

void sweep_capacity(struct sweep *s) {
    const struct scenario_sweep *sweep = &s->base.scenario.sweep;
    struct bisect b;
    double low, high, v;
    if (!sweep_bounds(&s->base.scenario, &low, &high)) return;
    bisect_init(&b, low, high, sweep->precision, is_whole(sweep->find));
    sweep_line_begin(s, 0);
    add_value(s, low);
    add_value(s, high);
    sweep_run(s, 0, 2);
    while (!s->stopped && bisect_next(&b, &v)) {
        size_t i = point_at(s, v);
        if (i == SIZE_MAX) {
            i = add_value(s, v);
            sweep_run(s, i, i + 1);
        }
        if (!usable(s, i)) break;
        bisect_tell(&b, is_met(s, i));
    }
    answer(s, &b);
    warn_not_monotone(s);
    warn_smaller(s);
}
