#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "page/run_doc_inside.h"
#include "record/metric.h"
#include "record/standing.h"

static void put_heading(const struct run_part *p) {
    const struct trials *t = p->trials;
    size_t complete = trials_complete(t);
    struct standing standing;
    char stands[STANDING_TEXT];
    struct buf text = {0};
    buf_addf(&text, "%zu of %u run, %zu complete", t->count, t->asked, complete);
    if (complete < t->count) buf_addf(&text, ", %zu incomplete and left out", t->count - complete);
    standing_of(p->run, t, &standing);
    if (standing_text(&standing, stands)[0]) buf_addf(&text, ", %s", complete ? stands : "none to be judged");
    if (complete && complete < t->count && standing.criteria > 0)
        buf_add(&text, "; criteria are of all trials");
    doc_fact(p->doc, "Trials", buf_text(&text));
    buf_free(&text);
}

static void put_each(struct doc *d, const struct trials *t) {
    doc_table(d, "Each trial", ">trial|>run|>measured|>tokens/s|>end-to-end P95|>criteria");
    for (size_t i = 0; i < t->count; i++) {
        const struct trial *one = &t->trial[i];
        char run[24], criteria[48];
        snprintf(run, sizeof run, "%" PRId64, one->run_id);
        snprintf(criteria, sizeof criteria, one->without_data ? "%zu of %zu, %zu without" : "%zu of %zu",
                 one->passed, one->criteria, one->without_data);
        doc_cell(d, format_exact(one->number).text);
        doc_cell(d, one->run_id > 0 ? run : NULL);
        doc_cell(d, format_seconds(one->measured_s).text);
        run_cell_measure(d, one->throughput_tok_s, "tok/s", "");
        run_cell_ms(d, one->e2e_p95_ms);
        doc_cell(d, one->criteria ? criteria : NULL);
    }
    for (size_t i = 0; i < t->count; i++)
        if (t->trial[i].incomplete[0])
            doc_text(d, DOC_WARN, "Trial %u is left out: %s", t->trial[i].number, t->trial[i].incomplete);
        else if (t->trial[i].flaw[0])
            doc_text(d, DOC_WARN, "Trial %u is not comparable: %s", t->trial[i].number, t->trial[i].flaw);
}

/* "gpu emul read P95" for a tier whose times are computed, "nvme compat ..." for one that reaches device
 * memory through the host's. */
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

/* Rates have their unit in the label. */
static void put_value(struct doc *d, double v, const struct trial_metric *m) {
    const struct metric *row = metric_find(m->metric);
    bool rate = row && (row->form == METRIC_TOK_S || row->form == METRIC_PER_S || row->form == METRIC_GIB_S);
    doc_cell(d, (rate ? format_tok_s(v) : format_measure(v, m->unit, m->metric)).text);
}

static void put_statistics(struct doc *d, const struct trials *t) {
    const struct trial_metric **usual = mem_alloc(t->metrics * sizeof *usual);
    size_t count = trials_usual(t, usual);
    doc_table(d,
              "Over complete trials; the true mean is between both limits with 95 % confidence (Student's t)",
              "metric|>n|>median|>mean|>SD|>CV|>95 % from|>to");
    for (size_t i = 0; i < count; i++) {
        struct statistics s;
        char label[64];
        trials_statistics(t, usual[i], &s);
        if (s.n == 0) continue;
        row_label(t, usual[i]->metric, label, sizeof label);
        doc_cell(d, label);
        doc_cell(d, format_exact((double)s.n).text);
        put_value(d, s.median, usual[i]);
        put_value(d, s.mean, usual[i]);
        put_value(d, s.sd, usual[i]);
        doc_cell(d, format_percent(s.cv).text);
        put_value(d, s.ci95_low, usual[i]);
        put_value(d, s.ci95_high, usual[i]);
    }
    free(usual);
}

/* Each trial as a dot, in the interval of their mean. */
static void put_plot(struct doc *d, const struct trials *t, const char *metric, const char *title,
                     const char *label) {
    const struct trial_metric *m = trials_metric(t, metric);
    struct statistics s;
    if (!m || trials_complete(t) < 2) return;
    trials_statistics(t, m, &s);
    struct buf of_each = {0};
    buf_addf(&of_each, "%s of each trial", title ? title : metric_title(metric).text);
    struct plot *plot = plot_new(PLOT_LINES, buf_text(&of_each));
    buf_free(&of_each);
    plot_axis(&plot->x, "complete trial", "");
    plot_axis(&plot->y, label, metric_axis(metric));
    plot->y.low = 0;
    if (kvf_present(s.ci95_low) && kvf_present(s.ci95_high)) {
        double x[] = {0.5, (double)m->count + 0.5}, low[] = {s.ci95_low, s.ci95_low};
        struct plot_line *band =
            plot_line(plot, "95 % interval of the mean", 2, x, sizeof *x, low, sizeof *low);
        band->upper = mem_alloc(2 * sizeof *band->upper);
        band->upper[0] = band->upper[1] = s.ci95_high;
        band->colour = 1;
    }
    struct plot_line *dots = plot_line_room(plot, "trials", m->count, true);
    dots->dots = true;
    dots->colour = 0;
    for (size_t i = 0; i < m->count; i++) {
        dots->x[i] = (double)i + 1;
        dots->y[i] = m->value[i];
        plot_tick(plot, (double)i + 1, format_exact((double)i + 1).text);
    }
    doc_plot(d, plot);
}

void run_doc_trials(const struct run_part *p) {
    const struct trials *t = p->trials;
    if (!t || t->count == 0) return;
    doc_section(p->doc, p->level, "Trials");
    put_heading(p);
    put_each(p->doc, t);
    if (p->series) { /* not on a terminal */
        put_plot(p->doc, t, "throughput_tok_s", "Throughput", "tokens generated");
        put_plot(p->doc, t, "e2e_p95_ms", NULL, "latency");
    }
    if (trials_complete(t) > 1)
        put_statistics(p->doc, t);
    else if (trials_complete(t) == 1)
        doc_text(p->doc, DOC_PLAIN, "Mean and spread need two complete trials.");
}

void run_trials_text(const struct run_record *r, const struct trials *t, const struct format_style *style,
                     struct buf *out) {
    struct doc *d = doc_new("", "");
    run_doc_trials(&(struct run_part){.doc = d, .run = r, .trials = t, .level = 1});
    doc_terminal(d, style, out);
    doc_free(d);
}
