#include "record/run.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "record/metric.h"

#define X(id, name) name,
static const char *const status_names[] = {RUN_STATUS_LIST(X)};
#undef X

const char *run_status_name(enum run_status s) {
    return (unsigned)s < RUN_STATUSES ? status_names[s] : "?";
}

enum run_status run_status_parse(const char *name) {
    for (unsigned s = 0; s < RUN_STATUSES; s++)
        if (strcmp(name, status_names[s]) == 0) return (enum run_status)s;
    return RUN_STATUSES;
}

void result_put(struct result_list *l, const struct result *result) {
    mem_room(l->items, l->count, l->cap);
    l->items[l->count++] = *result;
}

void result_add(struct result_list *l, double value, uint64_t samples, const char *metric_fmt, ...) {
    struct result r = {.value = value, .samples = samples};
    va_list ap;
    va_start(ap, metric_fmt);
    (void)vsnprintf(r.metric, sizeof r.metric, metric_fmt, ap);
    va_end(ap);
    (void)snprintf(r.unit, sizeof r.unit, "%s", metric_unit(r.metric));
    result_put(l, &r);
}

const struct result *result_find(const struct result_list *l, const char *metric) {
    for (size_t i = 0; i < l->count; i++)
        if (strcmp(l->items[i].metric, metric) == 0) return &l->items[i];
    return NULL;
}

double result_value(const struct result_list *l, const char *metric) {
    const struct result *r = result_find(l, metric);
    return r ? r->value : KVF_MISSING;
}

double result_named(const struct result_list *l, const char *fmt, ...) {
    char name[96];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(name, sizeof name, fmt, ap);
    va_end(ap);
    return result_value(l, name);
}

struct metric_break_even result_break_even(const struct result_list *l, enum kvf_tier tier) {
    const char *name = tier_name(tier);
    return (struct metric_break_even){result_named(l, "%s_break_even_tokens", name),
                                      result_named(l, "%s_loads_from_tokens", name),
                                      result_named(l, "%s_loads_to_tokens", name)};
}

void run_record_init(struct run_record *r) {
    memset(r, 0, sizeof *r);
    r->started_at = KVF_MISSING;
    r->ended_at = KVF_MISSING;
}

void run_record_free(struct run_record *r) {
    if (!r) return;
    for (size_t i = 0; i < r->histogram_count; i++) free(r->histograms[i].data);
    free(r->histograms);
    free(r->pods);
    free(r->ranks);
    free(r->criteria);
    free(r->decision_t_s);
    free(r->decisions);
    free(r->events);
    free(r->results.items);
    free(r->effective_json);
    free(r->scenario_yaml);
    free(r->note);
    free(r->environment);
    free(r->sweep_values);
    run_record_init(r);
}

void run_record_event(struct run_record *r, const struct record_event *e) {
    mem_room(r->events, r->event_count, r->event_cap);
    r->events[r->event_count++] = *e;
}

double run_criterion_passed(const struct run_record *r, const struct run_criterion *c) {
    return r->status == RUN_FAILED ? KVF_MISSING : c->passed;
}

size_t run_criteria_passed(const struct run_record *r, size_t *judged) {
    size_t passed = 0, known = 0;
    for (size_t i = 0; i < r->criterion_count; i++) {
        double one = run_criterion_passed(r, &r->criteria[i]);
        known += kvf_present(one);
        passed += one == 1;
    }
    if (judged) *judged = known;
    return passed;
}

void run_record_criterion(struct run_record *r, const struct run_criterion *c) {
    r->criteria = mem_realloc(r->criteria, (r->criterion_count + 1) * sizeof *r->criteria);
    r->criteria[r->criterion_count++] = *c;
}

void run_record_decision(struct run_record *r, const struct snapshot_decision *d, double t_s) {
    size_t n = r->decision_count++;
    r->decisions = mem_realloc(r->decisions, (n + 1) * sizeof *r->decisions);
    r->decision_t_s = mem_realloc(r->decision_t_s, (n + 1) * sizeof *r->decision_t_s);
    r->decisions[n] = *d;
    r->decision_t_s[n] = t_s;
}

void run_record_logs_to(struct run_record *r, const char *path) {
    char here[PATH_MAX] = "";
    r->request_log[0] = '\0';
    if (!path || (path[0] != '/' && !getcwd(here, sizeof here))) return;
    int len = snprintf(r->request_log, sizeof r->request_log, "%s%s%s", here, here[0] ? "/" : "", path);
    if (len >= (int)sizeof r->request_log) r->request_log[0] = '\0'; /* rather none than another */
}

void run_record_pod(struct run_record *r, const struct run_pod *p) {
    r->pods = mem_realloc(r->pods, (r->pod_count + 1) * sizeof *r->pods);
    r->pods[r->pod_count++] = *p;
}

void run_record_rank(struct run_record *r, const struct run_rank *rank) {
    r->ranks = mem_realloc(r->ranks, (r->rank_count + 1) * sizeof *r->ranks);
    r->ranks[r->rank_count++] = *rank;
}

void run_record_histogram(struct run_record *r, const char *scope, const uint8_t *data, size_t len) {
    r->histograms = mem_realloc(r->histograms, (r->histogram_count + 1) * sizeof *r->histograms);
    struct run_histogram *h = &r->histograms[r->histogram_count++];
    *h = (struct run_histogram){.data = mem_alloc(len), .len = len};
    (void)snprintf(h->scope, sizeof h->scope, "%s", scope);
    if (len) memcpy(h->data, data, len);
}
