#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "engine/scale/steady.h"

static struct steady s;
static struct steady_result r;

static void expect_near(double got, double want, double off) {
    if (!(fabs(got - want) <= off)) fail_msg("%.12g is not %.12g within %g", got, want, off);
}

static void expect_words(const char *want) {
    char text[160];
    steady_sentence(&r, text, sizeof text);
    assert_string_equal(text, want);
}

/* Intervals of a second: tokens a second, and as many tokens' worth moved by nvme as given. */
static void add(size_t intervals, double tokens_per_s, double nvme, double moved) {
    for (size_t i = 0; i < intervals; i++)
        steady_add(&s, &(struct steady_cell){1, tokens_per_s, nvme, moved, {0}, {0}});
}

static void a_constant_rate_is_steady_from_the_start(void **state) {
    (void)state;
    steady_begin(&s, 5);
    add(60, 1000, 0, 0);
    steady_judge(&s, &r);
    assert_true(r.known && r.reached);
    assert_true(r.from_s == 5 && r.length_s == 60 && r.tokens_per_s == 1000);
    expect_near(r.throughput.slope, 0, 1e-12);
    expect_near(r.throughput.range, 0, 1e-12);
    assert_true(isnan(r.nvme.slope) && isnan(r.nvme.range));
    expect_words("from 5.00 s on, for 60.0 s: 1.00k tok/s, slope 0.0 %");
}

/* Intervals of a second at a level rate, in which the last tier fills from `from` to `to`; those of the last
 * `evicting` evict. */
static void fill(size_t intervals, double from, double to, size_t evicting) {
    for (size_t i = 0; i < intervals; i++)
        steady_add(&s, &(struct steady_cell){.length_s = 1,
                                             .tokens = 1000,
                                             .used[KVF_TIER_CPU] =
                                                 from + (to - from) * (double)(i + 1) / (double)intervals,
                                             .fallen[KVF_TIER_CPU] = i + evicting >= intervals ? 3 : 0});
}

static void begin_filled(double at_s, double used) {
    steady_begin(&s, at_s);
    s.asked[KVF_TIER_CPU] = true;
    s.begin_used[KVF_TIER_CPU] = used;
}

static void a_tier_that_fills_up_while_it_is_measured_is_not_steady(void **state) {
    (void)state;
    begin_filled(30, 0.45);
    fill(50, 0.45, 1, 0);
    fill(10, 1, 1, 10);
    steady_judge(&s, &r);
    assert_true(r.known && !r.reached && r.filling && r.fill.going && r.fill.full);
    assert_true(r.fill.full_s == 81);
    expect_words("not reached: cpu filled from 45 % to 100 % in the measured part");
}

/* Of 60 s it fills 24 %, which leaves 16 % for 40 s more. */
static void a_tier_that_will_be_full_soon_is_not_steady(void **state) {
    (void)state;
    begin_filled(0, 0.6);
    fill(60, 0.6, 0.84, 0);
    steady_judge(&s, &r);
    assert_true(!r.reached && r.fill.going && !r.fill.full);
    expect_near(r.fill.full_s, 100, 1e-6);
    expect_words(
        "not reached: cpu filled from 60 % to 84 % in the measured part, and would be full 40.0 s later");
}

static void a_tier_full_early_leaves_a_steady_part(void **state) {
    (void)state;
    begin_filled(0, 0.2);
    fill(10, 0.2, 1, 1);
    fill(50, 1, 1, 50);
    steady_judge(&s, &r);
    assert_true(r.reached && !r.filling && r.from_s == 10);
    assert_true(r.fill.going && r.fill.full_s == 10); /* the figures are of the whole */
}

static void no_alarm(const char *what) {
    steady_judge(&s, &r);
    if (!r.reached || r.filling || r.fill.going) fail_msg("%s", what);
}

