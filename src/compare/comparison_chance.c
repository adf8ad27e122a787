#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/comparison_parts.h"
#include "metrics/resample.h"
#include "metrics/statistics.h"
#include "record/judge/judge.h"
#include "record/standing.h"

/* How far chance lets counts of work left undone differ. It comes in bursts, so that the root of a count is
 * too small a bound: what its intervals or its trials scatter by is taken. */

/* ---- counts in intervals ---- */

/* Column of an interval behind a kind. Of requests left it is that of the others, which were done. */
static const struct {
    const char *metric, *column;
} counted[] = {{"refused", "refused"},          {"requests_failed", "failed"},
               {"requests_dropped", "dropped"}, {"requests_left", "done"},
               {"operation_errors", "errors"},  {"fell_through", "fell_through"},
               {"not_admitted", "not_admitted"}};

static const struct snapshot_field *column_of(const char *name) {
    size_t f = 0;
    while (strcmp(snapshot_interval_fields[f].name, name) != 0) f++;
    return &snapshot_interval_fields[f];
}

/* Sums of an interval series, with what they are counted in: requests that ended, or where none did, or for
 * requests themselves, seconds. */
struct sums {
    double *count, *of;
    size_t n;
    double total;
};

static double count_at(const struct snapshot_interval *v, const struct snapshot_field *field) {
    return field ? snapshot_value(v, field) : (double)(v->lookups - v->hits);
}

/* NULL for the column: lookups that miss. */
static struct sums sums_of(const struct series *s, const char *column) {
    const struct snapshot_field *field = column ? column_of(column) : NULL;
    bool of_time = column && strcmp(column, "done") == 0;
    struct sums out = {.count = mem_alloc((s->count + 1) * sizeof *out.count),
                       .of = mem_alloc((s->count + 1) * sizeof *out.of)};
    double ended = 0;
    for (size_t i = 0; i < s->count; i++)
        if (s->interval[i].phase == KVF_PHASE_MEASURED)
            ended += (double)(s->interval[i].done + s->interval[i].failed);
    for (size_t i = 0; i < s->count; i++) {
        const struct snapshot_interval *v = &s->interval[i];
        if (v->phase != KVF_PHASE_MEASURED) continue;
        out.total += out.count[out.n] = count_at(v, field);
        out.of[out.n++] = of_time || !(ended > 0) ? v->length_s : (double)(v->done + v->failed);
    }
    return out;
}

/* The standard error of a column's sum, relative to it, and its dispersion; missing where there is none. */
struct scattered {
    double error, dispersion;
    uint64_t freedom;
};

static struct scattered scattered_by(const struct comparison_input *i, const char *column) {
    struct scattered out = {KVF_MISSING, KVF_MISSING, 0};
    if (comparison_intervals(i) < COMPARISON_INTERVALS_LEAST) return out;
    struct sums s = sums_of(i->series, column);
    if (s.total > 0) {
        double error = resample_count_error(s.count, s.of, s.n, &out.freedom);
        out.error = error / s.total;
        out.dispersion = error * error / s.total;
    }
    free(s.count);
    free(s.of);
    return out;
}

/* ---- a side ---- */

/* The most bunched of those that were counted tells of the kinds that were not. */
static void take_bunched(struct comparison_side *side, const struct scattered *v) {
    if (!(v->dispersion > fmax(side->bunched, 0))) return;
    side->bunched = v->dispersion;
    side->bunched_freedom = v->freedom;
}

static void of_intervals(const struct comparison_input *i, struct comparison_side *side) {
    struct scattered misses = scattered_by(i, NULL);
    take_bunched(side, &misses);
    for (size_t k = 0; k < sizeof counted / sizeof *counted; k++) {
        struct scattered own = scattered_by(i, counted[k].column);
        struct comparison_lost *lost = &side->lost[comparison_lost_find(counted[k].metric)];
        bool rest = strcmp(counted[k].metric, "requests_left") == 0;
        lost->error = own.error * result_value(&i->run->results, rest ? "requests_done" : counted[k].metric);
        lost->freedom = own.freedom;
        take_bunched(side, &own);
        if (rest) side->serving = own.dispersion;
    }
}

static double trial_value(const struct trial_metric *m, size_t i) {
    return m && kvf_present(m->value[i]) ? m->value[i] : 0;
}

/* Requests of a trial that ended; 0: not known. */
static double trial_ended(const struct trials *t, size_t i) {
    const struct trial_metric *done = trials_metric(t, "requests_done"),
                              *failed = trials_metric(t, "requests_failed");
    size_t n = trials_complete(t);
    if (!done || done->count != n || (failed && failed->count != n)) return 0;
    return trial_value(done, i) + trial_value(failed, i);
}

