#include "export/run_json.h"

#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/json_part.h"
#include "record/standing.h"

/* A stored JSON object; what is no object becomes an empty one. */
static json_t *embedded(const char *object) {
    json_t *v = object ? json_loads(object, 0, NULL) : NULL;
    if (json_is_object(v)) return v;
    json_decref(v);
    return json_object();
}

static json_t *run_object(const struct run_record *r) {
    char undone[STANDING_TEXT], unjudged[STANDING_UNJUDGED];
    struct standing s;
    standing_of(r, NULL, &s);
    s.targets = 0; /* alone, it names what it counts */
    return JSON_OBJECT({"run_id", json_part_id(r->run_id)}, {"uuid", json_part_some(r->uuid)},
                       {"parent_id", json_part_id(r->parent_id)}, {"trial", json_part_id(r->trial)},
                       {"trials", json_part_id(r->trial ? r->trials : 0)}, {"name", json_part_text(r->name)},
                       {"description", json_part_text(r->description)}, {"mode", json_part_text(r->mode)},
                       {"model", json_part_text(r->model)}, {"seed", json_part_count(r->seed)},
                       {"status", json_part_text(run_status_name(r->status))},
                       {"status_reason", json_part_text(r->status_reason)},
                       {"started_at", json_part_moment(r->started_at, 3)},
                       {"ended_at", json_part_moment(r->ended_at, 3)}, {"host", json_part_text(r->host)},
                       {"boot_id", json_part_some(r->boot_id)}, {"pid", json_integer(r->pid)},
                       {"version", json_part_text(r->version)}, {"tags", json_part_text(r->tags)},
                       {"note", json_part_text(r->note)}, {"bottleneck", json_part_some(r->verdict.sentence)},
                       {"steady_state", json_part_some(r->steady)},
                       {"not_comparable", json_part_some(r->not_comparable)},
                       {"undone", json_part_some(standing_run_undone(r, undone))},
                       {"not_judged", json_part_some(standing_unjudged(&s, unjudged))},
                       {"trace", JSON_OBJECT({"path", json_part_some(r->trace_path)},
                                             {"sha256", json_part_some(r->trace_sha256)})},
                       {"tokenizer", json_part_some(r->tokenizer)}, {"environment", embedded(r->environment)},
                       {"configuration", embedded(r->effective_json)});
}

static json_t *evidence_array(const struct verdict *v) {
    json_t *list = json_array();
    for (size_t i = 0; i < v->evidences; i++) {
        const struct verdict_evidence *e = &v->evidence[i];
        json_array_append_new(list, JSON_OBJECT({"name", json_part_text(e->name)},
                                                {"value", json_part_number(e->value)},
                                                {"unit", json_part_text(e->unit)}));
    }
    return list;
}

static json_t *remedies_array(const struct verdict *v) {
    json_t *list = json_array();
    for (size_t i = 0; i < v->remedies; i++) {
        const struct verdict_remedy *r = &v->remedy[i];
        json_array_append_new(list, JSON_OBJECT({"change", json_part_text(r->change)},
                                                {"metric", json_part_text(r->metric)},
                                                {"now", json_part_number(r->now)},
                                                {"estimate", json_part_number(r->estimate)}));
    }
    return list;
}

/* Warnings stand also where nobody has judged. */
static json_t *verdict_object(const struct verdict *v) {
    if (!v->known && v->warnings == 0) return json_null();
    json_t *warnings = json_array();
    for (size_t i = 0; i < v->warnings; i++) json_array_append_new(warnings, json_part_text(v->warning[i]));
    return JSON_OBJECT({"limited_by", json_part_text(v->known ? verdict_limit_name(v->limited_by) : NULL)},
                       {"share", json_part_number(v->known ? v->share : KVF_MISSING)},
                       {"cause", json_part_text(v->known ? verdict_cause_name(v->cause) : NULL)},
                       {"sentence", json_part_text(v->known ? v->sentence : NULL)},
                       {"evidence", evidence_array(v)}, {"remedies", remedies_array(v)},
                       {"no_estimate", json_part_text(verdict_no_estimate(v))}, {"warnings", warnings});
}

