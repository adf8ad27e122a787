#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "base/utf8.h"

/* By RFC 3629, section 4: which second byte may follow which first one, and how many follow. */
static bool wanted(const unsigned char *s, size_t *len) {
    unsigned char a = s[0], lo = 0x80, hi = 0xbf;
    if (a == 0xe0) lo = 0xa0;
    if (a == 0xed) hi = 0x9f;
    if (a == 0xf0) lo = 0x90;
    if (a == 0xf4) hi = 0x8f;
    *len = a < 0x80                 ? 1
           : a >= 0xc2 && a <= 0xdf ? 2
           : a >= 0xe0 && a <= 0xef ? 3
           : a >= 0xf0 && a <= 0xf4 ? 4
                                    : 0;
    if (*len == 0) return false;
    for (size_t i = 1; i < *len; i++) {
        if (s[i] < lo || s[i] > hi) return false;
        lo = 0x80;
        hi = 0xbf;
    }
    return true;
}

/* All two first bytes, with third and fourth bytes on both sides of what may follow. */
static void every_beginning(void **state) {
    (void)state;
    static const unsigned char more[] = {0, 'a', 0x7f, 0x80, 0xbf, 0xc0, 0xff};
    for (unsigned a = 1; a < 256; a++)
        for (unsigned b = 0; b < 256; b++)
            for (size_t c = 0; c < sizeof more; c++)
                for (size_t d = 0; d < sizeof more; d++) {
                    const unsigned char s[] = {(unsigned char)a, (unsigned char)b, more[c], more[d], 0};
                    const char *p = (const char *)s;
                    size_t len;
                    bool good = wanted(s, &len);
                    int32_t ch = utf8_next(&p);
                    assert_int_equal(ch >= 0, good);
                    assert_int_equal(p - (const char *)s, good ? len : 1);
                }
}

static void code_points_return(void **state) {
    (void)state;
    char text[UTF8_LEN + 1];
    for (int32_t ch = 1; ch <= 0x110000; ch++) {
        size_t len = utf8_put((uint32_t)ch, text);
        bool none = ch > 0x10ffff || (ch >= 0xd800 && ch < 0xe000);
        assert_int_equal(len == 0, none);
        if (none) continue;
        text[len] = '\0';
        const char *p = text;
        assert_int_equal(utf8_next(&p), ch);
        assert_ptr_equal(p, text + len);
    }
}

static void cleaned(const char *text, const char *want) {
    char copy[64];
    assert_int_equal(utf8_is_plain(text), strcmp(text, want) == 0);
    strcpy(copy, text);
    utf8_clean(copy);
    assert_string_equal(copy, want);
    assert_true(utf8_is_plain(copy));
}

static void nothing_that_a_terminal_obeys(void **state) {
    (void)state;
    cleaned("", "");
    cleaned("plain text ~", "plain text ~");
    cleaned("\xc2\xa0\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc2\xa0\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
    cleaned("a\tb\nc\x1b[2J\x7f", "a?b?c?[2J?");
    cleaned("\xc2\x9b"
            "31m",
            "??31m"); /* U+009B, CSI in one character */
    cleaned("\xff\xc0\x80x\xed\xa0\x80", "???x???");
    cleaned("cut \xe2\x82", "cut ??");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_beginning),
        cmocka_unit_test(code_points_return),
        cmocka_unit_test(nothing_that_a_terminal_obeys),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("utf8", tests, NULL, NULL);
}
