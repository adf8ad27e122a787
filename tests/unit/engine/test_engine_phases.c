/* Preparation before the clock, and limits on the run after it. */
#include "tests/unit/run_fixture.h"

/* ---- writes at a time ---- */

/* Eight users who write at once, into a tier that takes 5 ms for each. */
#define EIGHT_WRITERS                                                                                        \
    MODEL_4K ENGINE_OF                                                                                       \
        "tiers: {gpu: {capacity: 8MiB, backend: emulated, latency: 5ms}}\n"                                  \
        "workload: {users: 8, phase: prefill, personas: [{name: a, context: [4, 8], think: [0, 0]}], "       \
        "prefix: {probability: 0}, conversation: {end_probability: 1}}\n"                                    \
        "run: {duration: 100s, warmup: 0s, interval: 10ms, max_requests: 40}\n"                              \
        "qos: {classes: [{name: all, p95: 1ms}]}\n"

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
    /* six of eight wait for two at any time, so that most storage time is spent in line */
    if (!strstr(t.run.verdict.sentence, "writes waiting for their turn (engine.max_concurrent_writes), "))
        fail_msg("the bottleneck: %s", t.run.verdict.sentence);
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

/* Requests in line when the run is cut off are neither done nor failed. */
static void what_stands_in_line_at_the_end_is_abandoned(void **state) {
    (void)state;
    setup_of(MODEL_4K
             "engine: {workers: 2, noise: 1MiB, max_concurrent_writes: 1}\n"
             "tiers: {gpu: {capacity: 8MiB, backend: emulated, latency: 10s}}\n"
             "workload: {users: 8, phase: prefill, personas: [{name: a, context: [4, 8], think: [0, 0]}]}\n"
             "run: {duration: 200ms, warmup: 0s, interval: 50ms}\n",
             1);
    run_go();
    expect_status(RUN_FAILED); /* nothing was done */
    expect_identities();
    expect_no_errors();
    expect_result("requests_arrived", 8);
    expect_result("requests_in_service_at_end", 8);
    expect_result("writes_in_flight_max", 1);
    run_end();
}

/* ---- preconditioning ---- */

/* Entries of 16 to 64 KiB; what the run itself writes stays in the cpu tier. */
#define CONDITIONED(run)                                                                                     \
    MODEL_4K ENGINE                                                                                          \
        "tiers: {cpu: {capacity: 4MiB}, nvme: {capacity: 4MiB, io_size: 16KiB, io_depth: 4}}\n"              \
        "workload: {users: 3, personas: [{name: a, context: [4, 16], generate: [1, 8], think: [0, 0], "      \
        "spread: 1}], prefix: {probability: 0}}\n"                                                           \
        "cache: {verify: full}\n"                                                                            \
        "run: {duration: 100s, warmup: 0s, max_requests: 30, " run "}\n"

enum { ENTRY_MOST = 64 * 1024 };

static unsigned looks;
static double last_share;
static char last_what[80];
static bool stop_it;

static void preparation_seen(void *ctx, const char *what, double share) {
    (void)ctx;
    if (!strstr(what, "conditioning") && !strstr(what, "populating")) return;
    note_that(share >= 0 && share <= 1);
    looks++;
    last_share = share;
    snprintf(last_what, sizeof last_what, "%s", what);
    if (stop_it) tell(COMMAND_STOP, 0);
}

static void looking(bool stop) {
    t.setup.on_prepare = preparation_seen;
    looks = 0;
    last_share = 0;
    last_what[0] = '\0';
    stop_it = stop;
}

static void expect_between(const char *metric, double least, double most) {
    double got = value_of(metric);
    if (!(got >= least && got <= most)) fail_msg("%s is %.17g, not %.17g to %.17g", metric, got, least, most);
}

/* The volume has been on the device, through a tier of less than half of it, and nothing of it is in the
 * results or in the cache that the run begins with. */
