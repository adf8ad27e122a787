/* The largest number of users inside the line.
 *
 *     SEEK     stages: grow while nothing is known to be too many, then halve the gap between the most users
 *              that are good and the fewest that are too many, until half the precision is left
 *     CONFIRM  both ends of the gap are measured, the less certain one next, until neither verdict is chance
 *     WATCH    the answer is held; the number above it is probed, less and less often while it stays too many
 *
 * A level is good or too many by all that was ever seen of it and of its neighbours (evidence.h). An answer
 * that turns out wrong moves, up as well as down. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "engine/scale/seek.h"

#define ROOM       0.9 /* of the line: below it growth takes its whole factor */
#define SMALL_STEP 1.1
#define SURE       1.645 /* standard errors: 95 %, one-sided */
#define MOVES      1.0   /* standard errors beyond the line that move an answer */
#define NARROWLY   4.0   /* standard errors: beyond it by no more than that */
/* Growth is further while the line is far away, .. */
#define FAR    0.4
#define IDLE   0.5 /* .. to users who keep nothing busy for more of the time, .. */
#define NEARLY 0.9 /* of the hold */
enum {
    LEAP_LEAST = 10,
    LEAP_MOST = 16
}; /* .. when so many requests tell it, and no more than times so many */
/* stages, and where few requests tell; times the hold that requests from before it are waited for; windows
 * between probes */
enum { CONFIRM_MOST = 10, CONFIRM_FEW = 100, PARTS = 8, WAIT_MOST = 30, PAUSE_LEAST = 2, PAUSE_MOST = 32 };

/* ---- what is known ---- */

static bool weighs(const struct autoscaler *a, uint32_t klass) {
    for (unsigned i = 0; i < a->levels; i++)
        if (a->level[i].of[klass].weight > 0) return true;
    return false;
}

/* Verdicts of all levels: of each class over all numbers of users together, the worst class counts. */
static void judge_levels(struct autoscaler *a) {
    struct evidence_point p[AUTOSCALER_LEVELS];
    for (unsigned i = 0; i < a->levels; i++) a->level[i].errors = -EVIDENCE_MOST;
    for (uint32_t k = 0; k < STAGE_EVIDENCE; k++) {
        if (!weighs(a, k)) continue;
        for (unsigned i = 0; i < a->levels; i++) {
            const struct evidence *e = &a->level[i].of[k];
            p[i] = (struct evidence_point){e->x, e->weight, evidence_variance(e)};
        }
        evidence_isotonic(p, a->levels);
        double chance = k == STAGE_OF_PILED ? STAGE_CHANCE : 0;
        for (unsigned i = 0; i < a->levels; i++)
            a->level[i].errors = fmax(a->level[i].errors, evidence_point_z(&p[i]) - chance);
    }
    for (unsigned i = 0; i < a->levels; i++) a->level[i].good = !(a->level[i].errors > 0);
}

/* The most that are good and the fewest that are too many; NULL: none. */
static const struct autoscaler_level *best_of(const struct autoscaler *a) {
    const struct autoscaler_level *best = NULL;
    for (unsigned i = 0; i < a->levels && a->level[i].good; i++) best = &a->level[i];
    return best;
}

static const struct autoscaler_level *bad_of(const struct autoscaler *a) {
    for (unsigned i = 0; i < a->levels; i++)
        if (!a->level[i].good) return &a->level[i];
    return NULL;
}

static uint64_t users_of(const struct autoscaler_level *l) {
    return l ? l->users : 0;
}

/* Whether a hold lasts longer than it was asked to: until contexts average out. */
static bool long_hold(const struct autoscaler *a, uint64_t users) {
    return a->config.turns > 1 && seek_hold_s(a, users) > a->config.hold_s;
}

/* To the precision, which is all that a long hold tells. */
static bool closed(const struct autoscaler *a) {
    uint64_t best = users_of(best_of(a)), bad = users_of(bad_of(a));
    if (!bad) return best == a->config.max_users;
    double part = long_hold(a, bad) ? 1 : 0.5;
    return best && (double)(bad - best) <= fmax(1, part * a->config.precision * (double)bad);
}

/* ---- stages ---- */

/* Once the gap is known a stage is a part of the hold: what a moment says leads astray. */
static double try_s(const struct autoscaler *a, uint64_t users) {
    if (!best_of(a) || !bad_of(a) || !long_hold(a, users)) return a->config.stage_s;
    return fmax(a->config.stage_s, seek_hold_s(a, users) / PARTS);
}

