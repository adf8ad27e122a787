#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/nearest.h"

static void distances_by_hand(void **state) {
    static const struct {
        const char *a, *b;
        unsigned edits;
    } pairs[] = {
        {"", "", 0},
        {"", "abc", 3},
        {"abc", "", 3},
        {"kitten", "sitting", 3},
        {"users", "users", 0},
        {"usres", "users", 1},
        {"uesr", "users", 2},
        {"CPU", "cpu", 0},
        {"capcity", "capacity", 1},
        {"ca", "abc", 3}, /* aligned: no letter is edited twice */
    };
    (void)state;

    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        assert_int_equal(nearest_distance(pairs[i].a, pairs[i].b), pairs[i].edits);
        assert_int_equal(nearest_distance(pairs[i].b, pairs[i].a), pairs[i].edits);
    }
}

static void long_words_are_cut(void **state) {
    char a[300], b[300];
    (void)state;

    memset(a, 'a', sizeof a);
    memset(b, 'b', sizeof b);
    a[299] = b[299] = '\0';
    assert_int_equal(nearest_distance(a, a), 0);
    assert_int_equal(nearest_distance(a, b), 95);
    assert_int_equal(nearest_distance(a, ""), 95);
}

static void nearest_of_those_offered(void **state) {
    (void)state;

    struct nearest n = nearest_start("llama3-8b");
    assert_null(n.best);
    nearest_offer(&n, "tiny-1b"); /* farther than a third of its length */
    assert_null(n.best);
    n = nearest_start("assert");
    nearest_offer(&n, "users"); /* three edits of six letters are another word */
    assert_null(n.best);
    n = nearest_start("llama3-8b");
    nearest_offer(&n, "llama2-7b"); /* two edits */
    assert_string_equal(n.best, "llama2-7b");
    nearest_offer(&n, "llama3.1-8b"); /* two as well, but it begins alike for longer */
    nearest_offer(&n, "llama3.2-3b");
    assert_string_equal(n.best, "llama3.1-8b");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distances_by_hand),
        cmocka_unit_test(long_words_are_cut),
        cmocka_unit_test(nearest_of_those_offered),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("nearest", tests, NULL, NULL);
}
