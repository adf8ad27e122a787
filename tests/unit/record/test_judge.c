#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "record/judge/judge.h"
#include "record/phrase.h"

#define GPU   KVF_TIER_GPU
#define CPU   KVF_TIER_CPU
#define NVME  KVF_TIER_NVME
#define READ  KVF_DIR_READ
#define WRITE KVF_DIR_WRITE
#define GIB   1073741824.

/* Nothing known but that a hundred requests were done in ten seconds. */
static struct judge_input unknown(void) {
    struct judge_input in = {.length_s = 10,
                             .whole = true,
                             .e2e_ms = NAN,
                             .queue_ms = NAN,
                             .storage_ms = NAN,
                             .room_ms = NAN,
                             .memory_any = NAN,
                             .generation_ms = NAN,
                             .device_busy_ratio = NAN,
                             .device_bytes = NAN,
                             .our_bytes = NAN,
                             .compute_busy = NAN,
                             .host_cpu_ratio = NAN,
                             .own_cpu_ratio = NAN,
                             .slots_ratio = NAN,
                             .users = NAN,
                             .unserved_ratio = NAN,
                             .miss_ratio = NAN,
                             .first_ratio = NAN,
                             .unwritten_ratio = NAN,
                             .capacity_ratio = NAN,
                             .ttft_ms = NAN,
                             .first_storage_ms = NAN,
                             .first_room_ms = NAN,
                             .free_ratio = NAN,
                             .missed_prefill = 1,
                             .reuse_bytes = NAN,
                             .requests = 100,
                             .arrived = 100};
    for (int t = 0; t < KVF_TIERS; t++) {
        in.tier_busy[t] = in.used_bytes[t] = in.usable_bytes[t] = in.link_any[t] = NAN;
        for (int d = 0; d < KVF_DIRS; d++)
            in.needed[t][d] = 1, in.op_s[t][d] = in.device_s[t][d] = in.line_s[t][d] = in.busy[t][d] = NAN;
    }
    return in;
}

/* Targets there are, and they are missed. */
static struct judge_input means(double e2e, double queue, double storage, double generation) {
    struct judge_input in = unknown();
    in.targets = true;
    in.e2e_ms = e2e;
    in.queue_ms = queue;
    in.storage_ms = storage;
    in.generation_ms = generation;
    return in;
}

static void works(struct judge_input *in, int tier, double read_s, double write_s, double read,
                  double write) {
    in->on[tier] = true;
    in->usable_bytes[tier] = 4 * GIB;
    in->op_s[tier][READ] = in->device_s[tier][READ] = read_s;
    in->op_s[tier][WRITE] = in->device_s[tier][WRITE] = write_s;
    in->busy[tier][READ] = read;
    in->busy[tier][WRITE] = write;
    in->tier_busy[tier] = read + write;
}

static struct verdict judged(const struct judge_input *in) {
    struct verdict v = {.known = false};
    judge_run(in, &v);
    assert_true(v.known);
    return v;
}

static const struct verdict *judged_of(const struct judge_input *in) {
    static struct verdict v;
    v = judged(in);
    return &v;
}

#define EXPECT(in, limit, why, text)                                                                         \
    do {                                                                                                     \
        struct verdict got = judged(in);                                                                     \
        assert_string_equal(got.sentence, text);                                                             \
        assert_int_equal(got.limited_by, limit);                                                             \
        assert_int_equal(got.cause, why);                                                                    \
    } while (0)

/* Three idle users whose targets are all met. */
static void with_all_targets_met_nothing_is_a_bottleneck(void **state) {
    (void)state;
    struct judge_input in = means(40, 0, 40, 0);
    in.targets_met = true;
    EXPECT(&in, VERDICT_NONE, VERDICT_CAUSES, "none: all targets met");
    works(&in, CPU, 1, 1, 0.1, 0.02);
    works(&in, NVME, 3, 1, 0.3, 0.04);
    EXPECT(&in, VERDICT_NONE, VERDICT_CAUSES,
           "none: all targets met; the most loaded is nvme reads, 34 % busy");
    assert_true(fabs(judged(&in).share - 0.34) < 1e-9);
    in.stand = (struct standing){.targets = 2, .unjudged = 1, .requests = 46, .needed = 100};
    EXPECT(&in, VERDICT_NONE, VERDICT_CAUSES,
           "none: 2 of 3 targets met, 1 not judged (46 of 100 requests that its percentile needs); the most "
           "loaded is nvme reads, 34 % busy");
    in.stand = (struct standing){.targets = 3, .p95_alone = true}; /* there are higher ones */
    assert_non_null(strstr(judged(&in).sentence, "none: all 3 P95 targets met; "));
    in.stand = (struct standing){0};
    in.emulated[NVME] = true;
    in.busy[NVME][WRITE] = 0.2;
    in.tier_busy[NVME] = 0.5;
    EXPECT(&in, VERDICT_NONE, VERDICT_CAUSES,
           "none: all targets met; the most loaded is nvme (emulated) reads and writes, 50 % busy");
    /* those who have ended kept theirs, but a queue grows behind them */
    in.slots_ratio = 1;
    in.slots = 4;
    in.backlog = 177;
    assert_int_equal(judged(&in).limited_by, VERDICT_NONE); /* a queue of users who wait for answers */
    in.unserved_ratio = 0.4;
    in.dispersion = 1;
    in.slots_ratio =
        0.6;         /* of pods of which one has all that waits, or so many that no queue is before them */
    in.arrived = 50; /* 20 more, where 3 x 7.07 may be chance */
    EXPECT(&in, VERDICT_NONE, VERDICT_CAUSES,
           "none: all targets met; the most loaded is nvme (emulated) reads and writes, 50 % busy");
    in.arrived = 60;
    assert_int_equal(judged(&in).limited_by, VERDICT_NVME);
    in.slots_ratio = 1;
    in.arrived = 6; /* 2.4 more, where 2.45 may be chance though slots were full */
    assert_int_equal(judged(&in).limited_by, VERDICT_NONE);
    in.arrived = 60;
    assert_int_equal(judged(&in).limited_by, VERDICT_SLOTS);
    in.unserved_ratio = 0; /* nor do those of the others tell of a class that gets no slot */
    snprintf(in.unserved, sizeof in.unserved, "class batch");
    assert_int_equal(judged(&in).limited_by, VERDICT_SLOTS);
    assert_non_null(strstr(judged(&in).sentence, "; class batch is left unserved"));
    snprintf(in.unserved, sizeof in.unserved, "classes batch and offline");
    assert_non_null(strstr(judged(&in).sentence, "; classes batch and offline are left unserved"));
    in.unserved[0] = '\0';
    in.failed_run = true; /* it kept its targets for as long as it lived */
    EXPECT(&in, VERDICT_UNKNOWN, VERDICT_CAUSES,
           "none to be named: the run failed, and every target was met until then");
}

/* Lookups that miss at no cost ask less of the tiers: a target is not met by the cache alone then. */
static void misses_that_are_free_are_told_of_a_run_without_a_limit(void **state) {
    (void)state;
    struct judge_input in = means(40, 0, 40, 0);
    in.targets_met = true;
    works(&in, NVME, 3, 1, 0.3, 0.04);
    in.miss_ratio = 0.66;
    EXPECT(&in, VERDICT_NONE, VERDICT_CAUSES,
           "none: all targets met; the most loaded is nvme reads, 34 % busy");
    in.free_ratio = in.miss_ratio;
    EXPECT(
        &in, VERDICT_NONE, VERDICT_CAUSES,
        "none: all targets met; the most loaded is nvme reads, 34 % busy; 66 % of lookups miss, which makes no "
        "work here");
    in.targets = false;
    assert_non_null(strstr(judged(&in).sentence, "66 % of lookups miss, which makes no work here"));
    in.free_ratio = in.miss_ratio / 2;
    assert_non_null(strstr(judged(&in).sentence, "33 % of lookups miss without making work"));
    in.targets = true;
    in.miss_ratio = in.free_ratio = 0.001;
    assert_null(strstr(judged(&in).sentence, "miss"));
    in.miss_ratio = in.free_ratio = NAN; /* of no lookup none misses */
    assert_null(strstr(judged(&in).sentence, "miss"));
}

/* 0.4 % are not none, and 99.6 % not all. */
static void a_share_is_none_or_all_only_where_it_is(void **state) {
    (void)state;
    static const struct {
        double ratio;
        const char *text;
    } share[] = {{0, "0 %"},           {1e-9, "under 1 %"}, {0.0049, "under 1 %"},
                 {0.0051, "1 %"},      {0.566, "57 %"},     {0.9949, "99 %"},
                 {0.996, "over 99 %"}, {0.99951, "100 %"},  {1.000001, "100 %"},
                 {-1e-9, "0 %"},       {NAN, "--"}};
    for (size_t i = 0; i < sizeof share / sizeof share[0]; i++)
        assert_string_equal(phrase_share(share[i].ratio).text, share[i].text);
    struct judge_input in = means(40, 0, 40, 0);
    in.targets_met = true;
    works(&in, NVME, 3, 1, 0.9961, 0);
    assert_non_null(strstr(judged(&in).sentence, "nvme reads, over 99 % busy"));
    in = means(400, 300, 100, 0);
    in.slots_ratio = 0.02;
    in.slots = 2;
    assert_non_null(strstr(judged(&in).sentence, "slots: 0.04 of 2 busy"));
}

/* 200 of 207 ms before the first token are the way to the pod, which no slot shortens. */
static void the_way_to_a_pod_is_no_wait_for_a_slot(void **state) {
    (void)state;
    struct judge_input in = means(207, 200, 7, 0);
    works(&in, CPU, 1, 1, 0.001, 0.001);
    in.slots = 768;
    in.slots_ratio = 0.01 / 768;
    in.way_ms = 200;
    EXPECT(
        &in, VERDICT_LINK, VERDICT_CAUSE_LATENCY,
        "the message from router to pod (fleet.delay); the mean end-to-end latency of 207 ms is 97 % message to the pod, "
        "3 % storage I/O");
    struct verdict v = judged(&in);
    char text[200];
    assert_non_null(strstr(verdict_advice(&v, text, sizeof text), "way between machines"));
    assert_null(strstr(verdict_rule(&v), "busy for the largest part"));
    assert_false(verdict_helps(&v, VERDICT_HELP_MORE_SLOTS));
    assert_true(fabs(verdict_value(&v, "queue_wait_share") - 200 / 207.) < 1e-9);
    in.targets = false;
    assert_int_equal(judged(&in).limited_by, VERDICT_LOAD);
    in.targets = true;
    in.way_ms = 20; /* of the rest of the wait slots are the cause */
    in.slots_ratio = 0.5;
    assert_int_equal(judged(&in).limited_by, VERDICT_SLOTS);
    assert_non_null(
        strstr(judged(&in).sentence, "87 % queue wait, 10 % message to the pod, 3 % storage I/O"));
}

/* 22 s of each of 18,824 copies pass in the background; the gpu's reads are what requests wait for. */
static void what_no_request_waits_for_limits_none(void **state) {
    (void)state;
    struct judge_input in = means(90, 0, 90, 0);
    works(&in, GPU, 6000, 3000, 0.002, 0.001);
    works(&in, CPU, 0, 425000, 0, 0.003);
    in.line_s[CPU][WRITE] = 424000;
    in.aside_s[CPU][WRITE] = 425000;
    struct verdict v = judged(&in);
    assert_int_equal(v.limited_by, VERDICT_GPU);
    assert_non_null(strstr(v.sentence, "gpu reads, 67 % of operation time"));
    assert_true(fabs(verdict_value(&v, "gpu_device_share") - 1) < 1e-9);
    assert_true(isnan(verdict_value(&v, "cpu_line_share")));
    in.aside_s[CPU][WRITE] = 0;
    assert_int_equal(judged(&in).limited_by, VERDICT_CPU);
}

/* 1 s to the first token, 4 s behind it: a target of the time to first token is not missed for what comes
 * after. */
static void the_latency_of_the_targets_is_divided(void **state) {
    (void)state;
    struct judge_input in = means(5000, 200, 1000, 3800);
    works(&in, NVME, 60, 20, 0.4, 0.1);
    struct verdict v = judged(&in);
    assert_int_equal(v.limited_by, VERDICT_COMPUTE);
    assert_non_null(
        strstr(v.sentence,
               "the mean end-to-end latency of 5.00 s is 4 % queue wait, 20 % storage I/O, 76 % generation"));
    in.ttft_ms = 1000;
    in.first_storage_ms = 1000;
    v = judged(&in);
    assert_int_equal(v.limited_by, VERDICT_NVME);
    assert_int_equal(v.cause, VERDICT_CAUSE_LATENCY);
    assert_non_null(
        strstr(v.sentence, "; the mean time to first token of 1.00 s is 20 % queue wait, 80 % storage I/O"));
    assert_null(strstr(v.sentence, "generation"));
    /* the evidence is of the whole request all the same */
    assert_true(fabs(verdict_value(&v, "storage_io_share") - 0.2) < 1e-9);
    in.prefill_ms = 700;
    v = judged(&in);
    assert_int_equal(v.limited_by, VERDICT_COMPUTE);
    assert_non_null(strstr(v.sentence, "is 20 % queue wait, 10 % storage I/O, 70 % prefill"));
    in.targets = false;
    assert_non_null(strstr(judged(&in).sentence, "mean end-to-end"));
}

/* Half of the lookups miss, most of them what has expired or was never let in. */
static void capacity_is_not_blamed_for_what_a_rule_keeps_out(void **state) {
    (void)state;
    struct judge_input in = means(400, 0, 400, 0);
    works(&in, NVME, 20, 10, 0.4, 0.1);
    in.miss_ratio = 0.6;
    in.first_ratio = 0.1;
    in.reuse_bytes = 40 * GIB;
    in.used_bytes[NVME] = 4 * GIB;
    assert_int_equal(judged(&in).cause, VERDICT_CAUSE_CAPACITY);
    assert_non_null(strstr(judged(&in).sentence, "50.0 % of lookups miss what was evicted for want of room"));
    in.capacity_ratio = 0.4;
    assert_non_null(
        strstr(judged(&in).sentence, "30.0 % of lookups would miss in any LRU cache of that size"));
    in.capacity_ratio = 0.2;
    assert_int_equal(judged(&in).cause, VERDICT_CAUSE_LATENCY);
    in.capacity_ratio = 0.4;
    in.used_bytes[NVME] = GIB; /* there is room: it is not that which lacks */
    assert_int_equal(judged(&in).cause, VERDICT_CAUSE_LATENCY);
}

