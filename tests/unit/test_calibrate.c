/* Measuring tiers: the parts that do not depend on how fast this machine is. */
#include "cuda_fixture.h"

#include <math.h>

#include "base/clock.h"
#include "engine/calibrate.h"
#include "report/calibration.h"
#include "scenario/load.h"

static struct scenario scenario;
static atomic_bool stop;

static int each_setup(void **state) {
    (void)state;
    fake_reset();
    cuda_api_choose(&fake_api);
    scenario_default(&scenario);
    scenario.gpu.on = true;
    scenario.gpu.backend = KVF_BACKEND_CUDA;
    scenario.engine.workers = 2;
    atomic_store(&stop, false);
    return 0;
}

static struct calibrate_setup setup_of(uint64_t bytes) {
    return (struct calibrate_setup){.scenario = &scenario,
                                    .bytes = bytes,
                                    .stream_ns = 20 * KVF_NS_PER_MS,
                                    .latency_ns = 5 * KVF_NS_PER_MS,
                                    .stop = &stop};
}

/* What had been done when each step began. */
static struct {
    char doing[20];
    unsigned copies, kernels;
} step[8];
static unsigned steps;

static void note(void *ctx, enum kvf_tier tier, const char *doing) {
    (void)ctx;
    assert_int_equal(tier, KVF_TIER_GPU);
    assert_true(steps < 8);
    snprintf(step[steps].doing, sizeof step[steps].doing, "%s", doing);
    step[steps].copies = fake.copies;
    step[steps++].kernels = fake.kernels;
}

/* Lets a call fail once the tier is open. */
static void fail_now(void *ctx, enum kvf_tier tier, const char *doing) {
    (void)tier;
    (void)doing;
    fake.fail_name = ctx;
}

static void a_device_is_measured_inside_and_over_its_link(void **state) {
    struct calibrate_setup setup = setup_of(32 << 20);
    struct calibrate_result r;
    struct err e = {0};
    static const char *const order[] = {"filling",   "writing",     "reading",
                                        "copies to", "copies from", "small reads of"};
    (void)state;
    steps = 0;
    setup.progress = note;
    assert_int_equal(calibrate_tier(&setup, KVF_TIER_GPU, &r, &e), 0);
    assert_int_equal(steps, 6);
    for (unsigned i = 0; i < 6; i++) assert_string_equal(step[i].doing, order[i]);
    for (unsigned i = 0; i < 5; i++) { /* the first three are kernels, the others copies, and nothing else */
        assert_int_equal(step[i + 1].kernels > step[i].kernels, i < 3);
        assert_int_equal(step[i + 1].copies > step[i].copies, i >= 3);
    }
    assert_true(fake.copies > step[5].copies);
    assert_int_equal(r.filled_bytes, 32 << 20);
    assert_true(r.read_bytes_s > 0 && r.write_bytes_s > 0 && r.link_read_bytes_s > 0 &&
                r.link_write_bytes_s > 0);
    assert_true(r.latency_ns > 0);
    assert_non_null(strstr(r.description, "1 x Played GPU"));
    /* page-locked in one piece, 16 chunks of 4 MiB, behind the noise; the link's copies are no larger,
     * kernels went over it all */
    assert_int_equal(fake.pin_calls, 2);
    assert_int_equal(fake.pinned_bytes[1], 64 << 20);
    assert_int_equal(fake.longest_copy, 16 << 20); /* the noise, before anything is measured */
    assert_true(fake.kernels >= 3);
    fake_expect_nothing_left();
}

static void what_cannot_be_measured_says_why(void **state) {
    static const struct {
        const char *call, *says;
    } cases[] = {
        {"fake_stream_new", "failed: unknown error (CUDA error 999)"},
        {"fake_generate", "on device 0 (Played GPU) failed: unknown error"},
        {"fake_checksum", "on device 0 (Played GPU) failed: unknown error"},
        {"fake_event_record",
         "the gpu tier cannot be measured: marking the end of an operation on device 0 (Played GPU) failed"},
        {"fake_event_query",
         "the gpu tier cannot be measured: an operation on device 0 (Played GPU) failed"}};
    struct calibrate_setup setup = setup_of(8 << 20);
    struct calibrate_result r;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = {0};
        each_setup(NULL);
        setup.progress = strcmp(cases[i].call, "fake_stream_new") == 0 ? NULL : fail_now;
        setup.ctx = (void *)(uintptr_t)cases[i].call;
        if (!setup.progress) fake.fail_name = cases[i].call;
        assert_true(calibrate_tier(&setup, KVF_TIER_GPU, &r, &e) < 0);
        if (!strstr(e.text, cases[i].says)) fail_msg("%s: %s", cases[i].call, e.text);
        fake_expect_nothing_left();
    }
    struct err e = {0};
    each_setup(NULL);
    setup.progress = NULL;
    fake.memory_bytes[0] = 256 << 20; /* what is left to the driver */
    assert_int_equal(calibrate_tier(&setup, KVF_TIER_GPU, &r, &e), -KVF_ERR_NOSPACE);
    err_clear(&e);
    each_setup(NULL);
    scenario.gpu.backend = KVF_BACKEND_EMULATED;
    assert_int_equal(calibrate_tier(&setup, KVF_TIER_GPU, &r, &e), -KVF_ERR_UNAVAILABLE);
    assert_string_equal(e.text, "the gpu tier is emulated here");
    err_clear(&e);
    atomic_store(&stop, true);
    assert_int_equal(calibrate_tier(&setup, KVF_TIER_CPU, &r, &e), -KVF_ERR_CANCELLED);
}

