/* Runs whose entries go between files and the memory of played devices through a played cuFile. */
#include "tests/unit/cuda_fixture.h"

#include "tests/unit/cufile_fixture.h"
#include "tests/unit/run_fixture.h"

#define RUN                                                                                                  \
    "workload: {users: 6, personas: [{name: a, context: [4, 16], think: [0, 1ms]}], conversation: "          \
    "{end_probability: 0.02}}\n"                                                                             \
    "run: {duration: 100s, warmup: 0s, interval: 10ms, max_requests: 120}\n"
/* Without a cpu tier, so that what the gpu demotes goes to the files. */
#define TIERS                                                                                                \
    MODEL_4K "engine: {workers: 1, noise: 1MiB}\n"                                                           \
             "tiers: {gpu: {capacity: 512KiB}, nvme: {capacity: 2MiB, io_size: 16KiB}}\n" RUN
#define CHECKED TIERS "cache: {promotion: on_hit, verify: full}\n"

static void setup_gds(const char *yaml, enum scenario_direct_to_gpu wanted, const char *how) {
    fake_reset();
    cuda_api_choose(&fake_api);
    cufile_play(how);
    setup_of(yaml, 3);
    t.s.tier[KVF_TIER_GPU].backend = KVF_BACKEND_CUDA;
    t.s.nvme.direct_to_gpu = wanted;
}

static void expect_checked(void) {
    expect_status(RUN_COMPLETED);
    expect_identities();
    assert_true(value_of("verify_checked") > 0);
    expect_result("verify_mismatched", 0);
    expect_result("verify_unverified", 0);
    expect_result("requests_done", 120);
}

static bool event_says(const char *words) {
    for (size_t i = 0; i < t.run.event_count; i++)
        if (strstr(t.run.events[i].message, words)) return true;
    return false;
}

/* All that moves between the two tiers, and nothing else: what is written below comes from the gpu. */
static void moves_go_past_host_memory(void **state) {
    (void)state;
    for (int shape = 0; shape < 4; shape++) {
        setup_gds(CHECKED, shape & 1 ? KVF_DIRECT_TO_GPU_ON : KVF_DIRECT_TO_GPU_AUTO, "nvfs=26");
        t.s.nvme.layout = shape & 1 ? KVF_NVME_LAYOUT_ARENA : KVF_NVME_LAYOUT_FILES;
        t.s.nvme.sync = shape & 2 ? KVF_SYNC_DATA : KVF_SYNC_NONE;
        run_go();
        expect_checked();
        assert_true(value_of("demotions") > 0 && value_of("promotions") > 0);
        assert_false(t.run.tier[KVF_TIER_NVME].compat);
        assert_non_null(
            strstr(t.run.tier[KVF_TIER_NVME].description, "gpu by cuFile 1.15, nvidia-fs 2.26, direct"));
        assert_true(event_says("nvme and gpu: cuFile 1.15, nvidia-fs 2.26, direct"));
        struct cufile_counts c = cufile_counts();
        assert_int_equal(c.closings, 1);
        assert_true(c.written >= (uint64_t)value_of("nvme_write_bytes"));
        assert_true(c.read > 0);
        fake_expect_nothing_left();
        run_end();
    }
}

static void reads_end_on_the_device(void **state) {
    (void)state;
    setup_gds(TIERS "cache: {promotion: never, verify: full}\n", KVF_DIRECT_TO_GPU_ON, "");
    t.s.cache.read_target = KVF_READ_TARGET_GPU;
    run_go();
    expect_checked();
    assert_true(value_of("nvme_read_bytes") > 0);
    struct cufile_counts c = cufile_counts();
    assert_true(c.read >= (uint64_t)value_of("nvme_read_bytes"));
    fake_expect_nothing_left();
    run_end();
}

