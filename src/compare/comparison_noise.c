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

/* ---- values of two sides ---- */

struct two { /* each side has room for `most` */
    double *value[2];
    size_t n[2];
};

static struct two two_new(size_t most) {
    return (struct two){{mem_alloc((most + 1) * sizeof(double)), mem_alloc((most + 1) * sizeof(double))},
                        {0, 0}};
}

static void two_free(struct two *v) {
    free(v->value[0]);
    free(v->value[1]);
}

/* The trials that have a value of it; of a run the value. */
static size_t values_of(const struct comparison_input *i, const char *metric, double *out) {
    const struct trial_metric *m = comparison_group(i) ? trials_metric(i->trials, metric) : NULL;
    double value = result_value(&i->run->results, metric);
    size_t n = 0;
    if (!comparison_group(i) && !isnan(value)) out[n++] = value;
    for (size_t k = 0; m && k < m->count; k++)
        if (!isnan(m->value[k])) out[n++] = m->value[k];
    return n;
}

static struct two two_of(const struct comparison_input *a, const struct comparison_input *b,
                         const char *metric) {
    const struct comparison_input *const both[] = {a, b};
    size_t most = 1;
    for (size_t k = 0; k < 2; k++)
        if (comparison_group(both[k]) && both[k]->trials->count > most) most = both[k]->trials->count;
    struct two v = two_new(most);
    for (size_t k = 0; k < 2; k++) v.n[k] = values_of(both[k], metric, v.value[k]);
    return v;
}

/* ---- how far they are from each other ---- */

/* A change with its standard error, of values or of their logarithms. */
struct shift {
    double base, change, error;
    uint64_t freedom;
    bool logs;
};
typedef void shift_fn(const struct two *v, struct shift *out);

static double shift_half(const struct shift *s, int level) {
    return s->error > 0 ? statistics_student_t(comparison_levels[level], s->freedom) * s->error : 0;
}

static bool shift_beyond(const struct shift *s) {
    return fabs(s->change) > shift_half(s, COMPARISON_JUDGED);
}

static bool take_logs(struct two *v) {
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < v->n[k]; i++)
            if (!(v->value[k][i] > 0)) return false;
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < v->n[k]; i++) v->value[k][i] = log(v->value[k][i]);
    return true;
}

/* Growth a hundred times over scatters as much, and a fall to a tenth scatters as before. Takes the values
 * or, where all are above 0, their logarithms: those in which the change stands out more. Leaves logarithms
 * in *v. */
static struct shift shift_of(struct two *v, shift_fn *fn) {
    struct shift plain = {0}, logs = {0};
    fn(v, &plain);
    if (!take_logs(v)) return plain;
    fn(v, &logs);
    logs.logs = true;
    return fabs(logs.change) * plain.error > fabs(plain.change) * logs.error ? logs : plain;
}

/* Of what was before. */
static double shift_relative(const struct shift *s, double change) {
    return s->logs ? expm1(change) : s->base != 0 ? fmax(change / fabs(s->base), -1) : KVF_MISSING;
}

static void shift_tell(const struct shift *s, enum comparison_method method, struct comparison_change *out) {
    double half = shift_half(s, COMPARISON_SHOWN);
    set_noise(out, method, shift_beyond(s));
    out->low = shift_relative(s, s->change - half);
    out->high = shift_relative(s, s->change + half);
}

/* ---- trials against trials ---- */

static bool apart(const struct two *v) {
    double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < v->n[k]; i++) {
            low[k] = fmin(low[k], v->value[k][i]);
            high[k] = fmax(high[k], v->value[k][i]);
        }
    return high[0] < low[1] || high[1] < low[0];
}

static void bound_medians(const struct two *v, struct comparison_change *out) {
    double base[COMPARISON_RESAMPLES], side[COMPARISON_RESAMPLES];
    struct rng r;
    bool good = true;
    rng_init(&r, 0, KVF_RNG_RESAMPLE, 0);
    resample_medians(&r, v->value[0], v->n[0], base, COMPARISON_RESAMPLES);
    resample_medians(&r, v->value[1], v->n[1], side, COMPARISON_RESAMPLES);
    for (size_t i = 0; i < COMPARISON_RESAMPLES; i++) {
        good = good && base[i] != 0;
        side[i] = (side[i] - base[i]) / fabs(base[i]);
    }
    if (good) resample_bounds(side, COMPARISON_RESAMPLES, &out->low, &out->high);
}

static void of_means(const struct two *v, struct shift *out) {
    struct statistics base, side;
    statistics_of(v->value[0], v->n[0], &base);
    statistics_of(v->value[1], v->n[1], &side);
    out->base = base.mean;
    out->change = side.mean - base.mean;
    out->error = statistics_welch(&base, &side, &out->freedom);
}

