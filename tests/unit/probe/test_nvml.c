#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "probe/nvml.h"
#include "probe/nvml_watch.h"

static const char *fake(void) {
    static char path[4096];
    const char *build = getenv("KVFALL_BUILD");
    snprintf(path, sizeof path, "%s/tests/unit/fake/libnvidia-ml.so.1", build ? build : ".");
    return path;
}

static struct nvml *open_fake(const char *how) {
    struct nvml *n = NULL;
    struct err e = {0};
    setenv("FAKE_NVML", how, 1);
    int rc = nvml_open(&n, fake(), &e);
    if (rc) print_error("%s\n", e.text);
    assert_int_equal(rc, 0);
    return n;
}

static void devices_are_listed(void **state) {
    (void)state;
    struct nvml *n = open_fake("devices=2");
    assert_string_equal(nvml_driver(n), "580.65.06");
    assert_int_equal(nvml_devices(n), 2);
    assert_string_equal(nvml_device(n, 0)->name, "Fake H200 0");
    assert_string_equal(nvml_device(n, 1)->uuid, "GPU-b0000000-feed-beef-cafe-000000000000");
    assert_int_equal(nvml_device(n, 0)->mig, NVML_MIG_OFF);
    assert_int_equal(nvml_device(n, 1)->mig, NVML_MIG_ON);
    assert_true(nvml_device(n, 0)->memory_bytes == 80 * 1073741824.0);
    assert_string_equal(nvml_device(n, 0)->trouble, "");
    nvml_close(n);
}

static void a_sample_has_its_units(void **state) {
    struct nvml_sample s;
    (void)state;
    struct nvml *n = open_fake("devices=2");
    nvml_sample(n, 1, &s);
    assert_true(s.utilisation == 0.6);
    assert_true(s.memory_used_bytes == 2147483648.0 && s.memory_total_bytes == 85899345920.0);
    assert_true(s.pcie_rx_bytes_s == 2001 * 1000.0 && s.pcie_tx_bytes_s == 1001 * 1000.0);
    assert_true(s.power_w == 312.501);
    assert_true(s.temperature_c == 42 && s.clock_sm_mhz == 1756 && s.clock_mem_mhz == 2620);
    assert_true(s.ecc_errors == 4);
    assert_true(s.energy_j > 0 && s.at_ns > 0);
    nvml_close(n);
}

/* Each call fails in turn: its own figure is missing, and every other is there. */
static void what_a_device_does_not_tell_is_missing(void **state) {
    static const struct {
        const char *call;
        unsigned missing; /* a bit for each figure, in the order of the struct */
    } cases[] = {{"utilisation", 1}, {"memory", 2 | 4},   {"pcie_rx", 8},    {"pcie_tx", 16},
                 {"power", 32},      {"temperature", 64}, {"clock_sm", 128}, {"clock_mem", 256},
                 {"ecc", 512},       {"energy", 1024}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct nvml_sample s;
        struct nvml *n = open_fake(cases[i].call);
        nvml_sample(n, 0, &s);
        const double figures[] = {s.utilisation,     s.memory_used_bytes, s.memory_total_bytes,
                                  s.pcie_rx_bytes_s, s.pcie_tx_bytes_s,   s.power_w,
                                  s.temperature_c,   s.clock_sm_mhz,      s.clock_mem_mhz,
                                  s.ecc_errors,      s.energy_j};
        for (unsigned f = 0; f < sizeof figures / sizeof *figures; f++)
            assert_int_equal(isnan(figures[f]) != 0, cases[i].missing >> f & 1);
        nvml_close(n);
    }
}

static void names_may_be_unknown(void **state) {
    (void)state;
    struct nvml *n = open_fake("name,uuid,mig,driver,memory");
    assert_string_equal(nvml_driver(n), "");
    assert_string_equal(nvml_device(n, 0)->name, "");
    assert_string_equal(nvml_device(n, 0)->uuid, "");
    assert_int_equal(nvml_device(n, 0)->mig, NVML_MIG_UNKNOWN);
    assert_true(isnan(nvml_device(n, 0)->memory_bytes));
    nvml_close(n);
}