/* Half of the lookups come while another request computes what they ask for: more room would not help. */
static void what_is_still_computed_is_no_miss_of_capacity(void **state) {
    (void)state;
    char text[200];
    struct judge_input in = means(2000, 0, 30, 1500);
    works(&in, NVME, 3, 0, 0.3, 0);
    in.prefill_ms = 470;
    in.compute_busy = 0.99;
    in.compute_work = 0.95;
    in.reuse_bytes = 40 * GIB;
    in.miss_ratio = 0.7;
    in.first_ratio = 0.7;
    in.unwritten_ratio = 0.5;
    struct verdict v = judged(&in);
    assert_int_equal(v.limited_by, VERDICT_COMPUTE);
    assert_non_null(
        strstr(v.sentence, " requests/s; 50.0 % of lookups miss what is still being computed; the mean"));
    assert_true(verdict_value(&v, "unwritten_miss_ratio") == 0.5);
    assert_true(verdict_value(&v, "capacity_miss_ratio") == 0);
    assert_non_null(strstr(verdict_advice(&v, text, sizeof text), "no tier would bring more throughput"));
    in.unwritten_ratio = 0.004;
    assert_null(strstr(judged(&in).sentence, "still being"));
    /* beside what the tiers could not keep */
    in = means(400, 0, 400, 0);
    works(&in, NVME, 20, 10, 0.4, 0.1);
    in.reuse_bytes = 40 * GIB;
    in.miss_ratio = 0.6;
    in.first_ratio = 0.2;
    in.unwritten_ratio = 0.1;
    assert_non_null(strstr(judged(&in).sentence,
                           "40.0 % of lookups miss what was evicted for want of room; 10.0 % of lookups miss "
                           "what is still being written; what misses is written instead of read"));
}

/* Without targets nobody can say that it is too slow: only that more could come. */
static void too_few_arrivals_are_load(void **state) {
    (void)state;
    struct judge_input in = means(40, 0, 40, 0);
    in.targets = false;
    works(&in, NVME, 3, 1, 0.3, 0.04);
    EXPECT(&in, VERDICT_LOAD, VERDICT_CAUSE_DEMAND,
           "load: 10 requests/s arrive, and the most loaded, nvme reads, is 34 % busy; the mean end-to-end "
           "latency of 40.0 ms is 100 % storage I/O");
    in.arrived = 830; /* many more than were done */
    assert_int_equal(strncmp(judged(&in).sentence, "load: 83 requests/s arrive, ", 28), 0);
}

/* Eight copies at a time keep a quarter of 32 channels busy: 10 s of all workers for 100 requests. */
static void workers_bind_where_nothing_else_is_full(void **state) {
    (void)state;
    struct judge_input in = means(400, 0, 400, 0);
    char text[300];
    works(&in, CPU, 30, 10, 0.2, 0.05);
    in.emulated[CPU] = true;
    in.copying = 1;
    EXPECT(
        &in, VERDICT_CPU, VERDICT_CAUSE_CONCURRENCY,
        "cpu (emulated) reads and writes, 25 % busy, all that the workers keep busy (engine.workers): 100 ms a "
        "request bounds throughput at 10 requests/s; the mean end-to-end latency of 400 ms is 100 % storage I/O; "
        "cpu (emulated) reads, 75 % of operation time: 100 % at the device");
    assert_string_equal(verdict_advice(judged_of(&in), text, sizeof text), "more workers (engine.workers)");
    assert_true(fabs(judged(&in).share - 1) < 1e-9);
    in.slots_ratio = 1; /* more of them would wait in line */
    in.queue_ms = 300;
    assert_int_equal(judged(&in).limited_by, VERDICT_CPU);
    in.targets_met = true;
    assert_non_null(
        strstr(judged(&in).sentence, ", 25 % busy, all that the workers keep busy (engine.workers)"));
    assert_non_null(strstr(verdict_advice(judged_of(&in), text, sizeof text), "little room for more load"));
    in.targets_met = false;
    in.staging = 1; /* as busy, and more of it is behind them */
    works(&in, NVME, 5, 5, 0.1, 0.1);
    assert_int_equal(judged(&in).limited_by, VERDICT_NVME);
    in.staging = 0;
    works(&in, CPU, 30, 10, 0.9, 0.05); /* workers wait for its channels */
    assert_int_equal(judged(&in).cause, VERDICT_CAUSE_BANDWIDTH);
    works(&in, CPU, 30, 10, 0.2, 0.05);
    in.compute_busy = in.compute_work = 0.9; /* a GPU that is full would still be */
    assert_int_equal(judged(&in).limited_by, VERDICT_COMPUTE);
    in.compute_busy = in.compute_work = NAN;
    in.copying = 0.8;
    assert_int_equal(judged(&in).limited_by, VERDICT_SLOTS);
}

/* All that arrives is served, and a fifth of its latency is the wait for a place in the batch. */
static void a_larger_batch_serves_no_more_than_arrives(void **state) {
    (void)state;
    struct judge_input in = means(2000, 0, 30, 1500);
    works(&in, CPU, 1, 1, 0.1, 0.1);
    in.prefill_ms = 470;
    in.slots_ratio = 0.5;
    in.compute_busy = 0.99;
    in.compute_work = 0.4;
    in.batch_waiting = 4;
    in.batch_running = 12;
    in.batch_no_room = 0.7;
    assert_int_equal(judged(&in).limited_by, VERDICT_GPU);
    in.unserved_ratio = 0.01;
    struct verdict v = judged(&in);
    assert_true(v.limited_by == VERDICT_COMPUTE && v.cause == VERDICT_CAUSE_LATENCY);
    assert_non_null(strstr(v.sentence, "the modelled GPU is 99 % busy; "));
    in.batch_waiting = 11;
    assert_int_equal(judged(&in).limited_by, VERDICT_GPU);
    in.batch_waiting = 4;
    in.unserved_ratio = 0.6;
    assert_int_equal(judged(&in).limited_by, VERDICT_GPU);
}

/* A move to a store on another machine takes two messages of 20 ms, and the link is hardly busy. */
static void messages_may_be_the_time_of_operations(void **state) {
    (void)state;
    char text[200];
    struct judge_input in = means(120, 20, 100, 0);
    works(&in, GPU, 2, 1, 0.01, 0.005);
    works(&in, KVF_TIER_REMOTE, 0, 40, 0, 0.03);
    in.link_busy[KVF_TIER_REMOTE][WRITE] = in.link_any[KVF_TIER_REMOTE] = 0.03;
    in.link_busy[KVF_TIER_REMOTE][READ] = 0;
    in.room_ms = 60;
    in.way_ms = 20;
    in.remote_ops[WRITE] = 900; /* 36 of 40 s */
    struct verdict v = judged(&in);
    assert_true(v.limited_by == VERDICT_LINK && v.cause == VERDICT_CAUSE_LATENCY);
    assert_non_null(strstr(v.sentence, "3 % busy, and most of that time messages are under way "
                                       "(fleet.delay); "));
    assert_string_equal(verdict_advice(&v, text, sizeof text),
                        "a shorter way between machines: nothing else takes as long");
    in.remote_ops[WRITE] = 300; /* the rest is in line at the link, or the latency of the store */
    assert_int_equal(judged(&in).limited_by, VERDICT_REMOTE);
    in.remote_ops[WRITE] = 900;
    in.room_ms = 0;
    in.storage_ms = 56, in.e2e_ms = 100; /* of two tiers, each less than the message of 44 ms before them */
    in.queue_ms = in.way_ms = 44;
    in.paced_ms[GPU][READ] = 29, in.paced_ms[CPU][READ] = 27;
    works(&in, CPU, 2, 1, 0.01, 0.005);
    assert_non_null(strstr(judged(&in).sentence, "the message from router to pod (fleet.delay); "));
    in.paced_ms[GPU][READ] = 47, in.paced_ms[CPU][READ] = 9;
    assert_int_equal(judged(&in).limited_by, VERDICT_GPU);
    in = means(120, 20, 100, 0);
    works(&in, GPU, 2, 1, 0.01, 0.005);
    in.way_ms = 20;
    in.remote_ops[READ] = 1500;
    in.link_any[KVF_TIER_REMOTE] = 0.03;
    works(&in, KVF_TIER_REMOTE, 80, 0, 0.03, 0);
    in.link_busy[KVF_TIER_REMOTE][WRITE] = 0, in.link_busy[KVF_TIER_REMOTE][READ] = 0.03;
    assert_int_equal(judged(&in).limited_by, VERDICT_LINK);
}

/* 50 of 75 ms are the scenario's own lookup cost, which no core makes shorter. */
static void the_cost_of_lookups_is_named(void **state) {
    (void)state;
    char text[200];
    struct judge_input in = means(75, 0, 25, 0);
    works(&in, CPU, 2, 1, 0.1, 0.05);
    struct verdict v = judged(&in);
    assert_non_null(strstr(v.sentence, "the program itself"));
    in.lookup_ms = 50;
    v = judged(&in);
    assert_true(v.limited_by == VERDICT_HOST_CPU && v.cause == VERDICT_CAUSE_LATENCY);
    assert_non_null(strstr(v.sentence, "before it looks anything up (cache.lookup_cost); "));
    assert_string_equal(verdict_advice(&v, text, sizeof text),
                        "a shorter cache.lookup_cost: nothing else takes as long");
}

/* Of 48 % that miss, 40 % are chunks of documents, which make no work; all that is new is not among them. */
static void misses_without_work_are_not_computed_again(void **state) {
    (void)state;
    struct judge_input in = means(48, 0, 2, 0);
    works(&in, CPU, 2, 1, 0.1, 0.05);
    in.prefill_ms = 46;
    in.compute_busy = 0.96;
    in.compute_work = 0.4;
    in.compute_prefill = 0.9;
    in.miss_ratio = 0.5;
    in.free_ratio = 0.4;
    in.first_ratio = 0.1;
    in.reuse_bytes = 80 * GIB;
    assert_int_equal(judged(&in).limited_by, VERDICT_COMPUTE);
    in.free_ratio = 0.1; /* 30 % are computed again */
    assert_true(judged(&in).limited_by == VERDICT_CPU && judged(&in).cause == VERDICT_CAUSE_CAPACITY);
}

/* One user cannot be fewer. */
static void one_user_is_not_asked_to_be_fewer(void **state) {
    (void)state;
    char text[200];
    struct judge_input in = means(400, 0, 400, 0);
    works(&in, CPU, 30, 10, 0.4, 0.2);
    in.users = 2;
    assert_string_equal(verdict_advice(judged_of(&in), text, sizeof text),
                        "a faster cpu tier, or fewer users");
    in.users = 1;
    assert_string_equal(verdict_advice(judged_of(&in), text, sizeof text), "a faster cpu tier");
    works(&in, GPU, 1, 1, 0.1, 0.1);
    works(&in, CPU, 30, 10, 0.9, 0.1);
    assert_string_equal(verdict_advice(judged_of(&in), text, sizeof text),
                        "a faster cpu tier, or enough room above it");
}

/* Requests that come at a rate, or as they were recorded, come without users; and where no tier has much to
 * do, less load makes nothing shorter. */
static void less_load_is_asked_for_in_its_own_words(void **state) {
    (void)state;
    char text[200];
    struct judge_input in = means(400, 0, 400, 0);
    works(&in, CPU, 30, 10, 0.4, 0.2);
    in.open = true;
    assert_string_equal(verdict_advice(judged_of(&in), text, sizeof text),
                        "a faster cpu tier, or a lower rate of arrivals");
    in.replays = true;
    assert_string_equal(verdict_advice(judged_of(&in), text, sizeof text),
                        "a faster cpu tier, or a slower replay (workload.arrival.speedup)");
    works(&in, CPU, 30, 10, 0.1, 0.2);
    assert_string_equal(verdict_advice(judged_of(&in), text, sizeof text), "a faster cpu tier");
    in.targets = false;
    assert_string_equal(verdict_advice(judged_of(&in), text, sizeof text),
                        "more load: a faster replay (workload.arrival.speedup)");
}

/* A batch of that size fills the GPU, and the wait for it is most of what targets are of: a larger one
 * shortens it, whatever it brings in throughput. */
static void the_wait_for_a_full_batch_asks_for_room(void **state) {
    (void)state;
    char text[200];
    struct judge_input in = means(2000, 0, 60, 1500);
    works(&in, CPU, 1, 1, 0.1, 0.1);
    works(&in, GPU, 0, 0, 0.01, 0.01);
    in.ttft_ms = 500;
    in.first_storage_ms = 60;
    in.prefill_ms = 440;
    in.compute_busy = 1;
    in.compute_work = 0.95;
    in.batch_waiting = 4.2;
    in.batch_running = 12;
    in.batch_no_room = 0.9;
    assert_string_equal(
        verdict_advice(judged_of(&in), text, sizeof text),
        "a faster GPU, or fewer users, or a larger gpu tier: 84 % of the latency that targets are of is the "
        "wait for a place in the batch");
    in.batch_full = 0.9;
    in.batch_no_room = 0;
    assert_non_null(
        strstr(verdict_advice(judged_of(&in), text, sizeof text), "or a larger compute.max_batch: 84 %"));
    in.batch_waiting = 0;
    assert_null(strstr(verdict_advice(judged_of(&in), text, sizeof text), "place in the batch"));
}

