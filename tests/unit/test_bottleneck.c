#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "record/bottleneck.h"

/* Nothing known but that a hundred requests were done. */
static struct bottleneck_input unknown(void) {
    struct bottleneck_input in = {
        .e2e_ms = NAN,
        .queue_ms = NAN,
        .storage_ms = NAN,
        .generation_ms = NAN,
        .device_busy_ratio = NAN,
        .misses_ratio = NAN,
        .host_cpu_ratio = NAN,
        .slots_ratio = NAN,
        .requests = 100,
    };
    for (int t = 0; t < KVF_TIERS; t++) {
        in.used_ratio[t] = NAN;
        for (int d = 0; d < KVF_DIRS; d++) in.op_s[t][d] = in.device_s[t][d] = NAN;
    }
    return in;
}

static struct bottleneck_input means(double e2e, double queue, double storage, double generation) {
    struct bottleneck_input in = unknown();
    in.e2e_ms = e2e;
    in.queue_ms = queue;
    in.storage_ms = storage;
    in.generation_ms = generation;
    return in;
}

static void says(const struct bottleneck_input *in, const char *expected) {
    char out[KVF_BOTTLENECK];
    assert_ptr_equal(bottleneck_sentence(in, out, sizeof out), out);
    assert_string_equal(out, expected);
}

static void test_no_request(void **state) {
    (void)state;
    struct bottleneck_input in = unknown();
    in.requests = 0;
    says(&in, "no request was completed");
    in.slots_ratio = 1;
    in.slots = 256;
    in.backlog = 4120;
    says(&in, "no request was completed; 256 of 256 slots busy; 4.12k waiting");
    in.e2e_ms = in.queue_ms = 5; /* of nobody */
    says(&in, "no request was completed; 256 of 256 slots busy; 4.12k waiting");
}

/* Nothing has ended: 30 of 40 s of operations are writes to nvme, 27 of them at the device. */
static void test_operations_alone(void **state) {
    (void)state;
    struct bottleneck_input in = unknown();
    in.requests = 0;
    in.op_s[KVF_TIER_NVME][KVF_DIR_WRITE] = 30;
    in.device_s[KVF_TIER_NVME][KVF_DIR_WRITE] = 27;
    in.op_s[KVF_TIER_CPU][KVF_DIR_WRITE] = 10;
    in.device_s[KVF_TIER_CPU][KVF_DIR_WRITE] = 10;
    in.device_busy_ratio = 0.98;
    says(&in, "no request was completed; so far nvme writes, 75 % of storage time, 90 % of it at the device "
              "(disk 98 % busy)");
    in.slots_ratio = 0.5;
    in.slots = 8;
    in.backlog = 3;
    in.device_s[KVF_TIER_NVME][KVF_DIR_WRITE] = 6;
    in.host_cpu_ratio = 1;
    says(&in, "no request was completed; so far nvme writes, 75 % of storage time, 80 % of it on the host "
              "side (CPUs 100 % busy); 4 of 8 slots busy; 3 waiting");
}

static void test_missing_latency(void **state) {
    (void)state;
    struct bottleneck_input in = unknown();
    says(&in, "none to be named: the end-to-end latency of 100 requests is missing");
    in.requests = 1;
    says(&in, "none to be named: the end-to-end latency of 1 request is missing");
    in.e2e_ms = 0;
    says(&in, "none to be named: the end-to-end latency of 1 request is 0");
    in.e2e_ms = 400; /* the whole is known, no part of it */
    says(&in, "none stands out: queue wait --, storage I/O --, generation --, the rest -- of 400 ms mean "
              "end-to-end");
}

static void test_overload(void **state) {
    (void)state;
    struct bottleneck_input in = means(318000, 274000, 4000, 38000);
    in.slots_ratio = 1;
    in.slots = 256;
    says(&in,
         "queue wait 274 s of 318 s mean end-to-end (86 %): overload, not the disk; 256 of 256 slots busy; "
         "service is 86 % generation");
    in.slots = 0;
    in.slots_ratio = 0.971;
    in.generation_ms = 10000;
    in.backlog = 17;
    says(&in, "queue wait 274 s of 318 s mean end-to-end (86 %): overload, not the disk; slots 97 % busy; "
              "17 waiting");
    in = means(100, 50, NAN, NAN); /* exactly half, and nothing that acquits the disk */
    says(&in, "queue wait 50.0 ms of 100 ms mean end-to-end (50 %): overload");
}