static void a_tier_that_is_full_or_never_will_be_is_steady(void **state) {
    (void)state;
    begin_filled(0, 1);
    fill(30, 1, 0.7, 30);
    fill(30, 0.7, 1, 30);
    no_alarm("few large entries");
    begin_filled(0, 1);
    fill(20, 1, 0.4, 20);
    fill(40, 0.4, 0.78, 40);
    no_alarm("fewer entries than before");
    begin_filled(0, 0.97);
    fill(30, 0.97, 0.9, 30);
    fill(30, 0.9, 0.95, 0);
    no_alarm("what fell out makes room");
    begin_filled(0, 0.93);
    fill(60, 0.93, 1, 20);
    no_alarm("nearly full before");
    begin_filled(0, 0.1);
    fill(6, 0.1, 1, 1);
    fill(54, 1, 1, 54);
    no_alarm("full within the first tenth");
    begin_filled(0, 0.1);
    fill(60, 0.1, 0.19, 0);
    no_alarm("large");
    begin_filled(0, 0.1);
    fill(60, 0.1, 0.4, 0);
    no_alarm("not full in the measured time again");
    begin_filled(0, 0.1);
    fill(20, 0.1, 0.7, 0);
    fill(40, 0.7, 0.7, 0);
    no_alarm("all that is ever asked for is in it");
    steady_begin(&s, 0);
    fill(60, 0, 1, 10);
    no_alarm("not asked");
}

/* Nothing falls to nvme until cpu is full: the one that is full last is told. */
static void a_tier_above_the_last_one_fills_too(void **state) {
    (void)state;
    begin_filled(0, 0.05);
    s.asked[KVF_TIER_GPU] = s.asked[KVF_TIER_NVME] = true;
    for (size_t i = 0; i < 60; i++) {
        struct steady_cell c = {.length_s = 1, .tokens = 1000};
        c.used[KVF_TIER_GPU] = fmin(1, (double)(i + 1) / 15);
        c.fallen[KVF_TIER_GPU] = i >= 15 ? 4 : 0;
        c.used[KVF_TIER_CPU] = 0.05 + 0.01 * (double)(i + 1);
        steady_add(&s, &c);
    }
    steady_judge(&s, &r);
    assert_true(!r.reached && r.filling && r.fill.going && r.fill.tier == KVF_TIER_CPU && !r.fill.full);
    expect_near(r.fill.full_s, 95, 1e-6);
}

static void too_few_intervals_tell_of_the_fill(void **state) {
    (void)state;
    struct steady_fill f;
    begin_filled(0, 0);
    fill(6, 0, 1, 2);
    steady_filled(&s, &f);
    assert_true(f.going && f.full && f.full_s == 6);
    begin_filled(0, 0);
    steady_filled(&s, &f);
    assert_false(f.going);
}

static void too_few_intervals_say_nothing(void **state) {
    (void)state;
    steady_begin(&s, 0);
    add(STEADY_LEAST - 1, 1000, 500, 1000);
    steady_judge(&s, &r);
    assert_false(r.known || r.reached);
    expect_words("");
    add(1, 1000, 500, 1000);
    steady_judge(&s, &r);
    assert_true(r.known && r.reached);
}

static void nothing_done_says_nothing(void **state) {
    (void)state;
    steady_begin(&s, 0);
    add(100, 0, 0, 50);
    steady_judge(&s, &r);
    assert_false(r.known);
}

/* Ten seconds at 200, then 50 at 1,000. Without the two batches of the start-up every batch is 1,000, the
 * squares are 0, and no other cut has less. */
static void a_start_up_is_cut_off(void **state) {
    (void)state;
    steady_begin(&s, 0);
    add(10, 200, 0, 0);
    add(50, 1000, 0, 0);
    steady_judge(&s, &r);
    assert_true(r.reached && r.from_s == 10 && r.length_s == 50 && r.tokens_per_s == 1000);
}

/* Twelve batches: 0, then 900 and 1,100 in turn, eleven of them. Leaving none out: mean 916.67, squares
 * 1,036,667 / 144 = 7,199. Leaving one out: mean of 900 x 6 and 1,100 x 5 is 990.9, squares 109,091 / 121 =
 * 902. Leaving two out: 1,000, 100,000 / 100 = 1,000. So one. */
static void the_cut_is_where_the_error_of_the_mean_is_least(void **state) {
    (void)state;
    steady_begin(&s, 0);
    add(5, 0, 0, 0);
    for (int i = 0; i < 11; i++) add(5, i % 2 ? 1100 : 900, 0, 0);
    steady_judge(&s, &r);
    assert_true(r.reached && r.from_s == 5 && r.length_s == 55);
    expect_near(r.tokens_per_s, 990.909, 0.001);
    /* rounds of eleven seconds: 5 x 900 + 5 x 1,100 + 900, then 4 x 900 + 5 x 1,100 + 2 x 900, ... */
    double rounds[] = {10900, 10900, 10900, 10900, 10900};
    double low = 1e9, high = 0;
    static const double batch[] = {900, 1100};
    for (int k = 0; k < 5; k++) {
        rounds[k] = 0;
        for (int i = 11 * k; i < 11 * k + 11; i++) rounds[k] += batch[i / 5 % 2] / 11;
        low = fmin(low, rounds[k]);
        high = fmax(high, rounds[k]);
    }
    expect_near(r.throughput.range, (high - low) / 990.909, 1e-6);
}

