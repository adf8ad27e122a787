#include "export/run_json.h"

#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/moment.h"
#include "export/json_part.h"
#include "record/standing.h"

static json_t *count(uint64_t v) {
    return v <= INT64_MAX ? json_integer((json_int_t)v) : json_real((double)v);
}

static json_t *text_or_null(const char *s) {
    return s[0] ? json_part_text(s) : json_null();
}

static json_t *moment(double epoch_s) {
    char out[MOMENT_TEXT];
    return moment_iso(epoch_s, 3, out) ? json_string(out) : json_null();
}

/* A stored JSON object; what is no object becomes an empty one. */
static json_t *embedded(const char *object) {
    json_t *v = object ? json_loads(object, 0, NULL) : NULL;
    if (json_is_object(v)) return v;
    json_decref(v);
    return json_object();
}

static json_t *run_object(const struct run_record *r) {
    json_t *o = json_object();
    char undone[STANDING_TEXT];
    json_object_set_new(o, "run_id", r->run_id > 0 ? json_integer(r->run_id) : json_null());
    json_object_set_new(o, "uuid", text_or_null(r->uuid));
    json_object_set_new(o, "parent_id", r->parent_id > 0 ? json_integer(r->parent_id) : json_null());
    json_object_set_new(o, "trial", r->trial ? json_integer(r->trial) : json_null());
    json_object_set_new(o, "trials", r->trial ? json_integer(r->trials) : json_null());
    json_object_set_new(o, "name", json_part_text(r->name));
    json_object_set_new(o, "description", json_part_text(r->description));
    json_object_set_new(o, "mode", json_part_text(r->mode));
    json_object_set_new(o, "model", json_part_text(r->model));
    json_object_set_new(o, "seed", count(r->seed));
    json_object_set_new(o, "status", json_part_text(run_status_name(r->status)));
    json_object_set_new(o, "status_reason", json_part_text(r->status_reason));
    json_object_set_new(o, "started_at", moment(r->started_at));
    json_object_set_new(o, "ended_at", moment(r->ended_at));
    json_object_set_new(o, "host", json_part_text(r->host));
    json_object_set_new(o, "boot_id", text_or_null(r->boot_id));
    json_object_set_new(o, "pid", json_integer(r->pid));
    json_object_set_new(o, "version", json_part_text(r->version));
    json_object_set_new(o, "tags", json_part_text(r->tags));
    json_object_set_new(o, "note", r->note ? json_part_text(r->note) : json_null());
    json_object_set_new(o, "bottleneck", text_or_null(r->verdict.sentence));
    json_object_set_new(o, "steady_state", text_or_null(r->steady));
    json_object_set_new(o, "not_comparable", text_or_null(r->not_comparable));
    json_object_set_new(o, "undone", text_or_null(standing_run_undone(r, undone)));
    json_t *trace = json_object();
    json_object_set_new(trace, "path", text_or_null(r->trace_path));
    json_object_set_new(trace, "sha256", text_or_null(r->trace_sha256));
    json_object_set_new(o, "trace", trace);
    json_object_set_new(o, "tokenizer", text_or_null(r->tokenizer));
    json_object_set_new(o, "environment", embedded(r->environment));
    json_object_set_new(o, "configuration", embedded(r->effective_json));
    return o;
}

static json_t *evidence_array(const struct verdict *v) {
    json_t *list = json_array();
    for (size_t i = 0; i < v->evidences; i++) {
        const struct verdict_evidence *e = &v->evidence[i];
        json_t *entry = json_object();
        json_object_set_new(entry, "name", json_part_text(e->name));
        json_object_set_new(entry, "value", json_part_number(e->value));
        json_object_set_new(entry, "unit", json_part_text(e->unit));
        json_array_append_new(list, entry);
    }
    return list;
}

static json_t *remedies_array(const struct verdict *v) {
    json_t *list = json_array();
    for (size_t i = 0; i < v->remedies; i++) {
        const struct verdict_remedy *r = &v->remedy[i];
        json_t *entry = json_object();
        json_object_set_new(entry, "change", json_part_text(r->change));
        json_object_set_new(entry, "metric", json_part_text(r->metric));
        json_object_set_new(entry, "now", json_part_number(r->now));
        json_object_set_new(entry, "estimate", json_part_number(r->estimate));
        json_array_append_new(list, entry);
    }
    return list;
}