/* When the slots are held by the drive, the drive is not acquitted. */
static void test_overload_by_disk(void **state) {
    (void)state;
    struct bottleneck_input in = means(318000, 274000, 43000, 0);
    in.slots_ratio = 1;
    in.slots = 256;
    in.op_s[KVF_TIER_NVME][KVF_DIR_READ] = 710;
    in.device_s[KVF_TIER_NVME][KVF_DIR_READ] = 660.3;
    in.op_s[KVF_TIER_NVME][KVF_DIR_WRITE] = 200;
    in.op_s[KVF_TIER_CPU][KVF_DIR_READ] = 90;
    says(&in, "queue wait 274 s of 318 s mean end-to-end (86 %): overload; 256 of 256 slots busy; "
              "service is 98 % storage: nvme reads, 71 % of storage time, 93 % of it at the device");
    in.device_s[KVF_TIER_NVME][KVF_DIR_READ] = 71;
    says(&in,
         "queue wait 274 s of 318 s mean end-to-end (86 %): overload, not the disk; 256 of 256 slots busy; "
         "service is 98 % storage: nvme reads, 71 % of storage time, 90 % of it on the host side");
}

static void test_generation(void **state) {
    (void)state;
    struct bottleneck_input in = means(2000, 100, 400, 1500);
    says(&in, "generation 1.50 s of 2.00 s mean end-to-end (75 %): token time, not the cache");
    in.generation_ms = 600;
    in.prefill_ms = 900; /* neither alone is half */
    says(
        &in,
        "prefill and generation 1.50 s of 2.00 s mean end-to-end (75 %): the GPU and its batch, not the cache");
    in.generation_ms = 1500;
    in.prefill_ms = 0;
    in.generation_ms = 998;
    in.storage_ms = 902;
    says(&in,
         "none stands out: queue wait 5 %, storage I/O 45 %, generation 50 %, the rest 0 % of 2.00 s mean "
         "end-to-end"); /* 49.9 % is under one half */
}

static void test_storage(void **state) {
    (void)state;
    struct bottleneck_input in = means(400, 40, 320, 0);
    in.op_s[KVF_TIER_GPU][KVF_DIR_READ] = 10;
    in.op_s[KVF_TIER_NVME][KVF_DIR_READ] = 71;
    in.op_s[KVF_TIER_NVME][KVF_DIR_WRITE] = 19;
    in.device_s[KVF_TIER_NVME][KVF_DIR_READ] = 66.03;
    in.device_busy_ratio = 0.98;
    says(&in,
         "nvme reads, 71 % of storage time, 93 % of it at the device (disk 98 % busy); storage I/O 320 ms of "
         "400 ms mean end-to-end (80 %)");
    in.used_ratio[KVF_TIER_GPU] = 1;
    in.used_ratio[KVF_TIER_CPU] = 0.96;
    in.used_ratio[KVF_TIER_NVME] = 0.99; /* not above itself */
    in.device_s[KVF_TIER_NVME][KVF_DIR_READ] = 7.1;
    in.line_s[KVF_TIER_NVME][KVF_DIR_READ] = 56.8;
    in.host_cpu_ratio = 0.5;
    says(
        &in,
        "nvme reads, 71 % of storage time, 10 % of it at the device and 80 % in line for it (disk 98 % busy); "
        "storage I/O 320 ms of 400 ms mean end-to-end (80 %); gpu 100 % and cpu 96 % full");
    in.line_s[KVF_TIER_NVME][KVF_DIR_READ] = 92; /* of operations, too, that have not ended */
    says(
        &in,
        "nvme reads, 71 % of storage time, 10 % of it at the device and 90 % in line for it (disk 98 % busy); "
        "storage I/O 320 ms of 400 ms mean end-to-end (80 %); gpu 100 % and cpu 96 % full");
    in.line_s[KVF_TIER_NVME][KVF_DIR_READ] = 28; /* 10 % + 39 %: half of it is the host's own */
    says(&in,
         "nvme reads, 71 % of storage time, 90 % of it on the host side (CPUs 50 % busy); storage I/O 320 ms "
         "of 400 ms mean end-to-end (80 %); gpu 100 % and cpu 96 % full");
    in.op_s[KVF_TIER_NVME][KVF_DIR_WRITE] = 119;
    in.misses_ratio = 0.62;
    in.used_ratio[KVF_TIER_GPU] = 0.5;
    says(&in,
         "nvme writes, 60 % of storage time; storage I/O 320 ms of 400 ms mean end-to-end (80 %); cpu 96 % "
         "full; 62 % of lookups miss");
    in = means(400, 0, 320, 0); /* no operation measured */
    says(&in, "storage I/O 320 ms of 400 ms mean end-to-end (80 %)");
}

