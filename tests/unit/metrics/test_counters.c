#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "metrics/counters.h"

enum { WORKERS = 16 };

static void test_names(void **state) {
    (void)state;
    assert_string_equal(request_latency_name(REQUEST_LATENCY_E2E), "e2e");
    assert_string_equal(request_latency_name(REQUEST_LATENCY_TPOT), "tpot");
    assert_string_equal(request_latency_name(REQUEST_LATENCIES), "?");
}

/* Memory that the kernel holds for the mapping around p; a page of its shared zeroes is none. */
static size_t resident_kib(const void *p) {
    FILE *maps = fopen("/proc/self/smaps", "r");
    char line[512];
    size_t low, high, kib = 0;
    bool inside = false;

    assert_non_null(maps);
    while (fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%zx-%zx ", &low, &high) == 2)
            inside = low <= (uintptr_t)p && (uintptr_t)p < high;
        else if (inside && sscanf(line, "Rss: %zu", &kib) == 1)
            break;
    }
    assert_int_equal(fclose(maps), 0);
    return kib;
}

/* Unused counters are not resident, neither after the start nor after it was summed. */
static void test_untouched_costs_nothing(void **state) {
    (void)state;
    struct counters *c = counters_new(WORKERS), *sum = counters_new(1), *earlier = counters_new(1);

    assert_true(c && sum && earlier);
    assert_int_equal((uintptr_t)c % 64, 0);
    assert_int_equal((uintptr_t)&c[1] % 64, 0);
    size_t before = resident_kib(c), sum_before = resident_kib(sum); /* may be one mapping */
    histogram_record(&c[3].op_total[KVF_TIER_NVME][KVF_DIR_READ], 1000000);
    counters_sum(sum, c, WORKERS);
    counters_sum(earlier, c, WORKERS);
    counters_subtract(sum, earlier);
    assert_int_equal(histogram_count(&sum->op_total[KVF_TIER_NVME][KVF_DIR_READ]), 0);
    /* A few pages of one histogram in each, of 18 x 1.8 MiB. */
    assert_true(resident_kib(c) - before <= 64);
    assert_true(resident_kib(sum) - sum_before <= 64);
    counters_free(earlier, 1);
    counters_free(sum, 1);
    counters_free(c, WORKERS);
    counters_free(NULL, 3);
}

/* Every counter and histogram gets an amount of its own; sums and differences are worked out from
 * those amounts. */
static void fill(struct counters *c, uint64_t k) {
    for (int t = 0; t < KVF_TIERS; t++) {
        for (int d = 0; d < KVF_DIRS; d++) {
            for (int w = 0; w < KVF_CAUSES; w++) {
                counters_add(&c->io[t][d][w].ops, k * (uint64_t)(1 + t + 3 * d + 6 * w));
                counters_add(&c->io[t][d][w].bytes, k * 4096);
                histogram_record(&c->op_cause[t][d][w], k * 10);
            }
            counters_add(&c->errors[t][d], k);
            histogram_record(&c->op_total[t][d], k * 300);
            histogram_record(&c->op_device[t][d], k * 200);
            histogram_record(&c->op_host[t][d], k * 100);
        }
        counters_add(&c->verified[t], 2 * k);
        counters_add(&c->mismatched[t], 3 * k);
        counters_add(&c->unverified[t], 4 * k);
        counters_add(&c->chunks_in_flight[t], 5 * k);
    }
    counters_add(&c->requests_failed, 7 * k);
    counters_add(&c->tokens_generated, 8 * k);
    counters_add(&c->context_tokens, 9 * k);
    counters_add(&c->prompt_seen, 10 * k);
    counters_add(&c->prompt_hits, 15 * k);
    counters_add(&c->prompt_rebuilt, 16 * k);
    counters_add(&c->cpu_ns, 11 * k);
    for (int l = 0; l < REQUEST_LATENCIES; l++) histogram_record(&c->latency[l], k * 1000);
    counters_add_last(&c->requests_done, 6 * k);
    histogram_record(&c->entry_bytes, k * 128);
    for (int q = 0; q < KVF_CLASSES_MAX; q++) {
        counters_add(&c->klass[q].failed, 13 * k);
        histogram_record(&c->klass[q].e2e, k * 5000);
        histogram_record(&c->klass[q].ttft, k * 500);
        counters_add_last(&c->klass[q].done, 12 * k);
        counters_add_last(&c->klass[q].missed, 14 * k);
    }
}

static void check_histogram(const struct histogram *h, uint64_t count, uint64_t sum) {
    assert_int_equal(histogram_count(h), count);
    assert_int_equal(h->sum, sum);
}