static void a_volume_is_written_to_nvme_before_the_clock(void **state) {
    (void)state;
    setup_of(CONDITIONED("precondition: 10MiB"), 1);
    looking(false);
    run_go();
    expect_status(RUN_COMPLETED);
    expect_identities();
    expect_no_errors();
    expect_between("precondition_bytes", 10 * MIB, 10 * MIB + ENTRY_MOST);
    assert_true(looks >= 2 && last_share == 1);
    assert_non_null(strstr(last_what, "preconditioning nvme: 10."));
    assert_non_null(strstr(last_what, " of 10.0 MiB"));
    expect_result("requests_done", 30);
    expect_result("cpu_entries", 30);
    expect_result("cpu_write_ops", 30);
    expect_result("nvme_entries", 0);
    expect_result("nvme_write_bytes", 0);
    expect_result("evictions", 0);
    expect_result("prepopulate_bytes", 0);
    run_end();
}

static void auto_is_twice_the_capacity(void **state) {
    (void)state;
    run_yaml(CONDITIONED("precondition: auto"), 1);
    expect_status(RUN_COMPLETED);
    expect_between("precondition_bytes", 8 * MIB, 8 * MIB + ENTRY_MOST);
    run_end();
}

/* Blocks of a trace that has an end, over and over again. One slot: the second request begins when the first
 * has written the two blocks that they share. */
static void sizes_come_from_a_trace_as_often_as_it_takes(void **state) {
    (void)state;
    rows_write("{\"timestamp\": 0, \"input_length\": 1024, \"output_length\": 1, \"hash_ids\": [1, 2]}\n"
               "{\"timestamp\": 1, \"input_length\": 1536, \"output_length\": 1, \"hash_ids\": [1, 2, 3]}\n");
    run_yaml(MODEL_16 "engine: {workers: 2, noise: 1MiB, slots: 1}\n"
                      "tiers: {nvme: {capacity: 64KiB, io_size: 8KiB, io_depth: 4}}\n"
                      "cache: {granularity: block, block_tokens: 512}\n"
                      "workload: {source: mooncake}\n"
                      "run: {duration: 100s, warmup: 0s, precondition: 1MiB}\n",
             1);
    expect_status(RUN_COMPLETED);
    expect_no_errors();
    expect_result("precondition_bytes", MIB); /* of blocks of 8 KiB */
    expect_result("rows_read", 2);
    expect_result("misses", 3);
    run_end();
}

static void a_stop_ends_the_preconditioning(void **state) {
    (void)state;
    setup_of(CONDITIONED("precondition: 1TiB"), 1);
    looking(true);
    run_go();
    expect_status(RUN_INTERRUPTED);
    assert_null(result_find(&t.run.results, "requests_done"));
    run_end();
}

static void entries_that_fit_nowhere_are_an_error(void **state) {
    (void)state;
    setup_of(MODEL_4K ENGINE "tiers: {cpu: {capacity: 4MiB}, nvme: {capacity: 32KiB, io_size: 16KiB}}\n"
                             "workload: {users: 3, personas: [{name: a, context: [16, 16], spread: 1}]}\n"
                             "run: {duration: 100s, warmup: 0s, precondition: 1MiB}\n",
             1);
    run_go();
    expect_status(RUN_FAILED);
    assert_non_null(strstr(t.run.status_reason, "no entry of this workload fits the nvme tier"));
    run_end();
}

/* ---- run.max_written ---- */

/* Three users write to a drive without end. */
#define WRITING(run)                                                                                         \
    MODEL_4K ENGINE "tiers: {nvme: {capacity: 4MiB, io_size: 16KiB, io_depth: 4}}\n"                         \
                    "workload: {users: 3, personas: [{name: a, context: [4, 16], generate: [1, 8], "         \
                    "think: [0, 0], spread: 1}], prefix: {probability: 0}}\n"                                \
                    "run: {duration: 1000s, warmup: 0s, " run "}\n"