/* The largest share, though under one half, against a part or the rest that is larger. */
static void test_largest_share(void **state) {
    (void)state;
    struct bottleneck_input in = means(1000, 300, 400, 290);
    in.op_s[KVF_TIER_CPU][KVF_DIR_WRITE] = 3;
    in.device_s[KVF_TIER_CPU][KVF_DIR_WRITE] = 3;
    says(&in,
         "cpu writes, 100 % of storage time, 100 % of it at the device; storage I/O 400 ms of 1.00 s mean "
         "end-to-end (40 %)");
    in.queue_ms = 450;
    in.generation_ms = 0;
    says(&in,
         "none stands out: queue wait 45 %, storage I/O 40 %, generation 0 %, the rest 15 % of 1.00 s mean "
         "end-to-end");
    in = means(1000, 100, 200, 100);
    says(&in,
         "none stands out: queue wait 10 %, storage I/O 20 %, generation 10 %, the rest 60 % of 1.00 s mean "
         "end-to-end");
}

/* Parts a little over the whole, infinite and negative figures: never above 100 %, never nonsense. */
static void test_odd_numbers(void **state) {
    (void)state;
    struct bottleneck_input in = means(100, 101, 5, 0);
    in.slots_ratio = 1.02;
    in.slots = 8;
    says(&in, "queue wait 101 ms of 100 ms mean end-to-end (100 %): overload; 8 of 8 slots busy");
    in = means(100, 0, 90, 0);
    in.op_s[KVF_TIER_NVME][KVF_DIR_READ] = INFINITY;
    in.op_s[KVF_TIER_GPU][KVF_DIR_READ] = -4;
    in.op_s[KVF_TIER_CPU][KVF_DIR_READ] = 2;
    in.device_s[KVF_TIER_CPU][KVF_DIR_READ] = 2.1;
    says(&in,
         "cpu reads, 100 % of storage time, 100 % of it at the device; storage I/O 90.0 ms of 100 ms mean "
         "end-to-end (90 %)");
    in.e2e_ms = INFINITY;
    says(&in, "none to be named: the end-to-end latency of 100 requests is missing");
}

/* Four slots that generate, and a queue that grows: those who wait are in no mean yet. */
static void test_overload_of_those_who_wait(void **state) {
    (void)state;
    struct bottleneck_input in = means(4130, 1960, 10, 2160);
    in.slots_ratio = 0.96;
    in.slots = 4;
    in.backlog = 177;
    in.oldest_ms = 4130;
    says(&in, "generation 2.16 s of 4.13 s mean end-to-end (52 %): token time, not the cache");
    in.oldest_ms = 12600;
    says(&in,
         "177 waiting, the oldest for 12.6 s: overload, not the disk; 4 of 4 slots busy; service is 100 % "
         "generation");
    in.slots_ratio = 0.94;
    says(&in, "generation 2.16 s of 4.13 s mean end-to-end (52 %): token time, not the cache");
}

static void test_emulated(void **state) {
    (void)state;
    struct bottleneck_input in = means(100, 0, 90, 0);
    in.op_s[KVF_TIER_GPU][KVF_DIR_READ] = in.device_s[KVF_TIER_GPU][KVF_DIR_READ] = 2;
    in.emulated[KVF_TIER_GPU] = true;
    says(&in,
         "gpu (emulated) reads, 100 % of storage time, 100 % of it at the device; storage I/O 90.0 ms of 100 "
         "ms mean end-to-end (90 %)");
    in.op_s[KVF_TIER_NVME][KVF_DIR_READ] = in.device_s[KVF_TIER_NVME][KVF_DIR_READ] = 6;
    in.used_ratio[KVF_TIER_GPU] = 0.97;
    says(&in,
         "nvme reads, 75 % of storage time, 100 % of it at the device; storage I/O 90.0 ms of 100 ms mean "
         "end-to-end (90 %); gpu (emulated) 97 % full");
    in.compat[KVF_TIER_NVME] = true;
    says(
        &in,
        "nvme (compat) reads, 75 % of storage time, 100 % of it at the device; storage I/O 90.0 ms of 100 ms "
        "mean end-to-end (90 %); gpu (emulated) 97 % full");
}

