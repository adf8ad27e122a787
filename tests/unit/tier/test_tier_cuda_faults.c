#include "tests/unit/cuda_tier_fixture.h"

#include <errno.h>
#include <stdio.h>

enum { BYTES = 256 * 1024 };

static struct tier_setup setup_now(void) {
    return setup_for(4 << 20, 4096, 2);
}

/* ---- what stands in the way ---- */

static void expect_refused(const char *sentence) {
    struct tier_setup setup = setup_now();
    struct err e = {0};
    char text[400];
    assert_null(tier_backend(&setup, &e));
    assert_int_equal(e.code, KVF_ERR_UNAVAILABLE);
    snprintf(text, sizeof text,
             "tiers.gpu.backend is cuda, and it cannot be used: %s; auto or emulated run without", sentence);
    assert_string_equal(e.text, text);
    assert_false(tier_cuda_ready(&scenario, text, sizeof text));
    assert_string_equal(text, sentence);
    fake_expect_nothing_left();
}

static void without_a_driver_the_one_to_install_is_named(void **state) {
    (void)state;
    fake.driver = 0;
    fake.count_error = CUDA_DRIVER_TOO_OLD;
    expect_refused("no NVIDIA driver is here; install one that supports CUDA 13.0, at least 580.65.06");
    char versions[200];
    tier_cuda_versions(versions, sizeof versions);
    assert_string_equal(versions, "runtime 13.0, no driver here; the least driver is 580.65.06");
}

static void a_driver_that_is_too_old_is_told_with_both_versions(void **state) {
    (void)state;
    fake.driver = 12020;
    fake.count_error = CUDA_DRIVER_TOO_OLD;
    expect_refused(
        "the driver supports CUDA 12.2 and this build needs 13.0; install a newer one, at least 580.65.06");
    char versions[200];
    tier_cuda_versions(versions, sizeof versions);
    assert_string_equal(versions, "runtime 13.0, the driver supports 12.2; the least driver is 580.65.06");
}

static void what_hides_the_devices_is_named(void **state) {
    (void)state;
    fake.count_error = CUDA_NO_DEVICE;
    expect_refused(
        "the driver shows no device; see nvidia-smi -L, and where MIG is on create an instance of it "
        "(nvidia-smi mig -cgi)");
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    expect_refused(
        "CUDA_VISIBLE_DEVICES is \"\", which leaves no device; unset it, or name one by number, UUID or "
        "MIG UUID");
    fake.count_error = 0;
    fake.devices = 1;
    scenario.gpu.devices[0] = 2;
    expect_refused("tiers.gpu.devices names device 2, and there is 1, from 0 on of those that "
                   "CUDA_VISIBLE_DEVICES lets be seen");
    unsetenv("CUDA_VISIBLE_DEVICES");
    fake.devices = 2;
    expect_refused("tiers.gpu.devices names device 2, and there are 2, from 0 on");
    scenario.gpu.devices[0] = scenario.gpu.devices[1] = 1;
    scenario.gpu.device_count = 2;
    expect_refused("tiers.gpu.devices names device 1 twice");
    fake.count_error = CUDA_SYSTEM_NOT_READY;
    expect_refused(
        "asking the driver for devices failed: the system is not ready; start nvidia-fabricmanager, or "
        "wait for it (CUDA error 802)");
}

static void what_does_not_fit_is_refused_with_figures(void **state) {
    (void)state;
    struct tier_setup setup = setup_now();
    struct tier *t = NULL;
    struct err e = {0};
    /* 1,024 pages of 4 KiB, 1 MiB of noise, two queues; 256 MiB stay free */
    uint64_t need = (4 << 20) + (1 << 20) + cuda_queue_bytes(&setup), reserve = 256 << 20;
    fake.memory_bytes[0] = need + reserve - 1;
    assert_true(tier_cuda_ops.open(&t, &setup, &e) < 0);
    assert_int_equal(e.code, KVF_ERR_NOSPACE);
    assert_string_equal(e.text,
                        "the gpu tier needs 5.01 MiB on device 0 (Played GPU), of which 261 MiB are free, "
                        "and 256 MiB are left to the driver: there is room for pages of 4.00 MiB there; "
                        "lower tiers.gpu.capacity, name more tiers.gpu.devices, or free the device");
    fake_expect_nothing_left();
    err_clear(&e);
    fake.memory_bytes[0] = need + reserve;
    assert_int_equal(tier_cuda_ops.open(&t, &setup, &e), 0);
    tier_cuda_ops.close(t);
    fake_expect_nothing_left();
}