/* Four writes at a time are in flight all the time, with a minute of slots' time in other things for each. */
static void a_gate_with_all_turns_taken_bounds_throughput(void **state) {
    (void)state;
    struct judge_input in = means(2000, 1500, 100, 400);
    works(&in, GPU, 1, 4, 0.1, 0.2);
    in.slots_ratio = 1;
    in.slots = 8;
    in.held_s = 40;
    in.turns_busy = 0.5;
    assert_int_equal(judged(&in).limited_by, VERDICT_SLOTS);
    in.turns_busy = 0.97;
    assert_int_equal(judged(&in).limited_by, VERDICT_WRITES);
    in.emulated[GPU] = true; /* a tier that is as full has the same writes in line without it */
    works(&in, GPU, 1, 4, 0.1, 0.85);
    assert_int_equal(judged(&in).limited_by, VERDICT_GPU);
}

/* No part of a latency is larger than the wait for one of two slots. */
static void the_largest_part_may_be_the_wait_for_a_slot(void **state) {
    (void)state;
    struct judge_input in = means(1000, 440, 150, 410);
    works(&in, CPU, 1, 1, 0.05, 0.05);
    in.slots = 2;
    in.slots_ratio = 0.9;
    assert_int_equal(judged(&in).limited_by, VERDICT_SLOTS);
    in.queue_ms = 400;
    in.generation_ms = 450;
    assert_int_equal(judged(&in).limited_by, VERDICT_COMPUTE);
}

/* Bursts of many operations stand in line for few workers, which have little to do at other times. */
static void a_latency_may_be_a_line_for_workers(void **state) {
    (void)state;
    struct judge_input in = means(400, 0, 400, 0);
    char text[300];
    in.slots_ratio = 0.2;
    works(&in, NVME, 30, 10, 0.02, 0.01);
    in.emulated[NVME] = true;
    in.staging = 0.3;
    in.device_s[NVME][READ] = 10, in.line_s[NVME][READ] = 20;
    struct verdict v = judged(&in);
    assert_true(v.limited_by == VERDICT_NVME && v.cause == VERDICT_CAUSE_CONCURRENCY);
    assert_non_null(strstr(
        v.sentence, "67 % in line for it; 3 % busy, and the line is for the workers (engine.workers)"));
    assert_string_equal(verdict_advice(&v, text, sizeof text), "more workers (engine.workers)");
    in.device_s[NVME][READ] = 20, in.line_s[NVME][READ] = 10; /* a part of it */
    v = judged(&in);
    assert_int_equal(v.cause, VERDICT_CAUSE_LATENCY);
    assert_string_equal(verdict_advice(&v, text, sizeof text),
                        "a faster nvme tier, or more workers (engine.workers)");
    in.device_s[NVME][READ] = 10, in.line_s[NVME][READ] = 20;
    in.tier_busy[NVME] = 0.28; /* channels are as busy as workers: more of these would wait for them */
    assert_int_equal(judged(&in).cause, VERDICT_CAUSE_LATENCY);
    in.staging = 0; /* of a real drive its depth is full */
    in.tier_busy[NVME] = 0.03;
    v = judged(&in);
    assert_true(v.cause == VERDICT_CAUSE_LATENCY &&
                !strstr(verdict_advice(&v, text, sizeof text), "workers"));
}

/* 9.8 s of 10 at the drive for 100 requests: 98 ms each, and no more than 10.2 a second. */
static void the_largest_demand_bounds_throughput(void **state) {
    (void)state;
    struct judge_input in = means(400, 40, 320, 0);
    works(&in, CPU, 5, 5, 0.3, 0.3);
    works(&in, NVME, 71, 19, 0.9, 0.08);
    in.line_s[NVME][READ] = 0;
    EXPECT(
        &in, VERDICT_NVME, VERDICT_CAUSE_BANDWIDTH,
        "nvme reads, 98 % busy: 98.0 ms a request bounds throughput at 10.2 requests/s; the mean "
        "end-to-end latency of 400 ms is 10 % queue wait, 80 % storage I/O, 10 % other; nvme reads, 71 % of operation time: 100 % "
        "at the device");
    struct verdict v = judged(&in);
    assert_true(fabs(verdict_value(&v, "nvme_demand_ms") - 98) < 1e-9);
    assert_true(fabs(verdict_value(&v, "cpu_demand_ms") - 60) < 1e-9);
    assert_true(fabs(verdict_value(&v, "throughput_bound_per_s") - 10 / 0.98) < 1e-9);
    /* users who do not wait for answers are bounded by nothing but the resources */
    in.users = 20;
    in.unserved_ratio = 0;
    v = judged(&in);
    assert_true(isnan(verdict_value(&v, "population_bound_per_s")));
    /* 20 users who think for 1.6 s: X <= N / (R + Z) with R of the demands alone */
    in.unserved_ratio = NAN;
    v = judged(&in);
    assert_true(fabs(verdict_value(&v, "population_bound_per_s") - 20 / (1.6 + 0.158)) < 1e-9);
    /* the queue for slots is a consequence */
    in.queue_ms = 300;
    in.slots_ratio = 1;
    in.slots = 8;
    in.backlog = 9;
    assert_int_equal(judged(&in).limited_by, VERDICT_NVME);
    /* of a modelled GPU likewise */
    in.compute_busy = 0.99;
    assert_int_equal(judged(&in).limited_by, VERDICT_NVME); /* for which they wait longer */
    in.generation_ms = in.storage_ms + 1;
    v = judged(&in);
    assert_int_equal(v.limited_by, VERDICT_COMPUTE);
    assert_int_equal(v.cause, VERDICT_CAUSE_BANDWIDTH);
}

/* A step is under way all the time, however small its batch: only what no larger one saves bounds throughput.
 */
static void a_gpu_whose_batch_has_room_bounds_nothing(void **state) {
    (void)state;
    struct judge_input in = means(2000, 0, 30, 1900);
    works(&in, NVME, 3, 0, 0.3, 0);
    in.ttft_ms = 100;
    in.first_storage_ms = 30;
    in.prefill_ms = 70;
    in.slots = 64;
    in.slots_ratio = 0.3;
    in.compute_busy = 0.99;
    in.compute_work = 0.25;
    struct verdict v = judged(&in);
    assert_int_equal(v.limited_by, VERDICT_COMPUTE);
    assert_int_equal(v.cause, VERDICT_CAUSE_LATENCY);
    assert_null(strstr(v.sentence, "bounds throughput"));
    assert_non_null(
        strstr(v.sentence, "the modelled GPU is 99 % busy in batches with room for more; the mean time"));
    assert_true(fabs(verdict_value(&v, "throughput_bound_per_s") - 10 / 0.3) < 1e-9); /* nvme's */
    assert_true(fabs(verdict_value(&v, "compute_load") - 0.25) < 1e-9);
    in.targets = false;
    v = judged(&in);
    assert_int_equal(v.limited_by, VERDICT_LOAD);
    /* busier than what is named, which would be full before it */
    assert_non_null(
        strstr(v.sentence, "is 30 % busy; the modelled GPU is 99 % busy in batches with room for more"));
    in.compute_work = 0.4;
    assert_non_null(strstr(judged(&in).sentence,
                           "the most loaded, the modelled GPU, is 99 % busy in batches with room for more"));
    in.compute_work = 0.9; /* arithmetic that is the same in any batch */
    v = judged(&in);
    assert_int_equal(v.limited_by, VERDICT_COMPUTE);
    assert_int_equal(v.cause, VERDICT_CAUSE_BANDWIDTH);
    assert_non_null(strstr(v.sentence, "99 % busy: 90.0 ms a request bounds throughput at 11.1 requests/s"));
}

/* The reason of a GPU's small batch is named instead of the GPU, which would do more at once. */
static void what_keeps_a_batch_small_is_named(void **state) {
    (void)state;
    char text[300];
    struct judge_input in = means(2000, 400, 30, 1500);
    works(&in, NVME, 3, 0, 0.1, 0);
    in.prefill_ms = 70;
    in.slots = 20;
    in.slots_ratio = 0.97;
    in.backlog = 9;
    in.compute_busy = 0.99;
    in.compute_work = 0.25;
    struct verdict v = judged(&in);
    assert_int_equal(v.limited_by, VERDICT_SLOTS);
    assert_non_null(strstr(
        v.sentence, "inside, the modelled GPU 99 % busy in batches with room for more is the most loaded"));
    in.batch_waiting = 7;
    in.batch_full = 0.4;
    assert_int_equal(judged(&in).limited_by, VERDICT_SLOTS);
    in.batch_waiting = 9; /* more than half of the time for which slots are held */
    assert_int_equal(judged(&in).limited_by, VERDICT_COMPUTE);
    in.batch_full = 0.7;
    in.batch_no_room = 0.2;
    assert_null(strstr(judged(&in).sentence, "9 waiting"));
    in.unserved_ratio = 0.5; /* of an open loop whose queue grows */
    in.arrived = 300;
    assert_non_null(strstr(judged(&in).sentence, "; 9 waiting"));
    in.arrived = 0;
    in.unserved_ratio = NAN;
    v = judged(&in);
    assert_int_equal(v.limited_by, VERDICT_COMPUTE);
    assert_int_equal(v.cause, VERDICT_CAUSE_CONCURRENCY);
    assert_non_null(strstr(
        v.sentence, "it has as many sequences as it may have (compute.max_batch), and 9 "
                    "sequences wait to join; the modelled GPU is 99 % busy with a batch of that size"));
    assert_string_equal(verdict_advice(&v, text, sizeof text),
                        "a larger compute.max_batch, a faster GPU, or fewer users");
    assert_non_null(strstr(verdict_rule(&v), "as many as it may have"));
    in.batch_no_room = 0.8;
    v = judged(&in);
    assert_int_equal(v.limited_by, VERDICT_GPU);
    assert_int_equal(v.cause, VERDICT_CAUSE_CAPACITY);
    /* nor is it the batch where work that no larger one saves fills the GPU */
    in.compute_work = 0.9;
    v = judged(&in);
    assert_int_equal(v.limited_by, VERDICT_COMPUTE);
    assert_int_equal(v.cause, VERDICT_CAUSE_BANDWIDTH);
    /* or where hits would save more of its time than larger batches: 4 of 5 misses are of what the tiers
     * could not keep, and prefills take 0.7 of 0.99 */
    in.compute_work = 0.6;
    in.compute_prefill = 0.7;
    in.prefill_ms = 1600;
    in.generation_ms = 200;
    in.miss_ratio = 0.5;
    in.first_ratio = 0.1;
    in.reuse_bytes = 300 * GIB;
    in.slots_ratio = 0.5;
    in.queue_ms = 0;
    v = judged(&in);
    assert_int_equal(v.limited_by, VERDICT_NVME);
    assert_int_equal(v.cause, VERDICT_CAUSE_CAPACITY);
    in.compute_work = 0.25;
    assert_int_equal(judged(&in).limited_by, VERDICT_GPU);
    /* slots hold the batch, but twice as many would have no room */
    in = means(2000, 400, 30, 1500);
    in.slots = 20;
    in.slots_ratio = 0.97;
    in.backlog = 9;
    in.compute_busy = 0.99;
    in.compute_work = 0.25;
    in.kv_use = 0.4;
    assert_int_equal(judged(&in).limited_by, VERDICT_SLOTS);
    in.kv_use = 0.66;
    v = judged(&in);
    assert_string_equal(
        verdict_advice(&v, text, sizeof text),
        "a GPU with more memory or a smaller KV type with more slots (engine.slots), a faster "
        "GPU, or fewer users");
    works(&in, GPU, 0, 0, 0.01, 0.01);
    v = judged(&in);
    assert_int_equal(v.limited_by, VERDICT_GPU);
    assert_int_equal(v.cause, VERDICT_CAUSE_CAPACITY);
    assert_non_null(strstr(v.sentence,
                           "the KV of the batch takes 66 % of the room for it, too much for twice the "
                           "slots, which are all busy; the modelled GPU is 99 % busy"));
    assert_string_equal(
        verdict_advice(&v, text, sizeof text),
        "a larger gpu tier or a smaller KV type with more slots (engine.slots), a faster GPU, or fewer users");
    /* and a batch with as many places as there are slots wants both */
    in.places = 20;
    v = judged(&in);
    assert_non_null(strstr(verdict_advice(&v, text, sizeof text),
                           "and a larger compute.max_batch, a faster GPU, or fewer users"));
    in.kv_use = 0.4;
    v = judged(&in);
    assert_int_equal(v.limited_by, VERDICT_SLOTS);
    assert_non_null(strstr(v.sentence, "the batch has no more places (compute.max_batch); inside, "));
    assert_string_equal(
        verdict_advice(&v, text, sizeof text),
        "more slots (engine.slots) with a larger compute.max_batch (one alone brings little), or a faster GPU");
}

/* Little's law has the wait of those that join the batch: it is no work of the GPU. */
static void the_wait_to_join_a_batch_is_not_its_work(void **state) {
    (void)state;
    struct judge_input in = means(1110, 0, 20, 950);
    works(&in, NVME, 3, 0, 0.1, 0);
    in.length_s = 90;
    in.requests = 195;
    in.ttft_ms = 159;
    in.first_storage_ms = 19;
    in.prefill_ms = 140;
    in.compute_busy = 0.96;
    in.compute_work = 0.13;
    in.batch_waiting = 0.29; /* 134 ms for each */
    in.batch_no_room = 0.2;
    struct verdict v = judged(&in);
    assert_int_equal(v.limited_by, VERDICT_GPU);
    assert_int_equal(v.cause, VERDICT_CAUSE_CAPACITY);
    in.batch_no_room = 0.001; /* it waits for the end of a step */
    assert_int_equal(judged(&in).cause, VERDICT_CAUSE_LATENCY);
    in.batch_no_room = 0.2;
    in.batch_waiting = 0.15;
    assert_int_equal(judged(&in).cause, VERDICT_CAUSE_LATENCY);
}

