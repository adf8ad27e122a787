/* The largest number of users inside the line.
 *
 *     SEEK     stages: grow while nothing is known to be too many, then halve the gap between the most users
 *              that are good and the fewest that are too many, until half the precision is left
 *     CONFIRM  the most that are good have to hold for `hold`; else what is near them counts no longer
 *     WATCH    the answer is looked at in windows of `hold`, two bad ones in a row withdraw it
 *
 * level[] holds the numbers of users that are good, all of them below `bad`. */
#include <math.h>
#include <stdio.h>

#include "engine/seek.h"

#define ROOM       0.9 /* of the line: below it growth takes its whole factor */
#define SMALL_STEP 1.1
#define HELD_LEAST 2 /* windows in a row that are bad */

static uint64_t best_of(const struct autoscaler *a) {
    return a->levels ? a->level[a->levels - 1].users : 0;
}

static void forget_from(struct autoscaler *a, double users) {
    while (a->levels && (double)a->level[a->levels - 1].users >= users) a->levels--;
}

static bool closed(const struct autoscaler *a) {
    return (double)(a->bad - best_of(a)) <= fmax(1, a->config.precision / 2 * (double)a->bad);
}

/* After a breach nothing but time passes for as long as the cool-down says. */
static void try_users(struct autoscaler *a, struct snapshot_decision *out, uint64_t users, bool cool) {
    struct stage_plan plan = {.settle_s = a->config.settle_s,
                              .length_s = a->config.stage_s,
                              .line = 1,
                              .early = users > a->config.min_users,
                              .patient = true};
    if (cool) plan.settle_s = fmax(plan.settle_s, a->config.cooldown_s);
    a->doing = AUTOSCALER_SEEK;
    seek_stage(a, out, users, &plan);
}

/* What is held already needs no time to settle. */
static void hold_users(struct autoscaler *a, struct snapshot_decision *out, uint64_t users, bool cool) {
    struct stage_plan plan = {.length_s = a->config.hold_s > 0 ? a->config.hold_s : a->config.stage_s,
                              .line = 1,
                              .early = users > a->config.min_users};
    if (users != a->users)
        plan.settle_s = cool ? fmax(a->config.settle_s, a->config.cooldown_s) : a->config.settle_s;
    seek_stage(a, out, users, &plan);
}

/* ---- what the stage said ---- */

/* Few answers make a breach together that no interval shows. */
static struct seek_text breaches_of(const struct stage_reading *r) {
    struct seek_text t = {" in the stage as a whole"};
    if (r->breaches > 0) snprintf(t.text, sizeof t.text, " in %u of %u intervals", r->breaches, r->intervals);
    return t;
}

static void say_targets(struct snapshot_decision *out, const struct autoscaler *a, bool over) {
    const struct stage_reading *r = &a->last;
    const char *name = r->worst >= 0 ? a->config.rules.name[r->worst] : "";
    struct seek_text target = seek_ms(r->target_ms);
    if (r->silent)
        seek_say(out, "nobody was answered in %s", seek_s(r->seconds).text);
    else if (r->worst < 0)
        seek_say(out, "nobody asked in %s", seek_s(r->seconds).text);
    else if (r->starved)
        seek_say(out, "%.24s has waited %s for an answer (target %s)", name, seek_ms(r->p95_ms).text,
                 target.text);
    else if (isinf(r->p95_ms))
        seek_say(out, "%llu of %llu requests of %.24s failed", (unsigned long long)r->failed,
                 (unsigned long long)r->ended, name);
    else if (over)
        seek_say(out, "P95 %s of %.24s is over its %s target%s", seek_ms(r->p95_ms).text, name, target.text,
                 breaches_of(r).text);
    else if (r->value < ROOM)
        seek_say(out, "P95 %s of %.24s is under %s (90 %% of its %s target)", seek_ms(r->p95_ms).text, name,
                 seek_ms(ROOM * r->target_ms).text, target.text);
    else
        seek_say(out, "P95 %s of %.24s is inside its %s target by less than 10 %%", seek_ms(r->p95_ms).text,
                 name, target.text);
    if (kvf_present(r->saturation)) seek_say(out, ", saturation %.2f", r->saturation);
}

