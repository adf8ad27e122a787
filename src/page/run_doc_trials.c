#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "page/run_doc_inside.h"
#include "record/metric.h"

static void put_statistics(struct doc *d, const struct trials *t) {
    static const char *const columns[] = {"values", "median", "mean", "SD", "CV", "interval from", "to"};
    doc_table(
        d, "Over the complete trials: the interval holds the true mean with 95 % confidence, by Student's t");
    doc_column(d, "measure", false);
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) doc_column(d, columns[i], true);
    const struct trial_metric **usual = mem_alloc(t->metrics * sizeof *usual);
    size_t count = trials_usual(t, usual);
    for (size_t i = 0; i < count; i++) {
        const struct trial_metric *m = usual[i];
        struct statistics s;
        char label[64];
        trials_statistics(t, m, &s);
        if (s.n == 0) continue;
        const double values[] = {s.median, s.mean, s.sd};
        metric_label(m->metric, label, sizeof label);
        doc_cell(d, label);
        doc_cell(d, format_count((double)s.n).text);
        for (size_t k = 0; k < 3; k++) run_cell_measure(d, values[k], m->unit, m->metric);
        doc_cell(d, isfinite(s.cv) ? format_percent(s.cv).text : NULL);
        run_cell_measure(d, s.ci95_low, m->unit, m->metric);
        run_cell_measure(d, s.ci95_high, m->unit, m->metric);
    }
    free(usual);
}

static void put_each(struct doc *d, const struct trials *t) {
    doc_table(d, "Trials");
    doc_column(d, "trial", false);
    doc_column(d, "run", true);
    doc_column(d, "measured", true);
    doc_column(d, "tokens/s", true);
    doc_column(d, "end-to-end P95", true);
    doc_column(d, "criteria", true);
    doc_column(d, "left out because", false);
    for (size_t i = 0; i < t->count; i++) {
        const struct trial *one = &t->trial[i];
        char number[24], criteria[48];
        snprintf(number, sizeof number, "%u", one->number);
        snprintf(criteria, sizeof criteria, "%zu of %zu", one->passed, one->criteria);
        doc_cell(d, number);
        doc_cell(d, format_count((double)one->run_id).text);
        doc_cell(d, kvf_present(one->measured_s) ? format_seconds(one->measured_s).text : NULL);
        run_cell_measure(d, one->throughput_tok_s, "tok/s", "");
        run_cell_ms(d, one->e2e_p95_ms);
        doc_cell(d, one->criteria ? criteria : NULL);
        doc_cell_tone(d, one->incomplete[0] ? DOC_WARN : DOC_PLAIN,
                      one->incomplete[0] ? one->incomplete : NULL);
    }
}

void run_doc_trials(const struct run_part *p) {
    const struct trials *t = p->trials;
    if (!t || t->count < 2) return;
    doc_section(p->doc, p->level, "Trials");
    doc_text(p->doc, trials_complete(t) == t->count ? DOC_PLAIN : DOC_WARN,
             "%zu of %u trials are stored, %zu of them complete.", t->count, t->asked, trials_complete(t));
    put_each(p->doc, t);
    if (trials_complete(t) > 1) put_statistics(p->doc, t);
}
