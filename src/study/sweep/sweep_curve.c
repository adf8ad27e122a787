#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/units.h"
#include "cache/policy.h"
#include "draw/format.h"
#include "draw/graph.h"
#include "export/outcome_format.h"
#include "page/outcome/outcome_doc.h"
#include "study/output.h"
#include "study/sweep/sweep.h"

/* Accesses of the sample that a policy is tried on, by default: a second or so for each capacity. */
enum { ACCESSES_QUICK = 1 << 20 };
enum { METRIC_MISS_RATIO, METRIC_LOOKUPS, METRIC_MISSES };

/* ---- what is tried ---- */

static void policies_choose(struct sweep *s) {
    struct sweep_curves *c = &s->curves;
    uint64_t asked = s->base.scenario.sweep.policies;
    for (unsigned i = 0; i < TRAITS_POLICIES; i++) {
        enum scenario_eviction policy = (enum scenario_eviction)i;
        uint32_t caps = traits_policy(i)->caps;
        const char *why = caps & POLICY_BY_PARENTS && !c->references.blocks
                              ? "it needs cache.granularity: block"
                          : caps & POLICY_BY_RULES && s->base.scenario.cache.priorities == 0
                              ? "cache.priorities is empty, so it would be lru"
                              : NULL;
        if (!(asked >> i & 1)) continue;
        if (!why)
            c->policy[c->policies++] = policy;
        else
            buf_addf(&s->warnings, "Left out: %s, %s.\n", traits_policy(policy)->word, why);
    }
}

/* Three significant digits, in binary. */
static uint64_t rounded_up(double bytes) {
    double grain = exp2(floor(log2(bytes)) - 5);
    return (uint64_t)(ceil(bytes / grain) * grain);
}

/* From what one request takes, but at least a thousandth of it all, to where nothing has to go. */
static void capacities_choose(struct sweep *s) {
    struct sweep_curves *c = &s->curves;
    const struct scenario_sweep *sweep = &s->base.scenario.sweep;
    if (sweep->capacities > 0) {
        c->capacities = sweep->capacities;
        memcpy(c->capacity, sweep->capacity_bytes, sizeof c->capacity);
        return;
    }
    double part = (double)curve_usable_bytes(&s->base.scenario, c->tier, UINT64_C(1) << 40) / 0x1p40;
    double high = (double)c->references.total_bytes / part;
    double low = fmin(fmax((double)c->references.largest_bytes / part, high / 1024), high);
    unsigned points = (unsigned)sweep->points;
    if (points > SCENARIO_SWEEP_CAPACITIES) points = SCENARIO_SWEEP_CAPACITIES;
    for (unsigned i = 0; i < points; i++) {
        uint64_t bytes = rounded_up(low * pow(high / low, (double)i / (points - 1)));
        if (c->capacities == 0 || bytes > c->capacity[c->capacities - 1])
            c->capacity[c->capacities++] = bytes;
    }
}

static enum kvf_tier tier_choose(const struct scenario *s) {
    int t = 0;
    if (s->sweep.tier_set) return s->sweep.tier;
    while (t < KVF_TIERS - 1 && !s->tier[t].on) t++;
    return (enum kvf_tier)t;
}

/* LRU over blocks that are all let in, where the tier holds every request as a whole: all capacities at once.
 * A larger request would put out blocks of its own, which depends on the order of its writes. */
static bool by_stack(const struct sweep *s, size_t i) {
    const struct sweep_curves *c = &s->curves;
    const struct scenario *sc = &s->base.scenario;
    return c->references.blocks && sc->cache.admission == KVF_ADMISSION_ALWAYS &&
           c->policy[i / c->capacities] == KVF_EVICTION_LRU &&
           curve_usable_bytes(sc, c->tier, c->capacity[i % c->capacities]) >= c->references.largest_bytes;
}

