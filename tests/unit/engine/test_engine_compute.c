/* Runs on a modelled GPU, on the virtual clock and with threads. */
#include "tests/unit/run_fixture.h"

/* A GPU that reads the weights of llama3.1-8b in half a millisecond. */
#define SWIFT                                                                                                \
    "gpu: custom, peak_flops: 1e15, mfu: 1, bandwidth: 32TB/s, efficiency: 1, overhead: 0s, "                \
    "vram: 1TiB"
#define FIXED(users, context, generate)                                                                      \
    "workload: {users: " #users ", personas: [{name: f, context: [" #context ", " #context                   \
    "], generate: [" #generate ", " #generate                                                                \
    "], think: [0s, 0s], spread: 1}], conversation: {end_probability: 1}, "                                  \
    "prefix: {probability: 0}}\n"
#define SIMULATE "model: llama3.1-8b\nmode: simulate\n"
#define GPU_TIER                                                                                             \
    "tiers: {gpu: {capacity: 40GiB, latency: 0s, read_bandwidth: 100TB/s, write_bandwidth: 100TB/s}}\n"

static double ms(uint64_t ns) {
    return (double)ns / 1e6;
}

static void expect_near(const char *metric, double want, double by) {
    double got = value_of(metric);
    if (!(fabs(got - want) <= by)) fail_msg("%s is %.9g, not %.9g", metric, got, want);
}

/* One user, one request at a time: prefill and decode are the formulas, and the batch is full with it. */
static void alone_times_are_the_formulas(void **state) {
    (void)state;
    run_yaml(
        SIMULATE GPU_TIER FIXED(
            1, 4000,
            200) "run: {duration: 1h, warmup: 0s, max_requests: 3}\ncompute: {mode: roofline, gpu: h200}\n",
        1);
    expect_status(RUN_COMPLETED);
    expect_no_errors();
    struct roofline r;
    assert_int_equal(scenario_roofline(&t.s, &r, NULL), 0);
    uint64_t decode = 0;
    for (uint64_t i = 0; i < 199; i++) decode += roofline_decode_ns(&r, 1, 4000 + i);
    expect_near("tpot_mean_ms", ms(decode) / 199, 1e-3);
    expect_near("generation_mean_ms", ms(decode), 0.01);
    expect_near("prefill_mean_ms", ms(roofline_prefill_ns(&r, 4000, 0)), 0.001);
    expect_result("prefill_tokens_computed", 3 * 4000);
    expect_result("tokens_generated", 3 * 200);
    expect_result("batch_steps", 3 * 200);
    expect_near("batch_running_mean", 1, 0.001);
    expect_result("batch_waiting_mean", 0);
    expect_near("total_tok_s", 3 * 4200 / value_of("measured_s"), 1e-6);
    run_end();
}

/* Llama 3.3 70B in FP8 on two H100, 5,000 tokens in and 500 out, one at a time: measured and published were
 * 407 ms to the first token and 18.6 ms for each further one. */
static void published_figures_of_a_run(void **state) {
    (void)state;
    run_yaml(
        "model: {preset: llama3.1-70b-instruct, weights: fp8}\ntensor_parallel: 2\nmode: simulate\n"
        "tiers: {gpu: {capacity: auto}}\n" FIXED(
            1, 5000,
            500) "run: {duration: 1h, warmup: 0s, max_requests: 2}\ncompute: {mode: roofline, gpu: h100}\n",
        1);
    expect_status(RUN_COMPLETED);
    expect_near("ttft_mean_ms", 407, 0.25 * 407);
    expect_near("tpot_mean_ms", 18.6, 0.25 * 18.6);
    run_end();
}

/* Blocks that were found are not computed: the second turn computes what is new, from its last full block on.
 */
static void found_blocks_are_not_computed(void **state) {
    (void)state;
    run_yaml(
        SIMULATE GPU_TIER
        "cache: {granularity: block, block_tokens: 16}\n"
        "workload: {users: 1, personas: [{name: f, context: [1000, 1000], generate: [24, 24], think: "
        "[1s, 1s], spread: 1}], conversation: {end_probability: 0, max_turns: 2}, prefix: {probability: 0}}\n"
        "run: {duration: 1h, warmup: 0s, max_requests: 2}\ncompute: {mode: roofline, gpu: h200}\n",
        1);
    expect_status(RUN_COMPLETED);
    /* 1,000, of which 62 blocks of 16 are whole; then 1,000 + 24 + 1,000 less 992 */
    expect_result("prefill_tokens_computed", 1000 + 2024 - 992);
    run_end();
}

