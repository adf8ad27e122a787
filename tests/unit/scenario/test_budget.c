#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/units.h"
#include "scenario/budget.h"
#include "scenario/load.h"

/* A scenario from YAML, which is right. */
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

static struct budget_machine machine(uint64_t memory, uint32_t cpus, uint64_t disk) {
    struct budget_machine m = {.memory_available_bytes = memory, .cpus = cpus};
    for (int i = 0; i < SCENARIO_PATHS_MAX; i++) m.disk_free_bytes[i] = disk;
    return m;
}

static void auto_is_resolved(void **state) {
    static const struct {
        const char *yaml;
        uint32_t cpus;
        uint64_t workers, staging;
    } cases[] = {
        /* workers x 32 x 1 MiB, at most 512 MiB */
        {"{model: llama3.1-8b, tiers: {nvme: {capacity: 8GiB}}}", 1, 2, 64 * KVF_MIB},
        {"{model: llama3.1-8b, tiers: {nvme: {capacity: 8GiB}}}", 4, 4, 128 * KVF_MIB},
        {"{model: llama3.1-8b, tiers: {nvme: {capacity: 8GiB}}}", 64, 16, 512 * KVF_MIB},
        {"{model: llama3.1-8b, tiers: {nvme: {capacity: 8GiB, io_size: 4MiB, io_depth: 64}}}", 4, 4,
         512 * KVF_MIB},
        {"{model: llama3.1-8b, tiers: {nvme: {capacity: 8GiB, io_size: 4KiB, io_depth: 1}}}", 3, 3, 3 * 4096},
        /* one chunk each when the limit is less */
        {"{model: llama3.1-8b, tiers: {nvme: {capacity: 8GiB, io_size: 64MiB}}, engine: {workers: 12}}", 4,
         12, 768 * KVF_MIB},
        {"{model: llama3.1-8b, tiers: {nvme: {capacity: 8GiB}}, engine: {workers: 3, staging: 100MiB}}", 8, 3,
         100 * KVF_MIB},
        /* without nvme a buffer to read into, without real tiers none */
        {"{model: llama3.1-8b, tiers: {cpu: {capacity: 8GiB}}}", 4, 4, 4 * KVF_MIB},
        {"{model: llama3.1-8b, tiers: {gpu: {capacity: 8GiB}}}", 4, 4, 0},
    };
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct scenario *s = make(cases[i].yaml);
        struct budget_machine m = machine(64 * KVF_GIB, cases[i].cpus, 100 * KVF_GIB);
        struct budget b;
        struct err e = {0};
        assert_int_equal(budget_resolve(s, &m, false, &b, &e), 0);
        assert_int_equal(b.workers, cases[i].workers);
        assert_int_equal(s->engine.workers, cases[i].workers);
        assert_int_equal(b.staging_bytes, cases[i].staging);
        assert_int_equal(s->engine.staging_bytes, cases[i].staging);
        assert_int_equal(b.slots, 256);
        assert_int_equal(s->engine.slots, 256);
        free(s);
    }
}

/* 64 workers with chunks of 16 MiB: 64 x 16 MiB to stage in and twice that for copies in memory. */
static void landing_buffers_count(void **state) {
    struct scenario *s = make("{model: llama3.1-8b, tiers: {nvme: {capacity: 1GiB, io_size: 16MiB}}, "
                              "engine: {workers: 64}}");
    struct budget_machine m = machine(64 * KVF_GIB, 64, 100 * KVF_GIB);
    struct budget b;
    struct err e = {0};
    (void)state;

    assert_int_equal(budget_resolve(s, &m, false, &b, &e), 0);
    assert_int_equal(b.staging_bytes, KVF_GIB);
    assert_true(b.memory_bytes > 3 * KVF_GIB && b.memory_bytes < 4 * KVF_GIB);
    free(s);
}

