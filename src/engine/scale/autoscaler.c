#include "engine/scale/autoscaler.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "engine/scale/seek.h"

#define OTHERWISE 3.0 /* standard errors between old and new */
enum { AGAINST = 3 }; /* stages in a row */
#define SCATTER 1.5   /* times its mean: what a conversation adds to the contexts of its user */
#define SOON_S  0.5   /* requests that are answered in so long are no crowd */

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
    (void)snprintf(t.text, sizeof t.text, "%" PRIu64 " user%s", users, users == 1 ? "" : "s");
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

const struct autoscaler_level *seek_known(const struct autoscaler *a, uint64_t users) {
    for (unsigned i = 0; i < a->levels; i++)
        if (a->level[i].users == users) return &a->level[i];
    return NULL;
}

/* Drops the level farthest from the search: it says least about the answer. */
static void forget_farthest(struct autoscaler *a, uint64_t users) {
    unsigned last = a->levels - 1;
    double below = log((double)users / (double)a->level[0].users),
           above = log((double)a->level[last].users / (double)users);
    if (below > above) memmove(&a->level[0], &a->level[1], last * sizeof a->level[0]);
    a->levels--;
}

/* The level of so many users, a new one in its place if need be; the least useful one makes room. */
static struct autoscaler_level *seek_level(struct autoscaler *a, uint64_t users) {
    if (a->levels == AUTOSCALER_LEVELS && !seek_known(a, users)) forget_farthest(a, users);
    unsigned at = a->levels;
    while (at > 0 && a->level[at - 1].users >= users) at--;
    if (at < a->levels && a->level[at].users == users) return &a->level[at];
    memmove(&a->level[at + 1], &a->level[at], (a->levels - at) * sizeof a->level[0]);
    a->level[at] = (struct autoscaler_level){.users = users};
    a->levels++;
    return &a->level[at];
}

/* A window that queued for long contradicts once in a while; what has changed contradicts on. */
struct autoscaler_level *seek_take(struct autoscaler *a) {
    struct autoscaler_level *l = seek_level(a, a->users);
    bool other = false;
    l->visits++;
    l->latest = a->stages;
    l->seconds += a->last.seconds;
    l->held = l->held || (a->stage.plan.before_s > 0 && !a->last.grows);
    for (unsigned k = 0; k < STAGE_EVIDENCE; k++) {
        const struct stage_class *c = &a->stage.klass[k];
        struct evidence before = l->of[k];
        evidence_leave(&before, &l->since[k]);
        if (!stage_has_line(&a->config.rules, k)) continue;
        other = other || evidence_contradicts(&before, &c->of_this, OTHERWISE);
    }
    if (!other) memset(l->since, 0, sizeof l->since);
    l->against = other ? l->against + 1 : 0;
    for (unsigned k = 0; k < STAGE_EVIDENCE; k++) {
        evidence_join(&l->of[k], &a->stage.klass[k].of_this);
        if (other) evidence_join(&l->since[k], &a->stage.klass[k].of_this);
    }
    if (l->against < AGAINST) return l;
    memcpy(l->of, l->since, sizeof l->of);
    memset(l->since, 0, sizeof l->since);
    l->against = 0;
    return l;
}

double seek_estimate(const struct autoscaler *a) {
    const struct stage_reading *r = &a->last;
    if (!(r->arrived_s > 0) || !(r->done_s > 0)) return KVF_MISSING;
    double thinking = a->config.rules.paced ? (double)a->users : (double)a->users - r->unfinished;
    double bare_s = kvf_present(a->system.least_e2e_s) ? a->system.least_e2e_s : 0;
    return r->done_s * (fmax(0, thinking) / r->arrived_s + bare_s);
}

double seek_hold_s(const struct autoscaler *a, uint64_t users) {
    const struct autoscaler_config *c = &a->config;
    double least_s = c->hold_s > 0 ? c->hold_s : c->stage_s, n = (double)users;
    if (!(c->turns > 1) || !(c->hold_s > 0) || !kvf_present(a->system.cycle_s)) return least_s;
    double errors = SCATTER / fmax(c->precision, 1 / n);
    return fmax(least_s, errors * errors * c->turns * a->system.cycle_s / n);
}

