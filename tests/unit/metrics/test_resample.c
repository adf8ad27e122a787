#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "metrics/resample.h"

enum { N = 1000, DRAWS = 4000 };

static double series[N], ones[N], draws[DRAWS];
static struct rng r;

static int set_up(void **state) {
    (void)state;
    rng_init(&r, 1, KVF_RNG_TEST, 0);
    for (size_t i = 0; i < N; i++) ones[i] = 1;
    return 0;
}

/* x(i) = rho x(i - 1) + noise of sd 1, about a mean. */
static void make_series(double rho, double mean) {
    double x = rng_normal(&r) / sqrt(1 - rho * rho);
    for (size_t i = 0; i < N; i++) {
        series[i] = mean + x;
        x = rho * x + rng_normal(&r);
    }
}

static double sd_of(const double *v, size_t n) {
    double mean = 0, squares = 0;
    for (size_t i = 0; i < n; i++) mean += v[i] / (double)n;
    for (size_t i = 0; i < n; i++) squares += (v[i] - mean) * (v[i] - mean);
    return sqrt(squares / (double)(n - 1));
}

static void expect_between(double got, double low, double high) {
    if (!(got >= low && got <= high)) fail_msg("%g is not in %g to %g", got, low, high);
}

/* For an autoregression of order one the best length is (1.5 (2 rho / (1 - rho^2))^2 n)^(1/3) (Politis and
 * White's G is 2 rho / (1 - rho)^2, the spectrum (1 + rho) / (1 - rho)): 13.9 for rho 0.5 and 51 for 0.9 at n
 * of 1000. An estimate from one series scatters about it. */
static void blocks_grow_with_what_hangs_together(void **state) {
    (void)state;
    make_series(0, 10);
    expect_between((double)resample_block_length(series, N), 10, 13); /* the cube root of n */
    make_series(0.5, 10);
    expect_between((double)resample_block_length(series, N), 10, 22);
    make_series(0.9, 10);
    expect_between((double)resample_block_length(series, N), 30, 90);
}

static void blocks_of_short_and_flat_series(void **state) {
    (void)state;
    for (size_t i = 0; i < N; i++) series[i] = 5;
    assert_int_equal(resample_block_length(series, N), 10);
    assert_int_equal(resample_block_length(series, 0), 1);
    assert_int_equal(resample_block_length(series, 2), 1);
    assert_int_equal(resample_block_length(series, 6), 2); /* a third, which is the cube root, too */
    for (size_t i = 0; i < 30; i++) series[i] = (double)i; /* a trend alone */
    expect_between((double)resample_block_length(series, 30), 5, 10); /* over the cube root, up to a third */
}

/* The mean of n independent values scatters by sd / sqrt(n), that of a series with rho by
 * sqrt((1 + rho) / (1 - rho)) times as much: 1.732 for 0.5. */
static void the_error_is_that_of_the_mean(void **state) {
    const struct resample_series single = {series, ones, N, 1}, blocks = {series, ones, N, 14};
    (void)state;
    make_series(0, 10);
    expect_between(resample_error(&single) / (sd_of(series, N) / sqrt(N)), 0.99, 1.01);
    make_series(0.5, 10);
    expect_between(resample_error(&single) / (sd_of(series, N) / sqrt(N)), 0.99,
                   1.01); /* what blocks are for */
    expect_between(resample_error(&blocks) / (sd_of(series, N) / sqrt(N)), 1.35, 1.95);
}

/* Blocks of two of 1, 2, 3, 6, that begin anywhere, are 3, 5, 9 and 7 where their mean is 6: squares of 20.
 * Two are drawn, and half of the scatter is what they take from each other: sqrt(20 / 4 x 2 / (1 / 2)) / 4.
 * 3 is 30 of 10 whatever is drawn. */
static void errors_by_hand(void **state) {
    double values[] = {1, 2, 3, 6}, num[] = {3, 0, 30, 9, 300, 6, 12}, den[] = {1, 0, 10, 3, 100, 2, 4};
    const struct resample_series four = {values, ones, 4, 2}, fixed = {num, den, 7, 2},
                                 whole = {values, ones, 4, 9};
    (void)state;
    assert_true(fabs(resample_error(&four) - sqrt(20) / 4) < 1e-12);
    assert_true(fabs(resample_error(&fixed)) < 1e-12);
    assert_true(isfinite(resample_error(&whole)));
}

/* 60 events, one every other interval, one by one at random, in one burst, and in the second half alone: only
 * the burst might not come again, and the course of a run is in it again. */
static void events_of_a_burst_are_chance(void **state) {
    enum { INTERVALS = 120, EVENTS = 60 };
    double even[INTERVALS], drawn[INTERVALS] = {0}, burst[INTERVALS] = {0}, late[INTERVALS] = {0};
    uint64_t freedom;
    (void)state;
    for (size_t i = 0; i < INTERVALS; i++) {
        even[i] = (double)(i % 2);
        late[i] = i >= INTERVALS / 2;
        drawn[rng_range(&r, 0, INTERVALS - 1)] += i % 2 ? 1 : 0;
    }
    burst[40] = EVENTS;
    assert_true(resample_count_error(even, ones, INTERVALS, &freedom) < 1);
    assert_int_equal(freedom, 9);
    expect_between(resample_count_error(drawn, ones, INTERVALS, &freedom), 0.6 * sqrt(EVENTS),
                   1.7 * sqrt(EVENTS));
    expect_between(resample_count_error(burst, ones, INTERVALS, &freedom), 0.9 * EVENTS, 1.2 * EVENTS);
    assert_true(3 * resample_count_error(late, ones, INTERVALS, &freedom) < EVENTS);
    expect_between(resample_count_error(burst, burst, INTERVALS, &freedom), -1e-9, 1e-9); /* of as many */
    (void)resample_count_error(even, ones, 20, &freedom);
    assert_int_equal(freedom, 3);
}

/* Of 27 draws of three values the median is the least in 7 and the middle one in 13. */
static void medians_of_three(void **state) {
    static const double values[] = {30, 10, 20};
    double low = 0, middle = 0;
    (void)state;
    resample_medians(&r, values, 3, draws, DRAWS);
    for (size_t i = 0; i < DRAWS; i++) {
        assert_true(draws[i] == 10 || draws[i] == 20 || draws[i] == 30);
        low += draws[i] == 10;
        middle += draws[i] == 20;
    }
    expect_between(low / DRAWS, 7.0 / 27 - 0.025, 7.0 / 27 + 0.025);
    expect_between(middle / DRAWS, 13.0 / 27 - 0.025, 13.0 / 27 + 0.025);
    resample_medians(&r, values, 1, draws, 2);
    assert_true(draws[0] == 30 && draws[1] == 30);
}

static void bounds_leave_out_a_fortieth_on_each_side(void **state) {
    double low, high;
    (void)state;
    for (size_t i = 0; i < 1000; i++) draws[i] = (double)((i * 7919) % 1000);
    resample_bounds(draws, 1000, &low, &high);
    assert_true(low == 25 && high == 974);
    draws[0] = 4;
    resample_bounds(draws, 1, &low, &high);
    assert_true(low == 4 && high == 4);
}

#define CASE(function) cmocka_unit_test_setup(function, set_up)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(blocks_grow_with_what_hangs_together),
        CASE(blocks_of_short_and_flat_series),
        CASE(the_error_is_that_of_the_mean),
        CASE(errors_by_hand),
        CASE(events_of_a_burst_are_chance),
        CASE(medians_of_three),
        CASE(bounds_leave_out_a_fortieth_on_each_side),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("resample", tests, NULL, NULL);
}
