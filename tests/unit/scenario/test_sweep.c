/* Sweeps of scenarios: what the loader takes and refuses, which points a plan has. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "scenario/sweep_plan.h"
#include "tests/unit/scenario_file.h"

static struct scenario scenario;

static void load_good(const char *sweep) {
    char text[2000];
    (void)snprintf(text, sizeof text, GOOD "sweep: %s\n", sweep);
    char *errors = load(text, strlen(text), NULL, 0, &scenario, NULL);
    assert_string_equal(errors, "");
    free(errors);
}

/* Errors without their places. */
static void refuse(const char *sweep, const char *wanted) {
    char text[2000];
    struct scenario s;
    (void)snprintf(text, sizeof text, GOOD "sweep: %s\n", sweep);
    char *errors = load(text, strlen(text), NULL, 0, &s, NULL);
    if (!strstr(errors, wanted)) fail_msg("%s\n%s", sweep, errors);
    free(errors);
}

static void expect_points(const char *const *wanted, size_t count) {
    struct sweep_plan plan;
    sweep_plan_open(&plan, &scenario);
    assert_int_equal(plan.points, count);
    for (size_t i = 0; i < count; i++) {
        struct scenario_setting setting[SWEEP_AXES_MAX];
        struct buf label = {0};
        sweep_plan_point(&plan, i, setting);
        sweep_point_label(setting, plan.axes, &label);
        assert_string_equal(buf_text(&label), wanted[i]);
        buf_free(&label);
    }
    sweep_plan_free(&plan);
}

static void cartesian_varies_the_last_key_first(void **state) {
    (void)state;
    load_good("{keys: {tiers.cpu.capacity: [1GiB, 2GiB], cache.eviction: [lru, fifo], workload.users: [5]}}");
    assert_true(scenario.sweep.on);
    expect_points((const char *const[]){"tiers.cpu.capacity=1GiB cache.eviction=lru workload.users=5",
                                        "tiers.cpu.capacity=1GiB cache.eviction=fifo workload.users=5",
                                        "tiers.cpu.capacity=2GiB cache.eviction=lru workload.users=5",
                                        "tiers.cpu.capacity=2GiB cache.eviction=fifo workload.users=5"},
                  4);
}

static void zip_goes_through_all_at_once(void **state) {
    (void)state;
    load_good("{combine: zip, keys: {workload.users: [1, 2, 3], seed: {from: 10, to: 30, points: 3}}}");
    expect_points((const char *const[]){"workload.users=1 seed=10", "workload.users=2 seed=20",
                                        "workload.users=3 seed=30"},
                  3);
}

static void variants_set_what_they_name(void **state) {
    (void)state;
    struct scenario_setting point[SWEEP_AXES_MAX], set[SWEEP_SETTINGS_MAX];
    struct sweep_plan plan;
    struct buf label = {0};
    unsigned group;
    size_t variant;
    load_good(
        "{variants: {model: {small: {model: tiny-1b}, big: {model: llama3.1-8b, tiers.cpu: {capacity: 2GiB}}}, "
        "how: {plain: {}}}, keys: {seed: [1, 2]}, baseline: model=small}");
    assert_true(scenario.sweep.on);
    expect_points((const char *const[]){"model=small how=plain seed=1", "model=small how=plain seed=2",
                                        "model=big how=plain seed=1", "model=big how=plain seed=2"},
                  4);
    sweep_plan_open(&plan, &scenario);
    assert_int_equal(plan.groups, 2);
    sweep_plan_point(&plan, 3, point);
    unsigned count = sweep_plan_expand(&plan, point, plan.axes, set);
    sweep_point_label(set, count, &label);
    assert_string_equal(buf_text(&label), "model=llama3.1-8b tiers.cpu={\"capacity\": \"2GiB\"} seed=2");
    assert_true(sweep_plan_variant(&plan, "model=small", &group, &variant));
    assert_int_equal(sweep_plan_with(&plan, 3, group, variant), 1);
    assert_int_equal(sweep_plan_with(&plan, 1, group, 1), 3);
    assert_false(sweep_plan_variant(&plan, "model=smal", &group, &variant));
    assert_false(sweep_plan_variant(&plan, "mode=small", &group, &variant));
    sweep_plan_free(&plan);
    buf_free(&label);
}

static void rates_take_variants_alone(void **state) {
    (void)state;
    struct sweep_plan plan;
    load_good("{profile: rates, variants: {how: {a: {seed: 1}, b: {seed: 2}, c: {}}}, baseline: how=c}");
    sweep_plan_open(&plan, &scenario);
    assert_int_equal(plan.points, 3);
    assert_int_equal(plan.axes, 1);
    sweep_plan_free(&plan);
}