static void a_device_without_code_is_told_before_the_run(void **state) {
    (void)state;
    static const char *const kernels[] = {"fake_generate", "fake_checksum", "fake_verify"};
    struct tier_setup setup = setup_now();
    for (int i = 0; i < 3; i++) {
        struct tier *t = NULL;
        struct err e = {0};
        fake.fail_name = kernels[i];
        fake.error = CUDA_NO_KERNEL_FOR_DEVICE;
        assert_true(tier_cuda_ops.open(&t, &setup, &e) < 0);
        assert_string_equal(
            e.text, "trying the kernels on device 0 (Played GPU) failed: this build has no code for its "
                    "architecture; configure with a --with-cuda-arch that has it (CUDA error 209)");
        fake_expect_nothing_left();
    }
}

static void a_device_that_computes_wrong_is_refused(void **state) {
    (void)state;
    static const char *const kernels[] = {"generate", "checksum", "verify"};
    struct tier_setup setup = setup_now();
    for (int i = 0; i < 3; i++) {
        struct tier *t = NULL;
        struct err e = {0};
        fake.wrong = kernels[i];
        assert_true(tier_cuda_ops.open(&t, &setup, &e) < 0);
        assert_string_equal(e.text,
                            "the kernels give wrong results on device 0 (Played GPU); use another device in "
                            "tiers.gpu.devices");
        fake_expect_nothing_left();
    }
}

static bool pin_goes_on(void *ctx, enum kvf_tier of, double share) {
    (void)ctx;
    (void)of;
    (void)share;
    return true;
}

static void memory_that_cannot_be_pinned_is_told_with_figures(void **state) {
    (void)state;
    struct tier_setup setup = setup_now(), cpu = {.tier = KVF_TIER_CPU, .progress = pin_goes_on};
    struct tier *t = NULL;
    struct err e = {0};
    assert_int_equal(tier_cuda_ops.open(&t, &setup, &e), 0);
    fake.fail_at = fake.calls + 3; /* use, pin, pin */
    uint8_t *at = (uint8_t *)(uintptr_t)(UINT64_C(1) << 40);
    assert_true(tier_cuda_ops.pin(t, at, UINT64_C(3) << 30, &cpu, &e) < 0);
    assert_string_equal(
        e.text, "page-locking 3.00 GiB of host memory for the copies of the gpu tier failed after 1.00 GiB: "
                "unknown error; lower tiers.cpu.capacity or engine.staging, or raise the limit (ulimit -l)");
    tier_cuda_ops.close(t);
    fake_expect_nothing_left();
}

/* ---- calls that fail ---- */

/* A tier with pinned memory, two queues, and every kind of operation; returns how many chunks failed, and
 * whether all came back. An error of opening is in `e`. */
static int whole_life(struct err *e, unsigned *came_back) {
    struct tier_setup setup = setup_now(), cpu = {.tier = KVF_TIER_CPU};
    struct tier *t = NULL;
    struct tier_queue *q[2] = {0};
    int bad = 0;
    *came_back = 0;
    if (tier_cuda_ops.open(&t, &setup, e) != 0) return -1;
    int rc = tier_cuda_ops.pin(t, buf, BYTES, &cpu, e);
    for (uint32_t i = 0; i < 2 && rc == 0; i++) rc = tier_cuda_ops.queue_open(t, &q[i], i, 4, e);
    if (rc == 0) {
        struct payload_id id = {1, 2, 3};
        uint64_t place = tier_cuda_ops.alloc(t, BYTES);
        struct tier_chunk chunk[] = {
            {.dir = KVF_DIR_WRITE, .place = place, .len = BYTES, .entry_bytes = BYTES, .id = id},
            {.dir = KVF_DIR_READ,
             .place = place,
             .len = BYTES,
             .entry_bytes = BYTES,
             .id = id,
             .check = TIER_CHECK_FULL},
            {.dir = KVF_DIR_READ, .place = place, .len = BYTES, .entry_bytes = BYTES, .buf = buf},
            {.dir = KVF_DIR_WRITE, .place = place, .len = BYTES, .entry_bytes = BYTES, .buf = buf}};
        for (unsigned i = 0; i < 4; i++) {
            struct tier_chunk *c = &chunk[i], *done[4];
            assert_int_equal(tier_cuda_ops.submit(q[i % 2], &c, 1), 1);
            unsigned n = 0;
            for (int turns = 0; n == 0 && turns < 100; turns++) n = tier_cuda_ops.reap(q[i % 2], done, 4);
            *came_back += n;
            if (c->error) {
                bad++;
                assert_true(c->error == EREMOTEIO ||
                            c->error == EBADMSG); /* what a lost write leaves is found */
                if (c->error == EREMOTEIO)
                    assert_non_null(strstr(tier_cuda_ops.why(q[i % 2]), "unknown error (CUDA error 999)"));
            }
        }
    }
    for (int i = 0; i < 2; i++) tier_cuda_ops.queue_close(q[i]);
    tier_cuda_ops.close(t);
    return rc == 0 ? bad : -1;
}

