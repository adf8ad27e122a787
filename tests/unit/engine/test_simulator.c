#include <pthread.h>

#include "tests/unit/run_fixture.h"

/* Whole runs on a virtual clock. Times are exact: what is expected is worked out by hand. */

#define SIMULATE "mode: simulate\n"
/* 4 KiB a token at 4,096,000,000 B/s: a token takes a microsecond */
#define GPU_US                                                                                               \
    "tiers: {gpu: {capacity: 64MiB, read_bandwidth: 4096MB/s, write_bandwidth: 4096MB/s, latency: 10us}}\n"
#define TIERS                                                                                                \
    "tiers: {gpu: {capacity: 256KiB}, cpu: {capacity: 512KiB}, nvme: {capacity: 1MiB, io_size: 16KiB}}\n"
#define USERS(n)                                                                                             \
    "workload: {users: " n ", personas: [{name: a, context: [4, 8], generate: [1, 4], think: [1ms, "         \
    "2ms]}]}\n"

/* ---- by hand ---- */

/* An ops file: each operation begins when the one before has ended. */
static void the_clock_is_that_of_the_model(void **state) {
    (void)state;
    rows_write("write,a,1000\nread,a,1000\nwrite,b,500\nread,c,1\n");
    run_yaml(SIMULATE MODEL_4K ENGINE GPU_US "workload: {source: ops}\nrun: {duration: 10h, warmup: 0s}\n",
             1);
    expect_status(RUN_COMPLETED);
    expect_identities();
    expect_no_errors();
    /* 1,010 us + 1,010 us + 510 us, and nothing for what is missed */
    expect_result("measured_s", 0.00253);
    expect_result("gpu_write_mean_ms", 0.76);
    expect_result("gpu_read_mean_ms", 1.01);
    expect_result("hits", 1);
    expect_result("misses", 1);
    expect_missing("cpu_user_s");
    expect_missing("rss_peak_bytes");
    assert_true(strstr(t.run.tier[KVF_TIER_GPU].description, "simulated: ") ==
                t.run.tier[KVF_TIER_GPU].description);
    run_end();
}

/* Two requests a slot each, four tokens at 5 ms. */
static void generation_is_a_timer_of_the_same_clock(void **state) {
    (void)state;
    run_yaml(SIMULATE MODEL_4K ENGINE GPU_US
             "compute: {mode: fixed, ms_per_token: 5}\n"
             "workload: {users: 2, prefix: {probability: 0}, conversation: {end_probability: 1}, decode: "
             "{batch_tokens: 100}, personas: [{name: a, context: [100, 100], generate: [4, 4], think: [0s, "
             "0s], spread: 1}]}\n"
             "run: {duration: 10h, warmup: 0s, max_requests: 2}\n",
             1);
    expect_status(RUN_COMPLETED);
    expect_identities();
    expect_result("requests_done", 2);
    expect_result("generation_mean_ms", 20);
    /* A is written from 0 us to 100, B to 200, and each is there 10 us later. At 110 and 210 they ask for
     * their first reads, which pass the other way, to 210 and 310, at 220 and 320 for their second, to 410
     * and 510. */
    expect_result("ttft_mean_ms", 0.16);
    expect_result("e2e_mean_ms", 20.47);
    expect_result("measured_s", 0.02052);
    run_end();
}

static void a_day_takes_as_long_as_what_happens_in_it(void **state) {
    (void)state;
    run_yaml(
        SIMULATE MODEL_4K ENGINE TIERS
        "workload: {users: 3, personas: [{name: a, context: [4, 8], generate: [1, 4], think: [1h, 2h]}]}\n"
        "run: {duration: 24h, warmup: 1h, interval: 1h}\n",
        1);
    expect_status(RUN_COMPLETED);
    expect_result("measured_s", 24 * 3600.0);
    assert_true(value_of("requests_done") > 20 && value_of("requests_done") < 100);
    run_end();
}

/* ---- the same again ---- */

enum { KEPT = 4000 };
static struct {
    struct snapshot_interval interval[KEPT];
    struct snapshot_tier tier[KEPT][KVF_TIERS];
    unsigned count;
} kept[2];
static unsigned keeping;
static bool meddle;

/* Real time is not the simulation's: what it is told of it changes nothing. */
static void keep(void *ctx, const struct snapshot *snap) {
    unsigned n = kept[keeping].count;
    (void)ctx;
    note_that(n < KEPT);
    note_that(snap->simulated && snap->real_s >= 0);
    note_that(entries_of(t.dir) == 0);
    if (n == KEPT) return;
    kept[keeping].interval[n] = snap->interval;
    kept[keeping].interval[n].paused = 0;
    kept[keeping].interval[n].at = 0; /* of the wall clock */
    memcpy(kept[keeping].tier[n], snap->tier, sizeof snap->tier);
    kept[keeping].count++;
    if (!meddle || snap->interval.phase == KVF_PHASE_DRAIN) return;
    tell(COMMAND_SPEED, (n % 2 ? UINT64_C(100000) : 0) * COMMAND_SPEED_ONE);
    tell(COMMAND_PAUSE, 0);
    tell(COMMAND_RESUME, 0);
}