/* Tiers that keep copies of what the upper ones hold are as large as the largest. */
static void copies_hold_no_more(void **state) {
    (void)state;
    struct judge_input in = means(400, 0, 350, 0);
    works(&in, NVME, 30, 0, 0.3, 0);
    in.miss_ratio = 0.5;
    in.first_ratio = 0.1;
    double all = 0, most = 0;
    for (int t = 0; t < KVF_TIERS; t++) {
        if (!in.on[t]) continue;
        all += in.usable_bytes[t];
        most = fmax(most, in.usable_bytes[t]);
    }
    in.reuse_bytes = 2 * all;
    struct verdict v = judged(&in);
    assert_true(fabs(verdict_value(&v, "tiers_hold") - all) < 1);
    in.copies = true;
    v = judged(&in);
    assert_int_equal(v.cause, VERDICT_CAUSE_CAPACITY);
    assert_true(fabs(verdict_value(&v, "tiers_hold") - most) < 1);
}

/* Where the GPU computes again what the tiers could not keep, larger ones help. */
static void advice_beside_a_gpu_counts_what_it_computes_again(void **state) {
    (void)state;
    char text[200];
    struct judge_input in = means(2000, 0, 30, 1500);
    works(&in, NVME, 3, 0, 0.3, 0);
    in.prefill_ms = 470;
    in.compute_busy = 0.99;
    in.compute_work = 0.95;
    struct verdict v = judged(&in);
    assert_string_equal(verdict_advice(&v, text, sizeof text),
                        "a faster GPU, or fewer users: no tier would bring more throughput");
    in.miss_ratio = 0.1;
    in.first_ratio = 0.02;
    in.compute_prefill = 0.04; /* which takes no time */
    v = judged(&in);
    assert_null(strstr(verdict_advice(&v, text, sizeof text), "larger tiers"));
    in.compute_prefill = 0.3;
    v = judged(&in);
    assert_string_equal(
        verdict_advice(&v, text, sizeof text),
        "a faster GPU, or fewer users, or larger tiers: it computes again what they could not keep");
    in.routing = JUDGE_ROUTING_NOT_BY_PREFIX; /* one cache as large as those of all pods would miss nothing
                                                 but what is new */
    in.capacity_ratio = 0.02;
    v = judged(&in);
    assert_true(fabs(verdict_value(&v, "routing_miss_ratio") - 0.08) < 1e-9);
    double by_size = in.capacity_ratio;
    in.capacity_ratio = 0; /* one cache of all pods' size would hit all that comes again */
    v = judged(&in);
    assert_true(fabs(verdict_value(&v, "routing_miss_ratio") - (in.miss_ratio - in.first_ratio)) < 1e-9);
    assert_true(verdict_value(&v, "capacity_miss_ratio") == 0);
    in.capacity_ratio = by_size;
    assert_true(verdict_value(&v, "capacity_miss_ratio") == 0);
    assert_true(isnan(verdict_value(&v, "recomputed_miss_ratio")));
    assert_string_equal(
        verdict_advice(&v, text, sizeof text),
        "a faster GPU, or fewer users, or fleet.routing by prefix: pods compute what others hold");
    struct judge_input stores = in; /* nearly as long as it computes */
    stores.storage_ms = 0.48 * stores.e2e_ms;
    stores.generation_ms = stores.e2e_ms - stores.storage_ms - stores.prefill_ms - stores.queue_ms;
    v = judged(&stores);
    assert_string_equal(
        verdict_advice(&v, text, sizeof text),
        "a faster GPU, or fewer users, or faster tiers: storage is 48 % of the latency that targets are of");
    static const struct {
        enum judge_routing routing;
        const char *advice;
    } routings[] = {
        {JUDGE_ROUTING_BY_PREFIX, ", or a larger fleet.weights.prefix: pods compute what others hold"},
        {JUDGE_ROUTING_NOT_BY_SESSION, ", or fleet.routing by session: pods compute what others hold"},
        {JUDGE_ROUTING_BY_SESSION, ""}};
    for (size_t i = 0; i < sizeof routings / sizeof *routings; i++) {
        in.routing = routings[i].routing;
        v = judged(&in);
        assert_string_equal(verdict_advice(&v, text, sizeof text) + strlen("a faster GPU, or fewer users"),
                            routings[i].advice);
    }
    in.routing = JUDGE_ROUTING_NONE;
    in.capacity_ratio = NAN;
    in.free_ratio = in.miss_ratio;
    v = judged(&in);
    assert_non_null(strstr(verdict_advice(&v, text, sizeof text), "no tier would bring more throughput"));
    in = means(2000, 0, 800, 1200);
    works(&in, NVME, 3, 0, 0.3, 0);
    in.compute_busy = 0.5;
    v = judged(&in);
    assert_int_equal(v.limited_by, VERDICT_COMPUTE);
    assert_string_equal(verdict_advice(&v, text, sizeof text),
                        "a faster GPU, or faster tiers: storage is 40 % of the latency that targets are of");
    in.compute_busy = 0.95; /* of the first token, of which the GPU has less */
    in.ttft_ms = 1000;
    in.first_storage_ms = 800;
    in.prefill_ms = 400;
    v = judged(&in);
    assert_int_equal(v.cause, VERDICT_CAUSE_BANDWIDTH);
    assert_string_equal(
        verdict_advice(&v, text, sizeof text),
        "a faster GPU, or fewer users, or faster tiers: storage is 60 % of the latency that targets are of");
    in = means(2000, 0, 50, 1950);
    works(&in, NVME, 3, 0, 0.3, 0);
    v = judged(&in);
    assert_string_equal(verdict_advice(&v, text, sizeof text),
                        "a faster GPU: requests hardly wait for the cache");
}

/* Full CPUs bound this program only if they work for it. */
static void cpus_that_work_for_others_are_a_neighbour(void **state) {
    (void)state;
    struct judge_input in = means(400, 0, 390, 0);
    works(&in, NVME, 20, 10, 0.4, 0.1);
    in.host_cpu_ratio = 0.97;
    in.own_cpu_ratio = 0.9;
    assert_int_equal(judged(&in).limited_by, VERDICT_HOST_CPU);
    in.own_cpu_ratio = 0.1;
    struct verdict v = judged(&in);
    assert_int_equal(v.limited_by, VERDICT_NEIGHBOUR);
    assert_int_equal(v.cause, VERDICT_CAUSE_FOREIGN);
    assert_non_null(strstr(v.sentence, "other programs on the host's CPUs: 97 % busy, 10 % by this one"));
    assert_int_equal(v.warnings, 1);
    in.server_here = true;
    v = judged(&in);
    assert_non_null(
        strstr(v.sentence, "other programs, among them the server that the run uses, on the host's"));
    assert_non_null(
        strstr(v.warning[0], "other programs, among them the server that the run uses, used the"));
    in.tier_busy[NVME] = 0.99; /* the drive is the limit all the same, and the warning stays */
    v = judged(&in);
    assert_int_equal(v.limited_by, VERDICT_NVME);
    assert_int_equal(v.warnings, 1);
}

/* An emulated gpu is its link; a real one has a memory beside it, and what is busier is named. */
static void the_link_is_named_where_its_demand_is_the_largest(void **state) {
    (void)state;
    struct judge_input in = means(400, 0, 400, 0);
    works(&in, GPU, 30, 10, 0.7, 0.2);
    works(&in, NVME, 20, 10, 0.4, 0.1);
    in.emulated[GPU] = true;
    in.link_any[GPU] = 0.9;
    in.link_busy[GPU][READ] = 0.7;
    in.link_busy[GPU][WRITE] = 0.2;
    struct verdict v = judged(&in);
    assert_int_equal(v.limited_by, VERDICT_LINK);
    assert_int_equal(v.cause, VERDICT_CAUSE_BANDWIDTH);
    assert_non_null(strstr(v.sentence, "gpu link (emulated) reads and writes, 90 % busy: 90.0 ms a request"));
    assert_true(fabs(verdict_value(&v, "gpu_link_busy") - 0.9) < 1e-9);
    assert_true(fabs(verdict_value(&v, "gpu_link_demand_ms") - 90) < 1e-9);
    in.emulated[GPU] = false;
    in.memory_any = 0.95;
    in.memory_busy[READ] = 0.95;
    v = judged(&in);
    assert_int_equal(v.limited_by, VERDICT_GPU);
    assert_non_null(strstr(v.sentence, "gpu memory reads, 95 % busy"));
    in.memory_any = 0.3;
    assert_int_equal(judged(&in).limited_by, VERDICT_LINK);
    works(&in, KVF_TIER_REMOTE, 30, 1, 0.97, 0);
    in.link_any[KVF_TIER_REMOTE] = in.link_busy[KVF_TIER_REMOTE][READ] = 0.97;
    v = judged(&in);
    assert_int_equal(v.limited_by, VERDICT_LINK);
    assert_non_null(strstr(v.sentence, "remote link reads, 97 % busy"));
    in.link_any[KVF_TIER_REMOTE] = in.link_any[GPU] = 0.1;
    in.targets_met = true;
    in.tier_busy[NVME] = 0.05;
    assert_non_null(strstr(judged(&in).sentence, "the most loaded is gpu memory reads, 30 % busy"));
}

/* 120 of 400 ms: a figure of its own, and a part of storage I/O in the sentence. */
static void waiting_for_room_has_a_figure(void **state) {
    (void)state;
    struct judge_input in = means(400, 40, 360, 0);
    works(&in, NVME, 71, 19, 0.9, 0.08);
    in.room_ms = 120;
    struct verdict v = judged(&in);
    assert_true(fabs(verdict_value(&v, "room_wait_ms") - 120) < 1e-9);
    assert_true(fabs(verdict_value(&v, "room_wait_share") - 0.3) < 1e-9);
    assert_non_null(strstr(v.sentence, "90 % storage I/O (30 % with a write waiting for room)"));
    in.room_ms = 1;
    assert_null(strstr(judged(&in).sentence, "waiting for room"));
}

/* Nothing inside is saturated: the slots are. */
static void full_slots_are_named_when_nothing_inside_is(void **state) {
    (void)state;
    struct judge_input in = means(4130, 1960, 10, 2160);
    works(&in, NVME, 1, 0, 0.02, 0);
    in.slots_ratio = 0.96;
    in.slots = 4;
    in.backlog = 177;
    EXPECT(&in, VERDICT_SLOTS, VERDICT_CAUSE_CONCURRENCY,
           "slots: 3.8 of 4 busy; 177 waiting; inside, nvme reads 2 % busy is the most loaded; the mean "
           "end-to-end latency of 4.13 s is 48 % queue wait, 52 % generation");
    in.backlog = 0; /* at the end alone */
    assert_int_equal(judged(&in).limited_by, VERDICT_SLOTS);
    in.targets = false;
    in.slots_ratio = 0.9; /* full as a tier is: more requests would hardly be served */
    assert_int_equal(judged(&in).limited_by, VERDICT_SLOTS);
    in.slots_ratio = 0.8;
    EXPECT(
        &in, VERDICT_LOAD, VERDICT_CAUSE_DEMAND,
        "load: 10 requests/s arrive, and the most loaded, nvme reads, is 2 % busy; 3.2 of 4 slots busy; the mean "
        "end-to-end latency of 4.13 s is 48 % queue wait, 52 % generation");
    in.targets = true;
    in.slots_ratio = 0.5;
    EXPECT(
        &in, VERDICT_COMPUTE, VERDICT_CAUSE_LATENCY,
        "generation, token time, not the cache; the mean end-to-end latency of 4.13 s is 48 % queue wait, 52 % "
        "generation");
}

/* Kernel bytes 5.96 times ours: the neighbour is named, not the drive. */
static void a_neighbour_is_named_before_the_drive(void **state) {
    (void)state;
    struct judge_input in = means(400, 40, 320, 0);
    works(&in, NVME, 71, 19, 0.9, 0.08);
    in.our_bytes = 1e9;
    in.device_bytes = 1.1e9; /* a file system's own */
    assert_int_equal(judged(&in).limited_by, VERDICT_NVME);
    assert_int_equal(judged(&in).warnings, 0);
    in.device_bytes = 5.96e9;
    struct verdict v = judged(&in);
    assert_int_equal(v.limited_by, VERDICT_NEIGHBOUR);
    assert_int_equal(v.cause, VERDICT_CAUSE_FOREIGN);
    const char *first = "another program on the device under nvme: the kernel counted 5.96 times our bytes; ";
    assert_int_equal(strncmp(v.sentence, first, strlen(first)), 0);
    assert_int_equal(v.warnings, 1);
    assert_non_null(strstr(v.warning[0], "5.96 times our bytes"));
    assert_true(fabs(verdict_value(&v, "device_bytes_ratio") - 5.96) < 1e-9);
    in.targets_met = true; /* it does no harm, and is told */
    v = judged(&in);
    assert_int_equal(v.limited_by, VERDICT_NONE);
    assert_int_equal(v.warnings, 1);
    in.targets_met = false;
    in.compute_busy = 1; /* it is not the drive that limits */
    in.generation_ms = 2 * in.storage_ms;
    assert_int_equal(judged(&in).limited_by, VERDICT_COMPUTE);
    in.generation_ms = 0;
    in.compute_busy = NAN;
    in.our_bytes = 1e3; /* little and less is nobody */
    in.device_bytes = 1e5;
    assert_int_equal(judged(&in).limited_by, VERDICT_NVME);
}

