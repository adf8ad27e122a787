#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "export/book.h"
#include "export/outcome_format.h"

enum { WIDTH_NAME = 24, WIDTH_NUMBER = 18 };

struct pages {
    struct book book;
    const struct outcome *outcome;
};

/* ---- what it was ---- */

static void fact(struct book_page *p, const char *label, const char *text) {
    if (!text[0]) return;
    book_text(p, BOOK_LABEL, label);
    book_text(p, BOOK_WRAP, text);
    book_next_row(p);
}

static void count_fact(struct book_page *p, const char *label, uint64_t n) {
    book_text(p, BOOK_LABEL, label);
    book_count(p, BOOK_COUNT, n);
    book_next_row(p);
}

static int put_sweep(struct pages *x, struct err *e) {
    enum { WIDTH_TEXT = 80 };
    const struct sweep_record *r = &x->outcome->record;
    struct book_page p;
    int rc = book_begin(&p, &x->book, "sweep", e);
    if (rc) return rc;
    book_width(&p, 0, WIDTH_NAME);
    book_width(&p, 1, WIDTH_TEXT);
    count_fact(&p, "sweep", (uint64_t)r->sweep_id);
    fact(&p, "name", r->name);
    fact(&p, "profile", r->profile);
    fact(&p, "model", r->model);
    fact(&p, "mode", r->mode);
    fact(&p, "host", r->host);
    fact(&p, "version", r->version);
    fact(&p, "status", run_status_name(r->status));
    fact(&p, "status reason", r->status_reason);
    book_text(&p, BOOK_LABEL, "started (UTC)");
    book_time(&p, r->started_at);
    book_next_row(&p);
    book_text(&p, BOOK_LABEL, "ended (UTC)");
    book_time(&p, r->ended_at);
    book_next_row(&p);
    count_fact(&p, "points", r->points);
    count_fact(&p, "done", r->done);
    count_fact(&p, "failed", r->failed);
    fact(&p, "baseline", x->outcome->baseline);
    fact(&p, "answer", r->answer);
    fact(&p, "uuid", r->uuid);
    return 0;
}

/* ---- columns that points and peaks have in common ---- */

static unsigned put_heads(struct book_page *p, const struct outcome *o, unsigned from, unsigned to,
                          unsigned column) {
    for (unsigned d = from; d < to; d++) {
        const struct outcome_dimension *of = &o->dimension[d];
        struct buf name = {0};
        book_width(p, column++, WIDTH_NAME);
        book_text(p, BOOK_HEAD, of->key);
        if (!of->unit[0]) continue;
        buf_addf(&name, "%s (%s)", of->key, of->unit);
        book_width(p, column++, WIDTH_NUMBER);
        book_text(p, BOOK_HEAD, buf_text(&name));
        buf_free(&name);
    }
    return column;
}

/* Plain numbers are numbers; what has a unit is its text with the number beside it. */
static void put_place(struct book_page *p, const struct outcome *o, size_t point, unsigned from,
                      unsigned to) {
    for (unsigned d = from; d < to; d++) {
        const struct outcome_dimension *of = &o->dimension[d];
        const struct outcome_value *v = point == SIZE_MAX ? NULL : &of->value[o->point[point].at[d]];
        if (!v)
            book_skip(p);
        else if (isnan(v->number) || of->unit[0])
            book_text(p, BOOK_PLAIN, v->text);
        else
            book_number(p, BOOK_PLAIN, v->number);
        if (of->unit[0]) book_number(p, BOOK_PLAIN, v ? v->number : NAN);
    }
}

/* With the difference behind each that the sweep is about, where `deltas`. */
static void put_measure_heads(struct book_page *p, const struct outcome *o, size_t count, bool deltas,
                              unsigned column) {
    for (size_t m = 0; m < count; m++) {
        const struct outcome_measure *of = &o->measure[m];
        struct buf name = {0};
        buf_addf(&name, of->unit[0] ? "%s (%s)" : "%s", of->name, of->unit);
        book_width(p, column++, WIDTH_NUMBER);
        book_text(p, BOOK_HEAD, buf_text(&name));
        buf_free(&name);
        if (!deltas || m >= o->chosen) continue;
        buf_addf(&name, "%s delta", of->name);
        book_width(p, column++, WIDTH_NUMBER);
        book_text(p, BOOK_HEAD, buf_text(&name));
        buf_free(&name);
    }
}

static void put_measure(struct book_page *p, const struct outcome *o, size_t m, double v) {
    book_number(p, book_unit_style(o->measure[m].unit, v), v);
}

/* ---- peaks ---- */

static int put_peaks(struct pages *x, struct err *e) {
    const struct outcome *o = x->outcome;
    struct book_page p;
    size_t count;
    int rc = book_begin(&p, &x->book, "peaks", e);
    if (rc) return rc;
    struct outcome_peak *peak = outcome_peaks(o, &count);
    unsigned column = put_heads(&p, o, 0, o->groups, 0);
    book_text(&p, BOOK_HEAD, "point");
    column = put_heads(&p, o, o->groups, o->dimensions, column + 1);
    book_text(&p, BOOK_HEAD, "delta");
    put_measure_heads(&p, o, o->chosen, false, column + 1);
    for (size_t i = 0; i < count; i++) {
        book_next_row(&p);
        for (unsigned g = 0; g < o->groups; g++)
            book_text(&p, BOOK_PLAIN,
                      o->dimension[g].value[outcome_variant(o, peak[i].configuration, g)].text);
        book_number(&p, BOOK_COUNT, peak[i].point == SIZE_MAX ? NAN : (double)o->point[peak[i].point].number);
        put_place(&p, o, peak[i].point, o->groups, o->dimensions);
        book_number(&p, BOOK_RATIO, peak[i].delta);
        for (size_t m = 0; m < o->chosen; m++) put_measure(&p, o, m, peak[i].value[m]);
    }
    outcome_peaks_free(peak, count);
    book_next_row(&p);
    book_freeze(&p, o->groups);
    return 0;
}