static bool judge_ranks(struct judging *j, size_t side, const char *metric, struct comparison_change *out) {
    const double chance = 1 - comparison_levels[COMPARISON_JUDGED];
    struct two v = two_of(&j->input[0], &j->input[side], metric);
    bool enough = v.n[0] >= COMPARISON_TRIALS_LEAST && v.n[1] >= COMPARISON_TRIALS_LEAST;
    if (enough) {
        out->p = rank_test_p(v.value[0], v.n[0], v.value[1], v.n[1]);
        bound_medians(&v, out);
        bool beyond = out->p <= chance, few = rank_test_least(v.n[0], v.n[1]) > chance;
        if (few) {
            beyond = apart(&v);
            const struct shift s = shift_of(&v, of_means);
            beyond = beyond && shift_beyond(&s);
        }
        j->few = j->few || few;
        set_noise(out, COMPARISON_RANKS, beyond);
    }
    two_free(&v);
    return enough;
}

/* ---- trials of the same seeds ---- */

/* Values of the trials of either side that drew from one seed, as many as there are. */
static struct two two_of_seeds(const struct trials *a, const struct trials *b, const char *metric) {
    const struct trial_metric *x = trials_metric(a, metric), *y = trials_metric(b, metric);
    struct two v = two_new(trials_complete(a));
    for (size_t i = 0; x && y && i < x->count; i++)
        for (size_t k = 0; k < y->count; k++) {
            if (trials_seed(a, i) != trials_seed(b, k) || isnan(x->value[i]) || isnan(y->value[k])) continue;
            v.value[0][v.n[0]++] = x->value[i];
            v.value[1][v.n[1]++] = y->value[k];
            break;
        }
    return v;
}

/* Both values of a pair have the same users in them. Equal changes are beyond noise unless they are 0. */
static void of_pairs(const struct two *v, struct shift *out) {
    size_t n = v->n[0];
    double *change = mem_alloc((n + 1) * sizeof *change);
    struct statistics base, s;
    for (size_t i = 0; i < n; i++) change[i] = v->value[1][i] - v->value[0][i];
    statistics_of(v->value[0], n, &base);
    statistics_of(change, n, &s);
    *out = (struct shift){base.mean, s.mean, s.sd / sqrt((double)n), n - 1, false};
    free(change);
}

static bool judge_pairs(struct judging *j, size_t side, const char *metric, struct comparison_change *out) {
    const struct trials *a = j->input[0].trials, *b = j->input[side].trials;
    if (!trials_seeds_differ(a) || !trials_seeds_differ(b)) return false;
    struct two v = two_of_seeds(a, b, metric);
    bool enough = v.n[0] >= COMPARISON_TRIALS_LEAST && trials_complete(a) == trials_complete(b);
    if (enough) {
        const struct shift s = shift_of(&v, of_pairs);
        shift_tell(&s, COMPARISON_PAIRS, out);
    }
    two_free(&v);
    return enough;
}

/* ---- one or two values against trials ---- */

static void of_prediction(const struct two *v, struct shift *out) {
    struct statistics s[2];
    for (size_t k = 0; k < 2; k++) statistics_of(v->value[k], v->n[k], &s[k]);
    const struct statistics *many = s[0].n >= s[1].n ? &s[0] : &s[1], *few = many == s ? &s[1] : &s[0];
    double error = many->sd * sqrt(1 / (double)many->n + 1 / (double)few->n);
    *out = (struct shift){s[0].mean, s[1].mean - s[0].mean, error, many->n - 1, false};
}

static bool judge_prediction(struct judging *j, size_t side, const char *metric,
                             struct comparison_change *out) {
    struct two v = two_of(&j->input[0], &j->input[side], metric);
    size_t many = v.n[0] > v.n[1] ? v.n[0] : v.n[1], few = v.n[0] + v.n[1] - many;
    bool enough = many >= COMPARISON_TRIALS_LEAST && few > 0 && few < COMPARISON_TRIALS_LEAST;
    if (enough) {
        const struct shift s = shift_of(&v, of_prediction);
        shift_tell(&s, COMPARISON_PREDICTION, out);
    }
    two_free(&v);
    return enough;
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
        judge_blocks(base, &other, comparison_twins(&j->input[0], &j->input[s]), centre,
                     grain_of(j, s, metric), out);
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
        if (reason != COMPARISON_TOLD)
            comparison_bound(m, s, reason, comparison_chunks_alone(&j->c->side[s]), explained);
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
            "Trials against trials: Mann and Whitney's U, exact and two-sided, at 1 %%; the interval is of the "
            "medians' change, by %d bootstrap resamples with a fixed seed.",
            COMPARISON_RESAMPLES);
    if (j->few)
        comparison_note(
            c,
            "So few trials never reach 1 %% by their ranks: all values of one side have to lie beyond all of "
            "the other's, and Welch's 99 %% interval of the change of their mean has to leave out 0.");
    if (j->used[COMPARISON_PAIRS])
        comparison_note(
            c,
            "Trials of the same seeds: Student's t of the change of each seed, beyond noise outside its 99 %% "
            "interval.");
    if (j->used[COMPARISON_PREDICTION])
        comparison_note(
            c, "A run against trials: beyond the 99 %% prediction interval of the trials (Student's t).");
    if (j->few || j->used[COMPARISON_PAIRS] || j->used[COMPARISON_PREDICTION])
        comparison_note(c,
                        "Of trials' values, or of their logarithms, those in which a change stands out more "
                        "against the scatter are taken.");
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