/* n records in each histogram, amounts adding up to k. */
static void check_total(const struct counters *c, uint64_t n, uint64_t k, uint64_t in_flight) {
    for (int t = 0; t < KVF_TIERS; t++) {
        for (int d = 0; d < KVF_DIRS; d++) {
            for (int w = 0; w < KVF_CAUSES; w++) {
                assert_int_equal(c->io[t][d][w].ops, k * (uint64_t)(1 + t + 3 * d + 6 * w));
                assert_int_equal(c->io[t][d][w].bytes, k * 4096);
                check_histogram(&c->op_cause[t][d][w], n, k * 10);
            }
            assert_int_equal(c->errors[t][d], k);
            check_histogram(&c->op_total[t][d], n, k * 300);
            check_histogram(&c->op_device[t][d], n, k * 200);
            check_histogram(&c->op_host[t][d], n, k * 100);
        }
        assert_int_equal(c->verified[t], 2 * k);
        assert_int_equal(c->mismatched[t], 3 * k);
        assert_int_equal(c->unverified[t], 4 * k);
        assert_int_equal(c->chunks_in_flight[t], 5 * in_flight);
    }
    assert_int_equal(c->requests_done, 6 * k);
    assert_int_equal(c->requests_failed, 7 * k);
    assert_int_equal(c->tokens_generated, 8 * k);
    assert_int_equal(c->context_tokens, 9 * k);
    assert_int_equal(c->prompt_seen, 10 * k);
    assert_int_equal(c->prompt_hits, 15 * k);
    assert_int_equal(c->prompt_rebuilt, 16 * k);
    assert_int_equal(c->cpu_ns, 11 * k);
    for (int l = 0; l < REQUEST_LATENCIES; l++) check_histogram(&c->latency[l], n, k * 1000);
    check_histogram(&c->entry_bytes, n, k * 128);
    for (int q = 0; q < KVF_CLASSES_MAX; q++) {
        assert_int_equal(c->klass[q].done, 12 * k);
        assert_int_equal(c->klass[q].failed, 13 * k);
        assert_int_equal(c->klass[q].missed, 14 * k);
        check_histogram(&c->klass[q].e2e, n, k * 5000);
        check_histogram(&c->klass[q].ttft, n, k * 500);
    }
}

static void test_sum_and_subtract(void **state) {
    (void)state;
    struct counters *c = counters_new(WORKERS), *sum = counters_new(1), *earlier = counters_new(1);
    assert_true(c && sum && earlier);

    counters_sum(sum, c, WORKERS);
    check_total(sum, 0, 0, 0);
    for (uint64_t w = 0; w < WORKERS; w++) fill(&c[w], w + 1); /* 1 + ... + 16 = 136 */
    counters_sum(earlier, c, WORKERS);
    check_total(earlier, 16, 136, 136);
    fill(&c[0], 1000);
    fill(&c[15], 2000);
    counters_sum(sum, c, WORKERS);
    check_total(sum, 18, 3136, 3136);
    counters_sum(sum, c, WORKERS); /* a sum is no addition to the one before */
    check_total(sum, 18, 3136, 3136);
    counters_subtract(sum, earlier);
    check_total(sum, 2, 3000, 3136); /* in flight is what there is now */
    assert_true(fabs(histogram_mean(&sum->latency[REQUEST_LATENCY_TTFT]) - 1.5e6) < 1e-6);
    counters_sum(sum, c, 1);
    check_total(sum, 2, 1001, 1001);
    counters_sum(sum, c, 0);
    check_total(sum, 0, 0, 0);
    counters_free(earlier, 1);
    counters_free(sum, 1);
    counters_free(c, WORKERS);
}

struct worker {
    struct counters *c;
    pthread_t thread;
};

enum { FILLS = 300, THREADS = 3 };

static void *work(void *arg) {
    struct worker *w = arg;
    for (int i = 0; i < FILLS; i++) fill(w->c, 1);
    return NULL;
}

/* A request counted as done has its latency in the same sum, and what has missed is done. */
static void check_order(const struct counters *sum) {
    uint64_t done = counters_get(&sum->requests_done) / 6;
    for (int l = 0; l < REQUEST_LATENCIES; l++) assert_true(done <= histogram_count(&sum->latency[l]));
    for (int q = 0; q < KVF_CLASSES_MAX; q++) {
        const struct counters_class *k = &sum->klass[q];
        assert_true(counters_get(&k->missed) / 14 <= counters_get(&k->done) / 12);
        assert_true(counters_get(&k->done) / 12 <= histogram_count(&k->e2e));
    }
}

