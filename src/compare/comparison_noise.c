#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/comparison_parts.h"
#include "metrics/rank_test.h"
#include "metrics/resample.h"

/* Of some twenty-five metrics that have not changed one lies outside its 95 % interval in nearly every
 * comparison: beyond noise is what lies outside that of 99 %. */
const double comparison_levels[COMPARISON_LEVELS] = {0.95, 0.99};

/* The evidence behind each judgement, reported at the end. */
struct judging {
    const struct comparison_input *input;
    struct comparison *c;
    struct comparison_reach *reach;
    bool used[COMPARISON_BLOCKS + 1];
    bool shares;  /* told changes of percentiles without bounds */
    bool few;     /* trials that ranks alone cannot tell apart */
    bool open;    /* an interval without an end */
    bool leaving; /* a drift that hides a change */
};

static void set_noise(struct comparison_change *c, enum comparison_method method, bool beyond) {
    c->method = method;
    c->noise = beyond ? COMPARISON_BEYOND : COMPARISON_WITHIN;
}

/* ---- trials against trials ---- */

static size_t values_there(const struct trial_metric *m, double *out) {
    size_t n = 0;
    for (size_t i = 0; i < m->count; i++)
        if (!isnan(m->value[i])) out[n++] = m->value[i];
    return n;
}

static bool apart(const struct trial_metric *a, const struct trial_metric *b) {
    double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
    const struct trial_metric *const both[] = {a, b};
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < both[k]->count; i++) {
            if (isnan(both[k]->value[i])) continue;
            low[k] = fmin(low[k], both[k]->value[i]);
            high[k] = fmax(high[k], both[k]->value[i]);
        }
    return high[0] < low[1] || high[1] < low[0];
}

static void bound_medians(const double *a, size_t n, const double *b, size_t m,
                          struct comparison_change *out) {
    double base[COMPARISON_RESAMPLES], side[COMPARISON_RESAMPLES];
    struct rng r;
    bool good = true;
    rng_init(&r, 0, KVF_RNG_RESAMPLE, 0);
    resample_medians(&r, a, n, base, COMPARISON_RESAMPLES);
    resample_medians(&r, b, m, side, COMPARISON_RESAMPLES);
    for (size_t i = 0; i < COMPARISON_RESAMPLES; i++) {
        good = good && base[i] != 0;
        side[i] = (side[i] - base[i]) / fabs(base[i]);
    }
    if (good) resample_bounds(side, COMPARISON_RESAMPLES, &out->low, &out->high);
}

static bool judge_ranks(struct judging *j, size_t side, const char *metric, struct comparison_change *out) {
    const struct trial_metric *a = trials_metric(j->input[0].trials, metric);
    const struct trial_metric *b = trials_metric(j->input[side].trials, metric);
    if (!a || !b) return false;
    double *first = mem_alloc((a->count + 1) * sizeof *first),
           *second = mem_alloc((b->count + 1) * sizeof *second);
    size_t n = values_there(a, first), m = values_there(b, second);
    bool enough = n >= COMPARISON_TRIALS_LEAST && m >= COMPARISON_TRIALS_LEAST;
    if (enough) {
        struct statistics base, other;
        double low, high;
        out->p = rank_test_p(first, n, second, m);
        bool beyond = out->p <= 0.05;
        if (rank_test_least(n, m) > 0.05) {
            trials_statistics(j->input[0].trials, a, &base);
            trials_statistics(j->input[side].trials, b, &other);
            statistics_welch(&base, &other, &low, &high);
            beyond = apart(a, b) && (low > 0 || high < 0);
            j->few = true;
        }
        set_noise(out, COMPARISON_RANKS, beyond);
        bound_medians(first, n, second, m, out);
    }
    free(first);
    free(second);
    return enough;
}

/* ---- trials of the same seeds ---- */

/* Values of the trials of either side that drew from one seed, as many as there are. */
static size_t pair_values(const struct trials *a, const struct trials *b, const char *metric, double *first,
                          double *second) {
    const struct trial_metric *x = trials_metric(a, metric), *y = trials_metric(b, metric);
    size_t pairs = 0;
    for (size_t i = 0; x && y && i < x->count; i++)
        for (size_t k = 0; k < y->count; k++) {
            if (trials_seed(a, i) != trials_seed(b, k) || isnan(x->value[i]) || isnan(y->value[k])) continue;
            first[pairs] = x->value[i];
            second[pairs++] = y->value[k];
            break;
        }
    return pairs;
}

/* Student's t of the changes, each of one seed: what other users would have done is in both values of a pair.
 * Changes that are all one are beyond noise unless they are none. */
