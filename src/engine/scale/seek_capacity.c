/* The smallest number of users whose throughput is the best but for the tolerance.
 *
 * A level is users and the throughput of all stages with so many. The best is the mean of the levels that
 * cannot be told from the highest one. The line is the best less the tolerance; a level is good when it
 * reaches the line, by itself and its neighbours (evidence.h: fewer users never bring more, up to the
 * highest). The candidate is the good level with the fewest users.
 *
 * A stretch of time that leaves work undone is worth nothing: less work is done sooner. While all are, half
 * the users follow, down to the fewest.
 *
 * Throughput is corrected for how long conversations happen to be in a stage (throughput.h).
 *
 * Growing: x 2, and x 1.5 from the stage on that brought less than half as much again, until a stage is not
 * better than the highest before it, or requests pile up. A stage with few requests of users who mostly think
 * ends nothing: how many came is chance, and what serves them is idle. While it is idle most of the time, x
 * 4: by Little's law the mean number of requests there bounds how busy it can be. Below a candidate that
 * nothing is below, half the users follow, or as many as the throughput can answer. Then the wider gap beside
 * the candidate is closed: in the middle, or where throughput that grows with the users would reach the line.
 * Where the candidate is the highest level then, and not too many, growth has ended by chance and goes on.
 * In the end the levels beside the line are measured again, the less certain one first, until neither verdict
 * is chance. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/scale/seek.h"

#define SURE     1.645 /* standard errors: 95 %, one-sided */
#define ALIKE    2.0   /* standard errors: what they cover is no difference */
#define BEYOND   1.2   /* times the users of a level: clearly more */
#define PAYS     1.5   /* times the stage before: doubling goes on */
#define DOUBLE   2.0
#define FOURFOLD 4.0
#define IDLE     0.0625 /* requests there, on average */
#define GENTLY   1.5
#define WIDE     1.3 /* ends of a gap so far apart are closed in on along the line through nothing */
#define STEP     1.1
#define STEEP    0.7 /* of the best with the fewest users tried: fewer bring less */
#define CERTAIN  3.0 /* standard errors: many levels are looked at */
enum { CONFIRM_MOST = 8, VISITS = 4, AGAIN = 2, KNOWN_MOST = 60, FLAT = 3 /* levels */ }; /* stages */

static const struct autoscaler_level *highest_of(const struct autoscaler *a) {
    const struct autoscaler_level *high = NULL;
    for (unsigned i = 0; i < a->levels; i++)
        if (!high || a->level[i].value > high->value) high = &a->level[i];
    return high;
}

/* The mean of all levels with so many users or more, from the first to the last that cannot be told from the
 * best so far, and its standard error; false: there are none. */
static bool mean_alike(const struct autoscaler *a, double users, double *best, double *noise) {
    double sum = 0, seconds = 0, squares = 0;
    unsigned first = a->levels, last = 0;
    for (unsigned i = 0; i < a->levels; i++) {
        const struct autoscaler_level *l = &a->level[i];
        double alike = fmin(ALIKE * hypot(l->noise, *noise), a->config.precision * *best);
        if ((double)l->users < users || l->value < *best - alike) continue;
        if (first == a->levels) first = i;
        last = i;
    }
    for (unsigned i = first; i <= last && i < a->levels; i++) {
        const struct autoscaler_level *l = &a->level[i];
        sum += l->value * l->seconds;
        squares += l->noise * l->noise * l->seconds * l->seconds;
        seconds += l->seconds;
    }
    if (!(seconds > 0)) return false;
    *best = sum / seconds;
    *noise = sqrt(squares) / seconds;
    return true;
}

/* It begins with the highest, which is there by luck as well, and takes in the unlucky ones. Those near the
 * first that comes up to it may be on the slope still: they count only where there are none beyond. */
static double best_of(const struct autoscaler *a, double *noise) {
    const struct autoscaler_level *high = highest_of(a);
    double best = high ? high->value : 0;
    *noise = high ? high->noise : 0;
    for (int turn = 0; turn < 4; turn++) (void)mean_alike(a, 0, &best, noise);
    for (unsigned i = 0; i < a->levels; i++) {
        if (a->level[i].value < best * (1 - a->config.tolerance)) continue;
        double beyond = BEYOND * (double)a->level[i].users;
        if (mean_alike(a, beyond, &best, noise)) (void)mean_alike(a, beyond, &best, noise);
        break;
    }
    return best;
}