static void a_run_that_has_written_enough_has_completed(void **state) {
    (void)state;
    setup_of(WRITING("max_written: 3MiB"), 1);
    run_go();
    expect_status(RUN_COMPLETED);
    assert_string_equal(t.run.status_reason,
                        "3.00 MiB were written to nvme, as many as run.max_written allows");
    expect_identities();
    expect_no_errors();
    assert_true(value_of("nvme_write_bytes") >= 3 * MIB);
    assert_true(value_of("measured_s") < 900);
    run_end();
}

/* The bytes of the preparation count: a megabyte of preconditioning leaves one for the run, of which nothing
 * is measured when it alone is more than the limit. */
static void the_preparation_counts_as_written(void **state) {
    (void)state;
    setup_of(WRITING("precondition: 1MiB, max_written: 2MiB"), 1);
    run_go();
    expect_status(RUN_COMPLETED);
    assert_true(value_of("precondition_bytes") >= MIB);
    assert_true(value_of("nvme_write_bytes") + value_of("precondition_bytes") >= 2 * MIB);
    run_end();
    setup_of(WRITING("precondition: auto, max_written: 2MiB"), 1);
    run_go();
    expect_status(RUN_FAILED);
    assert_string_equal(
        t.run.status_reason,
        "2.00 MiB were written to nvme in the preparation, as many as run.max_written allows");
    assert_null(result_find(&t.run.results, "requests_done"));
    run_end();
}

static void a_simulation_writes_nothing_and_has_no_such_limit(void **state) {
    (void)state;
    setup_of("mode: simulate\n" WRITING("max_written: 1MiB, max_requests: 200"), 1);
    run_go();
    expect_status(RUN_COMPLETED);
    assert_string_equal(t.run.status_reason, "");
    expect_result("requests_done", 200);
    assert_true(value_of("nvme_write_bytes") > MIB);
    run_end();
}

/* ---- prepopulation ---- */

#define FILLED(run, tiers, requests)                                                                         \
    MODEL_4K ENGINE tiers                                                                                    \
        "workload: {users: 2, phase: prefill, personas: [{name: a, context: [4, 16], think: [0, 0]}], "      \
        "prefix: {probability: 0}, conversation: {end_probability: 0, max_turns: 1000}}\n"                   \
        "run: {duration: 100s, warmup: 0s, max_requests: " requests ", " run "}\n"
#define THREE                                                                                                \
    "tiers: {gpu: {capacity: 1MiB}, cpu: {capacity: 2MiB}, nvme: {capacity: 3MiB, io_size: 16KiB, "          \
    "io_depth: 4}}\n"

/* Half of every tier, to within the smallest entry; one request on top. */
static void every_tier_is_filled_to_that_part(void **state) {
    (void)state;
    setup_of(FILLED("prepopulate: 0.5", THREE, "1"), 5);
    looking(false);
    run_go();
    expect_status(RUN_COMPLETED);
    expect_identities();
    expect_no_errors();
    double own = value_of("gpu_write_bytes"), gpu = 0.5 * 0.8 * MIB, cpu = 0.5 * 0.8 * 2 * MIB,
           nvme = 0.5 * 3 * MIB, slack = 16 * KIB;
    expect_result("gpu_write_ops", 1);
    expect_between("gpu_used_bytes", gpu - slack + own, gpu + own);
    expect_between("cpu_used_bytes", cpu - slack, cpu);
    expect_between("nvme_used_bytes", nvme - slack, nvme);
    expect_result("prepopulate_bytes", value_of("gpu_used_bytes") - own + value_of("cpu_used_bytes") +
                                           value_of("nvme_used_bytes"));
    expect_result("demotions", 0);
    expect_result("nvme_write_bytes", 0); /* outside the results */
    expect_result("precondition_bytes", 0);
    assert_non_null(strstr(last_what, "prepopulating gpu: "));
    run_end();
}

