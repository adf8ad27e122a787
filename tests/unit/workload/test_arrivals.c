#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "workload/arrivals.h"

#define S 1e9

static struct scenario scenario;

static void begin(struct arrivals *a, enum scenario_arrival process, double rate, double cv, uint64_t batch) {
    memset(&scenario, 0, sizeof scenario);
    scenario.seed = 42;
    scenario.workload.arrival.process = process;
    scenario.workload.arrival.rate = rate;
    scenario.workload.arrival.cv = cv;
    scenario.workload.arrival.batch = batch;
    arrivals_init(a, &scenario);
}

struct moments {
    double mean, cv;
};

static struct moments gaps_of(struct arrivals *a, unsigned n) {
    double sum = 0, squares = 0;
    uint64_t last = arrivals_next_ns(a);
    assert_int_equal(last, 0);
    for (unsigned i = 0; i < n; i++) {
        uint64_t at = arrivals_next_ns(a);
        assert_true(at >= last);
        double gap = (double)(at - last);
        sum += gap;
        squares += gap * gap;
        last = at;
    }
    double mean = sum / n;
    return (struct moments){mean, sqrt(squares / n - mean * mean) / mean};
}

/* The mean of n gaps has a relative standard deviation of cv / sqrt(n); four of them are allowed. The
 * coefficient of variation of n gamma variates is off by some cv * sqrt((0.5 + 1.5 cv^2) / n). */
static void gaps_have_the_mean_and_the_variation_asked_for(void **state) {
    (void)state;
    static const double cvs[] = {0.5, 1, 3};
    enum { N = 400000 };
    for (size_t i = 0; i < sizeof cvs / sizeof *cvs; i++) {
        struct arrivals a;
        double cv = cvs[i];
        begin(&a, KVF_ARRIVAL_GAMMA, 200, cv, 1);
        struct moments m = gaps_of(&a, N);
        assert_true(fabs(m.mean / (S / 200) - 1) < 4 * cv / sqrt(N));
        assert_true(fabs(m.cv / cv - 1) < 4 * sqrt((0.5 + 1.5 * cv * cv) / N));
    }
}

static void poisson_gaps_are_exponential(void **state) {
    (void)state;
    struct arrivals a;
    enum { N = 400000 };
    begin(&a, KVF_ARRIVAL_POISSON, 1000, 7, 1); /* a variation is for gamma alone */
    struct moments m = gaps_of(&a, N);
    assert_true(fabs(m.mean / 1e6 - 1) < 4 / sqrt(N));
    assert_true(fabs(m.cv - 1) < 4 * sqrt(2.0 / N));
    /* a part exp(-x) of all gaps is longer than x means */
    static const double beyond[] = {0.1, 0.6931471805599453, 2};
    unsigned longer[3] = {0};
    begin(&a, KVF_ARRIVAL_POISSON, 1000, 1, 1);
    for (uint64_t last = arrivals_next_ns(&a), n = 0, at; n < N; n++, last = at) {
        at = arrivals_next_ns(&a);
        for (int i = 0; i < 3; i++) longer[i] += (double)(at - last) > beyond[i] * 1e6;
    }
    for (int i = 0; i < 3; i++) {
        double p = exp(-beyond[i]);
        assert_true(fabs(longer[i] - N * p) < 4 * sqrt(N * p * (1 - p)));
    }
}

/* Arrivals per window: variance / mean of a Poisson process is 1. Of W windows it is off by sqrt(2 / W).
 * Gamma gaps of a cv of 3 clump: the ratio goes towards 9. Fixed gaps do not vary at all. */
static double dispersion(enum scenario_arrival process, double cv, uint64_t window_ns, unsigned windows) {
    struct arrivals a;
    double sum = 0, squares = 0;
    begin(&a, process, 100, cv, 1);
    uint64_t at = arrivals_next_ns(&a);
    for (unsigned w = 1; w <= windows; w++) {
        unsigned n = 0;
        for (; at < w * window_ns; at = arrivals_next_ns(&a)) n++;
        sum += n;
        squares += (double)n * n;
    }
    double mean = sum / windows;
    return (squares / windows - mean * mean) / mean;
}

static void counts_per_window_disperse_as_they_should(void **state) {
    (void)state;
    enum { W = 20000 };
    assert_true(fabs(dispersion(KVF_ARRIVAL_POISSON, 1, (uint64_t)(S / 10), W) - 1) < 4 * sqrt(2.0 / W));
    assert_true(fabs(dispersion(KVF_ARRIVAL_GAMMA, 1, (uint64_t)(S / 10), W) - 1) < 4 * sqrt(2.0 / W));
    double clumped = dispersion(KVF_ARRIVAL_GAMMA, 3, (uint64_t)(100 * S), 500);
    assert_true(clumped > 7 && clumped < 11);
    assert_true(dispersion(KVF_ARRIVAL_GAMMA, 0, (uint64_t)S, 1000) == 0);
}