/* 11 GiB are used again, 4 GiB are held. */
static void a_tier_too_small_is_a_cause_of_its_own(void **state) {
    (void)state;
    struct judge_input in = means(400, 0, 400, 0);
    works(&in, CPU, 20, 60, 0.1, 0.8);
    in.miss_ratio = 0.577;
    in.first_ratio = 0.15;
    in.reuse_bytes = 11 * GIB;
    EXPECT(
        &in, VERDICT_CPU, VERDICT_CAUSE_CAPACITY,
        "cpu tier capacity: the working set takes 11.0 GiB, and the tiers hold 4.00 GiB; 42.7 % of lookups miss what was "
        "evicted for want of room; what misses is written instead of read; cpu 90 % busy; the mean end-to-end latency of 400 ms is 100 % storage I/O; cpu writes, 75 % of operation time: "
        "100 % at the device");
    in.compute_busy = 0.4; /* which computes what misses at leisure, where a hit would be one more read */
    assert_int_equal(judged(&in).cause, VERDICT_CAUSE_BANDWIDTH);
    in.busy[CPU][WRITE] = 0.5;
    in.tier_busy[CPU] = 0.6;
    in.prefill_ms = 20;
    assert_non_null(strstr(judged(&in).sentence,
                           "want of room; misses are recomputed on the modelled GPU, 40 % busy; the"));
    in.free_ratio = in.miss_ratio / 4; /* chunks of documents, whose misses nobody computes */
    assert_non_null(
        strstr(judged(&in).sentence,
               "want of room; 75 % of the misses are recomputed on the modelled GPU, 40 % busy; the"));
    in.free_ratio = in.miss_ratio;
    assert_null(strstr(judged(&in).sentence, "computed again"));
    in.free_ratio = 0;
    in.compute_busy = (double)NAN;
    in.busy[CPU][WRITE] = 0.8;
    in.tier_busy[CPU] = 0.9;
    in.reuse_error = 0.012;
    assert_non_null(strstr(judged(&in).sentence, "42.7 +- 1.2 % of lookups"));
    struct verdict v = judged(&in);
    assert_true(verdict_value(&v, "working_set") == 11 * GIB);
    assert_true(verdict_value(&v, "tiers_hold") == 4 * GIB);
    assert_true(fabs(verdict_value(&v, "capacity_miss_ratio") - 0.427) < 1e-9);
    assert_true(fabs(v.share - 0.427) < 1e-9);
    in.first_ratio = (double)NAN; /* nothing was looked up in this part */
    assert_int_equal(judged(&in).cause, VERDICT_CAUSE_BANDWIDTH);
    in.first_ratio = 0.5; /* what misses is new: no capacity helps */
    assert_int_equal(judged(&in).cause, VERDICT_CAUSE_BANDWIDTH);
}

/* 30 of 60 s of operations are reads of cpu, 29 writes of nvme; and of a tier whose directions have time of
 * their own the busier one is what is busy. */
static void what_is_nearly_as_much_is_named_beside_it(void **state) {
    (void)state;
    struct judge_input in = means(400, 0, 400, 0);
    works(&in, CPU, 30, 1, 0.2, 0.05);
    works(&in, NVME, 0, 29, 0, 0.3);
    assert_non_null(strstr(judged(&in).sentence,
                           "cpu reads, 50 % of operation time, nvme writes nearly as much: 100 % at"));
    works(&in, NVME, 0, 26, 0, 0.3);
    assert_null(strstr(judged(&in).sentence, "nearly as much"));
    in.targets_met = true;
    assert_non_null(strstr(judged(&in).sentence, "nvme writes, 30 % busy"));
    works(&in, NVME, 0, 26, 0.1, 0.3);
    assert_non_null(strstr(judged(&in).sentence, "nvme reads and writes, 40 % busy"));
    in.tier_busy[NVME] = 0.3;
    assert_non_null(strstr(judged(&in).sentence, "nvme writes, 30 % busy"));
}

/* A reader who follows a verdict must not make things worse. */
static void capacity_is_no_cause_where_its_misses_make_no_work(void **state) {
    (void)state;
    struct judge_input in = means(400, 0, 400, 0);
    works(&in, CPU, 20, 60, 0.1, 0.8);
    in.miss_ratio = 0.577;
    in.first_ratio = 0.15;
    in.reuse_bytes = 11 * GIB;
    in.free_ratio = in.miss_ratio;
    assert_non_null(strstr(judged(&in).sentence, "evicted for want of room; a miss makes no work here; "));
    struct verdict v = judged(&in);
    char text[300];
    assert_string_equal(verdict_advice(&v, text, sizeof text),
                        "a faster cpu tier, or fewer users; 7.00 GiB more in the cpu tier would bring hits");
    /* with time left the tier's latency is what users feel, and more room brings none */
    in.busy[CPU][READ] = 0.1, in.busy[CPU][WRITE] = 0.4, in.tier_busy[CPU] = 0.5;
    v = judged(&in);
    assert_true(v.limited_by == VERDICT_CPU && v.cause == VERDICT_CAUSE_LATENCY);
    assert_non_null(strstr(v.sentence, "58 % of lookups miss, which makes no work here"));
    in.free_ratio = 0; /* what misses is written again */
    assert_int_equal(judged(&in).cause, VERDICT_CAUSE_CAPACITY);
    in.free_ratio = in.miss_ratio;
    /* one slot, and nearly all of the time in line for it */
    in.queue_ms = 380;
    in.storage_ms = 20;
    in.slots_ratio = 1;
    in.slots = 1;
    in.backlog = 30;
    assert_int_equal(judged(&in).limited_by, VERDICT_SLOTS);
    /* a GPU that is busy with generating, not with what was missed */
    in = means(400, 0, 4, 300);
    in.miss_ratio = 0.577;
    in.first_ratio = 0.15;
    in.reuse_bytes = 11 * GIB;
    in.compute_busy = 0.95;
    assert_int_equal(judged(&in).limited_by, VERDICT_COMPUTE);
    /* the same GPU with a batch that has no room to grow */
    in.compute_work = 0.3;
    in.batch_no_room = 0.9;
    in.batch_waiting = 16.2;
    v = judged(&in);
    assert_int_equal(v.limited_by, VERDICT_GPU);
    assert_int_equal(v.cause, VERDICT_CAUSE_CAPACITY);
    assert_non_null(strstr(v.sentence, "16.2 sequences wait to join"));
    /* whose words are of the batch, not of what comes again: tiers of 12 GiB hold 11 */
    assert_non_null(strstr(verdict_headline(&v, text, sizeof text), "the KV of the batch fills the room"));
    assert_non_null(strstr(verdict_rule(&v), "sequences wait to join"));
    assert_string_equal(verdict_advice(&v, text, sizeof text),
                        "a GPU with more memory, a smaller KV type, a faster GPU, or fewer users");
    in.reuse_bytes = 300 * GIB; /* nor is that what the batch lacks */
    v = judged(&in);
    assert_int_equal(v.limited_by, VERDICT_GPU);
    assert_null(strstr(verdict_headline(&v, text, sizeof text), "working set"));
    assert_null(strstr(verdict_advice(&v, text, sizeof text), "GiB"));
}

/* Full slots of which most of the time goes by in waiting for room: more slots wait as well. */
static void waiting_for_room_is_no_want_of_slots(void **state) {
    (void)state;
    struct judge_input in = means(2000, 320, 1680, 0);
    works(&in, NVME, 10, 40, 0.1, 0.64);
    in.room_ms = 1120;
    in.slots_ratio = 1;
    in.slots = 256;
    in.backlog = 49;
    struct verdict v = judged(&in);
    assert_int_equal(v.limited_by, VERDICT_NVME);
    assert_int_equal(v.cause, VERDICT_CAUSE_LATENCY);
    assert_non_null(strstr(v.sentence, "writes that wait for room, 67 % of the time in storage"));
    in.compute_busy = 0.8; /* which makes no room */
    assert_non_null(strstr(judged(&in).sentence, "it is made by what moves to nvme, 74 % busy"));
    in.compute_busy = NAN;
    in.room_ms = 100; /* with more slots more would wait for a drive that has little time left */
    assert_int_equal(judged(&in).limited_by, VERDICT_NVME);
    in.busy[NVME][WRITE] = 0.35;
    in.tier_busy[NVME] = 0.45;
    assert_int_equal(judged(&in).limited_by, VERDICT_SLOTS);
    in.queue_ms = 20; /* nobody waits for a slot for long */
    in.storage_ms = 1980;
    assert_int_equal(judged(&in).limited_by, VERDICT_NVME);
}

/* Many small reads of one tier at a time are soon done, however long they are together: requests wait for the
 * few of the other one. Before the first token it may be otherwise. */
static void the_operation_that_ends_last_is_what_requests_wait_for(void **state) {
    (void)state;
    struct judge_input in = means(100, 0, 80, 20);
    works(&in, CPU, 4, 0, 0.3, 0);
    works(&in, NVME, 60, 0, 0.4, 0);
    assert_int_equal(judged(&in).limited_by, VERDICT_NVME);
    in.paced_ms[CPU][READ] = 72;
    in.paced_ms[NVME][READ] = 8;
    struct verdict v = judged(&in);
    assert_true(v.limited_by == VERDICT_CPU && v.cause == VERDICT_CAUSE_LATENCY);
    assert_non_null(strstr(v.sentence, "cpu reads, 90 % of the time in storage"));
    assert_true(fabs(verdict_value(&v, "cpu_device_share") - 0.72) < 1e-9);
    in.ttft_ms = 40;
    in.first_storage_ms = 30;
    in.first_room_ms = 0;
    in.first_paced_ms[CPU][READ] = 6;
    in.first_paced_ms[NVME][READ] = 24;
    v = judged(&in);
    assert_int_equal(v.limited_by, VERDICT_NVME);
    assert_non_null(strstr(v.sentence, "nvme reads, 80 % of the time in storage"));
}

/* A pod asks a remote tier elsewhere what it has: no tier is at work for most of the time in storage. */
static void questions_to_a_remote_tier_are_messages(void **state) {
    (void)state;
    struct judge_input in = means(1900, 500, 1060, 340);
    works(&in, CPU, 3, 0, 0.04, 0);
    works(&in, KVF_TIER_REMOTE, 0, 0, 0, 0);
    in.way_ms = 500;
    in.room_ms = 0;
    in.paced_ms[CPU][READ] = 60;
    struct verdict v = judged(&in);
    assert_true(v.limited_by == VERDICT_LINK && v.cause == VERDICT_CAUSE_LATENCY);
    assert_non_null(strstr(
        v.sentence, "questions to the remote tier (fleet.delay); the mean end-to-end latency of 1.90 s is "
                    "79 % messages to the pod and to the remote tier, 3 % storage I/O"));
    assert_true(fabs(verdict_value(&v, "cpu_device_share") - 60 / 1900.) < 1e-3);
    in.on[KVF_TIER_REMOTE] = false; /* what is not known else is the tier's */
    assert_int_equal(judged(&in).limited_by, VERDICT_CPU);
}

/* One write at a time: two thirds of what a write takes is the wait for its turn, whatever reads take. */
static void a_gate_is_named_beside_long_reads(void **state) {
    (void)state;
    struct judge_input in = means(1500, 0, 1500, 0);
    works(&in, NVME, 90, 30, 0.2, 0.1);
    in.held_s = 70;
    in.paced_ms[NVME][READ] = 400;
    in.paced_ms[NVME][WRITE] = 1000;
    assert_int_equal(judged(&in).limited_by, VERDICT_WRITES);
    in.held_s = 20;
    assert_int_equal(judged(&in).limited_by, VERDICT_NVME);
}

/* Messages are most of the latency: neither a larger tier nor a faster one shortens them. */
static void messages_come_before_misses(void **state) {
    (void)state;
    struct judge_input in = means(1030, 1000, 30, 0);
    works(&in, CPU, 3, 0, 0.04, 0);
    in.way_ms = 1000;
    in.miss_ratio = 0.6;
    in.first_ratio = 0.1;
    in.reuse_bytes = 30 * GIB;
    assert_int_equal(judged(&in).limited_by, VERDICT_LINK);
    in.way_ms = in.queue_ms = 0;
    in.storage_ms = 1030;
    assert_int_equal(judged(&in).cause, VERDICT_CAUSE_CAPACITY);
}

/* Slots that are full at times, behind a tier that is as busy: more load is no remedy for a long queue. */
static void a_long_queue_is_no_want_of_load(void **state) {
    (void)state;
    struct judge_input in = means(1150, 730, 420, 0);
    works(&in, NVME, 5, 80, 0.05, 0.72);
    in.targets = false;
    in.slots = 128;
    in.slots_ratio = 0.76;
    in.backlog = 353;
    assert_int_equal(judged(&in).limited_by, VERDICT_NVME);
    in.queue_ms = 300;
    in.storage_ms = 850;
    assert_int_equal(judged(&in).limited_by, VERDICT_LOAD);
}

/* Copies behind which writes wait for their turn are a demand as well: reads and copies fill the tier. */
static void behind_a_gate_copies_fill_a_tier_too(void **state) {
    (void)state;
    struct judge_input in = means(100, 40, 60, 0);
    works(&in, CPU, 30, 2, 0.96, 0.02);
    in.emulated[CPU] = true;
    in.aside_s[CPU][READ] = 7;
    in.needed[CPU][READ] = 0.7;
    in.held_s = 40;
    in.slots_ratio = 1;
    in.slots = 4;
    in.backlog = 9;
    struct verdict v = judged(&in);
    assert_true(v.limited_by == VERDICT_CPU && v.cause == VERDICT_CAUSE_BANDWIDTH);
}

/* Two slots are held for reads and for writes of one drive: twice as fast it frees them in half of the time,
 * while twice as many are of use until it is full, 1.5 times as long. */
static void reads_and_writes_hold_slots_together(void **state) {
    (void)state;
    struct judge_input in = means(2000, 320, 1680, 0);
    works(&in, NVME, 26, 24, 0.34, 0.33);
    in.slots_ratio = 1;
    in.slots = 2;
    in.backlog = 49;
    assert_int_equal(judged(&in).limited_by, VERDICT_NVME);
    in.busy[NVME][READ] = in.busy[NVME][WRITE] = 0.2;
    in.tier_busy[NVME] = 0.4;
    assert_int_equal(judged(&in).limited_by, VERDICT_SLOTS);
    in.tier_busy[NVME] =
        0.8; /* nor where they wait for room that a busy drive makes, whatever takes time besides */
    in.busy[NVME][READ] = 0;
    in.busy[NVME][WRITE] = 0.8;
    works(&in, CPU, 70, 0, 0.6, 0);
    in.room_ms = 1200;
    assert_int_equal(judged(&in).limited_by, VERDICT_NVME);
    in.room_ms = 300;
    assert_int_equal(judged(&in).limited_by, VERDICT_SLOTS);
}

