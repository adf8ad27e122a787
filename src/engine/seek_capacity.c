/* The smallest number of users whose throughput is the best but for the tolerance.
 *
 * Every stage measures a level: users, throughput, its standard error. The best is the mean of all levels
 * that cannot be told from the highest one. A level is as good as the best when it is below it by no more
 * than the tolerance or, if that is more, twice its standard error (which counts up to the precision). The
 * candidate is the level with the fewest users that is as good.
 *
 * Growing: x 2, and x 1.5 from the stage on that brought less than half as much again, until a stage is not
 * better than the highest before it. Then the wider gap beside the candidate is halved (the one below when
 * they are alike), until the one below is half the precision, the one above the precision. Where chance is
 * then not ruled out, the candidate and the level below it are measured again before there is an answer; so
 * is, at once, a highest level that stands alone. */
#include <math.h>
#include <stdio.h>

#include "engine/seek.h"

#define SURE   2.0 /* standard errors: what they cover is no difference */
#define CHANCE 3.0 /* standard errors: nearer to the line than that may be chance */
#define PAYS   1.5 /* times the stage before: doubling goes on */
#define DOUBLE 2.0
#define GENTLY 1.5
enum { VISITS = 3 };

static const struct autoscaler_level *highest_of(const struct autoscaler *a) {
    const struct autoscaler_level *high = NULL;
    for (unsigned i = 0; i < a->levels; i++)
        if (!high || a->level[i].value > high->value) high = &a->level[i];
    return high;
}

/* What does not count as a difference from `best`, of a level with that standard error. */
static double slack(const struct autoscaler *a, double best, double noise) {
    return fmax(a->config.tolerance * best, fmin(noise, a->config.precision * best));
}

/* The mean of those that cannot be told from the highest: the highest alone is there by luck as well. */
static double best_of(const struct autoscaler *a) {
    const struct autoscaler_level *high = highest_of(a);
    double sum = 0, seconds = 0;
    for (unsigned i = 0; i < a->levels; i++) {
        const struct autoscaler_level *l = &a->level[i];
        if (l->value < high->value - slack(a, high->value, CHANCE * hypot(l->noise, high->noise))) continue;
        sum += l->value * l->seconds;
        seconds += l->seconds;
    }
    return seconds > 0 ? sum / seconds : 0;
}

static bool as_good(const struct autoscaler *a, const struct autoscaler_level *l, double best) {
    return l->value >= best - slack(a, best, SURE * l->noise);
}

/* Index of the level with the fewest users that is as good as the best. */
static unsigned candidate_of(const struct autoscaler *a) {
    double best = best_of(a);
    unsigned i = 0;
    while (i + 1 < a->levels && !as_good(a, &a->level[i], best)) i++;
    return i;
}

static void try_users(struct autoscaler *a, struct snapshot_decision *out, uint64_t users) {
    double line = KVF_MISSING;
    if (a->levels && a->growing) line = highest_of(a)->value * (1 + a->config.tolerance);
    if (a->levels && !a->growing) line = best_of(a) * (1 - a->config.tolerance);
    struct stage_plan plan = {.settle_s = users == a->users && a->levels ? 0 : a->config.settle_s,
                              .length_s = a->config.stage_s,
                              .line = line,
                              .fine = a->config.tolerance,
                              .patient = true};
    seek_stage(a, out, users, &plan);
}

/* ---- sentences ---- */

static const char *unit(const struct autoscaler *a) {
    return a->config.rules.figure == STAGE_NVME ? "nvme tok/s" : "tok/s";
}

/* Against the highest so far while it grows, else against the best. */
static void say_level(struct snapshot_decision *out, const struct autoscaler *a,
                      const struct autoscaler_level *l, double than) {
    seek_say(out, "%s %s at %s", seek_count(l->value).text, unit(a), seek_users(l->users).text);
    if (!(than > 0)) return;
    double more = 100 * (l->value / than - 1);
    seek_say(out, ", %.2f %% %s than the best, %s", fabs(more), more < 0 ? "less" : "more",
             seek_count(than).text);
    if (!a->growing && as_good(a, l, than)) seek_say(out, ": as good");
}

