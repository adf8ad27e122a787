/* The cost of single parts, without a run around them.
 *
 *   bench_parts record              ns to record a latency
 *   bench_parts snapshot WORKERS    ms for the sums of a snapshot over so many workers
 *   bench_parts cache               decisions of an LRU cache per second
 *   bench_parts autoscaler MODE     us for an interval of a search, qos or capacity: mean and P99
 *
 * Prints one number (autoscaler two), of processor time, so that other work on the machine does not count. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/rng.h"
#include "cache/cache.h"
#include "engine/scale/autoscaler.h"
#include "engine/scale/saturation.h"
#include "metrics/counters.h"
#include "tests/bench/bench_places.h"

enum {
    VALUES = 1 << 16,
    RECORDS = 1 << 25,
    SNAPSHOTS = 200,
    OPERATIONS = 10000,
    KEYS = 200000,
    STEPS = 1000000,
    BINS = 64,
    INTERVALS = 2000,
    KNEE = 300,    /* users that a run carries */
    ANSWERED = 200 /* requests of a class in an interval */
};
#define ENTRY_BYTES UINT64_C(1048576)

static int fail(const char *what) {
    fprintf(stderr, "bench_parts: %s\n", what);
    return 1;
}

/* Latencies as they come: most within a decade around 1 ms, a tail up to seconds. */
static void values_fill(uint64_t *value, size_t count, struct rng *rng) {
    for (size_t i = 0; i < count; i++) {
        double u = rng_double(rng);
        value[i] = (uint64_t)(3e5 / (1.0 - 0.9999 * u));
    }
}

static int record_main(struct rng *rng) {
    uint64_t *value = malloc(VALUES * sizeof *value);
    struct histogram *h = calloc(1, sizeof *h);
    if (!value || !h) return fail("no memory");
    histogram_init(h);
    values_fill(value, VALUES, rng);
    for (size_t i = 0; i < VALUES; i++) histogram_record(h, value[i]);
    uint64_t from = clock_thread_cpu_ns();
    for (size_t i = 0; i < RECORDS; i++) histogram_record(h, value[i % VALUES]);
    uint64_t took = clock_thread_cpu_ns() - from;
    if (histogram_count(h) != (uint64_t)RECORDS + VALUES) return fail("values were lost");
    printf("%.3f\n", (double)took / RECORDS);
    free(value);
    free(h);
    return 0;
}

/* Every histogram that a run on three tiers with three classes fills; of the causes those that it has. */
static void counters_fill(struct counters *c, struct rng *rng) {
    static const enum kvf_cause cause[KVF_DIRS][4] = {
        {KVF_CAUSE_DECODE, KVF_CAUSE_CONVERSATION, KVF_CAUSE_PREFIX, KVF_CAUSE_DEMOTION},
        {KVF_CAUSE_PREFILL, KVF_CAUSE_DECODE, KVF_CAUSE_PREFIX, KVF_CAUSE_DEMOTION}};
    uint64_t value[OPERATIONS];
    values_fill(value, OPERATIONS, rng);
    for (size_t i = 0; i < OPERATIONS; i++) {
        for (int l = 0; l < REQUEST_LATENCIES; l++) histogram_record(&c->latency[l], value[i]);
        for (int t = 0; t < KVF_TIERS; t++)
            for (int d = 0; d < KVF_DIRS; d++) {
                histogram_record(&c->op_total[t][d], value[i]);
                histogram_record(&c->op_device[t][d], value[i] / 2);
                histogram_record(&c->op_host[t][d], value[i] / 3);
                histogram_record(&c->op_cause[t][d][cause[d][i % 4]], value[i]);
            }
        histogram_record(&c->entry_bytes, value[i] * 64);
        histogram_record(&c->klass[i % 3].e2e, value[i]);
        histogram_record(&c->klass[i % 3].ttft, value[i]);
        counters_add(&c->requests_done, 1);
    }
}

static double quantiles_sum(const struct histogram *h) {
    return histogram_quantile(h, 0.5) + histogram_quantile(h, 0.95) + histogram_quantile(h, 0.99) +
           histogram_quantile(h, 0.999) + histogram_mean(h);
}

/* The sampler's work on the counters for an interval: sum over the workers, difference to the
 * sum before, quantiles, the spread of three latencies, and a copy for the next time. */
