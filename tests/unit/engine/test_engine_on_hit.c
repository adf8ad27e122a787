#include "tests/unit/run_fixture.h"

/* A request's handling of blocks found below the gpu tier. Two rows of a trace with the same sixteen blocks
 * of 512 tokens, a GiB of KV: the first computes and writes them, the second finds all of them in cpu. */

#define TWO_ROWS                                                                                             \
    "model: llama3.1-8b\nmode: simulate\nworkload: {source: mooncake}\nrun: {duration: 1h, warmup: 0s}\n"
#define H100 "compute: {mode: roofline, gpu: h100}\n"
#define CPU_TIER(rate)                                                                                       \
    "tiers: {cpu: {capacity: 8GiB, latency: 0s, write_bandwidth: 100TB/s, read_bandwidth: " rate "}}\n"
#define ON_HIT(how) "cache: {granularity: block, on_hit: " how "}\n"
enum { TOKENS = 8192, BLOCKS = 16 };
static const uint64_t kv_bytes = UINT64_C(1) << 30;

/* The TTFT of the second row; the run is to be ended. */
static double second_ttft_ms(const char *yaml) {
    static const char ids[] = "\"hash_ids\": [0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]}\n";
    char rows[600];
    snprintf(rows, sizeof rows,
             "{\"timestamp\": 0, \"input_length\": 8192, \"output_length\": 1, %s"
             "{\"timestamp\": 60000, \"input_length\": 8192, \"output_length\": 1, %s",
             ids, ids);
    rows_write(rows);
    setup_of(yaml, 1);
    t.setup.request_log_path = t.requests;
    run_go();
    expect_status(RUN_COMPLETED);
    expect_no_errors();
    expect_identities();
    expect_result("requests_done", 2);
    expect_result("hits", BLOCKS);
    expect_result("cpu_hits", BLOCKS);
    char *log = text_of(t.requests), *second = strchr(log, '\n'), *at = strstr(second, "\"ttft_ms\":");
    assert_non_null(at);
    double ms = strtod(at + strlen("\"ttft_ms\":"), NULL);
    free(log);
    return ms;
}

static double prefill_ms(uint64_t n, uint64_t cached) {
    struct roofline r;
    assert_int_equal(scenario_roofline(&t.s, &r, NULL), 0);
    return (double)roofline_prefill_ns(&r, n, cached) / 1e6;
}

static void expect_about(double got, double want) {
    if (fabs(got - want) > want / 1000) fail_msg("%.9g ms, not about %.9g", got, want);
}

/* 4 GB/s: a GiB in 268 ms, then the last token. */
static void loaded(void **state) {
    (void)state;
    double ms = second_ttft_ms(TWO_ROWS H100 CPU_TIER("4GB/s") ON_HIT("load"));
    expect_about(ms, (double)kv_bytes / 4e6 + prefill_ms(1, TOKENS - 1));
    expect_result("cpu_read_bytes", (double)kv_bytes);
    expect_result("hits_recomputed", 0);
    expect_result("prefill_tokens_computed", TOKENS + 1);
    run_end();
}

static void recomputed(void **state) {
    (void)state;
    double ms = second_ttft_ms(TWO_ROWS H100 CPU_TIER("4GB/s") ON_HIT("recompute"));
    expect_about(ms, prefill_ms(TOKENS, 0));
    expect_result("cpu_read_bytes", 0);
    expect_result("cpu_write_bytes", (double)kv_bytes);
    expect_result("hits_recomputed", BLOCKS);
    expect_result("recomputed_tokens", TOKENS);
    expect_result("prefill_tokens_computed", 2 * TOKENS);
    run_end();
}

static void whichever_is_faster(void **state) {
    (void)state;
    double slow = second_ttft_ms(TWO_ROWS H100 CPU_TIER("1GB/s") ON_HIT("faster"));
    expect_about(slow, prefill_ms(TOKENS, 0));
    expect_result("hits_recomputed", BLOCKS);
    run_end();
    double fast = second_ttft_ms(TWO_ROWS H100 CPU_TIER("100GB/s") ON_HIT("faster"));
    expect_about(fast, (double)kv_bytes / 1e8 + prefill_ms(1, TOKENS - 1));
    expect_result("hits_recomputed", 0);
    run_end();
}

