#include "engine/autoscaler.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "engine/seek.h"

static const char *const mode_names[] = {
    [AUTOSCALER_OFF] = "off", [AUTOSCALER_QOS] = "qos", [AUTOSCALER_CAPACITY] = "capacity"};

const char *autoscaler_mode_name(enum autoscaler_mode m) {
    return m <= AUTOSCALER_CAPACITY ? mode_names[m] : "?";
}

static const struct seek *seek_of(const struct autoscaler *a) {
    return a->config.mode == AUTOSCALER_CAPACITY ? &seek_capacity : &seek_qos;
}

/* ---- for the searches ---- */

void seek_act(struct snapshot_decision *out, const char *action) {
    snprintf(out->action, sizeof out->action, "%s", action);
    out->reason[0] = '\0';
}

void seek_say(struct snapshot_decision *out, const char *fmt, ...) {
    size_t used = strlen(out->reason);
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(out->reason + used, sizeof out->reason - used, fmt, ap);
    va_end(ap);
}

struct seek_text seek_ms(double ms) {
    struct seek_text t;
    units_duration_human(ms * 1e6, t.text, sizeof t.text);
    return t;
}

struct seek_text seek_s(double s) {
    struct seek_text t;
    (void)snprintf(t.text, sizeof t.text, "%.4g s", s);
    return t;
}

struct seek_text seek_count(double n) {
    struct seek_text t;
    units_count_human(n, t.text, sizeof t.text);
    return t;
}

struct seek_text seek_users(uint64_t users) {
    struct seek_text t;
    (void)snprintf(t.text, sizeof t.text, "%llu user%s", (unsigned long long)users, users == 1 ? "" : "s");
    return t;
}

static uint64_t allowed(const struct autoscaler *a, uint64_t users) {
    if (users < a->config.min_users) return a->config.min_users;
    return users > a->config.max_users ? a->config.max_users : users;
}

uint64_t seek_times(const struct autoscaler *a, uint64_t users, double factor) {
    uint64_t to = (uint64_t)(factor * (double)users + 0.5);
    if (factor > 1 && to <= users) to = users + 1;
    if (factor < 1 && to >= users && users > 0) to = users - 1;
    return allowed(a, to);
}

void seek_keep(struct autoscaler *a, const struct autoscaler_level *l) {
    unsigned at = a->levels;
    while (at > 0 && a->level[at - 1].users >= l->users) at--;
    if (at < a->levels && a->level[at].users == l->users) {
        a->level[at] = *l;
        return;
    }
    if (a->levels == AUTOSCALER_LEVELS) return;
    memmove(&a->level[at + 1], &a->level[at], (a->levels - at) * sizeof a->level[0]);
    a->level[at] = *l;
    a->levels++;
}

void seek_stage(struct autoscaler *a, struct snapshot_decision *out, uint64_t users,
                const struct stage_plan *plan) {
    a->users = users;
    if (out) out->users_after = users;
    stage_begin(&a->stage, plan);
}

/* ---- the autoscaler ---- */

static void decision_begin(const struct autoscaler *a, uint64_t users, struct snapshot_decision *out) {
    memset(out, 0, sizeof *out);
    snprintf(out->mode, sizeof out->mode, "%s", autoscaler_mode_name(a->config.mode));
    out->users_before = out->users_after = users;
    out->saturation = out->throughput_tok_s = out->p95_ms = KVF_MISSING;
    if (!a->judged) return;
    out->saturation = a->last.saturation;
    out->throughput_tok_s = a->last.tokens_s;
    if (!isinf(a->last.p95_ms)) out->p95_ms = a->last.p95_ms;
}

static const char *aim_of(const struct autoscaler_config *c) {
    switch (c->rules.figure) {
    case STAGE_TARGETS:
        return "the most users that keep every P95 target";
    case STAGE_SATURATION:
        return "the most users that keep the limit of saturation";
    case STAGE_NVME:
        return "the fewest users with the most nvme tok/s";
    case STAGE_TOKENS:
    default:
        return "the fewest users with the most tok/s";
    }
}

void autoscaler_init(struct autoscaler *a, const struct autoscaler_config *config, uint64_t users,
                     struct snapshot_decision *out) {
    memset(a, 0, sizeof *a);
    a->config = *config;
    decision_begin(a, users, out);
    a->users = out->users_after = allowed(a, users);
    seek_act(out, "start");
    seek_say(out, "seek %s, between %llu and %llu: begin with %s, judged for %s after %s", aim_of(config),
             (unsigned long long)config->min_users, (unsigned long long)config->max_users,
             seek_users(a->users).text, seek_s(config->stage_s).text, seek_s(config->settle_s).text);
    seek_of(a)->begin(a);
    a->decided = 1;
}

bool autoscaler_step(struct autoscaler *a, const struct stage_signals *in, struct snapshot_decision *out) {
    if (a->doing == AUTOSCALER_DONE || !(in->length_s > 0)) return false;
    enum stage_state state = stage_step(&a->stage, &a->config.rules, in);
    if (state != STAGE_WITHIN && state != STAGE_OVER) return false;
    stage_read(&a->stage, &a->config.rules, &a->last);
    a->judged = true;
    decision_begin(a, a->users, out);
    if (!seek_of(a)->judged(a, state == STAGE_OVER, out)) return false;
    a->decided++;
    return true;
}

void autoscaler_known(const struct autoscaler *a, char *out, size_t len) {
    seek_of(a)->known(a, out, len);
}

double autoscaler_users(const struct autoscaler *a, bool *found) {
    *found = a->answer == AUTOSCALER_FOUND || a->answer == AUTOSCALER_AT_LEAST;
    return seek_of(a)->users(a);
}
