/* Energy by counters made of files: of processors, and in the results of a run. */
#include "tests/unit/sysfs_fixture.h"

#include <math.h>

#include "engine/core.h"
#include "engine/sampling/sampler.h"
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

static struct engine engine;
static struct engine_setup setup;
static struct scenario scenario;
static struct sampler sampler;
static struct snapshot snap;

/* A run on processors and two GPUs: after the first look 3 J more of a package and 1 J more of its memory. */
static struct vitals *played_run(void) {
    struct vitals *v = &sampler.vitals;
    memset(&engine, 0, sizeof engine);
    memset(&setup, 0, sizeof setup);
    memset(&scenario, 0, sizeof scenario);
    memset(&sampler, 0, sizeof sampler);
    memset(&snap, 0, sizeof snap);
    engine.setup = &setup;
    engine.s = &scenario;
    engine.control.sampler = &sampler;
    zone("intel-rapl:0", "package-0\n", "1000000\n");
    zone("intel-rapl:0:1", "dram\n", "0\n");
    assert_int_equal(powercap_open(&v->processors, root, NULL), 0);
    vitals_measure_from_here(&engine, v);
    zone("intel-rapl:0", "package-0\n", "4000000\n");
    zone("intel-rapl:0:1", "dram\n", "1000000\n");
    return v;
}

/* 4 J of processors and memory, and 300 W of the GPUs for as long as the processors' watts tell. */
static void an_interval_has_the_energy_of_processors_and_gpus(void **state) {
    struct vitals *v = played_run();
    (void)state;
    snap.gpus = 2;
    snap.gpu[0].power_w = 100;
    snap.gpu[1].power_w = 200;
    vitals_snap(&engine, v, &snap);
    double s = 4 / snap.interval.cpu_power_w;
    assert_true(s > 0 && fabs(snap.interval.energy_used_j / (4 + 300 * s) - 1) < 1e-9);
    snap.peek = true; /* has the figures of the interval before */
    double before = snap.interval.energy_used_j;
    vitals_snap(&engine, v, &snap);
    assert_true(snap.interval.energy_used_j == before);
    snap.peek = false;
    snap.gpu[1].power_w = (double)NAN; /* one does not tell, so the sum is not known */
    vitals_snap(&engine, v, &snap);
    assert_true(snap.interval.cpu_power_w == 0 && isnan(snap.interval.energy_used_j));
    vitals_close(v);
}

/* 4 J in 2 s are 2 W; two GPUs of 200 and 100 W; a measured part of 10 s and 640 tokens. */
static void a_run_has_joules_per_token_of_processors_and_gpus(void **state) {
    struct vitals *v = played_run();
    struct gpus *g = &sampler.gpus;
    struct result_list out = {0};
    (void)state;
    vitals_measure_to_here(&engine, v);
    v->to.at_ns = v->from.at_ns + 2 * KVF_NS_PER_S;
    g->count = 2;
    g->from[0] = (struct nvml_sample){.energy_j = 5000, .at_ns = KVF_NS_PER_S};
    g->to[0] = (struct nvml_sample){.energy_j = 5600, .at_ns = 4 * KVF_NS_PER_S};
    g->from[1] = (struct nvml_sample){.energy_j = 0, .at_ns = 2 * KVF_NS_PER_S};
    g->to[1] = (struct nvml_sample){.energy_j = 100, .at_ns = 3 * KVF_NS_PER_S};
    assert_true(gpus_power_w(g) == 300);
    vitals_results(&engine, 10, 640, gpus_power_w(g) * 10, &out);
    assert_true(fabs(result_value(&out, "cpu_power_mean_w") - 2) < 1e-9);
    assert_true(fabs(result_value(&out, "cpu_energy_j") - 20) < 1e-9);
    assert_true(fabs(result_value(&out, "energy_j") - 3020) < 1e-6);
    assert_true(fabs(result_value(&out, "energy_per_token_j") - 3020.0 / 640) < 1e-9);
    free(out.items);
    out = (struct result_list){0};
    g->to[1].at_ns = 0; /* a GPU that was not seen at the end */
    assert_true(isnan(gpus_power_w(g)));
    vitals_results(&engine, 10, 640, gpus_power_w(g) * 10, &out);
    assert_true(fabs(result_value(&out, "cpu_energy_j") - 20) < 1e-9);
    assert_true(isnan(result_value(&out, "energy_j")));
    assert_true(isnan(result_value(&out, "energy_per_token_j")));
    free(out.items);
    vitals_close(v);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(packages_and_memory_are_added_up_through_a_wrap, make_root,
                                        drop_root),
        cmocka_unit_test_setup_teardown(a_machine_without_counters_says_so, make_root, drop_root),
        cmocka_unit_test_setup_teardown(an_interval_has_the_energy_of_processors_and_gpus, make_root,
                                        drop_root),
        cmocka_unit_test_setup_teardown(a_run_has_joules_per_token_of_processors_and_gpus, make_root,
                                        drop_root),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("powercap", tests, NULL, NULL);
}