static bool of_ended(const char *metric) {
    return standing_base(metric) == STANDING_OF_REQUESTS && strcmp(metric, "requests_left") != 0 &&
           strcmp(metric, "requests_dropped") != 0;
}

/* Counts of all trials; where they are held against the requests that ended, of as many as the mean. */
static void counts_of(const struct trials *t, const char *metric, const struct trial_metric *m, double *out) {
    size_t n = trials_complete(t);
    double all = 0;
    for (size_t k = 0; k < n; k++) all += trial_ended(t, k);
    for (size_t k = 0; k < n; k++) {
        double ended = trial_ended(t, k), of = of_ended(metric) ? ended : 0;
        out[k] = trial_value(m, k) * (of > 0 ? all / (double)n / of : 1);
    }
}

static void of_trials(const struct comparison_input *input, struct comparison_side *side) {
    size_t n = trials_complete(input->trials);
    double *value = mem_zalloc(n + 1, sizeof *value);
    for (size_t i = 0; n >= COMPARISON_TRIALS_LEAST && i < COMPARISON_LOST; i++) {
        const struct trial_metric *m = trials_metric(input->trials, comparison_lost_metric(i));
        struct statistics s;
        if (!m || m->count != n) continue;
        counts_of(input->trials, comparison_lost_metric(i), m, value);
        statistics_of(value, n, &s);
        side->lost[i].error = s.sd / sqrt((double)n);
        side->lost[i].freedom = n - 1;
    }
    free(value);
}

static void of_scenario(const struct run_record *r, struct comparison_side *side) {
    json_t *root = r->effective_json ? json_loads(r->effective_json, 0, NULL) : NULL;
    const json_t *load = json_object_get(root, "workload");
    const char *process = json_string_value(json_object_get(json_object_get(load, "arrival"), "process"));
    side->users = json_number_value(json_object_get(load, "users"));
    side->replay = process && strcmp(process, "trace") == 0;
    side->at_rate = process && (strcmp(process, "poisson") == 0 || strcmp(process, "gamma") == 0);
    json_decref(root);
}

void comparison_chance(const struct comparison_input *input, struct comparison_side *side) {
    side->bunched = side->serving = KVF_MISSING;
    of_scenario(input->run, side);
    for (size_t i = 0; i < COMPARISON_LOST; i++) side->lost[i].error = KVF_MISSING;
    if (comparison_group(input))
        of_trials(input, side);
    else
        of_intervals(input, side);
}

/* ---- two sides ---- */

static bool has_seed(const struct trials *t, uint64_t seed) {
    for (size_t i = 0; i < trials_complete(t); i++)
        if (trials_seed(t, i) == seed) return true;
    return false;
}

static bool same_seeds(const struct trials *a, const struct trials *b) {
    bool same = trials_complete(a) > 0 && trials_complete(a) == trials_complete(b);
    for (size_t i = 0; same && i < trials_complete(a); i++) same = has_seed(b, trials_seed(a, i));
    return same;
}

bool comparison_draws_alike(const struct comparison_input *a, const struct comparison_input *b) {
    bool groups = comparison_group(a);
    if (groups != comparison_group(b)) return false;
    return groups ? same_seeds(a->trials, b->trials) : a->run->seed == b->run->seed;
}

bool comparison_twins(const struct comparison_input *a, const struct comparison_input *b) {
    bool simulated = strcmp(a->run->mode, "simulate") == 0 && strcmp(b->run->mode, "simulate") == 0;
    return simulated && comparison_draws_alike(a, b);
}

/* The same rows in another folder are the same trace. */
static bool asks_otherwise(const struct comparison *c, size_t side) {
    for (size_t i = 0; i < c->differences; i++) {
        const struct comparison_difference *d = &c->difference[i];
        bool asks = strncmp(d->key, "workload.", strlen("workload.")) == 0 || strncmp(d->key, "run.", 4) == 0;
        if (asks && strcmp(d->key, "workload.path") != 0 && !comparison_same(d, side)) return true;
    }
    return false;
}

bool comparison_replay_alike(const struct comparison *c, const struct comparison_input *input, size_t side) {
    const char *rows = input[side].run->trace_sha256;
    return c->side[0].replay && c->side[side].replay && rows[0] &&
           strcmp(rows, input[0].run->trace_sha256) == 0 && !asks_otherwise(c, side);
}

/* Real tiers may take longer in one run: of two that drop some, a few more are no change. */
bool comparison_drops_more(const struct comparison_side *side, double n, const struct comparison_side *than,
                           double n_than) {
    return n > (side->twin || than->twin ? 1 : 1.25) * n_than;
}

struct spread {
    double variance;
    double freedom;
};

/* Documents, and entries lost in outages, come as the scenario says and not by how busy a run was. */
static bool comes_in_bursts(const char *metric) {
    return strncmp(metric, "rag_", 4) != 0 && strncmp(metric, "outage_", 7) != 0;
}