/* No time at all: one chunk, one small read, and figures. */
static void something_is_measured_however_late_it_is(void **state) {
    struct calibrate_setup setup = setup_of(8 << 20);
    struct calibrate_result r;
    struct err e = {0};
    (void)state;
    setup.stream_ns = setup.latency_ns = 0;
    assert_int_equal(calibrate_tier(&setup, KVF_TIER_CPU, &r, &e), 0);
    assert_true(r.read_bytes_s > 0 && r.write_bytes_s > 0 && r.latency_ns > 0);
    assert_true(r.link_read_bytes_s == r.read_bytes_s && r.link_write_bytes_s == r.write_bytes_s);
    assert_int_equal(r.filled_bytes, 2 << 20); /* of each worker */
}

static void what_is_written_is_what_a_scenario_reads(void **state) {
    const struct calibrate_result gpu = {.read_bytes_s = 4.1234e12,
                                         .write_bytes_s = 3.9e12,
                                         .link_read_bytes_s = 55.4e9,
                                         .link_write_bytes_s = 54.6e9,
                                         .latency_ns = 8432,
                                         .filled_bytes = UINT64_C(4) << 30,
                                         .description = "cuda: 1 x Played\nGPU"};
    const struct calibrate_result cpu = {.read_bytes_s = 20e9,
                                         .write_bytes_s = 11e9,
                                         .link_read_bytes_s = 20e9,
                                         .link_write_bytes_s = 11e9,
                                         .latency_ns = 700,
                                         .description = "memory"};
    struct scenario_report report = {0};
    struct buf yaml = {0};
    (void)state;
    buf_add(&yaml, "model: tiny-1b\ntiers:\n");
    calibration_yaml(KVF_TIER_GPU, &gpu, &yaml);
    assert_non_null(strstr(yaml.data, "peaks of device memory itself"));
    size_t len = yaml.len;
    calibration_yaml(KVF_TIER_CPU, &cpu, &yaml);
    assert_null(strstr(yaml.data + len, "device memory"));
    int rc = scenario_load(NULL, yaml.data, NULL, 0, &scenario, NULL, &report);
    if (rc) fail_msg("%s\n%s", yaml.data, buf_text(&report.errors));
    assert_int_equal(scenario.peak_bytes_per_s[KVF_TIER_GPU][KVF_DIR_READ], 4123400 * UINT64_C(1000000));
    assert_int_equal(scenario.peak_bytes_per_s[KVF_TIER_GPU][KVF_DIR_WRITE], 3900000 * UINT64_C(1000000));
    assert_int_equal(scenario.emulation[KVF_TIER_GPU].read_bytes_per_s, 55400 * UINT64_C(1000000));
    assert_int_equal(scenario.emulation[KVF_TIER_GPU].write_bytes_per_s, 54600 * UINT64_C(1000000));
    assert_int_equal(scenario.emulation[KVF_TIER_GPU].latency_ns, 8430);
    assert_int_equal(scenario.peak_bytes_per_s[KVF_TIER_CPU][KVF_DIR_WRITE], 11000 * UINT64_C(1000000));
    assert_int_equal(scenario.emulation[KVF_TIER_CPU].latency_ns, 700);
    scenario_report_free(&report);
    buf_free(&yaml);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_device_is_measured_inside_and_over_its_link, each_setup),
        cmocka_unit_test_setup(what_cannot_be_measured_says_why, each_setup),
        cmocka_unit_test_setup(something_is_measured_however_late_it_is, each_setup),
        cmocka_unit_test_setup(what_is_written_is_what_a_scenario_reads, each_setup),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("calibrate", tests, NULL, NULL);
}
