#include "tests/unit/trace_fixture.h"

#include "engine/pipeline/oracle.h"

static struct oracle *oracle_of(enum scenario_source source, const char *data) {
    struct oracle *o = NULL;
    struct err e = {0};
    struct workload *w = opened_with(source, data);
    workload_close(w);
    int rc = oracle_open(&o, &scenario, &e);
    if (rc != 0) fail_msg("%s", e.text);
    return o;
}

/* Positions 1 2 3 | 4 5 | 6 7 8: block 4 at 1, 4 and 6, block 5 at 2 and 8, 6 at 3 and 7. The row between
 * that cannot be used has a number, but no accesses. */
static void blocks(void **state) {
    (void)state;
    struct oracle *o =
        oracle_of(KVF_SOURCE_MOONCAKE, ROW("0", "1536", "7", "4, 5, 6") ROW("1", "-1", "7", "4")
                                           ROW("5", "1024", "7", "4, 9") ROW("9", "1536", "7", "4, 6, 5"));
    static const uint64_t want[4][3] = {
        {4, 8, 7}, {0}, {6, UINT64_MAX}, {UINT64_MAX, UINT64_MAX, UINT64_MAX}};
    struct workload *w = opened();
    for (int n = 0; n < 3; n++) {
        assert_int_equal(workload_next(w, 0, &request), WORKLOAD_REQUEST);
        for (uint32_t i = 0; i < request.id_count; i++)
            assert_true(oracle_next(o, &request, i) == want[request.id - 1][i]);
    }
    assert_int_equal(workload_next(w, 0, &request), WORKLOAD_END);
    workload_close(w);
    oracle_close(o);
}

/* A second cycle has keys of its own: the same again, eight positions on, and nothing leads from one to the
 * other. */
static void cycles(void **state) {
    (void)state;
    struct oracle *o =
        oracle_of(KVF_SOURCE_MOONCAKE, ROW("0", "1024", "7", "4, 5") ROW("5", "1024", "7", "4, 6"));
    static const uint64_t want[3][2][2] = {{{3, UINT64_MAX}, {UINT64_MAX, UINT64_MAX}},
                                           {{7, UINT64_MAX}, {UINT64_MAX, UINT64_MAX}},
                                           {{11, UINT64_MAX}, {UINT64_MAX, UINT64_MAX}}};
    scenario.workload.arrival.cycles = 3;
    struct workload *w = opened();
    for (int n = 0; n < 6; n++) {
        assert_int_equal(workload_next(w, 0, &request), WORKLOAD_REQUEST);
        for (uint32_t i = 0; i < 2; i++) assert_true(oracle_next(o, &request, i) == want[n / 2][n % 2][i]);
    }
    workload_close(w);
    oracle_close(o);
}

/* One access a row, read or written. A share of requests does not cut the look ahead short. */
static void operations(void **state) {
    (void)state;
    scenario.cache.granularity = KVF_GRANULARITY_REQUEST;
    scenario.run.max_requests = 2;
    struct oracle *o = oracle_of(KVF_SOURCE_OPS, "write,a,100\nwrite,b,100\nread,a,100\nread,a,100\n");
    static const uint64_t want[] = {3, UINT64_MAX, 4, UINT64_MAX};
    scenario.run.max_requests = 0;
    struct workload *w = opened();
    for (int n = 0; n < 4; n++) {
        assert_int_equal(workload_next(w, 0, &request), WORKLOAD_REQUEST);
        assert_true(oracle_next(o, &request, 0) == want[n]);
    }
    workload_close(w);
    oracle_close(o);
}

static void a_trace_that_is_missing(void **state) {
    (void)state;
    struct oracle *o = NULL;
    struct err e = {0};
    snprintf(scenario.workload.path, sizeof scenario.workload.path, "/nowhere/trace");
    assert_true(oracle_open(&o, &scenario, &e) < 0);
    assert_non_null(strstr(e.text, "/nowhere/trace"));
    oracle_close(o);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(blocks, scenario_reset, scenario_clean),
        cmocka_unit_test_setup_teardown(cycles, scenario_reset, scenario_clean),
        cmocka_unit_test_setup_teardown(operations, scenario_reset, scenario_clean),
        cmocka_unit_test_setup_teardown(a_trace_that_is_missing, scenario_reset, scenario_clean),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("oracle", tests, NULL, NULL);
}
