#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "export/json_part.h"
#include "study/plan/plan.h"

static json_t *result_object(const struct plan *p, const struct plan_result *r) {
    if (!r->done) return json_null();
    json_t *classes = json_object();
    char undone[STANDING_TEXT];
    for (unsigned k = 0; k < p->classes; k++)
        json_object_set_new(classes, p->klass[k].name,
                            JSON_OBJECT({"p95_ms", json_part_number(r->class_ms[k])},
                                        {"target_ms", json_part_number(p->klass[k].target_ms)},
                                        {"met", r->judged[k] ? json_boolean(r->met[k]) : json_null()}));
    return JSON_OBJECT(
        {"throughput_tok_s", json_part_number(r->tok_s)}, {"ttft_p95_ms", json_part_number(r->ttft_ms)},
        {"requests_done", json_part_number(r->requests)}, {"cost_per_hour", json_part_number(r->hourly)},
        {"cost_per_million_tokens", json_part_number(r->per_mtok)},
        {"nvme_written_per_day_bytes", json_part_number(r->written_per_day)},
        {"nvme_lifetime_years", json_part_number(r->years)}, {"classes", classes},
        {"fill_ratio", json_part_number(r->filled)}, {"fill_full_s", json_part_number(r->full_s)},
        {"worst_over", json_part_number(r->over)}, {"undone", json_part_some(plan_undone(r, undone))});
}

static json_t *machine_name(const struct plan *p, size_t i) {
    struct buf name = {0};
    if (i == SIZE_MAX) return json_null();
    plan_name(p, &p->machine[i], &name);
    json_t *text = json_part_text(buf_text(&name));
    buf_free(&name);
    return text;
}

static json_t *machine_object(const struct plan *p, size_t i) {
    static const char *const states[] = {
        [PLAN_OPEN] = "not_simulated", [PLAN_MEETS] = "meets",     [PLAN_MISSES] = "misses",
        [PLAN_FAILED] = "cannot_run",  [PLAN_WEAKER] = "has_less", [PLAN_POINTLESS] = "keeps_no_more"};
    const struct plan_machine *m = &p->machine[i];
    const struct plan_option *o[PART_KINDS];
    struct buf command = {0};
    for (int kind = 0; kind < PART_KINDS; kind++) o[kind] = &p->option[kind][m->at[kind]];
    plan_command(p, m, &command);
    const char *why = m->why[0] ? m->why : o[PART_GPU]->refused;
    json_t *found = JSON_OBJECT({"gpu", json_part_number(m->found[PART_GPU])},
                                {"cpu", json_part_number(m->found[PART_RAM])},
                                {"nvme", json_part_number(m->found[PART_DRIVE])});
    json_t *object = JSON_OBJECT(
        {"name", machine_name(p, i)}, {"servers", json_part_number(plan_servers(p, m))},
        {"gpus", json_part_text(o[PART_GPU]->name)}, {"memory", json_part_text(o[PART_RAM]->name)},
        {"drives", json_part_text(o[PART_DRIVE]->name)}, {"price", json_part_number(m->price)},
        {"watts", json_part_number(m->watts)}, {"least_cost_per_hour", json_part_number(m->hourly)},
        {"state", json_string(states[m->state])}, {"against", machine_name(p, m->by)},
        {"why", json_part_some(why)}, {"found", found},
        {"expected_ttft_ms", json_part_number(m->predicted_s * 1e3)},
        {"front", json_boolean(plan_on_front(p, i))}, {"short", result_object(p, &m->result[PLAN_SHORT])},
        {"full", result_object(p, &m->result[PLAN_FULL])}, {"command", json_part_text(buf_text(&command))});
    buf_free(&command);
    return object;
}

static json_t *confirmed_object(const struct plan_confirmed *c) {
    if (c->why[0]) return JSON_OBJECT({"failed", json_part_text(c->why)});
    if (!c->done) return json_null();
    json_t *measures = json_object();
    for (size_t i = 0; i < sizeof c->measure / sizeof *c->measure; i++)
        json_object_set_new(measures, c->measure[i].name,
                            JSON_OBJECT({"real", json_part_number(c->measure[i].real)},
                                        {"simulated", json_part_number(c->measure[i].simulated)}));
    return JSON_OBJECT({"description", json_part_text(c->description)},
                       {"scaled", json_part_some(buf_text(&c->scaled))}, {"measures", measures});
}

void plan_json(const struct plan *p, struct buf *out) {
    json_t *machines = json_array(), *even = json_object();
    struct buf sentence = {0};
    plan_sentence(p, &sentence);
    for (size_t i = 0; i < p->machines; i++) json_array_append_new(machines, machine_object(p, i));
    for (unsigned i = 0; i < p->evens; i++)
        json_object_set_new(even, p->even[i].tier, json_part_number(p->even[i].load_tok_s));
    json_part_print(
        JSON_OBJECT(JSON_HEAD(PLAN_JSON), {"sentence", json_part_text(buf_text(&sentence))},
                    {"catalogue", json_part_text(p->parts.name)}, {"date", json_part_text(p->parts.date)},
                    {"currency", json_part_text(p->parts.currency)}, {"pick", machine_name(p, p->pick)},
                    {"next_cheaper", machine_name(p, p->cheaper)},
                    {"short_against_full", json_part_number(p->pick == SIZE_MAX ? NAN : p->disagree)},
                    {"prefill_tok_s", json_part_number(p->prefill_tok_s)}, {"load_tok_s", even},
                    {"simulated", json_part_count(p->simulated)}, {"took_s", json_part_number(p->took_s)},
                    {"confirmed", confirmed_object(&p->confirmed)}, {"machines", machines}),
        2, out);
    buf_free(&sentence);
}
