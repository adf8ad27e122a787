#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

/* Computed by an independent implementation in another language, checked there against the
 * generators' published vectors. */
static void test_reference_vectors(void **state) {
    (void)state;
    static const struct {
        uint64_t seed, index;
        enum rng_stream stream;
        uint64_t state[4], out[4];
    } rows[] = {
        {0,
         0,
         KVF_RNG_USER,
         {0xd1c0270687984b37, 0x40d6b91d40fdec19, 0xdae136e9149ca6ce, 0x2f98b83f4a8eccf9},
         {0xdf451236514033b2, 0x445957a162aa3225, 0x9fb40edbb5ef9e4e, 0x01d3905c553e75bc}},
        {42,
         7,
         KVF_RNG_USER,
         {0x413ff7014e1b1f95, 0x62b084daf1a0da13, 0x96d7421cab50caf2, 0xcd377575cbe87627},
         {0x83ad3e3ca32aafa6, 0x405fff56a8dbb46d, 0x250b2ce141ca27be, 0x8865010e82766865}},
        {UINT64_MAX,
         UINT64_MAX,
         KVF_RNG_TEST,
         {0x7e5d856baeeda056, 0xbdead98b42416326, 0xaefc0a3efb42c451, 0x16a4700765f0e21a},
         {0x241ebd52bf36da2a, 0x1f22851a6ba06719, 0x8b836c2ba453af4d, 0x01363c39300e37dd}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct rng r;
        rng_init(&r, rows[i].seed, rows[i].stream, rows[i].index);
        assert_memory_equal(r.s, rows[i].state, sizeof r.s);
        for (int k = 0; k < 4; k++) assert_int_equal(rng_u64(&r), rows[i].out[k]);
    }
}

/* The vector that the authors of xoshiro256** and the ports of it publish. */
static void test_xoshiro_published(void **state) {
    (void)state;
    static const uint64_t expected[] = {11520,
                                        0,
                                        1509978240,
                                        1215971899390074240,
                                        1216172134540287360,
                                        607988272756665600,
                                        UINT64_C(16172922978634559625),
                                        8476171486693032832,
                                        UINT64_C(10595114339597558777),
                                        2904607092377533576};
    struct rng r = {{1, 2, 3, 4}};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        assert_int_equal(rng_u64(&r), expected[i]);
}

struct moments {
    double mean, variance, min, max;
};

static struct moments measure(double (*draw)(struct rng *, double, double), double a, double b, int n) {
    struct rng r;
    struct moments m = {.min = HUGE_VAL, .max = -HUGE_VAL};
    double m2 = 0;

    rng_init(&r, 2024, KVF_RNG_TEST, 3);
    for (int i = 1; i <= n; i++) { /* Welford */
        double v = draw(&r, a, b), d = v - m.mean;
        m.mean += d / i;
        m2 += d * (v - m.mean);
        m.min = fmin(m.min, v);
        m.max = fmax(m.max, v);
    }
    m.variance = m2 / (n - 1);
    return m;
}

static double draw_double(struct rng *r, double a, double b) {
    (void)a, (void)b;
    return rng_double(r);
}
static double draw_exponential(struct rng *r, double a, double b) {
    (void)b;
    return rng_exponential(r, a);
}
static double draw_normal(struct rng *r, double a, double b) {
    (void)a, (void)b;
    return rng_normal(r);
}
static double draw_range(struct rng *r, double a, double b) {
    return (double)rng_range(r, (uint64_t)a, (uint64_t)b);
}

/* Mean and variance as the textbook has them, within five standard errors of 200,000 draws. */
static void check(struct moments m, double mean, double variance, double kurtosis) {
    const double n = 200000;
    assert_true(fabs(m.mean - mean) < 5 * sqrt(variance / n));
    assert_true(fabs(m.variance - variance) < 5 * variance * sqrt((kurtosis - 1) / n));
}

static void test_distributions(void **state) {
    (void)state;
    const int n = 200000;
    struct moments m = measure(draw_double, 0, 0, n);
    check(m, 0.5, 1.0 / 12, 1.8);
    assert_true(m.min >= 0 && m.max < 1);

    m = measure(rng_uniform, -3, 5, n);
    check(m, 1, 64.0 / 12, 1.8);
    assert_true(m.min >= -3 && m.max < 5);

    m = measure(draw_exponential, 2.5, 0, n);
    check(m, 2.5, 6.25, 9);
    assert_true(m.min >= 0 && isfinite(m.max));

    check(measure(draw_normal, 0, 0, n), 0, 1, 3);

    static const double shapes[] = {0.3, 0.5, 1, 2.5, 40};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        double k = shapes[i], scale = 1.7;
        m = measure(rng_gamma, k, scale, n);
        check(m, k * scale, k * scale * scale, 3 + 6 / k);
        assert_true(m.min >= 0);
    }
    m = measure(draw_range, 10, 19, n); /* ten values: variance (10^2 - 1) / 12 */
    check(m, 14.5, 8.25, 1.78);
    assert_true(m.min == 10 && m.max == 19);
}

