#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/export_xlsx.h"
#include "record/metric.h"

/* Columns: run_id and name, the interval's, those of each tier that any run has, and for charts what each of
 * these tiers holds in GiB, which no format of a cell makes of bytes; then those of the block layer, where a
 * run was traced. */
enum { BEFORE = 2, HEAD_HEIGHT = 60 };

static bool tier_used(const struct xlsx *x, int tier) {
    for (size_t r = 0; r < x->count; r++)
        if (x->runs[r].series.tier_on[tier]) return true;
    return false;
}

static bool block_used(const struct xlsx *x) {
    for (size_t r = 0; r < x->count; r++)
        if (x->runs[r].series.block) return true;
    return false;
}

static void add_head(struct book_page *p, const char *prefix, const struct snapshot_field *f) {
    struct buf name = {0};
    bool text = export_field_is_moment(f) || strcmp(f->name, "phase") == 0;
    buf_addf(&name, f->unit[0] ? "%s%s%s (%s)" : "%s%s%s", prefix, prefix[0] ? "_" : "", f->name, f->unit);
    book_width(p, p->column, export_field_is_moment(f) ? 19 : strcmp(f->unit, "B") == 0 ? 18 : 10);
    book_text(p, text ? BOOK_HEAD : BOOK_HEAD_NUMBER, buf_text(&name));
    buf_free(&name);
}

static const struct snapshot_field used_gib = {.name = "used", .unit = "GiB", .help = "", .type = SNAPSHOT_F};

static void add_heads(const struct xlsx *x, struct book_page *p) {
    book_text(p, BOOK_HEAD_NUMBER, "run_id");
    book_text(p, BOOK_HEAD, "name");
    for (size_t f = 0; f < snapshot_interval_field_count; f++) add_head(p, "", &snapshot_interval_fields[f]);
    for (int t = 0; t < KVF_TIERS; t++)
        for (size_t f = 0; tier_used(x, t) && f < snapshot_tier_field_count; f++)
            add_head(p, tier_name((enum kvf_tier)t), &snapshot_tier_fields[f]);
    for (int t = 0; t < KVF_TIERS; t++)
        if (tier_used(x, t)) add_head(p, tier_name((enum kvf_tier)t), &used_gib);
    for (size_t f = 0; block_used(x) && f < snapshot_block_field_count; f++)
        add_head(p, "block", &snapshot_block_fields[f]);
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
    for (int t = 0; t < KVF_TIERS; t++)
        if (tier_used(x, t))
            book_number(p, BOOK_MILLI,
                        r->series.tier_on[t] ? (double)r->series.tier[i][t].used_bytes / 0x1p30 : NAN);
    if (r->series.block)
        add_fields(p, &r->series.block[i], snapshot_block_fields, snapshot_block_field_count);
}

/* ---- charts ---- */

static unsigned interval_column(const char *name) {
    size_t f = 0;
    while (f + 1 < snapshot_interval_field_count && strcmp(snapshot_interval_fields[f].name, name) != 0) f++;
    return BEFORE + (unsigned)f;
}

/* Of what a tier holds in GiB. */
static unsigned used_column(const struct xlsx *x, int tier) {
    unsigned column = BEFORE + (unsigned)snapshot_interval_field_count;
    for (int t = 0; t < KVF_TIERS; t++)
        if (tier_used(x, t)) column += (unsigned)snapshot_tier_field_count + (t < tier);
    return column;
}

static lxw_chart *begin_chart(struct xlsx *x, const char *title, const char *unit) {
    lxw_chart *chart = workbook_add_chart(x->book.workbook, LXW_CHART_SCATTER_STRAIGHT);
    if (!chart) return NULL;
    chart_title_set_name(chart, title);
    chart_axis_set_name(chart->x_axis, "run time (s)");
    chart_axis_set_name(chart->y_axis, unit);
    chart_axis_set_min(chart->y_axis, 0);
    if (strcmp(unit, "%") == 0) {
        chart_axis_set_num_format(chart->y_axis, "0%");
        chart_axis_set_max(chart->y_axis, 1);
    }
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
            snprintf(name, sizeof name, "run %" PRId64 "%s%s", x->runs[r].run.run_id, what[0] ? " " : "",
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
        const char *field, *title; /* NULL: that of the metric */
    } plots[] = {{"throughput_tok_s", "Throughput"}, {"e2e_p95_ms", NULL}, {"reuse_hit_ratio", NULL}};
    enum { ROWS_EACH = 22, ROWS_PAPER = 2 * ROWS_EACH, SCALE = 68 }; /* two on a sheet of paper, uncut */
    struct book_page p;
    int rc = book_begin(&p, &x->book, "charts", e);
    if (rc) return rc;
    worksheet_set_print_scale(p.sheet, SCALE);
    worksheet_set_h_pagebreaks(p.sheet, (lxw_row_t[]){ROWS_PAPER, 0});
    lxw_chart_options size = {.x_scale = 1.8, .y_scale = 1.45};
    lxw_row_t row = 0;
    for (size_t i = 0; i < sizeof plots / sizeof plots[0]; i++, row += ROWS_EACH) {
        const char *field = plots[i].field;
        lxw_chart *chart =
            begin_chart(x, plots[i].title ? plots[i].title : metric_title(field).text, metric_axis(field));
        if (!chart) continue;
        add_lines(x, chart, "", interval_column(field), KVF_TIERS);
        worksheet_insert_chart_opt(p.sheet, row, 0, chart, &size);
    }
    lxw_chart *chart = begin_chart(x, "Tier occupancy", "GiB");
    for (int t = 0; chart && t < KVF_TIERS; t++)
        if (tier_used(x, t)) add_lines(x, chart, tier_name((enum kvf_tier)t), used_column(x, t), t);
    if (chart) worksheet_insert_chart_opt(p.sheet, row, 0, chart, &size);
    return 0;
}

int xlsx_intervals(struct xlsx *x, struct err *e) {
    struct book_page p;
    size_t rows = 0;
    int rc = book_begin(&p, &x->book, "intervals", e);
    if (rc) return rc;
    worksheet_set_row(p.sheet, 0, HEAD_HEIGHT, NULL);
    add_heads(x, &p);
    for (size_t r = 0; r < x->count; r++) {
        rows += x->runs[r].series.count;
        for (size_t i = 0; i < x->runs[r].series.count; i++) add_row(x, &p, &x->runs[r], i);
    }
    book_next_row(&p);
    book_freeze(&p, BEFORE + 2); /* seq and t_s too */
    /* all columns would be too small to read */
    worksheet_print_area(p.sheet, 0, 0, p.row - 1, (lxw_col_t)interval_column("reuse_hit_ratio"));
    return rows ? add_charts(x, e) : 0;
}