/* Where a library takes whole values: 40 connections, or one for each worker, of a value of 32 MiB. */
static void buffers_of_connections_count(void **state) {
    static const struct {
        const char *store, *more;
        uint64_t connections;
    } cases[] = {{"backend: nixl, url: 'file:///tmp', connections: 40", "workers: 4", 40},
                 {"backend: mooncake, url: 'mooncake://h', connections: 2", "workers: 24", 24},
                 {"backend: resp, url: 'redis://h', connections: 40", "workers: 4", 0},
                 {"backend: modelled, connections: 40", "workers: 4", 0}};
    struct budget_machine m = machine(64 * KVF_GIB, 4, 100 * KVF_GIB);
    char yaml[240];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct budget b;
        struct err e = {0};
        struct buf out = {0};
        snprintf(yaml, sizeof yaml,
                 "{model: llama3.1-8b, tiers: {cpu: {capacity: 1GiB}, remote: {capacity: 1GiB, "
                 "chunk_tokens: 256, %s}}, engine: {%s}}",
                 cases[i].store, cases[i].more);
        struct scenario *s = make(yaml);
        uint64_t buffers = cases[i].connections * 32 * KVF_MIB;
        assert_int_equal(budget_resolve(s, &m, false, &b, &e), 0);
        assert_in_range(b.connection_bytes, buffers, buffers + (buffers ? 16 * KVF_MIB : 0));
        assert_int_equal(b.memory_bytes, b.arena_bytes + b.staging_bytes + b.noise_bytes +
                                             b.connection_bytes + b.fixed_bytes);
        budget_text(s, &m, &b, &out);
        assert_int_equal(strstr(buf_text(&out), " connections with ") != NULL, buffers > 0);
        buf_free(&out);
        free(s);
    }
    snprintf(yaml, sizeof yaml,
             "{model: llama3.1-8b, tiers: {remote: {capacity: 1GiB, backend: nixl, url: 'file:///tmp', "
             "connections: 1024}}}");
    struct scenario *s = make(yaml);
    struct budget b;
    struct err e = {0};
    assert_int_equal(
        budget_resolve(s, &(struct budget_machine){.memory_available_bytes = 8 * KVF_GIB, .cpus = 4}, false,
                       &b, &e),
        -KVF_ERR_NOSPACE);
    assert_non_null(strstr(e.text, " + connections 32.0 GiB + "));
    assert_non_null(strstr(e.text, "lower tiers.remote.connections or tiers.remote.chunk_tokens"));
    free(s);
}

static void nvme_takes_free_space(void **state) {
    static const struct {
        uint64_t free, capacity; /* GiB; capacity in MiB */
    } cases[] = {{100, 90 * 1024}, {20, 18 * 1024}, {10, 8 * 1024}, {3, 1024}};
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct scenario *s = make("{model: llama3.1-8b, tiers: {nvme: {capacity: auto}}}");
        struct budget_machine m = machine(8 * KVF_GIB, 4, cases[i].free * KVF_GIB);
        struct budget b;
        struct err e = {0};
        assert_int_equal(budget_resolve(s, &m, false, &b, &e), 0);
        /* a tenth is cut in whole bytes, the capacity in whole MiB */
        assert_in_range(s->tier[KVF_TIER_NVME].capacity_bytes / KVF_MIB, cases[i].capacity - 1,
                        cases[i].capacity);
        assert_int_equal(b.disk_bytes, s->tier[KVF_TIER_NVME].capacity_bytes);
        free(s);
    }
}

static void file_systems_count_once(void **state) {
    struct scenario *s = make("{model: llama3.1-8b, tiers: {nvme: {capacity: auto, path: [/a, /b, /c]}}}");
    struct budget_machine m = machine(8 * KVF_GIB, 4, 0);
    struct budget b;
    struct err e = {0};
    (void)state;

    m.disk_free_bytes[0] = m.disk_free_bytes[1] = 10 * KVF_GIB;
    m.disk_same_fs[1] = true;
    m.disk_free_bytes[2] = 22 * KVF_GIB;
    assert_int_equal(budget_resolve(s, &m, false, &b, &e), 0);
    /* 10 - 2 GiB and 90 % of 22 GiB */
    assert_in_range(s->tier[KVF_TIER_NVME].capacity_bytes / KVF_MIB, 8 * 1024 + 20275 - 1, 8 * 1024 + 20275);
    free(s);
}

