#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/grid.h"
#include "cli/sweep.h"
#include "report/format.h"

bool sweep_lower_is_better(const char *metric) {
    size_t len = strlen(metric);
    bool time = (len > 3 && strcmp(metric + len - 3, "_ms") == 0) ||
                (len > 2 && strcmp(metric + len - 2, "_s") == 0 && !strstr(metric, "tok_s") &&
                 !strstr(metric, "per_s") && !strstr(metric, "gib_s"));
    return time || strstr(metric, "miss") || strstr(metric, "evictions") || strstr(metric, "refused") ||
           strstr(metric, "failed") || strstr(metric, "dropped");
}

size_t sweep_best(const struct sweep *s) {
    bool lower = sweep_lower_is_better(s->metric[0]);
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < s->points; i++) {
        double v = s->point[i].value[0];
        if (s->point[i].state != POINT_DONE || isnan(v)) continue;
        if (best == SIZE_MAX || (lower ? v < s->point[best].value[0] : v > s->point[best].value[0])) best = i;
    }
    return best;
}

/* ---- what stands in it ---- */

void sweep_axis_title(const struct sweep_plan *p, unsigned axis, char out[GRID_CELL]) {
    const char *key = p->axis[axis].key, *dot = strrchr(key, '.'), *last = dot ? dot + 1 : key;
    for (unsigned i = 0; i < p->axes; i++) {
        const char *other = strrchr(p->axis[i].key, '.');
        if (i != axis && strcmp(other ? other + 1 : p->axis[i].key, last) == 0) last = key;
    }
    snprintf(out, GRID_CELL, "%s", last);
}

void sweep_metric_title(const char *metric, char out[GRID_CELL]) {
    size_t len = strlen(metric);
    bool ms = len > 3 && strcmp(metric + len - 3, "_ms") == 0;
    snprintf(out, GRID_CELL, "%.*s", (int)(ms ? len - 3 : len), metric);
}

static unsigned put_names(const struct sweep *s, size_t i, char (*cell)[GRID_CELL]) {
    const struct sweep_point *p = &s->point[i];
    struct scenario_setting setting[SWEEP_AXES_MAX];
    unsigned count = sweep_settings(&s->base, p->planned, p->sought, setting);
    for (unsigned k = 0; k < count; k++) {
        const char *value = setting[k].value;
        size_t len = strlen(value);
        bool quoted = len >= 2 && value[0] == '"';
        snprintf(cell[k], GRID_CELL, "%.*s", (int)(len - 2 * quoted), value + quoted);
    }
    if (p->load == LOAD_AT_RATE)
        snprintf(cell[count++], GRID_CELL, "%.6g req/s", p->rate);
    else if (p->load != LOAD_AS_GIVEN)
        snprintf(cell[count++], GRID_CELL, "%s", p->load == LOAD_FULL ? "throughput" : "synchronous");
    return count;
}

static unsigned put_titles(const struct sweep *s, char (*cell)[GRID_CELL]) {
    const struct scenario_sweep *sweep = &s->base.scenario.sweep;
    unsigned count = s->base.plan.axes;
    for (unsigned k = 0; k < count; k++) sweep_axis_title(&s->base.plan, k, cell[k]);
    if (sweep->profile == KVF_SWEEP_RATES || sweep->profile == KVF_SWEEP_CAPACITY)
        snprintf(cell[count++], GRID_CELL, "%s", sweep->profile == KVF_SWEEP_RATES ? "load" : sweep->find);
    return count;
}

bool sweep_has_baseline(const struct sweep *s) {
    return s->baseline != SIZE_MAX ||
           (s->baseline_varies && s->base.scenario.sweep.profile == KVF_SWEEP_KEYS);
}

size_t sweep_baseline_of(const struct sweep *s, size_t i) {
    if (!s->baseline_varies) return s->baseline;
    if (s->base.scenario.sweep.profile != KVF_SWEEP_KEYS) return SIZE_MAX;
    return (size_t)sweep_plan_with(&s->base.plan, s->point[i].planned, s->baseline_group,
                                   s->baseline_variant);
}

void sweep_delta(double v, double base, char *out, size_t len) {
    if (isnan(v) || isnan(base) || base == 0)
        snprintf(out, len, "--");
    else
        snprintf(out, len, "%+.1f %%", 100 * (v / base - 1));
}

static const char *state_word(const struct sweep_point *p) {
    static const char *const words[] = {"not run", "running", "", "FAILED", "stopped"};
    return words[p->state];
}

static void put_row(const struct sweep *s, size_t i, char (*cell)[GRID_CELL]) {
    const struct sweep_point *p = &s->point[i];
    unsigned c = 0;
    snprintf(cell[c++], GRID_CELL, "%zu", i + 1);
    c += put_names(s, i, cell + c);
    for (unsigned m = 0; m < s->metrics; m++) {
        bool there = p->state == POINT_DONE && kvf_present(p->value[m]);
        snprintf(cell[c++], GRID_CELL, "%s",
                 there ? format_measure(p->value[m], s->unit[m], s->metric[m]).text : "--");
        if (!sweep_has_baseline(s)) continue;
        size_t against = sweep_baseline_of(s, i);
        sweep_delta(there ? p->value[m] : NAN, against == SIZE_MAX ? NAN : s->point[against].value[m],
                    cell[c++], GRID_CELL);
    }
    if (p->run_id)
        snprintf(cell[c], GRID_CELL, "%lld", (long long)p->run_id);
    else
        snprintf(cell[c], GRID_CELL, "--");
    snprintf(cell[c + 1], GRID_CELL, "%s", state_word(p));
}

void sweep_table_text(const struct sweep *s, const struct report_style *style, struct buf *out) {
    struct grid g;
    grid_open(&g, s->points + 1);
    g.text_first = 1;
    unsigned c = 0;
    snprintf(g.cell[0][c++], GRID_CELL, "point");
    c += g.text_columns = put_titles(s, g.cell[0] + 1);
    for (unsigned m = 0; m < s->metrics; m++) {
        sweep_metric_title(s->metric[m], g.cell[0][c++]);
        if (sweep_has_baseline(s)) snprintf(g.cell[0][c++], GRID_CELL, "%s", style->ascii ? "delta" : "Δ");
    }
    snprintf(g.cell[0][c++], GRID_CELL, "run");
    g.columns = c + 1; /* the last one says what went wrong */
    for (size_t i = 0; i < s->points; i++) put_row(s, i, g.cell[i + 1]);
    grid_put(&g, out);
    grid_free(&g);
    size_t best = sweep_best(s);
    if (best != SIZE_MAX && s->base.scenario.sweep.profile == KVF_SWEEP_KEYS) {
        buf_addf(out, "\nBest %s: %s at ", s->metric[0],
                 format_measure(s->point[best].value[0], s->unit[0], s->metric[0]).text);
        sweep_label(s, best, out);
        buf_add(out, "\n");
    }
    sweep_peaks_text(s, style, out);
}

void sweep_closing_text(const struct sweep *s, struct buf *out) {
    for (size_t i = 0; i < s->points; i++)
        if (s->point[i].state == POINT_FAILED)
            buf_addf(out, "Point %zu failed: %s\n", i + 1, s->point[i].why);
    if (s->record.answer[0]) buf_addf(out, "\n%s\n", s->record.answer);
    if (s->warnings.len > 0) buf_addf(out, "\n%s", s->warnings.data);
}