static int snapshot_main(unsigned workers, struct rng *rng) {
    struct counters *c = counters_new(workers), *now = counters_new(1), *last = counters_new(1),
                    *delta = counters_new(1);
    volatile double sink = 0;
    uint32_t bins[BINS] = {0};
    if (!c || !now || !last || !delta) return fail("no memory");
    for (unsigned w = 0; w < workers; w++) counters_fill(&c[w], rng);
    uint64_t took = 0;
    for (int i = 0; i < SNAPSHOTS; i++) {
        for (unsigned w = 0; w < workers; w++) /* so that every interval has something new */
            histogram_record(&c[w].latency[REQUEST_LATENCY_E2E], 1000000);
        uint64_t from = clock_thread_cpu_ns();
        counters_sum(now, c, workers);
        counters_sum(delta, now, 1);
        counters_subtract(delta, last);
        for (int l = 0; l < REQUEST_LATENCIES; l++) sink += quantiles_sum(&delta->latency[l]);
        for (int t = 0; t < KVF_TIERS; t++)
            for (int d = 0; d < KVF_DIRS; d++)
                sink += quantiles_sum(&delta->op_total[t][d]) + quantiles_sum(&delta->op_device[t][d]) +
                        quantiles_sum(&delta->op_host[t][d]);
        histogram_spread(&delta->latency[REQUEST_LATENCY_E2E], 1000, bins, BINS);
        for (int d = 0; d < KVF_DIRS; d++)
            histogram_spread(&delta->op_total[KVF_TIER_NVME][d], 1000, bins, BINS);
        counters_sum(last, now, 1);
        took += clock_thread_cpu_ns() - from;
    }
    printf("%.6f\n", (double)took / SNAPSHOTS / 1e6);
    counters_free(c, workers);
    counters_free(now, 1);
    counters_free(last, 1);
    counters_free(delta, 1);
    (void)sink;
    return 0;
}

/* ---- cache ---- */

/* Carries out what is ready without moving a byte. */
static void drain(struct cache *c) {
    struct cache_op *op;
    while ((op = cache_next_ready(c)) != NULL) cache_finish(c, op, CACHE_DONE, false);
}

static void cache_step(struct cache *c, uint64_t number) {
    struct cache_key key = cache_key_make(CACHE_KEY_TURN, number, 1);
    struct cache_op *op;
    int tier = cache_where(c, key);
    cache_count_lookup(c, KVF_CAUSE_CONVERSATION, tier);
    if (tier >= 0)
        cache_read(c, key, &(struct cache_access){.cause = KVF_CAUSE_CONVERSATION}, 0, c);
    else
        cache_write(c, key, ENTRY_BYTES, &(struct cache_access){.cause = KVF_CAUSE_PREFILL}, 0, c, &op);
    drain(c);
}

/* Three tiers that hold half of the keys together, asked for at random: half of the lookups hit, the
 * others write, and each write pushes an entry through the tiers and one out of them. */
static int cache_main(struct rng *rng) {
    uint64_t places = 0;
    struct err e = {0};
    struct cache_config config = {.placement = KVF_PLACEMENT_WATERFALL,
                                  .promotion = KVF_PROMOTION_NEVER,
                                  .ctx = &places,
                                  .alloc = place_alloc,
                                  .drop = place_drop};
    static const uint64_t share[KVF_TIERS] = {KEYS / 20, KEYS / 10, KEYS / 2 - KEYS / 20 - KEYS / 10};
    for (int t = 0; t < KVF_TIERS; t++) {
        config.on[t] = true;
        config.usable_bytes[t] = share[t] * ENTRY_BYTES;
        config.eviction[t] = KVF_EVICTION_LRU;
    }
    struct cache *c = cache_open(&config, &e);
    if (!c) return fail(e.text);
    struct cache_stats before, after;
    for (int i = 0; i < KEYS; i++) cache_step(c, (uint64_t)i);
    cache_stats(c, &before);
    uint64_t from = clock_thread_cpu_ns();
    for (int i = 0; i < STEPS; i++) cache_step(c, rng_range(rng, 0, KEYS - 1));
    uint64_t took = clock_thread_cpu_ns() - from;
    cache_stats(c, &after);
    if (cache_check(c, &e) != 0) return fail(e.text);
    printf("%.0f\n", (double)(after.decisions - before.decisions) * 1e9 / (double)took);
    cache_close(c);
    return 0;
}

/* ---- autoscaler ---- */

