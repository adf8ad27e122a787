/* Real runs of the engine, small ones: a scenario in YAML, its files in a directory of the test's own. */
#ifndef TESTS_UNIT_RUN_FIXTURE_H
#define TESTS_UNIT_RUN_FIXTURE_H

#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "engine/engine.h"
#include "scenario/budget.h"
#include "scenario/load.h"
#include "workload/workload.h"

#define KIB UINT64_C(1024)
#define MIB (KIB * 1024)
/* 16 bytes a token, so that a block of 512 tokens is 8 KiB */
#define MODEL_16 "model: {preset: tiny-1b, layers: 1, kv_heads: 1, head_dim: 8, dtype: int8}\n"
/* 4 KiB a token */
#define MODEL_4K "model: {preset: tiny-1b, layers: 8, kv_heads: 1, head_dim: 256, dtype: int8}\n"
#define ENGINE   "engine: {workers: 2, noise: 1MiB}\n"

struct runs {
    char dir[64];      /* holds the nvme tier; empty again after each run */
    char io[80];       /* I/O trace */
    char requests[80]; /* request log */
    char rows[80];     /* trace that is played */
    struct scenario s;
    struct run_record run;
    struct command_queue *commands;
    struct engine_setup setup;
    struct err err;
};

static struct runs t; /* of the test that runs */

/* For callbacks: a test must not be left while the engine's threads are under way. */
static const char *wrong;
#define note_that(holds) ((void)((holds) || (wrong = #holds)))

static inline int runs_set_up(void **state) {
    (void)state;
    memset(&t, 0, sizeof t);
    snprintf(t.dir, sizeof t.dir, "/var/tmp/kvf-test-run-XXXXXX");
    if (!mkdtemp(t.dir)) return -1;
    snprintf(t.io, sizeof t.io, "%s.io.csv", t.dir);
    snprintf(t.requests, sizeof t.requests, "%s.requests", t.dir);
    snprintf(t.rows, sizeof t.rows, "%s.rows", t.dir);
    return 0;
}

static inline int runs_tear_down(void **state) {
    (void)state;
    unlink(t.io);
    unlink(t.requests);
    unlink(t.rows);
    return rmdir(t.dir);
}

/* The scenario, with the nvme tier and the rows where they belong. */
static inline void scenario_of(const char *yaml, uint64_t seed) {
    char number[32];
    struct scenario_report report = {0};
    snprintf(number, sizeof number, "%" PRIu64, (uint64_t)seed);
    struct scenario_setting set[4] = {{"seed", number, "test"}, {"run.block_trace", "off", "test"}};
    size_t sets = 2;
    if (strstr(yaml, "nvme:")) set[sets++] = (struct scenario_setting){"tiers.nvme.path", t.dir, "test"};
    if (strstr(yaml, "source:")) set[sets++] = (struct scenario_setting){"workload.path", t.rows, "test"};
    if (scenario_load(NULL, yaml, set, sets, &t.s, NULL, &report) != 0)
        fail_msg("%s", buf_text(&report.errors));
    scenario_load_free(&report);
    struct budget_machine machine = {.memory_available_bytes = UINT64_C(1) << 40, .cpus = 2};
    for (int i = 0; i < SCENARIO_PATHS_MAX; i++) machine.disk_free_bytes[i] = UINT64_C(1) << 40;
    struct budget budget;
    struct err e = {0};
    if (budget_resolve(&t.s, &machine, false, &budget, &e) != 0) fail_msg("%s", e.text);
}

