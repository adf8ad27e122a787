#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/moment.h"
#include "page/lead.h"
#include "page/run_doc.h"
#include "record/metric.h"
#include "study/suite/suite.h"

/* ---- all of them ---- */

/* By the rule of a sweep: a test that cannot run has failed. */
static void put_verdict(const struct suite *s, struct doc *d) {
    struct lead_count c = {"tests", s->entries, 0, 0};
    bool ended = true;
    for (size_t i = 0; i < s->entries; i++) {
        const struct suite_entry *e = &s->entry[i];
        enum outcome_state state = suite_state(e);
        bool failed = state == OUTCOME_FAILED || e->refused[0];
        c.failed += failed;
        c.done += state == OUTCOME_DONE && suite_done(e);
        ended = ended && (failed || state == OUTCOME_DONE);
    }
    lead_verdict(d, c.failed ? RUN_FAILED : ended ? RUN_COMPLETED : RUN_INTERRUPTED, &c, "");
}

/* Each test as it was sized for this machine, with all of its trials. */
static void put_repeat(const struct suite *s, struct doc *d) {
    struct buf text = {0};
    for (size_t i = 0; i < s->entries; i++)
        if (s->entry[i].runs > 0) buf_addf(&text, " %.8s", s->entry[i].run[0].uuid);
    if (text.len) {
        struct buf line = {0};
        buf_addf(&line,
                 "for run in%s; do kvfall show $run --effective > run-$run.yaml && kvfall run run-$run.yaml; "
                 "done",
                 buf_text(&text));
        doc_fact(d, "Repeat all tests", buf_text(&line));
        buf_free(&line);
    }
    buf_free(&text);
}

static void put_bars(const struct suite *s, struct doc *d) {
    static const char *const charts[] = {"throughput_tok_s", "storage_throughput_tok_s", "e2e_p95_ms",
                                         "ttft_p95_ms", "reuse_hit_ratio"};
    doc_section(d, 1, "Main metrics");
    bool left = false;
    for (size_t c = 0; c < sizeof charts / sizeof *charts; c++) {
        const struct metric_title title = metric_title(charts[c]);
        struct plot *p = plot_new(PLOT_BARS, title.text);
        plot_axis(&p->y, title.text, metric_axis(charts[c]));
        for (size_t i = 0; i < s->entries; i++) {
            char name[80], undone[STANDING_TEXT];
            bool marked = suite_undone(&s->entry[i], undone)[0] || suite_cut(&s->entry[i]);
            left = left || marked;
            snprintf(name, sizeof name, "%s%s", s->entry[i].test->name, marked ? " *" : "");
            plot_category(p, name);
        }
        struct plot_line *line = plot_line_room(p, title.text, s->entries, false);
        for (size_t i = 0; i < s->entries; i++)
            if (suite_done(&s->entry[i])) line->y[i] = suite_metric(&s->entry[i], "%s", charts[c]);
        plot_caption(p, "%s Mean of the trials.%s", lead_better(charts[c]),
                     left ? " * left work undone, or was too short." : "");
        doc_plot(d, p);
    }
}

/* The end-to-end latencies of every test side by side, a line for each trial. */
static void put_percentiles(const struct suite *s, struct doc *d) {
    enum { TRIALS = 8 };
    struct plot *p[SUITE_MOST];
    size_t count = 0;
    for (size_t i = 0; i < s->entries && count < SUITE_MOST; i++) {
        const struct suite_entry *e = &s->entry[i];
        struct buf title = {0};
        if (!suite_done(e)) continue;
        buf_addf(&title, "%s, %s", e->test->name, e->run[0].model);
        struct plot *plot = run_plot_distribution(buf_text(&title));
        buf_free(&title);
        plot->small = true;
        plot_caption(plot, "%s", "");
        for (uint32_t k = 0; k < e->runs && k < TRIALS; k++) {
            char name[32];
            snprintf(name, sizeof name, "trial %u", k + 1);
            run_plot_curve(plot, &e->run[k], "e2e", e->runs > 1 ? name : "", k);
        }
        if (plot_empty(plot))
            plot_free(plot);
        else
            p[count++] = plot;
    }
    if (count == 0) return;
    doc_section(d, 1, "End-to-end latency of each test");
    doc_text(d, DOC_PLAIN, "%s All charts share one scale. Each line ends at its highest value.",
             lead_better("e2e_p95_ms"));
    plot_one_scale(p, count);
    for (size_t i = 0; i < count; i++) doc_plot(d, p[i]);
}