static void judge_changes(const double *first, const double *second, size_t n,
                          struct comparison_change *out) {
    double *change = mem_alloc(n * sizeof *change), base = 0;
    struct statistics s;
    for (size_t i = 0; i < n; i++) {
        change[i] = second[i] - first[i];
        base += first[i] / (double)n;
    }
    statistics_of(change, n, &s);
    double error = s.sd / sqrt((double)n), half[COMPARISON_LEVELS];
    for (size_t k = 0; k < COMPARISON_LEVELS; k++)
        half[k] = statistics_student_t(comparison_levels[k], n - 1) * error;
    set_noise(out, COMPARISON_PAIRS, fabs(s.mean) > half[COMPARISON_JUDGED]);
    if (base != 0) {
        out->low = fmax((s.mean - half[COMPARISON_SHOWN]) / fabs(base), -1);
        out->high = (s.mean + half[COMPARISON_SHOWN]) / fabs(base);
    }
    free(change);
}

static bool judge_pairs(struct judging *j, size_t side, const char *metric, struct comparison_change *out) {
    const struct trials *a = j->input[0].trials, *b = j->input[side].trials;
    if (!trials_seeds_differ(a) || !trials_seeds_differ(b)) return false;
    size_t most = trials_complete(a);
    double *first = mem_alloc(most * sizeof *first), *second = mem_alloc(most * sizeof *second);
    size_t pairs = pair_values(a, b, metric, first, second);
    bool enough = pairs >= COMPARISON_TRIALS_LEAST && most == trials_complete(b);
    if (enough) judge_changes(first, second, pairs, out);
    free(first);
    free(second);
    return enough;
}

/* ---- one or two values against trials ---- */

static bool judge_prediction(struct judging *j, size_t side, const char *metric,
                             struct comparison_change *out) {
    struct statistics s[2];
    const size_t sides[2] = {0, side};
    for (size_t k = 0; k < 2; k++) {
        const struct comparison_input *i = &j->input[sides[k]];
        const struct trial_metric *m = comparison_group(i) ? trials_metric(i->trials, metric) : NULL;
        double value = result_value(&i->run->results, metric);
        if (m)
            trials_statistics(i->trials, m, &s[k]);
        else
            statistics_of(&value, 1, &s[k]);
    }
    const struct statistics *many = s[0].n >= s[1].n ? &s[0] : &s[1], *few = many == s ? &s[1] : &s[0];
    if (many->n < COMPARISON_TRIALS_LEAST || few->n == 0 || few->n >= COMPARISON_TRIALS_LEAST) return false;
    double change = s[1].mean - s[0].mean, half[COMPARISON_LEVELS];
    for (size_t k = 0; k < COMPARISON_LEVELS; k++)
        half[k] = statistics_student_t(comparison_levels[k], many->n - 1) * many->sd *
                  sqrt(1 / (double)many->n + 1 / (double)few->n);
    set_noise(out, COMPARISON_PREDICTION, fabs(change) > half[COMPARISON_JUDGED]);
    if (s[0].mean != 0) {
        out->low = fmax((change - half[COMPARISON_SHOWN]) / fabs(s[0].mean), -1);
        out->high = (change + half[COMPARISON_SHOWN]) / fabs(s[0].mean);
    }
    return true;
}

/* ---- run against run ---- */

/* Without an end to the interval any change would be within it, which says nothing. The relative change is
 * exp() of the difference of two logarithms. Runs of as many intervals are pairs,
 * interval by interval; of others each side has its scatter to either side (the method of variance estimates
 * recovery: Zou and Donner, Construction of confidence limits about effect measures, 2008). `grain` is what
 * both may be off besides, inside the buckets of their histograms. */
static void judge_blocks(const struct comparison_scatter *base, const struct comparison_scatter *side,
                         bool twins, double centre, double grain, struct comparison_change *out) {
    double low[COMPARISON_LEVELS], high[COMPARISON_LEVELS], half[COMPARISON_LEVELS];
    bool paired = twins && comparison_scatter_paired(base, side, centre, half);
    for (size_t k = 0; k < COMPARISON_LEVELS; k++) {
        low[k] = centre - grain - (paired ? half[k] : hypot(side->below[k], base->above[k]));
        high[k] = centre + grain + (paired ? half[k] : hypot(side->above[k], base->below[k]));
    }
    bool beyond = low[COMPARISON_JUDGED] > 0 || high[COMPARISON_JUDGED] < 0;
    set_noise(out, COMPARISON_BLOCKS, beyond);
    if (!beyond && !(isfinite(low[COMPARISON_SHOWN]) && isfinite(high[COMPARISON_SHOWN]))) {
        out->noise = COMPARISON_UNKNOWN;
        out->reason = COMPARISON_OPEN;
    }
    out->low = isfinite(low[COMPARISON_SHOWN]) ? expm1(low[COMPARISON_SHOWN]) : KVF_MISSING;
    out->high = isfinite(high[COMPARISON_SHOWN]) ? expm1(high[COMPARISON_SHOWN]) : KVF_MISSING;
}