/* They are the first to go: what the run writes finds its room and is found again. */
static void what_fills_a_tier_is_cold(void **state) {
    (void)state;
    run_yaml(FILLED("prepopulate: 1", "tiers: {cpu: {capacity: 2MiB}}\n", "20"), 5);
    expect_status(RUN_COMPLETED);
    expect_identities();
    expect_no_errors();
    assert_true(value_of("cpu_evictions") > 0);
    assert_true(value_of("conversation_lookups") > 0);
    expect_result("misses", 0);
    run_end();
}

/* Same seed, same entries in the same places, whoever writes them. */
static void prepopulation_does_not_depend_on_the_workers(void **state) {
    (void)state;
    static const char *const metrics[] = {"prepopulate_bytes", "gpu_entries",    "cpu_entries",
                                          "nvme_entries",      "gpu_used_bytes", "cpu_used_bytes",
                                          "nvme_used_bytes"};
    double first[7] = {0};
    for (int run = 0; run < 3; run++) {
        setup_of(FILLED("prepopulate: 0.9", THREE, "1"), 8);
        t.s.engine.workers = (uint64_t)run + 1;
        run_go();
        expect_status(RUN_COMPLETED);
        for (int i = 0; i < 7; i++) {
            if (run == 0) first[i] = value_of(metrics[i]);
            expect_result(metrics[i], first[i]);
        }
        run_end();
    }
}

/* One after the other: the preconditioned volume is gone, the fill and the stored entries are there. */
static void the_steps_follow_each_other(void **state) {
    (void)state;
    setup_of(
        MODEL_4K ENGINE
        "tiers: {cpu: {capacity: 2MiB}, nvme: {capacity: 4MiB, io_size: 16KiB, io_depth: 4}}\n"
        "workload: {users: 2, phase: decode, decode: {entries: 4}, personas: [{name: a, context: [8, 8], "
        "generate: [1, 1], spread: 1, think: [0, 0]}]}\n"
        "run: {duration: 100s, warmup: 0s, max_requests: 10, precondition: 4MiB, prepopulate: 0.25}\n",
        2);
    run_go();
    expect_status(RUN_COMPLETED);
    expect_identities();
    expect_no_errors();
    assert_string_equal(t.run.events[0].message,
                        "preconditioned: 4.00 MiB were written to nvme, and the cache is empty again");
    assert_string_equal(t.run.events[1].message,
                        "prepopulated: the tiers hold 1.38 MiB of entries that no request reads");
    expect_result("precondition_bytes", 4 * MIB);
    /* entries of 32 KiB: a quarter of 1,677,721 bytes holds 12, of 4 MiB 32 */
    expect_result("prepopulate_bytes", (12 + 32) * 32 * KIB);
    expect_result("cpu_entries", 12 + 8);
    expect_result("nvme_entries", 32);
    expect_result("decode_hits", 10);
    run_end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(so_many_writes_are_in_flight_and_no_more),
        cmocka_unit_test(without_a_limit_nobody_counts),
        cmocka_unit_test(a_limit_of_one_does_not_stop_what_it_depends_on),
        cmocka_unit_test(what_stands_in_line_at_the_end_is_abandoned),
        cmocka_unit_test(a_volume_is_written_to_nvme_before_the_clock),
        cmocka_unit_test(auto_is_twice_the_capacity),
        cmocka_unit_test(sizes_come_from_a_trace_as_often_as_it_takes),
        cmocka_unit_test(a_stop_ends_the_preconditioning),
        cmocka_unit_test(a_run_that_has_written_enough_has_completed),
        cmocka_unit_test(the_preparation_counts_as_written),
        cmocka_unit_test(a_simulation_writes_nothing_and_has_no_such_limit),
        cmocka_unit_test(entries_that_fit_nowhere_are_an_error),
        cmocka_unit_test(every_tier_is_filled_to_that_part),
        cmocka_unit_test(what_fills_a_tier_is_cold),
        cmocka_unit_test(prepopulation_does_not_depend_on_the_workers),
        cmocka_unit_test(the_steps_follow_each_other),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("engine_phases", tests, runs_set_up, runs_tear_down);
}