/* Whether more requests are under way than so many users would have. */
static bool crowded(const struct autoscaler *a, uint64_t users) {
    double usual = (double)users;
    if (kvf_present(a->system.calm))
        usual *= a->config.rules.paced ? 2 * a->system.calm : fmin(1, 2 * a->system.calm);
    double soon = a->judged ? SOON_S * a->last.done_s : 0;
    return (double)a->system.unfinished > usual + fmax(STAGE_FEW, soon);
}

/* Whether requests of a stage over its line last so long that the next would be judged by them. */
static bool outlasts(const struct autoscaler *a) {
    return a->config.mode == AUTOSCALER_QOS && a->last.value > 1 && a->system.e2e_s > a->config.stage_s;
}

static void stage_of(struct autoscaler *a, uint64_t users, const struct stage_plan *plan) {
    const struct autoscaler_level *known = seek_known(a, users);
    a->users = users;
    stage_begin(&a->stage, plan, known ? known->of : NULL);
}

/* Nothing is judged before requests last as long as they will; after users have left, also not before the
 * others have asked once. */
static double settle_s(const struct autoscaler *a, bool fewer, double least_s, double most_s) {
    double wanted_s = fewer ? fmax(a->system.cycle_s, a->system.e2e_s) : a->system.e2e_s;
    if (!kvf_present(wanted_s)) return least_s;
    return fmax(least_s, fmin(wanted_s, most_s));
}

/* Longer than so many stages nobody is waited for; and so long users that begin all at once are given until
 * they ask no more often than later. */
enum { DRAIN_STAGES = 30, BEGIN_STAGES = 5 };

void seek_stage(struct autoscaler *a, struct snapshot_decision *out, uint64_t users,
                const struct stage_plan *plan) {
    struct stage_plan p = *plan;
    bool drain = users < a->users && (crowded(a, users) || outlasts(a)), few = users == a->config.min_users;
    if (users != a->users)
        p.settle_s =
            settle_s(a, users < a->users, p.settle_s, (drain ? BEGIN_STAGES : 1) * a->config.stage_s);
    if (users < a->users || out == NULL) p.wait_s = (drain ? DRAIN_STAGES : STAGE_LONGEST) * p.length_s;
    if (drain && !few) {
        a->draining = true;
        a->drained_s = 0;
        a->drain_to = users;
        a->drain_plan = p;
        a->users = a->config.min_users;
        seek_say(out, "; drain %" PRIu64 " request%s first, with %s", a->system.unfinished,
                 a->system.unfinished == 1 ? "" : "s", seek_users(a->users).text);
    } else {
        stage_of(a, users, &p);
    }
    if (out) out->users_after = a->users;
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
    a->users = out->users_after = config->rules.paced ? config->min_users : allowed(a, users);
    seek_act(out, "start");
    seek_say(out, "seek %s, between %" PRIu64 " and %" PRIu64 ": begin with %s, judged for %s after %s",
             aim_of(config), config->min_users, config->max_users, seek_users(a->users).text,
             seek_s(config->stage_s).text, seek_s(config->settle_s).text);
    a->system = (struct autoscaler_system){.cycle_s = KVF_MISSING,
                                           .think_s = KVF_MISSING,
                                           .e2e_s = KVF_MISSING,
                                           .least_e2e_s = KVF_MISSING,
                                           .calm = KVF_MISSING};
    seek_of(a)->begin(a);
    a->decided = 1;
}

/* The evidence of the stage that has just ended. */
static void learn(struct autoscaler *a, bool over) {
    const struct stage_reading *r = &a->last;
    struct autoscaler_system *s = &a->system;
    if (r->arrived_s > 0) s->cycle_s = (double)a->users / r->arrived_s;
    if (r->arrived_s > 0 && r->unfinished < (double)a->users / 2)
        s->think_s = ((double)a->users - r->unfinished) / r->arrived_s;
    if (!kvf_present(r->e2e_s)) return;
    s->e2e_s = r->e2e_s;
    if (over || r->piled) return;
    s->least_e2e_s = fmin(s->least_e2e_s, r->e2e_s);
    s->calm = r->unfinished / (double)a->users;
}

