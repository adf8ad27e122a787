#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "page/run_doc_inside.h"
#include "record/standing.h"

/* ---- classes of QoS ---- */

static bool class_used(const struct run_part *p, const struct run_class *c) {
    return run_metric(p, "class_%s_arrived", c->name) != 0 ||
           run_metric(p, "class_%s_queued_at_end", c->name) > 0;
}

/* A class's targets, as the names of the results have them. */
static const char *target_name(int i) {
    return stat_name(stat_of_target(i));
}

/* "!120 ms/100ms": what came out, what was asked for, and a sign when that was missed. */
static struct format_cell target_cell(const struct run_part *p, const struct run_class *c, int i) {
    enum { TARGET_COLS = 7 };
    struct format_cell cell = {""};
    char target[40];
    if (run_class_target_ns(c, i) == 0) return cell;
    units_duration_exact(run_class_target_ns(c, i), target, sizeof target);
    if (strlen(target) > TARGET_COLS)
        units_duration_human((double)run_class_target_ns(c, i), target, sizeof target);
    double actual = run_metric(p, "slo_%s_%s_ms", c->name, target_name(i));
    bool missed = run_metric(p, "slo_%s_%s_met", c->name, target_name(i)) == 0;
    snprintf(cell.text, sizeof cell.text, "%s%.12s/%.12s", missed ? "!" : "", format_ms(actual).text, target);
    return cell;
}

/* In one cell for a summary. */
static void put_p95(const struct run_part *p, const struct run_class *c) {
    char stands[STANDING_TARGETS];
    if (run_brief(p)) {
        struct format_cell both = target_cell(p, c, 0);
        doc_cell(p->doc, both.text[0] ? both.text : NULL);
        return;
    }
    run_cell_ms(p->doc, run_metric(p, "slo_%s_p95_ms", c->name));
    run_cell_ms(p->doc, c->p95_ns ? (double)c->p95_ns / 1e6 : KVF_MISSING);
    standing_target(p->run, c, 0, stands);
    doc_cell_tone(p->doc,
                  strcmp(stands, "met") == 0      ? DOC_GOOD
                  : strcmp(stands, "missed") == 0 ? DOC_BAD
                                                  : DOC_PLAIN,
                  stands[0] ? stands : NULL);
}

/* Requests = done + failed + open. Classes that nobody belonged to are left out. */
static void put_classes(const struct run_part *p) {
    const struct run_record *r = p->run;
    struct doc *d = p->doc;
    bool e2e = strcmp(r->qos_latency, "e2e") == 0, any = false;
    char columns[200];
    snprintf(columns, sizeof columns,
             "class@15|>SLO met@8|>%s P95%s|>requests@9|>done@8|>failed@8|>open@7|>%s@8",
             !e2e           ? "TTFT"
             : run_brief(p) ? "e2e"
                            : "end-to-end",
             run_brief(p) ? "/target@17" : "|>target|verdict", run_brief(p) ? "oldest" : "oldest wait");
    for (uint32_t k = 0; k < r->classes; k++) {
        const struct run_class *c = &r->klass[k];
        if (!class_used(p, c)) continue;
        if (!any)
            doc_table(
                d,
                "Classes; arrivals, backlog and the oldest wait stand beside what was met, so that a class that is not served cannot look fast",
                columns);
        any = true;
        double done = run_metric(p, "class_%s_done", c->name),
               failed = run_metric(p, "class_%s_failed", c->name),
               open = run_metric(p, "class_%s_queued_at_end", c->name),
               served = run_metric(p, "class_%s_in_service_at_end", c->name);
        if (kvf_present(served)) open += served;
        doc_cell(d, c->name);
        doc_cell(d, format_percent(run_metric(p, "slo_%s_met_ratio", c->name)).text);
        put_p95(p, c);
        run_cell_measure(d, done + failed + open, "", "");
        run_cell_measure(d, done, "", "");
        run_cell_measure(d, failed, "", "");
        run_cell_measure(d, open, "", "");
        run_cell_ms(d, run_metric(p, "class_%s_oldest_wait_ms", c->name));
    }
}