/* After a breach nothing but time passes for as long as the cool-down says. */
static void try_users(struct autoscaler *a, struct snapshot_decision *out, uint64_t users, bool cool) {
    struct stage_plan plan = {.settle_s = a->config.settle_s,
                              .length_s = try_s(a, users),
                              .early = users > a->config.min_users,
                              .patient = true};
    if (cool) plan.settle_s = fmax(plan.settle_s, a->config.cooldown_s);
    a->doing = AUTOSCALER_SEEK;
    seek_stage(a, out, users, &plan);
}

/* A number of users that is there already needs no time to settle; but while a queue fills, those are
 * answered who came when it was short, so that what came before is left out of the first hold. */
static void hold_users(struct autoscaler *a, struct snapshot_decision *out, uint64_t users, bool cool) {
    struct stage_plan plan = {.length_s = seek_hold_s(a, users)};
    const struct autoscaler_level *known = seek_known(a, users);
    if (users != a->users)
        plan.settle_s = cool ? fmax(a->config.settle_s, a->config.cooldown_s) : a->config.settle_s;
    else
        plan.before_s = a->stage.plan.before_s + a->stage.since_s;
    if (users == a->users && known && !known->held) plan.wait_s = WAIT_MOST * a->config.hold_s;
    seek_stage(a, out, users, &plan);
}

/* ---- what the stage said ---- */

/* Whether the share is of earlier stages with so many users too. */
static bool of_earlier(const struct stage_reading *r) {
    return r->of > (double)r->ended + 0.5;
}

/* The P95 is of this stage, the share of all stages with so many users. */
static void say_misses(struct snapshot_decision *out, const struct autoscaler *a, const char *name) {
    const struct stage_reading *r = &a->last;
    bool earlier = of_earlier(r);
    seek_say(out, "P95 %s of %.24s; %.1f %% of %s%.0f request%s", seek_ms(r->p95_ms).text, name,
             100 * fmax(0, r->share), earlier ? "all " : "", r->of, r->of == 1 ? "" : "s");
    if (earlier) seek_say(out, " with %s", seek_users(a->users).text);
    seek_say(out, " over %s (at most 5 %%)", seek_ms(r->target_ms).text);
}

/* Of this stage; or of all with so many users, where that is why: in this one it may be none. */
static void say_failed(struct snapshot_decision *out, const struct autoscaler *a, const char *name) {
    const struct stage_reading *r = &a->last;
    if (isinf(r->p95_ms) || !of_earlier(r))
        seek_say(out, "%" PRIu64 " of %" PRIu64 " request%s of %.24s failed", r->failed, r->ended,
                 r->ended == 1 ? "" : "s", name);
    else
        seek_say(out, "%.1f %% of all %.0f requests of %.24s with %s failed (at most 5 %%)", 100 * r->share,
                 r->of, name, seek_users(a->users).text);
}

/* Of all stages with so many users. */
static void say_undone(struct snapshot_decision *out, const struct stage_reading *r) {
    seek_say(out, "work was left undone in %.1f %% of the time (at most 5 %%)", 100 * r->slipped);
}

/* Of all stages with so many users. */
static void say_left(struct snapshot_decision *out, const struct stage_reading *r) {
    seek_say(out, "requests pile up, %.1f %% of those that came were left (at most 5 %%)", 100 * r->left);
}

/* A class without a target, or any by saturation, in more than 5 % of the stretches, of all stages with so
 * many users. */
static void say_overtaken(struct snapshot_decision *out, const struct autoscaler *a) {
    const struct stage_reading *r = &a->last;
    seek_say(out, "%.24s waited too long while others went first in %.1f %% of the time (at most 5 %%)",
             r->behind >= 0 ? a->config.rules.name[r->behind] : "a class", 100 * r->overtaken);
}

/* Nobody of the class was answered; without a target, or by saturation, others were. */
static void say_starved(struct snapshot_decision *out, const struct autoscaler *a, bool by_target) {
    const struct stage_reading *r = &a->last;
    struct seek_text target = seek_ms(r->target_ms);
    seek_say(out, "%.24s has waited %s for an answer (%s%s)", a->config.rules.name[r->worst],
             seek_ms(r->p95_ms).text, by_target ? "target " : "requests of others go first",
             by_target ? target.text : "");
}

