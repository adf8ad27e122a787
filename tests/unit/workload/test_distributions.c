#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "workload/workload.h"

/* Drawn values against the distributions that the manual names. Samples on a scale go through the
 * test of Kolmogorov and Smirnov: the largest distance between their distribution and the one meant is
 * below 1.95 / sqrt(n) in 999 of 1,000 cases. Counts go through Pearson's chi-squared test, also at
 * one in a thousand. Seeds are fixed, so a test that passes always does. */

#define MS UINT64_C(1000000)

enum { SAMPLES = 4000 };

static struct scenario scenario;
static double sample[SAMPLES], other[SAMPLES];

/* One persona with fixed sizes, no prompts, one class. */
static int scenario_reset(void **state) {
    (void)state;
    struct scenario *s = &scenario;
    memset(s, 0, sizeof *s);
    s->seed = 7;
    s->cache.block_tokens = 16;
    s->workload.source = KVF_SOURCE_SYNTHETIC;
    s->workload.arrival.process = KVF_ARRIVAL_CLOSED;
    s->workload.users = 1;
    s->workload.personas = 1;
    s->workload.persona[0] = (struct scenario_persona){.name = "a",
                                                       .share = 1,
                                                       .context = {10000, 10000},
                                                       .generate = {1000, 1000},
                                                       .think_ns = {100 * MS, 100 * MS},
                                                       .spread = 1};
    s->workload.conversation.max_turns = 1000;
    s->qos.classes = 1;
    s->qos.klass[0].share = 1;
    return 0;
}

static struct workload *opened(void) {
    struct workload *w = NULL;
    struct err e = {0};
    if (workload_open(&w, &scenario, &e) != 0) fail_msg("%s", e.text);
    return w;
}