static void put_words(const struct suite_words *w, struct doc *d) {
    doc_section(d, 1, "What it means");
    for (unsigned i = 0; i < w->lines; i++) doc_fact(d, w->line[i].topic, w->line[i].text);
}

/* ---- one test ---- */

static void put_tiers(const struct run_record *r, struct doc *d) {
    for (int t = 0; t < KVF_TIERS; t++) {
        struct buf text = {0};
        if (!r->tier[t].on) continue;
        buf_addf(&text, "%s%s%s", format_bytes((double)r->tier[t].capacity_bytes).text,
                 r->tier[t].description[0] ? ", " : "", r->tier[t].description);
        doc_fact(d, tier_name((enum kvf_tier)t), buf_text(&text));
        buf_free(&text);
    }
}

static void put_test(const struct suite_entry *e, struct doc *d) {
    const struct run_record *r = &e->run[0];
    char users[24], when[MOMENT_TEXT];
    doc_section(d, 1, e->test->name);
    if (r->description[0]) doc_text(d, DOC_PLAIN, "%s", r->description);
    for (uint32_t k = 0; k < e->runs; k++)
        if (e->run[k].status_reason[0])
            doc_text(d, e->run[k].status == RUN_FAILED ? DOC_BAD : DOC_WARN, "Run %" PRId64 ": %s",
                     e->run[k].run_id, e->run[k].status_reason);
    snprintf(users, sizeof users, "%" PRIu64, e->scenario.workload.users);
    moment_utc_text(r->started_at, when);
    doc_fact(d, "Model", r->model);
    doc_fact(d, "Users", e->scenario.workload.users ? users : "");
    doc_fact(d, "Began", when);
    put_tiers(r, d);
    doc_fact(d, "Bottleneck", r->verdict.sentence);
    lead_repeat(d, "Repeat it", "run", r->uuid, r->run_id, "");
    doc_table(d, e->runs > 1 ? "Runs" : "Run", "run|status|>tokens/s|>end-to-end P95");
    for (uint32_t k = 0; k < e->runs; k++) {
        doc_cell_run(d, e->run[k].run_id);
        doc_cell(d, run_status_name(e->run[k].status));
        doc_cell(d, format_tok_s(result_value(&e->run[k].results, "throughput_tok_s")).text);
        doc_cell(d, format_ms(result_value(&e->run[k].results, "e2e_p95_ms")).text);
    }
    run_doc_criteria(d, e->run, e->runs);
}

/* ---- the document ---- */

struct doc *suite_doc(const struct suite *s) {
    const struct run_record *first = &s->entry[0].run[0];
    struct suite_words words;
    struct buf title = {0}, subtitle = {0};
    buf_addf(&title, "Suite of run %" PRId64, s->parent_id);
    buf_addf(&subtitle, "%zu tests ", s->entries);
    lead_origin(first->host, first->started_at, first->version, &subtitle);
    struct doc *d = doc_new(buf_text(&title), buf_text(&subtitle));
    buf_free(&title);
    buf_free(&subtitle);
    suite_meaning(s, &words);
    put_verdict(s, d);
    put_repeat(s, d);
    put_words(&words, d);
    doc_section(d, 1, "Comparison");
    suite_put_tables(s, d);
    put_bars(s, d);
    put_percentiles(s, d);
    for (size_t i = 0; i < s->entries; i++)
        if (s->entry[i].runs > 0) put_test(&s->entry[i], d);
    return d;
}

struct doc *suite_doc_end(const struct suite *s, const struct suite_words *w) {
    struct doc *d = doc_new("", "");
    suite_put_tables(s, d);
    put_words(w, d);
    return d;
}