/* The longest sentence there can be fits where it is kept; a small buffer gets the beginning of one and
 * nothing beyond. */
static void test_room(void **state) {
    (void)state;
    struct bottleneck_input in = means(318000, 274000, 43000, 0);
    char out[2 * KVF_BOTTLENECK], little[11];

    in.slots_ratio = 1;
    in.slots = 256;
    in.backlog = 99900;
    in.op_s[KVF_TIER_NVME][KVF_DIR_WRITE] = 1;
    in.device_s[KVF_TIER_NVME][KVF_DIR_WRITE] = 0.29;
    in.line_s[KVF_TIER_NVME][KVF_DIR_WRITE] = 0.71;
    in.device_busy_ratio = in.misses_ratio = in.used_ratio[KVF_TIER_GPU] = in.used_ratio[KVF_TIER_CPU] = 1;
    for (int i = 0; i < 2; i++) {
        for (int t = 0; t < KVF_TIERS; t++) in.emulated[t] = true;
        bottleneck_sentence(&in, out, sizeof out);
        assert_in_range(strlen(out), 150, KVF_BOTTLENECK - 1);
        in.queue_ms = 0; /* and with nothing else but storage */
        in.storage_ms = 318000;
        in.slots_ratio = 0.5;
    }
    in = means(318000, 274000, 43000, 0);
    memset(little, '#', sizeof little);
    bottleneck_sentence(&in, little, 10);
    assert_string_equal(little, "queue wai");
    assert_int_equal(little[10], '#');
    bottleneck_sentence(&in, little, 0);
    assert_string_equal(little, "queue wai");
}

/* Of 40 s of storage time 30 s are spent in line for a turn among the writes. */
static void test_limit_on_writes(void **state) {
    (void)state;
    struct bottleneck_input in = means(100, 5, 90, 0);
    in.op_s[KVF_TIER_NVME][KVF_DIR_WRITE] = in.device_s[KVF_TIER_NVME][KVF_DIR_WRITE] = 8;
    in.op_s[KVF_TIER_CPU][KVF_DIR_READ] = in.device_s[KVF_TIER_CPU][KVF_DIR_READ] = 2;
    in.held_s = 30;
    in.used_ratio[KVF_TIER_GPU] = in.used_ratio[KVF_TIER_CPU] = 1;
    in.misses_ratio = 0.6;
#define IN_LINE "writes in line for their turn (engine.max_concurrent_writes), 75 % of storage time"
    says(&in, IN_LINE "; storage I/O 90.0 ms of 100 ms mean end-to-end (90 %); 60 % of lookups miss");
    in.misses_ratio = NAN;
    in.queue_ms = 60;
    in.storage_ms = 30;
    in.slots_ratio = 1;
    says(&in,
         "queue wait 60.0 ms of 100 ms mean end-to-end (60 %): overload; slots 100 % busy; service is 75 % "
         "storage: " IN_LINE);
    in.requests = 0;
    says(&in, "no request was completed; so far " IN_LINE "; slots 100 % busy");
    /* less than another part it is no bottleneck, but its time counts as storage time */
    in = means(100, 5, 90, 0);
    in.op_s[KVF_TIER_NVME][KVF_DIR_WRITE] = in.device_s[KVF_TIER_NVME][KVF_DIR_WRITE] = 6;
    in.held_s = 4;
    says(&in,
         "nvme writes, 60 % of storage time, 100 % of it at the device; storage I/O 90.0 ms of 100 ms mean "
         "end-to-end (90 %)");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_limit_on_writes),
    cmocka_unit_test(test_overload_of_those_who_wait),
    cmocka_unit_test(test_emulated),
    cmocka_unit_test(test_no_request),
    cmocka_unit_test(test_operations_alone),
    cmocka_unit_test(test_missing_latency),
    cmocka_unit_test(test_overload),
    cmocka_unit_test(test_overload_by_disk),
    cmocka_unit_test(test_generation),
    cmocka_unit_test(test_storage),
    cmocka_unit_test(test_largest_share),
    cmocka_unit_test(test_odd_numbers),
    cmocka_unit_test(test_room),
};

int main(void) {
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("bottleneck", tests, NULL, NULL);
}
