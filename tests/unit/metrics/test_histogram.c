#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "metrics/histogram.h"

enum { VALUES = 10000 };

/* A generator of the test's own: 64-bit Lehmer with a multiplier of Knuth's. */
static uint64_t next_value(uint64_t *x) {
    return (*x = *x * UINT64_C(6364136223846793005) + 1442695040888963407) >> 1;
}

static struct histogram *fresh(void) {
    struct histogram *h = malloc(sizeof *h);
    assert_non_null(h);
    histogram_init(h);
    return h;
}

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static bool same(const struct histogram *a, const struct histogram *b) {
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++)
        if (a->bucket[i] != b->bucket[i]) return false;
    return a->count == b->count && a->sum == b->sum;
}

/* The buckets cover 0 to 2^46 - 1 in order without gap or overlap, none wider than 1/64 of its
 * values, and there are as many as worked by hand: 128 + 39 octaves x 64. */
static void test_layout(void **state) {
    (void)state;
    uint64_t expected_low = 0;

    assert_int_equal(HISTOGRAM_BUCKETS, 2624);
    for (uint32_t b = 0; b < HISTOGRAM_BUCKETS; b++) {
        uint64_t low = histogram_bucket_low(b), high = histogram_bucket_high(b);
        assert_int_equal(low, expected_low);
        assert_true(high >= low);
        if (low >= 128)
            assert_true((high - low + 1) * 64 <= low);
        else
            assert_int_equal(low, high);
        assert_int_equal(histogram_bucket_of(low), b);
        assert_int_equal(histogram_bucket_of(high), b);
        assert_int_equal(histogram_bucket_of(low + (high - low) / 2), b);
        expected_low = high + 1;
    }
    assert_int_equal(expected_low, UINT64_C(1) << 46);
    assert_int_equal(histogram_bucket_of(UINT64_C(1) << 46), HISTOGRAM_BUCKETS - 1);
    assert_int_equal(histogram_bucket_of(UINT64_MAX), HISTOGRAM_BUCKETS - 1);
}

/* Nearest rank of q = permyriad / 10,000 in whole numbers. */
static uint64_t exact_quantile(const uint64_t *sorted, uint64_t n, uint64_t permyriad) {
    uint64_t rank = (n * permyriad + 9999) / 10000;
    return sorted[(rank ? rank : 1) - 1];
}

static void check_against_sorted(uint64_t *values, uint64_t n) {
    static const uint64_t permyriads[] = {1, 100, 700, 2500, 5000, 9000, 9500, 9900, 9990, 9999, 10000};
    struct histogram *h = fresh();
    double sum = 0;

    for (uint64_t i = 0; i < n; i++) {
        histogram_record(h, values[i]);
        sum += (double)values[i];
    }
    qsort(values, n, sizeof *values, by_value);
    for (size_t i = 0; i < sizeof permyriads / sizeof permyriads[0]; i++) {
        double truth = (double)exact_quantile(values, n, permyriads[i]);
        double told = histogram_quantile(h, (double)permyriads[i] / 10000);
        assert_true(fabs(told - truth) <= truth * 0.01);
        assert_true(fabs(told - truth) <= truth / 128); /* the bound that the layout promises */
    }
    assert_int_equal(histogram_count(h), n);
    assert_true(fabs(histogram_mean(h) - sum / (double)n) <= 1e-9 * sum / (double)n);
    assert_true(histogram_min(h) == (double)values[0] && histogram_max(h) == (double)values[n - 1]);
    free(h);
}

/* One octave after the other, then a mix over all magnitudes, held against the sorted data. */
static void test_error_bound(void **state) {
    (void)state;
    uint64_t *values = malloc(VALUES * sizeof *values), x = 99;

    assert_non_null(values);
    for (int bits = 1; bits <= 46; bits++) {
        for (int i = 0; i < 200; i++)
            values[i] = (next_value(&x) & ((UINT64_C(1) << (bits - 1)) - 1)) | UINT64_C(1) << (bits - 1);
        check_against_sorted(values, 200);
    }
    for (int i = 0; i < VALUES; i++) values[i] = next_value(&x) >> (17 + i % 46);
    check_against_sorted(values, VALUES);
    for (uint64_t i = 0; i < 100; i++) values[i] = i + 1; /* exact below 128 */
    check_against_sorted(values, 100);
    free(values);
}

