#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- a table of texts ---- */

enum { COLUMNS_MAX = SWEEP_AXES_MAX + 2 * SWEEP_METRICS_MAX + 3, CELL = 64 };
struct grid {
    char (*cell)[COLUMNS_MAX][CELL];
    size_t rows;
    unsigned columns, text_columns; /* those of text stand left */
};

static void grid_open(struct grid *g, size_t rows) {
    *g = (struct grid){.cell = mem_zalloc(rows, sizeof *g->cell), .rows = rows};
}

static void grid_put(const struct grid *g, struct buf *out) {
    unsigned width[COLUMNS_MAX] = {0};
    for (size_t r = 0; r < g->rows; r++)
        for (unsigned c = 0; c < g->columns; c++) {
            unsigned w = format_width(g->cell[r][c]);
            if (w > width[c]) width[c] = w;
        }
    for (size_t r = 0; r < g->rows; r++) {
        struct buf line = {0};
        for (unsigned c = 0; c < g->columns; c++) {
            int pad = (int)(width[c] - format_width(g->cell[r][c]));
            bool left = c > 0 && c <= g->text_columns;
            buf_addf(&line, "%s%*s%s%*s", c ? "  " : "", left ? 0 : pad, "", g->cell[r][c], left ? pad : 0,
                     "");
        }
        while (line.len > 0 && line.data[line.len - 1] == ' ') line.data[--line.len] = '\0';
        buf_addf(out, "%s\n", buf_text(&line));
        buf_free(&line);
    }
}

/* ---- what stands in it ---- */

/* The last part of a key, or all of it where two have the same. */
static void axis_title(const struct sweep_plan *p, unsigned axis, char out[CELL]) {
    const char *key = p->axis[axis].key, *dot = strrchr(key, '.'), *last = dot ? dot + 1 : key;
    for (unsigned i = 0; i < p->axes; i++) {
        const char *other = strrchr(p->axis[i].key, '.');
        if (i != axis && strcmp(other ? other + 1 : p->axis[i].key, last) == 0) last = key;
    }
    snprintf(out, CELL, "%s", last);
}

static void metric_title(const char *metric, char out[CELL]) {
    size_t len = strlen(metric);
    bool ms = len > 3 && strcmp(metric + len - 3, "_ms") == 0;
    snprintf(out, CELL, "%.*s", (int)(ms ? len - 3 : len), metric);
}

static unsigned put_names(const struct sweep *s, size_t i, char (*cell)[CELL]) {
    struct scenario_setting setting[SWEEP_AXES_MAX];
    struct buf label = {0};
    unsigned count = 1;
    if (s->base.scenario.sweep.profile == KVF_SWEEP_KEYS) {
        count = sweep_settings(&s->base, i, NULL, setting);
        for (unsigned k = 0; k < count; k++) {
            const char *value = setting[k].value;
            size_t len = strlen(value);
            bool quoted = len >= 2 && value[0] == '"';
            snprintf(cell[k], CELL, "%.*s", (int)(len - 2 * quoted), value + quoted);
        }
    } else {
        if (s->point[i].sought[0])
            buf_add(&label, s->point[i].sought);
        else
            sweep_label(s, i, &label);
        snprintf(cell[0], CELL, "%s", buf_text(&label));
    }
    buf_free(&label);
    return count;
}

static unsigned put_titles(const struct sweep *s, char (*cell)[CELL]) {
    const struct scenario_sweep *sweep = &s->base.scenario.sweep;
    if (sweep->profile != KVF_SWEEP_KEYS) {
        snprintf(cell[0], CELL, "%s", sweep->profile == KVF_SWEEP_RATES ? "load" : sweep->find);
        return 1;
    }
    for (unsigned k = 0; k < s->base.plan.axes; k++) axis_title(&s->base.plan, k, cell[k]);
    return s->base.plan.axes;
}

static bool has_baseline(const struct sweep *s) {
    return s->baseline != SIZE_MAX;
}

static void put_delta(double v, double base, char out[CELL]) {
    if (isnan(v) || isnan(base) || base == 0)
        snprintf(out, CELL, "--");
    else
        snprintf(out, CELL, "%+.1f %%", 100 * (v / base - 1));
}

static const char *state_word(const struct sweep_point *p) {
    static const char *const words[] = {"not run", "running", "", "FAILED", "stopped"};
    return words[p->state];
}

static void put_row(const struct sweep *s, size_t i, char (*cell)[CELL]) {
    const struct sweep_point *p = &s->point[i];
    unsigned c = 0;
    snprintf(cell[c++], CELL, "%zu", i + 1);
    c += put_names(s, i, cell + c);
    for (unsigned m = 0; m < s->metrics; m++) {
        bool there = p->state == POINT_DONE && kvf_present(p->value[m]);
        snprintf(cell[c++], CELL, "%s",
                 there ? format_measure(p->value[m], s->unit[m], s->metric[m]).text : "--");
        if (has_baseline(s)) put_delta(there ? p->value[m] : NAN, s->point[s->baseline].value[m], cell[c++]);
    }
    if (p->run_id)
        snprintf(cell[c], CELL, "%lld", (long long)p->run_id);
    else
        snprintf(cell[c], CELL, "--");
    snprintf(cell[c + 1], CELL, "%s", state_word(p));
}

void sweep_table_text(const struct sweep *s, const struct report_style *style, struct buf *out) {
    struct grid g;
    grid_open(&g, s->points + 1);
    unsigned c = 0;
    snprintf(g.cell[0][c++], CELL, "point");
    c += g.text_columns = put_titles(s, g.cell[0] + 1);
    for (unsigned m = 0; m < s->metrics; m++) {
        metric_title(s->metric[m], g.cell[0][c++]);
        if (has_baseline(s)) snprintf(g.cell[0][c++], CELL, "%s", style->ascii ? "delta" : "Δ");
    }
    snprintf(g.cell[0][c++], CELL, "run");
    g.columns = c + 1; /* the last one says what went wrong */
    for (size_t i = 0; i < s->points; i++) put_row(s, i, g.cell[i + 1]);
    grid_put(&g, out);
    free(g.cell);
    size_t best = sweep_best(s);
    if (best != SIZE_MAX && s->base.scenario.sweep.profile == KVF_SWEEP_KEYS) {
        buf_addf(out, "\nBest %s: %s at ", s->metric[0],
                 format_measure(s->point[best].value[0], s->unit[0], s->metric[0]).text);
        sweep_label(s, best, out);
        buf_add(out, "\n");
    }
}

void sweep_closing_text(const struct sweep *s, struct buf *out) {
    for (size_t i = 0; i < s->points; i++)
        if (s->point[i].state == POINT_FAILED)
            buf_addf(out, "Point %zu failed: %s\n", i + 1, s->point[i].why);
    if (s->record.answer[0]) buf_addf(out, "\n%s\n", s->record.answer);
    if (s->warnings.len > 0) buf_addf(out, "\n%s", s->warnings.data);
}