static double line_of(const struct autoscaler *a) {
    double noise;
    return best_of(a, &noise) * (1 - a->config.tolerance);
}

/* Whether levels reach the line, and how certain that is. Beyond the highest one they are good. */
static void judge_levels(struct autoscaler *a) {
    struct evidence_point p[AUTOSCALER_LEVELS];
    double noise, line = best_of(a, &noise) * (1 - a->config.tolerance);
    unsigned high = (unsigned)(highest_of(a) - a->level);
    for (unsigned i = 0; i <= high; i++) {
        const struct autoscaler_level *l = &a->level[i];
        double errors = l->seconds * hypot(l->noise, noise);
        p[i] = (struct evidence_point){(l->value - line) * l->seconds, l->seconds, errors * errors};
    }
    evidence_isotonic(p, high + 1);
    for (unsigned i = 0; i < a->levels; i++) {
        a->level[i].errors = i <= high ? evidence_point_z(&p[i]) : EVIDENCE_MOST;
        a->level[i].good = !(a->level[i].errors < 0);
    }
}

/* Index of the level with the fewest users that is good. */
static unsigned candidate_of(const struct autoscaler *a) {
    unsigned i = 0;
    while (i + 1 < a->levels && !a->level[i].good) i++;
    return i;
}

/* Users who were added together ask together, and again when they have thought: what surely holds of a level
 * was measured for as long as they think. */
static double wave_s(const struct autoscaler *a) {
    double think_s = a->config.rules.paced ? KVF_MISSING : a->system.think_s;
    if (!(think_s > a->config.stage_s)) return a->config.stage_s;
    return fmin(think_s, STAGE_MOST * a->config.stage_s);
}

/* Of a level that was measured before: each time for longer. */
static double again_s(const struct autoscaler *a, const struct autoscaler_level *l) {
    return fmax(wave_s(a), fmin(l->visits, STAGE_MOST) * a->config.stage_s);
}

static void try_users(struct autoscaler *a, struct snapshot_decision *out, uint64_t users) {
    double line = KVF_MISSING;
    const struct autoscaler_level *again = a->growing ? NULL : seek_known(a, users);
    if (a->levels && a->growing) line = highest_of(a)->value * (1 + a->config.tolerance);
    if (a->levels && !a->growing) line = line_of(a);
    struct stage_plan plan = {.settle_s = users == a->users && a->levels ? 0 : a->config.settle_s,
                              .length_s = again ? again_s(a, again) : a->config.stage_s,
                              .line = line,
                              .rule = a->rule,
                              .fine = a->config.tolerance,
                              .early = users > a->config.min_users,
                              .patient = !again || wave_s(a) <= a->config.stage_s};
    seek_stage(a, out, users, &plan);
}

/* ---- sentences ---- */

static const char *unit(const struct autoscaler *a) {
    return a->config.rules.figure == STAGE_NVME ? "nvme tok/s" : "tok/s";
}

/* Against the highest so far while it grows, else against the best. */
static void say_level(struct snapshot_decision *out, const struct autoscaler *a,
                      const struct autoscaler_level *l, double than) {
    double more = than > 0 ? 100 * (l->value / than - 1) : 0;
    seek_say(out, "%s %s at %s", seek_count(l->value).text, unit(a), seek_users(l->users).text);
    if (than > 0)
        seek_say(out, ", %.2f %% %s than the best, %s", fabs(more), more < 0 ? "less" : "more",
                 seek_count(than).text);
    bool near = l->value >= than * (1 - a->config.tolerance); /* beyond the highest all count as good */
    if (than > 0 && !a->growing && l->good && near && !a->last.undone) seek_say(out, ": as good");
    if (a->last.undone) seek_say(out, "; work is left undone");
    if (a->last.piled) seek_say(out, "; requests pile up");
}

static const char partly[] = ", where time that left work undone counts 0";