/* The sampler sums while workers count: no interval runs backwards and together they are the whole. */
static void test_concurrent_sampler(void **state) {
    (void)state;
    struct counters *c = counters_new(THREADS), *sums = counters_new(2), *interval = counters_new(1);
    struct worker workers[THREADS];
    uint64_t done = 0, records = 0;
    assert_true(c && sums && interval);

    for (int i = 0; i < THREADS; i++) {
        workers[i].c = &c[i];
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int turn = 0; turn < 50; turn++) {
        struct counters *now = &sums[turn % 2], *before = &sums[1 - turn % 2];
        if (turn == 49)
            for (int i = 0; i < THREADS; i++) pthread_join(workers[i].thread, NULL);
        counters_sum(now, c, THREADS);
        check_order(now);
        counters_sum(interval, now, 1);
        counters_subtract(interval, before);
        uint64_t came = counters_get(&interval->requests_done);
        uint64_t recorded = histogram_count(&interval->klass[7].ttft);
        assert_true(came <= 6 * FILLS * THREADS && recorded <= FILLS * THREADS);
        done += came;
        records += recorded;
    }
    assert_int_equal(done, 6 * FILLS * THREADS);
    assert_int_equal(records, FILLS * THREADS);
    check_total(&sums[1], FILLS * THREADS, FILLS * THREADS, FILLS * THREADS);
    counters_free(interval, 1);
    counters_free(sums, 2);
    counters_free(c, THREADS);
}

/* A writer that is held up in the middle of a request holds nobody up; afterwards all of it is there. */
static void test_request_half_counted(void **state) {
    struct counters *c = counters_new(2), *sum = counters_new(1);
    (void)state;
    counters_request_begin(&c[1]);
    histogram_record(&c[1].latency[REQUEST_LATENCY_E2E], 7);
    counters_sum(sum, c, 2);
    assert_true(histogram_count(&sum->latency[REQUEST_LATENCY_E2E]) == 1 &&
                counters_get(&sum->counting) == 1);
    histogram_record(&c[1].latency[REQUEST_LATENCY_STORAGE_IO], 6);
    counters_request_end(&c[1]);
    counters_sum(sum, c, 2);
    assert_int_equal(histogram_count(&sum->latency[REQUEST_LATENCY_STORAGE_IO]), 1);
    assert_int_equal(counters_get(&sum->counting), 2);
    counters_free(sum, 1);
    counters_free(c, 2);
}

/* Every bucket from a microsecond to a hundred seconds, in every histogram, each with two million values. */
static void test_packed_is_small(void **state) {
    struct counters *c = counters_new(1), *back = counters_new(1);
    struct buf bytes = {0};
    (void)state;
    struct histogram *h = &c->latency[0];
    for (uint32_t b = histogram_bucket_of(1000); b <= histogram_bucket_of(100 * UINT64_C(1000000000)); b++)
        histogram_record_many(h, histogram_bucket_low(b), 2000000, 2000000 * histogram_bucket_low(b));
    for (size_t i = 1;
         i < (offsetof(struct counters, klass) - offsetof(struct counters, latency)) / sizeof *h; i++)
        memcpy((void *)(h + i), (const void *)h, sizeof *h);
    for (int k = 0; k < KVF_CLASSES_MAX; k++) {
        memcpy((void *)&c->klass[k].e2e, (const void *)h, sizeof *h);
        memcpy((void *)&c->klass[k].ttft, (const void *)h, sizeof *h);
    }
    counters_pack(c, &bytes);
    assert_true(bytes.len < 1 << 20);
    assert_int_equal(counters_unpack(back, (const unsigned char *)bytes.data, bytes.len), 0);
    assert_memory_equal(back, c, sizeof *c);
    assert_int_equal(counters_unpack(back, (const unsigned char *)bytes.data, bytes.len - 1), -1);
    assert_int_equal(histogram_count(&back->latency[0]), 0);
    buf_free(&bytes);
    counters_free(c, 1);
    counters_free(back, 1);
}

/* A bucket that no reader would look at, though all of the words are well packed. */
static void test_bucket_outside_its_bracket(void **state) {
    (void)state;
    struct counters *c = counters_new(1), *back = counters_new(1);
    struct buf bytes = {0};
    histogram_record(&c->klass[1].ttft, 1000);
    atomic_store(&c->latency[2].bucket[5], 1);
    counters_pack(c, &bytes);
    assert_int_equal(counters_unpack(back, (const unsigned char *)bytes.data, bytes.len), -1);
    atomic_store(&c->latency[2].bucket[5], 0);
    assert_memory_equal(&back->latency[2], &c->latency[2], sizeof c->latency[2]);
    atomic_store(&c->klass[1].ttft.bucket[HISTOGRAM_BUCKETS - 1], 7);
    buf_free(&bytes);
    counters_pack(c, &bytes);
    assert_int_equal(counters_unpack(back, (const unsigned char *)bytes.data, bytes.len), -1);
    buf_free(&bytes);
    counters_free(c, 1);
    counters_free(back, 1);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_names),
    cmocka_unit_test(test_untouched_costs_nothing),
    cmocka_unit_test(test_sum_and_subtract),
    cmocka_unit_test(test_concurrent_sampler),
    cmocka_unit_test(test_request_half_counted),
    cmocka_unit_test(test_packed_is_small),
    cmocka_unit_test(test_bucket_outside_its_bracket),
};

int main(void) {
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("counters", tests, NULL, NULL);
}