/* Ranks where binary fractions are a little over a whole number. */
static void test_nearest_rank(void **state) {
    (void)state;
    struct histogram *h = fresh();
    for (uint64_t v = 1; v <= 100; v++) histogram_record(h, v);
    for (int p = 1; p <= 100; p++) assert_true(histogram_quantile(h, p / 100.0) == p);
    assert_true(histogram_quantile(h, 0.001) == 1);
    assert_true(histogram_quantile(h, 0.501) == 51);
    assert_true(histogram_mean(h) == 50.5);
    free(h);
}

static void test_empty(void **state) {
    (void)state;
    struct histogram *h = fresh(), *other = fresh();
    uint8_t byte = 7;

    assert_int_equal(histogram_count(h), 0);
    assert_true(isnan(histogram_mean(h)) && isnan(histogram_quantile(h, 0.5)));
    assert_true(isnan(histogram_min(h)) && isnan(histogram_max(h)));
    assert_int_equal(histogram_encode(h, &byte, 1), 0);
    histogram_add(h, other);
    histogram_subtract(h, other);
    histogram_copy(h, other);
    assert_true(same(h, other));
    assert_int_equal(h->hi, 0);
    free(other);
    free(h);
}

static void test_values_out_of_range(void **state) {
    (void)state;
    struct histogram *h = fresh();
    histogram_record(h, 0);
    histogram_record(h, UINT64_C(1) << 60);
    assert_true(histogram_quantile(h, 0.5) == 0);
    assert_true(histogram_mean(h) == 0x1p59); /* the sum stays exact beyond the last bucket */
    assert_true(histogram_max(h) == 0x1p60);  /* and so does the largest */
    free(h);
}

/* Two halves added are the whole; an earlier state taken away leaves what came since. */
/* Two bins an octave from 1,000 on: edges at 1000, 1414, 2000, 2828, 4000, 5657... Buckets there are 8 to
 * 32 wide and taken by their middle. */
static void test_spread(void **state) {
    (void)state;
    static const uint64_t values[] = {0,    7,    900,  1000, 1300, 1500, 1900, 2000,
                                      2100, 2700, 2900, 3900, 4000, 5500, 5800, 60000};
    static const uint32_t expected[6] = {5, 2, 3, 2, 2, 3};
    struct histogram *h = fresh();
    uint32_t bins[7] = {0, 0, 0, 10, 0, UINT32_MAX - 2, 99}, one = 0;

    histogram_spread(h, 1000, bins, 6); /* nothing in it: nothing is added */
    assert_int_equal(bins[0], 0);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) histogram_record(h, values[i]);
    histogram_record(h, UINT64_C(1) << 60);
    histogram_spread(h, 1000, bins, 6);
    for (size_t b = 0; b < 5; b++) assert_int_equal(bins[b], expected[b] + (b == 3 ? 10 : 0));
    assert_int_equal(bins[5], UINT32_MAX); /* full */
    assert_int_equal(bins[6], 99);
    histogram_spread(h, 1000, &one, 1);
    assert_int_equal(one, 17);
    histogram_spread(h, 1000, NULL, 0);
    free(h);
}

static void test_both(void **state) {
    (void)state;
    struct histogram *a = fresh(), *b = fresh(), *whole = fresh();
    uint64_t x = 4;

    for (int i = 0; i < 5000; i++) {
        uint64_t v = next_value(&x) >> (20 + i % 40);
        histogram_record(whole, v);
        histogram_record_both(a, b, v);
    }
    assert_true(same(a, whole));
    assert_true(same(b, whole));
    free(whole);
    free(b);
    free(a);
}

static void test_add_and_subtract(void **state) {
    (void)state;
    struct histogram *a = fresh(), *b = fresh(), *whole = fresh(), *sum = fresh();
    uint64_t x = 4;

    for (int i = 0; i < 5000; i++) {
        uint64_t v = next_value(&x) >> (20 + i % 40);
        histogram_record(i % 3 ? a : b, v);
        histogram_record(whole, v);
    }
    histogram_add(sum, a);
    histogram_add(sum, b);
    assert_true(same(sum, whole));
    histogram_subtract(sum, a);
    assert_true(same(sum, b));
    histogram_subtract(sum, b);
    assert_int_equal(sum->count, 0);
    assert_int_equal(sum->sum, 0);
    assert_int_equal(sum->hi, 0);
    histogram_copy(sum, whole);
    assert_true(same(sum, whole));
    histogram_copy(sum, b);
    assert_true(same(sum, b));
    free(sum);
    free(whole);
    free(b);
    free(a);
}