static void a_lost_device_does_not_hide_the_others(void **state) {
    struct nvml_sample s;
    (void)state;
    struct nvml *n = open_fake("devices=2,lost=0");
    assert_int_equal(nvml_devices(n), 2);
    assert_string_equal(nvml_device(n, 0)->trouble, "GPU is lost");
    nvml_sample(n, 0, &s);
    assert_true(isnan(s.utilisation) && isnan(s.power_w));
    nvml_sample(n, 1, &s);
    assert_true(s.utilisation == 0.6);
    nvml_sample(n, 2, &s); /* there is none */
    assert_true(isnan(s.utilisation));
    nvml_close(n);
}

static void what_cannot_be_used_says_why(void **state) {
    static const struct {
        const char *how, *says;
    } cases[] = {{"init", "the NVIDIA driver does not answer: Driver Not Loaded"},
                 {"count", "the NVIDIA driver does not list its devices: Unknown Error"}};
    struct nvml *n = NULL;
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct err e = {0};
        setenv("FAKE_NVML", cases[i].how, 1);
        assert_int_equal(nvml_open(&n, fake(), &e), -KVF_ERR_IO);
        assert_string_equal(e.text, cases[i].says);
    }
    struct err e = {0};
    assert_int_equal(nvml_open(&n, "/nowhere/libnvidia-ml.so.1", &e), -KVF_ERR_UNAVAILABLE);
    assert_non_null(strstr(e.text, "cannot be loaded"));
    err_clear(&e);
    assert_int_equal(nvml_open(&n, "libm.so.6", &e), -KVF_ERR_UNAVAILABLE);
    assert_non_null(strstr(e.text, "lacks nvmlInit_v2"));
    assert_null(n);
    nvml_close(NULL);
}

/* By UUID first; the address helps where that is unknown, or of a slice. */
static void a_device_is_found_by_uuid_or_address(void **state) {
    static const char *const b = "GPU-b0000000-feed-beef-cafe-000000000000";
    (void)state;
    struct nvml *n = open_fake("devices=3");
    assert_string_equal(nvml_device(n, 2)->bus, "0000:12:00.0");
    assert_int_equal(nvml_find(n, b, ""), 1);
    assert_int_equal(nvml_find(n, b, "0000:10:00.0"), 1);
    assert_int_equal(nvml_find(n, "", "0000:12:00.0"), 2);
    assert_int_equal(nvml_find(n, "", "00000000:12:00.0"), 2);
    assert_int_equal(nvml_find(n, "GPU-5a5a0000-0000-0000-0000-000000000000", "0000:10:00.0"), 0);
    assert_int_equal(nvml_find(n, "", "0001:12:00.0"), -1);
    assert_int_equal(nvml_find(n, "", "0000:13:00.0"), -1);
    assert_int_equal(nvml_find(n, "", "rubbish"), -1);
    assert_int_equal(nvml_find(n, "", ""), -1);
    nvml_close(n);
    n = open_fake("devices=2,uuid,pci"); /* "" is no name */
    assert_int_equal(nvml_find(n, "", ""), -1);
    nvml_close(n);
}

static void a_watch_goes_on_looking(void **state) {
    const uint32_t index[] = {1, 0};
    struct nvml_sample s[2];
    struct nvml_watch *w = NULL;
    struct err e = {0};
    (void)state;
    assert_int_equal(nvml_watch_start(&w, open_fake("devices=2"), index, 2, 1, &e), 0);
    uint64_t first = nvml_watch_read(w, s), until = clock_now_ns() + 20 * KVF_NS_PER_S;
    assert_true(first >= 1);
    assert_true(s[0].utilisation == 0.6 && s[1].utilisation == 0.5);
    while (nvml_watch_read(w, s) == first && clock_now_ns() < until) {}
    assert_true(nvml_watch_read(w, s) > first);
    assert_true(s[0].utilisation == 0.6 && s[1].temperature_c == 41);
    nvml_watch_stop(w);
    nvml_watch_stop(NULL);
}

/* ---- a driver that does not come back ---- */

static void (*release)(int);
static unsigned (*inits)(void), (*shutdowns)(void);

/* Keeps the library loaded, so that what it counts is there to be read. */
static void *hanging_set_up(void) {
    void *library = dlopen(fake(), RTLD_NOW);
    assert_non_null(library);
    *(void **)&release = dlsym(library, "fake_nvml_release");
    *(void **)&inits = dlsym(library, "fake_nvml_inits");
    *(void **)&shutdowns = dlsym(library, "fake_nvml_shutdowns");
    release(0);
    return library;
}

