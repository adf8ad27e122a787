#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <locale.h>
#include <string.h>

#include "ui/keyboard.h"
#include "ui/prompt.h"

static void type(struct prompt *p, const int *codes, size_t count) {
    for (size_t i = 0; i < count; i++) assert_int_equal(prompt_key(p, codes[i]), PROMPT_GOES_ON);
}
#define TYPE(p, ...) type(p, (const int[]){__VA_ARGS__}, sizeof(int[]){__VA_ARGS__} / sizeof(int))

static void test_typing(void **state) {
    (void)state;
    struct prompt p;

    prompt_start(&p, "Note", NULL);
    assert_string_equal(p.question, "Note");
    assert_string_equal(p.text, "");
    TYPE(&p, 'h', 0xe9, 0x4e2d, 0x1f600, ' ', '!');
    assert_string_equal(p.text, "h\u00e9\u4e2d\U0001f600 !");
    TYPE(&p, KEY_CODE_BACKSPACE, KEY_CODE_BACKSPACE, KEY_CODE_BACKSPACE);
    assert_string_equal(p.text, "h\u00e9\u4e2d");
    TYPE(&p, KEY_CODE_BACKSPACE);
    assert_string_equal(p.text, "h\u00e9");
    TYPE(&p, KEY_CODE_BACKSPACE, KEY_CODE_BACKSPACE, KEY_CODE_BACKSPACE);
    assert_string_equal(p.text, "");
    TYPE(&p, 'a', 'b', 21);
    assert_string_equal(p.text, "");
    TYPE(&p, 'e', 0x301, 0x302, KEY_CODE_BACKSPACE);
    assert_string_equal(p.text, "");
    TYPE(&p, 'o', 'k');
    assert_int_equal(prompt_key(&p, KEY_CODE_ENTER), PROMPT_DONE);
    assert_string_equal(p.text, "ok");
    assert_non_null(p.question);
    prompt_end(&p);
    assert_null(p.question);
    assert_string_equal(p.text, "");
}

static void test_left_out(void **state) {
    (void)state;
    struct prompt p;

    prompt_start(&p, "Filter", "was");
    TYPE(&p, 0, -1, 1, 9, 0x85, 0xd800, 0x110000, KEY_CODE_UP, KEY_CODE_DELETE, KEY_CODE_MOUSE,
         KEY_CODE_OTHER, KEY_CODE_REDRAW, KEY_CODE_SUSPEND);
    assert_string_equal(p.text, "was");
    assert_int_equal(prompt_key(&p, KEY_CODE_ESCAPE), PROMPT_DROPPED);
    assert_int_equal(prompt_key(&p, KEY_CODE_INTERRUPT), PROMPT_DROPPED);
    assert_string_equal(p.question, "Filter");
}

static void test_room(void **state) {
    (void)state;
    struct prompt p;
    char text[3 * PROMPT_LEN];

    prompt_start(&p, "Note", "");
    for (int i = 0; i < PROMPT_LEN - 3; i++) TYPE(&p, 'x');
    assert_int_equal(strlen(p.text), PROMPT_LEN - 3);
    /* Two bytes of room: not for three, for two, and then for none. */
    TYPE(&p, 0x4e2d);
    assert_int_equal(strlen(p.text), PROMPT_LEN - 3);
    TYPE(&p, 0xe9, 'y');
    assert_int_equal(strlen(p.text), PROMPT_LEN - 1);
    assert_string_equal(p.text + PROMPT_LEN - 3, "\u00e9");

    /* A text to begin with is cut between characters: 53 of three bytes. */
    text[0] = '\0';
    for (int i = 0; i < 80; i++) strcat(text, "\u4e2d");
    prompt_start(&p, "Note", text);
    assert_int_equal(strlen(p.text), 53 * 3);
    assert_memory_equal(p.text, text, 53 * 3);
    prompt_start(&p, "Note",
                 "a\xff"
                 "b\n"
                 "c");
    assert_string_equal(p.text, "abc");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_typing),
    cmocka_unit_test(test_left_out),
    cmocka_unit_test(test_room),
};

int main(void) {
    if (!setlocale(LC_CTYPE, "C.UTF-8")) return 77;
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("prompt", tests, NULL, NULL);
}
