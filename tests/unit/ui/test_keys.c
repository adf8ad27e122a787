#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/keyboard.h"
#include "ui/panel/panels.h"

/* The meaning of each key. */
static void test_meanings(void **state) {
    (void)state;
    static const struct {
        int code;
        enum action action;
    } want[] = {
        {'0', ACTION_VIEW},
        {'n', ACTION_VIEW},
        {'b', ACTION_EVIDENCE},
        {'i', ACTION_WINDOW},
        {'?', ACTION_HELP},
        {KEY_CODE_ENTER, ACTION_OPEN},
        {KEY_CODE_ESCAPE, ACTION_CLOSE},
        {':', ACTION_COMMAND},
        {'S', ACTION_SAVE_SVG},
        {'h', ACTION_BACK},
        {'j', ACTION_DOWN},
        {'k', ACTION_UP},
        {'l', ACTION_FORWARD},
        {9, ACTION_VIEW_NEXT},
        {KEY_CODE_BACK_TAB, ACTION_VIEW_PREVIOUS},
        {' ', ACTION_PAUSE},
        {'+', ACTION_USERS_MORE},
        {'=', ACTION_USERS_MORE},
        {'-', ACTION_USERS_LESS},
        {']', ACTION_USERS_DOUBLE},
        {'[', ACTION_USERS_HALVE},
        {'>', ACTION_SPEED_DOUBLE},
        {'<', ACTION_SPEED_HALVE},
        {'f', ACTION_SPEED_FREE},
        {'g', ACTION_GENERATION},
        {'a', ACTION_AUTOSCALER},
        {'m', ACTION_MARK},
        {'s', ACTION_SAVE},
        {'p', ACTION_FREEZE},
        {'z', ACTION_ZOOM_OUT},
        {'Z', ACTION_ZOOM_IN},
        {'e', ACTION_HEAT},
        {'c', ACTION_SCHEME},
        {'/', ACTION_FILTER},
        {'o', ACTION_SORT},
        {'O', ACTION_SORT_REVERSE},
        {KEY_CODE_UP, ACTION_UP},
        {KEY_CODE_DOWN, ACTION_DOWN},
        {KEY_CODE_PAGE_UP, ACTION_PAGE_UP},
        {KEY_CODE_PAGE_DOWN, ACTION_PAGE_DOWN},
        {KEY_CODE_LEFT, ACTION_BACK},
        {KEY_CODE_RIGHT, ACTION_FORWARD},
        {KEY_CODE_SHIFT_LEFT, ACTION_BACK_TEN},
        {KEY_CODE_SHIFT_RIGHT, ACTION_FORWARD_TEN},
        {KEY_CODE_HOME, ACTION_FIRST},
        {KEY_CODE_END, ACTION_LAST},
        {'t', ACTION_GO_TO},
        {12, ACTION_REDRAW},
        {26, ACTION_SUSPEND},
        {'q', ACTION_QUIT},
        {3, ACTION_QUIT},
        {28, ACTION_ABORT},
    };
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        const struct key_entry *k = keyboard_find(want[i].code);

        assert_non_null(k);
        assert_int_equal(k->code, want[i].code);
        assert_int_equal(k->action, want[i].action);
    }
    for (int view = 0; view < 9; view++) {
        const struct key_entry *k = keyboard_find('1' + view);

        assert_non_null(k);
        assert_int_equal(k->action, ACTION_VIEW);
        assert_int_equal(k->number, view);
    }
    assert_int_equal(keyboard_count, sizeof want / sizeof want[0] + 9);
}

static void test_others_mean_nothing(void **state) {
    (void)state;
    static const int codes[] = {0, -1, 'Q', 0xe9, 0x10ffff, KEY_CODE_FIRST, KEY_CODE_OTHER, 127, 'x'};

    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) assert_null(keyboard_find(codes[i]));
}

/* No key twice, every action under some key, names and phrases fit to be printed; a key without a phrase
 * does the same as the one before it. */
static void test_table(void **state) {
    (void)state;
    bool seen[ACTIONS] = {false};

    for (size_t i = 0; i < keyboard_count; i++) {
        const struct key_entry *k = &keyboard[i];

        assert_true(strlen(k->name) > 0 && !strchr(k->name, ','));
        assert_true(k->action > ACTION_NONE && k->action < ACTIONS);
        seen[k->action] = true;
        for (size_t j = 0; j < i; j++) {
            assert_int_not_equal(keyboard[j].code, k->code);
            assert_string_not_equal(keyboard[j].name, k->name);
        }
        if (k->help) {
            assert_in_range(strlen(k->help), 5, 60);
            assert_null(strpbrk(k->help, "\n\t"));
        } else {
            assert_true(i > 0);
            assert_int_equal(keyboard[i - 1].action, k->action);
            assert_int_equal(keyboard[i - 1].number, k->number);
        }
    }
    for (int a = ACTION_NONE + 1; a < ACTIONS; a++) assert_true(seen[a]);
}

/* Two blanks, the keys, and the phrase in the same column of every line, within 80 columns. */
static void test_text(void **state) {
    (void)state;
    struct buf b = {0};
    size_t lines = 0, phrases = 0, column = 0;
    char *at, *line;

    keyboard_text(&b);
    assert_non_null(b.data);
    assert_int_equal(b.data[b.len - 1], '\n');
    assert_non_null(strstr(b.data, "\n  ?            help, and back\n"));
    assert_non_null(strstr(b.data, "\n  +, =         a tenth more users\n"));
    assert_non_null(strstr(b.data, "\n  shift-right  ten intervals forward\n"));
    for (line = strtok_r(b.data, "\n", &at); line; line = strtok_r(NULL, "\n", &at)) {
        char *keys = line + 2;
        char *gap = strstr(keys, "  ");

        assert_memory_equal(line, "  ", 2);
        assert_true(*keys != ' ');
        assert_non_null(gap);
        gap += strspn(gap, " ");
        if (!column) column = (size_t)(gap - line);
        assert_int_equal(gap - line, column);
        assert_true(strlen(line) < 80);
        lines++;
    }
    for (size_t i = 0; i < keyboard_count; i++) phrases += keyboard[i].help != NULL;
    assert_int_equal(lines, phrases);
    buf_free(&b);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_meanings),
    cmocka_unit_test(test_others_mean_nothing),
    cmocka_unit_test(test_table),
    cmocka_unit_test(test_text),
};

int main(void) {
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("keys", tests, NULL, NULL);
}