static void no_room_for_auto(void **state) {
    (void)state;
    for (int force = 0; force < 2; force++) {
        struct scenario *s = make("{model: llama3.1-8b, tiers: {nvme: {capacity: auto, path: /mnt}}}");
        struct budget_machine m = machine(8 * KVF_GIB, 4, 2 * KVF_GIB);
        struct budget b;
        struct err e = {0};
        assert_int_equal(budget_resolve(s, &m, force, &b, &e), -KVF_ERR_NOSPACE);
        assert_non_null(strstr(e.text, "2.00 GiB are free under /mnt"));
        free(s);
        s = make("{model: llama3.1-8b, tiers: {nvme: {capacity: auto, path: /mnt}}}");
        m = machine(8 * KVF_GIB, 4, KVF_UNSET);
        e = (struct err){0};
        assert_int_equal(budget_resolve(s, &m, force, &b, &e), -KVF_ERR_USAGE);
        assert_non_null(strstr(e.text, "give a capacity"));
        free(s);
    }
}

static void rounding_is_provisioned(void **state) {
    /* 70,272 bytes a token: no multiple of 4 KiB, so each of at most 12,224 entries may lose a page
     * of 858,993,459 usable bytes in 209,716 pages. */
    struct scenario *s = make("{model: deepseek-v3, tiers: {cpu: {capacity: 1GiB}, nvme: {capacity: 1GiB}}}");
    struct budget_machine m = machine(8 * KVF_GIB, 4, 100 * KVF_GIB);
    struct budget b;
    struct err e = {0};
    (void)state;

    assert_int_equal(budget_resolve(s, &m, false, &b, &e), 0);
    assert_int_equal(b.arena_bytes, (209716 + 12224) * 4096);
    assert_int_equal(b.disk_bytes, (262144 + 15279 + 1) * UINT64_C(4096));
    free(s);

    /* 128 KiB a token: pages of that size lose nothing, the last is filled up */
    s = make("{model: llama3.1-8b, tiers: {cpu: {capacity: 1GiB}, nvme: {capacity: 1GiB}}}");
    assert_int_equal(budget_resolve(s, &m, false, &b, &e), 0);
    assert_int_equal(b.arena_bytes, 6554 * 131072);
    assert_int_equal(b.disk_bytes, KVF_GIB);
    assert_int_equal(b.memory_bytes, b.arena_bytes + b.staging_bytes + b.noise_bytes + b.fixed_bytes);
    assert_int_equal(b.noise_bytes, 64 * KVF_MIB);
    free(s);
}

static void too_much_is_refused_with_its_arithmetic(void **state) {
    const char *yaml =
        "{model: llama3.1-8b, tiers: {cpu: {capacity: 10GiB}, nvme: {capacity: 30GiB, path: /mnt}}}";
    struct scenario *s = make(yaml);
    struct budget_machine m = machine(4 * KVF_GIB, 4, 20 * KVF_GIB);
    struct budget b;
    struct err e = {0};
    (void)state;

    m.memory_from_cgroup = true;
    assert_int_equal(budget_resolve(s, &m, false, &b, &e), -KVF_ERR_NOSPACE);
    assert_non_null(strstr(e.text, "cpu tier 8.00 GiB + staging 128 MiB + noise 64.0 MiB"));
    assert_non_null(strstr(e.text, "4.00 GiB are left under the limit of the cgroup"));
    assert_non_null(strstr(e.text, "lower tiers.cpu.capacity to "));
    assert_non_null(strstr(e.text, "disk: 30.0 GiB are needed"));
    assert_non_null(strstr(e.text, "20.0 GiB are free under /mnt; lower tiers.nvme.capacity"));
    assert_non_null(strstr(e.text, "--force"));
    free(s);

    s = make(yaml); /* a part of the machine is not told as all of it */
    s->ranks.beside = 4;
    e = (struct err){0};
    assert_int_equal(budget_resolve(s, &m, false, &b, &e), -KVF_ERR_NOSPACE);
    assert_non_null(
        strstr(e.text, "left under the limit of the cgroup for each of 4 ranks on this machine; lower"));
    assert_non_null(
        strstr(e.text, "20.0 GiB are free under /mnt for each of 4 ranks on this machine; lower"));
    free(s);

    s = make(yaml);
    e = (struct err){0};
    assert_int_equal(budget_resolve(s, &m, true, &b, &e), 0);
    assert_false(err_is(&e));
    free(s);
}