static void say_targets(struct snapshot_decision *out, const struct autoscaler *a) {
    const struct stage_reading *r = &a->last;
    const char *name = r->worst >= 0 ? a->config.rules.name[r->worst] : "";
    if (r->silent)
        seek_say(out, "no request was answered in %s", seek_s(r->seconds).text);
    else if (r->slipped > STAGE_SHARE)
        say_undone(out, r);
    else if (!r->starved && r->overtaken > STAGE_SHARE)
        say_overtaken(out, a);
    else if (r->worst < 0)
        seek_say(out, "no request came in %s", seek_s(r->seconds).text);
    else if (r->starved)
        say_starved(out, a, kvf_present(r->target_ms));
    else if (isinf(r->p95_ms) || !kvf_present(r->target_ms))
        say_failed(out, a, name);
    else if (r->left > STAGE_SHARE && !(r->share > STAGE_SHARE))
        say_left(out, r);
    else
        say_misses(out, a, name);
    if (kvf_present(r->saturation)) seek_say(out, ", saturation %.2f", r->saturation);
}

static void say_saturation(struct snapshot_decision *out, const struct autoscaler *a, bool over) {
    const struct stage_reading *r = &a->last;
    double limit = a->config.rules.limit_saturation;
    if (r->slipped > STAGE_SHARE)
        say_undone(out, r);
    else if (r->starved && over)
        say_starved(out, a, false);
    else if (r->overtaken > STAGE_SHARE)
        say_overtaken(out, a);
    else if (over && r->worst >= 0 && r->share > STAGE_SHARE)
        say_failed(out, a, a->config.rules.name[r->worst]);
    else if (r->left > STAGE_SHARE)
        say_left(out, r);
    else if (!kvf_present(r->saturation))
        seek_say(out, "no signal gave a saturation");
    else if (over)
        seek_say(out, "saturation %.2f is over its limit %.2f", r->saturation, limit);
    else if (r->value < ROOM)
        seek_say(out, "saturation %.2f is under %.2f (90 %% of its limit %.2f)", r->saturation, ROOM * limit,
                 limit);
    else
        seek_say(out, "saturation %.2f is inside its limit %.2f by less than 10 %%", r->saturation, limit);
    if (r->worst >= 0 && !isinf(r->p95_ms) && !r->starved) seek_say(out, ", P95 %s", seek_ms(r->p95_ms).text);
}

static void act(struct snapshot_decision *out, const struct autoscaler *a, bool over, const char *action) {
    seek_act(out, action);
    if (a->config.rules.figure == STAGE_SATURATION)
        say_saturation(out, a, over);
    else
        say_targets(out, a);
}

/* ---- decisions ---- */

/* The number of users that the run stays with. */
static bool answer(struct autoscaler *a, struct snapshot_decision *out, bool cool) {
    const struct autoscaler_level *best = best_of(a), *bad = bad_of(a);
    a->answered = users_of(best);
    a->answer = bad ? AUTOSCALER_FOUND : AUTOSCALER_AT_LEAST;
    a->doing = AUTOSCALER_WATCH;
    a->confirming = 0;
    a->pause = PAUSE_LEAST;
    a->paused = 0;
    a->probing = false;
    if (bad)
        seek_say(out, ": the answer is %s, %" PRIu64 " are too many", seek_users(a->answered).text,
                 bad->users);
    else
        seek_say(out, ": the answer is at least %s, the most allowed", seek_users(a->answered).text);
    hold_users(a, out, a->answered, cool);
    return true;
}

/* Whether a number of users from..to is surely good (sign -1) or too many (1). */
static bool sure(const struct autoscaler *a, double from, double to, double sign) {
    for (unsigned i = 0; i < a->levels; i++) {
        double users = (double)a->level[i].users;
        if (users >= from && users <= to && sign * a->level[i].errors >= SURE) return true;
    }
    return false;
}

/* Whether contexts have averaged out. */
static bool averaged(const struct autoscaler *a, const struct autoscaler_level *l) {
    return !long_hold(a, l->users) || l->seconds >= NEARLY * seek_hold_s(a, l->users);
}

/* The end of the gap that has not been held for as long as it takes; NULL: none. */
static const struct autoscaler_level *to_hold(const struct autoscaler *a) {
    const struct autoscaler_level *best = best_of(a), *bad = bad_of(a);
    if (!(a->config.hold_s > 0)) return NULL;
    if (!best->held || !averaged(a, best)) return best;
    return bad && !averaged(a, bad) ? bad : NULL;
}

