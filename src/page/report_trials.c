#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/units.h"
#include "draw/format.h"
#include "page/report.h"
#include "record/metric.h"
#include "record/standing.h"

/* Rates have their unit in the label. */
static struct format_cell cell_of(double v, const struct trial_metric *m) {
    const struct metric *row = metric_find(m->metric);
    bool rate = row && (row->form == METRIC_TOK_S || row->form == METRIC_PER_S || row->form == METRIC_GIB_S);
    if (!rate) return format_measure(v, m->unit, m->metric);
    struct format_cell c = {"--"};
    if (isfinite(v)) units_count_human(v, c.text, sizeof c.text);
    return c;
}

/* Adds text at the right of so many columns; "±" is one of them and two bytes. */
static void add_right(struct buf *line, const char *text, unsigned columns) {
    unsigned w = format_width(text);
    buf_addf(line, "%*s%s", w < columns ? (int)(columns - w) : 1, "", text);
}

static void put_line(struct format_page *p, enum format_tone tone, const char *const part[5]) {
    static const unsigned columns[] = {0, 9, 20, 8, 20};
    struct buf line = {0};
    buf_addf(&line, "%-23s", part[0]);
    for (size_t i = 1; i < 5; i++) add_right(&line, part[i], columns[i]);
    format_line(p, tone, "%s", buf_text(&line));
    buf_free(&line);
}

/* "35.5 ± 5.68 ms": a unit that both have is said once. */
static void put_pair(char *out, size_t len, struct format_cell left, const char *between,
                     struct format_cell right) {
    char *one = strchr(left.text, ' ');
    const char *two = strchr(right.text, ' ');
    if (one && two && strcmp(one, two) == 0) *one = '\0';
    snprintf(out, len, "%s %s %s", left.text, between, right.text);
}

/* The label of a row: "gpu emul read P95" for a tier whose times are computed, "nvme compat ..." for one
 * that reaches device memory through the host's. */
static void row_label(const struct trials *t, const char *metric, char *out, size_t len) {
    char label[64];
    metric_label(metric, label, sizeof label);
    for (int i = 0; i < KVF_TIERS; i++) {
        const char *tier = tier_name((enum kvf_tier)i);
        size_t n = strlen(tier);
        bool labelled = t->emulated[i] || t->compat[i];
        if (!labelled || strncmp(label, tier, n) != 0) continue;
        snprintf(out, len, "%s %s%s", tier, t->emulated[i] ? "emul" : "compat", label + n);
        return;
    }
    snprintf(out, len, "%s", label);
}

/* Whether some trials have no value; with one in none there is no row. */
static bool put_row(struct format_page *p, const struct trials *t, const char *label,
                    const struct trial_metric *m) {
    size_t complete = trials_complete(t);
    struct statistics s;
    char name[80], mean[96], interval[96] = "--";
    trials_statistics(t, m, &s);
    if (s.n == 0) return false;
    snprintf(name, sizeof name, "  %s%s", label, s.n < complete ? "*" : "");
    put_pair(mean, sizeof mean, cell_of(s.mean, m), p->style->ascii ? "+-" : "±", cell_of(s.sd, m));
    if (isfinite(s.ci95_low))
        put_pair(interval, sizeof interval, cell_of(s.ci95_low, m), "to", cell_of(s.ci95_high, m));
    struct format_cell median = cell_of(s.median, m), cv = format_percent(s.cv);
    put_line(p, FORMAT_PLAIN, (const char *const[]){name, median.text, mean, cv.text, interval});
    return s.n < complete;
}

static void put_trial(struct format_page *p, const struct trial *t) {
    char label[24];
    bool whole = !t->incomplete[0];
    snprintf(label, sizeof label, "  %u", t->number);
    format_label(p, whole ? FORMAT_PLAIN : FORMAT_WARN, label);
    if (t->run_id > 0) format_item(p, "run %lld", (long long)t->run_id);
    if (!whole) {
        format_item(p, "INCOMPLETE:");
        format_words(p, t->incomplete);
    } else {
        format_item(p, "%s", format_seconds(t->measured_s).text);
        format_item(p, "%s tok/s", format_tok_s(t->throughput_tok_s).text);
        format_item(p, "e2e P95 %s", format_ms(t->e2e_p95_ms).text);
        if (t->criteria) format_item(p, "%zu of %zu criteria", t->passed, t->criteria);
    }
    format_end(p);
}

static void put_heading(struct format_page *p, const struct run_record *r, const struct trials *t) {
    size_t complete = trials_complete(t);
    struct standing standing;
    char stands[STANDING_TEXT];
    format_label(p, FORMAT_HEADING, "Trials");
    format_item(p, "%zu of %u run", t->count, t->asked);
    format_item(p, "%zu complete", complete);
    if (complete < t->count) format_item(p, "%zu incomplete and left out", t->count - complete);
    standing_of(r, t, &standing);
    if (standing_text(&standing, stands)[0]) format_item(p, "%s", complete ? stands : "none to be judged");
    format_end(p);
}

void report_trials_text(const struct run_record *r, const struct trials *t, const struct format_style *style,
                        struct buf *out) {
    struct format_page page;
    size_t complete = trials_complete(t);
    bool gaps = false;
    format_page_init(&page, style, out);
    put_heading(&page, r, t);
    for (size_t i = 0; i < t->count; i++) put_trial(&page, &t->trial[i]);
    if (complete == 0) return;
    if (complete == 1) { /* its figures stand above */
        format_line(&page, FORMAT_PLAIN, "  Mean and spread need two complete trials.");
        return;
    }
    const char *mean = style->ascii ? "mean +- SD" : "mean ± SD";
    put_line(&page, FORMAT_HEADING, (const char *const[]){"Metric", "median", mean, "CV", "95 % interval"});
    const struct trial_metric **usual = mem_alloc(t->metrics * sizeof *usual);
    size_t count = trials_usual(t, usual);
    for (size_t i = 0; i < count; i++) {
        char label[64];
        row_label(t, usual[i]->metric, label, sizeof label);
        if (put_row(&page, t, label, usual[i])) gaps = true;
    }
    free(usual);
    if (gaps) format_line(&page, FORMAT_PLAIN, "  * of fewer trials: the others have no value");
}
