/* Health of a drive that is played, and of devices that tell none. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/health.h"

static char library[4096];

static struct health_drive *drive_that(const char *says) {
    struct blockdev device = {.present = true, .disk = "null"};
    struct health_drive *h = NULL;
    struct err e = {0};
    setenv("FAKE_NVME", says, 1);
    if (health_open(&h, &device, library, &e) != 0) fail_msg("%s", e.text);
    return h;
}

static void what_a_drive_tells_is_read(void **state) {
    struct health a, b;
    (void)state;
    struct health_drive *h = drive_that("temperature=71,used=112,spare=9,warnings=6,ocp");
    assert_true(health_read(h, &a) && health_read(h, &b));
    assert_true(a.temperature_c == 71 && a.used_ratio == 1.12 && a.spare_ratio == 0.09 && a.warnings == 6);
    assert_true(b.host_written_bytes - a.host_written_bytes == 512e6);
    assert_true(b.media_written_bytes - a.media_written_bytes == 768e6);
    assert_string_equal(health_warning(1), "its temperature is outside its limits");
    assert_null(health_warning(6));
    health_close(h);
}

static void a_drive_without_the_log_of_its_flash_leaves_it_out(void **state) {
    struct health a;
    (void)state;
    struct health_drive *h = drive_that("");
    assert_true(health_read(h, &a));
    assert_true(isnan(a.media_written_bytes) && a.host_written_bytes > 0);
    setenv("FAKE_NVME", "status=6", 1); /* and then it fails */
    a.temperature_c = 12;
    assert_false(health_read(h, &a));
    assert_true(a.temperature_c == 12);
    health_close(h);
}

static void refused(const char *disk, const char *lib, const char *says, const char *why) {
    struct blockdev device = {.present = true};
    struct health_drive *h;
    struct err e = {0};
    snprintf(device.disk, sizeof device.disk, "%s", disk);
    setenv("FAKE_NVME", says, 1);
    assert_int_equal(health_open(&h, &device, lib, &e), -KVF_ERR_UNAVAILABLE);
    assert_null(h);
    if (!strstr(e.text, why)) fail_msg("\"%s\" does not say \"%s\"", e.text, why);
}

static void each_reason_is_a_sentence(void **state) {
    (void)state;
    refused("null", "/nowhere/libnvme.so.1", "", "cannot be loaded: /nowhere/libnvme.so.1");
    refused("null", library, "errno=25", "null is not an NVMe drive: its health is unknown");
    refused("null", library, "status=2", "null does not report its health: status 0x2 of the drive");
    refused("null", library, "errno=13", "run as root");
    refused("nvme77n1", library, "", "nvme77n1 cannot be asked for its health");
    refused("vdzz", "/nowhere/libnvme.so.1", "", "vdzz is a virtual disk and hides the health");
}

int main(void) {
    const char *build = getenv("KVFALL_BUILD");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_drive_tells_is_read),
        cmocka_unit_test(a_drive_without_the_log_of_its_flash_leaves_it_out),
        cmocka_unit_test(each_reason_is_a_sentence),
    };
    snprintf(library, sizeof library, "%s/tests/unit/fake/libnvme.so.1", build ? build : ".");
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("health", tests, NULL, NULL);
}