/* Whether too few requests were seen, of the class that has most, to tell of five percent, though none of
 * them missed: what fewer users are known to keep says nothing of so many. */
#define TELL 100
static bool few_tell(const struct autoscaler *a, const struct autoscaler_level *l) {
    double most = 0;
    for (uint32_t k = 0; k < KVF_CLASSES_MAX; k++) most = fmax(most, l->of[k].weight);
    return a->config.rules.figure != STAGE_SATURATION && most < TELL && a->confirming < CONFIRM_FEW;
}

/* The end of the gap that is to be measured next: the best one while it has not been held, then the one on
 * whose side no number within the precision is certain, the less certain first. NULL: none. */
static const struct autoscaler_level *doubtful(const struct autoscaler *a) {
    const struct autoscaler_level *best = best_of(a), *bad = bad_of(a);
    double users = (double)best->users, precision = a->config.precision;
    bool below = sure(a, users * (1 - precision), users, -1);
    bool above = !bad || sure(a, users, fmax((double)bad->users, users * (1 + precision)), 1);
    if (to_hold(a) || long_hold(a, best->users)) return to_hold(a);
    if (few_tell(a, best)) return best;
    if (below && above) return NULL;
    if (below || above) return below ? bad : best;
    return bad->errors < -best->errors ? bad : best;
}

/* The gap is small enough, or there is nothing above. */
static bool confirm(struct autoscaler *a, struct snapshot_decision *out, bool over) {
    const struct autoscaler_level *next = doubtful(a);
    uint64_t best = users_of(best_of(a)), bad = users_of(bad_of(a));
    if (!next || (a->confirming >= CONFIRM_MOST && !to_hold(a) && !few_tell(a, best_of(a)))) {
        act(out, a, over, "found");
        return answer(a, out, over);
    }
    bool above = next->users == bad;
    a->confirming++;
    act(out, a, over, above ? "probe" : "hold");
    if (bad)
        seek_say(out, ": %" PRIu64 " are good and %" PRIu64 " too many, %s %" PRIu64 " for %s", best, bad,
                 above ? "probe" : "hold", next->users, seek_s(seek_hold_s(a, next->users)).text);
    else
        seek_say(out, ": %s are the most allowed, hold them for %s", seek_users(best).text,
                 seek_s(seek_hold_s(a, best)).text);
    hold_users(a, out, next->users, over);
    a->doing = AUTOSCALER_CONFIRM;
    return true;
}

/* The middle, but no further than growing goes: too many may have been far too many. What was good until it
 * had been held for as long as it takes is too many by little. */
static bool halve(struct autoscaler *a, struct snapshot_decision *out, bool over) {
    uint64_t best = users_of(best_of(a)), bad = users_of(bad_of(a)), middle = best + (bad - best) / 2,
             grown = seek_times(a, best, a->config.growth);
    if (grown < middle) middle = grown;
    if (bad_of(a)->seconds >= seek_hold_s(a, bad) && bad_of(a)->errors < NARROWLY)
        middle = kvf_max(middle, seek_times(a, bad, 1 - a->config.precision));
    act(out, a, over, "bisect");
    seek_say(out, ": try %" PRIu64 ", between %" PRIu64 " (good) and %" PRIu64 " (too many)", middle, best,
             bad);
    try_users(a, out, middle, over);
    return true;
}

/* Users with whom nothing is busy for more than half of the time: of nothing a request needs more than it
 * lasts without a load (the utilisation law). NaN: it is not known, or the line is near. */
static double leap_of(const struct autoscaler *a) {
    const struct stage_reading *r = &a->last;
    double idle = IDLE * a->system.cycle_s / a->system.least_e2e_s, most = LEAP_MOST * (double)a->users;
    if (!(r->value < FAR) || r->arrived_s * r->seconds < LEAP_LEAST || !kvf_present(idle)) return KVF_MISSING;
    return fmin(idle, most);
}

static bool grow(struct autoscaler *a, struct snapshot_decision *out) {
    uint64_t from = users_of(best_of(a));
    bool room = a->last.value < ROOM || from != a->users;
    double factor = room ? a->config.growth : fmin(SMALL_STEP, a->config.growth);
    if (room && a->last.arrived_s * a->last.seconds < STAGE_FEW && a->last.arrived_s > 0) factor *= factor;
    double leap = from == a->users ? leap_of(a) : KVF_MISSING;
    bool far = leap > 2 * factor * (double)from && leap <= (double)a->config.max_users;
    if (far) factor = leap / (double)from;
    uint64_t to = seek_times(a, from, factor);
    act(out, a, false, "grow");
    seek_say(out, ": grow to %s", seek_users(to).text);
    try_users(a, out, to, false);
    return true;
}

