#include <math.h>
#include <stdio.h>
#include <string.h>

#include "page/run_doc_inside.h"

/* ---- what was run ---- */

static void put_sides(struct doc *d, const struct comparison *c) {
    doc_table(d, "Compared, the first being the baseline");
    doc_column(d, "", false);
    doc_column(d, "what", false);
    doc_column(d, "status", false);
    for (size_t s = 0; s < c->sides; s++) {
        doc_cell(d, c->side[s].label);
        doc_cell(d, c->side[s].title);
        doc_cell(d, run_status_name(c->side[s].status));
    }
}

static void put_differences(struct doc *d, const struct comparison *c) {
    if (c->differences == 0) {
        doc_text(d, DOC_PLAIN, "The scenarios are alike: no key differs.");
        return;
    }
    doc_table(d, "Keys of the scenarios that differ");
    doc_column(d, "key", false);
    for (size_t s = 0; s < c->sides; s++) doc_column(d, c->side[s].label, false);
    for (size_t i = 0; i < c->differences; i++) {
        doc_cell(d, c->difference[i].key);
        for (size_t s = 0; s < c->sides; s++) doc_cell(d, c->difference[i].value[s]);
    }
}

/* ---- what came out ---- */

static bool known_anywhere(const struct comparison *c, const struct comparison_metric *m) {
    for (size_t s = 0; s < c->sides; s++)
        if (kvf_present(m->change[s].value)) return true;
    return false;
}

static enum doc_tone tone_of(const struct comparison_change *v) {
    if (v->noise != COMPARISON_BEYOND) return DOC_PLAIN;
    return v->direction == COMPARISON_IMPROVED   ? DOC_GOOD
           : v->direction == COMPARISON_WORSENED ? DOC_BAD
                                                 : DOC_PLAIN;
}

/* "worse, within noise" */
static void verdict_text(const struct comparison_change *v, struct buf *out) {
    if (v->direction == COMPARISON_MISSING) return;
    buf_add(out, comparison_direction_word(v->direction));
    if (v->noise == COMPARISON_WITHIN) buf_add(out, ", within noise");
    if (v->noise == COMPARISON_BEYOND) buf_add(out, ", beyond noise");
}

static struct format_cell change_cell(double relative) {
    struct format_cell c = {""};
    if (fabs(relative) < 5e-4) relative = 0;
    if (isfinite(relative))
        snprintf(c.text, sizeof c.text,
                 relative == 0         ? "0.0 %%"
                 : fabs(relative) < 10 ? "%+.1f %%"
                                       : "%+.0f %%",
                 100 * relative);
    return c;
}

/* Of two sides everything has a column. */
static void put_pair(struct doc *d, const struct comparison *c) {
    static const char *const columns[] = {"change", "95 % interval", ""};
    doc_column(d, c->side[0].label, true);
    doc_column(d, c->side[1].label, true);
    for (size_t i = 0; i < 3; i++) doc_column(d, columns[i], i < 2);
    for (size_t i = 0; i < c->metrics; i++) {
        const struct comparison_metric *m = &c->metric[i];
        const struct comparison_change *v = &m->change[1];
        struct buf verdict = {0}, interval = {0};
        if (!known_anywhere(c, m)) continue;
        doc_cell(d, m->label);
        for (size_t s = 0; s < 2; s++) run_cell_measure(d, m->change[s].value, m->unit, m->metric);
        doc_cell(d, isfinite(v->relative) ? change_cell(v->relative).text : NULL);
        if (isfinite(v->low) && isfinite(v->high))
            buf_addf(&interval, "%s to %s", change_cell(v->low).text, change_cell(v->high).text);
        doc_cell(d, interval.data);
        verdict_text(v, &verdict);
        doc_cell_tone(d, tone_of(v), verdict.data);
        buf_free(&verdict);
        buf_free(&interval);
    }
}

/* Of more each side has one. */
static void put_many(struct doc *d, const struct comparison *c) {
    for (size_t s = 0; s < c->sides; s++) doc_column(d, c->side[s].label, true);
    for (size_t i = 0; i < c->metrics; i++) {
        const struct comparison_metric *m = &c->metric[i];
        if (!known_anywhere(c, m)) continue;
        doc_cell(d, m->label);
        for (size_t s = 0; s < c->sides; s++) {
            const struct comparison_change *v = &m->change[s];
            struct buf text = {0};
            if (s && isfinite(v->relative)) {
                buf_addf(&text, "%s (%s, ", format_measure(v->value, m->unit, m->metric).text,
                         change_cell(v->relative).text);
                verdict_text(v, &text);
                buf_add(&text, ")");
            } else if (kvf_present(v->value)) {
                buf_add(&text, format_measure(v->value, m->unit, m->metric).text);
            }
            doc_cell_tone(d, s ? tone_of(v) : DOC_PLAIN, text.data);
            buf_free(&text);
        }
    }
}

