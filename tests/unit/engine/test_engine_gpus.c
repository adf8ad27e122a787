/* Which GPUs a run observes: played devices of CUDA beside a stand-in for the driver's management library. */
#include "tests/unit/cuda_fixture.h"

#include <dlfcn.h>
#include <sched.h>

#include "tests/unit/run_fixture.h"

#define TIERS                                                                                                \
    MODEL_4K "engine: {workers: 1, noise: 1MiB}\n"                                                           \
             "tiers: {gpu: {capacity: 512KiB}, cpu: {capacity: 2MiB}}\n"                                     \
             "workload: {users: 2, personas: [{name: a, context: [4, 16], think: [0, 1ms]}]}\n"              \
             "run: {duration: 100s, warmup: 0s, interval: 10ms, max_requests: 30}\n"

static void *library;
static struct snapshot last; /* of the run */

static void keep_last(void *ctx, const struct snapshot *snap) {
    (void)ctx;
    last = *snap;
}

static void run_on(const char *driver, enum scenario_gpu_backend backend) {
    setenv("FAKE_NVML", driver, 1);
    cuda_api_choose(&fake_api);
    setup_of(TIERS, 3);
    t.s.tier[KVF_TIER_GPU].backend = backend;
    t.setup.on_interval = keep_last;
    memset(&last, 0, sizeof last);
}

/* The stand-in has utilisation 50 % and 10 % more for each number. */
static void expect_observed(const uint32_t *gpu, uint32_t count) {
    run_go();
    expect_status(RUN_COMPLETED);
    assert_int_equal(last.gpus, count);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(last.gpu[i].device, gpu[i]);
        assert_true(last.gpu[i].utilisation == 0.5 + 0.1 * gpu[i]);
        assert_true(last.gpu[i].temperature_c == 41 + gpu[i]);
    }
}

static void all_devices_are_observed_in_the_order_of_cuda(void **state) {
    static const uint32_t gpu[] = {2, 0, 1};
    (void)state;
    fake_reset();
    fake.devices = 3;
    for (int i = 0; i < 3; i++) fake.gpu[i] = (int)gpu[i];
    run_on("devices=4", KVF_BACKEND_CUDA);
    t.s.gpu.device_count = 0; /* all */
    expect_observed(gpu, 3);
    assert_null(event_of("warning"));
    run_end();
}

static void the_device_of_the_tier_is_observed_whatever_number_cuda_gives_it(void **state) {
    static const uint32_t gpu[] = {3};
    (void)state;
    fake_reset();
    fake.devices = 2;
    fake.gpu[0] = 1;
    fake.gpu[1] = 3;
    run_on("devices=4", KVF_BACKEND_CUDA);
    t.s.gpu.device_count = 1;
    t.s.gpu.devices[0] = 1;
    expect_observed(gpu, 1);
    run_end();
}

static void a_slice_is_observed_as_the_gpu_that_it_is_of(void **state) {
    static const uint32_t gpu[] = {1};
    (void)state;
    fake_reset();
    fake.gpu[0] = 1; /* the stand-in's odd ones are cut */
    fake.slices = true;
    run_on("devices=2", KVF_BACKEND_CUDA);
    expect_observed(gpu, 1);
    assert_string_equal(
        event_of("info"),
        "device 0 of the gpu tier is a slice of GPU 1: its figures describe the whole GPU, and "
        "its utilisation is unknown");
    run_end();
}

static void a_device_that_the_library_does_not_show_is_named(void **state) {
    (void)state;
    fake_reset();
    fake.gpu[0] = 3;
    run_on("devices=2", KVF_BACKEND_CUDA);
    expect_observed(NULL, 0);
    assert_string_equal(event_of("warning"),
                        "no figures of device 0 of the gpu tier (GPU-d0000000-feed-beef-cafe-000000000000, "
                        "0000:13:00.0): the management library of the driver does not show it");
    run_end();
}

static void without_a_real_tier_all_gpus_are_observed(void **state) {
    static const uint32_t gpu[] = {0, 1};
    (void)state;
    fake_reset();
    run_on("devices=2", KVF_BACKEND_EMULATED);
    expect_observed(gpu, 2);
    run_end();
}

static void a_driver_that_hangs_leaves_a_run_without_figures(void **state) {
    unsigned (*shutdowns)(void);
    void (*release)(int);
    (void)state;
    *(void **)&shutdowns = dlsym(library, "fake_nvml_shutdowns");
    *(void **)&release = dlsym(library, "fake_nvml_release");
    unsigned before = shutdowns();
    fake_reset();
    run_on("devices=2,hang:power", KVF_BACKEND_CUDA);
    run_go();
    expect_status(RUN_COMPLETED);
    expect_result("requests_done", 30);
    assert_int_equal(last.gpus, 1);
    assert_true(isnan(last.gpu[0].utilisation) && isnan(last.gpu[0].power_w));
    assert_string_equal(event_of("warning"),
                        "figures of GPUs are missing: the NVIDIA driver does not answer; "
                        "the kernel log (dmesg, NVRM) may say why");
    assert_int_equal(shutdowns(), before);
    release(1);
    uint64_t until = clock_now_ns() + 20 * KVF_NS_PER_S;
    while (shutdowns() == before && clock_now_ns() < until) sched_yield();
    assert_int_equal(shutdowns(), before + 1);
    run_end();
}

/* Once loaded, the library is what the loader gives for its name. */
static int group_setup(void **state) {
    char path[4096];
    (void)state;
    const char *build = getenv("KVFALL_BUILD");
    snprintf(path, sizeof path, "%s/tests/unit/fake/libnvidia-ml.so.1", build ? build : ".");
    library = dlopen(path, RTLD_NOW);
    return library ? 0 : -1;
}

static int group_teardown(void **state) {
    (void)state;
    return dlclose(library);
}

#define RUN(test) cmocka_unit_test_setup_teardown(test, runs_set_up, runs_tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        RUN(all_devices_are_observed_in_the_order_of_cuda),
        RUN(the_device_of_the_tier_is_observed_whatever_number_cuda_gives_it),
        RUN(a_slice_is_observed_as_the_gpu_that_it_is_of),
        RUN(a_device_that_the_library_does_not_show_is_named),
        RUN(without_a_real_tier_all_gpus_are_observed),
        RUN(a_driver_that_hangs_leaves_a_run_without_figures),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("engine_gpus", tests, group_setup, group_teardown);
}