static struct request next_of(struct workload *w, uint64_t user) {
    struct request r = {0};
    assert_int_equal(workload_next(w, user, &r), WORKLOAD_REQUEST);
    return r;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double uniform_cdf(double x) {
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

/* Kolmogorov and Smirnov; `step`: the probability of a single value, 0 on a scale without steps. */
static void distributed(double *x, size_t n, double (*cdf)(double), double step) {
    double worst = 0, allowed = 1.95 / sqrt((double)n) + step;
    qsort(x, n, sizeof *x, ascending);
    for (size_t i = 0; i < n; i++) {
        double p = cdf(x[i]), above = (double)(i + 1) / (double)n - p, below = p - (double)i / (double)n;
        double distance = above > below ? above : below;
        if (distance > worst) worst = distance;
    }
    if (worst >= allowed) fail_msg("a distance of %g, %g is allowed", worst, allowed);
}

/* Whole numbers from lo to hi, all as likely. */
static void uniform_whole(double *x, size_t n, double lo, double hi) {
    for (size_t i = 0; i < n; i++) {
        assert_true(x[i] >= lo && x[i] <= hi);
        x[i] = (x[i] - lo + 0.5) / (hi - lo + 1);
    }
    distributed(x, n, uniform_cdf, 1 / (hi - lo + 1));
}

/* Pearson: counts against their shares of the whole, which add up to 1. */
static void shared(const unsigned *count, const double *share, unsigned cells) {
    static const double critical[] = {0, 10.83, 13.82, 16.27, 18.47, 20.52, 22.46, 24.32, 26.12, 27.88};
    double total = 0, sum = 0;
    for (unsigned i = 0; i < cells; i++) total += count[i];
    for (unsigned i = 0; i < cells; i++) {
        double expected = total * share[i];
        assert_true(expected >= 5); /* or the test says nothing */
        sum += (count[i] - expected) * (count[i] - expected) / expected;
    }
    assert_true(cells >= 2 && cells <= sizeof critical / sizeof *critical);
    if (sum >= critical[cells - 1]) fail_msg("chi-squared %g, %g is allowed", sum, critical[cells - 1]);
}

/* Correlation of two series; of independent ones it lies within 4 / sqrt(n) in all but 1 of 16,000. */
static void independent(const double *x, const double *y, size_t n) {
    double mx = 0, my = 0, xx = 0, yy = 0, xy = 0;
    for (size_t i = 0; i < n; i++) {
        mx += x[i] / (double)n;
        my += y[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        xx += (x[i] - mx) * (x[i] - mx);
        yy += (y[i] - my) * (y[i] - my);
        xy += (x[i] - mx) * (y[i] - my);
    }
    double r = xy / sqrt(xx * yy);
    if (fabs(r) >= 4 / sqrt((double)n)) fail_msg("a correlation of %g", r);
}

/* ---- sizes ---- */

/* A user's sizes are drawn from the persona's ranges, each for itself and for each user anew. */
static void sizes_of_users(void **state) {
    (void)state;
    scenario.workload.persona[0].context = (struct scenario_range){1000, 2999};
    scenario.workload.persona[0].generate = (struct scenario_range){50, 449};
    struct workload *w = opened();
    for (uint64_t u = 0; u < SAMPLES; u++) {
        struct request r = next_of(w, u);
        sample[u] = (double)r.context_tokens;
        other[u] = (double)r.generate_tokens;
    }
    workload_close(w);
    independent(sample, other, SAMPLES);
    independent(sample, sample + 1, SAMPLES - 1); /* neighbours */
    uniform_whole(sample, SAMPLES, 1000, 2999);
    uniform_whole(other, SAMPLES, 50, 449);
}

/* A user's requests lie between spread times its size and its size. */
static void sizes_of_requests(void **state) {
    (void)state;
    static const double spreads[] = {0.25, 0.5, 0.9};
    for (int i = 0; i < 3; i++) {
        scenario.workload.persona[0].spread = spreads[i];
        struct workload *w = opened();
        for (int n = 0; n < SAMPLES; n++) {
            struct request r = next_of(w, 0);
            sample[n] = (double)r.context_tokens;
            other[n] = (double)r.generate_tokens;
        }
        workload_close(w);
        independent(sample, other, SAMPLES);
        independent(sample, sample + 1, SAMPLES - 1); /* one after the other */
        uniform_whole(sample, SAMPLES, spreads[i] * 10000, 10000);
        uniform_whole(other, SAMPLES, spreads[i] * 1000, 1000);
    }
}

/* The same for the entries of a decode-only run, over its users. */
static void sizes_of_stored_entries(void **state) {
    (void)state;
    scenario.workload.phase = KVF_WORKLOAD_PHASE_DECODE;
    scenario.workload.decode.entries = 10;
    scenario.workload.persona[0].spread = 0.25;
    unsigned count[10] = {0};
    double share[10];
    struct workload *w = opened();
    for (uint64_t u = 0; u < SAMPLES / 10; u++) {
        for (uint32_t i = 0; i < 10; i++) sample[u * 10 + i] = (double)workload_stored_tokens(w, u, i);
        for (int i = 0; i < 10; i++) count[next_of(w, u).stored]++;
    }
    workload_close(w);
    uniform_whole(sample, SAMPLES, 2500, 10000);
    for (int i = 0; i < 10; i++) share[i] = 0.1;
    shared(count, share, 10);
}

/* ---- times ---- */

static void thinks(void **state) {
    (void)state;
    struct workload *w = opened();
    for (int i = 0; i < SAMPLES; i++) sample[i] = ((double)workload_think_ns(w, 0) / 1e6 - 80) / 40;
    workload_close(w);
    independent(sample, sample + 1, SAMPLES - 1);
    distributed(sample, SAMPLES, uniform_cdf, 0);

    scenario.workload.persona[0].think_ns = (struct scenario_range){100 * MS, 500 * MS};
    w = opened();
    for (uint64_t u = 0; u < SAMPLES; u++) { /* over users: the mean of many is its user's own */
        double mean = 0;
        for (int i = 0; i < 400; i++) mean += (double)workload_think_ns(w, u) / 400;
        sample[u] = (mean / 1e6 - 100) / 400;
    }
    workload_close(w);
    /* the mean of 400 is off by a standard error of 0.58 %, at most 2.9 of 400 ms */
    distributed(sample, SAMPLES, uniform_cdf, 0.01);
}

/* A uniform part u of a think x, itself uniform from 0.8 to 1.2: P(ux < t) is the mean of min(1, t / x). */
static double first_delay_cdf(double t) {
    if (t <= 0) return 0;
    if (t < 0.8) return t * log(1.2 / 0.8) / 0.4;
    if (t < 1.2) return (t - 0.8 + t * log(1.2 / t)) / 0.4;
    return 1;
}

static void first_delays(void **state) {
    (void)state;
    struct workload *w = opened();
    for (uint64_t u = 0; u < SAMPLES; u++) sample[u] = (double)workload_first_delay_ns(w, u) / 1e8;
    workload_close(w);
    independent(sample, sample + 1, SAMPLES - 1);
    distributed(sample, SAMPLES, first_delay_cdf, 0);
}

/* ---- choices ---- */

static void personas_and_classes(void **state) {
    (void)state;
    static const double share[4] = {0.1, 0.2, 0.3, 0.4};
    unsigned persona[4] = {0}, klass[4] = {0}, both[2][2] = {{0}};
    scenario.workload.personas = scenario.qos.classes = 4;
    for (unsigned i = 0; i < 4; i++) {
        scenario.workload.persona[i] = scenario.workload.persona[0];
        scenario.workload.persona[i].context = (struct scenario_range){i + 1, i + 1};
        scenario.workload.persona[i].share = 5 * share[i]; /* weights need not add up to 1 */
        scenario.qos.klass[i].share = 0.5 * share[3 - i];
    }
    struct workload *w = opened();
    for (uint64_t u = 0; u < 5 * SAMPLES; u++) {
        struct request r = next_of(w, u);
        persona[r.context_tokens - 1]++;
        klass[3 - r.klass]++;
        both[r.context_tokens == 4][r.klass == 0]++;
    }
    workload_close(w);
    shared(persona, share, 4);
    shared(klass, share, 4);
    /* independent of each other: persona 4 and class 0 have 0.4 of the users each */
    shared(&both[0][0], (const double[]){0.36, 0.24, 0.24, 0.16}, 4);
}

/* Rows of traces have classes only where the scenario names them; then each row draws its own. */
static void classes_of_rows(void **state) {
    (void)state;
    static const double share[3] = {0.2, 0.3, 0.5};
    unsigned klass[3] = {0};
    char path[] = "/tmp/kvf-test-rows-XXXXXX";
    FILE *f = fdopen(mkstemp(path), "w");
    assert_non_null(f);
    for (int i = 0; i < SAMPLES; i++) fprintf(f, "write,a,1\n");
    assert_int_equal(fclose(f), 0);
    strcpy(scenario.workload.path, path);
    scenario.workload.source = KVF_SOURCE_OPS;
    scenario.workload.arrival.cycles = 1;
    scenario.qos.classes = 3;
    scenario.qos.classes_set = true;
    for (int i = 0; i < 3; i++) scenario.qos.klass[i].share = share[i];
    struct workload *w = opened();
    for (int i = 0; i < SAMPLES; i++) klass[next_of(w, 0).klass]++;
    workload_close(w);
    unlink(path);
    shared(klass, share, 3);
}

/* Conversations end with a probability at each turn: lengths are geometric, cut at max_turns. */
static void lengths_of_conversations(void **state) {
    (void)state;
    unsigned length[6] = {0}, turns = 0;
    double share[6], left = 1;
    scenario.workload.conversation.end_probability = 0.3;
    scenario.workload.conversation.max_turns = 6;
    for (int i = 0; i < 6; i++) {
        share[i] = i < 5 ? 0.3 * left : left;
        left -= share[i];
    }
    struct workload *w = opened();
    for (uint64_t i = 0; i < 10 * SAMPLES; i++) {
        struct request r = next_of(w, i % 7 == 0 ? 1 : 0);
        if (r.user != 0) continue;
        if (r.turn == 1 && turns > 0) length[turns - 1]++;
        turns = r.turn;
    }
    workload_close(w);
    shared(length, share, 6);
}

/* A conversation has a shared prompt with its probability, and each of them as often, whoever asks. */
static void prompts(void **state) {
    (void)state;
    static const double share[5] = {0.6, 0.1, 0.1, 0.1, 0.1};
    unsigned chosen[5] = {0};
    scenario.workload.prefix.probability = 0.4;
    scenario.workload.prefix.count = 4;
    for (unsigned i = 0; i < 4; i++) scenario.workload.prefix.prompt_tokens[i] = 100 + i;
    scenario.workload.conversation.max_turns = 1;
    struct workload *w = opened();
    for (uint64_t i = 0; i < 3 * SAMPLES; i++) {
        struct request r = next_of(w, i % 50);
        chosen[r.prompt == REQUEST_NO_PROMPT ? 0 : 1 + r.prompt]++;
    }
    workload_close(w);
    shared(chosen, share, 5);
}

#define TEST(name) cmocka_unit_test_setup(name, scenario_reset)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(sizes_of_users),
        TEST(sizes_of_requests),
        TEST(sizes_of_stored_entries),
        TEST(thinks),
        TEST(first_delays),
        TEST(personas_and_classes),
        TEST(classes_of_rows),
        TEST(lengths_of_conversations),
        TEST(prompts),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("distributions", tests, NULL, NULL);
}
