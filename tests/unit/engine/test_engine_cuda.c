/* Runs with the gpu tier in the memory of played devices, whose calls come from one worker at a time. */
#include "tests/unit/cuda_fixture.h"

#include "tests/unit/run_fixture.h"

#define TIERS                                                                                                \
    MODEL_4K "engine: {workers: 1, noise: 1MiB}\n"                                                           \
             "tiers: {gpu: {capacity: 512KiB}, cpu: {capacity: 512KiB}, nvme: {capacity: 2MiB, io_size: "    \
             "16KiB}}\n"                                                                                     \
             "workload: {users: 6, personas: [{name: a, context: [4, 16], think: [0, 1ms]}], conversation: " \
             "{end_probability: 0.02}}\n"                                                                    \
             "run: {duration: 100s, warmup: 0s, interval: 10ms, max_requests: 120}\n"

static void setup_cuda(const char *yaml) {
    fake_reset();
    cuda_api_choose(&fake_api);
    setup_of(yaml, 3);
    t.s.tier[KVF_TIER_GPU].backend = KVF_BACKEND_CUDA;
}

static void expect_checked(void) {
    expect_status(RUN_COMPLETED);
    expect_identities();
    assert_true(t.run.tier[KVF_TIER_GPU].on && !t.run.tier[KVF_TIER_GPU].emulated);
    assert_true(value_of("verify_checked") > 0);
    expect_result("verify_mismatched", 0);
    expect_result("verify_unverified", 0);
    expect_result("requests_done", 120);
    assert_true(value_of("gpu_read_bytes") > 0 && value_of("demotions") > 0 && value_of("promotions") > 0);
}

static void all_ways_of_reading_and_writing_keep_every_byte(void **state) {
    (void)state;
    static const int shapes[] = {0, 3, 5, 6}; /* any two choices meet in each way */
    for (int i = 0; i < 4; i++) {
        int shape = shapes[i];
        setup_cuda(TIERS "cache: {promotion: on_hit, verify: full}\n");
        t.s.gpu.read = shape & 1 ? KVF_GPU_READ_D2H : KVF_GPU_READ_HBM;
        t.s.gpu.write = shape & 2 ? KVF_GPU_WRITE_H2D : KVF_GPU_WRITE_GENERATE;
        t.s.gpu.layout = shape & 4 ? KVF_GPU_LAYOUT_LAYERS : KVF_GPU_LAYOUT_CONTIGUOUS;
        run_go();
        expect_checked();
        fake_expect_nothing_left();
        run_end();
    }
}

static void reads_may_end_on_the_device(void **state) {
    (void)state;
    setup_cuda(TIERS "cache: {promotion: never, verify: full}\n");
    t.s.cache.read_target = KVF_READ_TARGET_GPU;
    run_go();
    expect_status(RUN_COMPLETED);
    expect_identities();
    expect_result("verify_mismatched", 0);
    /* what was read from the slower tiers was written to the fastest one, beside what was written there */
    assert_true(value_of("gpu_write_bytes") >= value_of("cpu_read_bytes") / 2);
    fake_expect_nothing_left();
    run_end();
}

static void lose_device(void *ctx, const struct snapshot *snap) {
    (void)ctx;
    if (snap->interval.phase != KVF_PHASE_MEASURED || snap->interval.done == 0) return;
    fake.error = CUDA_LAUNCH_FAILED;
    fake.fail_name = "fake_event_query";
}

static void a_lost_device_fails_the_run_and_its_data_stay(void **state) {
    (void)state;
    setup_cuda(TIERS);
    t.s.run.max_requests = 1000000;
    t.setup.on_interval = lose_device;
    run_go();
    expect_status(RUN_FAILED);
    expect_identities();
    assert_non_null(strstr(t.run.status_reason,
                           "on device 0 (Played GPU) failed: a kernel stopped or the device was "
                           "lost"));
    assert_true(value_of("operation_errors") >= 1);
    assert_true(value_of("requests_done") > 0);
    fake_expect_nothing_left();
    run_end();
}

static void a_target_without_a_device_is_refused(void **state) {
    (void)state;
    setup_cuda(TIERS);
    t.s.tier[KVF_TIER_GPU].backend = KVF_BACKEND_EMULATED;
    t.s.cache.read_target = KVF_READ_TARGET_GPU;
    assert_int_not_equal(engine_run(&t.setup, &t.err), 0);
    assert_string_equal(t.err.text,
                        "cache.read_target is gpu, and the gpu tier is emulated; leave it at host");
    run_end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_ways_of_reading_and_writing_keep_every_byte, runs_set_up,
                                        runs_tear_down),
        cmocka_unit_test_setup_teardown(reads_may_end_on_the_device, runs_set_up, runs_tear_down),
        cmocka_unit_test_setup_teardown(a_lost_device_fails_the_run_and_its_data_stay, runs_set_up,
                                        runs_tear_down),
        cmocka_unit_test_setup_teardown(a_target_without_a_device_is_refused, runs_set_up, runs_tear_down),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("engine_cuda", tests, NULL, NULL);
}
