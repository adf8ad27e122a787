#include "record/verdict.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "record/metric.h"

#define X(id, name) name,
static const char *const limit_names[VERDICT_LIMITS] = {VERDICT_LIMIT_LIST(X)};
static const char *const cause_names[VERDICT_CAUSES] = {VERDICT_CAUSE_LIST(X)};
#undef X

static unsigned find(const char *const *names, unsigned count, const char *name) {
    unsigned i = 0;
    while (i < count && (!name || strcmp(names[i], name) != 0)) i++;
    return i;
}

const char *verdict_limit_name(enum verdict_limit l) {
    return (unsigned)l < VERDICT_LIMITS ? limit_names[l] : "?";
}

enum verdict_limit verdict_limit_parse(const char *name) {
    return (enum verdict_limit)find(limit_names, VERDICT_LIMITS, name);
}

enum verdict_limit verdict_limit_of(enum kvf_tier t) {
    return verdict_limit_parse(tier_name(t));
}

const char *verdict_cause_name(enum verdict_cause c) {
    return (unsigned)c < VERDICT_CAUSES ? cause_names[c] : NULL;
}

enum verdict_cause verdict_cause_parse(const char *name) {
    return (enum verdict_cause)find(cause_names, VERDICT_CAUSES, name);
}

char *verdict_limit_text(const struct verdict *v, char *out, size_t len) {
    const char *cause = verdict_cause_name(v->cause);
    if (len > 0) out[0] = '\0';
    if (v->known)
        snprintf(out, len, "%s%s%s", verdict_limit_name(v->limited_by), cause ? ", " : "",
                 cause ? cause : "");
    return out;
}

void verdict_add_evidence(struct verdict *v, const char *name, double value, const char *unit) {
    if (isnan(value) || v->evidences == VERDICT_EVIDENCE) return;
    struct verdict_evidence *e = &v->evidence[v->evidences++];
    e->value = value;
    snprintf(e->name, sizeof e->name, "%s", name);
    snprintf(e->unit, sizeof e->unit, "%s", unit);
}

void verdict_add_remedy(struct verdict *v, const char *change, const char *metric, double now,
                        double estimate) {
    struct verdict_remedy r = {.now = now, .estimate = estimate};
    snprintf(r.change, sizeof r.change, "%s", change);
    snprintf(r.metric, sizeof r.metric, "%s", metric);
    size_t at = v->remedies;
    while (at > 0 && verdict_gain(&r) > verdict_gain(&v->remedy[at - 1])) at--;
    if (at == VERDICT_REMEDIES) return;
    if (v->remedies < VERDICT_REMEDIES) v->remedies++;
    memmove(&v->remedy[at + 1], &v->remedy[at], (v->remedies - 1 - at) * sizeof r);
    v->remedy[at] = r;
}

void verdict_warn(struct verdict *v, const char *fmt, ...) {
    va_list ap;
    if (v->warnings == VERDICT_WARNINGS) return;
    va_start(ap, fmt);
    (void)vsnprintf(v->warning[v->warnings++], VERDICT_WARNING, fmt, ap);
    va_end(ap);
}

double verdict_value(const struct verdict *v, const char *name) {
    for (size_t i = 0; i < v->evidences; i++)
        if (strcmp(v->evidence[i].name, name) == 0) return v->evidence[i].value;
    return (double)NAN;
}

void verdict_rebase(struct verdict *v, const char *metric, double now, double least) {
    for (size_t i = 0; i < v->remedies && now > 0; i++) {
        struct verdict_remedy *r = &v->remedy[i];
        if (strcmp(r->metric, metric) != 0 || !(r->now > 0)) continue;
        r->estimate = fmax(r->estimate * now / r->now, least);
        r->now = now;
    }
}

double verdict_gain(const struct verdict_remedy *r) {
    if (!(r->now > 0) || !(r->estimate > 0)) return 0;
    return metric_better(r->metric) == METRIC_LOWER ? r->now / r->estimate - 1 : r->estimate / r->now - 1;
}

static char *figure(const char *metric, double v, char *out, size_t len) {
    if (isnan(v))
        snprintf(out, len, "--");
    else if (strcmp(metric_unit(metric), "ms") == 0)
        units_duration_human(v * 1e6, out, len);
    else if (metric_percent(metric))
        snprintf(out, len, "%.1f %%", 100 * v);
    else
        units_count_human(v, out, len); /* a rate has its unit in its label */
    return out;
}

char *verdict_remedy_short(const struct verdict_remedy *r, const char *arrow, char *out, size_t len) {
    char now[48], then[48], label[64];
    metric_label(r->metric, label, sizeof label);
    figure(r->metric, r->now, now, sizeof now);
    figure(r->metric, r->estimate, then, sizeof then);
    snprintf(out, len, "%s: %s %s %s %s", r->change, label, now, arrow, then);
    return out;
}

char *verdict_remedy_text(const struct verdict_remedy *r, char *out, size_t len) {
    char now[48], then[48], label[64];
    metric_label(r->metric, label, sizeof label);
    snprintf(out, len, "%s: %s %s to %s", r->change, label, figure(r->metric, r->now, now, sizeof now),
             figure(r->metric, r->estimate, then, sizeof then));
    return out;
}
