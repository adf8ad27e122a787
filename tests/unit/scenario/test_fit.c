#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/units.h"
#include "scenario/fit.h"
#include "scenario/load.h"

#define MIB KVF_MIB
#define GIB KVF_GIB

static struct scenario *make(const char *yaml) {
    struct scenario *s = malloc(sizeof *s);
    struct scenario_report report;
    assert_non_null(s);
    int rc = scenario_load(NULL, yaml, NULL, 0, s, NULL, &report);
    if (rc) print_message("%s", buf_text(&report.errors));
    scenario_load_free(&report);
    assert_int_equal(rc, 0);
    return s;
}

static struct budget_machine machine(uint64_t memory, uint64_t disk) {
    struct budget_machine m = {.memory_available_bytes = memory, .cpus = 8};
    for (int i = 0; i < SCENARIO_PATHS_MAX; i++) m.disk_free_bytes[i] = disk;
    return m;
}

static bool says(const struct fit *f, const char *text) {
    for (unsigned i = 0; i < f->lines; i++)
        if (strstr(f->line[i].text, text)) return true;
    for (unsigned i = 0; i < f->lines; i++) print_message("%s\n", f->line[i].text);
    return false;
}

static void what_fits_stays(void **state) {
    struct scenario *s = make("{model: llama3.1-8b, workload: {users: 100}, tiers: "
                              "{cpu: {capacity: 32GiB}, nvme: {capacity: 100GiB}}}");
    struct scenario *before = malloc(sizeof *before);
    /* 0.8 x 32 GiB are half of 51.2 GiB; 9/10 of 112 GiB are 100.8 GiB */
    struct budget_machine m = machine(52 * GIB, 112 * GIB);
    struct fit f;
    (void)state;

    assert_non_null(before);
    *before = *s;
    fit_apply(&f, s, &m);
    assert_int_equal(f.lines, 0);
    assert_memory_equal(s, before, sizeof *s);
    free(before);
    free(s);
}

static void memory_scales_all_tiers_alike(void **state) {
    struct scenario *s = make("{model: llama3.1-8b, workload: {users: 100}, tiers: {gpu: {capacity: 16GiB}, "
                              "cpu: {capacity: 32GiB}, nvme: {capacity: 100GiB}}}");
    struct budget_machine m = machine(24 * GIB, 1024 * GIB);
    struct fit f;
    (void)state;

    fit_apply(&f, s, &m);
    /* Half of 24 GiB holds the usable 0.8 of 15 GiB: a factor of 15/32. Of nvme that is 46.875 GiB. */
    assert_int_equal(s->tier[KVF_TIER_CPU].capacity_bytes, 15 * GIB);
    assert_int_equal(s->tier[KVF_TIER_GPU].capacity_bytes, 7 * GIB + 512 * MIB);
    assert_int_equal(s->tier[KVF_TIER_NVME].capacity_bytes, 46 * GIB + 512 * MIB);
    /* (6 + 12 + 46.5) / (12.8 + 25.6 + 100) of 100 users */
    assert_int_equal(s->workload.users, 46);
    assert_int_equal(f.lines, 5);
    assert_true(says(&f, "the gpu tier is emulated"));
    assert_true(says(&f, "tiers.cpu.capacity 32.0 GiB -> 15.0 GiB: 24.0 GiB of memory are available"));
    assert_true(says(&f, "tiers.gpu.capacity 16.0 GiB -> 7.50 GiB: in proportion"));
    assert_true(says(&f, "tiers.nvme.capacity 100 GiB -> 46.5 GiB: in proportion"));
    assert_true(says(&f, "workload.users 100 -> 46"));
    free(s);
}

static void a_small_disk_scales_all_tiers_alike(void **state) {
    struct scenario *s = make("{model: llama3.1-8b, workload: {users: 9}, tiers: "
                              "{cpu: {capacity: 4GiB}, nvme: {capacity: 36GiB, path: /mnt}}}");
    struct budget_machine m = machine(64 * GIB, 20 * GIB);
    struct fit f;
    (void)state;

    fit_apply(&f, s, &m);
    /* 90 % of 20 GiB are 18 GiB, half of 36 */
    assert_in_range(s->tier[KVF_TIER_NVME].capacity_bytes, 17 * GIB + 512 * MIB, 18 * GIB);
    assert_in_range(s->tier[KVF_TIER_CPU].capacity_bytes, 2 * GIB - 128 * MIB, 2 * GIB);
    assert_int_equal(s->workload.users, 4);
    assert_true(says(&f, "tiers.nvme.capacity 36.0 GiB -> "));
    assert_true(says(&f, "too little of /mnt"));
    assert_true(says(&f, "tiers.cpu.capacity 4.00 GiB -> "));
    assert_true(says(&f, "in proportion"));
    free(s);
}