static bool found(struct autoscaler *a, struct snapshot_decision *out) {
    const struct autoscaler_level *high = highest_of(a), *l = &a->level[candidate_of(a)];
    a->doing = AUTOSCALER_DONE;
    seek_act(out, "found");
    if (!(high->value > 0)) {
        a->answer = AUTOSCALER_TOO_MANY;
        seek_say(out, "nothing was generated in any of %u stages: raise autoscaler.stage, %s is too short",
                 a->levels, seek_s(a->config.stage_s).text);
        return true;
    }
    bool most = l->users == a->config.max_users;
    a->answer = most ? AUTOSCALER_AT_LEAST : AUTOSCALER_FOUND;
    a->users = out->users_after = l->users;
    seek_say(out, "Peak capacity found: %.0f %s at %s", l->value, unit(a), seek_users(l->users).text);
    if (most) seek_say(out, ", the most allowed: more might carry more");
    if (l > a->level) seek_say(out, "; %.0f at %llu", l[-1].value, (unsigned long long)l[-1].users);
    if (high != l) seek_say(out, "; most were %.0f at %llu", high->value, (unsigned long long)high->users);
    return true;
}

/* ---- decisions ---- */

static void grow(struct autoscaler *a, struct snapshot_decision *out) {
    uint64_t to = seek_times(a, a->users, a->gently ? GENTLY : DOUBLE);
    snprintf(out->action, sizeof out->action, "%s", a->gently ? "grow" : "double");
    seek_say(out, ": %s to %s", a->gently ? "grow x 1.5" : "double", seek_users(to).text);
    try_users(a, out, to);
}

static uint64_t gap_above(const struct autoscaler *a, unsigned i) {
    if (i + 1 == a->levels) return 0;
    uint64_t gap = a->level[i + 1].users - a->level[i].users;
    return (double)gap <= fmax(1, a->config.precision * (double)a->level[i].users) ? 0 : gap;
}

static uint64_t gap_below(const struct autoscaler *a, unsigned i) {
    if (i == 0) return 0;
    uint64_t gap = a->level[i].users - a->level[i - 1].users;
    return (double)gap <= fmax(1, a->config.precision / 2 * (double)a->level[i].users) ? 0 : gap;
}

/* Users that go leave the others no slower: a level below another has at least its share of throughput. */
static bool implausible(const struct autoscaler *a, const struct autoscaler_level *l,
                        const struct autoscaler_level *above) {
    double share = above->value * (double)l->users / (double)above->users;
    return l->value < share - slack(a, share, SURE * l->noise);
}

/* Whether one of the levels of so many users is surely above the line (sign 1) or below it (-1). */
static bool sure(const struct autoscaler *a, double from, double to, double line, double sign) {
    for (unsigned i = 0; i < a->levels; i++) {
        const struct autoscaler_level *l = &a->level[i];
        if ((double)l->users < from || (double)l->users > to) continue;
        if (sign * (l->value - line) >= CHANCE * l->noise) return true;
    }
    return false;
}

/* The level that decides the answer and whose verdict may be chance, NULL. It does not matter where another
 * one within the precision surely says the same. */
static const struct autoscaler_level *doubtful(const struct autoscaler *a, unsigned candidate) {
    const struct autoscaler_level *c = &a->level[candidate], *below = candidate ? c - 1 : NULL;
    double line = best_of(a) * (1 - a->config.tolerance), users = (double)c->users;
    double least = below ? fmin((double)below->users, users * (1 - a->config.precision)) : 0,
           most = users * (1 + a->config.precision);
    if (below && below->visits < VISITS && (implausible(a, below, c) || !sure(a, least, users - 1, line, -1)))
        return below;
    return c->visits < VISITS && !sure(a, users, most, line, 1) ? c : NULL;
}

/* The highest, when it was measured once, stands alone and may be there by luck; NULL. All others are held
 * against it. */
static const struct autoscaler_level *lucky(const struct autoscaler *a) {
    const struct autoscaler_level *high = highest_of(a);
    double near = high->value * (1 - a->config.tolerance);
    if (high->visits > 1 || CHANCE * high->noise <= a->config.tolerance * high->value) return NULL;
    for (unsigned i = 0; i < a->levels; i++)
        if (&a->level[i] != high && a->level[i].value >= near) return NULL;
    return high;
}

static bool go(struct autoscaler *a, struct snapshot_decision *out, const char *action, uint64_t users) {
    snprintf(out->action, sizeof out->action, "%s", action);
    try_users(a, out, users);
    return true;
}