static json_t *results_object(const struct run_record *r) {
    json_t *o = json_object();
    for (size_t i = 0; i < r->results.count; i++) {
        const struct result *m = &r->results.items[i];
        json_object_set_new(
            o, m->metric,
            JSON_OBJECT({"value", json_part_number(m->value)}, {"unit", json_part_text(m->unit)}));
    }
    return o;
}

/* CPU time of the process, which is none of the cpu tier's. */
static bool is_process(const char *metric) {
    static const char *const names[] = {"cpu_user_s", "cpu_sys_s", "cpu_workers_s"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(metric, names[i]) == 0) return true;
    return false;
}

/* The results whose names begin with `prefix` and an underscore, under the rest of their names. */
static json_t *group(const struct run_record *r, const char *prefix) {
    json_t *o = json_object();
    size_t len = strlen(prefix);
    for (size_t i = 0; i < r->results.count; i++) {
        const struct result *m = &r->results.items[i];
        if (strncmp(m->metric, prefix, len) == 0 && m->metric[len] == '_' && !is_process(m->metric))
            json_object_set_new(o, m->metric + len + 1, json_part_number(m->value));
    }
    return o;
}

static json_t *tiers_object(const struct run_record *r) {
    json_t *o = json_object();
    for (unsigned t = 0; t < KVF_TIERS; t++) {
        const struct run_tier *tier = &r->tier[t];
        const char *name = tier_name((enum kvf_tier)t);
        json_object_set_new(
            o, name,
            JSON_OBJECT({"on", json_boolean(tier->on)}, {"emulated", json_boolean(tier->emulated)},
                        {"compat", json_boolean(tier->compat)},
                        {"capacity_bytes", json_part_count(tier->on ? tier->capacity_bytes : 0)},
                        {"usable_bytes", json_part_count(tier->on ? tier->usable_bytes : 0)},
                        {"description", json_part_text(tier->description)}, {"metrics", group(r, name)}));
    }
    return o;
}

static json_t *target(uint64_t ns) {
    return json_part_number(ns ? (double)ns / 1e6 : KVF_MISSING);
}

/* A class's four percentiles: what they came to ("p95_ms"), or whether the target was kept ("p95"). */
static json_t *target_values(const struct run_record *r, const char *name, const char *what, bool verdict) {
    json_t *o = json_object();
    for (int i = 0; i < KVF_TARGETS; i++) {
        const char *quantile = stat_name(stat_of_target(i));
        char key[16];
        snprintf(key, sizeof key, "%s_%s", quantile, what);
        double v = result_named(&r->results, "slo_%s_%s", name, key);
        if (verdict)
            json_object_set_new(o, quantile, isfinite(v) ? json_boolean(v != 0) : json_null());
        else
            json_object_set_new(o, key, json_part_number(v));
    }
    return o;
}

static json_t *qos_array(const struct run_record *r) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < r->classes && i < KVF_CLASSES_MAX; i++) {
        const struct run_class *c = &r->klass[i];
        char prefix[64];
        snprintf(prefix, sizeof prefix, "class_%s", c->name);
        json_t *entry = JSON_OBJECT({"name", json_part_text(c->name)}, {"share", json_part_number(c->share)},
                                    {"latency", json_part_text(r->qos_latency)});
        json_object_set_new(entry, "targets",
                            JSON_OBJECT({"p95_ms", target(c->p95_ns)}, {"p99_ms", target(c->p99_ns)},
                                        {"p999_ms", target(c->p999_ns)}, {"p9999_ms", target(c->p9999_ns)}));
        json_object_set_new(entry, "actual", target_values(r, c->name, "ms", false));
        json_object_set_new(entry, "met", target_values(r, c->name, "met", true));
        json_object_set_new(entry, "met_ratio",
                            json_part_number(result_named(&r->results, "slo_%s_%s", c->name, "met_ratio")));
        json_object_set_new(entry, "violations",
                            json_part_number(result_named(&r->results, "slo_%s_%s", c->name, "violations")));
        json_object_set_new(entry, "metrics", group(r, prefix));
        json_array_append_new(list, entry);
    }
    return list;
}