/* Four slots are held by generation: of 2.49 s in service a request is 28 ms in storage. */
static void generation_holds_slots_however_storage_waits_for_room(void **state) {
    (void)state;
    struct judge_input in = means(43870, 41380, 28, 2462);
    works(&in, NVME, 0, 2.7, 0, 0.02);
    in.ttft_ms = 41400;
    in.first_storage_ms = 20;
    in.first_room_ms = 15;
    in.room_ms = 18;
    in.slots_ratio = 1;
    in.slots = 4;
    in.backlog = 2980;
    EXPECT(
        &in, VERDICT_SLOTS, VERDICT_CAUSE_CONCURRENCY,
        "slots: 4 of 4 busy; 2.98k waiting; inside, nvme writes 2 % busy is the most loaded; the mean time to "
        "first token of 41.4 s is 100 % queue wait");
    in = means(2470, 0, 86, 2384); /* without a queue there are 1.8 of 256, hardly one of them in storage */
    works(&in, NVME, 0, 2.7, 0, 0.05);
    in.ttft_ms = 71;
    in.first_storage_ms = 71;
    in.first_room_ms = 49;
    in.room_ms = 49;
    in.slots_ratio = 0.007;
    in.slots = 256;
    struct verdict v = judged(&in);
    assert_int_equal(v.limited_by, VERDICT_NVME);
    assert_non_null(strstr(v.sentence, "nvme writes, 100 % of operation time"));
    assert_non_null(strstr(v.sentence, "(69 % with a write waiting for room)"));
}

/* Writes of decode wait for room, and none before the first token: what that waits for are reads. */
static void room_is_told_of_the_latency_that_targets_are_of(void **state) {
    (void)state;
    struct judge_input in = means(2000, 0, 1800, 200);
    works(&in, NVME, 10, 40, 0.1, 0.6);
    in.room_ms = 1500;
    assert_non_null(
        strstr(judged(&in).sentence, "90 % storage I/O (75 % with a write waiting for room), 10 %"));
    in.ttft_ms = 300;
    in.first_storage_ms = 240;
    in.first_room_ms = 0;
    struct verdict v = judged(&in);
    assert_null(strstr(v.sentence, "room"));
    assert_non_null(strstr(v.sentence, "first token of 300 ms is 80 % storage I/O, 20 % other"));
    in.first_room_ms = 200;
    assert_non_null(strstr(judged(&in).sentence, "80 % storage I/O (67 % with a write waiting for room)"));
}

/* 6.5 of the 260 in service of eight pods are in storage, where 6.4 tiers are at work: no line. */
static void tiers_of_all_pods_are_at_work(void **state) {
    (void)state;
    struct judge_input in = means(1400, 0, 35, 20);
    works(&in, CPU, 10, 10, 0.5, 0.3);
    in.targets = false;
    in.room_ms = 19;
    in.slots_ratio = 260 / 2048.;
    in.slots = 2048;
    in.machines = 8;
    assert_int_equal(judged(&in).limited_by, VERDICT_LOAD);
    in.machines = 1; /* one that has all of them has one tier at work 80 % of the time */
    assert_non_null(strstr(judged(&in).sentence, "writes that wait for room"));
    in.slots_ratio = 65 / 2048.; /* 1.6 in storage are no crowd */
    assert_int_equal(judged(&in).limited_by, VERDICT_LOAD);
}

/* 76 of 100 ms in storage are waits for room. gpu reads take most operation time, and cpu, which takes what
 * is moved, is the busier tier: a faster one makes room sooner. */
static void the_tier_that_makes_room_is_named(void **state) {
    (void)state;
    struct judge_input in = means(100, 0, 100, 0);
    works(&in, GPU, 64, 0, 0.1, 0.05);
    works(&in, CPU, 5, 31, 0.02, 0.3);
    in.room_ms = 76;
    struct verdict v = judged(&in);
    assert_true(v.limited_by == VERDICT_CPU && v.cause == VERDICT_CAUSE_LATENCY);
    assert_non_null(strstr(v.sentence, "it is made by what moves to cpu, 32 % busy"));
    works(&in, NVME, 0, 35, 0, 0.05); /* what moves to cpu waits until it has moved on */
    assert_int_equal(judged(&in).limited_by, VERDICT_CPU);
    works(&in, NVME, 0, 35, 0, 0.5);
    assert_int_equal(judged(&in).limited_by, VERDICT_NVME);
    works(&in, NVME, 0, 12, 0, 0.5); /* most go no further */
    assert_int_equal(judged(&in).limited_by, VERDICT_CPU);
    in.room_ms = 40;
    assert_int_equal(judged(&in).limited_by, VERDICT_GPU);
}

/* A drive with many channels, or far away, takes long for each entry and is hardly busy. */
static void the_slower_end_of_the_moves_is_named(void **state) {
    (void)state;
    struct judge_input in = means(1300, 0, 1250, 50);
    char text[300];
    works(&in, CPU, 5, 5, 0.02, 0.01);
    works(&in, NVME, 1, 60, 0.01, 0.01);
    in.room_ms = 1000;
    in.slots = 64;
    in.slots_ratio = 0.5;
    in.moves_s[CPU][READ] = 5, in.moves_s[NVME][WRITE] = 60;
    struct verdict v = judged(&in);
    assert_true(v.limited_by == VERDICT_NVME && v.cause == VERDICT_CAUSE_LATENCY);
    assert_null(strstr(v.sentence, "from cpu"));
    assert_true(fabs(verdict_value(&v, "nvme_room_share") - 60. / 65) < 1e-9);
    assert_string_equal(verdict_advice(&v, text, sizeof text), "a faster nvme tier, or enough room above it");
    in.moves_s[CPU][READ] = 50;
    v = judged(&in);
    assert_int_equal(v.limited_by, VERDICT_NVME);
    assert_non_null(strstr(v.sentence, "made by what moves to nvme, 2 % busy, from cpu, 3 % busy"));
    assert_string_equal(verdict_advice(&v, text, sizeof text),
                        "faster nvme and cpu tiers, or enough room above nvme");
    in.moves_s[CPU][READ] = 70;
    v = judged(&in);
    assert_int_equal(v.limited_by, VERDICT_CPU);
    assert_string_equal(verdict_advice(&v, text, sizeof text),
                        "faster cpu and nvme tiers, or enough room above nvme");
    in.line_s[NVME][WRITE] = 40; /* so many at a time that they stand in line: the busier end */
    in.tier_busy[NVME] = 0.3;
    v = judged(&in);
    assert_int_equal(v.limited_by, VERDICT_NVME);
    assert_true(fabs(verdict_value(&v, "cpu_room_share") - 0.03 / 0.33) < 1e-9);
}

/* A drive that copies in the background fill beside a GPU that is full of work: copies take what is left. */
static void moves_in_the_background_bound_less_than_a_full_gpu(void **state) {
    (void)state;
    struct judge_input in = means(7000, 0, 3700, 3300);
    works(&in, NVME, 60, 20, 0.75, 0.25);
    in.needed[NVME][READ] = 1;
    in.needed[NVME][WRITE] = 0;
    in.compute_busy = 1;
    in.compute_work = 0.87;
    struct verdict v = judged(&in);
    assert_true(v.limited_by == VERDICT_COMPUTE && v.cause == VERDICT_CAUSE_BANDWIDTH);
    assert_non_null(strstr(v.sentence, "; next, nvme reads and writes, 100 % busy"));
    in.compute_work = 0.5; /* a larger batch would do more */
    v = judged(&in);
    assert_true(v.limited_by == VERDICT_NVME && v.cause == VERDICT_CAUSE_BANDWIDTH);
    assert_non_null(strstr(v.sentence, "100 % busy, 25 % of that with moves in the background"));
    assert_null(strstr(v.sentence, "bounds throughput"));
    assert_true(fabs(verdict_value(&v, "throughput_bound_per_s") - 10 / 0.5) < 1e-9); /* the GPU's */
}

/* Copies that fill a slow drive are made or left: no request is done sooner on a faster one. */
static void moves_in_the_background_bound_nothing(void **state) {
    (void)state;
    struct judge_input in = means(400, 0, 300, 100);
    works(&in, CPU, 60, 10, 0.5, 0.1);
    works(&in, NVME, 0, 80, 0, 1);
    in.aside_s[NVME][WRITE] = 80;
    in.needed[NVME][WRITE] = 0;
    struct verdict v = judged(&in);
    assert_int_equal(v.limited_by, VERDICT_CPU);
    assert_int_equal(v.cause, VERDICT_CAUSE_LATENCY);
    assert_null(strstr(v.sentence, "bounds throughput"));
    assert_true(fabs(verdict_value(&v, "nvme_busy") - 1) < 1e-9 && verdict_value(&v, "nvme_demand_ms") == 0);
    assert_true(fabs(verdict_value(&v, "throughput_bound_per_s") - 10 / 0.6) < 1e-9);
    in.room_ms = 40; /* room is free when they end */
    assert_int_equal(judged(&in).limited_by, VERDICT_NVME);
    in.room_ms = 0;
    in.line_s[CPU][READ] = 50, in.device_s[CPU][READ] = 10; /* workers are when they end */
    in.copying = 0.99;
    v = judged(&in);
    assert_int_equal(v.limited_by, VERDICT_NVME);
    assert_int_equal(v.cause, VERDICT_CAUSE_BANDWIDTH);
    in.copying = 0.5;
    assert_int_equal(judged(&in).limited_by, VERDICT_CPU);
    in.copying = 1; /* reads and writes stand in that line, neither for half of the time */
    in.op_s[CPU][WRITE] = 50, in.line_s[CPU][WRITE] = 45, in.device_s[CPU][WRITE] = 5;
    in.paced_ms[CPU][READ] = in.paced_ms[CPU][WRITE] = 150;
    assert_int_equal(judged(&in).limited_by, VERDICT_NVME);
    in.op_s[CPU][WRITE] = 10, in.line_s[CPU][WRITE] = in.device_s[CPU][WRITE] = NAN;
    in.paced_ms[CPU][READ] = in.paced_ms[CPU][WRITE] = 0;
    in.copying = 0, in.line_s[CPU][READ] = NAN, in.device_s[CPU][READ] = 60;
    in.room_ms = 0;
    in.needed[CPU][READ] = 0.3; /* whoever waits for a tier most waits behind moves too */
    in.busy[CPU][READ] = in.tier_busy[CPU] = 0.95;
    assert_int_equal(judged(&in).limited_by, VERDICT_CPU);
    assert_int_equal(judged(&in).cause, VERDICT_CAUSE_BANDWIDTH);
    in.needed[CPU][READ] = 1;
    in.busy[CPU][READ] = 0.5;
    in.tier_busy[CPU] = 0.6;
    in.needed[NVME][WRITE] = 0.9; /* a tenth are copies */
    v = judged(&in);
    assert_int_equal(v.limited_by, VERDICT_NVME);
    assert_non_null(strstr(v.sentence, "100 % busy: 90.0 ms a request bounds throughput at 11.1 requests/s"));
    in.needed[NVME][WRITE] = 0.5;
    in.targets_met = true;
    assert_non_null(
        strstr(judged(&in).sentence, "; nvme writes are 100 % busy, moves in the background included"));
}

/* Of 3 s with a place a sequence computes for 400 ms and writes for the rest: neither more places nor more
 * room free them sooner than a faster drive. */
static void places_held_by_writes_are_the_drives(void **state) {
    (void)state;
    struct judge_input in = means(10000, 0, 2600, 400);
    works(&in, NVME, 1, 80, 0.05, 0.7);
    in.prefill_ms = 7000; /* all of it the wait for a place */
    in.compute_busy = 0.2;
    in.compute_work = 0.1;
    in.batch_no_room = 0.9;
    in.batch_running = 30;
    in.batch_held = 26;
    in.batch_waiting = 70;
    struct verdict v = judged(&in);
    assert_int_equal(v.limited_by, VERDICT_NVME);
    assert_int_equal(v.cause, VERDICT_CAUSE_LATENCY);
    assert_non_null(strstr(v.sentence, "70 % waiting for a place in the batch"));
    assert_true(fabs(verdict_value(&v, "batch_wait_share") - 0.7) < 1e-9);
    in.storage_ms = 100;
    in.tier_busy[NVME] = in.busy[NVME][WRITE] = 0.4; /* it lets twice as many write at a time, */
    v = judged(&in);
    assert_int_equal(v.limited_by, VERDICT_NVME); /* which brings as much as if these wrote twice as fast */
    in.batch_held = 20;
    v = judged(&in);
    assert_int_equal(v.limited_by, VERDICT_GPU);
    assert_int_equal(v.cause, VERDICT_CAUSE_CAPACITY);
    in.held_s = 900; /* unless all of them stand at the gate */
    v = judged(&in);
    assert_int_equal(v.limited_by, VERDICT_WRITES);
    in.held_s = NAN;
    in.tier_busy[NVME] = in.busy[NVME][WRITE] = 0.7;
    in.batch_held = 0;
    v = judged(&in);
    assert_int_equal(v.limited_by, VERDICT_GPU);
    assert_int_equal(v.cause, VERDICT_CAUSE_CAPACITY);
}

/* Sixteen slots, twelve of them in a batch whose room is full: with more room it has four sequences more. */
static void a_gpu_is_named_where_no_single_limit_keeps_its_batch_small(void **state) {
    (void)state;
    struct judge_input in = means(2000, 400, 30, 1500);
    works(&in, NVME, 3, 0, 0.1, 0);
    in.slots = 16;
    in.slots_ratio = 1;
    in.compute_busy = 1;
    in.compute_work = 0.76;
    in.kv_use = 0.95;
    in.batch_no_room = 0.9;
    in.batch_running = 12;
    in.batch_waiting = 4;
    struct verdict v = judged(&in);
    assert_int_equal(v.limited_by, VERDICT_COMPUTE);
    assert_int_equal(v.cause, VERDICT_CAUSE_BANDWIDTH);
    assert_non_null(strstr(v.sentence,
                           "100 % busy: 100 ms a request in batches of this size bounds throughput "
                           "at 10 requests/s"));
    in.slots = 64;
    char text[300];
    v = judged(&in);
    assert_int_equal(v.limited_by, VERDICT_GPU);
    assert_string_equal(verdict_advice(&v, text, sizeof text),
                        "a GPU with more memory, a smaller KV type, a faster GPU, or fewer users");
    in.compute_busy = 0.4;
    v = judged(&in);
    assert_null(strstr(verdict_advice(&v, text, sizeof text), "faster GPU"));
    in.compute_busy = 1;
    in.places = 13; /* the size of the batch is as near */
    assert_int_equal(judged(&in).limited_by, VERDICT_COMPUTE);
    in.places = 0;
    in.users = 14; /* so are those who ask */
    in.unserved_ratio = NAN;
    assert_int_equal(judged(&in).limited_by, VERDICT_COMPUTE);
    in.unserved_ratio = 0.3; /* paced ones ask on: each has many open */
    assert_int_equal(judged(&in).limited_by, VERDICT_GPU);
}