/* Of a count of one trial, or of the mean of all, and of at least events that come one by one. A kind that
 * has no intervals of its own scatters as the most bunched of those of either side that have. */
static struct spread spread_of(const struct comparison_side *s, const struct comparison_side *other, size_t i,
                               double n) {
    const struct comparison_lost *lost = &s->lost[i];
    bool odd = s->trials && 2 * lost->trials < s->complete;
    const struct comparison_lost *trials = &other->lost[i];
    double each = odd || !s->complete ? n : n / (double)s->complete;
    if (s->twin || other->twin) return (struct spread){each, INFINITY};
    /* a run by itself is one draw more of what the trials of a group are draws of */
    double apart = trials->error * trials->error * (double)other->complete;
    if (!s->complete && other->complete >= COMPARISON_TRIALS_LEAST && apart > each)
        return (struct spread){apart, (double)trials->freedom};
    if (kvf_present(lost->error) && !odd && lost->error * lost->error > each)
        return (struct spread){lost->error * lost->error, (double)lost->freedom};
    if ((kvf_present(lost->error) && !odd) || !comes_in_bursts(comparison_lost_metric(i)))
        return (struct spread){each, INFINITY};
    bool known = kvf_present(s->bunched) && !(other->bunched > s->bunched);
    const struct comparison_side *of = known ? s : other;
    if (!kvf_present(of->bunched))
        return (struct spread){each * fmax(s->dispersion, other->dispersion), INFINITY};
    return (struct spread){each * fmax(of->bunched, 1), (double)of->bunched_freedom};
}

/* Welch and Satterthwaite's degrees of freedom. */
static double student(const struct spread *a, const struct spread *b) {
    double sum = a->variance + b->variance;
    double freedom =
        sum * sum / (a->variance * a->variance / a->freedom + b->variance * b->variance / b->freedom);
    return statistics_student_t(comparison_levels[COMPARISON_JUDGED],
                                freedom < 1e4 ? (uint64_t)fmax(freedom, 1) : UINT64_MAX);
}

bool comparison_beyond_chance(const struct comparison_side *side, const char *metric, double n, double part,
                              const struct comparison_side *than, double n_than, double part_than) {
    bool left = strcmp(metric, "requests_left") == 0;
    if (left && comparison_arrive_alike(side, than)) return n - n_than > JUDGE_WAIT_A_MOMENT;
    size_t i = comparison_lost_find(metric);
    struct spread own = spread_of(side, than, i, n), other = spread_of(than, side, i, n_than);
    own.variance *= part * part;
    other.variance *= part_than * part_than;
    double apart = n * part - n_than * part_than;
    return apart > 0 && apart * apart > pow(student(&own, &other), 2) * (own.variance + other.variance);
}

/* Of a load `n` of which the part p is served, what arrives scatters that part by p^2 v / n, and what is
 * served by p v / n: where hardly any is served, many more that arrive are hardly more of all. `v`:
 * dispersions. */
static double waiting_variance(const struct comparison_side *s, double arrive, double serve) {
    double served = 1 - s->unserved;
    return served * (served * arrive + serve) / s->waiting_load;
}

/* A queue that grows is what arrived less what was served, and both scatter. */
bool comparison_waits_beyond_chance(const struct comparison_side *side, const struct comparison_side *than) {
    const struct comparison_side *const both[] = {side, than};
    double variance = 0, single = 0;
    if (comparison_arrive_alike(side, than)) return comparison_waits_more(side, than);
    if (comparison_strands_more(side, than)) return true;
    bool twins = side->twin || than->twin; /* who serve alike what comes in the same bursts */
    for (size_t k = 0; k < 2; k++) {
        double serve = twins ? 1 : kvf_present(both[k]->serving) ? both[k]->serving : 0;
        variance += waiting_variance(both[k], twins ? 0 : both[k]->dispersion, serve);
        single += waiting_variance(both[k], 0, 1);
    }
    double times = statistics_student_t(comparison_levels[COMPARISON_JUDGED], UINT64_MAX);
    double most = fmax(times * sqrt(single), M_SQRT2 * JUDGE_CHANCE_MOST); /* as of one, of two */
    return side->unserved - than->unserved > fmin(times * sqrt(variance), most);
}

/* Each user has an answer, or none. */
bool comparison_unanswered_more(const struct comparison_side *side, const struct comparison_side *than,
                                double part, double part_than) {
    double variance = 0;
    if (side->users > 0 && than->users > 0 && !side->twin && !than->twin)
        variance = part * (1 - part) / side->users + part_than * (1 - part_than) / than->users;
    return part - part_than >
           fmax(COMPARISON_SURVIVORS,
                statistics_student_t(comparison_levels[COMPARISON_JUDGED], UINT64_MAX) * sqrt(variance));
}