/* After a subtraction the bracket is drawn in to the buckets still used. */
static void test_bracket(void **state) {
    (void)state;
    struct histogram *h = fresh(), *earlier = fresh();
    histogram_record(h, 5);
    histogram_record(h, 70000000);
    histogram_copy(earlier, h);
    histogram_record(h, 100);
    histogram_record(h, 90);
    histogram_subtract(h, earlier);
    assert_int_equal(h->lo, 90);
    assert_int_equal(h->hi, 101);
    assert_true(histogram_min(h) == 90 && histogram_max(h) == 100 && histogram_mean(h) == 95);
    free(earlier);
    free(h);
}

/* The extremes of each stretch are those of its values, however close to those of another one, and all of
 * them together again; from a reading without a restart there are buckets alone. */
static void test_extremes_of_stretches(void **state) {
    (void)state;
    struct histogram *h = fresh(), *last = fresh(), *now = fresh(), *sum = fresh();
    uint64_t x = 3;
    for (int stretch = 0; stretch < 200; stretch++) {
        uint64_t least = UINT64_MAX, most = 0, n = next_value(&x) % 4;
        for (uint64_t i = 0; i < n; i++) {
            uint64_t v = 1000000 + next_value(&x) % 20000; /* two buckets */
            least = v < least ? v : least;
            most = v > most ? v : most;
            histogram_record(h, v);
        }
        histogram_copy(now, h);
        histogram_copy(sum, now);
        histogram_subtract(sum, last);
        if (n == 0)
            assert_true(isnan(histogram_max(sum)) && isnan(histogram_min(sum)));
        else
            assert_true(histogram_max(sum) == (double)most && histogram_min(sum) == (double)least);
        histogram_extend(now, last);
        histogram_copy(last, now);
        histogram_restart(h);
    }
    double ever = histogram_max(last);
    for (int i = 0; i < 100; i++) {
        uint64_t v = 1000000 + next_value(&x) % 20000;
        ever = fmax(ever, (double)v);
        histogram_record(h, v);
    }
    histogram_copy(now, h);
    histogram_extend(now, last);
    assert_true(histogram_max(now) == ever);
    histogram_forget(now);
    assert_true(fabs(histogram_max(now) - ever) <= ever / 128);
    free(sum);
    free(now);
    free(last);
    free(h);
}

/* A count without its sum must not make a mean that no value of these buckets could have. */
static void test_half_done_sum(void **state) {
    (void)state;
    struct histogram *h = fresh();
    histogram_record(h, 1000000);
    histogram_record(h, 1000000);
    atomic_store(&h->sum, 1000000);
    assert_true(fabs(histogram_mean(h) - 1e6) < 1e6 / 64);
    atomic_store(&h->sum, 3000000);
    assert_true(fabs(histogram_mean(h) - 1e6) < 1e6 / 64);
    free(h);
}

/* Worked by hand: version 1; sum 1 + 2 x 200 + 201 = 602 = 0xda 0x04; value 1 once: gap 1, count 1; values
 * 200 and 201 lie in bucket 128 + (200 - 128) / 2 = 164, 162 behind bucket 2: 0xa2 0x01, count 3; the largest
 * is 1 above 200. */
static void test_encoding_by_hand(void **state) {
    (void)state;
    static const uint8_t expected[] = {1, 0xda, 0x04, 1, 1, 0xa2, 0x01, 3, 1};
    struct histogram *h = fresh(), *back = fresh();
    uint8_t out[sizeof expected + 2];

    histogram_record(h, 1);
    for (int i = 0; i < 3; i++) histogram_record(h, i == 1 ? 201 : 200);
    memset(out, 0xee, sizeof out);
    assert_int_equal(histogram_encode(h, out, sizeof out), sizeof expected);
    assert_memory_equal(out, expected, sizeof expected);
    assert_int_equal(histogram_decode(back, expected, sizeof expected), 0);
    assert_true(same(h, back) && histogram_max(back) == 201);
    assert_int_equal(histogram_decode(back, expected, sizeof expected - 1),
                     0); /* as older versions wrote it */
    assert_true(same(h, back) && histogram_max(back) == 200.5);

    memset(out, 0xee, sizeof out); /* too little room: the length all the same, nothing beyond */
    assert_int_equal(histogram_encode(h, out, 4), sizeof expected);
    assert_memory_equal(out, expected, 4);
    assert_int_equal(out[4], 0xee);
    assert_int_equal(histogram_encode(h, NULL, 0), sizeof expected);
    free(back);
    free(h);
}

