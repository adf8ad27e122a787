/* The work of requests against each other, with figures worked by hand. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "metrics/work.h"

/* Requests of so many tokens of context, and ten generated. */
static struct work plain(double requests, double context) {
    const double value[WORK_METRICS] = {requests, context, 10 * requests, NAN, 0, 0, NAN, NAN};
    return work_of(value);
}

static void sizes_differ_by_more_than_a_twentieth_and_chance(void **state) {
    char text[WORK_TEXT];
    (void)state;
    struct work small = plain(10000, 299), large = plain(10000, 432);
    assert_true(work_smaller(&small, &large, true));
    assert_false(work_smaller(&large, &small, true));
    assert_true(work_times(&small, &large, true) == 432.0 / 299 && work_times(&large, &small, true) == 1);
    assert_string_equal(work_text(&small, &large, true, text),
                        "299 tokens of context in the mean against 432");
    assert_string_equal(work_text(&small, &small, true, text), "");
    /* 2.576 standard errors of the logarithm are 3.6 % of 10,000 requests a side, 11.5 % of 1,000 */
    struct work base = plain(10000, 100), little = plain(10000, 104), more = plain(10000, 106);
    assert_false(work_smaller(&base, &little, true));
    assert_true(work_smaller(&base, &more, true));
    base.requests = more.requests = 1000;
    assert_false(work_smaller(&base, &more, true));
    more.part[WORK_CONTEXT] = 113;
    assert_true(work_smaller(&base, &more, true));
    more.part[WORK_CONTEXT] = NAN;
    assert_false(work_smaller(&base, &more, true) || work_smaller(&more, &base, true));
    struct work none = plain(0, NAN);
    assert_false(work_smaller(&none, &base, true) || work_smaller(&base, &none, true));
}

static void lookups_tell_where_they_are_counted_alike_and_few_requests_are_open(void **state) {
    double few[WORK_METRICS] = {10000, 100, 1e5, 31400, 50, 50, NAN, NAN},
           many[WORK_METRICS] = {10000, 100, 1e5, 40600, 50, 50, NAN, NAN};
    char text[WORK_TEXT];
    (void)state;
    struct work a = work_of(few), b = work_of(many);
    assert_true(work_smaller(&a, &b, true));
    assert_false(work_smaller(&a, &b, false));
    assert_string_equal(work_text(&a, &b, true, text),
                        "3.14 lookups of what comes again in the mean against 4.06");
    few[4] = 2000; /* of whose lookups as many may have been made before */
    a = work_of(few);
    assert_false(work_smaller(&a, &b, true));
    few[4] = 50; /* fewer than one in ten requests makes any */
    many[3] = 900;
    few[3] = 300;
    a = work_of(few);
    b = work_of(many);
    assert_false(work_smaller(&a, &b, true));
}

static void a_request_that_found_no_document_is_smaller(void **state) {
    const double some[WORK_METRICS] = {73, 700, 5400, NAN, 0, 0, 53, 20},
                 all[WORK_METRICS] = {73, 700, 5400, NAN, 0, 0, 73, 0},
                 nearly[WORK_METRICS] = {73, 700, 5400, NAN, 0, 0, 69, 4};
    char text[WORK_TEXT];
    (void)state;
    struct work a = work_of(some), b = work_of(all), c = work_of(nearly);
    assert_true(work_smaller(&a, &b, true));
    assert_string_equal(work_text(&a, &b, true, text),
                        "72.6 % of those that retrieve found a document against 100.0 %");
    assert_false(work_smaller(&c, &b, true)); /* two standard errors */
}

/* Requests whose decode is skipped from some length on count all their tokens. */
static void reads_of_the_decode_may_be_skipped(void **state) {
    double all[WORK_METRICS] = {900, 1500, 6e4, 3000, 40, 40, NAN, NAN, 3000, NAN, 258, NAN},
           most[WORK_METRICS] = {900, 1500, 6e4, 3000, 40, 40, NAN, NAN, 2000, NAN, 300, NAN},
           none[WORK_METRICS] = {900, 1500, 6e4, 3000, 40, 40, NAN, NAN, NAN, NAN, NAN, NAN};
    char text[WORK_TEXT];
    (void)state;
    struct work a = work_of(most), b = work_of(all), c = work_of(none);
    assert_true(work_smaller(&a, &b, true) && work_skips(&a, &b, true));
    assert_string_equal(work_text(&a, &b, true, text), "2.56 decode reads in the mean against 3.62");
    assert_false(work_smaller(&b, &a, true) || work_smaller(&a, &b, false));
    assert_true(work_skips(&c, &a, true) && !work_skips(&a, &c, true));
    assert_string_equal(work_text(&c, &b, true, text), "0 decode reads in the mean against 3.62");
    most[2] = 4e4; /* fewer tokens are read for fewer times, and count as fewer */
    a = work_of(most);
    assert_true(work_smaller(&a, &b, true) && !work_skips(&a, &b, true));
    assert_string_equal(work_text(&a, &b, true, text), "44 tokens generated in the mean against 67");
    most[2] = 6e4, most[4] = most[5] = 180; /* open ones may have been read before, or not yet */
    a = work_of(most);
    assert_false(work_smaller(&a, &b, true));
    assert_true(work_asked("workload.users") && work_asked("workload.decode_share"));
    assert_false(work_asked("workload.decode.max_context") || work_asked("workload.phase") ||
                 work_asked("tiers.cpu.capacity"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_differ_by_more_than_a_twentieth_and_chance),
        cmocka_unit_test(lookups_tell_where_they_are_counted_alike_and_few_requests_are_open),
        cmocka_unit_test(a_request_that_found_no_document_is_smaller),
        cmocka_unit_test(reads_of_the_decode_may_be_skipped),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("work", tests, NULL, NULL);
}