static void ranges_have_values_such_as_people_write(void **state) {
    (void)state;
    load_good("{keys: {tiers.cpu.capacity: {from: 1GiB, to: 1TiB, points: 11, scale: log}}}");
    expect_points((const char *const[]){"tiers.cpu.capacity=1GiB", "tiers.cpu.capacity=2GiB",
                                        "tiers.cpu.capacity=4GiB", "tiers.cpu.capacity=8GiB",
                                        "tiers.cpu.capacity=16GiB", "tiers.cpu.capacity=32GiB",
                                        "tiers.cpu.capacity=64GiB", "tiers.cpu.capacity=128GiB",
                                        "tiers.cpu.capacity=256GiB", "tiers.cpu.capacity=512GiB",
                                        "tiers.cpu.capacity=1TiB"},
                  11);
    /* 100 ^ (1/6) = 2.154: 2.15, 4.64, 10, 21.5, 46.4 */
    load_good("{keys: {tiers.cpu.capacity: {from: 1GiB, to: 100GiB, points: 7, scale: log}}}");
    expect_points((const char *const[]){"tiers.cpu.capacity=1GiB", "tiers.cpu.capacity=2GiB",
                                        "tiers.cpu.capacity=5GiB", "tiers.cpu.capacity=10GiB",
                                        "tiers.cpu.capacity=22GiB", "tiers.cpu.capacity=46GiB",
                                        "tiers.cpu.capacity=100GiB"},
                  7);
    load_good("{keys: {engine.room_wait: {from: 1s, to: 2s, points: 3}}}");
    expect_points(
        (const char *const[]){"engine.room_wait=1s", "engine.room_wait=1500ms", "engine.room_wait=2s"}, 3);
    load_good("{keys: {cache.headroom: {from: 0, to: 0.5, points: 3}}}");
    expect_points((const char *const[]){"cache.headroom=0", "cache.headroom=0.25", "cache.headroom=0.5"}, 3);
}

static void a_point_is_the_scenario_with_its_settings(void **state) {
    (void)state;
    struct scenario_setting setting[SWEEP_AXES_MAX + 1];
    struct scenario_report report;
    struct scenario point;
    struct sweep_plan plan;
    struct buf json = {0};
    load_good(
        "{keys: {workload.personas: [[{name: a}], [{name: \"b \\\"x\\\"\", share: 2}]], seed: [1, 2]}}");
    sweep_plan_open(&plan, &scenario);
    assert_int_equal(plan.points, 4);
    sweep_plan_point(&plan, 3, setting);
    sweep_point_json(setting, plan.axes, &json);
    assert_string_equal(buf_text(&json),
                        "{\"workload.personas\": [{\"name\": \"b \\\"x\\\"\", \"share\": 2}], "
                        "\"seed\": 2}");
    setting[plan.axes] = (struct scenario_setting){.key = "sweep", .value = "null", .origin = "sweep"};
    assert_int_equal(scenario_load(file, NULL, setting, plan.axes + 1, &point, NULL, &report), 0);
    assert_string_equal(point.workload.persona[0].name, "b \"x\"");
    assert_int_equal(point.seed, 2);
    assert_false(point.sweep.on);
    assert_string_equal(point.sweep.keys, "{}");
    scenario_load_free(&report);
    sweep_plan_free(&plan);
    buf_free(&json);
}

static void what_is_emitted_loads_back(void **state) {
    (void)state;
    static const char *const sweeps[] = {
        "{keys: {workload.users: [1, 2], cache.eviction: [lru]}, baseline: 2, metrics: \"hit_ratio, misses\"}",
        "{profile: rates, points: 5}",
        "{variants: {a: {\"x y\": {seed: 3}, z: {}}}, keys: {workload.users: [1]}, baseline: a=x y}",
        ("{profile: capacity, find: tiers.cpu.capacity, between: [1GiB, 2TiB], target: {metric: hit_ratio, "
         "op: \">\", value: 0.5}, precision: 0.01}"),
        "null",
    };
    for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps; i++) {
        struct scenario again;
        struct buf yaml = {0};
        load_good(sweeps[i]);
        scenario_emit_yaml(&scenario, &yaml);
        char *errors = load(buf_text(&yaml), yaml.len, NULL, 0, &again, NULL);
        assert_string_equal(errors, "");
        assert_memory_equal(&again.sweep, &scenario.sweep, sizeof again.sweep);
        free(errors);
        buf_free(&yaml);
    }
}

static void the_count_of_points_does_not_wrap(void **state) {
    (void)state;
    struct sweep_plan plan;
    load_good(
        "{keys: {seed: {from: 1, to: 100000, points: 100000}, workload.users: {from: 1, to: 100000, points: "
        "100000}}}");
    sweep_plan_open(&plan, &scenario);
    assert_true(plan.points == UINT64_C(10000000000));
    sweep_plan_free(&plan);
}

