#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "probe/library.h"

struct calls {
    double (*cos)(double x);
    void (*missing)(void);
};
static const struct library_call calls[] = {
    LIBRARY_CALL(struct calls, cos, "cos"),
    LIBRARY_CALL(struct calls, missing, "no_such_call", .optional = true)};
static const struct library l = {.file = "libm.so.6",
                                 .what = "libm",
                                 .install = "install it",
                                 .call = calls,
                                 .calls = sizeof calls / sizeof *calls};
static int judged, verdict;

static int judge(void *table, struct err *e) {
    const struct calls *c = table;
    judged++;
    assert_true(c->cos(0) == 1 && !c->missing);
    return verdict ? err_set(e, KVF_ERR_UNAVAILABLE, "it is no good") : 0;
}

static void test_one_that_is_kept_is_loaded_and_judged_once(void **state) {
    (void)state;
    struct library_kept kept = LIBRARY_KEPT;
    struct calls table = {0};
    struct err e = {0};
    verdict = -1;
    assert_int_equal(library_keep(&kept, &l, &table, judge, &e), -KVF_ERR_UNAVAILABLE);
    assert_string_equal(e.text, "it is no good");
    verdict = 0;
    e = (struct err){0};
    for (int i = 0; i < 3; i++) assert_int_equal(library_keep(&kept, &l, &table, judge, &e), 0);
    assert_int_equal(judged, 2);
    assert_true(table.cos(0) == 1);
}

static void test_one_that_is_not_there_says_how_to_get_it(void **state) {
    (void)state;
    struct library_kept kept = LIBRARY_KEPT;
    struct library missing = l;
    struct calls table;
    struct err e = {0};
    missing.file = "libkvfall-has-no-such.so.1";
    assert_int_equal(library_keep(&kept, &missing, &table, judge, &e), -KVF_ERR_UNAVAILABLE);
    assert_non_null(strstr(e.text, "; install it"));
    static const struct library_call wanted[] = {LIBRARY_CALL(struct calls, missing, "no_such_call")};
    missing =
        (struct library){.file = l.file, .what = l.what, .install = l.install, .call = wanted, .calls = 1};
    e = (struct err){0};
    assert_int_equal(library_keep(&kept, &missing, &table, NULL, &e), -KVF_ERR_UNAVAILABLE);
    assert_string_equal(e.text, "libm.so.6 lacks no_such_call; install it");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_that_is_kept_is_loaded_and_judged_once),
        cmocka_unit_test(test_one_that_is_not_there_says_how_to_get_it),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("library", tests, NULL, NULL);
}