/* Whether all who asked before the users were made few are answered; true when that is decided. */
static bool drained(struct autoscaler *a, const struct stage_signals *in, struct snapshot_decision *out) {
    a->drained_s += in->length_s;
    bool earlier = in->oldest_ms / 1e3 > a->drained_s || crowded(a, a->config.min_users);
    if (earlier && a->drained_s < a->drain_plan.wait_s) return false;
    decision_begin(a, a->users, out);
    a->draining = false;
    stage_of(a, a->drain_to, &a->drain_plan);
    out->users_after = a->users;
    seek_act(out, "drained");
    seek_say(out, "after %s %s: now try %s", seek_s(a->drained_s).text,
             earlier ? "requests from before still wait" : "no request from before waits any more",
             seek_users(a->users).text);
    a->decided++;
    return true;
}

static void count_unfinished(struct autoscaler *a, const struct stage_signals *in) {
    a->system.unfinished = 0;
    for (uint32_t k = 0; k < a->config.rules.classes; k++)
        a->system.unfinished += in->klass[k].waiting + in->klass[k].in_service;
}

bool autoscaler_step(struct autoscaler *a, const struct stage_signals *in, struct snapshot_decision *out) {
    if (a->doing == AUTOSCALER_DONE || !(in->length_s > 0)) return false;
    a->elapsed_s += in->length_s;
    count_unfinished(a, in);
    if (a->draining) return drained(a, in, out);
    enum stage_state state = stage_step(&a->stage, &a->config.rules, in);
    if (state != STAGE_WITHIN && state != STAGE_OVER) return false;
    stage_read(&a->stage, &a->config.rules, &a->last);
    a->judged = true;
    a->stages++;
    learn(a, state == STAGE_OVER);
    decision_begin(a, a->users, out);
    if (!seek_of(a)->judged(a, state == STAGE_OVER, out)) return false;
    a->decided++;
    return true;
}

/* How long the rest of the search takes: nobody is waited for any longer, the gap is halved until it is
 * closed, and both ends are confirmed. */
static double left_s(const struct autoscaler *a) {
    enum { UNKNOWN = 10, CONFIRM = 3, HOLDS = 5 };
    uint64_t from, to;
    double stages = UNKNOWN, drain_s = 0;
    if (a->draining) drain_s = fmax(0, a->drain_plan.wait_s - a->drained_s);
    if (seek_of(a)->gap(a, &from, &to)) {
        double wanted = fmax(1, a->config.precision / 2 * (double)to);
        stages = fmax(0, ceil(log2((double)(to - from) / wanted))) + CONFIRM;
    }
    if (a->config.turns > 1) drain_s += HOLDS * seek_hold_s(a, a->users);
    return drain_s + stages * (a->stages ? a->elapsed_s / a->stages : a->config.settle_s + a->config.stage_s);
}

void autoscaler_known(const struct autoscaler *a, char *out, size_t len) {
    seek_of(a)->known(a, out, len);
    size_t used = strlen(out);
    if (a->answer == AUTOSCALER_SEEKING && used < len && a->system.unfinished > 0 &&
        (a->draining || (!a->stage.cleared && a->stage.since_s > 0)))
        (void)snprintf(out + used, len - used,
                       "; requests from before the last change of users are still waited for");
    used = strlen(out);
    if (a->answer == AUTOSCALER_SEEKING && used < len)
        (void)snprintf(out + used, len - used, "; the search needs about %.0f s more",
                       10 * ceil(left_s(a) / 10));
}

double autoscaler_users(const struct autoscaler *a, bool *found) {
    *found = a->answer == AUTOSCALER_FOUND || a->answer == AUTOSCALER_AT_LEAST;
    return seek_of(a)->users(a);
}