/* ---- points ---- */

static void put_point(struct book_page *p, const struct outcome *o, size_t i) {
    const struct outcome_point *at = &o->point[i];
    char undone[STANDING_TEXT];
    book_next_row(p);
    book_count(p, BOOK_COUNT, at->number);
    put_place(p, o, i, 0, o->dimensions);
    book_text(p, at->state == OUTCOME_FAILED ? BOOK_BAD : BOOK_PLAIN, outcome_state_name(at->state));
    book_text(p, BOOK_BAD, outcome_undone(at, undone));
    if (at->run_id)
        book_count(p, BOOK_PLAIN, (uint64_t)at->run_id);
    else
        book_skip(p);
    for (size_t m = 0; m < o->measures; m++) {
        put_measure(p, o, m, outcome_measured(o, i, m));
        if (o->compared && m < o->chosen) book_number(p, BOOK_RATIO, outcome_delta(o, i, m));
    }
}

static int put_points(struct pages *x, struct err *e) {
    const struct outcome *o = x->outcome;
    struct book_page p;
    int rc = book_begin(&p, &x->book, "points", e);
    if (rc) return rc;
    book_text(&p, BOOK_HEAD, "point");
    unsigned column = put_heads(&p, o, 0, o->dimensions, 1);
    book_text(&p, BOOK_HEAD, "state");
    book_width(&p, column + 1, WIDTH_NAME);
    book_text(&p, BOOK_HEAD, "undone");
    book_text(&p, BOOK_HEAD, "run_id");
    put_measure_heads(&p, o, o->measures, o->compared, column + 3);
    for (size_t i = 0; i < o->points; i++) put_point(&p, o, i);
    book_next_row(&p);
    book_freeze(&p, 1 + o->dimensions);
    return 0;
}

/* ---- curves ---- */

static int put_curves(struct pages *x, struct err *e) {
    static const char *const heads[] = {"policy",     "capacity (B)", "lookups", "misses",
                                        "miss_ratio", "sample",       "method"};
    const struct outcome *o = x->outcome;
    struct book_page p;
    int rc = book_begin(&p, &x->book, "curves", e);
    if (rc) return rc;
    for (unsigned h = 0; h < sizeof heads / sizeof *heads; h++) {
        book_text(&p, BOOK_HEAD, heads[h]);
        book_width(&p, h, WIDTH_NUMBER);
    }
    for (size_t i = 0; i < o->curves; i++) {
        const struct sweep_curve *c = &o->curve[i];
        book_next_row(&p);
        book_text(&p, BOOK_PLAIN, c->policy);
        book_count(&p, BOOK_COUNT, c->capacity_bytes);
        book_count(&p, BOOK_COUNT, c->lookups);
        book_count(&p, BOOK_COUNT, c->misses);
        book_number(&p, BOOK_RATIO, c->miss_ratio);
        book_number(&p, BOOK_PLAIN, c->sample);
        book_text(&p, BOOK_PLAIN, c->method);
    }
    book_next_row(&p);
    book_freeze(&p, 2);
    return 0;
}

/* ---- the whole ---- */

static int fill(const void *ctx, struct buf *out, struct err *e) {
    struct pages x = {.outcome = ctx};
    bool curves = strcmp(x.outcome->record.profile, "miss_ratio") == 0;
    int rc = book_open(&x.book, x.outcome->record.started_at, e);
    if (rc) return rc;
    static const struct book_entry pages[] = {
        {"sweep", "what was swept, on what, and how it ended"},
        {"curves", "the miss ratio of each policy at each capacity"},
        {"peaks", "the best point of each configuration, with its difference from the baseline"},
        {"points", "every point with its run and all metrics"}};
    struct book_entry shown[3] = {pages[0], pages[curves ? 1 : 2], pages[3]};
    char title[120];
    snprintf(title, sizeof title, "kvfall, sweep %" PRId64 " %s", x.outcome->record.sweep_id,
             x.outcome->record.name);
    rc = book_index(&x.book, title, shown, curves ? 2 : 3, e);
    if (!rc) rc = put_sweep(&x, e);
    if (!rc && curves) rc = put_curves(&x, e);
    if (!rc && !curves) rc = put_peaks(&x, e);
    if (!rc && !curves) rc = put_points(&x, e);
    int closed = book_close(&x.book, out, e);
    return rc ? rc : closed;
}

int outcome_xlsx(const struct outcome *o, struct buf *out, struct err *e) {
    if (o->points >= BOOK_ROWS_MAX)
        return err_set(e, KVF_ERR_USAGE,
                       "this sweep has %zu points, and a sheet has only %d rows; take csv or json", o->points,
                       BOOK_ROWS_MAX);
    return book_apart(fill, o, out, e);
}