/* Of 40 s of operation time 30 s are spent in line for a turn among the writes. */
static void the_limit_on_writes_is_named(void **state) {
    (void)state;
    struct judge_input in = means(100, 5, 90, 0);
    works(&in, NVME, 0, 8, 0, 0.5);
    in.held_s = 30;
    EXPECT(&in, VERDICT_WRITES, VERDICT_CAUSE_CONCURRENCY,
           "writes waiting for their turn (engine.max_concurrent_writes), 79 % of operation time; the mean "
           "end-to-end latency of 100 ms is 5 % queue wait, 90 % storage I/O, 5 % other");
    in.held_s = 6; /* less than another part it is no bottleneck, but its time counts as storage time */
    EXPECT(
        &in, VERDICT_NVME, VERDICT_CAUSE_LATENCY,
        "nvme writes, 57 % of operation time: 100 % at the device; 50 % busy; the mean end-to-end latency of 100 ms is 5 % queue wait, 90 % storage I/O, 5 % other");
}

/* Writes that would wait for a channel if they did not in front of it are no faster without the limit. */
static void the_limit_on_writes_in_front_of_what_is_full_is_not_named(void **state) {
    (void)state;
    struct judge_input in = means(100, 5, 90, 0);
    works(&in, NVME, 0, 8, 0, 0.95);
    in.held_s = 30;
    assert_int_equal(judged(&in).limited_by, VERDICT_WRITES); /* a real tier may do more at a time */
    in.emulated[NVME] = true;
    struct verdict v = judged(&in);
    assert_int_equal(v.limited_by, VERDICT_NVME);
    assert_int_equal(v.cause, VERDICT_CAUSE_BANDWIDTH);
    assert_non_null(
        strstr(v.sentence,
               "; writes waiting for their turn (engine.max_concurrent_writes), 79 % of operation time"));
    works(&in, NVME, 0, 8, 0, 0.5);
    assert_int_equal(judged(&in).limited_by, VERDICT_WRITES);
    in.compute_busy = 0.99;
    assert_int_equal(judged(&in).limited_by, VERDICT_COMPUTE);
}

static void generation_beside_much_storage_is_not_said_to_be_all(void **state) {
    (void)state;
    struct judge_input in = means(100, 0, 9, 90);
    works(&in, NVME, 3, 1, 0.3, 0.04);
    assert_non_null(strstr(judged(&in).sentence, "generation, token time, not the cache; the mean"));
    in = means(100, 0, 45, 54);
    works(&in, NVME, 3, 1, 0.3, 0.04);
    assert_non_null(strstr(judged(&in).sentence, "generation, token time; the mean"));
}

/* A fleet that sends users to any pod: what another pod has, or has lost, is computed again. */
static void prefill_of_what_had_been_there_is_not_said_to_be_none_of_the_cache(void **state) {
    (void)state;
    struct judge_input in = means(100, 0, 5, 0);
    works(&in, NVME, 3, 1, 0.3, 0.04);
    in.prefill_ms = 95;
    in.compute_busy = 0.5;
    in.miss_ratio = 0.7;
    in.first_ratio = 0.6;
    assert_non_null(strstr(judged(&in).sentence, ", not the cache; the mean"));
    in.first_ratio = 0.1;
    assert_null(strstr(judged(&in).sentence, "not the cache"));
    assert_non_null(
        strstr(judged(&in).sentence,
               "; 60.0 % of lookups miss what had been there, and it is computed again; the mean"));
    in.free_ratio = in.miss_ratio;
    assert_non_null(strstr(judged(&in).sentence, ", not the cache; the mean"));
}

static void before_a_request_has_ended_operations_tell(void **state) {
    (void)state;
    struct judge_input in = unknown();
    in.requests = 0;
    EXPECT(&in, VERDICT_LOAD, VERDICT_CAUSE_DEMAND, "no request was completed");
    in.slots_ratio = 0.02; /* they came, and take their time */
    in.slots = 256;
    EXPECT(&in, VERDICT_UNKNOWN, VERDICT_CAUSES, "no request was completed; 5 of 256 slots busy");
    struct verdict v = judged(&in);
    char text[200];
    assert_string_equal(verdict_advice(&v, text, sizeof text), "a longer run: no request has ended");
    assert_null(strstr(verdict_rule(&v), "meets"));
    works(&in, NVME, 0, 30, 0, 1);
    works(&in, CPU, 0, 10, 0, 0.1);
    in.device_s[NVME][WRITE] = 27;
    in.slots_ratio = 1;
    in.slots = 256;
    in.backlog = 4120;
    EXPECT(
        &in, VERDICT_NVME, VERDICT_CAUSE_LATENCY,
        "no request was completed; so far nvme writes, 75 % of operation time: 90 % at the device, 10 % on the "
        "host side; 256 of 256 slots busy; 4.12k waiting");
    in = unknown();
    EXPECT(&in, VERDICT_UNKNOWN, VERDICT_CAUSES,
           "none to be named: the end-to-end latency of 100 requests is missing");
    in.e2e_ms = 0;
    in.requests = 1;
    EXPECT(&in, VERDICT_UNKNOWN, VERDICT_CAUSES,
           "none to be named: the end-to-end latency of 1 request is 0");
}

/* A sentence names the time that it is about. */
static void the_window_is_the_one_it_names(void **state) {
    (void)state;
    static const struct {
        double length_s;
        const char *end;
    } windows[] = {{10, "(last 10 s)"}, {300, "(last 5 min)"}, {0.2, "(last 1 s)"}, {119.6, "(last 120 s)"}};
    struct judge_input in = means(40, 0, 40, 0);
    in.targets_met = true;
    in.whole = false;
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
        in.length_s = windows[i].length_s;
        struct verdict v = judged(&in);
        assert_string_equal(v.sentence + strlen(v.sentence) - strlen(windows[i].end), windows[i].end);
    }
}

/* The sum of the percents between two marks of a sentence. */
static int percents_in(const char *sentence, const char *from, const char *to) {
    const char *at = strstr(sentence, from), *end;
    int sum = 0;
    assert_non_null(at);
    end = strstr(at, to);
    if (!end) end = at + strlen(at);
    for (at += strlen(from); at < end; at++) {
        if (!isdigit((unsigned char)*at)) continue;
        char *rest;
        double v = strtod(at, &rest);
        if (strncmp(rest, " %", 2) == 0) sum += (int)v;
        at = rest;
    }
    return sum;
}

/* Thirds, overlaps and shares that round the same way; also where parts are more than the whole. */
static void percents_of_a_sentence_add_up(void **state) {
    (void)state;
    for (int n = 0; n < 2000; n++) {
        struct judge_input in = means(1000, (n * 37) % 400, 100 + (n * 91) % 900, (n * 53) % 500);
        works(&in, NVME, 10, 3, 0.4, 0.1);
        in.device_s[NVME][READ] = (n * 17 % 1000) / 100.;
        in.line_s[NVME][READ] = (n * 29 % 1000) / 100.;
        struct verdict v = judged(&in);
        assert_int_equal(percents_in(v.sentence, "mean end-to-end", ";"), 100);
        if (v.limited_by == VERDICT_NVME)
            assert_int_equal(percents_in(v.sentence, "of operation time:", ";"), 100);
    }
}

/* The longest sentence there can be fits where it is kept. */
static void the_longest_sentence_fits(void **state) {
    (void)state;
    struct judge_input in = means(318000, 100000, 43000, 43000);
    in.whole = false;
    in.length_s = 3e5;
    in.requests = 12345678;
    in.prefill_ms = 12345;
    works(&in, NVME, 1000, 900, 0.5, 0.48);
    in.compat[NVME] = true;
    in.device_s[NVME][READ] = 290;
    in.line_s[NVME][READ] = 300;
    in.slots_ratio = 1;
    in.slots = 1000000;
    in.backlog = 99900;
    in.device_busy_ratio = 1;
    in.stalled[NVME] = 0.995;
    in.room_ms = in.storage_ms / 2;
    assert_in_range(strlen(judged(&in).sentence), 250, KVF_BOTTLENECK - 2);
    in.miss_ratio = 0.9;
    in.first_ratio = 0.1;
    in.reuse_bytes = 1234567890123;
    in.reuse_error = 0.1;
    assert_in_range(strlen(judged(&in).sentence), 250, KVF_BOTTLENECK - 2);
    in.free_ratio = in.miss_ratio; /* as long as a tier's capacity is told */
    works(&in, KVF_TIER_REMOTE, 2000, 1900, 0.5, 0.499);
    in.emulated[KVF_TIER_REMOTE] = true;
    in.device_s[KVF_TIER_REMOTE][READ] = 580;
    in.line_s[KVF_TIER_REMOTE][READ] = 600;
    in.room_ms = in.storage_ms;
    in.usable_bytes[NVME] = in.used_bytes[NVME] = 123 * GIB;
    in.capacity_ratio = 0.95;
    assert_in_range(strlen(judged(&in).sentence), 448, KVF_BOTTLENECK - 2);
    in.free_ratio = 0;
    in.compute_busy = 0.994;
    assert_in_range(strlen(judged(&in).sentence), 250, KVF_BOTTLENECK - 2);
    in.compute_busy = in.capacity_ratio = NAN;
    in.our_bytes = 1e15;
    in.device_bytes = 1.234567e20;
    assert_in_range(strlen(judged(&in).sentence), 250, KVF_BOTTLENECK - 2);
}

/* Only where it bounds the throughput, and from a twentieth of the time on. */
static void a_drive_that_stalls_is_told(void **state) {
    static const struct {
        double busy, stalled;
        bool told;
    } cases[] = {{0.97, 0.342, true}, {0.97, 0.049, false}, {0.5, 0.342, false}, {0.97, 0, false}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct judge_input in = means(400, 10, 320, 0);
        works(&in, NVME, 9, 8, cases[i].busy, 0.1);
        in.stalled[NVME] = cases[i].stalled;
        bool told = strstr(judged(&in).sentence, "; the drive stalled for 34 % of the time") != NULL;
        if (told != cases[i].told) fail_msg("case %zu: %s", i, judged(&in).sentence);
        assert_true(told || !strstr(judged(&in).sentence, "stalled"));
    }
    struct judge_input in = means(400, 10, 320, 0);
    works(&in, KVF_TIER_REMOTE, 9, 8, 0.97, 0.1);
    in.stalled[KVF_TIER_REMOTE] = 0.342;
    assert_non_null(strstr(judged(&in).sentence, "; the store stalled for 34 % of the time"));
}

/* 320 ms of 400 are storage: nine tenths of it nvme's, of which 7.1 s of 9 are in line. */
static void a_headline_says_how_much_of_a_request_it_is(void **state) {
    (void)state;
    struct judge_input in = means(400, 40, 320, 0);
    char text[300];
    works(&in, CPU, 0.5, 0.5, 0.1, 0.1);
    works(&in, NVME, 8, 1, 0.9, 0.08);
    in.device_s[NVME][READ] = 0.9;
    in.line_s[NVME][READ] = 7.1;
    struct verdict v = judged(&in);
    assert_true(fabs(verdict_value(&v, "e2e_mean_ms") - 400) < 1e-9);
    assert_true(fabs(verdict_value(&v, "nvme_line_share") - 0.8 * 0.71) < 1e-9);
    assert_true(fabs(verdict_value(&v, "nvme_device_share") - 0.8 * 0.19) < 1e-9);
    assert_true(fabs(verdict_value(&v, "cpu_device_share") - 0.8 * 0.1) < 1e-9);
    assert_string_equal(verdict_headline(&v, text, sizeof text),
                        "nvme reads, 98 % busy: 72 % of request time, 79 % of that waiting in line");
    in.room_ms = 300;
    v = judged(&in);
    assert_string_equal(verdict_headline(&v, text, sizeof text),
                        "nvme reads, 98 % busy: 75 % of request time waits for room behind it");
    v.cause = VERDICT_CAUSE_CAPACITY;
    verdict_add_evidence(&v, "working_set", 31 * GIB, "B");
    verdict_add_evidence(&v, "tiers_hold", 20 * GIB, "B");
    assert_non_null(strstr(verdict_headline(&v, text, sizeof text), "nvme tier capacity: working set "));
    in = means(40, 0, 40, 0);
    in.targets_met = true;
    v = judged(&in);
    assert_string_equal(verdict_headline(&v, text, sizeof text), "none: all targets met");
}

/* The slots are full of requests that generate: a busy host is not why the others wait. */
static void full_slots_come_before_a_busy_host_where_time_is_a_timer(void **state) {
    (void)state;
    struct judge_input in = means(1500, 1060, 8, 430);
    works(&in, CPU, 0.5, 0.5, 0.01, 0.01);
    in.host_cpu_ratio = 1;
    in.own_cpu_ratio = 0.1;
    in.slots_ratio = 1;
    in.slots = 8;
    in.backlog = 45;
    assert_int_equal(judged(&in).limited_by, VERDICT_SLOTS);
    in.storage_ms = 500; /* whose work is the host's */
    assert_int_equal(judged(&in).limited_by, VERDICT_NEIGHBOUR);
}