/* Chi-square over seven values, 6 degrees of freedom: 99.99 % of fair generators stay under 27.9. */
static void test_range_is_even(void **state) {
    (void)state;
    struct rng r;
    double seen[7] = {0}, chi = 0;

    rng_init(&r, 9, KVF_RNG_TEST, 0);
    for (int i = 0; i < 70000; i++) seen[rng_range(&r, 3, 9) - 3]++;
    for (int i = 0; i < 7; i++) chi += (seen[i] - 10000) * (seen[i] - 10000) / 10000;
    assert_true(chi < 27.9);

    /* A span of three quarters of 2^64: a modulus favours the lower third of it, a product without
     * rejection the multiples of three. */
    const uint64_t top = UINT64_C(3) << 62;
    int low = 0, threes = 0;
    for (int i = 0; i < 30000; i++) {
        uint64_t v = rng_range(&r, 0, top - 1);
        assert_true(v < top);
        low += v < top / 3;
        threes += v % 3 == 0;
    }
    assert_true(abs(low - 10000) < 410); /* five standard deviations */
    assert_true(abs(threes - 10000) < 410);
}

static void test_range_edges(void **state) {
    (void)state;
    struct rng r, same;
    rng_init(&r, 1, KVF_RNG_TEST, 0);
    rng_init(&same, 1, KVF_RNG_TEST, 0);
    assert_int_equal(rng_range(&r, 0, UINT64_MAX), rng_u64(&same));
    assert_int_equal(rng_range(&r, 8, 8), 8);
    for (int i = 0; i < 100; i++) assert_true(rng_range(&r, UINT64_MAX - 1, UINT64_MAX) >= UINT64_MAX - 1);
    assert_true(rng_uniform(&r, 4, 4) == 4);
}

/* Streams that differ in one coordinate share no state and are uncorrelated. */
static void test_streams_are_independent(void **state) {
    (void)state;
    static const uint64_t coordinates[][3] = {
        {1, KVF_RNG_USER, 0}, {2, KVF_RNG_USER, 0}, {1, KVF_RNG_CLASS, 0},  {1, KVF_RNG_USER, 1},
        {0, KVF_RNG_USER, 1}, {1, KVF_RNG_USER, 2}, {1, KVF_RNG_SOURCE, 0}, {2, KVF_RNG_CLASS, 0}};
    enum { N = sizeof coordinates / sizeof coordinates[0], DRAWS = 20000 };
    for (int a = 0; a < N; a++) {
        for (int b = a + 1; b < N; b++) {
            struct rng x, y;
            double dot = 0;
            rng_init(&x, coordinates[a][0], (enum rng_stream)coordinates[a][1], coordinates[a][2]);
            rng_init(&y, coordinates[b][0], (enum rng_stream)coordinates[b][1], coordinates[b][2]);
            for (int k = 0; k < 4; k++) assert_int_not_equal(x.s[k], y.s[k]);
            for (int i = 0; i < DRAWS; i++) dot += (rng_double(&x) - 0.5) * (rng_double(&y) - 0.5);
            assert_true(fabs(dot * 12 / DRAWS) < 5 / sqrt(DRAWS)); /* correlation */
        }
    }
}

static void test_fill(void **state) {
    (void)state;
    struct rng r, same;
    unsigned char bytes[41];
    uint64_t word;

    memset(bytes, 0xee, sizeof bytes);
    rng_init(&r, 3, KVF_RNG_PAYLOAD, 0);
    rng_init(&same, 3, KVF_RNG_PAYLOAD, 0);
    rng_fill(&r, bytes + 1, 32);
    for (int i = 0; i < 4; i++) {
        memcpy(&word, bytes + 1 + 8 * i, 8);
        assert_int_equal(word, rng_u64(&same));
    }
    assert_int_equal(bytes[0], 0xee);
    for (int i = 33; i < 41; i++) assert_int_equal(bytes[i], 0xee);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_reference_vectors),
    cmocka_unit_test(test_xoshiro_published),
    cmocka_unit_test(test_distributions),
    cmocka_unit_test(test_range_is_even),
    cmocka_unit_test(test_range_edges),
    cmocka_unit_test(test_streams_are_independent),
    cmocka_unit_test(test_fill),
};

int main(void) {
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("rng", tests, NULL, NULL);
}