static bool too_many(struct autoscaler *a, struct snapshot_decision *out) {
    act(out, a, true, "too many");
    seek_say(out, ": even %s, the fewest allowed, %s too many", seek_users(a->config.min_users).text,
             a->config.min_users == 1 ? "is" : "are");
    a->answer = AUTOSCALER_TOO_MANY;
    hold_users(a, out, a->config.min_users, true);
    a->doing = AUTOSCALER_WATCH;
    return true;
}

/* Nothing is good yet: down by the factor, or to what the throughput of these users can carry if that is
 * less. */
static bool back_off(struct autoscaler *a, struct snapshot_decision *out) {
    uint64_t bad = users_of(bad_of(a)), to = seek_times(a, bad, a->config.backoff);
    double carried = bad == a->users ? seek_estimate(a) : KVF_MISSING;
    bool far = kvf_present(carried) && carried < a->config.backoff * (double)to;
    act(out, a, true, "back off");
    if (far) {
        to = seek_times(a, bad, fmax(carried, 1) / (double)bad);
        seek_say(out, ": back off to %s (%.3g requests/s were done)", seek_users(to).text, a->last.done_s);
    } else {
        seek_say(out, ": back off to %s (x %.3g), cool down %s", seek_users(to).text, a->config.backoff,
                 seek_s(a->config.cooldown_s).text);
    }
    try_users(a, out, to, true);
    return true;
}

/* Where to, by all that is known. */
static bool go_on(struct autoscaler *a, struct snapshot_decision *out, bool over) {
    const struct autoscaler_level *best = best_of(a), *bad = bad_of(a);
    if (closed(a)) return confirm(a, out, over);
    if (!bad) return grow(a, out);
    if (!best && bad->users == a->config.min_users) return too_many(a, out);
    if (!best) return back_off(a, out);
    return halve(a, out, over);
}

/* The answer is another one by now. Where the gap about it is closed it moves at once. */
static bool move(struct autoscaler *a, struct snapshot_decision *out, bool over) {
    uint64_t before = a->answered;
    if (!closed(a)) {
        a->answer = AUTOSCALER_SEEKING;
        return go_on(a, out, over);
    }
    act(out, a, over, "move");
    seek_say(out, ", so that %s %s", seek_users(before).text,
             users_of(best_of(a)) < before ? "did not hold" : "are not the most");
    return answer(a, out, over);
}

static bool watched_too_many(struct autoscaler *a, bool over, struct snapshot_decision *out) {
    if (users_of(best_of(a)) > 0) {
        a->answer = AUTOSCALER_SEEKING;
        return go_on(a, out, over);
    }
    hold_users(a, out, a->config.min_users, false);
    return false;
}

/* The next number above that was tried; NULL: none. */
static const struct autoscaler_level *above_of(const struct autoscaler *a) {
    for (unsigned i = 0; i < a->levels; i++)
        if (a->level[i].users > a->answered) return &a->level[i];
    return NULL;
}

/* The number above is looked at now and then, twice as rarely each time unless the precision hangs on
 * it and it is uncertain. */
static bool probe(struct autoscaler *a, struct snapshot_decision *out, const struct autoscaler_level *above,
                  bool over) {
    bool certain =
        above->errors >= SURE || (double)above->users <= (double)a->answered * (1 + a->config.precision);
    act(out, a, over, "probe");
    seek_say(out, ": probe %" PRIu64 ", which %s too many", above->users, above->good ? "may be" : "were");
    a->pause = !certain ? PAUSE_LEAST : a->pause < PAUSE_MOST ? 2 * a->pause : PAUSE_MOST;
    a->paused = 0;
    a->probing = true;
    hold_users(a, out, above->users, false);
    return true;
}

/* Where the answer may be too many and nothing near below is known, a number there is looked at before. */
static bool probe_below(struct autoscaler *a, struct snapshot_decision *out, bool over) {
    uint64_t to = seek_times(a, a->answered, 1 - a->config.precision);
    for (unsigned i = 0; i < a->levels; i++)
        if (a->level[i].users >= to && a->level[i].users < a->answered) return false;
    if (to >= a->answered) return false;
    act(out, a, over, "probe");
    seek_say(out, ": probe %" PRIu64 ", in case %s do not hold", to, seek_users(a->answered).text);
    a->paused = 0;
    a->probing = true;
    hold_users(a, out, to, false);
    return true;
}