static void test_encoding_round_trip(void **state) {
    (void)state;
    struct histogram *h = fresh(), *back = fresh();
    uint8_t *out = malloc(HISTOGRAM_ENCODED_MAX);
    uint64_t x = 8;

    assert_non_null(out);
    assert_int_equal(histogram_decode(back, out, 0), 0); /* nothing is the empty one */
    assert_int_equal(histogram_count(back), 0);
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 100; i++) histogram_record(h, next_value(&x) >> (17 + (i + round) % 46));
        size_t len = histogram_encode(h, out, HISTOGRAM_ENCODED_MAX);
        assert_true(len > 0 && len <= HISTOGRAM_ENCODED_MAX);
        assert_int_equal(histogram_decode(back, out, len), 0);
        assert_true(same(h, back));
        assert_true(histogram_quantile(h, 0.99) == histogram_quantile(back, 0.99));
        assert_true(histogram_max(h) == histogram_max(back));
    }
    for (uint32_t b = 0; b < HISTOGRAM_BUCKETS; b++) /* the longest there can be */
        atomic_store(&h->bucket[b], UINT64_MAX / HISTOGRAM_BUCKETS);
    atomic_store(&h->lo, 0);
    atomic_store(&h->hi, HISTOGRAM_BUCKETS);
    atomic_store(&h->sum, UINT64_MAX);
    atomic_store(&h->count, UINT64_MAX / HISTOGRAM_BUCKETS * HISTOGRAM_BUCKETS);
    size_t len = histogram_encode(h, out, HISTOGRAM_ENCODED_MAX);
    assert_true(len <= HISTOGRAM_ENCODED_MAX);
    assert_int_equal(histogram_decode(back, out, len), 0);
    assert_true(same(h, back));
    free(out);
    free(back);
    free(h);
}

static void test_malformed(void **state) {
    (void)state;
    static const struct {
        size_t len;
        uint8_t data[24];
    } rows[] = {
        {1, {1}},                         /* no sum */
        {2, {1, 5}},                      /* no bucket */
        {2, {1, 0x80}},                   /* sum cut short */
        {3, {1, 5, 1}},                   /* gap without count */
        {5, {1, 5, 1, 1, 1}},             /* a largest value beyond its bucket */
        {4, {0, 5, 1, 1}},                /* another version */
        {4, {2, 5, 1, 1}},                /* another version */
        {4, {1, 5, 1, 0}},                /* a bucket used no times */
        {4, {1, 5, 1, 0x81}},             /* count cut short */
        {5, {1, 5, 1, 0x81, 0}},          /* a longer form than need be */
        {5, {1, 5, 0xc0, 0x14, 1}},       /* bucket 2624 */
        {7, {1, 5, 0xbf, 0x14, 1, 0, 1}}, /* bucket 2623, then another */
        {13, {1, 5, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2}}, /* 65 bits */
        {14, {1, 5, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x81, 0}},
        {15, {1, 5, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0, 1}}, /* counts overflow */
        {13, {1, 5, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 1}},       /* gap overflows */
    };
    static const uint8_t last[] = {1, 5, 0xbf, 0x14, 1};
    struct histogram *h = fresh();

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint8_t *exact = malloc(rows[i].len); /* so that reading beyond is seen */
        assert_non_null(exact);
        memcpy(exact, rows[i].data, rows[i].len);
        histogram_record(h, 3);
        assert_int_equal(histogram_decode(h, exact, rows[i].len), -1);
        assert_int_equal(histogram_count(h), 0);
        assert_int_equal(h->hi, 0);
        free(exact);
    }
    assert_int_equal(histogram_decode(h, last, sizeof last), 0);
    assert_int_equal(h->bucket[HISTOGRAM_BUCKETS - 1], 1);
    free(h);
}

/* Any cut and any changed byte of a valid form either fails or yields a histogram that encodes to
 * just these bytes: there is one form of each. */