/* The part of the entries to try: sweep.sample, else enough of them. */
static double sample_of(const struct sweep *s, size_t i) {
    const struct sweep_curves *c = &s->curves;
    const struct scenario *sc = &s->base.scenario;
    if (by_stack(s, i)) return 1;
    if (sc->sweep.sample > 0) return sc->sweep.sample;
    return curve_sample_at(&c->references, curve_usable_bytes(sc, c->tier, c->capacity[i % c->capacities]),
                           c->sample);
}

static void stack_points(struct sweep *s) {
    struct sweep_curves *c = &s->curves;
    struct sweep_curve *all = mem_zalloc(c->capacities, sizeof *all);
    for (unsigned k = 0; k < c->capacities; k++) all[k].capacity_bytes = c->capacity[k];
    curve_stack(&c->references, &s->base.scenario, c->tier, all, c->capacities);
    for (size_t i = 0; i < s->points; i++) {
        if (!by_stack(s, i)) continue;
        const struct sweep_curve *one = &all[i % c->capacities];
        s->point[i].value[METRIC_MISS_RATIO] = one->miss_ratio;
        s->point[i].value[METRIC_LOOKUPS] = (double)one->lookups;
        s->point[i].value[METRIC_MISSES] = (double)one->misses;
        s->point[i].state = OUTCOME_DONE;
        s->line.finished++;
    }
    free(all);
}

enum run_status sweep_curve_child(const struct sweep *s, size_t point, struct run_record *run,
                                  char why[400]) {
    const struct sweep_curves *c = &s->curves;
    struct sweep_curve one = {.capacity_bytes = c->capacity[point % c->capacities],
                              .sample = sample_of(s, point)};
    struct err e = {0};
    if (curve_try(&c->references, &s->base.scenario, c->tier, c->policy[point / c->capacities], &one, &e)) {
        snprintf(why, 400, "%.399s", e.text);
        return RUN_FAILED;
    }
    result_add(&run->results, one.miss_ratio, one.lookups, "miss_ratio");
    result_add(&run->results, (double)one.lookups, 0, "lookups");
    result_add(&run->results, (double)one.misses, 0, "misses");
    return RUN_COMPLETED;
}

static void curves_keep(struct sweep *s) {
    struct sweep_curves *c = &s->curves;
    c->point = mem_zalloc(s->points + 1, sizeof *c->point);
    for (size_t i = 0; i < s->points; i++) {
        const struct sweep_point *p = &s->point[i];
        struct sweep_curve *one = &c->point[c->points];
        const char *policy;
        if (p->state != OUTCOME_DONE) continue;
        sweep_curve_point(s, i, &policy, &one->capacity_bytes);
        snprintf(one->policy, sizeof one->policy, "%s", policy);
        snprintf(one->method, sizeof one->method, "%s", by_stack(s, i) ? "stack" : "cache");
        one->sample = sample_of(s, i);
        one->miss_ratio = p->value[METRIC_MISS_RATIO];
        one->lookups = (uint64_t)p->value[METRIC_LOOKUPS];
        one->misses = (uint64_t)p->value[METRIC_MISSES];
        c->points++;
    }
}

int sweep_miss_ratio(struct sweep *s, struct err *e) {
    struct sweep_curves *c = &s->curves;
    s->metrics = 0;
    snprintf(s->metric[s->metrics++], sizeof s->metric[0], "miss_ratio");
    snprintf(s->metric[s->metrics++], sizeof s->metric[0], "lookups");
    snprintf(s->metric[s->metrics++], sizeof s->metric[0], "misses");
    for (unsigned m = 0; m < s->metrics; m++) s->known[m] = true;
    int rc = references_collect(&c->references, &s->base.scenario, e);
    if (rc != 0) return rc;
    c->tier = tier_choose(&s->base.scenario);
    policies_choose(s);
    capacities_choose(s);
    c->sample = s->base.scenario.sweep.sample;
    if (c->sample == 0) c->sample = curve_sample(&c->references, ACCESSES_QUICK);
    for (size_t i = 0; i < (size_t)c->policies * c->capacities; i++) (void)sweep_point_add(s, 0);
    sweep_line_begin(s, s->points);
    stack_points(s);
    for (size_t from = 0, to; from < s->points && !s->stopped; from = to) { /* what the stack did not do */
        for (; from < s->points && by_stack(s, from); from++) {}
        for (to = from; to < s->points && !by_stack(s, to); to++) {}
        if (from < to) sweep_run(s, from, to);
    }
    curves_keep(s);
    return 0;
}

