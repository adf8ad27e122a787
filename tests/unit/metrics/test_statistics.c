#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "metrics/statistics.h"

#define COUNT(array) (sizeof array / sizeof *(array))
#define NONE         ((double)NAN)

static void expect_near(double got, double want, double off) {
    if (!(fabs(got - want) <= off)) fail_msg("%.12g is not %.12g within %g", got, want, off);
}

/* Engineering Statistics Handbook of NIST, section 1.3.6.7.2: upper critical values of Student's t,
 * column 0.975. */
static void student_s_t_is_that_of_nist(void **state) {
    (void)state;
    static const struct {
        uint64_t df;
        double t;
    } table[] = {{1, 12.706}, {2, 4.303},  {3, 3.182},  {4, 2.776},  {5, 2.571},  {6, 2.447},
                 {7, 2.365},  {8, 2.306},  {9, 2.262},  {10, 2.228}, {15, 2.131}, {20, 2.086},
                 {29, 2.045}, {30, 2.042}, {40, 2.021}, {60, 2.000}, {99, 1.984}, {100, 1.984}};
    for (size_t i = 0; i < COUNT(table); i++)
        expect_near(statistics_student_t975(table[i].df), table[i].t, 0.0005);
    expect_near(statistics_student_t975(1), tan(0.475 * M_PI), 1e-9);         /* df 1 is Cauchy's */
    expect_near(statistics_student_t975(2), sqrt(2 * 0.9025 / 0.0975), 1e-9); /* A = t / sqrt(2 + t^2) */
    expect_near(statistics_student_t975(1000000), 1.96, 0.0005);
    for (uint64_t df = 2; df < 2000; df++)
        assert_true(statistics_student_t975(df) < statistics_student_t975(df - 1));
    assert_true(isnan(statistics_student_t975(0)));
}

/* NIST's Statistical Reference Datasets, univariate: NumAcc1, NumAcc2 and NumAcc4 with their certified
 * values; the last is there to catch one-pass sums. */
static void reference_data_sets_of_nist(void **state) {
    (void)state;
    static const double first[] = {10000001, 10000003, 10000002};
    static double second[1001], fourth[1001];
    struct statistics s;
    statistics_of(first, COUNT(first), &s);
    assert_true(s.mean == 10000002 && s.sd == 1 && s.n == 3);
    for (size_t i = 0; i < COUNT(second); i++) {
        second[i] = i == 0 ? 1.2 : i % 2 ? 1.1 : 1.3;
        fourth[i] = i == 0 ? 10000000.2 : i % 2 ? 10000000.1 : 10000000.3;
    }
    statistics_of(second, COUNT(second), &s);
    expect_near(s.mean, 1.2, 1e-14);
    expect_near(s.sd, 0.1, 1e-14);
    statistics_of(fourth, COUNT(fourth), &s);
    expect_near(s.mean, 10000000.2, 1e-8);
    expect_near(s.sd, 0.1, 1e-9);
}

/* 2, 4, 4, 4, 5, 5, 7, 9: mean 5, squares add up to 32, so sd = sqrt(32 / 7) = 2.13809; t for 7 is 2.36462,
 * and 2.36462 x 2.13809 / sqrt(8) = 1.78748. */
static void worked_by_hand(void **state) {
    (void)state;
    static const double values[] = {9, 4, 5, 2, 4, 7, 4, 5};
    struct statistics s;
    statistics_of(values, COUNT(values), &s);
    assert_int_equal(s.n, 8);
    assert_true(s.mean == 5 && s.median == 4.5);
    expect_near(s.sd, 2.13809, 1e-5);
    expect_near(s.cv, 0.427618, 1e-6);
    expect_near(s.ci95_low, 5 - 1.78748, 1e-4);
    expect_near(s.ci95_high, 5 + 1.78748, 1e-4);
}

/* Published for three trials each of a tier validation, storage throughput in tok/s: 1,691 +- 154,
 * 1,546 +- 257, 1,175 +- 178 (CV "9 to 17 %") and 263 +- 2 (0.8 %). m - d, m, m + d have mean m and
 * sd d. */
static void published_trials(void **state) {
    (void)state;
    static const double published[][3] = {
        {1691, 154, 9.1}, {1546, 257, 16.6}, {1175, 178, 15.1}, {263, 2, 0.8}};
    for (size_t i = 0; i < COUNT(published); i++) {
        double m = published[i][0], d = published[i][1], values[] = {m + d, m - d, m};
        struct statistics s;
        statistics_of(values, 3, &s);
        assert_true(s.mean == m && s.median == m);
        expect_near(s.sd, d, 1e-9);
        expect_near(s.cv * 100, published[i][2], 0.05);
        expect_near(s.ci95_high - s.mean, 4.30265 * d / sqrt(3), 0.01);
    }
}

static void few_and_missing_values(void **state) {
    (void)state;
    static const double gaps[] = {NONE, 3, NONE, 5, NONE}, zeros[] = {-1, 1};
    struct statistics s;
    statistics_of(NULL, 0, &s);
    assert_true(s.n == 0 && isnan(s.mean) && isnan(s.median) && isnan(s.sd) && isnan(s.cv) &&
                isnan(s.ci95_low));
    statistics_of(gaps, 2, &s);
    assert_true(s.n == 1 && s.mean == 3 && s.median == 3 && isnan(s.sd) && isnan(s.cv) && isnan(s.ci95_high));
    statistics_of(gaps, COUNT(gaps), &s);
    assert_true(s.n == 2 && s.mean == 4 && s.median == 4);
    expect_near(s.sd, sqrt(2), 1e-12);
    statistics_of(zeros, COUNT(zeros), &s);
    assert_true(s.mean == 0 && isnan(s.cv));
    expect_near(s.sd, sqrt(2), 1e-12);
}

static void equal_values_have_no_spread(void **state) {
    (void)state;
    double values[7];
    struct statistics s;
    for (size_t i = 0; i < COUNT(values); i++) values[i] = 0.1;
    statistics_of(values, COUNT(values), &s);
    expect_near(s.sd, 0, 1e-16);
    expect_near(s.ci95_low, 0.1, 1e-15);
    expect_near(s.ci95_high, 0.1, 1e-15);
}

/* 1 to 5 and their doubles: variances 2.5 and 10, so that the variance of the difference of means is 0.5 + 2;
 * 2.5^2 / (0.5^2 / 4 + 2^2 / 4) = 5.88 degrees of freedom are 5. */
static void welch_worked_by_hand(void **state) {
    (void)state;
    static const double first[] = {1, 2, 3, 4, 5}, second[] = {2, 4, 6, 8, 10}, flat[] = {7, 7};
    struct statistics a, b, c, one;
    uint64_t freedom;
    statistics_of(first, COUNT(first), &a);
    statistics_of(second, COUNT(second), &b);
    statistics_of(flat, COUNT(flat), &c);
    statistics_of(first, 1, &one);
    expect_near(statistics_welch(&a, &b, &freedom), sqrt(2.5), 1e-12);
    assert_int_equal(freedom, 5);
    assert_true(statistics_welch(&c, &c, &freedom) == 0);
    assert_int_equal(freedom, 2);
    assert_true(isnan(statistics_welch(&one, &b, &freedom)));
    assert_int_equal(freedom, 0);
}

#define CASE(function) cmocka_unit_test(function)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(student_s_t_is_that_of_nist),
        CASE(reference_data_sets_of_nist),
        CASE(worked_by_hand),
        CASE(published_trials),
        CASE(few_and_missing_values),
        CASE(equal_values_have_no_spread),
        CASE(welch_worked_by_hand),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("statistics", tests, NULL, NULL);
}