static void say_saturation(struct snapshot_decision *out, const struct autoscaler *a, bool over) {
    const struct stage_reading *r = &a->last;
    double limit = a->config.rules.limit_saturation;
    if (!kvf_present(r->saturation))
        seek_say(out, "nothing told a saturation");
    else if (over)
        seek_say(out, "saturation %.2f is over its limit %.2f%s", r->saturation, limit, breaches_of(r).text);
    else if (r->value < ROOM)
        seek_say(out, "saturation %.2f is under %.2f (90 %% of its limit %.2f)", r->saturation, ROOM * limit,
                 limit);
    else
        seek_say(out, "saturation %.2f is inside its limit %.2f by less than 10 %%", r->saturation, limit);
    if (r->worst >= 0 && !isinf(r->p95_ms)) seek_say(out, ", P95 %s", seek_ms(r->p95_ms).text);
}

static void act(struct snapshot_decision *out, const struct autoscaler *a, bool over, const char *action) {
    seek_act(out, action);
    if (a->config.rules.figure == STAGE_SATURATION)
        say_saturation(out, a, over);
    else
        say_targets(out, a, over);
}

/* ---- decisions ---- */

static bool answer(struct autoscaler *a, struct snapshot_decision *out, bool cool) {
    uint64_t best = best_of(a);
    hold_users(a, out, best, cool);
    a->doing = AUTOSCALER_WATCH;
    a->turned_bad = 0;
    a->answer = a->bad ? AUTOSCALER_FOUND : AUTOSCALER_AT_LEAST;
    if (a->bad)
        seek_say(out, ": the answer is %s, %llu are too many", seek_users(best).text,
                 (unsigned long long)a->bad);
    else
        seek_say(out, ": the answer is at least %s, the most allowed", seek_users(best).text);
    return true;
}

/* The gap is small enough, or there is nothing above. */
static bool confirm(struct autoscaler *a, struct snapshot_decision *out, bool over) {
    uint64_t best = best_of(a);
    act(out, a, over, a->config.hold_s > 0 ? "hold" : "found");
    if (!(a->config.hold_s > 0)) return answer(a, out, over);
    hold_users(a, out, best, over);
    a->doing = AUTOSCALER_CONFIRM;
    if (a->bad)
        seek_say(out, ": %llu are good and %llu too many, hold %llu for %s", (unsigned long long)best,
                 (unsigned long long)a->bad, (unsigned long long)best, seek_s(a->config.hold_s).text);
    else
        seek_say(out, ": %s are the most allowed, hold them for %s", seek_users(best).text,
                 seek_s(a->config.hold_s).text);
    return true;
}

static bool halve(struct autoscaler *a, struct snapshot_decision *out, bool over) {
    uint64_t best = best_of(a), middle = best + (a->bad - best) / 2;
    act(out, a, over, "bisect");
    seek_say(out, ": try %llu, between %llu (good) and %llu (too many)", (unsigned long long)middle,
             (unsigned long long)best, (unsigned long long)a->bad);
    try_users(a, out, middle, over);
    return true;
}

static bool grow(struct autoscaler *a, struct snapshot_decision *out) {
    double factor = a->last.value >= ROOM ? fmin(SMALL_STEP, a->config.growth) : a->config.growth;
    uint64_t to = seek_times(a, a->users, factor);
    act(out, a, false, "grow");
    seek_say(out, ": grow to %s", seek_users(to).text);
    try_users(a, out, to, false);
    return true;
}

static bool kept(struct autoscaler *a, struct snapshot_decision *out) {
    struct autoscaler_level level = {.users = a->users};
    if (a->bad && a->bad <= a->users) a->bad = 0; /* it is not any more */
    seek_keep(a, &level);
    if (!a->bad && a->users < a->config.max_users) return grow(a, out);
    if (!a->bad || closed(a)) return confirm(a, out, false);
    return halve(a, out, false);
}

