#include "record/trials.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "record/metric.h"
#include "record/standing.h"

/* The first change of the load by hand; NULL: there is none. */
static const char *changed_by_hand(const struct run_record *r) {
    for (size_t i = 0; i < r->event_count; i++)
        if (record_event_changes(&r->events[i], true)) return r->events[i].message;
    return NULL;
}

/* Requests that ended without being done: their trial counts, with what it did not do. */
static double given_up(const struct run_record *r) {
    double failed = result_value(&r->results, "requests_failed"),
           dropped = result_value(&r->results, "requests_dropped");
    return (kvf_present(failed) ? failed : 0) + (kvf_present(dropped) ? dropped : 0);
}

/* Requests that a run which was left to its end had no time for. */
static double left_of(const struct run_record *r) {
    double left = result_value(&r->results, "requests_left") - given_up(r);
    return r->status == RUN_COMPLETED && !changed_by_hand(r) && left > 0 ? left : 0;
}

void trials_incomplete(const struct run_record *r, char *out, size_t len) {
    double asked = result_value(&r->results, "requests_asked");
    double left = result_value(&r->results, "requests_left") - given_up(r);
    const char *change = changed_by_hand(r);
    out[0] = '\0';
    if (left > 0 && isfinite(asked - left))
        snprintf(out, len, "%.0f of %.0f requests done", asked - left, asked);
    else if (left > 0)
        snprintf(out, len, "not all requests done");
    else if (r->status != RUN_COMPLETED)
        snprintf(out, len, "%s%s%s", run_status_name(r->status), r->status_reason[0] ? ": " : "",
                 r->status_reason);
    else if (change)
        snprintf(out, len, "changed by hand: %.120s", change);
}

static struct trial_metric *metric_add(struct trials *t, const struct result *r) {
    mem_room(t->metric, t->metrics, t->metric_cap);
    struct trial_metric *m = &t->metric[t->metrics++];
    *m = (struct trial_metric){0};
    snprintf(m->metric, sizeof m->metric, "%s", r->metric);
    snprintf(m->unit, sizeof m->unit, "%s", r->unit);
    return m;
}

/* Results of one build come in one order: the next is nearly always the one after the last found. */
static struct trial_metric *find_in(const struct trials *t, const char *metric, size_t guess) {
    if (guess < t->metrics && strcmp(t->metric[guess].metric, metric) == 0) return &t->metric[guess];
    for (size_t i = 0; i < t->metrics; i++)
        if (strcmp(t->metric[i].metric, metric) == 0) return &t->metric[i];
    return NULL;
}

/* A metric that earlier trials did not have is missing in them. */
static void value_put(struct trial_metric *m, size_t place, double value) {
    if (place >= m->cap) {
        m->cap = place + 1 > 2 * m->cap ? place + 1 : 2 * m->cap;
        m->value = mem_realloc(m->value, m->cap * sizeof *m->value);
    }
    while (m->count < place) m->value[m->count++] = KVF_MISSING;
    if (m->count == place) m->value[m->count++] = value; /* of one listed twice the first counts */
}

static void metrics_add(struct trials *t, const struct result_list *l, size_t place) {
    size_t guess = 0;
    for (size_t i = 0; i < l->count; i++) {
        struct trial_metric *m = find_in(t, l->items[i].metric, guess);
        if (!m) m = metric_add(t, &l->items[i]);
        value_put(m, place, l->items[i].value);
        guess = (size_t)(m - t->metric) + 1;
    }
}

