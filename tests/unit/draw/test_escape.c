/* Texts from anywhere, made harmless. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/utf8.h"
#include "draw/escape.h"

static void assert_made(void (*make)(const char *, struct buf *), const char *text, const char *expected) {
    struct buf out = {0};
    make(text, &out);
    assert_string_equal(buf_text(&out), expected);
    buf_free(&out);
}

static void xml(void **state) {
    (void)state;
    assert_made(escape_xml, "<a href=\"x\" b='y'>&amp; ]]>",
                "&lt;a href=&quot;x&quot; b=&#39;y&#39;&gt;&amp;amp; ]]&gt;");
    assert_made(escape_xml, "a\tb\nc\r\nd\re", "a\tb\nc\nd\ne");
    assert_made(escape_xml, "\x01\x1b[31m\x7f\xc2\x9b", "\ufffd\ufffd[31m\ufffd\ufffd");
    assert_made(escape_xml, "\xff<\xc0\xaf\xed\xa0\x80", "\ufffd&lt;\ufffd\ufffd\ufffd\ufffd\ufffd");
    assert_made(escape_xml, "a\u202eb\u2066c\u200fd\ufeff\ufffe", "a\ufffdb\ufffdc\ufffdd\ufffd\ufffd");
    assert_made(escape_xml, "é € 𝄞 ع", "é € 𝄞 ع");
    assert_made(escape_xml, "\xe2\x82", "\ufffd\ufffd"); /* cut short */
}

static void cut(void **state) {
    struct buf out = {0};
    (void)state;
    escape_xml_cut("<<<<", 4, &out);
    assert_string_equal(buf_text(&out), "&lt;&lt;&lt;&lt;");
    buf_free(&out);
    escape_xml_cut("äöü<", 3, &out);
    assert_string_equal(buf_text(&out), "äö…");
    buf_free(&out);
    escape_xml_cut("", 3, &out);
    assert_int_equal(out.len, 0);
}

static void markdown(void **state) {
    (void)state;
    assert_made(escape_markdown, "throughput_tok_s of llama3.1-8b, 50 %",
                "throughput_tok_s of llama3.1-8b, 50 %");
    assert_made(escape_markdown, "_a_ *b* `c` [d](e) ~f~ |g| $h$ \\",
                "\\_a\\_ \\*b\\* \\`c\\` \\[d\\](e) \\~f\\~ \\|g\\| \\$h\\$ \\\\");
    assert_made(escape_markdown, "<b>&lt; 1 < 2 & 3 >", "&lt;b\\>&amp;lt; 1 < 2 & 3 \\>");
    assert_made(escape_markdown, "# x", "\\# x");
    assert_made(escape_markdown, "- x - y", "\\- x - y");
    assert_made(escape_markdown, "12. x 3. y", "12\\. x 3. y");
    assert_made(escape_markdown, "1\n2\tz", "1 2 z");
    assert_made(escape_markdown, "see http://x and www.y @z", "see http&#58;//x and &#119;ww.y &#64;z");
}

static void plain(void **state) {
    struct buf out = {0};
    (void)state;
    escape_plain("a\nb\x1b[2J é", false, false, &out);
    assert_string_equal(buf_text(&out), "a b?[2J é");
    buf_free(&out);
    escape_plain("a\nb\x1b é", true, true, &out);
    assert_string_equal(buf_text(&out), "a\nb? ?");
    buf_free(&out);
}

/* Every text of two bytes is UTF-8 without control characters afterwards, and has no markup. */
static void any_bytes(void **state) {
    (void)state;
    for (unsigned i = 1; i < 65536; i++) {
        char text[3] = {(char)(i & 0xff), (char)(i >> 8), 0};
        struct buf out = {0};
        escape_xml(text, &out);
        for (const char *p = buf_text(&out); *p;) {
            int32_t ch = utf8_next(&p);
            assert_true(ch >= 0 && (!utf8_is_control(ch) || ch == '\n' || ch == '\t'));
            assert_true(ch != '<' && ch != '>' && ch != '"' && ch != '\'');
        }
        buf_free(&out);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(xml),   cmocka_unit_test(cut),       cmocka_unit_test(markdown),
        cmocka_unit_test(plain), cmocka_unit_test(any_bytes),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("escape", tests, NULL, NULL);
}