static void keep_run(const char *yaml, unsigned where, bool with_commands) {
    setup_of(yaml, 5);
    t.setup.on_interval = keep;
    keeping = where;
    meddle = with_commands;
    memset(&kept[where], 0, sizeof kept[where]);
    run_go();
    expect_status(RUN_COMPLETED);
    expect_identities();
    expect_no_errors();
    run_end();
}

static void speed_and_pauses_change_nothing(void **state) {
    static const char yaml[] = SIMULATE MODEL_4K ENGINE TIERS USERS(
        "6") "cache: {promotion: on_hit}\nrun: {duration: 4s, warmup: 1s, interval: 10ms, prepopulate: 0.3}\n";
    (void)state;
    keep_run(yaml, 0, false);
    keep_run(yaml, 1, true);
    assert_true(kept[0].count > 500);
    assert_int_equal(kept[0].count, kept[1].count);
    for (unsigned i = 0; i < kept[0].count; i++) {
        assert_memory_equal(&kept[0].interval[i], &kept[1].interval[i], sizeof kept[0].interval[i]);
        assert_memory_equal(kept[0].tier[i], kept[1].tier[i], sizeof kept[0].tier[i]);
    }
}

/* ---- before the clock ---- */

static void a_preparation_takes_virtual_time(void **state) {
    (void)state;
    run_yaml(SIMULATE MODEL_4K ENGINE
             "tiers: {nvme: {capacity: 1MiB, io_size: 16KiB, write_bandwidth: 1MB/s, latency: 0s}}\n" USERS(
                 "4") "run: {duration: 1s, warmup: 0s, precondition: auto}\n",
             1);
    expect_status(RUN_COMPLETED);
    expect_identities();
    /* twice the capacity at a megabyte a second; entries fill it to within one of them */
    double s = value_of("precondition_bytes") / 1e6;
    assert_true(value_of("precondition_bytes") >= 2 * (double)MIB);
    assert_true(value_of("precondition_bytes") < 2 * (double)MIB + 32 * (double)KIB);
    assert_true(fabs(value_of("prepare_s") - s) < 1e-6);
    run_end();
}

/* ---- commands ---- */

static unsigned intervals;

static void stop_after_a_hundred(void *ctx, const struct snapshot *snap) {
    (void)ctx;
    (void)snap;
    if (++intervals == 100) tell(COMMAND_STOP, 0);
}

static void a_run_of_a_year_is_stopped(void **state) {
    (void)state;
    setup_of(SIMULATE MODEL_4K ENGINE TIERS USERS("4") "run: {duration: 8760h, warmup: 0s, interval: 10ms}\n",
             1);
    intervals = 0;
    t.setup.on_interval = stop_after_a_hundred;
    run_go();
    expect_status(RUN_INTERRUPTED);
    expect_identities();
    expect_no_errors();
    expect_result("measured_s", 1);
    run_end();
}

static void stop_in_the_pause(void *ctx, const struct snapshot *snap) {
    (void)ctx;
    (void)snap;
    if (intervals++ > 0) return;
    tell(COMMAND_PAUSE, 0);
    tell(COMMAND_STOP, 0);
}

static void a_paused_one_is_stopped(void **state) {
    (void)state;
    setup_of(SIMULATE MODEL_4K ENGINE TIERS USERS("4") "run: {duration: 8760h, warmup: 0s, interval: 10ms}\n",
             1);
    intervals = 0;
    t.setup.on_interval = stop_in_the_pause;
    run_go();
    expect_status(RUN_INTERRUPTED);
    expect_result("measured_s", 0.01);
    run_end();
}

/* No entry fits, nobody thinks: a request takes no time, and so does the one after it. */
static void a_simulation_that_stands_still_fails(void **state) {
    (void)state;
    setup_of(SIMULATE MODEL_4K ENGINE
             "tiers: {gpu: {capacity: 256KiB}}\n"
             "workload: {users: 1, phase: prefill, prefix: {probability: 0}, personas: [{name: a, context: "
             "[1000, 1000], generate: [1, 1], think: [0s, 0s]}]}\n"
             "run: {duration: 1h, warmup: 0s}\n",
             1);
    run_go();
    expect_status(RUN_FAILED);
    assert_non_null(strstr(t.run.status_reason, "the simulation stands still at 0"));
    run_end();
}

