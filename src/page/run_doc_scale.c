#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "page/run_doc_inside.h"

/* ---- classes of QoS ---- */

static void put_class_table(const struct run_part *p) {
    const struct run_record *r = p->run;
    struct doc *d = p->doc;
    char heading[40];
    snprintf(heading, sizeof heading, "%s P95", strcmp(r->qos_latency, "e2e") == 0 ? "end-to-end" : "TTFT");
    doc_table(
        d,
        "Classes; arrivals, backlog and the oldest wait stand beside what was met, so that a class that is not served cannot look fast",
        "class|>SLO met");
    doc_column(d, heading, true);
    doc_columns(d, ">target|verdict|>requests|>done|>failed|>open|>oldest wait");
    for (uint32_t k = 0; k < r->classes; k++) {
        const struct run_class *c = &r->klass[k];
        double met = run_metric(p, "slo_%s_p95_met", c->name);
        doc_cell(d, c->name);
        doc_cell(d, format_percent(run_metric(p, "slo_%s_met_ratio", c->name)).text);
        run_cell_ms(d, run_metric(p, "slo_%s_p95_ms", c->name));
        run_cell_ms(d, c->p95_ns ? (double)c->p95_ns / 1e6 : KVF_MISSING);
        doc_cell_tone(d,
                      met == 1   ? DOC_GOOD
                      : met == 0 ? DOC_BAD
                                 : DOC_PLAIN,
                      met == 1   ? "met"
                      : met == 0 ? "missed"
                                 : NULL);
        double done = run_metric(p, "class_%s_done", c->name),
               failed = run_metric(p, "class_%s_failed", c->name),
               open = run_metric(p, "class_%s_queued_at_end", c->name),
               served = run_metric(p, "class_%s_in_service_at_end", c->name);
        if (kvf_present(served)) open += served;
        run_cell_measure(d, done + failed + open, "", "");
        run_cell_measure(d, done, "", "");
        run_cell_measure(d, failed, "", "");
        run_cell_measure(d, open, "", "");
        run_cell_ms(d, run_metric(p, "class_%s_oldest_wait_ms", c->name));
    }
}

static void put_starved(const struct run_part *p) {
    for (uint32_t k = 0; k < p->run->classes; k++) {
        double s = run_metric(p, "class_%s_starved_s", p->run->klass[k].name);
        if (s > 0)
            doc_text(
                p->doc, DOC_WARN,
                "Starved: %s for %s: later requests of other classes got slots first, and the oldest of the class "
                "waited more than ten times its P95 target.",
                p->run->klass[k].name, format_seconds(s).text);
    }
}

static void put_class_plots(const struct run_part *p) {
    bool e2e = strcmp(p->run->qos_latency, "e2e") == 0;
    struct plot *met = run_plot_time(p, "Requests inside their P95 target", "met", "%");
    struct plot *p95 =
        run_plot_time(p, e2e ? "End-to-end P95 by class" : "TTFT P95 by class", "latency", "ms");
    struct plot *queued = run_plot_time(p, "Requests waiting by class", "requests", "");
    for (uint32_t k = 0; k < p->series->classes; k++) {
        run_plot_class(met, p, k, &(struct run_field){"met_ratio", 1, false});
        run_plot_class(p95, p, k, &(struct run_field){e2e ? "e2e_p95_ms" : "ttft_p95_ms", 1, false});
        run_plot_class(queued, p, k, &(struct run_field){"queued", 1, false});
    }
    for (uint32_t k = 0; k < p->run->classes; k++) {
        char text[80];
        if (!p->run->klass[k].p95_ns) continue;
        double ms = (double)p->run->klass[k].p95_ns / 1e6;
        snprintf(text, sizeof text, "target %s %s", p->run->klass[k].name, format_ms(ms).text);
        plot_level(p95, ms, text);
        p95->y.high = kvf_present(p95->y.high) && p95->y.high > ms ? p95->y.high : ms;
        p95->y.low = kvf_present(p95->y.low) && p95->y.low < ms ? p95->y.low : ms;
    }
    met->y.high = 1;
    run_plot_add(p, met);
    run_plot_add(p, p95);
    run_plot_add(p, queued);
}

void run_doc_classes(const struct run_part *p) {
    bool measured = run_measured(p) && p->run->classes > 0;
    if (!measured && (p->series->count == 0 || p->series->classes == 0)) return;
    doc_section(p->doc, p->level, "Queue and classes");
    if (measured) {
        put_class_table(p);
        put_starved(p);
    }
    if (p->series->count > 0 && p->series->classes > 0) put_class_plots(p);
}

/* ---- the autoscaler ---- */

static void put_story(const struct run_part *p) {
    const struct run_record *r = p->run;
    double users = run_metric(p, "autoscaler_users");
    const char *mode = r->decisions[r->decision_count - 1].mode;
    struct format_cell made = format_things((double)r->decision_count, "decision", "decisions");
    const char *decisions = made.text;
    if (run_metric(p, "autoscaler_found") == 1)
        doc_text(p->doc, DOC_GOOD, "Mode %s found %s in %s.", mode,
                 format_things(users, "user", "users").text, decisions);
    else if (kvf_present(users))
        doc_text(p->doc, DOC_WARN, "Mode %s has no answer after %s; the best estimate is %s.", mode,
                 decisions, format_things(users, "user", "users").text);
    else
        doc_text(p->doc, DOC_WARN, "Mode %s has no answer after %s.", mode, decisions);
    if (kvf_present(run_metric(p, "peak_throughput_tok_s")))
        doc_fact(p->doc, "Peak", format_measure(run_metric(p, "peak_throughput_tok_s"), "tok/s", "").text);
    if (kvf_present(run_metric(p, "users_at_peak")))
        doc_fact(p->doc, "Users at the peak", format_count(run_metric(p, "users_at_peak")).text);
}

static void mark_decisions(const struct run_part *p, struct plot *plot) {
    for (size_t i = 0; i < p->run->decision_count; i++) {
        const struct snapshot_decision *s = &p->run->decisions[i];
        struct buf text = {0};
        buf_addf(&text, "%s %" PRIu64 " -> %" PRIu64 ": %s", s->action, s->users_before, s->users_after,
                 s->reason);
        if (kvf_present(p->run->decision_t_s[i])) plot_mark(plot, p->run->decision_t_s[i], buf_text(&text));
        buf_free(&text);
    }
}

void run_doc_autoscaler(const struct run_part *p) {
    if (p->run->decision_count == 0) return;
    doc_section(p->doc, p->level, "Autoscaler");
    put_story(p);
    if (p->series->count > 0) {
        struct plot *users = run_plot_time(p, "Users", "active users", "");
        run_plot_field(users, p, "", &(struct run_field){"users", 1, false})->steps = true;
        mark_decisions(p, users);
        plot_caption(users, "Triangles mark the decisions below.");
        run_plot_add(p, users);
        struct plot *saturation = run_plot_time(p, "Saturation", "saturation", "%");
        run_plot_field(saturation, p, "", &(struct run_field){"saturation", 1, false})->area = true;
        mark_decisions(p, saturation);
        saturation->y.high = 1;
        run_plot_add(p, saturation);
    }
    run_doc_list(p->doc, RUN_DECISIONS, p->run);
}
