#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "record/run.h"

static void test_status(void **state) {
    (void)state;
    assert_string_equal(run_status_name(RUN_CRASHED), "crashed");
    assert_string_equal(run_status_name(RUN_STATUSES), "?");
    assert_int_equal(run_status_parse("interrupted"), RUN_INTERRUPTED);
    assert_int_equal(run_status_parse("Interrupted"), RUN_STATUSES);
    assert_int_equal(run_status_parse(""), RUN_STATUSES);
}

static void test_results(void **state) {
    (void)state;
    struct run_record r;
    char name[80];

    run_record_init(&r);
    assert_true(isnan(result_value(&r.results, "hits")));
    assert_null(result_find(&r.results, "hits"));
    for (int i = 0; i < 300; i++) {
        struct result one = {.value = i, .samples = (uint64_t)i * 2, .unit = "ms"};
        (void)snprintf(one.metric, sizeof one.metric, "e2e_p%d_ms", i);
        result_put(&r.results, &one);
    }
    result_add(&r.results, 9, 1, "nvme_%s_gib_s", "read");
    assert_string_equal(result_find(&r.results, "nvme_read_gib_s")->unit, "GiB/s");
    result_add(&r.results, KVF_MISSING, 0, "hit_ratio");
    assert_int_equal(r.results.count, 302);
    for (int i = 0; i < 300; i++) {
        (void)snprintf(name, sizeof name, "e2e_p%d_ms", i);
        const struct result *found = result_find(&r.results, name);
        assert_non_null(found);
        assert_true(found->value == i);
        assert_int_equal(found->samples, i * 2);
        assert_string_equal(found->unit, "ms");
    }
    assert_non_null(result_find(&r.results, "hit_ratio"));
    assert_true(isnan(result_value(&r.results, "hit_ratio")));
    run_record_free(&r);
    assert_int_equal(r.results.count, 0);
}

static void test_events_and_histograms(void **state) {
    (void)state;
    struct run_record r;
    struct record_event e = {.level = "warning"};
    uint8_t data[5] = {1, 2, 3, 4, 5};

    run_record_init(&r);
    assert_true(isnan(r.started_at) && isnan(r.ended_at));
    for (int i = 0; i < 200; i++) {
        e.t_s = i;
        (void)snprintf(e.message, sizeof e.message, "event %d", i);
        run_record_event(&r, &e);
    }
    assert_int_equal(r.event_count, 200);
    assert_string_equal(r.events[199].message, "event 199");
    assert_true(r.events[7].t_s == 7);
    run_record_histogram(&r, "nvme_read_device", data, sizeof data);
    run_record_histogram(&r, "e2e", NULL, 0);
    data[0] = 99; /* a copy was taken */
    assert_int_equal(r.histogram_count, 2);
    assert_string_equal(r.histograms[0].scope, "nvme_read_device");
    assert_int_equal(r.histograms[0].len, 5);
    assert_int_equal(r.histograms[0].data[0], 1);
    assert_int_equal(r.histograms[1].len, 0);
    run_record_free(&r);
    run_record_free(&r); /* empty now */
    run_record_free(NULL);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_status),
    cmocka_unit_test(test_results),
    cmocka_unit_test(test_events_and_histograms),
};

int main(void) {
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("run", tests, NULL, NULL);
}