/* Nobody waits for room, so most requests are refused at once, and the users ask again: that ends it too,
 * where a request is many blocks as well. */
static void requests_refused_at_once_end_it(void **state) {
    (void)state;
    static const char *const granularity[] = {"request", "block"};
    for (int i = 0; i < 2; i++) {
        char scenario[800];
        snprintf(scenario, sizeof scenario,
                 SIMULATE MODEL_4K
                 "engine: {slots: 50, room_wait: 0s}\n"
                 "tiers: {gpu: {capacity: 64MiB, latency: 80us}}\n"
                 "cache: {granularity: %s}\n"
                 "workload: {users: 50, prefix: {probability: 0}, personas: [{name: a, context: "
                 "[1000, 3000], generate: [1, 1], think: [0s, 0s]}]}\n"
                 "run: {duration: 1h, warmup: 0s}\n",
                 granularity[i]);
        setup_of(scenario, 1);
        run_go();
        expect_status(RUN_FAILED);
        assert_non_null(strstr(t.run.status_reason, "the simulation stands still at "));
        run_end();
    }
}

/* A user that asks again without a thought, answered or not, asks for ever at one time. */
static void requests_without_end_end_it(void **state) {
    (void)state;
    setup_of(SIMULATE MODEL_4K
             "engine: {slots: 4, queue_limit: 100000000}\n"
             "tiers: {gpu: {capacity: 64MiB, latency: 80us}}\n"
             "workload: {users: 4, arrival: {process: paced}, prefix: {probability: 0}, personas: [{name: a, "
             "context: [100, 300], generate: [1, 1], think: [1ms, 1ms]}]}\n"
             "run: {duration: 10s, warmup: 0s}\n",
             1);
    t.s.workload.persona[0].think_ns = (struct scenario_range){0, 0};
    run_go();
    expect_status(RUN_FAILED);
    assert_non_null(strstr(t.run.status_reason, "the simulation stands still at "));
    run_end();
}

static void ask_for_speed(void *ctx, const struct snapshot *snap) {
    (void)ctx;
    note_that(!snap->simulated);
    if (intervals++ == 0) tell(COMMAND_SPEED, COMMAND_SPEED_ONE);
}

static void a_real_run_has_no_speed(void **state) {
    (void)state;
    setup_of(MODEL_4K ENGINE "tiers: {cpu: {capacity: 1MiB}}\n" USERS(
                 "2") "run: {duration: 100ms, warmup: 0s, interval: 10ms}\n",
             1);
    intervals = 0;
    t.setup.on_interval = ask_for_speed;
    run_go();
    expect_status(RUN_COMPLETED);
    assert_non_null(event_of("warning"));
    assert_non_null(strstr(event_of("warning"), "the speed cannot be changed"));
    run_end();
}

/* ---- the database's side ---- */

static uint64_t taken;

static void *take_all(void *arg) {
    struct fifo *f = arg;
    struct record *r;
    while (!fifo_drained(f)) {
        if (!(r = fifo_take(f, KVF_NS_PER_S))) continue;
        if (r->kind == RECORD_SNAPSHOT) note_that(r->snap.interval.seq == taken++);
        record_free(r);
    }
    return NULL;
}

/* Room for eight, and thousands come as fast as they can be made. */
static void a_slow_reader_is_waited_for(void **state) {
    pthread_t reader;
    struct fifo *f = fifo_new(8, true);
    (void)state;
    setup_of(SIMULATE MODEL_4K ENGINE TIERS USERS("2") "run: {duration: 50s, warmup: 0s, interval: 10ms}\n",
             1);
    t.setup.fifo = f;
    taken = 0;
    assert_int_equal(pthread_create(&reader, NULL, take_all, f), 0);
    run_go();
    fifo_close(f);
    assert_int_equal(pthread_join(reader, NULL), 0);
    assert_int_equal(taken, 5001); /* what is left at the end is an interval as well */
    assert_int_equal(fifo_dropped(f), 0);
    fifo_free(f);
    run_end();
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, runs_set_up, runs_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(the_clock_is_that_of_the_model),
        TEST(generation_is_a_timer_of_the_same_clock),
        TEST(a_day_takes_as_long_as_what_happens_in_it),
        TEST(speed_and_pauses_change_nothing),
        TEST(a_preparation_takes_virtual_time),
        TEST(a_run_of_a_year_is_stopped),
        TEST(a_paused_one_is_stopped),
        TEST(a_simulation_that_stands_still_fails),
        TEST(requests_refused_at_once_end_it),
        TEST(requests_without_end_end_it),
        TEST(a_real_run_has_no_speed),
        TEST(a_slow_reader_is_waited_for),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("simulator", tests, NULL, NULL);
}