static json_t *decisions_array(const struct run_record *r) {
    json_t *list = json_array();
    for (size_t i = 0; i < r->decision_count; i++) {
        const struct snapshot_decision *d = &r->decisions[i];
        json_array_append_new(
            list,
            JSON_OBJECT({"t_s", json_part_number(r->decision_t_s ? r->decision_t_s[i] : KVF_MISSING)},
                        {"mode", json_part_text(d->mode)}, {"action", json_part_text(d->action)},
                        {"users_before", json_part_count(d->users_before)},
                        {"users_after", json_part_count(d->users_after)},
                        {"saturation", json_part_number(d->saturation)},
                        {"throughput_tok_s", json_part_number(d->throughput_tok_s)},
                        {"p95_ms", json_part_number(d->p95_ms)}, {"reason", json_part_text(d->reason)}));
    }
    return list;
}

static json_t *criteria_array(const struct run_record *r) {
    json_t *list = json_array();
    for (size_t i = 0; i < r->criterion_count; i++) {
        const struct run_criterion *c = &r->criteria[i];
        double passed = run_criterion_passed(r, c);
        json_array_append_new(
            list, JSON_OBJECT({"name", json_part_text(c->name)}, {"metric", json_part_some(c->metric)},
                              {"op", json_part_some(c->op)}, {"target", json_part_number(c->target)},
                              {"actual", json_part_number(c->actual)}, {"unit", json_part_text(c->unit)},
                              {"passed", kvf_present(passed) ? json_boolean(passed == 1) : json_null()}));
    }
    return list;
}

static json_t *fields_object(const void *part, const struct snapshot_field *fields, size_t count) {
    json_t *o = json_object();
    for (size_t i = 0; i < count; i++)
        json_object_set_new(o, fields[i].name, json_part_number(snapshot_value(part, &fields[i])));
    return o;
}