static inline void rows_write(const char *text) {
    FILE *f = fopen(t.rows, "we");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static inline void setup_of(const char *yaml, uint64_t seed) {
    scenario_of(yaml, seed);
    run_record_init(&t.run);
    engine_describe(&t.s, &t.run);
    t.err = (struct err){0};
    t.commands = command_queue_new();
    assert_non_null(t.commands);
    t.setup = (struct engine_setup){.scenario = &t.s, .run = &t.run, .commands = t.commands};
}

static inline unsigned entries_of(const char *path) {
    DIR *d = opendir(path);
    unsigned n = 0;
    assert_non_null(d);
    while (readdir(d)) n++;
    closedir(d);
    return n - 2;
}

/* Runs it; whatever happens, nothing stays in the directory. */
static inline void run_go(void) {
    wrong = NULL;
    if (engine_run(&t.setup, &t.err) != 0) fail_msg("%s", t.err.text);
    if (wrong) fail_msg("while the run was going on: not %s", wrong);
    assert_int_equal(entries_of(t.dir), 0);
}

static inline void run_end(void) {
    run_record_free(&t.run);
    command_queue_free(t.commands);
}

static inline void run_yaml(const char *yaml, uint64_t seed) {
    setup_of(yaml, seed);
    run_go();
}

static inline void tell(enum command_kind kind, uint64_t value) {
    struct command c = {.kind = kind, .value = value, .text = "test"};
    note_that(command_put(t.commands, &c));
}

/* ---- what came out ---- */

static inline double value_of(const char *metric) {
    const struct result *r = result_find(&t.run.results, metric);
    if (!r) fail_msg("there is no result %s", metric);
    return r->value;
}

static inline void expect_result(const char *metric, double want) {
    double got = value_of(metric);
    if (!(got == want)) fail_msg("%s is %.17g, not %.17g", metric, got, want);
}

static inline void expect_missing(const char *metric) {
    double got = value_of(metric);
    if (!isnan(got)) fail_msg("%s is %.17g and should be missing", metric, got);
}

static inline void expect_status(enum run_status want) {
    if (t.run.status != want)
        fail_msg("the run is %s (%s), not %s", run_status_name(t.run.status), t.run.status_reason,
                 run_status_name(want));
}

/* The message of the first event of this level; NULL. */
static inline const char *event_of(const char *level) {
    for (size_t i = 0; i < t.run.event_count; i++)
        if (strcmp(t.run.events[i].level, level) == 0) return t.run.events[i].message;
    return NULL;
}

static inline void expect_no_errors(void) {
    const char *message = event_of("error");
    if (message) fail_msg("%s", message);
    expect_result("operation_errors", 0);
    expect_result("verify_mismatched", 0);
}

/* Identities of every run. */
static inline void expect_identities(void) {
    static const char *const tier[] = {"gpu", "cpu", "nvme"};
    static const char *const cause[] = {"prefill", "decode",    "conversation", "prefix",
                                        "rag",     "promotion", "demotion",     "precondition"};
    char name[64];
    double hits = 0, lookups = 0, read = 0, written = 0;
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%s_hits", tier[i]);
        if (isnan(value_of(name))) continue;
        hits += value_of(name);
        snprintf(name, sizeof name, "%s_read_bytes", tier[i]);
        read += value_of(name);
        snprintf(name, sizeof name, "%s_write_bytes", tier[i]);
        written += value_of(name);
    }
    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof name, "%s_lookups", cause[i]);
        lookups += value_of(name);
    }
    expect_result("lookups", value_of("hits") + value_of("misses"));
    expect_result("lookups", lookups);
    expect_result("hits", hits);
    expect_result("total_read_bytes", read);
    expect_result("total_write_bytes", written);
    if (t.s.run.warmup_ns > 0) return; /* else some may have arrived before */
    expect_result("requests_arrived", value_of("requests_done") + value_of("requests_failed") +
                                          value_of("requests_dropped") + value_of("requests_queued_at_end") +
                                          value_of("requests_in_service_at_end"));
}

static inline char *text_of(const char *path) {
    FILE *f = fopen(path, "re");
    struct stat st;
    assert_non_null(f);
    assert_int_equal(fstat(fileno(f), &st), 0);
    char *text = calloc(1, (size_t)st.st_size + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)st.st_size, f), st.st_size);
    fclose(f);
    return text;
}

static inline unsigned lines_of(const char *text) {
    unsigned n = 0;
    for (; *text; text++) n += *text == '\n';
    return n;
}

#endif