/* The percentiles above the P95, those of which a class has an answer. */
static void put_targets(const struct run_part *p) {
    static const char *const headings[KVF_TARGETS] = {"", ">P99@16", ">P99.9@16", ">P99.99@16"};
    const struct run_record *r = p->run;
    bool known[KVF_TARGETS] = {false}, any = false;
    for (int i = 1; i < KVF_TARGETS; i++) {
        for (uint32_t k = 0; k < r->classes; k++)
            known[i] |= run_class_target_ns(&r->klass[k], i) > 0 &&
                        kvf_present(run_metric(p, "slo_%s_%s_met", r->klass[k].name, target_name(i)));
        if (known[i] && !any)
            doc_table(p->doc, "Higher targets; ! is one that was missed", "higher targets@15");
        if (known[i]) doc_columns(p->doc, headings[i]);
        any = any || known[i];
    }
    for (uint32_t k = 0; any && k < r->classes; k++) {
        const struct run_class *c = &r->klass[k];
        bool asked = false;
        for (int i = 1; i < KVF_TARGETS; i++) asked = asked || (known[i] && run_class_target_ns(c, i) > 0);
        if (!asked || !class_used(p, c)) continue;
        doc_cell(p->doc, c->name);
        for (int i = 1; i < KVF_TARGETS; i++)
            if (known[i]) doc_cell(p->doc, target_cell(p, c, i).text);
    }
}

/* A class may look fast because hardly anybody of it was served. */
static void put_starved(const struct run_part *p) {
    struct buf who = {0};
    const char *target = "", *service = "";
    for (uint32_t k = 0; k < p->run->classes; k++) {
        double s = run_metric(p, "class_%s_starved_s", p->run->klass[k].name);
        if (!(s > 0)) continue;
        buf_addf(&who, "%s%s for %s", who.len ? ", " : "", p->run->klass[k].name, format_seconds(s).text);
        if (run_class_target_ns(&p->run->klass[k], 0) > 0)
            target = "its P95 target";
        else
            service = "as long as a request holds a slot";
    }
    if (who.len)
        buf_addf(&who,
                 ": later requests of other classes got slots first, and the oldest of the class waited more "
                 "than ten times %s%s%s",
                 target, target[0] && service[0] ? ", or without a target " : "", service);
    doc_say(p->doc, DOC_WARN, "Starved", buf_text(&who));
    buf_free(&who);
}

void run_doc_class_tables(const struct run_part *p) {
    put_classes(p);
    put_targets(p);
    put_starved(p);
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
    if (measured) run_doc_class_tables(p);
    if (p->series->count > 0 && p->series->classes > 0) put_class_plots(p);
}

/* ---- the autoscaler ---- */

/* Each decision, those in the middle left out when there are many: a page has their table. */
static void put_decisions(const struct run_part *p) {
    enum { MOST = 12, FIRST = 3 };
    const struct run_record *r = p->run;
    size_t left_out = r->decision_count > MOST ? r->decision_count - MOST : 0;
    for (size_t i = 0; i < r->decision_count; i++) {
        struct buf text = {0};
        char label[48];
        if (left_out && i == FIRST) {
            i += left_out;
            doc_item(p->doc, "  ...", "%zu more, all of them stand in --json and in table decisions",
                     left_out);
        }
        snprintf(label, sizeof label, "  %s", format_seconds(r->decision_t_s[i]).text);
        buf_addf(&text, "%s %s: %s", r->decisions[i].action, run_decision_users(&r->decisions[i]).text,
                 r->decisions[i].reason);
        doc_fact(p->doc, label, buf_text(&text));
        buf_free(&text);
    }
}

/* How the number of users was found. */
void run_doc_story(const struct run_part *p) {
    static const char label[] = "Autoscaler";
    const struct run_record *r = p->run;
    double users = run_metric(p, "autoscaler_users"), peak = run_metric(p, "peak_throughput_tok_s"),
           at = run_metric(p, "users_at_peak");
    struct format_cell count = format_things(users, "user", "users");
    if (r->decision_count == 0) return;
    doc_item(p->doc, label, "%s", r->decisions[r->decision_count - 1].mode);
    if (run_metric(p, "autoscaler_found") == 1)
        doc_item(p->doc, label, "%s found", count.text);
    else if (kvf_present(users))
        doc_item(p->doc, label, "no answer, best estimate %s", count.text);
    else
        doc_item(p->doc, label, "no answer");
    /* of mode capacity it is of all stages with so many users: one alone may have had more */
    bool level = strcmp(r->decisions[r->decision_count - 1].mode, "capacity") == 0;
    if (kvf_present(peak))
        doc_item(p->doc, label, "%s%s tok/s with %s",
                 at == users ? ""
                 : level     ? "best so far: "
                             : "the most in one stage inside the P95 targets: ",
                 format_tok_s(peak).text, format_things(at, "user", "users").text);
    doc_item(p->doc, label, "%s", format_things((double)r->decision_count, "decision", "decisions").text);
    if (run_brief(p)) put_decisions(p);
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
    run_doc_story(p);
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