static void expect_cleaned_up(unsigned before) {
    uint64_t until = clock_now_ns() + 20 * KVF_NS_PER_S;
    while (shutdowns() == before && clock_now_ns() < until) sched_yield();
    assert_int_equal(shutdowns(), before + 1);
}

static void an_opening_that_hangs_is_given_up_and_cleaned_up_behind(void **state) {
    static const char *const how[] = {"hang:init", "hang:name", "devices=2,hang:mig"};
    (void)state;
    void *library = hanging_set_up();
    nvml_be_patient(20 * KVF_NS_PER_MS);
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        struct nvml *n = NULL;
        unsigned before = shutdowns(), begun = inits();
        release(0);
        setenv("FAKE_NVML", how[i], 1);
        for (int again = 0; again < 2; again++) { /* the second does not even ask */
            struct err e = {0};
            assert_int_equal(nvml_open(&n, fake(), &e), -KVF_ERR_IO);
            assert_string_equal(e.text,
                                "the NVIDIA driver has not answered for 0.02 s; the kernel log (dmesg, "
                                "NVRM) may say why");
            assert_null(n);
        }
        release(1);
        expect_cleaned_up(before);
        assert_int_equal(inits(), begun + 1);
        nvml_be_patient(20 * KVF_NS_PER_S);
        struct err e = {0};
        uint64_t until = clock_now_ns() + 20 * KVF_NS_PER_S;
        while (nvml_open(&n, fake(), &e) != 0 && clock_now_ns() < until) err_clear(&e);
        assert_non_null(n); /* it answers again */
        nvml_close(n);
        nvml_be_patient(20 * KVF_NS_PER_MS);
    }
    nvml_be_patient(20 * KVF_NS_PER_S);
    dlclose(library);
}

/* Nothing of it is under way any more: the process may end, or open the library again. */
static void a_watch_that_is_stopped_has_closed_the_library(void **state) {
    const uint32_t index[] = {0};
    struct err e = {0};
    (void)state;
    void *library = hanging_set_up();
    for (unsigned i = 0, before = shutdowns(); i < 20; i++) {
        struct nvml_watch *w = NULL;
        assert_int_equal(nvml_watch_start(&w, open_fake("devices=1"), index, 1, 1, &e), 0);
        nvml_watch_stop(w);
        assert_int_equal(shutdowns(), before + i + 1);
    }
    dlclose(library);
}

/* From the first look on, or later: its figures are missing, and nobody waits for it without end. */
static void a_watch_that_hangs_is_left_behind(void **state) {
    const uint32_t index[] = {0};
    struct nvml_sample s[1];
    struct nvml_watch *w = NULL;
    struct err e = {0};
    (void)state;
    void *library = hanging_set_up();
    unsigned before = shutdowns();
    assert_int_equal(nvml_watch_start(&w, open_fake("hang:utilisation"), index, 1, 1, &e), 0);
    assert_int_equal(nvml_watch_read(w, s), 0);
    assert_true(isnan(s[0].utilisation) && isnan(s[0].power_w) && isnan(s[0].ecc_errors));
    nvml_watch_stop(w);
    assert_int_equal(shutdowns(), before); /* it still has the library */
    release(1);
    expect_cleaned_up(before);
    dlclose(library);
}

static void a_library_that_hangs_at_its_end_is_left_behind(void **state) {
    (void)state;
    void *library = hanging_set_up();
    unsigned before = shutdowns();
    nvml_close(open_fake("hang:shutdown"));
    assert_int_equal(shutdowns(), before);
    release(1);
    expect_cleaned_up(before);
    dlclose(library);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_are_listed),
        cmocka_unit_test(a_sample_has_its_units),
        cmocka_unit_test(what_a_device_does_not_tell_is_missing),
        cmocka_unit_test(names_may_be_unknown),
        cmocka_unit_test(a_lost_device_does_not_hide_the_others),
        cmocka_unit_test(what_cannot_be_used_says_why),
        cmocka_unit_test(a_device_is_found_by_uuid_or_address),
        cmocka_unit_test(a_watch_goes_on_looking),
        cmocka_unit_test(a_watch_that_is_stopped_has_closed_the_library),
        cmocka_unit_test(an_opening_that_hangs_is_given_up_and_cleaned_up_behind),
        cmocka_unit_test(a_watch_that_hangs_is_left_behind),
        cmocka_unit_test(a_library_that_hangs_at_its_end_is_left_behind),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("nvml", tests, NULL, NULL);
}