static void expect_borne(unsigned fail_at, bool on, unsigned *refused, unsigned *marred) {
    struct err e = {0};
    unsigned came_back;
    each_setup(NULL);
    fake.fail_at = fail_at;
    fake.fail_on = on;
    int bad = whole_life(&e, &came_back);
    fake_expect_nothing_left();
    if (bad < 0) {
        (*refused)++;
        assert_non_null(strstr(e.text, "unknown error"));
    } else {
        assert_int_equal(came_back, 4);
        if (bad > 0) (*marred)++;
    }
}

/* Each in turn, once and for good: everything comes back, nothing is left, and somebody says so. */
static void every_call_may_fail(void **state) {
    (void)state;
    struct err e = {0};
    unsigned came_back, refused = 0, marred = 0;
    assert_int_equal(whole_life(&e, &came_back), 0);
    unsigned calls = fake.calls;
    assert_true(calls > 100);
    for (unsigned at = 1; at <= calls; at++) {
        expect_borne(at, false, &refused, &marred);
        expect_borne(at, true, &refused, &marred);
    }
    assert_true(refused > 100); /* two queues have streams and events */
    assert_true(marred > 20);
}

/* A tier that is open, and a copy of an entry to the host. */
static struct tier_chunk read_of_new_entry(void) {
    struct tier_setup setup = setup_now();
    open_all(&setup);
    return (struct tier_chunk){
        .dir = KVF_DIR_READ, .place = tier_cuda_ops.alloc(tier, BYTES), .len = BYTES, .buf = buf};
}

static void a_lost_device_is_told_in_one_sentence(void **state) {
    (void)state;
    struct tier_chunk c = read_of_new_entry(), *list = &c, *done[1];
    assert_int_equal(tier_cuda_ops.submit(queue, &list, 1), 1);
    fake.fail_name = "fake_event_query";
    fake.error = CUDA_LAUNCH_FAILED;
    assert_int_equal(tier_cuda_ops.reap(queue, done, 1), 1);
    assert_int_equal(c.error, EREMOTEIO);
    assert_string_equal(
        tier_cuda_ops.why(queue),
        "an operation on device 0 (Played GPU) failed: a kernel stopped or the device was lost; "
        "the kernel log (dmesg, NVRM) has more (CUDA error 719)");
    fake.fail_name = NULL;
    close_all();
}

/* A buffer goes back when nothing uses it any more, even if the end of its copies could not be marked. */
static void a_buffer_does_not_come_back_under_a_copy(void **state) {
    (void)state;
    struct tier_chunk c = read_of_new_entry(), *list = &c, *done[1];
    fake.held = true;
    fake.fail_name = "fake_event_record";
    assert_int_equal(tier_cuda_ops.submit(queue, &list, 1), 1);
    assert_int_equal(tier_cuda_ops.reap(queue, done, 1), 1);
    assert_int_equal(c.error, EREMOTEIO);
    for (unsigned i = 0; i < 256; i++)
        if (fake.stream[i])
            assert_int_equal(fake.stream[i]->tasks > 0 && fake.stream[i]->task[0].kind == FAKE_COPY, 0);
    fake.fail_name = NULL;
    close_all();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(without_a_driver_the_one_to_install_is_named, each_setup),
        cmocka_unit_test_setup(a_driver_that_is_too_old_is_told_with_both_versions, each_setup),
        cmocka_unit_test_setup(what_hides_the_devices_is_named, each_setup),
        cmocka_unit_test_setup(what_does_not_fit_is_refused_with_figures, each_setup),
        cmocka_unit_test_setup(memory_that_cannot_be_pinned_is_told_with_figures, each_setup),
        cmocka_unit_test_setup(a_device_without_code_is_told_before_the_run, each_setup),
        cmocka_unit_test_setup(a_device_that_computes_wrong_is_refused, each_setup),
        cmocka_unit_test_setup(every_call_may_fail, each_setup),
        cmocka_unit_test_setup(a_lost_device_is_told_in_one_sentence, each_setup),
        cmocka_unit_test_setup(a_buffer_does_not_come_back_under_a_copy, each_setup),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("tier_cuda_faults", tests, group_setup, group_teardown);
}