/* The capacity that a refusal names is accepted. */
static void the_remedy_works(void **state) {
    struct scenario *s = make("{model: llama3.1-8b, tiers: {cpu: {capacity: 10GiB}}}");
    struct budget_machine m = machine(4 * KVF_GIB, 4, 0);
    struct budget b;
    struct err e = {0};
    uint64_t capacity;
    char word[32];
    (void)state;

    assert_int_equal(budget_resolve(s, &m, false, &b, &e), -KVF_ERR_NOSPACE);
    const char *at = strstr(e.text, "capacity to ");
    assert_non_null(at);
    assert_int_equal(sscanf(at, "capacity to %31s", word), 1);
    assert_int_equal(units_parse_size(word, &capacity), 0);
    assert_in_range(capacity, 4 * KVF_GIB, 5 * KVF_GIB);
    s->tier[KVF_TIER_CPU].capacity_bytes = capacity;
    assert_int_equal(budget_resolve(s, &m, false, &b, NULL), 0);
    free(s);
}

static void staging_holds_a_chunk_each(void **state) {
    struct scenario *s =
        make("{model: llama3.1-8b, tiers: {nvme: {capacity: 1GiB}}, engine: {workers: 8, staging: 4MiB}}");
    struct budget_machine m = machine(4 * KVF_GIB, 4, 20 * KVF_GIB);
    struct budget b;
    struct err e = {0};
    (void)state;

    assert_int_equal(budget_resolve(s, &m, true, &b, &e), -KVF_ERR_USAGE);
    assert_non_null(strstr(e.text, "engine.staging 4MiB"));
    assert_non_null(strstr(e.text, "at least 8MiB"));
    free(s);
}

static void text_names_the_parts(void **state) {
    struct scenario *s =
        make("{model: llama3.1-8b, tiers: {cpu: {capacity: 4GiB}, nvme: {capacity: 16GiB, path: /mnt}}}");
    struct budget_machine m = machine(16 * KVF_GIB, 4, 20 * KVF_GIB);
    struct budget b;
    struct buf out = {0};
    (void)state;

    assert_int_equal(budget_resolve(s, &m, false, &b, NULL), 0);
    budget_text(s, &m, &b, &out);
    assert_non_null(strstr(buf_text(&out), "of 16.0 GiB available\n"));
    assert_non_null(strstr(buf_text(&out), "cpu tier     3.20 GiB"));
    assert_non_null(strstr(buf_text(&out), "staging       128 MiB"));
    assert_non_null(strstr(buf_text(&out), "disk: 16.0 GiB of 20.0 GiB free under /mnt\n"));
    buf_free(&out);
    free(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(auto_is_resolved),
        cmocka_unit_test(landing_buffers_count),
        cmocka_unit_test(buffers_of_connections_count),
        cmocka_unit_test(nvme_takes_free_space),
        cmocka_unit_test(file_systems_count_once),
        cmocka_unit_test(no_room_for_auto),
        cmocka_unit_test(rounding_is_provisioned),
        cmocka_unit_test(too_much_is_refused_with_its_arithmetic),
        cmocka_unit_test(the_remedy_works),
        cmocka_unit_test(staging_holds_a_chunk_each),
        cmocka_unit_test(text_names_the_parts),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("budget", tests, NULL, NULL);
}