/* Warnings stand also where nobody has judged. */
static json_t *verdict_object(const struct verdict *v) {
    if (!v->known && v->warnings == 0) return json_null();
    json_t *o = json_object(), *warnings = json_array();
    const char *cause = verdict_cause_name(v->cause);
    for (size_t i = 0; i < v->warnings; i++) json_array_append_new(warnings, json_part_text(v->warning[i]));
    json_object_set_new(o, "limited_by",
                        v->known ? json_part_text(verdict_limit_name(v->limited_by)) : json_null());
    json_object_set_new(o, "share", v->known ? json_part_number(v->share) : json_null());
    json_object_set_new(o, "cause", cause && v->known ? json_part_text(cause) : json_null());
    json_object_set_new(o, "sentence", v->known ? json_part_text(v->sentence) : json_null());
    json_object_set_new(o, "evidence", evidence_array(v));
    json_object_set_new(o, "remedies", remedies_array(v));
    json_object_set_new(o, "warnings", warnings);
    return o;
}

static json_t *results_object(const struct run_record *r) {
    json_t *o = json_object();
    for (size_t i = 0; i < r->results.count; i++) {
        const struct result *m = &r->results.items[i];
        json_t *entry = json_object();
        json_object_set_new(entry, "value", json_part_number(m->value));
        json_object_set_new(entry, "unit", json_part_text(m->unit));
        json_object_set_new(o, m->metric, entry);
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
        json_t *entry = json_object();
        json_object_set_new(entry, "on", json_boolean(tier->on));
        json_object_set_new(entry, "emulated", json_boolean(tier->emulated));
        json_object_set_new(entry, "compat", json_boolean(tier->compat));
        json_object_set_new(entry, "capacity_bytes", count(tier->on ? tier->capacity_bytes : 0));
        json_object_set_new(entry, "usable_bytes", count(tier->on ? tier->usable_bytes : 0));
        json_object_set_new(entry, "description", json_part_text(tier->description));
        json_object_set_new(entry, "metrics", group(r, name));
        json_object_set_new(o, name, entry);
    }
    return o;
}

static json_t *target(uint64_t ns) {
    return ns ? json_part_number((double)ns / 1e6) : json_null();
}

static double class_result(const struct run_record *r, const char *name, const char *what) {
    char metric[96];
    snprintf(metric, sizeof metric, "slo_%s_%s", name, what);
    return result_value(&r->results, metric);
}

/* A class's four percentiles: what they came to ("p95_ms"), or whether the target was kept ("p95"). */
static json_t *target_values(const struct run_record *r, const char *name, const char *what, bool verdict) {
    static const char *const quantiles[] = {"p95", "p99", "p999", "p9999"};
    json_t *o = json_object();
    for (size_t i = 0; i < sizeof quantiles / sizeof quantiles[0]; i++) {
        char key[16];
        snprintf(key, sizeof key, "%s_%s", quantiles[i], what);
        double v = class_result(r, name, key);
        if (verdict)
            json_object_set_new(o, quantiles[i], isfinite(v) ? json_boolean(v != 0) : json_null());
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
        json_t *entry = json_object();
        json_object_set_new(entry, "name", json_part_text(c->name));
        json_object_set_new(entry, "share", json_part_number(c->share));
        json_object_set_new(entry, "latency", json_part_text(r->qos_latency));
        json_t *targets = json_object();
        json_object_set_new(targets, "p95_ms", target(c->p95_ns));
        json_object_set_new(targets, "p99_ms", target(c->p99_ns));
        json_object_set_new(targets, "p999_ms", target(c->p999_ns));
        json_object_set_new(targets, "p9999_ms", target(c->p9999_ns));
        json_object_set_new(entry, "targets", targets);
        json_object_set_new(entry, "actual", target_values(r, c->name, "ms", false));
        json_object_set_new(entry, "met", target_values(r, c->name, "met", true));
        json_object_set_new(entry, "met_ratio", json_part_number(class_result(r, c->name, "met_ratio")));
        json_object_set_new(entry, "violations", json_part_number(class_result(r, c->name, "violations")));
        json_object_set_new(entry, "metrics", group(r, prefix));
        json_array_append_new(list, entry);
    }
    return list;
}

static json_t *decisions_array(const struct run_record *r) {
    json_t *list = json_array();
    for (size_t i = 0; i < r->decision_count; i++) {
        const struct snapshot_decision *d = &r->decisions[i];
        json_t *entry = json_object();
        json_object_set_new(entry, "t_s",
                            json_part_number(r->decision_t_s ? r->decision_t_s[i] : KVF_MISSING));
        json_object_set_new(entry, "mode", json_part_text(d->mode));
        json_object_set_new(entry, "action", json_part_text(d->action));
        json_object_set_new(entry, "users_before", count(d->users_before));
        json_object_set_new(entry, "users_after", count(d->users_after));
        json_object_set_new(entry, "saturation", json_part_number(d->saturation));
        json_object_set_new(entry, "throughput_tok_s", json_part_number(d->throughput_tok_s));
        json_object_set_new(entry, "p95_ms", json_part_number(d->p95_ms));
        json_object_set_new(entry, "reason", json_part_text(d->reason));
        json_array_append_new(list, entry);
    }
    return list;
}