/* ---- the table and the chart ---- */

static double ratio_at(const struct sweep *s, unsigned policy, unsigned capacity) {
    const struct sweep_point *p = &s->point[(size_t)policy * s->curves.capacities + capacity];
    return p->state == OUTCOME_DONE ? p->value[METRIC_MISS_RATIO] : NAN;
}

static double mean_ratio(const struct sweep *s, unsigned policy) {
    double sum = 0;
    for (unsigned k = 0; k < s->curves.capacities; k++) sum += ratio_at(s, policy, k);
    return sum / s->curves.capacities; /* NaN when one is missing */
}

/* Policies in rows, as many capacities beside each other as there is room for. */
static void table_put(const struct sweep *s, unsigned columns, struct buf *out) {
    enum { NAME = 18, CELL = 10 };
    const struct sweep_curves *c = &s->curves;
    unsigned beside = columns > NAME + CELL ? (columns - NAME) / CELL : 1;
    for (unsigned from = 0, to; from < c->capacities; from = to) {
        to = from + beside < c->capacities ? from + beside : c->capacities;
        buf_addf(out, "%-*s", NAME, "policy");
        for (unsigned k = from; k < to; k++) {
            char size[24];
            buf_addf(out, "%*s", CELL, units_size_human((double)c->capacity[k], size, sizeof size));
        }
        buf_add(out, "\n");
        for (unsigned p = 0; p < c->policies; p++) {
            bool ceiling = (traits_policy(c->policy[p])->caps & POLICY_LOOKS_AHEAD) != 0;
            buf_addf(out, "%-*s", NAME, ceiling ? "belady (ceiling)" : traits_policy(c->policy[p])->word);
            for (unsigned k = from; k < to; k++) {
                double v = ratio_at(s, p, k);
                buf_addf(out, "%*s", CELL, isnan(v) ? "--" : format_percent(v).text);
            }
            buf_add(out, "\n");
        }
        buf_add(out, "\n");
    }
}

enum { CHART_ROWS = 14, CHART_COLUMNS = 125 };

/* The ratio at a part of the logarithmic scale of capacities, on a straight line between two of them. */
static double ratio_between(const struct sweep *s, unsigned policy, double part) {
    const struct sweep_curves *c = &s->curves;
    double low = log((double)c->capacity[0]);
    double at = low + part * (log((double)c->capacity[c->capacities - 1]) - low);
    unsigned k = 1;
    while (k + 1 < c->capacities && log((double)c->capacity[k]) < at) k++;
    double from = log((double)c->capacity[k - 1]), to = log((double)c->capacity[k]);
    double share = to > from ? fmin(fmax((at - from) / (to - from), 0), 1) : 0;
    return ratio_at(s, policy, k - 1) + share * (ratio_at(s, policy, k) - ratio_at(s, policy, k - 1));
}

