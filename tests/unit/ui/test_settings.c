#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "ui/settings.h"

static const char *text(const struct settings *s, enum setting id) {
    static char out[200];
    return setting_text(s, id, out, sizeof out);
}

static void every_word_is_taken_and_given_back(void **state) {
    (void)state;
    for (int id = 0; id < SETTINGS; id++) {
        char word[40];
        int words = 0;
        for (; setting_word((enum setting)id, words, word, sizeof word); words++) {
            struct settings s = settings_default();
            assert_null(strchr(word, ' '));
            assert_true(setting_set(&s, (enum setting)id, word));
            assert_string_equal(text(&s, (enum setting)id), word);
        }
        assert_true(words >= 3);
        assert_int_equal(setting_find(setting_name((enum setting)id)), id);
    }
    assert_int_equal(setting_find("colour"), SETTINGS);
}

static void what_is_no_value_changes_nothing(void **state) {
    (void)state;
    static const char *const wrong[] = {"", "nonsense", "age,nonsense", "--age", "Dark", ","};
    for (int id = 0; id < SETTINGS; id++)
        for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
            struct settings s = settings_default(), before = s;
            assert_false(setting_set(&s, (enum setting)id, wrong[i]));
            assert_memory_equal(&s, &before, sizeof s);
        }
}

static void columns_and_spans_may_be_written_with_blanks(void **state) {
    (void)state;
    struct settings s = settings_default();
    assert_string_equal(text(&s, SETTING_COLUMNS), "all");
    assert_string_equal(text(&s, SETTING_SORT), "-age");
    assert_string_equal(text(&s, SETTING_THEME), ""); /* the terminal decides */
    assert_true(setting_set(&s, SETTING_COLUMNS, " age, user ,class"));
    assert_string_equal(text(&s, SETTING_COLUMNS), "user,class,age");
    assert_true(setting_set(&s, SETTING_WINDOW, "60 s"));
    assert_int_equal(s.window, WINDOWS_MINUTE);
}

static void a_refusal_lists_what_may_be(void **state) {
    (void)state;
    char out[300];
    assert_string_equal(setting_refusal(SETTING_WINDOW, "5s", out, sizeof out),
                        "window is 1s, 10s, 60s or run, not \"5s\"");
    setting_refusal(SETTING_SORT, "x", out, 20); /* cut, and still a text */
    assert_true(strlen(out) < 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_word_is_taken_and_given_back),
        cmocka_unit_test(what_is_no_value_changes_nothing),
        cmocka_unit_test(columns_and_spans_may_be_written_with_blanks),
        cmocka_unit_test(a_refusal_lists_what_may_be),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("settings", tests, NULL, NULL);
}