/* The head is computed while the tail is read, whole blocks each. */
static void both_meet(void **state) {
    (void)state;
    double ms = second_ttft_ms(TWO_ROWS H100 CPU_TIER("4GB/s") ON_HIT("both"));
    double again = value_of("hits_recomputed"), head = again * 512;
    assert_true(again > 0 && again < BLOCKS);
    expect_result("cpu_read_bytes", (double)kv_bytes * (BLOCKS - again) / BLOCKS);
    expect_result("prefill_tokens_computed", TOKENS + head + 1);
    double load = (double)kv_bytes * (BLOCKS - again) / BLOCKS / 4e6, compute = prefill_ms((uint64_t)head, 0);
    double block = (double)kv_bytes / BLOCKS / 4e6;
    assert_true(fabs(load - compute) < 2 * block);
    expect_about(ms, fmax(load, compute) + prefill_ms(1, TOKENS - 1));
    assert_true(ms < prefill_ms(TOKENS, 0) && ms < (double)kv_bytes / 4e6);
    run_end();
}

/* At 100 GB/s the tail is all there is, at 10 MB/s the head. */
static void both_may_be_one(void **state) {
    (void)state;
    second_ttft_ms(TWO_ROWS H100 CPU_TIER("10TB/s") ON_HIT("both"));
    expect_result("hits_recomputed", 0);
    run_end();
    double ms = second_ttft_ms(TWO_ROWS H100 CPU_TIER("10MB/s") ON_HIT("both"));
    expect_about(ms, prefill_ms(TOKENS, 0));
    expect_result("hits_recomputed", BLOCKS);
    run_end();
}

/* Blocks in the gpu tier are where they are needed. */
static void above_nothing_is_computed_again(void **state) {
    (void)state;
    rows_write("{\"timestamp\": 0, \"input_length\": 1024, \"output_length\": 1, \"hash_ids\": [1, 2]}\n"
               "{\"timestamp\": 9000, \"input_length\": 1024, \"output_length\": 1, \"hash_ids\": [1, 2]}\n");
    run_yaml(TWO_ROWS H100 "tiers: {gpu: {capacity: 1GiB}, cpu: {capacity: 1GiB}}\n" ON_HIT("recompute"), 1);
    expect_status(RUN_COMPLETED);
    expect_identities();
    expect_result("gpu_hits", 2);
    expect_result("hits_recomputed", 0);
    run_end();
}

/* On threads, over three tiers that are full, bytes checked: whatever is chosen, nobody is lost. */
static void threads_choose_too(void **state) {
    static const char *const how[] = {"load", "recompute", "faster", "both"};
    (void)state;
    for (int i = 0; i < 4; i++) {
        char yaml[1200];
        snprintf(
            yaml, sizeof yaml,
            "model: tiny-1b\n" ENGINE
            "tiers: {gpu: {capacity: 2MiB}, cpu: {capacity: 4MiB, read_bandwidth: 4GB/s}, nvme: {capacity: "
            "16MiB, io_size: 64KiB, read_bandwidth: 1GB/s}}\n"
            "workload: {users: 6, personas: [{name: a, context: [16, 64], generate: [1, 8], think: [0, "
            "2ms]}], prefix: {probability: 0.5, prompt_tokens: [16, 32]}, conversation: {end_probability: "
            "0.2}}\nrun: {duration: 100s, warmup: 0s, max_requests: 60}\n"
            "cache: {granularity: block, block_tokens: 4, on_hit: %s, placement: %s, verify: full}\n"
            "compute: {mode: roofline, gpu: custom, peak_flops: 3e14, bandwidth: 100TB/s, vram: 1TiB}\n",
            how[i], i % 2 ? "inclusive" : "waterfall");
        run_yaml(yaml, 4);
        expect_status(RUN_COMPLETED);
        expect_no_errors();
        expect_identities();
        expect_result("requests_done", 60);
        double again = value_of("hits_recomputed");
        double below = value_of("hits") - value_of("gpu_hits");
        assert_true(i == 0 ? again == 0 : i == 1 ? again == below : again > 0 && again < below);
        run_end();
    }
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(loaded, runs_set_up, runs_tear_down),
        cmocka_unit_test_setup_teardown(recomputed, runs_set_up, runs_tear_down),
        cmocka_unit_test_setup_teardown(whichever_is_faster, runs_set_up, runs_tear_down),
        cmocka_unit_test_setup_teardown(both_meet, runs_set_up, runs_tear_down),
        cmocka_unit_test_setup_teardown(both_may_be_one, runs_set_up, runs_tear_down),
        cmocka_unit_test_setup_teardown(above_nothing_is_computed_again, runs_set_up, runs_tear_down),
        cmocka_unit_test_setup_teardown(threads_choose_too, runs_set_up, runs_tear_down),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("engine_on_hit", tests, NULL, NULL);
}