/* Of any course: no fall or rise by more than the mean is told, and rates that are told go the way that the
 * sentence says. */
static void a_slope_is_told_as_it_was(void **state) {
    (void)state;
    struct rng rng;
    uint32_t told = 0;
    rng_init(&rng, 7, 0, 0);
    for (int run = 0; run < 4000; run++) {
        char text[160];
        double percent;
        steady_begin(&s, 0);
        for (int i = 0; i < 12; i++) add(5, rng_double(&rng) < 0.6 ? 0 : 1000 * rng_double(&rng), 0, 0);
        steady_judge(&s, &r);
        steady_sentence(&r, text, sizeof text);
        const char *by = strstr(text, "fell by ");
        if (!by) by = strstr(text, "rose by ");
        if (by) assert_true(sscanf(by + 8, "%lf", &percent) == 1 && percent <= 100);
        const char *from = strstr(text, " from ");
        if (!from || r.reached) continue;
        told++;
        if (strstr(text, "fell"))
            assert_true(r.throughput.early > r.throughput.late);
        else
            assert_true(r.throughput.early < r.throughput.late);
    }
    assert_true(told > 100);
}

/* From 1,300 down to 700 over 60 seconds. Wherever it is cut within the first half, the rest still falls:
 * the last half from 995 to 700 in five rounds, whose means lie 61.02 apart: 4 x 61.02 / 847.46. */
static void a_falling_rate_is_not_steady(void **state) {
    (void)state;
    steady_begin(&s, 0);
    for (int i = 0; i < 60; i++) add(1, 1300 - 600.0 * i / 59, 0, 0);
    steady_judge(&s, &r);
    assert_true(r.known && !r.reached);
    assert_true(r.from_s == 30 && r.length_s == 30);
    expect_near(r.throughput.slope, -4 * 61.0169 / 847.458, 1e-5);
    expect_near(r.throughput.range, 4 * 61.0169 / 847.458, 1e-5);
    expect_words("not reached: throughput fell by 29 % of its mean over the last 30.0 s");
}

/* A drift that halves of the measured part hide: each of them has half of it. */
static void a_slow_drift_is_not_steady(void **state) {
    static const double drift[] = {0.05, 0.08, 0.12, 0.19, -0.05, -0.1, -0.19};
    struct rng random;
    (void)state;
    for (size_t k = 0; k < sizeof drift / sizeof drift[0]; k++) {
        rng_init(&random, 1, KVF_RNG_TEST, 0);
        steady_begin(&s, 0);
        for (int i = 0; i < 120; i++)
            add(1, 1000 * (1 + drift[k] * i / 119) + 10 * rng_normal(&random), 0, 0);
        steady_judge(&s, &r);
        if (r.reached) fail_msg("a drift of %g is steady", drift[k]);
    }
    char text[160];
    steady_sentence(&r, text, sizeof text);
    assert_non_null(strstr(text, "throughput fell by"));
}

/* Without one, noise of 5 % an interval is seldom taken for a drift, and the slope that remains is told. */
static void noise_is_no_drift(void **state) {
    struct rng random;
    size_t drifts = 0;
    (void)state;
    rng_init(&random, 2, KVF_RNG_TEST, 0);
    for (int k = 0; k < 200; k++) {
        steady_begin(&s, 0);
        for (int i = 0; i < 120; i++) add(1, 1000 + 50 * rng_normal(&random), 0, 0);
        steady_judge(&s, &r);
        drifts += !r.reached;
    }
    if (drifts > 4) fail_msg("%zu of 200", drifts);
    steady_begin(&s, 0);
    for (int i = 0; i < 60; i++) add(1, 1000 + 10.0 * i / 59, 0, 0);
    steady_judge(&s, &r);
    expect_words("from 30.0 s on, for 30.0 s: 1.01k tok/s, slope +0.4 %");
}

static void a_rising_rate_is_not_steady(void **state) {
    (void)state;
    steady_begin(&s, 0);
    for (int i = 0; i < 40; i++) add(1, 100 + 10.0 * i, 0, 0);
    steady_judge(&s, &r);
    assert_true(r.known && !r.reached && r.throughput.slope > 0.1);
    /* the last 20 s: rounds of 4 s, 40 apart, mean 395 */
    expect_near(r.throughput.slope, 160 / 395.0, 1e-9);
    expect_words("not reached: throughput rose by 41 % of its mean over the last 20.0 s");
}