static bool found(struct autoscaler *a, struct snapshot_decision *out) {
    const struct autoscaler_level *high = highest_of(a), *l = &a->level[candidate_of(a)];
    bool none = !(high->value > 0);
    a->doing = AUTOSCALER_DONE;
    seek_act(out, !none ? "found" : a->undone ? "too many" : "end");
    if (none) {
        a->answer = AUTOSCALER_TOO_MANY;
        if (a->undone)
            seek_say(out, "work is left undone with %s already", seek_users(l->users).text);
        else
            seek_say(out,
                     "nothing was generated in any of %u stages: raise autoscaler.stage, %s is too short",
                     a->levels, seek_s(a->config.stage_s).text);
        return true;
    }
    bool most = l->users == a->config.max_users;
    a->answer = most ? AUTOSCALER_AT_LEAST : AUTOSCALER_FOUND;
    a->users = out->users_after = l->users;
    seek_say(out, "Peak capacity found: %.0f %s at %s%s", l->value, unit(a), seek_users(l->users).text,
             l->partly ? partly : "");
    if (most) seek_say(out, ", the most allowed: more might carry more");
    if (l->users == a->config.min_users && a->last.piled)
        seek_say(out, ", the fewest allowed, and they ask for more than is answered");
    if (l > a->level) seek_say(out, "; %.0f at %" PRIu64, l[-1].value, l[-1].users);
    if (high != l) seek_say(out, "; most were %.0f at %" PRIu64, high->value, high->users);
    return true;
}

/* ---- decisions ---- */

/* Whether the stage had too few requests to tell, of users who mostly think. */
static bool thinking(const struct autoscaler *a) {
    const struct stage_reading *r = &a->last;
    return r->done_s * r->seconds < STAGE_FEW && r->unfinished < (double)a->users / 2;
}

static bool grow(struct autoscaler *a, struct snapshot_decision *out, uint64_t users) {
    bool idle = a->last.done_s * a->last.e2e_s < IDLE; /* NaN: nothing was done */
    uint64_t to = seek_times(a, users, idle ? FOURFOLD : a->gently ? GENTLY : DOUBLE);
    snprintf(out->action, sizeof out->action, "%s", a->gently || idle ? "grow" : "double");
    seek_say(out, ": %s to %s", idle ? "grow x 4" : a->gently ? "grow x 1.5" : "double", seek_users(to).text);
    try_users(a, out, to);
    return true;
}

/* Whether there is no peak above: enough levels say that it is flat. */
static bool stays_good(const struct autoscaler *a, unsigned i) {
    double line = line_of(a);
    return i + FLAT <= a->levels && a->level[i + 1].value >= line && a->level[i + FLAT - 1].value >= line;
}

static uint64_t gap_above(const struct autoscaler *a, unsigned i) {
    if (i + 1 == a->levels || stays_good(a, i)) return 0;
    uint64_t gap = a->level[i + 1].users - a->level[i].users;
    return (double)gap <= fmax(1, a->config.precision * (double)a->level[i].users) ? 0 : gap;
}

static uint64_t gap_below(const struct autoscaler *a, unsigned i) {
    if (i == 0) return 0;
    uint64_t gap = a->level[i].users - a->level[i - 1].users;
    return (double)gap <= fmax(1, a->config.precision / 2 * (double)a->level[i].users) ? 0 : gap;
}

/* Whether a number of users from..to surely reaches the line (sign 1) or misses it (-1). */
static bool sure(const struct autoscaler *a, double from, double to, double sign) {
    double wave = wave_s(a) - a->config.stage_s / 2;
    for (unsigned i = 0; i < a->levels; i++) {
        double users = (double)a->level[i].users;
        if (users >= from && users <= to && sign * a->level[i].errors >= SURE && a->level[i].seconds >= wave)
            return true;
    }
    return false;
}

/* The level to measure again: of the level below the candidate and the candidate the less certain one,
 * where no number within the precision is certain; the highest where that is known less well than both. NULL:
 * none. */
static const struct autoscaler_level *doubtful(const struct autoscaler *a, unsigned candidate) {
    const struct autoscaler_level *c = &a->level[candidate], *below = candidate ? c - 1 : NULL, *weak = c,
                                  *high = highest_of(a);
    double users = (double)c->users, precision = a->config.precision, noise;
    bool misses = !below || sure(a, fmin((double)below->users, users * (1 - precision)), users, -1);
    bool reaches = sure(a, users, users * (1 + precision), 1) || c == high;
    double best = best_of(a, &noise);
    for (unsigned i = candidate + 1; i < a->levels; i++)
        if ((double)a->level[i].users >= BEYOND * users &&
            a->level[i].value > best - ALIKE * a->level[i].noise)
            high = &a->level[i];
    if (misses && reaches) return NULL;
    if (!misses && (reaches || -below->errors < c->errors)) weak = below;
    return noise > weak->noise ? high : weak;
}

