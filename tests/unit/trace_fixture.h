/* Shared by the tests of traces: a scenario to change, a file to write, the totals that must hold. */
#ifndef KVF_TESTS_TRACE_FIXTURE_H
#define KVF_TESTS_TRACE_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "workload/workload.h"

#define MS UINT64_C(1000000)
#define S  UINT64_C(1000000000)

#define ROW(time, in, out, ids)                                                                              \
    "{\"timestamp\": " time ", \"input_length\": " in ", \"output_length\": " out ", \"hash_ids\": [" ids    \
    "]}\n"
#define GOOD ROW("0", "513", "7", "4, 5")

static struct scenario scenario;
static struct request request;

static inline int scenario_reset(void **state) {
    (void)state;
    struct scenario *s = &scenario;
    memset(s, 0, sizeof *s);
    s->seed = 42;
    s->cache.granularity = KVF_GRANULARITY_BLOCK;
    s->cache.block_tokens = 512;
    s->workload.source = KVF_SOURCE_MOONCAKE;
    s->workload.arrival.process = KVF_ARRIVAL_TRACE;
    s->workload.arrival.speedup = 1;
    s->workload.arrival.cycles = 1;
    s->workload.users = 7;
    s->qos.classes = 2;
    s->qos.klass[0].share = 1;
    s->qos.klass[1].share = 3;
    request = (struct request){0};
    return 0;
}

static inline int scenario_clean(void **state) {
    (void)state;
    if (strncmp(scenario.workload.path, "/tmp/kvf-test-trace-", 20) == 0) unlink(scenario.workload.path);
    request_free(&request);
    return 0;
}

static inline void file_write(const char *data, size_t len) {
    char *path = scenario.workload.path;
    snprintf(path, sizeof scenario.workload.path, "/tmp/kvf-test-trace-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *f = fdopen(fd, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
}

/* Sets the path to one of the published traces; false when it is not here. */
static inline bool published_find(const char *file) {
    const char *folder = getenv("KVF_TRACES"), *srcdir = getenv("srcdir");
    char *path = scenario.workload.path;
    size_t size = sizeof scenario.workload.path;
    if (folder)
        snprintf(path, size, "%s/%s", folder, file);
    else
        snprintf(path, size, "%s/../shared/traces/%s", srcdir ? srcdir : ".", file);
    if (access(path, R_OK) == 0) return true;
    static const char *const places[][2] = {
        {"mooncake", "kvcache-ai/Mooncake, FAST25-release/traces"},
        {"azure2023", "Azure/AzurePublicDataset, data"},
        {"burstgpt", "HPMLL/BurstGPT, the first rows of BurstGPT_1.csv"},
        {"kv-cache-tester", "callanjfox/kv-cache-tester, traces"},
        {"sharegpt/d", "salesforce/DialogStudio, ShareGPT/original_example.json"},
        {"sharegpt/f", "lm-sys/FastChat, data/dummy_conversation.json"},
        {"sharegpt/l", "hiyouga/LLaMA-Factory, data"}};
    const char *place = "";
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (strncmp(file, places[i][0], strlen(places[i][0])) == 0) place = places[i][1];
    print_message(
        "skip: %s is not here; KVF_TRACES names the folder of the published traces; it is at github.com/%s\n",
        path, place);
    return false;
}

static inline struct workload *opened(void) {
    struct workload *w = NULL;
    struct err e = {0};
    int rc = workload_open(&w, &scenario, &e);
    if (rc != 0) fail_msg("%s", e.text);
    return w;
}

static inline struct workload *opened_with(enum scenario_source source, const char *data) {
    scenario.workload.source = source;
    if (source == KVF_SOURCE_OPS) scenario.workload.arrival.process = KVF_ARRIVAL_CLOSED;
    file_write(data, strlen(data));
    return opened();
}

static inline void refused(enum err_code code, const char *word) {
    struct workload *w = NULL;
    struct err e = {0};
    assert_int_equal(workload_open(&w, &scenario, &e), -(int)code);
    assert_null(w);
    if (!strstr(e.text, word)) fail_msg("\"%s\" does not say \"%s\"", e.text, word);
}

static inline uint64_t rejected_sum(const struct workload *w) {
    uint64_t sum = 0;
    for (int i = 0; i < WORKLOAD_REJECTS; i++) sum += workload_rows(w)->rejected[i];
    return sum;
}

static inline void rows_expect(const struct workload *w, uint64_t emitted, uint64_t rejected) {
    const struct workload_rows *rows = workload_rows(w);
    assert_int_equal(rows->emitted, emitted);
    assert_int_equal(rejected_sum(w), rejected);
    assert_int_equal(rows->read, emitted + rejected);
}

static inline void next_expect(struct workload *w) {
    assert_int_equal(workload_next(w, 0, &request), WORKLOAD_REQUEST);
}
static inline void end_expect(struct workload *w) {
    assert_int_equal(workload_next(w, 0, &request), WORKLOAD_END);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scenario_reset, scenario_clean)

#endif