/* Rounds of 900, 0, 0, 0, 0 after such cells: a line that falls by four times the mean of 180, which no rate
 * does of itself: the rates are told. */
static void a_rate_that_ends_is_told_by_its_rates(void **state) {
    (void)state;
    steady_begin(&s, 0);
    for (int i = 0; i < 20; i++) add(1, 900, 0, 0);
    for (int i = 0; i < 4; i++) add(1, 900, 0, 0);
    for (int i = 0; i < 16; i++) add(1, 0, 0, 0);
    steady_judge(&s, &r);
    assert_true(r.known && !r.reached);
    expect_near(r.throughput.slope, -4, 1e-9);
    expect_words(
        "not reached: throughput fell from 450 to 0 tok/s, from the first to the last two fifths of the last "
        "20.0 s");
}

/* Rounds of 1,000, 1,000, 700, 1,000, 1,000: no slope, but a range of 300 / 940. */
static void a_rate_that_swings_is_not_steady(void **state) {
    (void)state;
    static const double round[] = {1000, 1000, 700, 1000, 1000};
    steady_begin(&s, 0);
    add(50, 3000, 0, 0); /* never part of a steady rest */
    for (int k = 0; k < 5; k++) add(10, round[k], 0, 0);
    steady_judge(&s, &r);
    assert_true(r.known && !r.reached && r.from_s == 50);
    expect_near(r.throughput.slope, 0, 1e-12);
    expect_near(r.throughput.range, 300 / 940.0, 1e-12);
    expect_words("not reached: throughput varied by 32 % of its mean over the last 50.0 s");
}

/* The limits are SNIA's and belong to what is allowed: a range of 20 % holds, a little more does not. */
static void the_limits(void **state) {
    (void)state;
    for (int over = 0; over < 2; over++) {
        double off = over ? 100.1 : 99.9;
        steady_begin(&s, 0);
        add(50, 3000, 0, 0);
        add(10, 1000 + off, 0, 0);
        add(10, 1000 - off, 0, 0);
        add(10, 1000, 0, 0);
        add(10, 1000 - off, 0, 0);
        add(10, 1000 + off, 0, 0);
        steady_judge(&s, &r);
        assert_int_equal(r.reached, !over);
    }
    /* the line through 950 + e, 975, 1,000, 1,025, 1,050 - e is 10 % steep for e = 0: 2.5 % a round */
    for (int over = 0; over < 2; over++) {
        double step = over ? 25.1 : 24.9;
        steady_begin(&s, 0);
        add(50, 3000, 0, 0);
        for (int k = -2; k <= 2; k++) add(10, 1000 + step * k, 0, 0);
        steady_judge(&s, &r);
        assert_int_equal(r.reached, !over);
        expect_near(r.throughput.slope, 4 * step / 1000, 1e-9);
    }
}

/* MSER-5 would leave nothing out (1,354 against 1,521 without the first batch), but then the line through
 * the rounds 1,150, 1,100, 988, 975, 1,038 falls by 13 %. Five seconds later they are 1,150, 1,027, 986, 986
 * and 1,055: 8.9 %, and 15.7 % apart. */
static void a_later_beginning_is_found(void **state) {
    (void)state;
    static const double batch[] = {1150, 1150, 1150, 1150, 1000, 850, 1150, 850, 1150, 850, 1150, 1000};
    steady_begin(&s, 0);
    for (size_t i = 0; i < sizeof batch / sizeof batch[0]; i++) add(5, batch[i], 0, 0);
    steady_judge(&s, &r);
    assert_true(r.reached && r.from_s == 5 && r.length_s == 55);
    expect_near(r.throughput.slope, -0.0890827, 1e-6);
    expect_near(r.throughput.range, 0.1572052, 1e-6);
}

static void nvme_counts_from_a_tenth_of_the_traffic_on(void **state) {
    (void)state;
    for (int much = 0; much < 2; much++) {
        double moved = much ? 950 : 1050; /* nvme moves 100 in the mean of the last half */
        steady_begin(&s, 0);
        for (int i = 0; i < 60; i++) add(1, 500, i < 30 ? 160 : 129 - 2.0 * (i - 30), moved);
        steady_judge(&s, &r);
        assert_true(r.known);
        assert_int_equal(r.reached, !much);
        assert_int_equal(isnan(r.nvme.slope), !much);
        if (!much) continue;
        expect_near(r.nvme.slope, -48 / 100.0, 1e-9); /* rounds of 6 s, 12 apart, mean 100 */
        expect_words("not reached: nvme traffic fell by 48 % of its mean over the last 30.0 s");
    }
}

