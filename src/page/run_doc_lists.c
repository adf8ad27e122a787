#include <math.h>
#include <stdio.h>
#include <string.h>

#include "page/run_doc_inside.h"
#include "record/standing.h"

enum doc_tone run_event_tone(const struct record_event *e) {
    return strcmp(e->level, "error") == 0 ? DOC_BAD : strcmp(e->level, "warning") == 0 ? DOC_WARN : DOC_PLAIN;
}

void run_criterion_cells(const struct run_record *r, const struct run_criterion *c,
                         struct format_cell *actual, struct format_cell *target) {
    *actual = format_measure(c->actual, c->unit, c->metric);
    if (!isfinite(c->actual)) snprintf(actual->text, sizeof actual->text, "%s", standing_lacks(r, c));
    *target = format_measure(c->target, c->unit, c->metric);
    if (c->actual == c->target || strcmp(actual->text, target->text) != 0) return;
    snprintf(actual->text, sizeof actual->text, "%.12g %s", c->actual, c->unit);
    snprintf(target->text, sizeof target->text, "%.12g %s", c->target, c->unit);
}

const char *run_criterion_word(double passed) {
    return passed == 1 ? "PASS" : passed == 0 ? "FAIL" : "--";
}

enum doc_tone run_criterion_tone(double passed, enum doc_tone good) {
    return passed == 1 ? good : passed == 0 ? DOC_BAD : DOC_PLAIN;
}

void run_doc_criteria(struct doc *d, const struct run_record *runs, size_t count) {
    if (count == 0 || runs->criterion_count == 0) return;
    doc_table(d, "Assessment", count > 1 ? "criterion|>trial|metric" : "criterion|metric");
    doc_columns(d, ">measured||>target|verdict");
    for (size_t k = 0; k < count; k++)
        for (size_t i = 0; i < runs[k].criterion_count; i++) {
            const struct run_criterion *c = &runs[k].criteria[i];
            double passed = run_criterion_passed(&runs[k], c);
            struct format_cell actual, target;
            run_criterion_cells(&runs[k], c, &actual, &target);
            doc_cell(d, c->name);
            if (count > 1) doc_cell(d, format_exact((double)k + 1).text);
            doc_cell(d, *c->metric ? c->metric : NULL);
            doc_cell(d, actual.text);
            doc_cell(d, c->op);
            doc_cell(d, target.text);
            doc_cell_tone(d, run_criterion_tone(passed, DOC_GOOD), run_criterion_word(passed));
        }
}

static void criteria(struct doc *d, const struct run_record *r) {
    run_doc_criteria(d, r, 1);
}

struct format_cell run_decision_users(const struct snapshot_decision *s) {
    struct format_cell c;
    snprintf(c.text, sizeof c.text, "%.16s -> %.16s", format_count((double)s->users_before).text,
             format_count((double)s->users_after).text);
    return c;
}

static void decisions(struct doc *d, const struct run_record *r) {
    doc_table(d, "Decisions", ">time|mode|action|>users|>saturation|>throughput|>P95|reason");
    for (size_t i = 0; i < r->decision_count; i++) {
        const struct snapshot_decision *s = &r->decisions[i];
        doc_cell(d, format_seconds(r->decision_t_s[i]).text);
        doc_cell(d, s->mode);
        doc_cell(d, s->action);
        doc_cell(d, run_decision_users(s).text);
        doc_cell(d, format_percent(s->saturation).text);
        run_cell_measure(d, s->throughput_tok_s, "tok/s", "");
        run_cell_ms(d, s->p95_ms);
        doc_cell(d, *s->reason ? s->reason : NULL);
    }
}

static void events(struct doc *d, const struct run_record *r) {
    doc_table(d, "Events", ">time|level|message");
    for (size_t i = 0; i < r->event_count; i++) {
        const struct record_event *e = &r->events[i];
        doc_cell(d, format_seconds(e->t_s).text);
        doc_cell_tone(d, run_event_tone(e), e->level);
        doc_cell(d, e->message);
    }
}

/* To the digit, as programs have them. */
static void measures(struct doc *d, const struct run_record *r) {
    doc_table(d, "Metrics", "metric|>value|unit|>samples");
    for (size_t i = 0; i < r->results.count; i++) {
        const struct result *m = &r->results.items[i];
        char value[40];
        snprintf(value, sizeof value, "%.9g", m->value);
        doc_cell(d, m->metric);
        doc_cell(d, kvf_present(m->value) ? value : NULL);
        doc_cell(d, *m->unit ? m->unit : NULL);
        doc_cell(d, m->samples ? format_exact((double)m->samples).text : NULL);
    }
}

