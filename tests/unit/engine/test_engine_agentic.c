#include "tests/unit/run_fixture.h"

/* Conversations of agents in the engine: sub-agents beside their parent, and the same requests whatever
 * serves them. A block of 64 tokens is 1 KiB. */

#define REQUEST_AT(time, think, in, out, ids)                                                                \
    "{\"t\":" time ",\"type\":\"n\",\"in\":" in ",\"out\":" out ",\"hash_ids\":[" ids                        \
    "],\"api_time\":0,\"think_time\":" think "}"
#define REQUEST(think, in, out, ids) REQUEST_AT("0", think, in, out, ids)
#define SUBAGENT(...)                "{\"t\":0,\"type\":\"subagent\",\"requests\":[" __VA_ARGS__ "]}"
#define FILE_OF(...)                 "{\"block_size\":64,\"requests\":[" __VA_ARGS__ "]}"

/* The parent generates for 400 ms; each agent for 20 ms three times, in the meantime. */
#define AGENT(ids)                                                                                           \
    SUBAGENT(REQUEST("0", "64", "2", ids) "," REQUEST("0", "64", "2", ids) "," REQUEST("0", "64", "2", ids))
static const char family[] = FILE_OF(REQUEST("0", "64", "1", "1") "," AGENT("2") "," AGENT("3") "," REQUEST(
    "0", "128", "40", "1,4") "," REQUEST("0", "192", "1", "1,4,5"));

#define BLOCKS(engine)                                                                                       \
    MODEL_16 engine "tiers: {gpu: {capacity: 4MiB}}\ncache: {granularity: block}\n"                          \
                    "run: {duration: 100s, warmup: 0s}\n"

struct span {
    double from_ms, to_ms;
    unsigned order;
};

/* The log by the order of the file. */
static unsigned spans_read(struct span *spans, unsigned most) {
    char *log = text_of(t.requests), *line, *rest = log;
    unsigned n = 0;
    while ((line = strsep(&rest, "\n")) != NULL && *line) {
        assert_true(n < most);
        double arrival = strtod(strstr(line, "\"arrival_s\":") + 12, NULL) * 1000;
        spans[n++] = (struct span){arrival, arrival + strtod(strstr(line, "\"e2e_ms\":") + 9, NULL),
                                   (unsigned)(strtoull(strstr(line, "\"id\":") + 5, NULL, 10) & 0xffff) - 1};
    }
    free(log);
    return n;
}

static void sub_agents_run_beside_their_parent(void **state) {
    (void)state;
    enum { N = 9 };
    struct span all[N], by[N];
    rows_write(family);
    setup_of(
        BLOCKS(ENGINE) "workload: {source: agentic, users: 1}\ncompute: {mode: fixed, ms_per_token: 10}\n",
        1);
    t.setup.request_log_path = t.requests;
    run_go();
    expect_status(RUN_COMPLETED);
    expect_identities();
    expect_no_errors();
    expect_result("requests_done", N);
    expect_result("rows_emitted", N);
    expect_result("gpu_write_ops", 5); /* ids 1 to 5 */
    assert_int_equal(spans_read(all, N), N);
    for (int i = 0; i < N; i++) by[all[i].order] = all[i];
    /* 0, then 1 2 3 and 4 5 6 and 7 8 each in turn; in the log to a microsecond */
    static const int before[N] = {-1, 0, 1, 2, 0, 4, 5, 0, 7};
    for (int i = 1; i < N; i++) assert_true(by[i].from_ms >= by[before[i]].to_ms - 0.002);
    /* six requests of agents begin before the parent's second has ended */
    for (int i = 1; i < 7; i++) assert_true(by[i].from_ms < by[7].to_ms);
    run_end();
}

/* A parent that has asked its last does not end a run in which its agents still think. */
static void the_run_waits_for_sub_agents(void **state) {
    (void)state;
    rows_write(FILE_OF(REQUEST("0", "64", "1", "1") "," SUBAGENT(
        REQUEST("0.05", "64", "1", "2") "," REQUEST("0.05", "64", "1", "3"))));
    run_yaml(BLOCKS(ENGINE) "workload: {source: agentic, users: 3}\n", 1);
    expect_status(RUN_COMPLETED);
    expect_result("requests_done", 3);
    assert_true(value_of("measured_s") >= 0.1);
    run_end();
}

static int line_compare(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *requests_of(const char *yaml) {
    char *lines[100];
    struct buf out = {0};
    size_t n = 0;
    setup_of(yaml, 7);
    t.setup.request_log_path = t.requests;
    run_go();
    expect_status(RUN_COMPLETED);
    char *log = text_of(t.requests), *rest = log, *line;
    while ((line = strsep(&rest, "\n")) != NULL && *line) {
        assert_true(n < 100);
        *strstr(line, ",\"arrival_s\"") = '\0';
        lines[n++] = line;
    }
    qsort(lines, n, sizeof *lines, line_compare);
    for (size_t i = 0; i < n; i++) buf_addf(&out, "%s\n", lines[i]);
    free(log);
    run_end();
    return out.data;
}

/* Two of three requests are due before the end; the third was read to know when it is. */
static void in_one_sequence_a_row_is_one_that_arrived(void **state) {
    (void)state;
    rows_write(FILE_OF(REQUEST("0", "64", "1", "1") "," REQUEST("0", "64", "1", "2") "," REQUEST_AT(
        "1000", "0", "64", "1", "3")));
    run_yaml(MODEL_16 ENGINE "tiers: {gpu: {capacity: 4MiB}}\ncache: {granularity: block}\n"
                             "run: {duration: 200ms, warmup: 0s}\n"
                             "workload: {source: agentic, arrival: {process: trace}}\n",
             1);
    expect_status(RUN_COMPLETED);
    expect_identities();
    expect_result("requests_arrived", 2);
    expect_result("rows_read", 2);
    expect_result("rows_emitted", 2);
    run_end();
}

static void the_same_requests_whatever_serves_them(void **state) {
    (void)state;
#define LOAD                                                                                                 \
    "workload: {source: agentic, users: 2, arrival: {cycles: 5}}\nrun: {max_requests: 31}\n"                 \
    "qos: {classes: [{name: a, share: 1}, {name: b, share: 1}]}\n"
#define RUN(engine) MODEL_16 engine "cache: {granularity: block}\n"
    rows_write(family);
    char *slow = requests_of(RUN(
        "engine: {workers: 1, noise: 1MiB, slots: 1}\ntiers: {gpu: {capacity: 1MiB, latency: 1ms}}\n") LOAD);
    char *fast = requests_of(
        RUN("engine: {workers: 4, noise: 1MiB, slots: 50}\ntiers: {gpu: {capacity: 1MiB}}\n") LOAD);
    assert_int_equal(lines_of(slow), 31);
    assert_string_equal(slow, fast);
    free(slow);
    free(fast);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sub_agents_run_beside_their_parent, runs_set_up, runs_tear_down),
        cmocka_unit_test_setup_teardown(the_run_waits_for_sub_agents, runs_set_up, runs_tear_down),
        cmocka_unit_test_setup_teardown(in_one_sequence_a_row_is_one_that_arrived, runs_set_up,
                                        runs_tear_down),
        cmocka_unit_test_setup_teardown(the_same_requests_whatever_serves_them, runs_set_up, runs_tear_down),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("engine_agentic", tests, NULL, NULL);
}
