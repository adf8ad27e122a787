/* Energy by counters made of files. */
#include "tests/unit/sysfs_fixture.h"

#include <math.h>

#include "probe/powercap.h"

#define ZONES "sys/class/powercap/"

static void zone(const char *dir, const char *name, const char *energy_uj) {
    char path[128];
    snprintf(path, sizeof path, ZONES "%s/name", dir);
    put(path, name);
    snprintf(path, sizeof path, ZONES "%s/energy_uj", dir);
    put(path, energy_uj);
    snprintf(path, sizeof path, ZONES "%s/max_energy_range_uj", dir);
    put(path, "262143328850\n");
}

/* Two packages and the memory of one: cores are in their package, and the whole system has all of it again.
 */
static void packages_and_memory_are_added_up_through_a_wrap(void **state) {
    struct powercap *p;
    (void)state;
    zone("intel-rapl:0", "package-0\n", "1000000\n");
    zone("intel-rapl:0:0", "core\n", "0\n");
    zone("intel-rapl:0:1", "dram\n", "500000\n");
    zone("intel-rapl:1", "package-1\n", "262143000000\n");
    zone("intel-rapl:2", "psys\n", "0\n");
    zone("intel-rapl-mmio:0", "package-0\n", "0\n");
    assert_int_equal(powercap_open(&p, root, NULL), 0);
    assert_true(powercap_joules(p) == 0);
    zone("intel-rapl:0", "package-0\n", "3000000\n");
    zone("intel-rapl:0:0", "core\n", "900000000\n");
    zone("intel-rapl:0:1", "dram\n", "750000\n");
    zone("intel-rapl:1", "package-1\n",
         "671150\n"); /* from 262,143.0 J on to 262,143.32885 J, then 0.67115 J */
    zone("intel-rapl:2", "psys\n", "900000000\n");
    zone("intel-rapl-mmio:0", "package-0\n", "900000000\n");
    assert_true(fabs(powercap_joules(p) - (2 + 0.25 + 1)) < 1e-9);
    assert_true(fabs(powercap_joules(p) - 3.25) < 1e-9);
    put(ZONES "intel-rapl:1/energy_uj", "nothing\n");
    assert_true(isnan(powercap_joules(p)));
    powercap_close(p);
}

static void a_machine_without_counters_says_so(void **state) {
    struct powercap *p;
    struct err e = {0};
    (void)state;
    assert_int_equal(powercap_open(&p, root, &e), -KVF_ERR_UNAVAILABLE);
    assert_null(p);
    assert_non_null(strstr(e.text, "no RAPL zone is in /sys/class/powercap"));
    zone("intel-rapl:0", "package-0\n", "secret\n");
    e = (struct err){0};
    assert_int_equal(powercap_open(&p, root, &e), -KVF_ERR_UNAVAILABLE);
    assert_non_null(strstr(e.text, "run as root"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(packages_and_memory_are_added_up_through_a_wrap, make_root,
                                        drop_root),
        cmocka_unit_test_setup_teardown(a_machine_without_counters_says_so, make_root, drop_root),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("powercap", tests, NULL, NULL);
}
