#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draw/format.h"
#include "study/sweep/sweep.h"

/* One request after another, then as many as the slots take, then rates evenly from the first's to the
 * second's, that one included: the sweep of GuideLLM (https://github.com/vllm-project/guidellm). */

static unsigned metric_index(const struct sweep *s, const char *metric) {
    for (unsigned m = 0; m < s->metrics; m++)
        if (strcmp(s->metric[m], metric) == 0) return m;
    return SWEEP_METRICS_MAX;
}

static double value_of(const struct sweep *s, size_t i, const char *metric) {
    unsigned m = metric_index(s, metric);
    return m < s->metrics && s->point[i].state == OUTCOME_DONE ? s->point[i].value[m] : NAN;
}

/* The comparable point of most tokens per second of those with that load; SIZE_MAX: none. */
static size_t peak_of(const struct sweep *s, enum point_load load) {
    size_t peak = SIZE_MAX;
    for (size_t i = 0; i < s->points; i++) {
        double v = value_of(s, i, "throughput_tok_s");
        if (s->point[i].load != load || !kvf_present(v) ||
            !standing_comparable(s->point[i].undone, s->point[i].flaw))
            continue;
        if (peak == SIZE_MAX || v > value_of(s, peak, "throughput_tok_s")) peak = i;
    }
    return peak;
}

static bool has_rates(const struct sweep *s) {
    size_t i = 0;
    while (i < s->points && s->point[i].load != LOAD_AT_RATE) i++;
    return i < s->points;
}

static void put_change(struct buf *out, const char *what, double now, double before) {
    if (kvf_present(now) && kvf_present(before) && before != 0)
        buf_addf(out, " %s %+.1f %%", what, 100 * (now / before - 1));
    else
        buf_addf(out, " %s --", what);
}

/* "Max throughput over rates 1.20k tok/s at 14.8 req/s" */
static void put_peak(const struct sweep *s, size_t at, struct buf *out) {
    bool closed = s->point[at].load == LOAD_FULL;
    buf_addf(out, "Max throughput %s %s", closed ? "in the closed loop with every slot in use" : "over rates",
             format_measure(value_of(s, at, "throughput_tok_s"), "tok/s", "").text);
    if (closed && s->base.plan.axes == 0) return;
    buf_add(out, " at ");
    sweep_label(s, at, out);
}

/* ", with a mean TTFT of 198 ms, a mean TPOT of 2 ms and 1 of 3 targets missed." */
static void put_means(const struct sweep_point *p, double ttft_ms, double tpot_ms, struct buf *out) {
    buf_addf(out, ", with a mean TTFT of %s%s a mean TPOT of %s", format_ms(ttft_ms).text,
             p->targets[0] ? "," : " and", format_ms(tpot_ms).text);
    if (p->targets[0]) buf_addf(out, " and %s", p->targets);
    buf_add(out, ".");
}

static void put_apart(const struct sweep *s, size_t at, const char *what, struct buf *out) {
    buf_addf(out, " Apart from it, %s: %s.", what,
             format_measure(value_of(s, at, "throughput_tok_s"), "tok/s", "").text);
}

/* Lookups that miss may make no work. */
static void put_hits(double now, double before, struct buf *out) {
    if (!(fabs(now - before) >= OUTCOME_FEWER_HITS)) return;
    buf_addf(out, " Its reuse hit ratio is %.1f %% against %.1f %%%s.", 100 * now, 100 * before,
             now < before ? ", and fewer hits can look better" : "");
}

/* One sentence on one point, all of whose figures are its own: that of most tokens of the open loop, or
 * without rates of the closed one, which else stands apart; so does one request at a time that does more. */
static void rates_answer(struct sweep *s) {
    size_t open = peak_of(s, LOAD_AT_RATE), closed = peak_of(s, LOAD_FULL),
           single = peak_of(s, LOAD_SYNCHRONOUS);
    size_t at = open != SIZE_MAX ? open : closed;
    struct buf out = {0};
    const double *base = s->baseline_value;
    if (at == SIZE_MAX) {
        snprintf(s->record.answer, sizeof s->record.answer,
                 "No maximum: every point beyond one request at a time failed or is not comparable.");
        return;
    }
    if (open == SIZE_MAX && has_rates(s))
        buf_add(&out, "No maximum over rates: at every rate the point failed or is not comparable. ");
    double tok_s = value_of(s, at, "throughput_tok_s"), ttft_ms = value_of(s, at, "ttft_mean_ms"),
           tpot_ms = value_of(s, at, "tpot_mean_ms");
    put_peak(s, at, &out);
    put_means(&s->point[at], ttft_ms, tpot_ms, &out);
    if (open != SIZE_MAX && closed != SIZE_MAX)
        put_apart(s, closed, "closed loop with every slot in use", &out);
    if (single != SIZE_MAX && value_of(s, single, "throughput_tok_s") > tok_s)
        put_apart(s, single, "one request at a time", &out);
    if (s->baseline_name[0]) {
        buf_addf(&out, " Against %s:", s->baseline_name);
        put_change(&out, "throughput", tok_s, base[0]);
        put_change(&out, "TTFT", ttft_ms, base[1]);
        put_change(&out, "TPOT", tpot_ms, base[2]);
        buf_add(&out, ".");
        put_hits(s->point[at].reuse_hits, base[3], &out);
    }
    snprintf(s->record.answer, sizeof s->record.answer, "%s", buf_text(&out));
    buf_free(&out);
}

/* Rates between the first two runs of each combination of variants, which stand at 2 x its number. */
static void rates_between(struct sweep *s, size_t combinations, size_t points) {
    for (size_t k = 0; k < combinations; k++) {
        double slow = value_of(s, 2 * k, "requests_per_s"), fast = value_of(s, 2 * k + 1, "requests_per_s");
        if (fast > slow) {
            for (size_t i = 1; i + 1 < points; i++) {
                size_t at = sweep_point_add(s, k); /* the points may move */
                struct sweep_point *p = &s->point[at];
                p->load = LOAD_AT_RATE;
                p->rate = slow + (fast - slow) * (double)i / (double)(points - 2);
            }
        } else if (points > 2) {
            struct buf which = {0};
            struct scenario_setting setting[SWEEP_AXES_MAX];
            sweep_point_label(setting, sweep_settings(&s->base, k, NULL, setting), &which);
            buf_addf(&s->warnings, "Warning: %s%s%s; there are no rates between.\n", buf_text(&which),
                     which.len > 0 ? ": " : "",
                     kvf_present(fast) && kvf_present(slow)
                         ? "at full throughput no more requests are done than one after another"
                         : "the first two runs have no rate of requests");
            buf_free(&which);
        }
    }
}

void sweep_rates(struct sweep *s) {
    size_t points = (size_t)s->base.scenario.sweep.points;
    size_t combinations = s->base.plan.axes > 0 ? (size_t)s->base.plan.points : 1;
    sweep_line_begin(s, combinations * points);
    for (size_t k = 0; k < combinations; k++) {
        size_t first = sweep_point_add(s, k), second = sweep_point_add(s, k);
        s->point[first].load = LOAD_SYNCHRONOUS;
        s->point[second].load = LOAD_FULL;
    }
    sweep_run(s, 0, s->points);
    if (s->stopped) return;
    rates_between(s, combinations, points);
    s->line.total = s->points;
    sweep_run(s, 2 * combinations, s->points);
    if (combinations == 1) rates_answer(s);
}