static json_t *criteria_array(const struct run_record *r) {
    json_t *list = json_array();
    for (size_t i = 0; i < r->criterion_count; i++) {
        const struct run_criterion *c = &r->criteria[i];
        json_t *entry = json_object();
        json_object_set_new(entry, "name", json_part_text(c->name));
        json_object_set_new(entry, "metric", text_or_null(c->metric));
        json_object_set_new(entry, "op", text_or_null(c->op));
        json_object_set_new(entry, "target", json_part_number(c->target));
        json_object_set_new(entry, "actual", json_part_number(c->actual));
        json_object_set_new(entry, "unit", json_part_text(c->unit));
        json_object_set_new(entry, "passed", json_boolean(c->passed));
        json_array_append_new(list, entry);
    }
    return list;
}

static json_t *events_array(const struct run_record *r) {
    json_t *list = json_array();
    for (size_t i = 0; i < r->event_count; i++) {
        const struct record_event *e = &r->events[i];
        json_t *entry = json_object();
        json_object_set_new(entry, "t_s", json_part_number(e->t_s));
        json_object_set_new(entry, "level", json_part_text(e->level));
        json_object_set_new(entry, "message", json_part_text(e->message));
        json_array_append_new(list, entry);
    }
    return list;
}

static void document_fill(json_t *o, const struct run_record *r) {
    json_object_set_new(o, "run", run_object(r));
    json_object_set_new(o, "verdict", verdict_object(&r->verdict));
    json_object_set_new(o, "results", results_object(r));
    json_object_set_new(o, "tiers", tiers_object(r));
    json_object_set_new(o, "qos", qos_array(r));
    json_object_set_new(o, "decisions", decisions_array(r));
    json_object_set_new(o, "criteria", criteria_array(r));
    json_object_set_new(o, "events", events_array(r));
}

static json_t *document(const struct run_record *r) {
    json_t *o = json_object();
    json_part_head(o, RUN_JSON_SCHEMA, RUN_JSON_VERSION);
    document_fill(o, r);
    return o;
}

void run_json(const struct run_record *r, struct buf *out) {
    json_part_print(document(r), out);
}

void run_json_members(const struct run_record *r, unsigned indent, struct buf *out) {
    struct buf whole = {0};
    json_t *o = json_object();
    document_fill(o, r);
    json_part_print(o, &whole);
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

static json_t *run_id(int64_t id) {
    return id > 0 ? json_integer(id) : json_null();
}

static json_t *incomplete_array(const struct trials *t) {
    json_t *list = json_array();
    for (size_t i = 0; i < t->count; i++) {
        const struct trial *one = &t->trial[i];
        if (!one->incomplete[0]) continue;
        json_t *entry = json_object();
        json_object_set_new(entry, "run_id", run_id(one->run_id));
        json_object_set_new(entry, "trial", json_integer(one->number));
        json_object_set_new(entry, "reason", json_part_text(one->incomplete));
        json_array_append_new(list, entry);
    }
    return list;
}

static json_t *statistics_object(const struct trials *t) {
    json_t *o = json_object();
    for (size_t i = 0; i < t->metrics; i++) {
        struct statistics s;
        trials_statistics(t, &t->metric[i], &s);
        json_t *entry = json_object();
        json_object_set_new(entry, "n", count(s.n));
        json_object_set_new(entry, "median", json_part_number(s.median));
        json_object_set_new(entry, "mean", json_part_number(s.mean));
        json_object_set_new(entry, "sd", json_part_number(s.sd));
        json_object_set_new(entry, "cv", json_part_number(s.cv));
        json_object_set_new(entry, "ci95_low", json_part_number(s.ci95_low));
        json_object_set_new(entry, "ci95_high", json_part_number(s.ci95_high));
        json_object_set_new(entry, "unit", json_part_text(t->metric[i].unit));
        json_object_set_new(o, t->metric[i].metric, entry);
    }
    return o;
}

void run_json_trials(const struct run_record *r, const struct trials *t, struct buf *out) {
    json_t *o = document(r), *group = json_object(), *runs = json_array();
    for (size_t i = 0; i < t->count; i++) json_array_append_new(runs, run_id(t->trial[i].run_id));
    json_object_set_new(group, "asked", json_integer(t->asked));
    json_object_set_new(group, "runs", runs);
    json_object_set_new(group, "incomplete", incomplete_array(t));
    json_object_set_new(group, "passed", json_boolean(trials_passed(t)));
    json_object_set_new(group, "metrics", statistics_object(t));
    json_object_set_new(o, "trials", group);
    json_part_print(o, out);
}