static void test_damaged(void **state) {
    (void)state;
    struct histogram *h = fresh(), *back = fresh();
    uint8_t out[600], again[600];
    uint64_t x = 3;

    for (int i = 0; i < 20; i++) histogram_record(h, next_value(&x) >> (20 + i * 2));
    size_t len = histogram_encode(h, out, sizeof out);
    assert_true(len <= sizeof out);
    for (size_t i = 0; i < len; i++) {
        for (int turn = 0; turn < 9; turn++) {
            uint8_t kept = out[i];
            size_t cut = turn ? len : i;
            if (turn) out[i] ^= (uint8_t)(1 << (turn - 1));
            if (histogram_decode(back, out, cut) == 0) {
                assert_int_equal(histogram_encode(back, again, sizeof again), cut);
                assert_memory_equal(again, out, cut);
            } else {
                assert_int_equal(histogram_count(back), 0);
            }
            out[i] = kept;
        }
    }
    free(back);
    free(h);
}

/* A reader beside the writer: what it copies is at most what was written and never shrinks. */
struct stream {
    struct histogram *h;
    atomic_bool done;
};

static void *write_stream(void *arg) {
    struct stream *s = arg;
    for (uint64_t i = 0; i < 50000; i++) histogram_record(s->h, (i * 7919) % 100000 + 1);
    atomic_store(&s->done, true);
    return NULL;
}

static void test_concurrent_reader(void **state) {
    (void)state;
    struct stream s = {.h = fresh()};
    struct histogram *now = fresh(), *before = fresh(), *interval = fresh(), *total = fresh();
    pthread_t writer;
    bool done;

    assert_int_equal(pthread_create(&writer, NULL, write_stream, &s), 0);
    do {
        done = atomic_load(&s.done);
        if (done) pthread_join(writer, NULL);
        histogram_copy(now, s.h);
        assert_true(now->count >= before->count && now->count <= 50000);
        histogram_copy(interval, now);
        histogram_subtract(interval, before);
        assert_int_equal(interval->count, now->count - before->count);
        histogram_add(total, interval);
        histogram_copy(before, now);
    } while (!done);
    assert_int_equal(total->count, 50000);
    assert_true(same(now, s.h));
    for (uint32_t b = 0; b < HISTOGRAM_BUCKETS; b++) assert_int_equal(total->bucket[b], now->bucket[b]);
    free(total);
    free(interval);
    free(before);
    free(now);
    free(s.h);
}

/* Values under 128 have a bucket each: what lies below can be counted by hand. */
static void test_coded_below(void **state) {
    static const uint64_t values[] = {1, 1, 5, 7, 100, UINT64_C(1) << 40};
    static const uint32_t bucket[] = {0, 1, 4, 5, 99, 100};
    uint64_t below[6], count;
    uint8_t coded[200];
    struct histogram *h = fresh();
    (void)state;
    assert_int_equal(histogram_coded_below(coded, 0, bucket, 6, below, &count), 0);
    assert_true(count == 0 && below[5] == 0);
    for (size_t i = 0; i < 6; i++) histogram_record(h, values[i]);
    size_t len = histogram_encode(h, coded, sizeof coded);
    assert_int_equal(histogram_coded_below(coded, len, bucket, 6, below, &count), 0);
    assert_int_equal(count, 6);
    assert_true(below[0] == 0 && below[1] == 2 && below[2] == 2 && below[3] == 3 && below[4] == 4 &&
                below[5] == 5);
    assert_int_equal(histogram_coded_below(coded, len, bucket, 0, below, &count), 0);
    assert_int_equal(count, 6);
    assert_int_equal(histogram_coded_below(coded, len - 3, bucket, 6, below, &count), -1);
    coded[0] = 99;
    assert_int_equal(histogram_coded_below(coded, len, bucket, 6, below, &count), -1);
    free(h);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_layout),
    cmocka_unit_test(test_error_bound),
    cmocka_unit_test(test_nearest_rank),
    cmocka_unit_test(test_empty),
    cmocka_unit_test(test_values_out_of_range),
    cmocka_unit_test(test_spread),
    cmocka_unit_test(test_both),
    cmocka_unit_test(test_add_and_subtract),
    cmocka_unit_test(test_bracket),
    cmocka_unit_test(test_extremes_of_stretches),
    cmocka_unit_test(test_half_done_sum),
    cmocka_unit_test(test_encoding_by_hand),
    cmocka_unit_test(test_encoding_round_trip),
    cmocka_unit_test(test_malformed),
    cmocka_unit_test(test_damaged),
    cmocka_unit_test(test_coded_below),
    cmocka_unit_test(test_concurrent_reader),
};

int main(void) {
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("histogram", tests, NULL, NULL);
}