static void without_tokens_nvme_alone_is_judged(void **state) {
    (void)state;
    steady_begin(&s, 0);
    add(10, 0, 10, 10);
    add(50, 0, 80, 80);
    steady_judge(&s, &r);
    assert_true(r.reached && r.from_s == 10 && isnan(r.throughput.slope));
    assert_true(r.nvme_tokens_per_s == 80 && r.tokens_per_s == 0);
    expect_words("from 10.0 s on, for 50.0 s: 0 tok/s, nvme 80 tok/s, slope 0.0 %");
}

/* Noise of a uniform +- 30 % an interval is 17 % of standard deviation; a round of twelve has 5 %, and five
 * of them are within 20 % nearly always. */
static void noise_of_single_intervals_is_no_unsteadiness(void **state) {
    (void)state;
    int reached = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct rng g;
        rng_init(&g, seed, KVF_RNG_TEST, 0);
        steady_begin(&s, 0);
        for (int i = 0; i < 60; i++) add(1, 1000 * (0.7 + 0.6 * rng_double(&g)), 0, 0);
        steady_judge(&s, &r);
        reached += r.reached;
    }
    assert_in_range(reached, 180, 200);
}

/* 100,000 intervals of a second: 20,000 at 2,000, then 1,000. They lie in cells of 256. */
static void memory_is_constant_however_long_the_run(void **state) {
    (void)state;
    steady_begin(&s, 0);
    add(20000, 2000, 300, 300);
    add(80000, 1000, 300, 300);
    assert_true(s.cells <= STEADY_CELLS && s.cells > STEADY_CELLS / 2);
    double length = 0, tokens = 0;
    for (size_t i = 0; i < s.cells; i++) {
        length += s.cell[i].length_s;
        tokens += s.cell[i].tokens;
    }
    assert_true(length == 100000 && tokens == 120e6);
    steady_judge(&s, &r);
    assert_true(r.reached);
    expect_near(r.from_s, 20000, 256 * STEADY_BATCH);
    expect_near(r.tokens_per_s, 1000, 20);
    assert_true(r.nvme_tokens_per_s == 300);
}

/* The last interval of a phase is cut; rates are of sums, so it weighs as little as it is long. */
static void a_short_interval_weighs_little(void **state) {
    (void)state;
    steady_begin(&s, 0);
    add(60, 1000, 0, 0);
    steady_add(&s, &(struct steady_cell){.length_s = 0.001});
    steady_judge(&s, &r);
    assert_true(r.reached);
    expect_near(r.tokens_per_s, 1000, 0.1);
    expect_near(r.throughput.range, 0, 0.001);
}

#define CASE(function) cmocka_unit_test(function)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(a_constant_rate_is_steady_from_the_start),
        CASE(a_tier_that_fills_up_while_it_is_measured_is_not_steady),
        CASE(a_tier_that_will_be_full_soon_is_not_steady),
        CASE(a_tier_full_early_leaves_a_steady_part),
        CASE(a_tier_that_is_full_or_never_will_be_is_steady),
        CASE(a_tier_above_the_last_one_fills_too),
        CASE(too_few_intervals_tell_of_the_fill),
        CASE(too_few_intervals_say_nothing),
        CASE(nothing_done_says_nothing),
        CASE(a_start_up_is_cut_off),
        CASE(the_cut_is_where_the_error_of_the_mean_is_least),
        CASE(a_falling_rate_is_not_steady),
        CASE(a_slope_is_told_as_it_was),
        CASE(a_slow_drift_is_not_steady),
        CASE(noise_is_no_drift),
        CASE(a_rising_rate_is_not_steady),
        CASE(a_rate_that_ends_is_told_by_its_rates),
        CASE(a_rate_that_swings_is_not_steady),
        CASE(the_limits),
        CASE(a_later_beginning_is_found),
        CASE(nvme_counts_from_a_tenth_of_the_traffic_on),
        CASE(without_tokens_nvme_alone_is_judged),
        CASE(noise_of_single_intervals_is_no_unsteadiness),
        CASE(memory_is_constant_however_long_the_run),
        CASE(a_short_interval_weighs_little),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("steady", tests, NULL, NULL);
}
