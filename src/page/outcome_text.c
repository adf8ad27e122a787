#include "page/outcome_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draw/grid.h"

/* ---- names and numbers ---- */

static const char *value_at(const struct outcome *o, size_t point, unsigned d) {
    return o->dimension[d].value[o->point[point].at[d]].text;
}

void outcome_label(const struct outcome *o, size_t point, struct buf *out) {
    for (unsigned d = 0; d < o->dimensions; d++)
        if (o->dimension[d].role == OUTCOME_LOAD)
            buf_addf(out, "%s%s", d ? " " : "", value_at(o, point, d));
        else
            buf_addf(out, "%s%s=%s", d ? " " : "", o->dimension[d].key, value_at(o, point, d));
}

void outcome_configuration_label(const struct outcome *o, size_t configuration, struct buf *out) {
    for (unsigned g = 0; g < o->groups; g++)
        buf_addf(out, "%s%s", g ? ", " : "",
                 o->dimension[g].value[outcome_variant(o, configuration, g)].text);
}

struct outcome_title outcome_measure_title(const char *metric) {
    struct outcome_title t;
    size_t len = strlen(metric);
    bool ms = len > 3 && strcmp(metric + len - 3, "_ms") == 0;
    snprintf(t.text, sizeof t.text, "%.*s", (int)(ms ? len - 3 : len), metric);
    return t;
}

struct format_cell outcome_cell(const struct outcome *o, double v, size_t measure) {
    struct format_cell missing = {"--"};
    return isnan(v) ? missing : format_measure(v, o->measure[measure].unit, o->measure[measure].name);
}

struct format_cell outcome_change(double delta) {
    struct format_cell c = {"--"};
    if (isfinite(delta)) snprintf(c.text, sizeof c.text, "%+.1f %%", 100 * delta);
    return c;
}

/* ---- the points ---- */

static void put(char cell[GRID_CELL], const char *text) {
    snprintf(cell, GRID_CELL, "%s", text);
}

static void put_row(const struct outcome *o, size_t i, char (*cell)[GRID_CELL]) {
    const struct outcome_point *p = &o->point[i];
    unsigned c = 0;
    snprintf(cell[c++], GRID_CELL, "%zu", p->number);
    for (unsigned d = 0; d < o->dimensions; d++) put(cell[c++], value_at(o, i, d));
    for (size_t m = 0; m < o->chosen; m++) {
        put(cell[c++], outcome_cell(o, outcome_value(o, i, m), m).text);
        if (o->compared) put(cell[c++], outcome_change(outcome_delta(o, i, m)).text);
    }
    if (p->run_id)
        snprintf(cell[c++], GRID_CELL, "%lld", (long long)p->run_id);
    else
        put(cell[c++], "--");
    put(cell[c], p->state == OUTCOME_DONE     ? ""
                 : p->state == OUTCOME_FAILED ? "FAILED"
                                              : outcome_state_name(p->state));
}

static const char *change_sign(const struct format_style *style) {
    return style->ascii ? "delta" : "Δ";
}

static void put_points(const struct outcome *o, const struct format_style *style, struct buf *out) {
    struct grid g;
    unsigned c = 0;
    grid_open(&g, o->points + 1);
    g.text_first = 1;
    put(g.cell[0][c++], "point");
    g.text_columns = o->dimensions;
    for (unsigned d = 0; d < o->dimensions; d++) put(g.cell[0][c++], o->dimension[d].title);
    for (size_t m = 0; m < o->chosen; m++) {
        put(g.cell[0][c++], outcome_measure_title(o->measure[m].name).text);
        if (o->compared) put(g.cell[0][c++], change_sign(style));
    }
    put(g.cell[0][c++], "run");
    g.columns = c + 1; /* the last one says what went wrong */
    for (size_t i = 0; i < o->points; i++) put_row(o, i, g.cell[i + 1]);
    grid_put(&g, out);
    grid_free(&g);
}

/* ---- the peaks ---- */

static unsigned put_peak_titles(const struct outcome *o, const struct format_style *style,
                                char (*cell)[GRID_CELL]) {
    size_t judge = outcome_judge(o);
    unsigned c = 0;
    for (; c < o->groups; c++) put(cell[c], o->dimension[c].key);
    put(cell[c++], outcome_measure_title(o->measure[judge].name).text);
    if (o->base_group != SIZE_MAX) put(cell[c++], change_sign(style));
    for (unsigned d = o->groups; d < o->dimensions; d++) put(cell[c++], o->dimension[d].title);
    for (size_t m = 0; m < o->chosen; m++)
        if (m != judge) put(cell[c++], outcome_measure_title(o->measure[m].name).text);
    return c;
}

static void put_peak(const struct outcome *o, const struct outcome_peak *p, char (*cell)[GRID_CELL]) {
    size_t judge = outcome_judge(o);
    unsigned c = 0;
    for (unsigned g = 0; g < o->groups; g++)
        put(cell[c++], o->dimension[g].value[outcome_variant(o, p->configuration, g)].text);
    put(cell[c++], outcome_cell(o, p->value[judge], judge).text);
    if (o->base_group != SIZE_MAX) put(cell[c++], outcome_change(p->delta).text);
    for (unsigned d = o->groups; d < o->dimensions; d++)
        put(cell[c++], p->point == SIZE_MAX ? "--" : value_at(o, p->point, d));
    for (size_t m = 0; m < o->chosen; m++)
        if (m != judge) put(cell[c++], outcome_cell(o, p->value[m], m).text);
}

static void put_peaks(const struct outcome *o, const struct format_style *style, struct buf *out) {
    struct grid g;
    size_t count;
    struct outcome_peak *peak = outcome_peaks(o, &count);
    bool against = o->base_group != SIZE_MAX;
    if (count > 0) {
        buf_addf(out, "\nPeaks by %s%s%s:\n", o->measure[outcome_judge(o)].name, against ? ", against " : "",
                 against ? o->baseline : "");
        grid_open(&g, count + 1);
        g.text_columns = o->groups;
        g.columns = put_peak_titles(o, style, g.cell[0]);
        for (size_t i = 0; i < count; i++) put_peak(o, &peak[i], g.cell[i + 1]);
        grid_put(&g, out);
        grid_free(&g);
    }
    outcome_peaks_free(peak, count);
}

void outcome_table(const struct outcome *o, const struct format_style *style, struct buf *out) {
    put_points(o, style, out);
    size_t best = outcome_best(o);
    if (best != SIZE_MAX && strcmp(o->record.profile, "keys") == 0) {
        buf_addf(out, "\nBest %s: %s at ", o->measure[0].name,
                 outcome_cell(o, outcome_value(o, best, 0), 0).text);
        outcome_label(o, best, out);
        buf_add(out, "\n");
    }
    put_peaks(o, style, out);
}

void outcome_closing(const struct outcome *o, struct buf *out) {
    for (size_t i = 0; i < o->points; i++)
        if (o->point[i].state == OUTCOME_FAILED)
            buf_addf(out, "Point %zu failed: %s\n", o->point[i].number, o->point[i].why);
    if (o->record.answer[0]) buf_addf(out, "\n%s\n", o->record.answer);
    if (o->warnings && o->warnings[0]) buf_addf(out, "\n%s", o->warnings);
}
