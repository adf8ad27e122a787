/* The board of a study: how much of it is done, which point is best, and copies that are brought up to date.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "record/board.h"

static struct board_head head_of(const char *metric, size_t expected) {
    struct board_head h = {.kind = "sweep", .point = "point", .measures = 1, .ranked = true};
    snprintf(h.measure[0].name, sizeof h.measure[0].name, "%s", metric);
    h.expected = expected;
    return h;
}

static void put(struct board *b, size_t i, enum outcome_state state, double weight, double value) {
    struct board_row r = board_row_new("here");
    r.state = state;
    r.weight = weight;
    r.value[0] = value;
    board_row(b, i, &r);
}

static void test_done_by_weight(void **state) {
    (void)state;
    struct board *b = board_new();
    struct board_view v = {.rows = 0};
    struct board_head h = head_of("throughput_tok_s", 4);
    board_head(b, &h);
    put(b, 0, OUTCOME_DONE, 30, 1);
    put(b, 1, OUTCOME_RUNS, 50, NAN);
    put(b, 2, OUTCOME_FAILED, 10, NAN);
    put(b, 3, OUTCOME_WAITS, 10, NAN);
    board_share(b, 1, 0.5, "preparing");
    assert_true(board_copy(b, &v));
    assert_int_equal(v.rows, 4);
    assert_string_equal(v.row[1].note, "preparing");
    assert_float_equal(board_view_share(&v), 0.65, 1e-9); /* 30 + 25 + 10 of 100 */
    v.gone_s = 65;
    assert_float_equal(board_view_left_s(&v), 35, 1e-6);
    assert_int_equal(board_view_count(&v, OUTCOME_DONE), 1);
    board_view_free(&v);
    board_free(b);
}

/* Points that are still to come weigh 1, and nobody knows the end of a search. */
static void test_done_of_what_is_expected(void **state) {
    (void)state;
    struct board *b = board_new();
    struct board_view v = {.rows = 0};
    struct board_head h = head_of("throughput_tok_s", 10);
    board_head(b, &h);
    put(b, 0, OUTCOME_DONE, 1, 1);
    put(b, 1, OUTCOME_WAITS, 1, NAN);
    assert_true(board_copy(b, &v));
    assert_float_equal(board_view_share(&v), 0.1, 1e-9);
    h.expected = 0;
    board_head(b, &h);
    assert_true(board_copy(b, &v));
    assert_true(isnan(board_view_share(&v)));
    assert_true(isnan(board_view_left_s(&v)));
    board_end(b, RUN_COMPLETED, "found");
    assert_true(board_copy(b, &v));
    assert_float_equal(board_view_share(&v), 1, 0);
    assert_float_equal(board_view_left_s(&v), 0, 0);
    assert_string_equal(v.head.end, "found");
    board_view_free(&v);
    board_free(b);
}

static size_t best_of(const char *metric, bool ranked, double a, double b, double c) {
    struct board *board = board_new();
    struct board_view v = {.rows = 0};
    struct board_head h = head_of(metric, 3);
    h.ranked = ranked;
    board_head(board, &h);
    put(board, 0, OUTCOME_DONE, 1, a);
    put(board, 1, OUTCOME_DONE, 1, b);
    put(board, 2, OUTCOME_RUNS, 1, c);
    assert_true(board_copy(board, &v));
    size_t best = board_view_best(&v);
    board_view_free(&v);
    board_free(board);
    return best;
}

static void test_the_best_is_done_and_by_the_better_direction(void **state) {
    (void)state;
    assert_int_equal(best_of("throughput_tok_s", true, 10, 20, 30), 1);
    assert_int_equal(best_of("e2e_p95_ms", true, 10, 20, 1), 0);
    assert_int_equal(best_of("e2e_p95_ms", true, NAN, 20, 1), 1);
    assert_true(best_of("e2e_p95_ms", true, NAN, NAN, 1) == SIZE_MAX);
    assert_true(best_of("throughput_tok_s", false, 10, 20, 30) == SIZE_MAX);

    struct board *b = board_new();
    struct board_view v = {.rows = 0};
    struct board_head h = head_of("throughput_tok_s", 2);
    board_head(b, &h);
    put(b, 0, OUTCOME_DONE, 1, 10);
    struct board_row faster = board_row_new("less work");
    faster.state = OUTCOME_DONE;
    faster.value[0] = 20;
    faster.undone = true;
    board_row(b, 1, &faster);
    assert_true(board_copy(b, &v));
    assert_int_equal(board_view_best(&v), 0);
    board_view_free(&v);
    board_free(b);
}

static void test_a_copy_is_taken_when_something_is_new(void **state) {
    (void)state;
    struct board *b = board_new();
    struct board_view v = {.rows = 0};
    assert_true(board_copy(b, &v));
    assert_false(board_copy(b, &v));
    put(b, 0, OUTCOME_WAITS, 1, NAN);
    assert_true(board_copy(b, &v));
    assert_false(board_copy(b, &v));
    board_share(b, 7, 0.5, "no such row");
    (void)board_copy(b, &v);
    assert_int_equal(v.rows, 1);
    assert_false(board_stop_asked(b));
    board_stop(b);
    assert_true(board_stop_asked(b));
    board_view_free(&v);
    board_free(b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_done_by_weight),
        cmocka_unit_test(test_done_of_what_is_expected),
        cmocka_unit_test(test_the_best_is_done_and_by_the_better_direction),
        cmocka_unit_test(test_a_copy_is_taken_when_something_is_new),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("board", tests, NULL, NULL);
}