static void put_metrics(struct doc *d, const struct comparison *c) {
    bool any = false;
    for (size_t i = 0; i < c->metrics; i++) any |= known_anywhere(c, &c->metric[i]);
    if (!any) {
        doc_text(d, DOC_PLAIN, "None of them has results to compare.");
        return;
    }
    doc_table(d, "Measures and their change against the baseline");
    doc_column(d, "measure", false);
    if (c->sides == 2)
        put_pair(d, c);
    else
        put_many(d, c);
    for (size_t i = 0; i < c->notes; i++) doc_text(d, DOC_PLAIN, "%s", c->note[i]);
}

/* ---- charts with a line for each run ---- */

static void put_limits(struct doc *d, const struct comparison *c) {
    struct buf text = {0};
    bool any = false;
    for (size_t s = 0; s < c->sides; s++) {
        any = any || c->side[s].limited_by[0];
        buf_addf(&text, "%s%s: %s", s ? "; " : "", c->side[s].label,
                 c->side[s].limited_by[0] ? c->side[s].limited_by : "--");
    }
    if (any) doc_fact(d, "Limited by", buf_text(&text));
    buf_free(&text);
}

static void put_overlay(struct doc *d, const struct run_doc_source *runs, size_t count, const char *title,
                        const char *label, const char *unit, const char *field) {
    struct plot *plot = plot_new(PLOT_LINES, title);
    struct run_part p = {d, &runs[0].run, &runs[0].series, NULL, 2};
    plot_axis(&plot->x, "run time", "clock");
    plot_axis(&plot->y, label, unit);
    plot->x.low = 0;
    if (strcmp(unit, "%") == 0) plot->y.high = 1;
    for (size_t i = 0; i < count; i++) {
        p.run = &runs[i].run;
        p.series = &runs[i].series;
        run_plot_field(plot, &p, run_label(p.run).text, &(struct run_field){field, 1, false});
    }
    run_plot_add(&p, plot);
}

static void put_distributions(struct doc *d, const struct run_doc_source *runs, size_t count) {
    static const struct {
        const char *scope, *title;
    } plots[] = {{"e2e", "End-to-end latency, distribution"},
                 {"storage_io", "Storage I/O of a request, distribution"},
                 {"nvme_read", "nvme entry reads, distribution"},
                 {"nvme_write", "nvme entry writes, distribution"}};
    struct run_part p = {d, &runs[0].run, &runs[0].series, NULL, 2};
    for (size_t k = 0; k < sizeof plots / sizeof plots[0]; k++) {
        struct plot *plot = run_plot_distribution(plots[k].title);
        for (unsigned i = 0; i < count; i++)
            run_plot_curve(plot, &runs[i].run, plots[k].scope, run_label(&runs[i].run).text, i);
        run_plot_add(&p, plot);
    }
}

void run_doc_several(struct doc *d, const struct run_doc_source *runs, size_t count,
                     const struct comparison *c) {
    doc_section(d, 1, "Comparison");
    for (size_t s = 1; s < c->sides; s++) doc_text(d, DOC_PLAIN, "%s", c->verdict[s]);
    put_limits(d, c);
    put_sides(d, c);
    for (size_t i = 0; i < c->warnings; i++) doc_text(d, DOC_WARN, "Warning: %s", c->warning[i]);
    put_differences(d, c);
    put_metrics(d, c);
    put_overlay(d, runs, count, "Throughput", "tokens generated", "tok/s", "throughput_tok_s");
    put_overlay(d, runs, count, "End-to-end P95", "latency", "ms", "e2e_p95_ms");
    put_overlay(d, runs, count, "TTFT P95", "latency", "ms", "ttft_p95_ms");
    put_overlay(d, runs, count, "Storage I/O P95", "latency", "ms", "storage_io_p95_ms");
    put_overlay(d, runs, count, "Hit ratio", "hits / lookups", "%", "reuse_hit_ratio");
    put_overlay(d, runs, count, "Saturation", "saturation", "%", "saturation");
    put_distributions(d, runs, count);
}