/* The rest of a disk carries so many conversations: 5 turns, each half of 1,000 to 3,000 tokens times
 * 0.625 on average, that is 6,250 tokens of 128 KiB. */
static void auto_nvme_bounds_the_users(void **state) {
    const char *yaml = "{model: llama3.1-8b, tiers: {nvme: {capacity: auto}}, workload: {users: 200, "
                       "conversation: {end_probability: 0.2, max_turns: 50}, "
                       "personas: [{name: a, context: [1000, 3000], spread: 0.25}]}}";
    struct scenario *s = make(yaml);
    struct budget_machine m = machine(16 * GIB, 100 * GIB);
    struct fit f;
    (void)state;

    /* 1,250 tokens x (1 - 0.8^50) / 0.2 */
    assert_in_range(fit_user_bytes(s), 6249 * UINT64_C(131072), 6250 * UINT64_C(131072));
    fit_apply(&f, s, &m);
    assert_true(s->tier[KVF_TIER_NVME].capacity_bytes == KVF_AUTO);
    /* 90 GiB / 781.25 MiB */
    assert_int_equal(s->workload.users, 117);
    assert_int_equal(f.lines, 1);
    assert_true(
        says(&f, "workload.users 200 -> 117: about 781 MiB of conversations each, in tiers of 90.0 GiB"));
    free(s);

    s = make(yaml); /* 900 GiB carry them */
    m = machine(16 * GIB, 1000 * GIB);
    fit_apply(&f, s, &m);
    assert_int_equal(s->workload.users, 200);
    assert_int_equal(f.lines, 0);
    free(s);
}

static void decode_keeps_its_entries(void **state) {
    struct scenario *s =
        make("{model: llama3.1-8b, tiers: {nvme: {capacity: auto}}, workload: {phase: decode, "
             "decode: {entries: 8}, personas: [{name: a, context: [64, 64], spread: 1}]}}");
    (void)state;
    assert_int_equal(fit_user_bytes(s), 8 * 64 * UINT64_C(131072));
    free(s);
}

/* 320 KiB a token: 8,000 tokens are 2.44 GiB. The cpu tier held two of them; the factor alone would
 * leave it 0.8 x 2.5 GiB. */
static void large_entries_go_on_to_fit(void **state) {
    const char *yaml =
        "{model: llama3.1-70b-instruct, tiers: {cpu: {capacity: 10GiB}, nvme: {capacity: 400GiB}}, "
        "workload: {personas: [{name: a, context: [2048, 8000]}]}}";
    struct scenario *s = make(yaml);
    struct budget_machine m = machine(64 * GIB, 1000 * GIB / 9);
    struct fit f;
    (void)state;

    fit_apply(&f, s, &m); /* 100 of 400 GiB */
    assert_in_range(s->tier[KVF_TIER_NVME].capacity_bytes, 99 * GIB, 100 * GIB);
    assert_in_range(s->tier[KVF_TIER_CPU].capacity_bytes, (uint64_t)(2 * 2.44 / 0.8 * 1024) * MIB,
                    (uint64_t)(2 * 2.45 / 0.8 * 1024) * MIB);
    free(s);

    /* 4 GiB of memory hold none of them any more, and that is said. */
    s = make(yaml);
    m = machine(4 * GIB, 1000 * GIB);
    fit_apply(&f, s, &m);
    assert_int_equal(s->tier[KVF_TIER_CPU].capacity_bytes, 2 * GIB + 512 * MIB);
    assert_true(says(&f, "entries of more than 2.00 GiB do not fit into the cpu tier any more"));
    assert_true(says(&f, "the largest has 2.44 GiB"));
    free(s);
}