static bool narrow(struct autoscaler *a, struct snapshot_decision *out) {
    unsigned i = candidate_of(a);
    uint64_t users = a->level[i].users, above = gap_above(a, i), below = gap_below(a, i);
    if (!(highest_of(a)->value > 0) || a->levels == AUTOSCALER_LEVELS) return found(a, out);
    const struct autoscaler_level *high = lucky(a);
    if (high) {
        seek_say(out, "; the most may be luck: measure %llu again", (unsigned long long)high->users);
        return go(a, out, "again", high->users);
    }
    if (i == 0 && users > a->config.min_users) {
        uint64_t to = seek_times(a, users, 1 / DOUBLE);
        seek_say(out, "; nothing below %llu was tried: halve to %s", (unsigned long long)users,
                 seek_users(to).text);
        return go(a, out, "halve", to);
    }
    if (above == 0 && below == 0) {
        const struct autoscaler_level *again = doubtful(a, i);
        if (!again) return found(a, out);
        seek_say(out, "; chance is not ruled out: measure %llu again", (unsigned long long)again->users);
        return go(a, out, "again", again->users);
    }
    uint64_t from = below >= above ? a->level[i - 1].users : users, gap = below >= above ? below : above;
    seek_say(out, "; try %llu, between %llu and %llu", (unsigned long long)(from + gap / 2),
             (unsigned long long)from, (unsigned long long)(from + gap));
    return go(a, out, "bisect", from + gap / 2);
}

static void capacity_begin(struct autoscaler *a) {
    a->growing = true;
    try_users(a, NULL, a->users);
}

static void peak_note(struct autoscaler *a) {
    const struct autoscaler_level *l = &a->level[candidate_of(a)];
    a->peak = l->value;
    a->peak_users = l->users;
    a->peak_noise = l->value > 0 ? l->noise / l->value : 0;
}

/* Stages with as many users count together, but for the first one, which was looked at again because it
 * might have been chance. */
static struct autoscaler_level level_of(const struct autoscaler *a) {
    double value = kvf_present(a->last.value) ? a->last.value : 0;
    struct autoscaler_level now = {
        .users = a->users, .value = value, .noise = a->last.noise, .seconds = a->last.seconds, .visits = 1};
    for (unsigned i = 0; i < a->levels; i++) {
        const struct autoscaler_level *l = &a->level[i];
        if (l->users != a->users) continue;
        now.visits += l->visits;
        if (l->visits == 1) continue;
        now.seconds += l->seconds;
        now.value += (l->value - value) * l->seconds / now.seconds;
        now.noise = hypot(l->noise * l->seconds, a->last.noise * a->last.seconds) / now.seconds;
    }
    return now;
}

static bool capacity_judged(struct autoscaler *a, bool over, struct snapshot_decision *out) {
    struct autoscaler_level now = level_of(a);
    double before = a->levels ? highest_of(a)->value : 0, noise = a->levels ? highest_of(a)->noise : 0;
    bool better = now.value > before + slack(a, before, SURE * hypot(now.noise, noise));
    (void)over; /* the line says how long a stage lasts, the levels what follows from it */
    seek_act(out, "");
    seek_keep(a, &now);
    say_level(out, a, &now, a->growing ? before : best_of(a));
    peak_note(a);
    if (a->growing) {
        a->gently = a->gently || (before > 0 && now.value < PAYS * a->grown_from);
        a->grown_from = now.value;
        a->growing = (better || a->levels == 1) && a->users < a->config.max_users;
    }
    if (!a->growing) return narrow(a, out);
    grow(a, out);
    return true;
}

static double capacity_users(const struct autoscaler *a) {
    return a->levels && a->peak > 0 ? (double)a->peak_users : KVF_MISSING;
}

static void capacity_known(const struct autoscaler *a, char *out, size_t len) {
    if (a->answer == AUTOSCALER_TOO_MANY)
        snprintf(out, len, "nothing was generated in any stage");
    else if (!a->levels)
        snprintf(out, len, "no answer yet: no stage has ended");
    else
        snprintf(out, len, "%s%.0f %s at %s",
                 a->answer == AUTOSCALER_SEEKING ? "no answer yet: best so far " : "Peak capacity found: ",
                 a->peak, unit(a), seek_users(a->peak_users).text);
}

const struct seek seek_capacity = {
    .begin = capacity_begin, .judged = capacity_judged, .known = capacity_known, .users = capacity_users};