static json_t *ranks_array(const struct run_record *r) {
    json_t *list = json_array();
    for (size_t i = 0; i < r->rank_count; i++) {
        const struct run_rank *rank = &r->ranks[i];
        json_t *o = fields_object(&rank->at.rank, snapshot_rank_fields, snapshot_rank_field_count);
        json_t *tiers = json_object(),
               *rest = JSON_OBJECT(
                   {"host", json_part_text(rank->at.host)}, {"device", json_part_some(rank->at.device)},
                   {"start_late_ms", json_part_number(rank->start_late_ms)},
                   {"clock_offset_ms", json_part_number(rank->clock_offset_ms)},
                   {"clock_error_ms", json_part_number(rank->clock_error_ms)},
                   {"slowest", json_boolean(rank->slowest)}, {"why", json_part_some(rank->why)});
        for (int t = 0; t < KVF_TIERS; t++)
            if (kvf_present(rank->at.tier[t].capacity_bytes))
                json_object_set_new(tiers, tier_name((enum kvf_tier)t),
                                    fields_object(&rank->at.tier[t], snapshot_rank_tier_fields,
                                                  snapshot_rank_tier_field_count));
        json_object_update(o, rest);
        json_decref(rest);
        json_object_set_new(o, "tiers", tiers);
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *events_array(const struct run_record *r) {
    json_t *list = json_array();
    for (size_t i = 0; i < r->event_count; i++) {
        const struct record_event *e = &r->events[i];
        json_array_append_new(
            list, JSON_OBJECT({"t_s", json_part_number(e->t_s)}, {"level", json_part_text(e->level)},
                              {"kind", json_part_text(e->kind)}, {"value", json_part_text(e->value)},
                              {"message", json_part_text(e->message)}));
    }
    return list;
}

static json_t *members(const struct run_record *r) {
    json_t *o = JSON_OBJECT({"run", run_object(r)}, {"verdict", verdict_object(&r->verdict)},
                            {"results", results_object(r)}, {"tiers", tiers_object(r)}, {"qos", qos_array(r)},
                            {"decisions", decisions_array(r)}, {"criteria", criteria_array(r)},
                            {"events", events_array(r)});
    if (r->rank_count > 0) json_object_set_new(o, "ranks", ranks_array(r));
    return o;
}

void run_json_members(const struct run_record *r, unsigned indent, struct buf *out) {
    struct buf whole = {0};
    json_part_print(members(r), 2, &whole);
    /* Lines of an indented dump hold no line breaks of their own; the first and the last are the braces. */
    for (char *line = whole.data, *end; line && (end = strchr(line, '\n')) != NULL; line = end + 1) {
        bool brace = line == whole.data || *line == '}';
        if (brace) continue;
        if (line != whole.data + 2) buf_add(out, "\n");
        buf_addf(out, "%*s", (int)indent, "");
        buf_bytes(out, line, (size_t)(end - line));
    }
    buf_free(&whole);
}

void run_json_text(const char *s, struct buf *out) {
    json_t *v = json_part_text(s);
    char *dump = json_dumps(v, JSON_ENCODE_ANY);
    buf_add(out, dump ? dump : "\"\"");
    free(dump);
    json_decref(v);
}

/* ---- trials ---- */

static json_t *incomplete_array(const struct trials *t) {
    json_t *list = json_array();
    for (size_t i = 0; i < t->count; i++) {
        const struct trial *one = &t->trial[i];
        if (!one->incomplete[0]) continue;
        json_array_append_new(list, JSON_OBJECT({"run_id", json_part_id(one->run_id)},
                                                {"trial", json_integer(one->number)},
                                                {"reason", json_part_text(one->incomplete)}));
    }
    return list;
}

static json_t *statistics_object(const struct trials *t) {
    json_t *o = json_object();
    for (size_t i = 0; i < t->metrics; i++) {
        struct statistics s;
        trials_statistics(t, &t->metric[i], &s);
        json_object_set_new(o, t->metric[i].metric,
                            JSON_OBJECT({"n", json_part_count(s.n)}, {"median", json_part_number(s.median)},
                                        {"mean", json_part_number(s.mean)}, {"sd", json_part_number(s.sd)},
                                        {"cv", json_part_number(s.cv)},
                                        {"ci95_low", json_part_number(s.ci95_low)},
                                        {"ci95_high", json_part_number(s.ci95_high)},
                                        {"unit", json_part_text(t->metric[i].unit)}));
    }
    return o;
}

static json_t *trials_object(const struct trials *t) {
    json_t *runs = json_array();
    for (size_t i = 0; i < t->count; i++) json_array_append_new(runs, json_part_id(t->trial[i].run_id));
    return JSON_OBJECT({"asked", json_integer(t->asked)}, {"runs", runs}, {"incomplete", incomplete_array(t)},
                       {"passed", json_boolean(trials_passed(t))}, {"metrics", statistics_object(t)});
}

json_t *run_json_object(const struct run_record *r, const struct trials *t) {
    json_t *o = JSON_OBJECT(JSON_HEAD(RUN_JSON)), *rest = members(r);
    json_object_update(o, rest);
    json_decref(rest);
    if (t && t->count > 0) json_object_set_new(o, "trials", trials_object(t));
    return o;
}

void run_json(const struct run_record *r, const struct trials *t, struct buf *out) {
    json_part_print(run_json_object(r, t), 2, out);
}
