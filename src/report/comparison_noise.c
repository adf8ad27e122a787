#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/rank_test.h"
#include "base/resample.h"
#include "report/comparison_parts.h"

/* What is told at the end of how it was told. */
struct judging {
    const struct comparison_input *input;
    struct comparison *c;
    bool used[COMPARISON_BLOCKS + 1];
    bool untold; /* changes of single runs that no series tells about */
    bool few;    /* trials that ranks alone cannot tell apart */
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
            trials_statistics(a, &base);
            trials_statistics(b, &other);
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
            trials_statistics(m, &s[k]);
        else
            statistics_of(&value, 1, &s[k]);
    }
    const struct statistics *many = s[0].n >= s[1].n ? &s[0] : &s[1], *few = many == s ? &s[1] : &s[0];
    if (many->n < COMPARISON_TRIALS_LEAST || few->n == 0 || few->n >= COMPARISON_TRIALS_LEAST) return false;
    double change = s[1].mean - s[0].mean;
    double half =
        statistics_student_t975(many->n - 1) * many->sd * sqrt(1 / (double)many->n + 1 / (double)few->n);
    set_noise(out, COMPARISON_PREDICTION, fabs(change) > half);
    if (s[0].mean != 0) {
        out->low = (change - half) / fabs(s[0].mean);
        out->high = (change + half) / fabs(s[0].mean);
    }
    return true;
}

/* ---- run against run ---- */

/* The relative change is exp() of the difference of two logarithms, each with its scatter about it. */
static void judge_blocks(const double *base, const double *other, double metric_base,
                         struct comparison_change *out) {
    double draw[COMPARISON_RESAMPLES], low, high;
    if (!(metric_base > 0) || !(out->value > 0)) return;
    double centre = log(out->value / metric_base);
    for (size_t i = 0; i < COMPARISON_RESAMPLES; i++) draw[i] = centre + other[i] - base[i];
    resample_bounds(draw, COMPARISON_RESAMPLES, &low, &high);
    set_noise(out, COMPARISON_BLOCKS, low > 0 || high < 0);
    out->low = expm1(low);
    out->high = expm1(high);
}

static bool single(const struct comparison_input *i) {
    return !comparison_group(i);
}

static void judge_metric(struct judging *j, struct comparison_metric *m) {
    double base[COMPARISON_RESAMPLES], other[COMPARISON_RESAMPLES];
    bool drawn = single(&j->input[0]) && comparison_replicates(&j->input[0], 0, m->metric, base);
    for (size_t s = 1; s < j->c->sides; s++) {
        struct comparison_change *out = &m->change[s];
        if (out->direction == COMPARISON_MISSING) continue;
        bool both = single(&j->input[0]) && single(&j->input[s]);
        if (!both && !single(&j->input[0]) && !single(&j->input[s]) && judge_ranks(j, s, m->metric, out))
            ;
        else if (!both)
            judge_prediction(j, s, m->metric, out);
        else if (drawn && comparison_replicates(&j->input[s], s, m->metric, other))
            judge_blocks(base, other, m->change[0].value, out);
        j->used[out->method] = true;
        if (both && !out->method && out->direction != COMPARISON_SAME) j->untold = true;
    }
}

/* ---- what was done ---- */

static void note(struct comparison *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void note(struct comparison *c, const char *fmt, ...) {
    char text[600];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    c->note = mem_realloc(c->note, (c->notes + 1) * sizeof *c->note);
    c->note[c->notes++] = mem_strdup(text);
}

static void note_methods(const struct judging *j) {
    struct comparison *c = j->c;
    if (j->used[COMPARISON_RANKS])
        note(
            c,
            "Trials against trials: Mann and Whitney's U, exact and two-sided, at 5 %%; the interval is of the "
            "medians' change, by %d bootstrap resamples with a fixed seed.",
            COMPARISON_RESAMPLES);
    if (j->few)
        note(
            c,
            "So few trials never reach 5 %% by their ranks: all values of one side have to lie beyond all of "
            "the other's, and Welch's 95 %% interval of the means' difference has to leave out 0.");
    if (j->used[COMPARISON_PREDICTION])
        note(c, "A run against trials: beyond the 95 %% prediction interval of the trials (Student's t).");
    if (j->used[COMPARISON_BLOCKS])
        note(
            c,
            "Run against run: whether the 95 %% interval of the change leaves out 0, by %d moving-block "
            "bootstrap resamples of the intervals of the measured part with a fixed seed. It knows the scatter "
            "within these runs, not how far a repetition would be off; trials do (run.trials).",
            COMPARISON_RESAMPLES);
}

static void note_short(const struct judging *j) {
    for (size_t s = 0; s < j->c->sides; s++) {
        size_t n = comparison_intervals(&j->input[s]);
        if (single(&j->input[s]) && j->input[s].series && n < COMPARISON_INTERVALS_LEAST)
            note(j->c, "The noise of %s is not known: its measured part has %zu interval%s, %d are needed.",
                 j->c->side[s].label, n, n == 1 ? "" : "s", COMPARISON_INTERVALS_LEAST);
    }
}

void comparison_judge(const struct comparison_input *input, struct comparison *c) {
    struct judging j = {.input = input, .c = c};
    for (size_t i = 0; i < c->metrics; i++) judge_metric(&j, &c->metric[i]);
    note_methods(&j);
    note_short(&j);
}
