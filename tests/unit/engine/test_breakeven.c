#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "engine/limits/breakeven.h"
#include "scenario/load.h"

static struct scenario *scenario;
static struct counters *counters;

enum { STEP_MIB = 205 };

/* Reads of 1 to 40 times 205 MiB that take latency_us and us_per_mib, and every other one `apart_us` less,
 * its neighbour as much more. */
static void loads_apart(double latency_us, double us_per_mib, double apart_us) {
    counters_free(counters, 1);
    counters = counters_new(1);
    for (uint64_t i = 1; i <= 40; i++) {
        double us = latency_us + us_per_mib * (double)(i * STEP_MIB) + (i % 2 ? -apart_us : apart_us);
        counters_load(counters, KVF_TIER_REMOTE, i * STEP_MIB * KVF_MIB, (uint64_t)us * 1000);
    }
}

static void loads(double latency_us, double us_per_mib) {
    loads_apart(latency_us, us_per_mib, 0);
}

static double tokens(void) {
    return breakeven_of(scenario, counters, KVF_TIER_REMOTE).tokens;
}

/* 128 KiB a token: 8 tokens are a MiB. The reads are between 128 MiB and 16 GiB. */
enum { FROM = 1024, TO = 131072 };

static bool loads_sooner(uint64_t n, double latency_us, double us_per_mib) {
    struct roofline r;
    assert_int_equal(scenario_roofline(scenario, &r, NULL), 0);
    return (latency_us + us_per_mib * (double)n / 8) * 1e3 <= (double)roofline_prefill_ns(&r, n, 0);
}

static void it_is_where_the_curves_cross_for_good(void **state) {
    static const double links[][2] = {{100000, 20}, {500000, 100}, {2000000, 300}};
    (void)state;
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        loads(links[i][0], links[i][1]);
        uint64_t n = (uint64_t)tokens();
        assert_true(n > FROM && n < TO);
        for (uint64_t above = n + n / 100 + 1; above <= TO; above *= 2)
            assert_true(loads_sooner(above, links[i][0], links[i][1]));
        assert_false(loads_sooner(n - n / 100 - 1, links[i][0], links[i][1]));
    }
}

static void sizes_have_the_time_of_the_line_and_that_of_a_prefill(void **state) {
    struct result_list out = {0};
    struct roofline r;
    (void)state;
    loads(100000, 20);
    breakeven_results(scenario, counters, &out);
    assert_int_equal(scenario_roofline(scenario, &r, NULL), 0);
    assert_true(fabs(result_value(&out, "recompute_4k_ms") - (double)roofline_prefill_ns(&r, 4000, 0) / 1e6) <
                1e-6);
    assert_true(fabs(result_value(&out, "remote_load_4k_ms") - 110) < 0.01); /* 100 ms and 500 MiB x 20 us */
    assert_true(fabs(result_value(&out, "remote_load_64k_ms") - 260) < 0.01);
    assert_true(isnan(result_value(&out, "cpu_load_4k_ms")));
    assert_true(isnan(result_value(&out, "remote_load_1k_ms"))); /* shorter than any that was read */
    assert_true(isnan(result_value(&out, "recompute_1k_ms")));
    assert_true(result_value(&out, "remote_loads_from_tokens") == FROM);
    assert_true(result_value(&out, "remote_loads_to_tokens") == TO);
    assert_true(result_value(&out, "remote_break_even_tokens") == tokens());
    free(out.items);
}

/* 40 reads of 4202.5 MiB and 163 ms in the mean; a slope's standard error is 7 us a MiB where they are 103 ms
 * apart. */
static void a_slope_within_its_error_is_no_line(void **state) {
    static const double apart_us[] = {100, 103000};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct result_list out = {0};
        loads_apart(100000, 15, apart_us[i]);
        breakeven_results(scenario, counters, &out);
        double sure_ms = 100 + 8000 * 0.015, each_ms = 8000 / 4202.5 * (100 + 4202.5 * 0.015);
        double told_ms = result_value(&out, "remote_load_64k_ms");
        assert_true(fabs(told_ms / (i ? each_ms : sure_ms) - 1) < 0.02);
        free(out.items);
    }
}

static void a_fast_tier_wins_at_all_sizes_read_and_a_slow_one_at_none(void **state) {
    (void)state;
    loads(0, 1);
    assert_true(tokens() == FROM);
    loads(0, 1e6);
    assert_true(tokens() == 0);
}

/* Entries of 12 tokens take 20 ms each, longer than their prefill: of longer contexts they tell nothing. */
static void reads_of_one_size_tell_of_no_other(void **state) {
    struct result_list out = {0};
    (void)state;
    counters_free(counters, 1);
    counters = counters_new(1);
    for (int i = 0; i < 100; i++) counters_load(counters, KVF_TIER_REMOTE, 3 * KVF_MIB / 2, 20000000);
    struct metric_break_even b = breakeven_of(scenario, counters, KVF_TIER_REMOTE);
    assert_true(b.tokens == 0 && b.from_tokens == 8 && b.to_tokens == 16);
    breakeven_results(scenario, counters, &out);
    for (int i = 0; i < METRIC_SIZES; i++) {
        assert_true(isnan(result_named(&out, "remote_load_%s_ms", metric_sizes[i])));
        assert_true(isnan(result_named(&out, "recompute_%s_ms", metric_sizes[i])));
    }
    free(out.items);
}

static void what_cannot_be_told_is_missing(void **state) {
    (void)state;
    loads(100, 20);
    atomic_store(&counters->loads[KVF_TIER_REMOTE], BREAKEVEN_LOADS - 1);
    assert_true(isnan(tokens()));
    loads(100, 20);
    scenario->tier[KVF_TIER_REMOTE].on = false;
    assert_true(isnan(tokens()));
    scenario->tier[KVF_TIER_REMOTE].on = true;
}

static int set_up(void **state) {
    struct scenario_report report;
    (void)state;
    scenario = calloc(1, sizeof *scenario);
    int rc = scenario_load(NULL, "{model: llama3.1-8b, tiers: {remote: {capacity: 1GiB}}}", NULL, 0, scenario,
                           NULL, &report);
    scenario_load_free(&report);
    return rc;
}

static int tear_down(void **state) {
    (void)state;
    counters_free(counters, 1);
    free(scenario);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slope_within_its_error_is_no_line),
        cmocka_unit_test(it_is_where_the_curves_cross_for_good),
        cmocka_unit_test(sizes_have_the_time_of_the_line_and_that_of_a_prefill),
        cmocka_unit_test(a_fast_tier_wins_at_all_sizes_read_and_a_slow_one_at_none),
        cmocka_unit_test(reads_of_one_size_tell_of_no_other),
        cmocka_unit_test(what_cannot_be_told_is_missing),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