static void chart_put(const struct sweep *s, const unsigned *policy, unsigned count,
                      const struct format_style *style, struct buf *out) {
    const struct sweep_curves *c = &s->curves;
    struct canvas canvas;
    char low[24], high[24];
    int columns = style->columns && style->columns < CHART_COLUMNS ? (int)style->columns : CHART_COLUMNS;
    canvas_init(&canvas, CHART_ROWS, columns, (struct style){.ascii = style->ascii, .scheme = SCHEME_MONO});
    struct pane pane = pane_whole(&canvas);
    size_t points = graph_points(&pane);
    float *values = mem_zalloc(count * points + 1, sizeof *values);
    struct graph g = {.title = "Miss ratio over capacity",
                      .axis = number_percent,
                      .ends = {units_size_human((double)c->capacity[0], low, sizeof low),
                               units_size_human((double)c->capacity[c->capacities - 1], high, sizeof high)},
                      .cursor_s = (double)NAN,
                      .lines = count};
    for (unsigned n = 0; n < count; n++) {
        float *line = values + n * points;
        for (size_t i = 0; i < points; i++) {
            line[i] = (float)ratio_between(s, policy[n], points > 1 ? (double)i / (double)(points - 1) : 0);
            g.top = fmax(g.top, (double)line[i]);
        }
        g.line[n] = (struct graph_line){.name = traits_policy(c->policy[policy[n]])->word, .values = line};
    }
    graph_draw(&pane, &g);
    canvas_text(&canvas, out);
    canvas_free(&canvas);
    free(values);
}

/* LRU, the best of the others that do not know what comes, and the ceiling. */
static void chart_choose(const struct sweep *s, const struct format_style *style, struct buf *out) {
    const struct sweep_curves *c = &s->curves;
    unsigned chosen[3], count = 0, best = UINT32_MAX;
    for (unsigned p = 0; p < c->policies; p++) {
        bool online = c->policy[p] != KVF_EVICTION_LRU && c->policy[p] != KVF_EVICTION_BELADY;
        double mean = mean_ratio(s, p);
        if (isnan(mean)) continue;
        if (!online)
            chosen[count++] = p;
        else if (best == UINT32_MAX || mean < mean_ratio(s, best))
            best = p;
    }
    if (best != UINT32_MAX) chosen[count++] = best;
    if (count > 0 && c->capacities > 1) chart_put(s, chosen, count, style, out);
}

void sweep_curve_text(const struct sweep *s, const struct format_style *style, struct buf *out) {
    const struct sweep_curves *c = &s->curves;
    const struct references *r = &c->references;
    char total[24];
    if (c->capacities == 0) return;
    buf_addf(out, "Miss ratios of %s lookups by %s requests in the %s tier alone;\n",
             format_exact((double)r->lookups).text, format_exact((double)r->requests).text,
             tier_name(c->tier));
    buf_addf(out, "%s different entries, %s in all.\n", format_exact((double)r->ids).text,
             units_size_human((double)r->total_bytes, total, sizeof total));
    if (r->cut) buf_add(out, "Later requests are left out: there are too many to hold.\n");
    if (c->sample < 1)
        buf_addf(out, "Policies are tried on a sample of %.4g of the entries%s%s.\n", c->sample,
                 s->base.scenario.sweep.sample > 0 ? "" : ", of more where a tier is small",
                 r->blocks ? "; lru by stack distances on all of them" : "");
    buf_add(out, "\n");
    table_put(s, style->columns ? style->columns : 80, out);
    chart_choose(s, style, out);
}

void sweep_curve_free(struct sweep_curves *c) {
    references_free(&c->references);
    free(c->point);
}

/* ---- behind a run ---- */

int sweep_curve_after_run(const struct options *o, const struct scenario *sc, bool quiet,
                          const struct format_style *style, struct buf *out) {
    struct sweep *s = mem_zalloc(1, sizeof *s);
    struct err e = {0};
    s->base.options = o;
    memcpy(&s->base.scenario, sc, sizeof *sc);
    s->db = "none";
    s->jobs = sweep_jobs();
    s->line.quiet = quiet;
    s->baseline = SIZE_MAX;
    int status = sweep_miss_ratio(s, &e) != 0 ? output_fail(&e) : s->signal ? 128 + s->signal : 0;
    sweep_line_end(s);
    buf_add(out, "\n");
    sweep_curve_text(s, style, out);
    struct outcome all;
    sweep_outcome(s, &all);
    struct doc *end = outcome_doc_end(&all, false);
    doc_terminal(end, style, out);
    doc_free(end);
    outcome_free(&all);
    sweep_curve_free(&s->curves);
    buf_free(&s->warnings);
    free(s->point);
    free(s);
    return status;
}