/* Entries are in parts on devices, and these in pieces; chunks lie in files of both paths. */
static void devices_and_paths_may_be_several(void **state) {
    (void)state;
    char first[80], second[80];
    setup_gds(CHECKED, KVF_DIRECT_TO_GPU_AUTO, "nvfs=26");
    fake.devices = 2;
    t.s.gpu.device_count = 2;
    t.s.gpu.devices[1] = 1;
    t.s.tensor_parallel = 2;
    t.s.nvme.layout = KVF_NVME_LAYOUT_ARENA;
    t.s.cache.read_target = KVF_READ_TARGET_GPU;
    snprintf(first, sizeof first, "%s/a", t.dir);
    snprintf(second, sizeof second, "%s/b", t.dir);
    assert_int_equal(mkdir(first, 0700) | mkdir(second, 0700), 0);
    snprintf(t.s.nvme.path[0], sizeof t.s.nvme.path[0], "%s", first);
    snprintf(t.s.nvme.path[1], sizeof t.s.nvme.path[1], "%s", second);
    t.s.nvme.path_count = 2;
    if (engine_run(&t.setup, &t.err) != 0) fail_msg("%s", t.err.text);
    assert_int_equal(rmdir(first) | rmdir(second), 0);
    expect_checked();
    assert_true(value_of("demotions") > 0 && value_of("nvme_read_bytes") > 0);
    assert_true(cufile_counts().written >= (uint64_t)value_of("nvme_write_bytes"));
    fake_expect_nothing_left();
    run_end();
}

/* Nothing but the check where it landed looks at it again. */
static void what_lands_wrong_fails_the_read(void **state) {
    (void)state;
    setup_gds(TIERS "cache: {promotion: never, verify: full}\n", KVF_DIRECT_TO_GPU_ON, "flip=3");
    t.s.cache.read_target = KVF_READ_TARGET_GPU;
    run_go();
    expect_status(RUN_FAILED);
    expect_identities();
    assert_non_null(strstr(t.run.status_reason, "nvme read of entry"));
    assert_non_null(strstr(t.run.status_reason, "the data is not what was written"));
    expect_result("verify_mismatched", 1);
    (void)cufile_counts();
    fake_expect_nothing_left();
    run_end();
}

static void transfers_cut_short_go_on(void **state) {
    (void)state;
    setup_gds(CHECKED, KVF_DIRECT_TO_GPU_ON, "short=4096");
    run_go();
    expect_checked();
    assert_true(cufile_counts().read > 0);
    run_end();
}

static void compatibility_mode_is_labelled_or_not_taken(void **state) {
    (void)state;
    setup_gds(CHECKED, KVF_DIRECT_TO_GPU_ON, "compat");
    run_go();
    expect_checked();
    assert_true(t.run.tier[KVF_TIER_NVME].compat);
    assert_non_null(strstr(t.run.tier[KVF_TIER_NVME].description,
                           "gpu by cuFile 1.15, without nvidia-fs, compatibility mode"));
    assert_true(
        event_says("the bytes go through host memory: registering a file of the tier fails: the kernel "
                   "module nvidia-fs is not loaded"));
    struct cufile_counts c = cufile_counts();
    assert_int_equal(c.closings, 2);
    assert_int_equal(c.compat, 1);
    run_end();

    setup_gds(CHECKED, KVF_DIRECT_TO_GPU_AUTO, "compat");
    run_go();
    expect_checked();
    assert_false(t.run.tier[KVF_TIER_NVME].compat);
    assert_null(strstr(t.run.tier[KVF_TIER_NVME].description, "cuFile"));
    assert_true(
        event_says("tiers.nvme.direct_to_gpu is off: registering a file of the tier fails: the kernel "
                   "module nvidia-fs is not loaded"));
    assert_int_equal(cufile_counts().written, 0);
    run_end();
}

static void expect_refused(const char *why) {
    assert_int_equal(engine_run(&t.setup, &t.err), -KVF_ERR_UNAVAILABLE);
    assert_non_null(strstr(t.err.text, "tiers.nvme.direct_to_gpu is on, and there is no such path here: "));
    if (!strstr(t.err.text, why)) fail_msg("%s", t.err.text);
    assert_int_equal(entries_of(t.dir), 0);
    fake_expect_nothing_left();
    (void)cufile_counts();
    run_end();
}

