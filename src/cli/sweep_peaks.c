#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/grid.h"
#include "cli/sweep.h"
#include "report/format.h"

static bool by_load(const struct sweep *s) {
    return s->base.scenario.sweep.profile == KVF_SWEEP_RATES;
}

/* The measure whose best value is the peak. */
static unsigned judged_by(const struct sweep *s) {
    for (unsigned m = 0; by_load(s) && m < s->metrics; m++)
        if (strcmp(s->metric[m], "throughput_tok_s") == 0) return m;
    return 0;
}

/* Points of the plan that have the same variants stand next to each other: groups vary slowest. */
static uint64_t points_each(const struct sweep_plan *p) {
    uint64_t each = 1;
    for (unsigned i = p->groups; i < p->axes; i++) each *= p->axis[i].values;
    return each;
}

static void peak_find(const struct sweep *s, struct sweep_peak *peak, uint64_t each) {
    unsigned judge = judged_by(s);
    bool lower = sweep_lower_is_better(s->metric[judge]);
    double sum[SWEEP_METRICS_MAX] = {0}, n[SWEEP_METRICS_MAX] = {0};
    peak->point = SIZE_MAX;
    for (size_t i = 0; i < s->points; i++) {
        const struct sweep_point *p = &s->point[i];
        if (p->planned / each != peak->planned / each || p->state != POINT_DONE) continue;
        for (unsigned m = 0; m < s->metrics; m++) {
            if (!kvf_present(p->value[m])) continue;
            sum[m] += p->value[m];
            n[m]++;
        }
        double v = p->value[judge], most = peak->point == SIZE_MAX ? NAN : s->point[peak->point].value[judge];
        if (kvf_present(v) && (peak->point == SIZE_MAX || (lower ? v < most : v > most))) peak->point = i;
    }
    for (unsigned m = 0; m < s->metrics; m++) {
        peak->value[m] = peak->point == SIZE_MAX ? NAN : s->point[peak->point].value[m];
        if (by_load(s) && m != judge) peak->value[m] = n[m] > 0 ? sum[m] / n[m] : NAN;
    }
}

struct sweep_peak *sweep_peaks(const struct sweep *s, size_t *count) {
    const struct sweep_plan *plan = &s->base.plan;
    uint64_t each = points_each(plan);
    unsigned judge = judged_by(s);
    *count = 0;
    if (plan->groups == 0 || plan->zip || (each < 2 && !by_load(s))) return NULL;
    struct sweep_peak *peak = mem_zalloc((size_t)(plan->points / each), sizeof *peak);
    for (; *count < plan->points / each; ++*count) {
        peak[*count].planned = *count * each;
        peak_find(s, &peak[*count], each);
    }
    for (size_t i = 0; i < *count; i++) {
        peak[i].delta = NAN;
        if (!s->baseline_varies) continue;
        uint64_t base = sweep_plan_with(plan, peak[i].planned, s->baseline_group, s->baseline_variant);
        peak[i].delta = peak[i].value[judge] / peak[base / each].value[judge] - 1;
    }
    return peak;
}

static void put_value(const struct sweep *s, double v, unsigned m, char out[GRID_CELL]) {
    snprintf(out, GRID_CELL, "%s", kvf_present(v) ? format_measure(v, s->unit[m], s->metric[m]).text : "--");
}

/* A value as people read it: names without their quotes. */
static void put_text(const char *value, char out[GRID_CELL]) {
    size_t len = strlen(value);
    bool quoted = len >= 2 && value[0] == '"';
    snprintf(out, GRID_CELL, "%.*s", (int)(len - 2 * quoted), value + quoted);
}

static void put_peak(const struct sweep *s, const struct sweep_peak *peak, char (*cell)[GRID_CELL]) {
    const struct sweep_plan *plan = &s->base.plan;
    struct scenario_setting setting[SWEEP_AXES_MAX];
    const struct sweep_point *p = peak->point == SIZE_MAX ? NULL : &s->point[peak->point];
    unsigned judge = judged_by(s), c = 0;
    sweep_plan_point(plan, p ? p->planned : peak->planned, setting);
    for (unsigned k = 0; k < plan->groups; k++) put_text(setting[k].value, cell[c++]);
    put_value(s, peak->value[judge], judge, cell[c++]);
    if (s->baseline_varies) sweep_delta(1 + peak->delta, 1, cell[c++], GRID_CELL);
    for (unsigned k = plan->groups; k < plan->axes; k++) put_text(p ? setting[k].value : "--", cell[c++]);
    if (by_load(s) && p && p->load == LOAD_AT_RATE)
        snprintf(cell[c++], GRID_CELL, "%.6g req/s", p->rate);
    else if (by_load(s))
        snprintf(cell[c++], GRID_CELL, "%s", !p ? "--" : p->load == LOAD_FULL ? "throughput" : "synchronous");
    for (unsigned m = 0; m < s->metrics; m++)
        if (m != judge) put_value(s, peak->value[m], m, cell[c++]);
}

static unsigned put_titles(const struct sweep *s, const struct report_style *style, char (*cell)[GRID_CELL]) {
    const struct sweep_plan *plan = &s->base.plan;
    unsigned judge = judged_by(s), c = 0;
    for (; c < plan->groups; c++) snprintf(cell[c], GRID_CELL, "%s", plan->axis[c].key);
    sweep_metric_title(s->metric[judge], cell[c++]);
    if (s->baseline_varies) snprintf(cell[c++], GRID_CELL, "%s", style->ascii ? "delta" : "Δ");
    for (unsigned k = plan->groups; k < plan->axes; k++) sweep_axis_title(plan, k, cell[c++]);
    if (by_load(s)) snprintf(cell[c++], GRID_CELL, "load");
    for (unsigned m = 0; m < s->metrics; m++)
        if (m != judge) sweep_metric_title(s->metric[m], cell[c++]);
    return c;
}

void sweep_peaks_text(const struct sweep *s, const struct report_style *style, struct buf *out) {
    struct grid g;
    size_t count;
    struct sweep_peak *peak = sweep_peaks(s, &count);
    if (count > 0) {
        buf_addf(out, "\nPeaks by %s%s%s%s:\n", s->metric[judged_by(s)],
                 by_load(s) ? ", the rest means over the loads" : "", s->baseline_varies ? ", against " : "",
                 s->baseline_varies ? s->base.scenario.sweep.baseline : "");
        grid_open(&g, count + 1);
        g.text_columns = s->base.plan.groups;
        g.columns = put_titles(s, style, g.cell[0]);
        for (size_t i = 0; i < count; i++) put_peak(s, &peak[i], g.cell[i + 1]);
        grid_put(&g, out);
        grid_free(&g);
    }
    free(peak);
}