static void what_makes_no_sense_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *sweep, *error;
    } bad[] = {
        {"{keys: {workload.usres: [1]}}", "workload.usres: unknown key; the nearest is workload.users"},
        {"{keys: {workload.users: [1, ten]}}", "3:36: workload.users: must be an integer, not \"ten\""},
        {"{keys: {workload.users: 5}}", "must be a list of values or a range"},
        {"{keys: {workload.users: []}}", "must be a list of values or a range"},
        {"{keys: {workload.users: [0]}}", "workload.users: \"0\" is out of range"},
        {"{keys: {cache.eviction: {from: lru, to: fifo, points: 2}}}", "a range is for numbers"},
        {"{keys: {workload.users: {from: 1, to: 20000000, points: 3}}}", "is out of range"},
        {"{keys: {workload.users: {from: 1, to: 3, points: 9}}}", "9 points do not fit between from and to"},
        {"{keys: {workload.users: {from: 1, to: 3, points: 2, scale: cubic}}}", "must be linear or log"},
        {"{keys: {workload.users: {form: 1, to: 3, points: 2}}}", "unknown key; a range has from, to"},
        {"{keys: {cache.headroom: {from: 0, to: 0.5, points: 3, scale: log}}}", "needs ends above 0"},
        {"{keys: {mode: [real]}}", "mode cannot vary inside a sweep"},
        {"{keys: {sweep.points: [2]}}", "sweep.points cannot vary inside a sweep"},
        {"{keys: {seed: [1, 2], workload.users: [1]}, combine: zip}",
         "seed has 2 values and workload.users has 1"},
        {"{keys: {seed: [1, 2]}, baseline: 3}", "\"3\" is no point; there are 1 to 2"},
        {"{variants: {a: {b: {workload.usres: 1}}}}", "workload.usres: unknown key"},
        {"{variants: {a: {b: {seed: ten}}}}", "seed: must be an integer"},
        {"{variants: {a: {b: {mode: real}}}}", "mode cannot vary inside a sweep"},
        {"{variants: {a: {b: 5}}}", "sweep.variants.a.b: must be a mapping of up to"},
        {"{variants: {a: {}}}", "sweep.variants.a: must be a mapping"},
        {"{variants: {a: {b=c: {}}}}", "without = and quotes"},
        {"{variants: {seed: {b: {}}}, keys: {seed: [1]}}", "seed is one of sweep.keys too"},
        {"{variants: {a: {b: {}}}, baseline: a=c}", "\"a=c\" is no variant"},
        {"{variants: {a: {b: {}}}, keys: {seed: [1]}, baseline: a=b, combine: zip}", "combine: cartesian"},
        {"{variants: {a: {b: {}}, c: {b: {}}, d: {b: {}}, e: {b: {}}, f: {b: {}}}, keys: {seed: [1], workload.users: "
         "[1], cache.headroom: [0], engine.slots: [9]}}",
         "9 groups and keys; a sweep varies up to 8"},
        {"{profile: keys}", "profile keys needs keys with their values"},
        {"{profile: capacity, between: [1, 2]}", "needs the key that it seeks"},
        {"{profile: capacity, find: tiers.cpu.capasity}", "the nearest is tiers.cpu.capacity"},
        {"{profile: capacity, find: cache.eviction}", "cache.eviction has no values to search"},
        {"{profile: capacity, find: tiers.cpu.capacity}", "sweep.between: must be two values"},
        {"{profile: capacity, find: tiers.cpu.capacity, between: [2GiB, 1GiB]}", "ends before it begins"},
        {"{profile: capacity, find: workload.users, between: [1, 9]}", "needs a target"},
        {"{pionts: 5}", "sweep.pionts: unknown key; the nearest is sweep.points"},
        {"{profile: miss_ratio, policies: [lru, lro]}", "\"lro\" is none of"},
        {"{profile: miss_ratio, capacities: [1KiB]}", "a capacity is out of range"},
        {"{profile: miss_ratio, tier: nvme}", "the nvme tier is off"},
        {"[1]", "sweep: must be a mapping"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) refuse(bad[i].sweep, bad[i].error);
}

static void all_errors_come_in_one_go(void **state) {
    (void)state;
    refuse("{keys: {workload.usres: [1], workload.users: [x, 1, y]}, combine: both}",
           "3:16: workload.usres: unknown key; the nearest is workload.users\n"
           "3:54: workload.users: must be an integer, not \"x\"\n"
           "3:60: workload.users: must be an integer, not \"y\"\n"
           "3:74: sweep.combine: \"both\" is none of cartesian | zip\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cartesian_varies_the_last_key_first),
        cmocka_unit_test(zip_goes_through_all_at_once),
        cmocka_unit_test(variants_set_what_they_name),
        cmocka_unit_test(rates_take_variants_alone),
        cmocka_unit_test(ranges_have_values_such_as_people_write),
        cmocka_unit_test(a_point_is_the_scenario_with_its_settings),
        cmocka_unit_test(what_is_emitted_loads_back),
        cmocka_unit_test(the_count_of_points_does_not_wrap),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(all_errors_come_in_one_go),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("sweep", tests, set_up, tear_down);
}
