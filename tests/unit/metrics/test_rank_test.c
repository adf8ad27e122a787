#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>

#include "metrics/rank_test.h"

#define COUNT(of) (sizeof of / sizeof *(of))

static void expect_near(double got, double want, double off) {
    if (!(fabs(got - want) <= off)) fail_msg("%.12g is not %.12g within %g", got, want, off);
}

/* Samples of which `u` pairs have the value of the first above that of the second: each of the first has as
 * many of the second below it as are still to be had. The second has the values 0, 1, ... */
static double p_of_u(size_t n, size_t m, size_t u) {
    double a[60], b[60];
    for (size_t i = 0; i < m; i++) b[i] = (double)i;
    for (size_t i = 0; i < n; i++) {
        size_t below = u < m ? u : m;
        a[i] = (double)below - 0.5 - (double)i / 1000;
        u -= below;
    }
    assert_int_equal(u, 0);
    double p = rank_test_p(a, n, b, m);
    expect_near(rank_test_p(b, m, a, n), p, 1e-12); /* two-sided: whichever comes first */
    return p;
}

/* Critical values of the two-sided test at 5 %, as tables of Mann and Whitney's U print them: that U is
 * significant, one more is not. */
static void published_critical_values(void **state) {
    static const struct {
        size_t n, m, u;
    } table[] = {{3, 5, 0},  {4, 4, 0},    {4, 9, 4},    {5, 5, 2},    {5, 7, 5},    {6, 6, 5},
                 {8, 8, 13}, {10, 10, 23}, {12, 12, 37}, {15, 20, 90}, {20, 20, 127}};
    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        double there = p_of_u(table[i].n, table[i].m, table[i].u);
        double beyond = p_of_u(table[i].n, table[i].m, table[i].u + 1);
        if (!(there <= 0.05) || !(beyond > 0.05))
            fail_msg("%zu and %zu: U %zu has %g, one more %g", table[i].n, table[i].m, table[i].u, there,
                     beyond);
    }
    expect_near(p_of_u(10, 10, 23), 0.04325705,
                1e-8); /* counted by the recursion of Mann and Whitney's paper */
    expect_near(p_of_u(25, 25, 211), 0.04942507, 1e-8);
}

/* The example of SciPy's manual, method "exact": U of 17, p of 0.1111. */
static void scipy_s_example(void **state) {
    static const double males[] = {19, 22, 16, 29, 24}, females[] = {20, 11, 17, 12};
    (void)state;
    expect_near(rank_test_p(males, 5, females, 4), 1.0 / 9, 1e-12);
}

/* Ranks 1, 2.5, 2.5, 4: of the six pairs that the first could be, {1, 2.5} twice and {2.5, 4} twice are as
 * far from 5 as it is. */
static void ties_worked_by_hand(void **state) {
    static const double a[] = {1, 2}, b[] = {2, 3}, same[] = {7, 7, 7, 7};
    (void)state;
    expect_near(rank_test_p(a, 2, b, 2), 4.0 / 6, 1e-12);
    expect_near(rank_test_p(same, 4, same, 4), 1, 1e-12);
}

/* U of 330 for 30 and 30: z = (450 - 330 - 0.5) / sqrt(30 x 30 x 61 / 12) = 1.76675, so p = 0.07727. */
static void many_values_by_the_normal_approximation(void **state) {
    (void)state;
    expect_near(p_of_u(30, 30, 330), 0.0772720, 1e-6);
    assert_true(p_of_u(30, 30, 0) < 1e-10);
}

static void few_values(void **state) {
    static const double one[] = {1}, three[] = {5, 6, 7};
    (void)state;
    assert_true(isnan(rank_test_p(one, 0, three, 3)) && isnan(rank_test_p(three, 3, one, 0)));
    expect_near(rank_test_p(one, 1, three, 3), 0.5, 1e-12); /* two of four places */
    expect_near(rank_test_least(3, 3), 0.1, 1e-12);
    expect_near(rank_test_least(3, 4), 2.0 / 35, 1e-12);
    expect_near(rank_test_least(4, 4), 2.0 / 70, 1e-12);
    expect_near(rank_test_least(1, 1), 1, 1e-12);
    expect_near(p_of_u(3, 3, 0), 0.1, 1e-12);
}

#define CASE(function) cmocka_unit_test(function)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(published_critical_values),
        CASE(scipy_s_example),
        CASE(ties_worked_by_hand),
        CASE(many_values_by_the_normal_approximation),
        CASE(few_values),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("rank_test", tests, NULL, NULL);
}
