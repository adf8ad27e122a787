#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "engine/sampling/totals_count.h"

static struct counters *delta;
static struct cache_stats cache;
static struct snapshot snap;
static struct totals totals;

static int set_up(void **state) {
    (void)state;
    memset(&snap, 0, sizeof snap);
    memset(&cache, 0, sizeof cache);
    delta = counters_new(1);
    totals_begin(&totals);
    return delta ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    counters_free(delta, 1);
    return 0;
}

static void add(void) {
    totals_add(&totals, &snap, delta, &cache);
}

static void test_counts(void **state) {
    (void)state;
    snap.classes = 2;
    snap.interval.phase = KVF_PHASE_WARMUP;
    snap.interval.length_s = 0.5;
    snap.interval.done = 3;
    snap.interval.tokens = 100;
    snap.qos[1].done = 2;
    snap.qos[0].violations = KVF_MISSING;
    snap.qos[1].violations = 1;
    snap.decisions = 1;
    cache.hits_in[KVF_TIER_NVME][KVF_CAUSE_RAG] = 4;
    cache.demotions[KVF_TIER_GPU] = 5;
    counters_add(&delta->io[KVF_TIER_CPU][KVF_DIR_WRITE][KVF_CAUSE_PREFILL].bytes, 4096);
    counters_add(&delta->errors[KVF_TIER_CPU][KVF_DIR_READ], 1);
    add();
    snap.interval.phase = KVF_PHASE_MEASURED;
    snap.interval.length_s = 1;
    add();
    add();
    assert_int_equal(totals.intervals, 3);
    assert_true(totals.phase_s[KVF_PHASE_WARMUP] == 0.5 && totals.phase_s[KVF_PHASE_MEASURED] == 2);
    assert_int_equal(totals.done, 9);
    assert_int_equal(totals.tokens, 300);
    assert_int_equal(totals.class_done[1], 6);
    assert_int_equal(totals.class_done[0], 0);
    assert_true(isnan(totals.class_violations[0]) && totals.class_violations[1] == 3);
    assert_int_equal(totals.decisions, 3);
    assert_int_equal(totals.hits[KVF_TIER_NVME][KVF_CAUSE_RAG], 12);
    assert_int_equal(totals.demotions[KVF_TIER_GPU], 15);
    assert_int_equal(totals.bytes[KVF_TIER_CPU][KVF_DIR_WRITE][KVF_CAUSE_PREFILL], 12288);
    assert_int_equal(totals.errors[KVF_TIER_CPU][KVF_DIR_READ], 3);
}

/* A value that one interval lacks is not counted as 0, and the sum so far stays. */
static void test_missing(void **state) {
    (void)state;
    snap.interval.device_read_bytes = KVF_MISSING;
    snap.interval.device_busy_ratio = KVF_MISSING;
    snap.interval.device_read_ms = KVF_MISSING;
    snap.interval.length_s = 2;
    add();
    assert_true(isnan(totals.device_bytes[KVF_DIR_READ]) && isnan(totals.device_busy_s));
    snap.interval.device_read_bytes = 512;
    snap.interval.device_read_ms = 30;
    snap.interval.device_busy_ratio = 0.25;
    add();
    snap.interval.device_read_bytes = KVF_MISSING;
    snap.interval.device_read_ms = KVF_MISSING;
    add();
    assert_true(totals.device_bytes[KVF_DIR_READ] == 512);
    assert_true(fabs(totals.device_s[KVF_DIR_READ] - 0.03) < 1e-12);
    assert_true(totals.device_busy_s == 1); /* a quarter of two intervals of two seconds */
}

/* Bounds are 1, 2.5 and 5 of each decade from 10 us on: 900 us lies under the seventh, 1 ms. */
static void test_histograms(void **state) {
    (void)state;
    struct histogram *h = &delta->latency[REQUEST_LATENCY_TTFT];
    histogram_record(h, 5 * KVF_NS_PER_US);
    histogram_record(h, 900 * KVF_NS_PER_US);
    histogram_record(h, 930 * KVF_NS_PER_US);
    histogram_record(h, 1040 * KVF_NS_PER_US);
    histogram_record(h, 99 * KVF_NS_PER_S);
    histogram_record(h, 200 * KVF_NS_PER_S);
    add();
    add();
    const struct totals_histogram *t = &totals.request[REQUEST_LATENCY_TTFT];
    assert_int_equal(t->count[0], 2);
    assert_int_equal(t->count[20], 4); /* up to 1 ms */
    assert_int_equal(t->count[21], 2); /* up to 1.25 ms */
    assert_int_equal(t->count[TOTALS_BOUNDS - 1], 2);
    assert_int_equal(t->count[TOTALS_BOUNDS], 2);
    uint64_t all = 0;
    for (int i = 0; i <= TOTALS_BOUNDS; i++) all += t->count[i];
    assert_int_equal(all, 12);
    assert_true(fabs(t->sum_s - 2 * 299.002875) < 1e-6);
    assert_true(totals_bounds_s[20] == 1e-3 && totals_bounds_s[TOTALS_BOUNDS - 1] == 100);
    for (int i = 1; i < TOTALS_BOUNDS; i++) {
        double step = totals_bounds_s[i] / totals_bounds_s[i - 1];
        assert_true(step > 1.24 && step < 1.29);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(test_counts, set_up, tear_down),
    cmocka_unit_test_setup_teardown(test_missing, set_up, tear_down),
    cmocka_unit_test_setup_teardown(test_histograms, set_up, tear_down),
};

int main(void) {
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("totals", tests, NULL, NULL);
}