static bool too_many(struct autoscaler *a, struct snapshot_decision *out) {
    act(out, a, true, "too many");
    seek_say(out, ": even %s, the fewest allowed, %s too many", seek_users(a->users).text,
             a->users == 1 ? "is" : "are");
    a->answer = AUTOSCALER_TOO_MANY;
    hold_users(a, out, a->users, true);
    a->doing = AUTOSCALER_WATCH;
    return true;
}

static bool breached(struct autoscaler *a, struct snapshot_decision *out) {
    a->bad = a->users;
    forget_from(a, (double)a->users);
    if (a->users == a->config.min_users) return too_many(a, out);
    uint64_t best = best_of(a), to = seek_times(a, a->users, a->config.backoff);
    if (best && closed(a)) return confirm(a, out, true);
    if (best && to <= best) return halve(a, out, true);
    act(out, a, true, "back off");
    seek_say(out, ": back off to %s (x %.3g), cool down %s", seek_users(to).text, a->config.backoff,
             seek_s(a->config.cooldown_s).text);
    try_users(a, out, to, true);
    return true;
}

/* The answer did not hold: one precision below it the search goes on, and what is nearer is forgotten. */
static bool widen(struct autoscaler *a, struct snapshot_decision *out, const char *action) {
    a->bad = a->users;
    a->answer = AUTOSCALER_SEEKING;
    if (a->users == a->config.min_users) return too_many(a, out);
    uint64_t to = seek_times(a, a->users, 1 - a->config.precision);
    forget_from(a, (double)to);
    act(out, a, true, action);
    seek_say(out, ": %s did not hold, try %llu (%.3g %% less)", seek_users(a->bad).text,
             (unsigned long long)to, 100 * a->config.precision);
    try_users(a, out, to, true);
    return true;
}

static bool watched(struct autoscaler *a, bool over, struct snapshot_decision *out) {
    if (a->answer == AUTOSCALER_TOO_MANY) {
        if (!over) {
            a->answer = AUTOSCALER_SEEKING;
            return kept(a, out);
        }
    } else {
        a->turned_bad = over ? a->turned_bad + 1 : 0;
        if (a->turned_bad >= HELD_LEAST) return widen(a, out, "withdraw");
    }
    hold_users(a, out, a->users, false);
    return false;
}

static void qos_begin(struct autoscaler *a) {
    try_users(a, NULL, a->users, false);
}

static bool qos_judged(struct autoscaler *a, bool over, struct snapshot_decision *out) {
    if (!over && a->last.tokens_s > a->peak) {
        a->peak = a->last.tokens_s;
        a->peak_users = a->users;
    }
    switch (a->doing) {
    case AUTOSCALER_CONFIRM:
        if (over) return widen(a, out, "widen");
        act(out, a, false, "found");
        return answer(a, out, false);
    case AUTOSCALER_WATCH:
        return watched(a, over, out);
    default:
        return over ? breached(a, out) : kept(a, out);
    }
}

static double qos_users(const struct autoscaler *a) {
    return a->levels ? (double)best_of(a) : KVF_MISSING;
}

static void qos_known(const struct autoscaler *a, char *out, size_t len) {
    uint64_t best = best_of(a);
    if (a->answer == AUTOSCALER_FOUND)
        snprintf(out, len, "%s found, %llu are too many", seek_users(best).text, (unsigned long long)a->bad);
    else if (a->answer == AUTOSCALER_AT_LEAST)
        snprintf(out, len, "at least %s, the most allowed", seek_users(best).text);
    else if (a->answer == AUTOSCALER_TOO_MANY)
        snprintf(out, len, "even %s, the fewest allowed, %s too many", seek_users(a->users).text,
                 a->users == 1 ? "is" : "are");
    else if (best && a->bad)
        snprintf(out, len, "no answer yet: %s are good, %llu too many", seek_users(best).text,
                 (unsigned long long)a->bad);
    else if (best)
        snprintf(out, len, "no answer yet: at least %s are good", seek_users(best).text);
    else if (a->bad)
        snprintf(out, len, "no answer yet: %s are too many", seek_users(a->bad).text);
    else
        snprintf(out, len, "no answer yet: no stage has ended");
}

const struct seek seek_qos = {
    .begin = qos_begin, .judged = qos_judged, .known = qos_known, .users = qos_users};