/* Nothing that completed requests waited for would make the others succeed. */
static void failures_come_before_every_limit(void **state) {
    (void)state;
    char text[300];
    struct judge_input in = means(40, 0, 40, 0);
    works(&in, CPU, 1, 1, 0.3, 0.5);
    works(&in, NVME, 3, 1, 0.1, 0.1);
    in.reuse_bytes = 100 * GIB;
    in.miss_ratio = 0.9;
    in.first_ratio = 0.1;
    in.failed = 99;
    in.refused = 99;
    assert_int_not_equal(judged(&in).cause, VERDICT_CAUSES);
    in.failed = 300;
    in.refused = 299;
    EXPECT(
        &in, VERDICT_NVME, VERDICT_CAUSE_CAPACITY,
        "room for writes: 300 requests failed, 299 of them because a write was larger than every tier or found no room in "
        "time, and 100 were completed; throughput and latencies are of what was completed alone");
    struct verdict v = judged(&in);
    assert_true(fabs(v.share - 0.75) < 1e-9);
    assert_string_equal(
        verdict_headline(&v, text, sizeof text),
        "room for writes: 300 requests failed, 299 of them because a write was larger than every tier or found no room in "
        "time, and 100 were completed");
    assert_string_equal(verdict_advice(&v, text, sizeof text),
                        "a larger nvme tier, or fewer users if every entry fits");
    assert_non_null(strstr(verdict_rule(&v), "room"));
    in.tier_busy[CPU] = 0.9;
    v = judged(&in);
    assert_non_null(strstr(v.sentence, "of what was completed alone; cpu reads and writes, 90 % busy"));
    assert_string_equal(verdict_advice(&v, text, sizeof text),
                        "a faster cpu tier, or fewer users if every entry fits");
    in.tier_busy[CPU] = 0.8;
    in.refused = 3;
    EXPECT(
        &in, VERDICT_UNKNOWN, VERDICT_CAUSES,
        "none to be named: 300 requests failed, 3 of them because a write was larger than every tier or found no room in "
        "time, and 100 were completed; throughput and latencies are of what was completed alone");
    v = judged(&in);
    assert_null(strstr(verdict_advice(&v, text, sizeof text), "nothing has to change"));
    assert_null(strstr(verdict_rule(&v), "meets"));
    in.refused = 300;
    assert_non_null(strstr(judged(&in).sentence, ": 300 requests failed, all because a write was larger"));
    in.requests = 0; /* which is no want of load */
    EXPECT(
        &in, VERDICT_NVME, VERDICT_CAUSE_CAPACITY,
        "room for writes: 300 requests failed, all because a write was larger than every tier or found no room in time, "
        "and none was completed");
    in.failed = in.refused = 1;
    in.requests = 1;
    assert_non_null(strstr(judged(&in).sentence, ": 1 request failed, because a write was larger"));
    assert_non_null(
        strstr(judged(&in).sentence, " and 1 was completed; throughput and latencies are of what "));
    in.requests = 100;
    /* nor has a run all is well with whose latency is not known */
    in.failed = in.refused = 0;
    in.e2e_ms = 0;
    v = judged(&in);
    assert_null(strstr(verdict_advice(&v, text, sizeof text), "nothing has to change"));
    assert_null(strstr(verdict_rule(&v), "meets"));
}

static void every_verdict_has_advice_and_a_rule(void **state) {
    (void)state;
    char text[200];
    for (int limit = 0; limit < VERDICT_LIMITS; limit++) {
        for (int cause = 0; cause <= VERDICT_CAUSES; cause++) {
            struct verdict v = {
                .known = true, .limited_by = (enum verdict_limit)limit, .cause = (enum verdict_cause)cause};
            assert_in_range(strlen(verdict_advice(&v, text, sizeof text)), 10, 70);
            assert_null(strchr(text, '#'));
            assert_true(strlen(verdict_rule(&v)) > 40);
        }
    }
    struct verdict unknown = {.known = false};
    assert_string_equal(verdict_advice(&unknown, text, sizeof text), "");
    struct verdict met = {.known = true, .limited_by = VERDICT_NONE, .cause = VERDICT_CAUSES};
    verdict_add_evidence(&met, "capacity_miss_ratio", 0.19, "");
    assert_string_equal(verdict_advice(&met, text, sizeof text),
                        "nothing has to change: there is room for more load");
    verdict_add_evidence(&unknown, "capacity_miss_ratio", 0.8, "");
    unknown.known = true;
    unknown.limited_by = VERDICT_NONE;
    assert_string_equal(verdict_advice(&unknown, text, sizeof text),
                        "nothing has to change: there is room for more load"); /* but for hits */
    verdict_add_evidence(&unknown, VERDICT_RECOMPUTED, 0.8, "");
    assert_string_equal(verdict_advice(&unknown, text, sizeof text),
                        "a larger tier: many lookups miss for want of room");
    struct verdict small = {.known = true, .limited_by = VERDICT_CPU, .cause = VERDICT_CAUSE_CAPACITY};
    verdict_add_evidence(&small, "working_set", 41.5 * KVF_GIB, "B");
    verdict_add_evidence(&small, "tiers_hold", 8. * KVF_GIB, "B");
    assert_string_equal(verdict_advice(&small, text, sizeof text),
                        "a faster cpu tier, or fewer users; 33.5 GiB more in the cpu tier would bring hits");
    verdict_add_evidence(&small, VERDICT_RECOMPUTED, 0.3, "");
    assert_string_equal(verdict_advice(&small, text, sizeof text),
                        "33.5 GiB more in the cpu tier, or fewer users");
    small.limited_by = VERDICT_NVME;
    assert_string_equal(verdict_advice(&small, text, sizeof text),
                        "33.5 GiB more in the nvme tier, or fewer users");
    small.cause = VERDICT_CAUSE_BANDWIDTH;
    assert_string_equal(verdict_advice(&small, text, sizeof text),
                        "a faster nvme tier, enough room above it, or fewer users");
    /* seen from another mean the factor stays, down to what a request computes */
    verdict_add_remedy(&small, "2 x nvme bandwidth", "e2e_mean_ms", 12000, 4000);
    verdict_rebase(&small, "e2e_mean_ms", 9000, 1000);
    assert_true(fabs(small.remedy[0].now - 9000) < 1e-9 && fabs(small.remedy[0].estimate - 3000) < 1e-9);
    verdict_rebase(&small, "e2e_mean_ms", 2400, 1000);
    assert_true(fabs(small.remedy[0].estimate - 1000) < 1e-9);
    assert_string_equal(verdict_remedy_short(&small.remedy[0], "->", text, sizeof text),
                        "2 x nvme bandwidth: end-to-end mean 2.40 s -> 1.00 s");
    /* a GPU that is saturated is in the evidence of stored runs too */
    assert_null(verdict_no_estimate(&small)); /* there is one */
    small.remedies = 0;
    assert_non_null(strstr(verdict_no_estimate(&small), "certain enough"));
    verdict_add_evidence(&small, "compute_busy", 0.99, "");
    assert_non_null(strstr(verdict_no_estimate(&small), "not a GPU that is busy"));
    small.gap = VERDICT_GAP_AUTOSCALER;
    assert_non_null(strstr(verdict_no_estimate(&small), "autoscaler"));
    assert_int_equal(verdict_gap_parse(verdict_no_estimate(&small)), VERDICT_GAP_AUTOSCALER);
    assert_int_equal(verdict_gap_parse(NULL), VERDICT_GAP_UNSURE);
    struct verdict_remedy r = {"2 x nvme bandwidth", "throughput_tok_s", 9940, 13800};
    assert_string_equal(verdict_remedy_short(&r, "->", text, sizeof text),
                        "2 x nvme bandwidth: tokens/s 9.94k -> 13.8k");
}

/* A hundred requests, in service for ten seconds together, or for ten times as long with others. */
static void requests_that_have_not_ended_bound_nothing(void **state) {
    (void)state;
    struct judge_input in = means(100, 0, 100, 0);
    in.slots = 10;
    in.slots_ratio = 0.1;
    works(&in, NVME, 5, 5, 0.6, 0.35);
    assert_non_null(
        strstr(judged(&in).sentence, "nvme reads and writes, 95 % busy: 95.0 ms a request bounds"));
    assert_true(fabs(verdict_value(judged_of(&in), "throughput_bound_per_s") - 10 / 0.95) < 1e-9);
    assert_int_equal(judged(&in).warnings, 0);
    in.slots_ratio = 1;
    assert_non_null(strstr(judged(&in).sentence, "nvme reads and writes, 95 % busy; "));
    assert_null(strstr(judged(&in).sentence, "bounds"));
    const char *const of_all[] = {"throughput_bound_per_s", "population_bound_per_s", "nvme_demand_ms"};
    for (size_t i = 0; i < 3; i++) assert_true(isnan(verdict_value(judged_of(&in), of_all[i])));
    assert_true(fabs(verdict_value(judged_of(&in), "nvme_busy") - 0.95) < 1e-9);
    assert_int_equal(judged(&in).warnings, 1);
    assert_non_null(strstr(judged(&in).warning[0], "those of the first few"));
    in.whole = false; /* of ten seconds nobody asks more */
    assert_int_equal(judged(&in).warnings, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gpu_whose_batch_has_room_bounds_nothing),
        cmocka_unit_test(the_wait_to_join_a_batch_is_not_its_work),
        cmocka_unit_test(what_keeps_a_batch_small_is_named),
        cmocka_unit_test(copies_hold_no_more),
        cmocka_unit_test(advice_beside_a_gpu_counts_what_it_computes_again),
        cmocka_unit_test(a_drive_that_stalls_is_told),
        cmocka_unit_test(a_headline_says_how_much_of_a_request_it_is),
        cmocka_unit_test(full_slots_come_before_a_busy_host_where_time_is_a_timer),
        cmocka_unit_test(every_verdict_has_advice_and_a_rule),
        cmocka_unit_test(failures_come_before_every_limit),
        cmocka_unit_test(with_all_targets_met_nothing_is_a_bottleneck),
        cmocka_unit_test(misses_that_are_free_are_told_of_a_run_without_a_limit),
        cmocka_unit_test(a_share_is_none_or_all_only_where_it_is),
        cmocka_unit_test(what_no_request_waits_for_limits_none),
        cmocka_unit_test(the_way_to_a_pod_is_no_wait_for_a_slot),
        cmocka_unit_test(the_latency_of_the_targets_is_divided),
        cmocka_unit_test(capacity_is_not_blamed_for_what_a_rule_keeps_out),
        cmocka_unit_test(what_is_still_computed_is_no_miss_of_capacity),
        cmocka_unit_test(too_few_arrivals_are_load),
        cmocka_unit_test(workers_bind_where_nothing_else_is_full),
        cmocka_unit_test(a_latency_may_be_a_line_for_workers),
        cmocka_unit_test(a_larger_batch_serves_no_more_than_arrives),
        cmocka_unit_test(a_gate_with_all_turns_taken_bounds_throughput),
        cmocka_unit_test(the_wait_for_a_full_batch_asks_for_room),
        cmocka_unit_test(less_load_is_asked_for_in_its_own_words),
        cmocka_unit_test(the_largest_part_may_be_the_wait_for_a_slot),
        cmocka_unit_test(messages_may_be_the_time_of_operations),
        cmocka_unit_test(the_cost_of_lookups_is_named),
        cmocka_unit_test(misses_without_work_are_not_computed_again),
        cmocka_unit_test(one_user_is_not_asked_to_be_fewer),
        cmocka_unit_test(the_largest_demand_bounds_throughput),
        cmocka_unit_test(cpus_that_work_for_others_are_a_neighbour),
        cmocka_unit_test(the_link_is_named_where_its_demand_is_the_largest),
        cmocka_unit_test(waiting_for_room_has_a_figure),
        cmocka_unit_test(full_slots_are_named_when_nothing_inside_is),
        cmocka_unit_test(a_neighbour_is_named_before_the_drive),
        cmocka_unit_test(a_tier_too_small_is_a_cause_of_its_own),
        cmocka_unit_test(what_is_nearly_as_much_is_named_beside_it),
        cmocka_unit_test(capacity_is_no_cause_where_its_misses_make_no_work),
        cmocka_unit_test(waiting_for_room_is_no_want_of_slots),
        cmocka_unit_test(the_operation_that_ends_last_is_what_requests_wait_for),
        cmocka_unit_test(behind_a_gate_copies_fill_a_tier_too),
        cmocka_unit_test(questions_to_a_remote_tier_are_messages),
        cmocka_unit_test(a_long_queue_is_no_want_of_load),
        cmocka_unit_test(a_gate_is_named_beside_long_reads),
        cmocka_unit_test(messages_come_before_misses),
        cmocka_unit_test(reads_and_writes_hold_slots_together),
        cmocka_unit_test(generation_holds_slots_however_storage_waits_for_room),
        cmocka_unit_test(room_is_told_of_the_latency_that_targets_are_of),
        cmocka_unit_test(tiers_of_all_pods_are_at_work),
        cmocka_unit_test(the_tier_that_makes_room_is_named),
        cmocka_unit_test(the_slower_end_of_the_moves_is_named),
        cmocka_unit_test(moves_in_the_background_bound_less_than_a_full_gpu),
        cmocka_unit_test(moves_in_the_background_bound_nothing),
        cmocka_unit_test(places_held_by_writes_are_the_drives),
        cmocka_unit_test(a_gpu_is_named_where_no_single_limit_keeps_its_batch_small),
        cmocka_unit_test(the_limit_on_writes_is_named),
        cmocka_unit_test(the_limit_on_writes_in_front_of_what_is_full_is_not_named),
        cmocka_unit_test(generation_beside_much_storage_is_not_said_to_be_all),
        cmocka_unit_test(prefill_of_what_had_been_there_is_not_said_to_be_none_of_the_cache),
        cmocka_unit_test(before_a_request_has_ended_operations_tell),
        cmocka_unit_test(the_window_is_the_one_it_names),
        cmocka_unit_test(percents_of_a_sentence_add_up),
        cmocka_unit_test(the_longest_sentence_fits),
        cmocka_unit_test(requests_that_have_not_ended_bound_nothing),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("judge", tests, NULL, NULL);
}