static void entries_that_fit_nowhere_are_named(void **state) {
    struct scenario *s = make("{model: llama3.1-70b-instruct, tiers: {nvme: {capacity: 8GiB}}, "
                              "workload: {personas: [{name: a, context: [2048, 8000]}]}}");
    struct budget_machine m = machine(16 * GIB, 4 * GIB);
    struct fit f;
    (void)state;

    fit_apply(&f, s, &m); /* 2 GiB are left */
    assert_int_equal(s->tier[KVF_TIER_NVME].capacity_bytes, 2 * GIB);
    assert_true(says(&f, "entries of more than 2.00 GiB fit into no tier and are refused"));
    free(s);
}

static void documents_and_volume_follow(void **state) {
    struct scenario *s = make("{model: llama3.1-8b, tiers: {nvme: {capacity: 200GiB}}, "
                              "run: {precondition: 400GiB}, workload: {rag: {documents: 10}}}");
    struct budget_machine m = machine(16 * GIB, 1000 * GIB / 9);
    struct fit f;
    (void)state;

    fit_apply(&f, s, &m); /* 99.5 of 200 GiB: 1000 / 9 is no whole number of bytes */
    assert_int_equal(s->workload.rag.documents, 4);
    assert_int_equal(s->run.precondition_bytes, 199 * GIB);
    assert_true(says(&f, "workload.rag.documents 10 -> 4"));
    assert_true(says(&f, "run.precondition 400 GiB -> 199 GiB"));
    free(s);

    /* Of 16 GiB a quarter holds four documents of 8,000 tokens, 0.98 GiB each; twice 16 GiB are written. */
    s = make("{model: llama3.1-8b, tiers: {nvme: {capacity: auto}}, "
             "run: {precondition: 400GiB}, workload: {users: 1, rag: {documents: auto}}}");
    m = machine(16 * GIB, 18 * GIB);
    fit_apply(&f, s, &m);
    assert_int_equal(s->workload.rag.documents, 4);
    assert_in_range(s->run.precondition_bytes, 32 * GIB - 2 * MIB, 32 * GIB);
    free(s);

    s = make("{model: llama3.1-8b, tiers: {nvme: {capacity: 200GiB}}, run: {precondition: auto}}");
    fit_apply(&f, s, &m);
    assert_true(s->run.precondition_bytes == KVF_AUTO); /* follows by itself */
    free(s);
}

static void a_trace_is_not_scaled_and_that_is_said(void **state) {
    struct scenario *s = make("{model: llama3.1-8b, tiers: {cpu: {capacity: 32GiB}}, "
                              "workload: {source: azure, path: x}}");
    struct budget_machine m = machine(8 * GIB, 0);
    struct fit f;
    (void)state;

    fit_apply(&f, s, &m);
    assert_int_equal(s->tier[KVF_TIER_CPU].capacity_bytes, 5 * GIB);
    assert_int_equal(s->workload.users, 50);
    assert_true(says(&f, "requests come from a file"));
    free(s);
}

static void the_autoscaler_starts_no_higher(void **state) {
    struct scenario *s = make("{model: llama3.1-8b, workload: {users: 40}, tiers: {cpu: {capacity: 40GiB}}, "
                              "autoscaler: {mode: qos, min_users: 20}}");
    struct budget_machine m = machine(8 * GIB, 0);
    struct fit f;
    (void)state;

    fit_apply(&f, s, &m); /* 5 of 40 GiB */
    assert_int_equal(s->workload.users, 5);
    assert_int_equal(s->autoscaler.min_users, 5);
    assert_true(says(&f, "autoscaler.min_users 20 -> 5"));
    free(s);
}

static void scarce_memory_takes_from_the_buffers(void **state) {
    /* 8 workers x 32 x 1 MiB = 256 MiB beside 64 MiB of noise and some 50 MiB: more than 90 % of 400 MiB */
    struct scenario *s = make("{model: llama3.1-8b, tiers: {nvme: {capacity: 1GiB}}}");
    struct budget_machine m = machine(400 * MIB, 100 * GIB);
    struct budget b;
    struct fit f;
    (void)state;

    fit_apply(&f, s, &m);
    assert_int_equal(s->engine.staging_bytes, 8 * 4 * MIB);
    assert_int_equal(s->tier[KVF_TIER_NVME].capacity_bytes, GIB);
    assert_true(says(&f, "engine.staging 256 MiB -> 32.0 MiB"));
    assert_int_equal(budget_resolve(s, &m, false, &b, NULL), 0);
    free(s);
}

