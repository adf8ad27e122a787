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

static void cleaned(const char *text, unsigned how, const char *want) {
    char copy[64];
    if (how == 0) assert_int_equal(utf8_is_plain(text), strcmp(text, want) == 0);
    strcpy(copy, text);
    assert_int_equal(utf8_clean(copy, how), strlen(want));
    assert_string_equal(copy, want);
    assert_true(how & UTF8_LINES || utf8_is_plain(copy));
}

static void nothing_that_a_terminal_obeys(void **state) {
    (void)state;
    cleaned("", 0, "");
    cleaned("plain text ~", 0, "plain text ~");
    cleaned("\xc2\xa0\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", 0,
            "\xc2\xa0\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
    cleaned("a\tb\nc\x1b[2J\x7f", 0, "a?b?c?[2J?");
    cleaned("\xc2\x9b"
            "31m",
            0, "?31m"); /* CSI in one character */
    cleaned("\xff\xc0\x80x\xed\xa0\x80", 0, "???x???");
    cleaned("cut \xe2\x82", 0, "cut ??");
}

static void nothing_that_turns_or_hides_a_text(void **state) {
    (void)state;
    cleaned("a\u202eb\u2066c\u200fd\u061ce", 0, "a?b?c?d?e");
    cleaned("one\u2028two\u2029three", 0, "one?two?three");
    cleaned("one\u2028two\u2029three", UTF8_LINES, "one?two?three");
    cleaned("\ufeff\ufdd0\uffff\U0001fffe", 0, "????");
    cleaned("e\xcc\x81 \xe0\xa5\x8d\u200d", 0,
            "e\xcc\x81 \xe0\xa5\x8d\u200d"); /* joins letters of a script */
}

static void lines_stay_where_they_may(void **state) {
    (void)state;
    cleaned("a\tb\r\nc\rd\n\x1b[m\xc2\x9b", UTF8_LINES, "a\tb\r\nc?d\n?[m?");
    cleaned("gr\xc3\xbc\xc3\x9f\u202e \xff", UTF8_ASCII, "gr??? ?");
    cleaned("\xc3\xa9\n", UTF8_LINES | UTF8_ASCII, "?\n");
}

/* Each character alone, in every way, against the classes of Unicode's tables worked out by hand. */
static void every_character(void **state) {
    (void)state;
    static const struct {
        int32_t from, to;
    } harmful[] = {{1, 0x1f},        {0x7f, 0x9f},     {0x61c, 0x61c},   {0x200e, 0x200f},
                   {0x2028, 0x202e}, {0x2066, 0x2069}, {0xfdd0, 0xfdef}, {0xfeff, 0xfeff}};
    for (int32_t ch = 1; ch <= 0x10ffff; ch++) {
        char text[UTF8_LEN + 1] = {0};
        bool wrong = (ch & 0xffff) >= 0xfffe;
        if (!utf8_put((uint32_t)ch, text)) continue;
        for (size_t i = 0; i < sizeof harmful / sizeof *harmful; i++)
            wrong |= ch >= harmful[i].from && ch <= harmful[i].to;
        assert_int_equal(utf8_is_plain(text), !wrong);
        utf8_clean(text, 0);
        assert_int_equal(strcmp(text, "?") == 0, wrong || ch == '?');
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_beginning),
        cmocka_unit_test(code_points_return),
        cmocka_unit_test(nothing_that_a_terminal_obeys),
        cmocka_unit_test(nothing_that_turns_or_hides_a_text),
        cmocka_unit_test(lines_stay_where_they_may),
        cmocka_unit_test(every_character),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("utf8", tests, NULL, NULL);
}