/* Whether its requests are counted, and users who have had their part leave it one after another. */
static bool leaves(const struct comparison_input *i) {
    return result_value(&i->run->results, "requests_asked") > 0;
}

/* A percentile that drifts, as where users leave one by one, or of few values has no bound, yet the run
 * where it is higher may have hardly a value as low as that of the other: whether the shares of the values up
 * to there differ is a question that has an end. With a bound, the drift is no noise to be within. */
static void judge_shares(struct judging *j, size_t side, const char *metric, bool bounded,
                         struct comparison_change *out) {
    struct comparison_apart apart;
    const struct comparison_input *a = &j->input[0], *b = &j->input[side];
    enum comparison_noise noise = comparison_shares_noise(a, b, metric, &apart);
    if (apart.hidden && out->noise == COMPARISON_WITHIN && (leaves(a) || leaves(b))) {
        out->noise = COMPARISON_UNKNOWN;
        out->reason = COMPARISON_LEAVING;
    }
    if (bounded || noise != COMPARISON_BEYOND || !apart.wholly) return;
    set_noise(out, COMPARISON_BLOCKS, true);
    out->reason = COMPARISON_TOLD;
    j->shares = true;
    if (out->low <= 0 && out->high >= 0) out->low = out->high = KVF_MISSING;
}

/* A percentile that is 0 on one side has no logarithm either, as a wait that most requests do not have. */
static bool judge_zero_share(struct judging *j, size_t side, const char *metric,
                             struct comparison_change *out) {
    struct comparison_apart apart;
    enum comparison_noise noise = comparison_shares_noise(&j->input[0], &j->input[side], metric, &apart);
    if (noise == COMPARISON_UNKNOWN) return false;
    set_noise(out, COMPARISON_BLOCKS, noise == COMPARISON_BEYOND);
    j->shares = true;
    return true;
}

/* Whether a change has no bound towards none. */
static bool unbounded(const struct comparison_scatter *base, const struct comparison_scatter *other,
                      double centre) {
    const struct comparison_scatter *high = centre > 0 ? other : base, *low = centre > 0 ? base : other;
    return !isfinite(high->below[COMPARISON_JUDGED]) || !isfinite(low->above[COMPARISON_JUDGED]);
}

/* Of events one side had none, which has no logarithm. They went, or came, where those of the other side are
 * beyond noise themselves: by their intervals, and too many to have fallen to one side by chance. */
static void judge_none(const struct comparison_scatter *some, struct comparison_change *out) {
    double chance = statistics_student_t(comparison_levels[COMPARISON_JUDGED], UINT64_MAX);
    if (!kvf_present(some->events)) return;
    set_noise(out, COMPARISON_BLOCKS, some->below[COMPARISON_JUDGED] < 1 && some->events > chance * chance);
}

static bool single(const struct comparison_input *i) {
    return !comparison_group(i);
}

/* Simulations of one seed, whose requests come in the same intervals. */
static bool twins(const struct comparison_input *a, const struct comparison_input *b) {
    return strcmp(a->run->mode, "simulate") == 0 && strcmp(b->run->mode, "simulate") == 0 &&
           a->run->seed == b->run->seed;
}

/* Half a bucket of either side, as far as the metric is a percentile. */
static double grain_of(const struct judging *j, size_t side, const char *metric) {
    double base, other;
    comparison_inside(j->input[0].run, metric, &base);
    comparison_inside(j->input[side].run, metric, &other);
    return (base + other) / 2;
}

/* A percentile of fewer values than lie one beyond it is the largest of them. */
static bool has_values(const struct judging *j, size_t side, const char *metric) {
    const struct comparison_percentile *p = comparison_percentile(j->input[side].shares, metric);
    return !p || comparison_percentile_values(p) * (1 - comparison_percentile_share(p)) > 1 - 1e-9;
}