static void what_cannot_fit_is_left_to_be_refused(void **state) {
    struct scenario *s = make("{model: llama3.1-8b, tiers: {nvme: {capacity: 16GiB}}}");
    struct budget_machine m = machine(16 * GIB, 2 * GIB + 100 * MIB);
    struct budget b;
    struct err e = {0};
    struct fit f;
    (void)state;

    fit_apply(&f, s, &m);
    assert_int_equal(s->tier[KVF_TIER_NVME].capacity_bytes, 16 * GIB);
    assert_int_equal(budget_resolve(s, &m, false, &b, &e), -KVF_ERR_NOSPACE);
    free(s);
}

/* Whatever the machine: accepted by the budget, nothing grown, and nothing left to change. */
static void every_result_is_accepted_and_final(void **state) {
    static const char *const scenarios[] = {
        "{model: llama3.1-8b, tiers: {gpu: {capacity: 16GiB}, cpu: {capacity: 32GiB}, nvme: {capacity: auto}}, "
        "workload: {users: 100, rag: {documents: 10}}}",
        "{model: llama3.1-70b-instruct, tiers: {gpu: {capacity: 16GiB}, cpu: {capacity: 64GiB}, "
        "nvme: {capacity: 2TiB}}, run: {precondition: 1TiB}, workload: {personas: [{name: a, context: [4096, 25000]}]}}",
        "{model: deepseek-v3, cache: {headroom: 0}, tiers: {cpu: {capacity: 700GiB, huge_pages: true}}}",
        "{model: {preset: tiny-1b, layers: 1}, tiers: {cpu: {capacity: 9GiB}, nvme: {capacity: 900GiB}}, "
        "cache: {granularity: block, headroom: 0.5}}",
    };
    static const uint64_t sizes[] = {2 * GIB, 3 * GIB, 7 * GIB, 23 * GIB, 120 * GIB, 2048 * GIB};
    enum { SIZES = sizeof sizes / sizeof sizes[0] };
    (void)state;

    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++)
        for (size_t c = 0; c < SIZES * SIZES; c++) {
            struct scenario *s = make(scenarios[i]), *once = malloc(sizeof *once);
            struct budget_machine m = machine(sizes[c / SIZES], sizes[c % SIZES] + GIB);
            struct budget b;
            struct err e = {0};
            struct fit f;
            assert_non_null(once);
            *once = *s;
            fit_apply(&f, s, &m);
            for (int t = 0; t < KVF_TIERS; t++)
                assert_true(scenario_capacity_bytes(s, (enum kvf_tier)t) <=
                            scenario_capacity_bytes(once, (enum kvf_tier)t));
            assert_true(s->workload.users <= once->workload.users && s->workload.users >= 1);
            assert_true(s->run.precondition_bytes <= once->run.precondition_bytes);
            *once = *s;
            fit_apply(&f, s, &m);
            assert_memory_equal(s, once, sizeof *s);
            int rc = budget_resolve(s, &m, false, &b, &e);
            if (rc) print_message("scenario %zu, machine %zu: %s\n", i, c, e.text);
            assert_int_equal(rc, 0);
            free(once);
            free(s);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fits_stays),
        cmocka_unit_test(memory_scales_all_tiers_alike),
        cmocka_unit_test(a_small_disk_scales_all_tiers_alike),
        cmocka_unit_test(auto_nvme_bounds_the_users),
        cmocka_unit_test(decode_keeps_its_entries),
        cmocka_unit_test(large_entries_go_on_to_fit),
        cmocka_unit_test(entries_that_fit_nowhere_are_named),
        cmocka_unit_test(documents_and_volume_follow),
        cmocka_unit_test(a_trace_is_not_scaled_and_that_is_said),
        cmocka_unit_test(the_autoscaler_starts_no_higher),
        cmocka_unit_test(scarce_memory_takes_from_the_buffers),
        cmocka_unit_test(what_cannot_fit_is_left_to_be_refused),
        cmocka_unit_test(every_result_is_accepted_and_final),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("fit", tests, NULL, NULL);
}