/* The batch takes two; of eight users six wait. Each has its tokens all the same. */
static void a_small_batch_makes_others_wait(void **state) {
    (void)state;
    run_yaml(SIMULATE GPU_TIER FIXED(8, 1000, 100) "run: {duration: 1h, warmup: 0s, max_requests: 80}\n"
                                                   "compute: {mode: roofline, gpu: h200, max_batch: 2}\n",
             1);
    expect_status(RUN_COMPLETED);
    expect_result("requests_done", 80);
    expect_result("prefill_tokens_computed", 80 * 1000);
    expect_near("batch_running_mean", 2, 0.05);
    expect_near("batch_waiting_mean", 6, 0.6);
    expect_near("batch_busy_ratio", 1, 0.001);
    run_end();
}

/* The same seed, the same results: also those of the batch. */
static void the_same_twice(void **state) {
    static const char *const names[] = {"ttft_mean_ms",       "tpot_p99_ms", "e2e_max_ms",   "kv_use_mean",
                                        "batch_running_mean", "batch_steps", "goodput_per_s"};
    double first[7];
    (void)state;
    for (int again = 0; again < 2; again++) {
        run_yaml(SIMULATE GPU_TIER "workload: {users: 60}\nrun: {duration: 60s, warmup: 5s}\n"
                                   "compute: {mode: roofline, gpu: a100, max_batch_tokens: 2048}\n",
                 5);
        expect_status(RUN_COMPLETED);
        for (int i = 0; i < 7; i++) {
            if (again) expect_result(names[i], first[i]);
            first[i] = value_of(names[i]);
            assert_true(first[i] > 0);
        }
        run_end();
    }
}

/* Threads serve the requests, the batch is one: nothing is lost, and a token takes a step at least. */
static void threads_share_one_batch(void **state) {
    (void)state;
    run_yaml(
        "model: llama3.1-8b\ntiers: {gpu: {capacity: 40GiB, backend: emulated}}\n" FIXED(
            40, 500,
            20) "run: {duration: 60s, warmup: 0s, max_requests: 400}\nengine: {workers: 4, noise: 1MiB}\n"
                "compute: {mode: roofline, " SWIFT ", max_batch: 16, max_batch_tokens: 1024}\n",
        3);
    expect_status(RUN_COMPLETED);
    expect_no_errors();
    expect_identities();
    expect_result("requests_done", 400);
    expect_result("prefill_tokens_computed", 400 * 500);
    expect_result("tokens_generated", 400 * 20);
    assert_true(value_of("batch_running_mean") <= 16);
    run_end();
}

/* Documents, prompts, turns and failures of room: whoever ends leaves the batch. */
static void everything_at_once_leaves_the_batch(void **state) {
    (void)state;
    run_yaml(
        "model: llama3.1-8b\ntiers: {gpu: {capacity: 2GiB, backend: emulated}, cpu: {capacity: 64MiB}}\n"
        "workload: {users: 24, rag: {documents: 2, probability: 0.5, tokens: [600, 600]}, personas: [{name: f, "
        "context: [64, 3000], generate: [1, 30], think: [0s, 5ms], spread: 0.25}]}\n"
        "run: {duration: 60s, warmup: 0s, max_requests: 300}\nengine: {workers: 4, noise: 1MiB}\n"
        "compute: {mode: roofline, " SWIFT ", max_batch: 8, max_batch_tokens: 512}\n",
        3);
    expect_status(RUN_COMPLETED);
    expect_no_errors();
    expect_identities();
    expect_result("requests_done", 300);
    run_end();
}

/* An end in the middle of it all is an end. */
static void a_run_is_cut(void **state) {
    (void)state;
    run_yaml(
        "model: llama3.1-8b\ntiers: {gpu: {capacity: 20GiB, backend: emulated}}\n" FIXED(
            40, 5000,
            2000) "run: {duration: 200ms, warmup: 0s, interval: 50ms}\nengine: {workers: 4, noise: 1MiB}\n"
                  "compute: {mode: roofline, gpu: h100}\n",
        3);
    expect_status(RUN_FAILED); /* no request was done by then */
    expect_no_errors();
    expect_identities();
    assert_true(value_of("batch_running_mean") > 0);
    run_end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alone_times_are_the_formulas),
        cmocka_unit_test(published_figures_of_a_run),
        cmocka_unit_test(found_blocks_are_not_computed),
        cmocka_unit_test(a_small_batch_makes_others_wait),
        cmocka_unit_test(the_same_twice),
        cmocka_unit_test(threads_share_one_batch),
        cmocka_unit_test(everything_at_once_leaves_the_batch),
        cmocka_unit_test(a_run_is_cut),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("engine_compute", tests, runs_set_up, runs_tear_down);
}
