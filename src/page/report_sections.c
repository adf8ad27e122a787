#include <math.h>
#include <stdio.h>

#include "draw/format.h"
#include "draw/sheet.h"
#include "page/report.h"
#include "record/snapshot.h"

static struct sheet *begin(const struct format_style *style, const char *const *columns) {
    struct sheet *g = sheet_new(SHEET_TABLE, style->ascii);
    for (; *columns; columns++) sheet_column(g, *columns);
    return g;
}

/* A heading with the table under it, or what there is none of. */
static void finish(struct sheet *g, const struct format_style *style, const char *title, size_t rows,
                   struct buf *out) {
    struct format_page p;
    format_page_init(&p, style, out);
    buf_add(out, "\n");
    format_line(&p, FORMAT_HEADING, "%s%s", title, rows ? "" : ": none");
    if (rows) sheet_print(g, out);
    sheet_free(g);
}

/* As people read it; missing values stay missing. */
static void measure(struct sheet *g, double v, struct format_cell c) {
    sheet_cell(g, isnan(v) ? SHEET_NULL : SHEET_NUMBER, c.text);
}

static void text(struct sheet *g, const char *s) {
    sheet_cell(g, *s ? SHEET_TEXT : SHEET_NULL, s);
}

static void decisions(const struct run_record *r, const struct format_style *style, struct buf *out) {
    static const char *const columns[] = {"time",       "mode",  "action", "users",  "now",
                                          "saturation", "tok/s", "P95",    "reason", NULL};
    struct sheet *g = begin(style, columns);
    for (size_t i = 0; i < r->decision_count; i++) {
        const struct snapshot_decision *d = &r->decisions[i];
        measure(g, r->decision_t_s[i], format_seconds(r->decision_t_s[i]));
        text(g, d->mode);
        text(g, d->action);
        measure(g, 0, format_exact((double)d->users_before));
        measure(g, 0, format_exact((double)d->users_after));
        measure(g, d->saturation, format_percent(d->saturation));
        measure(g, d->throughput_tok_s, format_count(d->throughput_tok_s));
        measure(g, d->p95_ms, format_ms(d->p95_ms));
        text(g, d->reason);
    }
    finish(g, style, "Decisions", r->decision_count, out);
}

static void events(const struct run_record *r, const struct format_style *style, struct buf *out) {
    static const char *const columns[] = {"time", "level", "message", NULL};
    struct sheet *g = begin(style, columns);
    for (size_t i = 0; i < r->event_count; i++) {
        const struct record_event *event = &r->events[i];
        measure(g, event->t_s, format_seconds(event->t_s));
        text(g, event->level);
        text(g, event->message);
    }
    finish(g, style, "Events", r->event_count, out);
}

static void criteria(const struct run_record *r, const struct format_style *style, struct buf *out) {
    static const char *const columns[] = {"criterion", "measure", "actual", "", "target", "verdict", NULL};
    struct sheet *g = begin(style, columns);
    for (size_t i = 0; i < r->criterion_count; i++) {
        const struct run_criterion *c = &r->criteria[i];
        text(g, c->name);
        text(g, c->metric);
        measure(g, 0, format_actual(c->actual, c->unit, c->metric));
        text(g, c->op);
        measure(g, c->target, format_measure(c->target, c->unit, c->metric));
        text(g, c->passed ? "PASS" : "FAIL");
    }
    finish(g, style, "Criteria", r->criterion_count, out);
}

static void measures(const struct run_record *r, const struct format_style *style, struct buf *out) {
    static const char *const columns[] = {"measure", "value", "unit", "samples", NULL};
    struct sheet *g = begin(style, columns);
    for (size_t i = 0; i < r->results.count; i++) {
        const struct result *m = &r->results.items[i];
        struct format_cell value, samples;
        snprintf(value.text, sizeof value.text, "%.9g", m->value);
        snprintf(samples.text, sizeof samples.text, "%llu", (unsigned long long)m->samples);
        text(g, m->metric);
        measure(g, m->value, value);
        text(g, m->unit);
        sheet_cell(g, m->samples ? SHEET_NUMBER : SHEET_NULL, samples.text);
    }
    finish(g, style, "Measures", r->results.count, out);
}

void report_section(enum report_section section, const struct run_record *r, const struct format_style *style,
                    struct buf *out) {
    static void (*const sections[REPORT_SECTIONS])(const struct run_record *, const struct format_style *,
                                                   struct buf *) = {
        [REPORT_DECISIONS] = decisions,
        [REPORT_EVENTS] = events,
        [REPORT_CRITERIA] = criteria,
        [REPORT_MEASURES] = measures,
    };
    sections[section](r, style, out);
}

const char *report_section_name(enum report_section section) {
    static const char *const names[REPORT_SECTIONS] = {"decisions", "events", "criteria", "measures"};
    return names[section];
}