static void judge_singles(struct judging *j, size_t s, const struct comparison_metric *m,
                          const struct comparison_scatter *base, bool known, struct comparison_change *out) {
    const char *metric = m->metric;
    struct comparison_scatter other = {0};
    double before = m->change[0].value, centre = log(out->value / before);
    if (!has_values(j, 0, metric) || !has_values(j, s, metric))
        out->reason = COMPARISON_OPEN;
    else if (known && isfinite(centre) && comparison_scatter(&j->input[s], metric, &other)) {
        judge_blocks(base, &other, twins(&j->input[0], &j->input[s]), centre, grain_of(j, s, metric), out);
        if (out->noise != COMPARISON_BEYOND)
            judge_shares(j, s, metric, !unbounded(base, &other, centre), out);
    } else if (!isfinite(centre) && judge_zero_share(j, s, metric, out))
        ;
    else if (known && out->value == 0)
        judge_none(base, out);
    else if (before == 0 && comparison_scatter(&j->input[s], metric, &other))
        judge_none(&other, out);
    free(other.part);
}

static void judge_metric(struct judging *j, struct comparison_metric *m) {
    struct comparison_scatter base = {0};
    bool known = single(&j->input[0]) && comparison_scatter(&j->input[0], m->metric, &base);
    for (size_t s = 1; s < j->c->sides; s++) {
        struct comparison_change *out = &m->change[s];
        if (out->direction == COMPARISON_MISSING) continue;
        bool both = single(&j->input[0]) && single(&j->input[s]);
        bool groups = !single(&j->input[0]) && !single(&j->input[s]);
        double explained;
        enum comparison_reason reason = comparison_reach_reason(j->reach, s, m, &explained);
        if (reason != COMPARISON_TOLD && !isfinite(explained)) {
            out->reason = reason;
            continue;
        }
        if (groups && (judge_pairs(j, s, m->metric, out) || judge_ranks(j, s, m->metric, out)))
            ;
        else if (!both)
            judge_prediction(j, s, m->metric, out);
        else
            judge_singles(j, s, m, &base, known, out);
        if (reason != COMPARISON_TOLD) comparison_bound(m, s, reason, explained);
        j->used[out->method] = true;
        j->open = j->open || out->reason == COMPARISON_OPEN;
        j->leaving = j->leaving || out->reason == COMPARISON_LEAVING;
    }
    free(base.part);
}

/* ---- what was done ---- */

static void note_methods(const struct judging *j) {
    struct comparison *c = j->c;
    if (j->used[COMPARISON_RANKS])
        comparison_note(
            c,
            "Trials against trials: Mann and Whitney's U, exact and two-sided, at 5 %%; the interval is of the "
            "medians' change, by %d bootstrap resamples with a fixed seed.",
            COMPARISON_RESAMPLES);
    if (j->few)
        comparison_note(
            c,
            "So few trials never reach 5 %% by their ranks: all values of one side have to lie beyond all of "
            "the other's, and Welch's 95 %% interval of the means' difference has to leave out 0.");
    if (j->used[COMPARISON_PAIRS])
        comparison_note(
            c,
            "Trials of the same seeds: Student's t of the change of each seed, beyond noise outside its 99 %% "
            "interval.");
    if (j->used[COMPARISON_PREDICTION])
        comparison_note(
            c, "A run against trials: beyond the 99 %% prediction interval of the trials (Student's t).");
    if (j->used[COMPARISON_BLOCKS])
        comparison_note(
            c,
            "Run against run: beyond noise is a change whose 99 %% interval leaves out 0. It is made of blocks of "
            "neighbouring intervals of the measured part and the width of histogram buckets; it does not know how far a "
            "repetition would be off. Trials do (run.trials).");
    if (j->shares)
        comparison_note(
            c,
            "A percentile of 0 is beyond noise where the shares of both runs' values up to it differ at 99 %%; one "
            "without a bound where, besides, less than a third of the other run's values are as low.");
    if (j->leaving)
        comparison_note(
            c, "Where requests are counted users leave one by one, and a percentile drifts: beyond chance, "
               "but within the drift, whether it changed is not told. A warm-up, or a run by time, tells.");
    if (j->open)
        comparison_note(
            c, "A percentile beyond which too few values lie has an interval without an end: whether it "
               "changed is not told. A longer run tells.");
}

static void note_short(const struct judging *j) {
    for (size_t s = 0; s < j->c->sides; s++) {
        size_t n = comparison_intervals(&j->input[s]);
        if (single(&j->input[s]) && j->input[s].series && n < COMPARISON_INTERVALS_LEAST)
            comparison_note(
                j->c, "The noise of %s is not known: its measured part has %zu interval%s, %d are needed.",
                j->c->side[s].label, n, n == 1 ? "" : "s", COMPARISON_INTERVALS_LEAST);
    }
}

void comparison_judge(const struct comparison_input *input, struct comparison *c) {
    struct judging j = {.input = input, .c = c, .reach = comparison_reach_new(input, c)};
    for (size_t i = 0; i < c->metrics; i++) judge_metric(&j, &c->metric[i]);
    note_methods(&j);
    note_short(&j);
    comparison_reach_free(j.reach);
}