static void on_is_refused_where_it_cannot_be(void **state) {
    (void)state;
    setup_gds(TIERS, KVF_DIRECT_TO_GPU_ON, NULL);
    expect_refused("the cuFile library cannot be loaded: /nowhere/libcufile.so.0");
    setup_gds(TIERS, KVF_DIRECT_TO_GPU_ON, "driver=5009");
    expect_refused(
        "opening cuFile's driver fails: the GPU does not support GPUDirect Storage (cuFile error 5009)");
    setup_gds(TIERS, KVF_DIRECT_TO_GPU_ON, "");
    t.s.tier[KVF_TIER_GPU].backend = KVF_BACKEND_EMULATED;
    expect_refused("the gpu tier is emulated");
    setup_gds(TIERS, KVF_DIRECT_TO_GPU_ON, "");
    t.s.nvme.direct = false;
    expect_refused("does not support direct I/O (direct: false)");
    setup_gds(TIERS, KVF_DIRECT_TO_GPU_ON, "");
    t.s.gpu.layout = KVF_GPU_LAYOUT_LAYERS;
    expect_refused("pieces of entries in device memory are no multiples of 4 KiB");
    setup_gds(MODEL_4K "engine: {workers: 1, noise: 1MiB}\ntiers: {nvme: {capacity: 2MiB}}\n" RUN,
              KVF_DIRECT_TO_GPU_ON, "");
    expect_refused("the gpu tier is off");
}

static void auto_runs_without_and_says_why(void **state) {
    (void)state;
    setup_gds(CHECKED, KVF_DIRECT_TO_GPU_AUTO, NULL);
    run_go();
    expect_checked();
    assert_true(event_says("tiers.nvme.direct_to_gpu is off: the cuFile library cannot be loaded"));
    run_end();
}

static void an_operation_that_fails_is_named(void **state) {
    (void)state;
    static const struct {
        const char *how, *says;
    } cases[] = {
        {"read=5048,read_after=1", "an error inside the kernel module nvidia-fs (cuFile error 5048)"},
        {"write=5,write_after=1", "Input/output error"},
        {"flip=3", "the data is not what was written"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setup_gds(CHECKED, KVF_DIRECT_TO_GPU_ON, cases[i].how);
        t.s.run.max_requests = 1000;
        run_go();
        if (t.run.status != RUN_FAILED) fail_msg("%s: not failed", cases[i].how);
        expect_identities();
        if (!strstr(t.run.status_reason, cases[i].says)) fail_msg("%s", t.run.status_reason);
        (void)cufile_counts();
        fake_expect_nothing_left();
        run_end();
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(moves_go_past_host_memory, runs_set_up, runs_tear_down),
        cmocka_unit_test_setup_teardown(reads_end_on_the_device, runs_set_up, runs_tear_down),
        cmocka_unit_test_setup_teardown(devices_and_paths_may_be_several, runs_set_up, runs_tear_down),
        cmocka_unit_test_setup_teardown(what_lands_wrong_fails_the_read, runs_set_up, runs_tear_down),
        cmocka_unit_test_setup_teardown(transfers_cut_short_go_on, runs_set_up, runs_tear_down),
        cmocka_unit_test_setup_teardown(compatibility_mode_is_labelled_or_not_taken, runs_set_up,
                                        runs_tear_down),
        cmocka_unit_test_setup_teardown(on_is_refused_where_it_cannot_be, runs_set_up, runs_tear_down),
        cmocka_unit_test_setup_teardown(auto_runs_without_and_says_why, runs_set_up, runs_tear_down),
        cmocka_unit_test_setup_teardown(an_operation_that_fails_is_named, runs_set_up, runs_tear_down),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("engine_gds", tests, NULL, NULL);
}