/* The tier that is busiest, with its share. */
static struct format_cell busiest(const struct run_rank *r) {
    struct format_cell c = {"--"};
    double most = -1;
    for (int t = 0; t < KVF_TIERS; t++) {
        double busy = r->at.tier[t].busy_ratio;
        if (!(busy > most)) continue;
        most = busy;
        snprintf(c.text, sizeof c.text, "%s %.24s", tier_name((enum kvf_tier)t), format_percent(busy).text);
    }
    return c;
}

static void cell_count(struct doc *d, double v) {
    doc_cell(d, kvf_present(v) ? format_count(v).text : NULL);
}

static void ranks(struct doc *d, const struct run_record *r) {
    doc_table(d, "Each rank", ">rank|host|device|>users|>arrived/s|>in service|>tokens/s|>e2e P95");
    doc_columns(d, ">storage P95|>nvme read P95|>nvme write P95|busiest tier|>errors|>began late|state");
    for (size_t i = 0; i < r->rank_count; i++) {
        const struct run_rank *k = &r->ranks[i];
        const struct snapshot_rank *v = &k->at.rank;
        const struct snapshot_rank_tier *nvme = &k->at.tier[KVF_TIER_NVME];
        doc_cell(d, format_exact((double)v->rank).text);
        doc_cell(d, k->at.host);
        doc_cell(d, *k->at.device ? k->at.device : NULL);
        cell_count(d, v->users);
        cell_count(d, v->arrived / v->length_s);
        cell_count(d, v->in_service);
        cell_count(d, v->throughput_tok_s);
        run_cell_ms(d, v->e2e_p95_ms);
        run_cell_ms(d, v->storage_io_p95_ms);
        run_cell_ms(d, nvme->read_p95_ms);
        run_cell_ms(d, nvme->write_p95_ms);
        doc_cell(d, busiest(k).text);
        doc_cell_tone(d, v->errors > 0 ? DOC_BAD : DOC_PLAIN,
                      kvf_present(v->errors) ? format_exact(v->errors).text : NULL);
        run_cell_ms(d, k->start_late_ms);
        doc_cell_tone(d, v->lost ? DOC_BAD : DOC_PLAIN, v->lost ? "lost" : k->slowest ? "slowest" : "");
    }
    for (size_t i = 0; i < r->rank_count; i++)
        if (r->ranks[i].slowest) doc_text(d, DOC_PLAIN, "Slowest: %s.", r->ranks[i].why);
}

static const struct {
    const char *name, *title;
    void (*put)(struct doc *d, const struct run_record *r);
} lists[RUN_LISTS] = {[RUN_DECISIONS] = {"decisions", "Decisions", decisions},
                      [RUN_EVENTS] = {"events", "Events", events},
                      [RUN_CRITERIA] = {"criteria", "Criteria", criteria},
                      [RUN_MEASURES] = {"measures", "Metrics", measures},
                      [RUN_RANKS] = {"ranks", "Ranks", ranks}};

const char *run_list_name(enum run_list list) {
    return lists[list].name;
}

void run_doc_list(struct doc *d, enum run_list list, const struct run_record *r) {
    lists[list].put(d, r);
}

void run_list_text(enum run_list list, const struct run_record *r, const struct format_style *style,
                   struct buf *out) {
    const size_t rows[RUN_LISTS] = {[RUN_DECISIONS] = r->decision_count,
                                    [RUN_EVENTS] = r->event_count,
                                    [RUN_CRITERIA] = r->criterion_count,
                                    [RUN_MEASURES] = r->results.count,
                                    [RUN_RANKS] = r->rank_count};
    const struct format_style wide = {style->colour, style->ascii, 65536};
    struct doc *d = doc_new("", "");
    struct buf table = {0};
    struct format_page p;
    format_page_init(&p, style, out);
    buf_add(out, "\n");
    format_line(&p, FORMAT_HEADING, "%s%s", lists[list].title, rows[list] ? "" : ": none");
    if (rows[list]) run_doc_list(d, list, r);
    doc_terminal(d, &wide, &table);
    buf_add(out, buf_text(&table));
    buf_free(&table);
    doc_free(d);
}

void run_doc_ranks(const struct run_part *p) {
    if (p->run->rank_count == 0) return;
    doc_section(p->doc, p->level, "Ranks");
    run_doc_list(p->doc, RUN_RANKS, p->run);
}