void trials_add(struct trials *t, const struct run_record *r) {
    size_t place = trials_complete(t);
    mem_room(t->trial, t->count, t->cap);
    struct trial *one = &t->trial[t->count++];
    *one = (struct trial){.run_id = r->run_id,
                          .number = r->trial,
                          .seed = r->seed,
                          .status = r->status,
                          .measured_s = result_value(&r->results, "measured_s"),
                          .throughput_tok_s = result_value(&r->results, "throughput_tok_s"),
                          .e2e_p95_ms = result_value(&r->results, "e2e_p95_ms"),
                          .left = left_of(r),
                          .without_data = r->criterion_count};
    memcpy(one->uuid, r->uuid, sizeof one->uuid);
    one->passed = run_criteria_passed(r, &one->criteria);
    one->without_data -= one->criteria;
    trials_incomplete(r, one->incomplete, sizeof one->incomplete);
    if (r->status == RUN_COMPLETED)
        snprintf(one->flaw, sizeof one->flaw, "%s", standing_flaw_text(standing_run_flaw(&r->results)));
    if (r->trials > t->asked) t->asked = r->trials;
    t->computed = t->computed || strcmp(r->mode, "simulate") == 0;
    for (int i = 0; i < KVF_TIERS; i++) {
        t->emulated[i] = t->emulated[i] || r->tier[i].emulated;
        t->compat[i] = t->compat[i] || r->tier[i].compat;
    }
    if (!one->incomplete[0]) metrics_add(t, &r->results, place);
}

void trials_free(struct trials *t) {
    for (size_t i = 0; i < t->metrics; i++) free(t->metric[i].value);
    free(t->metric);
    free(t->trial);
    *t = (struct trials){0};
}

size_t trials_complete(const struct trials *t) {
    size_t n = 0;
    for (size_t i = 0; i < t->count; i++) n += !t->trial[i].incomplete[0];
    return n;
}

uint64_t trials_seed(const struct trials *t, size_t complete) {
    size_t i = 0;
    while (i < t->count && (t->trial[i].incomplete[0] || complete-- > 0)) i++;
    return i < t->count ? t->trial[i].seed : 0;
}

void trials_results(const struct trials *t, size_t complete, struct result_list *out) {
    for (size_t i = 0; i < t->metrics; i++) {
        const struct trial_metric *m = &t->metric[i];
        struct result one = {.value = complete < m->count ? m->value[complete] : KVF_MISSING};
        snprintf(one.metric, sizeof one.metric, "%s", m->metric);
        snprintf(one.unit, sizeof one.unit, "%s", m->unit);
        result_put(out, &one);
    }
}

bool trials_seeds_differ(const struct trials *t) {
    for (size_t i = 1; i < trials_complete(t); i++)
        if (trials_seed(t, i) != trials_seed(t, 0)) return true;
    return false;
}

bool trials_passed(const struct trials *t) {
    for (size_t i = 0; i < t->count; i++) {
        const struct trial *one = &t->trial[i];
        if (one->status == RUN_FAILED || one->status == RUN_CRASHED || one->left > 0) return false;
        if (!one->incomplete[0] && one->passed < one->criteria) return false;
    }
    return trials_complete(t) > 0;
}

const struct trial_metric *trials_metric(const struct trials *t, const char *metric) {
    return find_in(t, metric, 0);
}

/* Whether it is 0 or missing in all trials. */
static bool nothing(const struct trial_metric *m) {
    for (size_t i = 0; i < m->count; i++)
        if (kvf_present(m->value[i]) && m->value[i] != 0) return false;
    return true;
}

size_t trials_usual(const struct trials *t, const struct trial_metric **out) {
    size_t count = 0;
    for (size_t u = 0; u < metric_usual_count; u++)
        for (size_t i = 0; i < t->metrics; i++) {
            const struct trial_metric *m = &t->metric[i];
            if (!metric_fits(metric_usual[u].name, m->metric)) continue;
            if (!metric_usual[u].quiet || !nothing(m)) out[count++] = m;
        }
    return count;
}

static bool has_form(const struct trial_metric *m, enum metric_form form) {
    const struct metric *row = metric_find(m->metric);
    return row && row->form == form;
}

/* Slopes alone have a sign. */
static bool may_be_negative(const struct trial_metric *m) {
    if (has_form(m, METRIC_SLOPE)) return true;
    for (size_t i = 0; i < m->count; i++)
        if (m->value[i] < 0) return true;
    return false;
}

void trials_statistics(const struct trials *t, const struct trial_metric *m, struct statistics *out) {
    statistics_of(m->value, m->count, out);
    if (t->computed && !trials_seeds_differ(t))
        out->sd = out->cv = out->ci95_low = out->ci95_high = KVF_MISSING;
    if (out->ci95_low < 0 && !may_be_negative(m)) out->ci95_low = 0;
    if (out->ci95_high > 1 && has_form(m, METRIC_RATIO)) out->ci95_high = 1;
}