/* All others left work undone: whatever that level is worth, it is not held against them. */
static bool stands_alone(const struct autoscaler *a, const struct autoscaler_level *high) {
    for (unsigned i = 0; i < a->levels; i++)
        if (&a->level[i] != high && !a->level[i].undone) return false;
    return a->levels > 1;
}

/* A level that is not known to the precision and may bring more than the answer by that much, or the
 * candidate itself; the one known least. NULL: none. */
static const struct autoscaler_level *vague_of(const struct autoscaler *a, unsigned candidate) {
    const struct autoscaler_level *c = &a->level[candidate], *vague = NULL;
    double precision = a->config.precision;
    if (stands_alone(a, c)) return NULL;
    for (unsigned i = 0; i < a->levels; i++) {
        const struct autoscaler_level *l = &a->level[i];
        bool more = l == c || l->value + SURE * l->noise > c->value * (1 + precision);
        if (!more || CERTAIN * l->noise <= precision * l->value || l->visits >= KNOWN_MOST || l->partly)
            continue;
        if (!vague || l->noise * vague->value > vague->noise * l->value) vague = l;
    }
    return vague;
}

/* The throughput of a user falls as users are added. Where a candidate's is more than that of the level
 * below, the two are not of one system, as before caches were full: the one that was measured longer ago. */
static struct autoscaler_level *at_odds(struct autoscaler *a, unsigned candidate) {
    struct autoscaler_level *c = &a->level[candidate], *below = candidate ? c - 1 : NULL;
    if (!below || !(below->value > 0)) return NULL;
    double each = c->value / (double)c->users, fewer = below->value / (double)below->users;
    double chance = hypot(c->noise / (double)c->users, below->noise / (double)below->users);
    if (each <= fewer * (1 + a->config.tolerance) + CERTAIN * chance) return NULL;
    return below->latest < c->latest ? below : c;
}

/* Its evidence is of another system. */
static void evidence_drop(struct autoscaler_level *l) {
    memset(l->of, 0, sizeof l->of);
    memset(l->since, 0, sizeof l->since);
    l->against = 0;
}

static bool go(struct autoscaler *a, struct snapshot_decision *out, const char *action, uint64_t users) {
    snprintf(out->action, sizeof out->action, "%s", action);
    try_users(a, out, users);
    return true;
}

/* Whether fewer users than were tried may bring the best: none of them was too few, or no two users are
 * alike, and those who come first ask for less. */
static bool open_below(const struct autoscaler *a, unsigned candidate) {
    if (a->level[0].users == a->config.min_users || !(a->level[0].value > 0 || a->undone)) return false;
    double noise;
    return candidate == 0 || (!a->undone && a->level[0].value > STEEP * best_of(a, &noise));
}

/* Half as many as the fewest that were tried, or as many as their throughput can answer. */
static bool go_below(struct autoscaler *a, struct snapshot_decision *out) {
    uint64_t users = a->level[0].users, to = seek_times(a, users, 1 / DOUBLE);
    double answers = users == a->users ? seek_estimate(a) : KVF_MISSING;
    if (answers < (double)to) to = seek_times(a, users, fmax(answers, 1) / (double)users);
    seek_say(out, "; nothing below %" PRIu64 " was tried: try %s", users, seek_users(to).text);
    return go(a, out, "halve", to);
}

/* Between two levels: the middle; where they are wide apart and the upper one is the candidate, what would
 * reach the line if throughput grew with the users. */
static uint64_t between(const struct autoscaler *a, const struct autoscaler_level *from, uint64_t gap) {
    double users = (double)from->users, to = users + (double)gap, middle = floor(users + (double)gap / 2);
    if (to <= WIDE * users || from->good || !(from->value > 0)) return (uint64_t)middle;
    double reach = fmax(ceil(users * line_of(a) / from->value), ceil(STEP * users));
    return (uint64_t)fmin(reach, middle);
}

/* The level below the candidate, when the search would turn away from all below it by what may be chance. */
static const struct autoscaler_level *unlucky(const struct autoscaler *a, unsigned candidate) {
    const struct autoscaler_level *c = &a->level[candidate], *below = c - 1;
    bool wide = (double)c->users > WIDE * (double)below->users;
    return wide && below->visits < VISITS && -below->errors < CERTAIN ? below : NULL;
}