static bool probed(struct autoscaler *a, struct snapshot_decision *out, bool over) {
    act(out, a, over, "return");
    seek_say(out, ": back to %s", seek_users(a->answered).text);
    a->probing = false;
    hold_users(a, out, a->answered, over);
    return true;
}

static bool watched(struct autoscaler *a, bool over, struct snapshot_decision *out) {
    const struct autoscaler_level *now = seek_known(a, a->answered), *best = best_of(a), *above = above_of(a);
    if (!now || now->errors > MOVES) return move(a, out, over);
    if (users_of(best) > a->answered && best->errors < -MOVES) return move(a, out, over);
    bool changed = a->probing && above && above->users == a->users && above->against > 0;
    if (changed) hold_users(a, out, a->users, false);
    if (a->probing) return !changed && probed(a, out, over);
    a->paused++;
    if (now->errors > 0 && a->paused >= PAUSE_LEAST && probe_below(a, out, over)) return true;
    if (above && a->paused >= a->pause) return probe(a, out, above, over);
    hold_users(a, out, a->answered, false);
    return false;
}

static void qos_begin(struct autoscaler *a) {
    try_users(a, NULL, a->users, false);
}

static bool qos_judged(struct autoscaler *a, bool over, struct snapshot_decision *out) {
    (void)seek_take(a);
    judge_levels(a);
    if (!over && a->last.tokens_s > a->peak) {
        a->peak = a->last.tokens_s;
        a->peak_users = a->users;
    }
    if (a->doing != AUTOSCALER_WATCH) return go_on(a, out, over);
    if (a->answer == AUTOSCALER_TOO_MANY) return watched_too_many(a, over, out);
    return watched(a, over, out);
}

static bool qos_gap(const struct autoscaler *a, uint64_t *from, uint64_t *to) {
    *from = users_of(best_of(a));
    *to = users_of(bad_of(a));
    return *from && *to;
}

static double qos_users(const struct autoscaler *a) {
    uint64_t best = users_of(best_of(a));
    if (a->answer == AUTOSCALER_FOUND || a->answer == AUTOSCALER_AT_LEAST) return (double)a->answered;
    return best ? (double)best : KVF_MISSING;
}

/* Of an end of the gap that was not held for as long as it takes. */
static void known_short(const struct autoscaler *a, char *out, size_t len) {
    uint64_t bad = users_of(bad_of(a));
    const struct autoscaler_level *best = best_of(a);
    int used = snprintf(out, len, "no answer yet: %s are good so far", seek_users(best->users).text);
    if (bad && used > 0 && (size_t)used < len)
        used += snprintf(out + used, len - (size_t)used, ", %" PRIu64 " too many", bad);
    if (used > 0 && (size_t)used < len)
        snprintf(out + used, len - (size_t)used, ", in %s of the %s in which their contexts average out",
                 seek_s(round(best->seconds)).text, seek_s(round(seek_hold_s(a, best->users))).text);
}

static void qos_known(const struct autoscaler *a, char *out, size_t len) {
    uint64_t best = users_of(best_of(a)), bad = users_of(bad_of(a));
    if (a->answer == AUTOSCALER_FOUND)
        snprintf(out, len, "%s found, %" PRIu64 " are too many", seek_users(a->answered).text, bad);
    else if (a->answer == AUTOSCALER_AT_LEAST)
        snprintf(out, len, "at least %s, the most allowed", seek_users(a->answered).text);
    else if (a->answer == AUTOSCALER_TOO_MANY)
        snprintf(out, len, "even %s, the fewest allowed, %s too many", seek_users(a->config.min_users).text,
                 a->config.min_users == 1 ? "is" : "are");
    else if (best && !averaged(a, best_of(a)))
        known_short(a, out, len);
    else if (best && bad)
        snprintf(out, len, "no answer yet: %s are good, %" PRIu64 " too many", seek_users(best).text, bad);
    else if (best)
        snprintf(out, len, "no answer yet: at least %s are good", seek_users(best).text);
    else if (bad)
        snprintf(out, len, "no answer yet: %s are too many", seek_users(bad).text);
    else
        snprintf(out, len, "no answer yet: no stage has ended");
}

const struct seek seek_qos = {
    .begin = qos_begin, .judged = qos_judged, .known = qos_known, .gap = qos_gap, .users = qos_users};
