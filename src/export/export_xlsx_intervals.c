#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/export_xlsx.h"

/* Columns: run_id and name, the interval's, and those of each tier that any run has. */
enum { BEFORE = 2, WIDTH_FIELD = 15 };

static bool tier_used(const struct xlsx *x, int tier) {
    for (size_t r = 0; r < x->count; r++)
        if (x->runs[r].series.tier_on[tier]) return true;
    return false;
}

static void add_head(struct book_page *p, const char *prefix, const struct snapshot_field *f) {
    struct buf name = {0};
    buf_addf(&name, f->unit[0] ? "%s%s%s (%s)" : "%s%s%s", prefix, prefix[0] ? "_" : "", f->name, f->unit);
    book_width(p, p->column, name.len > WIDTH_FIELD ? (unsigned)name.len : WIDTH_FIELD);
    book_text(p, BOOK_HEAD, buf_text(&name));
    buf_free(&name);
}

static void add_heads(const struct xlsx *x, struct book_page *p) {
    book_text(p, BOOK_HEAD, "run_id");
    book_text(p, BOOK_HEAD, "name");
    for (size_t f = 0; f < snapshot_interval_field_count; f++) add_head(p, "", &snapshot_interval_fields[f]);
    for (int t = 0; t < KVF_TIERS; t++)
        for (size_t f = 0; tier_used(x, t) && f < snapshot_tier_field_count; f++)
            add_head(p, tier_name((enum kvf_tier)t), &snapshot_tier_fields[f]);
}

static enum book_style field_style(const struct snapshot_field *f) {
    if (f->type == SNAPSHOT_U) return BOOK_COUNT;
    return f->unit[0] ? book_unit_style(f->unit, 0) : BOOK_RATIO;
}

static void add_fields(struct book_page *p, const void *part, const struct snapshot_field *fields,
                       size_t count) {
    for (size_t f = 0; f < count; f++) {
        const char *word = export_field_word(part, &fields[f]);
        const void *at = (const char *)part + fields[f].offset;
        if (word)
            book_text(p, BOOK_PLAIN, word);
        else if (export_field_is_moment(&fields[f]))
            book_time(p, *(const double *)at);
        else if (fields[f].type == SNAPSHOT_U)
            book_count(p, field_style(&fields[f]), *(const uint64_t *)at);
        else
            book_number(p, field_style(&fields[f]), *(const double *)at);
    }
}

static void add_row(const struct xlsx *x, struct book_page *p, const struct export_run *r, size_t i) {
    book_next_row(p);
    book_count(p, BOOK_PLAIN, (uint64_t)r->run.run_id);
    book_text(p, BOOK_PLAIN, r->run.name);
    add_fields(p, &r->series.interval[i], snapshot_interval_fields, snapshot_interval_field_count);
    for (int t = 0; t < KVF_TIERS; t++) {
        if (!tier_used(x, t)) continue;
        if (r->series.tier_on[t])
            add_fields(p, &r->series.tier[i][t], snapshot_tier_fields, snapshot_tier_field_count);
        else
            for (size_t f = 0; f < snapshot_tier_field_count; f++) book_skip(p);
    }
}

/* ---- charts ---- */

static unsigned field_column(const struct snapshot_field *fields, size_t count, const char *name) {
    unsigned f = 0;
    while (f + 1 < count && strcmp(fields[f].name, name) != 0) f++;
    return f;
}

static unsigned interval_column(const char *name) {
    return BEFORE + field_column(snapshot_interval_fields, snapshot_interval_field_count, name);
}

static unsigned tier_column(const struct xlsx *x, int tier, const char *name) {
    unsigned column = BEFORE + (unsigned)snapshot_interval_field_count;
    for (int t = 0; t < tier; t++)
        if (tier_used(x, t)) column += (unsigned)snapshot_tier_field_count;
    return column + field_column(snapshot_tier_fields, snapshot_tier_field_count, name);
}

static lxw_chart *begin_chart(struct xlsx *x, const char *title, const char *unit) {
    lxw_chart *chart = workbook_add_chart(x->book.workbook, LXW_CHART_SCATTER_STRAIGHT);
    if (!chart) return NULL;
    chart_title_set_name(chart, title);
    chart_axis_set_name(chart->x_axis, "run time (s)");
    chart_axis_set_name(chart->y_axis, unit);
    chart_axis_set_min(chart->y_axis, 0);
    return chart;
}

/* A line of a column of each run over its run time. `tier` KVF_TIERS: of the interval itself. */
static void add_lines(struct xlsx *x, lxw_chart *chart, const char *what, unsigned column, int tier) {
    enum { RUNS_MAX = 60 }; /* a chart has 255 lines, and runs have up to four tiers */
    lxw_row_t first = 1;
    for (size_t r = 0; r < x->count && r < RUNS_MAX; r++) {
        const struct series *s = &x->runs[r].series;
        lxw_row_t last = first + (lxw_row_t)s->count - 1;
        if (s->count && (tier == KVF_TIERS || s->tier_on[tier])) {
            char name[64];
            snprintf(name, sizeof name, "run %lld%s%s", (long long)x->runs[r].run.run_id, what[0] ? " " : "",
                     what);
            lxw_chart_series *line = chart_add_series(chart, NULL, NULL);
            unsigned t = interval_column("t_s");
            chart_series_set_name(line, name);
            chart_series_set_categories(line, "intervals", first, (lxw_col_t)t, last, (lxw_col_t)t);
            chart_series_set_values(line, "intervals", first, (lxw_col_t)column, last, (lxw_col_t)column);
        }
        first = last + 1;
    }
}

static int add_charts(struct xlsx *x, struct err *e) {
    static const struct {
        const char *title, *unit, *field;
    } plots[] = {{"Throughput", "tok/s", "throughput_tok_s"},
                 {"End-to-end latency, P95", "ms", "e2e_p95_ms"},
                 {"Hit ratio", "", "reuse_hit_ratio"}};
    enum { ROWS_EACH = 22 };
    struct book_page p;
    int rc = book_begin(&p, &x->book, "charts", e);
    if (rc) return rc;
    lxw_chart_options size = {.x_scale = 1.8, .y_scale = 1.45};
    lxw_row_t row = 0;
    for (size_t i = 0; i < sizeof plots / sizeof plots[0]; i++, row += ROWS_EACH) {
        lxw_chart *chart = begin_chart(x, plots[i].title, plots[i].unit);
        if (!chart) continue;
        add_lines(x, chart, "", interval_column(plots[i].field), KVF_TIERS);
        worksheet_insert_chart_opt(p.sheet, row, 0, chart, &size);
    }
    lxw_chart *chart = begin_chart(x, "Tier occupancy", "B");
    for (int t = 0; chart && t < KVF_TIERS; t++)
        if (tier_used(x, t))
            add_lines(x, chart, tier_name((enum kvf_tier)t), tier_column(x, t, "used_bytes"), t);
    if (chart) worksheet_insert_chart_opt(p.sheet, row, 0, chart, &size);
    return 0;
}

int xlsx_intervals(struct xlsx *x, struct err *e) {
    struct book_page p;
    size_t rows = 0;
    int rc = book_begin(&p, &x->book, "intervals", e);
    if (rc) return rc;
    add_heads(x, &p);
    for (size_t r = 0; r < x->count; r++) {
        rows += x->runs[r].series.count;
        for (size_t i = 0; i < x->runs[r].series.count; i++) add_row(x, &p, &x->runs[r], i);
    }
    book_next_row(&p);
    book_freeze(&p, BEFORE + 2); /* seq and t_s too */
    return rows ? add_charts(x, e) : 0;
}
