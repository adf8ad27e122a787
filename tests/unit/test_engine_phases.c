/* What comes before the clock, and limits on what runs after it. */
#include "run_fixture.h"

/* ---- writes at a time ---- */

/* Eight users who write at once, into a tier that takes 5 ms for each. */
#define EIGHT_WRITERS                                                                                        \
    MODEL_4K ENGINE_OF                                                                                       \
        "tiers: {gpu: {capacity: 8MiB, backend: emulated, latency: 5ms}}\n"                                  \
        "workload: {users: 8, phase: prefill, personas: [{name: a, context: [4, 8], think: [0, 0]}], "       \
        "prefix: {probability: 0}, conversation: {end_probability: 1}}\n"                                    \
        "run: {duration: 100s, warmup: 0s, interval: 10ms, max_requests: 40}\n"

static uint64_t most_seen;

static void writes_watched(void *ctx, const struct snapshot *snap) {
    (void)ctx;
    uint64_t now = snap->tier[KVF_TIER_GPU].io_in_flight;
    if (now > most_seen) most_seen = now;
}

/* The tier's own count of what it has in flight is held against the limit. */
static void so_many_writes_are_in_flight_and_no_more(void **state) {
    (void)state;
#define ENGINE_OF "engine: {workers: 2, noise: 1MiB, max_concurrent_writes: 2}\n"
    setup_of(EIGHT_WRITERS, 1);
#undef ENGINE_OF
    t.setup.on_interval = writes_watched;
    most_seen = 0;
    run_go();
    expect_status(RUN_COMPLETED);
    expect_identities();
    expect_no_errors();
    expect_result("requests_done", 40);
    expect_result("gpu_write_ops", 40);
    expect_result("writes_in_flight_max", 2);
    assert_true(most_seen <= 2);
    assert_true(value_of("writes_held") > 0 && value_of("writes_held") < 40);
    assert_true(value_of("writes_held_mean_ms") > 0);
    /* standing in line is storage time of the request and none of the tier's */
    assert_true(value_of("storage_io_mean_ms") > value_of("gpu_write_mean_ms"));
    run_end();
}

static void without_a_limit_nobody_counts(void **state) {
    (void)state;
#define ENGINE_OF ENGINE
    run_yaml(EIGHT_WRITERS, 1);
#undef ENGINE_OF
    expect_status(RUN_COMPLETED);
    expect_missing("writes_in_flight_max");
    expect_missing("writes_held");
    expect_missing("writes_held_mean_ms");
    run_end();
}

/* With room for few entries, writes wait for moves that free it while others hold theirs in line. */
static void a_limit_of_one_does_not_stop_what_it_depends_on(void **state) {
    (void)state;
    setup_of(
        MODEL_4K
        "engine: {workers: 2, noise: 1MiB, max_concurrent_writes: 1}\n"
        "tiers: {gpu: {capacity: 256KiB}, cpu: {capacity: 256KiB}, nvme: {capacity: 512KiB, "
        "io_size: 16KiB, io_depth: 4}}\n"
        "workload: {users: 6, personas: [{name: a, context: [4, 16], generate: [1, 80], think: [0, 0]}], "
        "prefix: {probability: 0.5, prompt_tokens: [2, 3]}, conversation: {end_probability: 0.3}}\n"
        "cache: {verify: full, promotion: on_hit}\n"
        "run: {duration: 100s, warmup: 0s, max_requests: 200}\n",
        3);
    run_go();
    expect_status(RUN_COMPLETED);
    expect_identities();
    expect_no_errors();
    expect_result("requests_done", 200);
    expect_result("writes_in_flight_max", 1);
    assert_true(value_of("demotions") > 0 && value_of("evictions") > 0);
    run_end();
}

/* Those in line when the run is cut off are neither done nor failed. */
static void what_stands_in_line_at_the_end_is_abandoned(void **state) {
    (void)state;
    setup_of(MODEL_4K
             "engine: {workers: 2, noise: 1MiB, max_concurrent_writes: 1}\n"
             "tiers: {gpu: {capacity: 8MiB, backend: emulated, latency: 10s}}\n"
             "workload: {users: 8, phase: prefill, personas: [{name: a, context: [4, 8], think: [0, 0]}]}\n"
             "run: {duration: 200ms, warmup: 0s, interval: 50ms}\n",
             1);
    run_go();
    expect_status(RUN_COMPLETED);
    expect_identities();
    expect_no_errors();
    expect_result("requests_arrived", 8);
    expect_result("requests_in_service_at_end", 8);
    expect_result("writes_in_flight_max", 1);
    run_end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(so_many_writes_are_in_flight_and_no_more),
        cmocka_unit_test(without_a_limit_nobody_counts),
        cmocka_unit_test(a_limit_of_one_does_not_stop_what_it_depends_on),
        cmocka_unit_test(what_stands_in_line_at_the_end_is_abandoned),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("engine_phases", tests, runs_set_up, runs_tear_down);
}