static void fixed_gaps_do_not_drift(void **state) {
    (void)state;
    struct arrivals a;
    begin(&a, KVF_ARRIVAL_GAMMA, 3, 0, 1);
    for (uint64_t i = 0; i < 300000; i++) {
        double want = (double)i * S / 3;
        assert_true(fabs((double)arrivals_next_ns(&a) - want) <= 1);
    }
}

/* The rate counts requests, whatever the batch: eight together every 40 ms are 200 a second. */
static void batches_arrive_together(void **state) {
    (void)state;
    struct arrivals a;
    begin(&a, KVF_ARRIVAL_GAMMA, 200, 0, 8);
    for (uint64_t i = 0; i < 800; i++) assert_int_equal(arrivals_next_ns(&a), i / 8 * 40000000);
    begin(&a, KVF_ARRIVAL_POISSON, 200, 1, 8);
    double last = 0;
    enum { BATCHES = 100000 };
    for (int b = 0; b < BATCHES; b++) {
        uint64_t at = arrivals_next_ns(&a);
        assert_true(b == 0 ? at == 0 : (double)at > last);
        for (int i = 1; i < 8; i++) assert_int_equal(arrivals_next_ns(&a), at);
        last = (double)at;
    }
    assert_true(fabs(last / (BATCHES - 1) / 40e6 - 1) < 4 / sqrt(BATCHES));
}

static void users_are_picked_evenly(void **state) {
    (void)state;
    struct arrivals a;
    unsigned of[10] = {0};
    enum { N = 100000 };
    begin(&a, KVF_ARRIVAL_POISSON, 1, 1, 1);
    for (int i = 0; i < N; i++) {
        uint64_t user = arrivals_pick(&a, 10);
        assert_true(user < 10);
        of[user]++;
    }
    for (int i = 0; i < 10; i++) assert_true(fabs(of[i] - N / 10.0) < 4 * sqrt(N * 0.09));
    for (int i = 0; i < 10; i++) assert_int_equal(arrivals_pick(&a, 1), 0);
}

/* Picks and gaps have a stream each, and the seed decides both. */
static void streams_do_not_disturb_each_other(void **state) {
    (void)state;
    struct arrivals a, b;
    begin(&a, KVF_ARRIVAL_POISSON, 50, 1, 1);
    begin(&b, KVF_ARRIVAL_POISSON, 50, 1, 1);
    for (int i = 0; i < 1000; i++) {
        arrivals_pick(&b, 7);
        assert_int_equal(arrivals_next_ns(&a), arrivals_next_ns(&b));
    }
    begin(&a, KVF_ARRIVAL_POISSON, 50, 1, 1);
    scenario.seed = 43;
    arrivals_init(&b, &scenario);
    assert_int_equal(arrivals_next_ns(&a), arrivals_next_ns(&b)); /* both begin at 0 */
    assert_int_not_equal(arrivals_next_ns(&a), arrivals_next_ns(&b));
}

/* Rates and variations at the ends of what a scenario may say. */
static void extremes_stay_in_range(void **state) {
    (void)state;
    struct arrivals a;
    begin(&a, KVF_ARRIVAL_GAMMA, 1e9, 1000, 1);
    for (uint64_t i = 0, last = 0, at; i < 10000; i++, last = at) {
        at = arrivals_next_ns(&a);
        assert_true(at >= last && at <= UINT64_MAX / 4);
    }
    begin(&a, KVF_ARRIVAL_GAMMA, 1e-9, 0, 1000000000);
    for (int i = 0; i < 10; i++) assert_int_equal(arrivals_next_ns(&a), 0);
    begin(&a, KVF_ARRIVAL_POISSON, 1e-300, 1, 1);
    assert_int_equal(arrivals_next_ns(&a), 0);
    assert_int_equal(arrivals_next_ns(&a), UINT64_MAX / 4 + 1); /* as doubles go */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gaps_have_the_mean_and_the_variation_asked_for),
        cmocka_unit_test(poisson_gaps_are_exponential),
        cmocka_unit_test(counts_per_window_disperse_as_they_should),
        cmocka_unit_test(fixed_gaps_do_not_drift),
        cmocka_unit_test(batches_arrive_together),
        cmocka_unit_test(users_are_picked_evenly),
        cmocka_unit_test(streams_do_not_disturb_each_other),
        cmocka_unit_test(extremes_stay_in_range),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("arrivals", tests, NULL, NULL);
}