/* Eight classes whose latencies grow with the users and are past their targets beyond the knee. */
static void signals_fill(struct stage_signals *in, struct histogram *answered, uint64_t users,
                         struct rng *rng) {
    double load = (double)users / KNEE;
    *in = (struct stage_signals){
        .length_s = 1, .tokens = 1e4 * (load < 1 ? load : 1), .nvme_tokens = 1e5 * load};
    for (int k = 0; k < KVF_CLASSES_MAX; k++) {
        histogram_init(&answered[k]);
        for (int i = 0; i < ANSWERED; i++)
            histogram_record(&answered[k], (uint64_t)(1e8 * load * (0.5 + 0.55 * rng_double(rng)) * (k + 1)));
        in->klass[k] = (struct stage_class_signals){.latency = &answered[k], .in_service = 3};
    }
}

static double saturation_now(const struct stage_signals *in) {
    struct saturation_input s = {.classes = KVF_CLASSES_MAX,
                                 .can_wait = true,
                                 .arrived = 1000,
                                 .in_service = 20,
                                 .device_busy = 0.5,
                                 .weight_latency = 0.5,
                                 .weight_queue = 0.25,
                                 .weight_device = 0.25};
    for (int k = 0; k < KVF_CLASSES_MAX; k++)
        s.klass[k] = (struct saturation_class){
            .target_ms = 100 * (k + 1), .p95_ms = histogram_quantile(in->klass[k].latency, 0.95) / 1e6};
    for (int t = 0; t < KVF_TIERS; t++) s.link_busy[t] = 0.6;
    return saturation_of(&s).value;
}

static int ascending(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* One search after the other from a single user, so that stages, decisions and windows are all in it. */
static int autoscaler_main(enum autoscaler_mode mode, struct rng *rng) {
    static struct autoscaler a;
    static struct histogram answered[KVF_CLASSES_MAX];
    static struct snapshot_decision decision;
    struct stage_signals in;
    struct autoscaler_config config = {
        .mode = mode,
        .rules = {.figure = mode == AUTOSCALER_QOS ? STAGE_TARGETS : STAGE_TOKENS,
                  .limit_saturation = 0.8,
                  .classes = KVF_CLASSES_MAX},
        .min_users = 1,
        .max_users = 10000,
        .settle_s = 3,
        .stage_s = 10,
        .hold_s = 20,
        .cooldown_s = 10,
        .growth = 2,
        .backoff = 0.7,
        .precision = 0.05,
        .tolerance = 0.02};
    static uint64_t took[INTERVALS];
    uint64_t all = 0, decisions = 0;
    for (int k = 0; k < KVF_CLASSES_MAX; k++) {
        snprintf(config.rules.name[k], sizeof config.rules.name[k], "class-%d", k);
        config.rules.target_ms[k] = 100 * (k + 1);
    }
    for (int i = 0; i < INTERVALS; i++) {
        if (i % 400 == 0) autoscaler_init(&a, &config, 1, &decision);
        signals_fill(&in, answered, a.users, rng);
        uint64_t from = clock_thread_cpu_ns();
        in.saturation = saturation_now(&in);
        decisions += autoscaler_step(&a, &in, &decision);
        took[i] = clock_thread_cpu_ns() - from;
        all += took[i];
    }
    qsort(took, INTERVALS, sizeof *took, ascending);
    if (decisions < 10) return fail("the autoscaler decided nothing");
    printf("%.3f %.3f\n", (double)all / INTERVALS / 1e3, (double)took[INTERVALS * 99 / 100 - 1] / 1e3);
    return 0;
}

int main(int argc, char **argv) {
    struct rng rng;
    rng_init(&rng, 42, KVF_RNG_USER, 0);
    if (argc == 2 && strcmp(argv[1], "record") == 0) return record_main(&rng);
    if (argc == 3 && strcmp(argv[1], "snapshot") == 0)
        return snapshot_main((unsigned)strtoul(argv[2], NULL, 10), &rng);
    if (argc == 2 && strcmp(argv[1], "cache") == 0) return cache_main(&rng);
    if (argc == 3 && strcmp(argv[1], "autoscaler") == 0)
        return autoscaler_main(strcmp(argv[2], "qos") == 0 ? AUTOSCALER_QOS : AUTOSCALER_CAPACITY, &rng);
    fprintf(stderr, "usage: bench_parts record | snapshot WORKERS | cache | autoscaler MODE\n");
    return 2;
}