/* The highest level, while it may be so by luck alone: the others are held against it. */
static const struct autoscaler_level *lucky(const struct autoscaler *a) {
    const struct autoscaler_level *high = highest_of(a);
    bool certain = 2 * SURE * high->noise <= a->config.tolerance * high->value || stands_alone(a, high);
    return !certain && high->visits < AGAIN ? high : NULL;
}

static bool better(const struct autoscaler *a, const struct autoscaler_level *l, double than, double noise) {
    double chance = fmin(ALIKE * hypot(l->noise, noise), a->config.precision * than);
    return l->value > than + fmax(a->config.tolerance * than, chance);
}

/* Whether growth ended by chance: the most users that were tried bring most, more than all that are clearly
 * fewer, and nothing says that they are too many. */
static bool grows_on(const struct autoscaler *a, unsigned candidate) {
    const struct autoscaler_level *c = &a->level[candidate];
    bool fewer = false;
    for (const struct autoscaler_level *l = a->level; l < c && BEYOND * (double)l->users <= (double)c->users;
         l++) {
        if (!better(a, c, l->value, l->noise)) return false;
        fewer = true;
    }
    return fewer && candidate + 1 == a->levels && c->users < a->config.max_users &&
           !(c->piled || c->undone || c->partly);
}

static bool narrow(struct autoscaler *a, struct snapshot_decision *out) {
    unsigned i = candidate_of(a);
    uint64_t users = a->level[i].users, above = gap_above(a, i), below = gap_below(a, i);
    if (!(highest_of(a)->value > 0) && !(a->undone && users > a->config.min_users)) return found(a, out);
    if (open_below(a, i)) return go_below(a, out);
    const struct autoscaler_level *best = lucky(a);
    if (best) {
        seek_say(out, "; %s did best, which may be chance: measure again", seek_users(best->users).text);
        return go(a, out, "again", best->users);
    }
    if (above == 0 && below == 0 && grows_on(a, i)) {
        a->growing = a->gently = true;
        seek_say(out, "; the most users that were tried bring most");
        return grow(a, out, users);
    }
    if (above == 0 && below == 0) {
        struct autoscaler_level *odd = a->confirming < CONFIRM_MOST ? at_odds(a, i) : NULL;
        const struct autoscaler_level *again = a->confirming < CONFIRM_MOST && !odd ? doubtful(a, i) : odd;
        const struct autoscaler_level *vague = again ? NULL : vague_of(a, i);
        if (vague) {
            seek_say(out, "; %" PRIu64 " may bring more than so much: measure again", vague->users);
            return go(a, out, "again", vague->users);
        }
        if (!again) return found(a, out);
        if (odd) evidence_drop(odd);
        a->confirming++;
        seek_say(out, "; %s: measure %" PRIu64 " again",
                 odd ? "each user has more than with fewer users" : "chance is not ruled out", again->users);
        return go(a, out, "again", again->users);
    }
    const struct autoscaler_level *far = i ? unlucky(a, i) : NULL;
    if (far) {
        seek_say(out, "; %s may do as well: measure again", seek_users(far->users).text);
        return go(a, out, "again", far->users);
    }
    const struct autoscaler_level *from = below >= above ? &a->level[i - 1] : &a->level[i];
    uint64_t gap = below >= above ? below : above, to = between(a, from, gap);
    seek_say(out, "; try %" PRIu64 ", between %" PRIu64 " and %" PRIu64, to, from->users,
             (from->users + gap));
    return go(a, out, "bisect", to);
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

static const struct autoscaler_level *take(struct autoscaler *a) {
    const struct autoscaler_level *now = seek_take(a);
    struct throughput t[AUTOSCALER_LEVELS];
    for (unsigned i = 0; i < a->levels; i++) {
        const struct evidence *of = a->level[i].of;
        t[i] = (struct throughput){&of[STAGE_OF_FIGURE], &of[STAGE_OF_LOAD], &of[STAGE_OF_BOTH]};
    }
    throughput_learn(t, a->levels, &a->rule);
    for (unsigned i = 0; i < a->levels; i++) {
        throughput_read(&t[i], &a->rule, &a->level[i].value, &a->level[i].noise);
        a->level[i].seconds = t[i].tokens->weight;
    }
    return now;
}

/* The highest level but the present one; what it brings may be known better by now. */
static void highest_before(const struct autoscaler *a, uint64_t users, double *value, double *noise) {
    const struct autoscaler_level *l = users != a->users ? seek_known(a, users) : NULL;
    if (!l) return;
    *value = l->value;
    *noise = l->noise;
}

static bool capacity_judged(struct autoscaler *a, bool over, struct snapshot_decision *out) {
    const struct autoscaler_level *high = a->levels ? highest_of(a) : NULL;
    double before = high ? high->value : 0, noise = high ? high->noise : 0;
    double best = a->growing ? before : line_of(a) / (1 - a->config.tolerance);
    uint64_t highest = high ? high->users : 0;
    const struct autoscaler_level *now = take(a);
    highest_before(a, highest, &before, &noise);
    if (a->growing) best = before;
    (void)over; /* the levels say what follows */
    judge_levels(a);
    seek_act(out, "");
    a->level[now - a->level].undone = a->last.undone;
    a->level[now - a->level].piled = now->piled || a->last.piled;
    a->level[now - a->level].partly = now->partly || a->stage.undone > 0;
    a->undone = a->undone || a->last.undone;
    say_level(out, a, now, best);
    peak_note(a);
    if (a->growing) {
        bool few = thinking(a), rises = a->levels == 1 || few || better(a, now, before, noise);
        a->gently = a->gently || (!few && before > 0 && now->value < PAYS * a->grown_from);
        a->grown_from = now->value;
        a->growing = rises && !a->last.piled && !a->last.undone && a->users < a->config.max_users;
    }
    return a->growing ? grow(a, out, a->users) : narrow(a, out);
}

static bool capacity_gap(const struct autoscaler *a, uint64_t *from, uint64_t *to) {
    unsigned i = a->levels ? candidate_of(a) : 0;
    if (i == 0) return false;
    *from = a->level[i - 1].users;
    *to = a->level[i].users;
    return true;
}

/* Users with whom throughput reaches the line at the earliest, while no stage has found them: from the level
 * below the candidate on, which is below the line itself, it grows with the users at most (operational
 * analysis: X <= N / (R + Z)). */
static double reached(const struct autoscaler *a) {
    uint64_t from, to;
    if (a->answer != AUTOSCALER_SEEKING || !capacity_gap(a, &from, &to)) return (double)a->peak_users;
    const struct autoscaler_level *below = &a->level[candidate_of(a) - 1];
    if (!(below->value > 0)) return (double)to;
    return fmin(fmax(round((double)from * line_of(a) / below->value), (double)from + 1), (double)to);
}

static double capacity_users(const struct autoscaler *a) {
    return a->levels && a->peak > 0 ? reached(a) : KVF_MISSING;
}

static bool peak_partly(const struct autoscaler *a) {
    const struct autoscaler_level *l = seek_known(a, a->peak_users);
    return l && l->partly;
}

static void capacity_known(const struct autoscaler *a, char *out, size_t len) {
    uint64_t from, to;
    int used = 0;
    if (a->answer == AUTOSCALER_TOO_MANY)
        used = snprintf(out, len, "%s",
                        a->undone ? "every number of users tried left work undone"
                                  : "nothing was generated in any stage");
    else if (!a->levels)
        used = snprintf(out, len, "no answer yet: no stage has ended");
    else
        used = snprintf(out, len, "%s%.0f %s at %s%s",
                        a->answer == AUTOSCALER_SEEKING ? "no answer yet: so far " : "Peak capacity found: ",
                        a->peak, unit(a), seek_users(a->peak_users).text, peak_partly(a) ? partly : "");
    if (a->answer != AUTOSCALER_SEEKING || !a->levels || used <= 0 || (size_t)used >= len) return;
    const struct autoscaler_level *high = highest_of(a), *c = &a->level[candidate_of(a)];
    if (high != c && high->value > a->peak)
        used += snprintf(out + used, len - (size_t)used, "; most were %.0f at %" PRIu64, high->value,
                         high->users);
    if (capacity_gap(a, &from, &to) && c[-1].value < c->value && (size_t)used < len)
        used += snprintf(out + used, len - (size_t)used, "; %.0f at %" PRIu64, c[-1].value, from);
    double about = reached(a);
    if (about < (double)a->peak_users && (size_t)used < len)
        snprintf(out + used, len - (size_t)used, "; by these %.0f users at the least", about);
}

const struct seek seek_capacity = {.begin = capacity_begin,
                                   .judged = capacity_judged,
                                   .known = capacity_known,
                                   .gap = capacity_gap,
                                   .users = capacity_users};
