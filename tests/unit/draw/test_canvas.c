#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <limits.h>
#include <locale.h>
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "draw/canvas.h"
#include "draw/term_look.h"

static const struct style utf8 = {.ascii = false, .scheme = SCHEME_DARK};
static const struct style ascii = {.ascii = true, .scheme = SCHEME_MONO};

static void expect_text(const struct canvas *c, const char *want) {
    struct buf out = {0};
    canvas_text(c, &out);
    assert_string_equal(buf_text(&out), want);
    buf_free(&out);
}

/* Each right half has a wide character before it, and the other way round. */
static void expect_sound(const struct canvas *c) {
    for (int row = 0; row < c->rows; row++)
        for (int col = 0; col < c->cols; col++) {
            uint32_t ch = canvas_cell(c, row, col)->ch;
            if (ch == 0) {
                assert_true(col > 0);
                assert_int_equal(utf8_width(canvas_cell(c, row, col - 1)->ch), 2);
            } else if (utf8_width(ch) == 2) {
                assert_true(col + 1 < c->cols);
                assert_int_equal(canvas_cell(c, row, col + 1)->ch, 0);
            }
        }
}

static void test_sizes(void **state) {
    (void)state;
    struct canvas c;

    canvas_init(&c, 0, -5, utf8);
    assert_int_equal(c.rows, 1);
    assert_int_equal(c.cols, 1);
    canvas_resize(&c, INT_MAX, INT_MAX);
    assert_int_equal(c.rows, CANVAS_ROWS_MAX);
    assert_int_equal(c.cols, CANVAS_COLS_MAX);
    assert_int_equal(canvas_cell(&c, CANVAS_ROWS_MAX - 1, CANVAS_COLS_MAX - 1)->ch, ' ');
    struct pane w = pane_whole(&c);
    (void)pane_text(&w, 0, 0, TONE_BAD, "here");
    pane_hot(&w, 0, 0, 1, 1, 'x');
    canvas_resize(&c, 2, 3);
    expect_text(&c, "\n\n");
    assert_int_equal(canvas_cell(&c, 0, 0)->tone, TONE_NORMAL);
    assert_int_equal(canvas_hot_at(&c, 0, 0), 0);
    assert_int_equal(canvas_cell(&c, 2, 0)->ch, ' ');
    assert_int_equal(canvas_cell(&c, 0, -1)->ch, ' ');
    canvas_free(&c);
    canvas_free(&c);
}

/* A screen that is resized while memory is hard to get asks for none. */
static void test_reserved(void **state) {
    (void)state;
    static const int sizes[][2] = {{60, 200}, {512, 1024}, {1, 1}, {128, 512}, {24, 80}};
    struct canvas c;

    canvas_init(&c, 24, 80, utf8);
    canvas_reserve(&c);
    const struct cell *cells = c.cells;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        canvas_resize(&c, sizes[i][0], sizes[i][1]);
        assert_ptr_equal(c.cells, cells);
        assert_int_equal(canvas_cell(&c, sizes[i][0] - 1, sizes[i][1] - 1)->ch, ' ');
    }
    canvas_free(&c);
}

static void test_text_at_edges(void **state) {
    (void)state;
    struct canvas c;
    canvas_init(&c, 3, 8, utf8);
    struct pane w = pane_whole(&c);

    assert_int_equal(pane_text(&w, 0, 0, TONE_GOOD, "abc"), 3);
    assert_int_equal(pane_text(&w, 0, 6, TONE_BAD, "wxyz"), 2);
    assert_int_equal(pane_text(&w, 1, -2, TONE_BAD, "12345"), 5);
    assert_int_equal(pane_text(&w, 1, 8, TONE_BAD, "no"), 0);
    assert_int_equal(pane_text(&w, 3, 0, TONE_BAD, "no"), 0);
    assert_int_equal(pane_text(&w, -1, 0, TONE_BAD, "no"), 0);
    assert_int_equal(pane_text(&w, 2, INT_MIN, TONE_BAD, "no"), 2);
    assert_int_equal(pane_text(&w, 2, INT_MAX, TONE_BAD, "no"), 0);
    assert_int_equal(pane_textf(&w, 2, 1, TONE_DIM, "%d of %s", 7, "9"), 6);
    expect_text(&c, "abc   wx\n345\n 7 of 9\n");
    assert_int_equal(canvas_cell(&c, 0, 2)->tone, TONE_GOOD);
    assert_int_equal(canvas_cell(&c, 0, 3)->tone, TONE_NORMAL);
    assert_int_equal(canvas_cell(&c, 0, 7)->tone, TONE_BAD);
    canvas_free(&c);
}

static void test_panes_cut(void **state) {
    (void)state;
    struct canvas c;
    canvas_init(&c, 4, 10, utf8);
    struct pane w = pane_whole(&c);
    struct pane in = pane_part(&w, 1, 2, 2, 5);
    struct pane corner = pane_part(&in, 1, 3, 100, 100);
    struct pane rest = pane_part(&in, 1, 1, -1, -1);

    assert_int_equal(corner.at.row, 2);
    assert_int_equal(corner.at.col, 5);
    assert_int_equal(corner.at.rows, 1);
    assert_int_equal(corner.at.cols, 2);
    assert_int_equal(rest.at.rows, 1);
    assert_int_equal(rest.at.cols, 4);
    pane_fill(&in, TONE_CPU, '.');
    assert_int_equal(pane_text(&in, 0, 3, TONE_CPU, "over the edge"), 2);
    assert_int_equal(pane_text(&corner, 0, -1, TONE_CPU, "cut"), 3);
    expect_text(&c, "\n  ...ov\n  ...ut\n\n");

    struct pane left = pane_part(&w, -2, -3, 3, 5);
    assert_int_equal(left.at.row, 0);
    assert_int_equal(left.at.rows, 1);
    assert_int_equal(left.at.cols, 2);
    struct pane all = pane_part(&w, -2, -3, -1, -1);
    assert_int_equal(all.at.rows, 4);
    assert_int_equal(all.at.cols, 10);
    const struct rect far[] = {{4, 0, 1, 1},       {0, 10, 1, 1}, {-3, 0, 3, 9},           {0, 0, 0, 4},
                               {0, 0, INT_MIN, 4}, {0, -9, 4, 9}, {INT_MAX, 0, INT_MAX, 1}};
    for (size_t i = 0; i < sizeof far / sizeof far[0]; i++) {
        struct pane none = pane_at(&c, far[i]);
        assert_true(pane_empty(&none));
        assert_int_equal(pane_text(&none, 0, 0, TONE_BAD, "no"), 0);
        assert_int_equal(pane_clip(&none, 0, 0, 9, TONE_BAD, "no"), 0);
        assert_int_equal(pane_wrap(&none, 0, TONE_BAD, "no"), 0);
        pane_glyph(&none, 0, 0, TONE_BAD, '!');
        pane_fill(&none, TONE_BAD, '!');
        pane_tone(&none, 0, 0, 9, TONE_BAD);
        pane_hot(&none, 0, 0, 1, 1, 'n');
    }
    struct pane huge = pane_at(&c, (struct rect){INT_MIN, INT_MIN, INT_MAX, INT_MAX});
    assert_true(pane_empty(&huge));
    huge = pane_at(&c, (struct rect){1, 1, INT_MAX, INT_MAX});
    assert_int_equal(huge.at.rows, 3);
    assert_int_equal(huge.at.cols, 9);
    expect_text(&c, "\n  ...ov\n  ...ut\n\n");
    assert_int_equal(c.hots, 0);
    canvas_free(&c);
}

static void test_wide(void **state) {
    (void)state;
    struct canvas c;
    canvas_init(&c, 3, 6, utf8);
    struct pane w = pane_whole(&c);

    assert_int_equal(canvas_text_columns("a\u4e2db"), 4);
    assert_int_equal(pane_text(&w, 0, 0, TONE_GOOD, "a\u4e2d\u6587x"), 6);
    assert_int_equal(canvas_cell(&c, 0, 1)->ch, 0x4e2d);
    assert_int_equal(canvas_cell(&c, 0, 2)->ch, 0);
    assert_int_equal(canvas_cell(&c, 0, 2)->tone, TONE_GOOD);
    /* Half of one does not fit at either edge: a blank. */
    assert_int_equal(pane_text(&w, 1, 5, TONE_NORMAL, "\u4e2d"), 1);
    assert_int_equal(pane_text(&w, 1, -1, TONE_NORMAL, "\u4e2db"), 3);
    expect_text(&c, "a\u4e2d\u6587x\n b\n\n");
    expect_sound(&c);
    /* Drawing over either half leaves no half behind. */
    pane_glyph(&w, 0, 2, TONE_NORMAL, '-');
    expect_text(&c, "a -\u6587x\n b\n\n");
    pane_glyph(&w, 0, 3, TONE_NORMAL, '+');
    expect_text(&c, "a -+ x\n b\n\n");
    (void)pane_text(&w, 2, 0, TONE_NORMAL, "\u4e2d\u4e2d\u4e2d");
    (void)pane_text(&w, 2, 1, TONE_NORMAL, "\u6587\u6587");
    expect_text(&c, "a -+ x\n b\n \u6587\u6587\n");
    expect_sound(&c);
    struct pane part = pane_part(&w, 2, 2, 1, 2);
    pane_fill(&part, TONE_NORMAL, '=');
    expect_text(&c, "a -+ x\n b\n  ==\n");
    pane_glyph(&w, 0, 0, TONE_NORMAL, 0x4e2d);
    assert_int_equal(canvas_cell(&c, 0, 0)->ch, '?');
    expect_sound(&c);
    canvas_free(&c);
}

static void test_odd_text(void **state) {
    (void)state;
    struct canvas c;
    canvas_init(&c, 2, 40, utf8);
    struct pane w = pane_whole(&c);
    /* A text and its picture: marks that join others take no place of their own. */
    static const char *const cases[][2] = {
        {"e\u0301t\u0301e", "ete"},
        {"a\tb\x01"
         "c\x7f",
         "a?b?c?"},
        {"x\xffy", "x?y"},
        {"\xc0\xaf", "??"},
        {"\xe0\x80\x80", "???"},
        {"\xed\xa0\x80", "???"},
        {"\xf4\x90\x80\x80", "????"},
        {"\xe4\xb8", "??"},
        {"\xf0\x9f\x98", "???"},
        {"\x80\xbf", "??"},
        {"\xc2\x85z", "?z"},
        {"\xe4\xb8"
         "a",
         "??a"},
        {"\u2588\u28ff\u00b7", "\u2588\u28ff\u00b7"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char want[64];
        canvas_clear(&c);
        int cols = pane_text(&w, 0, 0, TONE_NORMAL, cases[i][0]);
        assert_int_equal(cols, canvas_text_columns(cases[i][0]));
        assert_int_equal(cols, canvas_text_columns(cases[i][1]));
        strcat(strcpy(want, cases[i][1]), "\n\n");
        expect_text(&c, want);
    }
    canvas_free(&c);
}

static void test_ascii(void **state) {
    (void)state;
    struct canvas c;
    canvas_init(&c, 3, 12, ascii);
    struct pane w = pane_whole(&c);

    /* As wide as in UTF-8, so that what stands behind does not move. */
    assert_int_equal(pane_text(&w, 0, 0, TONE_NORMAL, "5 \u2192 \u4e2de\u0301"), 7);
    assert_int_equal(canvas_text_columns("5 \u2192 \u4e2de\u0301"), 7);
    assert_int_equal(pane_clip(&w, 1, 0, 5, TONE_NORMAL, "too long"), 5);
    pane_glyph(&w, 2, 0, TONE_NORMAL, 0x2588);
    expect_text(&c, "5 ? ??e\ntoo ~\n?\n");
    canvas_free(&c);
}

static void test_right_and_clip(void **state) {
    (void)state;
    struct canvas c;
    canvas_init(&c, 8, 8, utf8);
    struct pane w = pane_whole(&c);

    assert_int_equal(pane_right(&w, 0, 8, TONE_NORMAL, "abc"), 5);
    assert_int_equal(pane_right(&w, 1, 3, TONE_NORMAL, "abcdef"), 0);
    assert_int_equal(pane_right(&w, 2, 3, TONE_NORMAL, "\u4e2d\u6587"), 0);
    assert_int_equal(pane_right(&w, 2, INT_MIN, TONE_NORMAL, "no"), 0);
    assert_int_equal(pane_clip(&w, 3, 1, 4, TONE_NORMAL, "abcd"), 4);
    assert_int_equal(pane_clip(&w, 4, 1, 4, TONE_NORMAL, "abcde"), 4);
    assert_int_equal(pane_clip(&w, 5, 5, 100, TONE_NORMAL, "abcde"), 3);
    assert_int_equal(pane_clip(&w, 6, 0, 4, TONE_NORMAL, "\u4e2d\u6587x"), 4);
    assert_int_equal(pane_clip(&w, 7, 0, 1, TONE_NORMAL, "xy"), 1);
    assert_int_equal(pane_clip(&w, 7, 4, 0, TONE_NORMAL, "xy"), 0);
    assert_int_equal(pane_clip(&w, 7, 4, -1, TONE_NORMAL, "xy"), 0);
    expect_text(&c, "     abc\ndef\n \u6587\n abcd\n abc\u2026\n     ab\u2026\n\u4e2d \u2026\n\u2026\n");
    expect_sound(&c);
    canvas_free(&c);
}

static void test_wrap(void **state) {
    (void)state;
    struct canvas c;
    canvas_init(&c, 4, 10, utf8);
    struct pane w = pane_whole(&c);

    assert_int_equal(pane_wrap(&w, 0, TONE_NORMAL, "nvme reads are the bottleneck"), 3);
    expect_text(&c, "nvme reads\nare the\nbottleneck\n\n");
    canvas_clear(&c);
    assert_int_equal(pane_wrap(&w, 1, TONE_NORMAL, "one two three four five six seven"), 3);
    expect_text(&c, "\none two\nthree four\nfive six \u2026\n");
    canvas_clear(&c);
    assert_int_equal(pane_wrap(&w, 0, TONE_NORMAL, "a verylongwordindeed  b"), 4);
    expect_text(&c, "a\nverylongwo\nrdindeed\nb\n");
    canvas_clear(&c);
    assert_int_equal(pane_wrap(&w, 0, TONE_NORMAL, "busy at 95 % of 10 disks, 2.00 s"), 4);
    expect_text(&c, "busy at\n95 % of 10\ndisks,\n2.00 s\n");
    canvas_clear(&c);
    assert_int_equal(pane_wrap(&w, 0, TONE_NORMAL, ""), 0);
    assert_int_equal(pane_wrap(&w, 0, TONE_NORMAL, "  "), 0);
    assert_int_equal(pane_wrap(&w, 4, TONE_NORMAL, "no row"), 0);
    struct pane thin = pane_part(&w, 0, 0, -1, 1);
    assert_int_equal(pane_wrap(&thin, 0, TONE_NORMAL, "\u4e2da bc"), 4);
    expect_text(&c, "\na\nb\nc\n");
    canvas_free(&c);
}

static void test_tone_and_hot(void **state) {
    (void)state;
    struct canvas c;
    canvas_init(&c, 3, 6, utf8);
    struct pane w = pane_whole(&c), part = pane_part(&w, 1, 1, 1, 3);

    (void)pane_text(&w, 1, 0, TONE_GOOD, "abcdef");
    pane_tone(&part, 0, -4, INT_MAX, TONE_SELECTED);
    for (int col = 0; col < 6; col++)
        assert_int_equal(canvas_cell(&c, 1, col)->tone, col >= 1 && col <= 3 ? TONE_SELECTED : TONE_GOOD);
    expect_text(&c, "\nabcdef\n\n");

    pane_hot(&w, 0, 0, 3, 6, 'w');
    pane_hot(&part, 0, 1, -1, -1, 'p');
    assert_int_equal(canvas_hot_at(&c, 0, 0), 'w');
    assert_int_equal(canvas_hot_at(&c, 1, 1), 'w');
    assert_int_equal(canvas_hot_at(&c, 1, 2), 'p');
    assert_int_equal(canvas_hot_at(&c, 1, 3), 'p');
    assert_int_equal(canvas_hot_at(&c, 1, 4), 'w');
    assert_int_equal(canvas_hot_at(&c, 3, 0), 0);
    for (int i = 0; i < 2 * CANVAS_HOTS; i++) pane_hot(&w, 0, 0, 1, 1, 'x');
    assert_int_equal(c.hots, CANVAS_HOTS);
    canvas_clear(&c);
    assert_int_equal(canvas_hot_at(&c, 1, 2), 0);
    canvas_free(&c);
}

static void test_c_locale(void **state) {
    (void)state;
    struct canvas c;

    assert_non_null(setlocale(LC_CTYPE, "C"));
    canvas_init(&c, 1, 12, utf8);
    struct pane w = pane_whole(&c);
    int cols = pane_text(&w, 0, 0, TONE_NORMAL, "a\u4e2d\u0301\u2588\u28c0z");
    assert_int_equal(cols, canvas_text_columns("a\u4e2d\u0301\u2588\u28c0z"));
    assert_int_equal(canvas_cell(&c, 0, cols - 1)->ch, 'z');
    assert_int_equal(canvas_cell(&c, 0, cols - 2)->ch, 0x28c0);
    assert_int_equal(canvas_cell(&c, 0, cols - 3)->ch, 0x2588);
    assert_int_equal(canvas_cell(&c, 0, 1)->ch, '?');
    canvas_free(&c);
    assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
}

static void test_schemes(void **state) {
    (void)state;
    assert_string_equal(scheme_name(SCHEME_LIGHT), "light");
}

/* Random drawing into small panes: nothing outside them changes but a half that lost its other one, and
 * no half is ever left alone. */
static void test_random(void **state) {
    (void)state;
    static const char *const texts[] = {"\u4e2d\u6587\u5b57", "plain", "x\u4e2dy", "\xe4\xb8", "\u6587"};
    uint32_t seed = 1;
    struct canvas c;

    canvas_init(&c, 4, 9, utf8);
    struct pane w = pane_whole(&c);
    for (int i = 0; i < 20000; i++) {
        int r[6];
        for (int k = 0; k < 6; k++) {
            seed = seed * 1664525u + 1013904223u;
            r[k] = (int)(seed >> 16) % 14 - 3;
        }
        struct pane p = pane_part(&w, r[0], r[1], r[2], r[3]);
        const char *text = texts[(unsigned)i % 5];
        if (i % 4 == 0)
            (void)pane_clip(&p, r[4], r[5], r[2], TONE_GPU, text);
        else if (i % 4 == 1)
            (void)pane_right(&p, r[4], r[5], TONE_GPU, text);
        else if (i % 4 == 2)
            (void)pane_wrap(&p, r[4], TONE_GPU, text);
        else
            pane_fill(&p, TONE_GPU, '#');
        expect_sound(&c);
        if (i % 8 == 0) canvas_clear(&c);
    }
    canvas_free(&c);
}

/* Every row is text, a run of it for each tone; colours are those of a terminal of 256 colours; what XML or
 * the direction of text could stumble over is replaced. */
static void test_svg(void **state) {
    (void)state;
    struct canvas c;
    struct buf out = {0};
    canvas_init(&c, 3, 20, utf8);
    struct pane p = pane_whole(&c);
    pane_tone(&p, 0, 0, 20, TONE_TITLE);
    pane_text(&p, 0, 1, TONE_TITLE, "a < b & c");
    pane_text(&p, 1, 0, TONE_GPU, "gpu");
    pane_text(&p, 1, 4, TONE_BAD, "late");
    pane_glyph(&p, 1, 9, TONE_GPU, 0x2588);
    pane_glyph(&p, 1, 10, TONE_NORMAL, 0x2583);
    pane_glyph(&p, 1, 11, TONE_NORMAL, 0x258b);
    pane_glyph(&p, 1, 12, TONE_NORMAL, 0x2881);
    pane_glyph(&p, 2, 0, TONE_NORMAL, 0x202e);
    canvas_svg(&c, &out);
    const char *svg = buf_text(&out);
    assert_int_equal(TONE_TITLE, 3);
    assert_int_equal(TONE_BAD, 8);
    assert_int_equal(TONE_GPU, 12);
    assert_non_null(strstr(svg, "viewBox=\"-10 -10 220 80\""));
    assert_non_null(strstr(svg, "<title>a &lt; b &amp; c </title>"));
    assert_non_null(strstr(svg, "<rect class=\"b3\" x=\"0\" y=\"0\" width=\"200\" height=\"20\"/>"));
    /* colour 213 of the cube is ff 87 ff, 203 is ff 5f 5f and bold */
    assert_non_null(strstr(svg, ".t12{fill:#ff87ff}"));
    assert_non_null(strstr(svg, ".t8{fill:#ff5f5f;font-weight:bold}"));
    assert_non_null(strstr(svg, "<text y=\"35\"><tspan class=\"t12\" x=\"0\" textLength=\"30\">gpu</tspan>"
                                "<tspan class=\"t8\" x=\"40\" textLength=\"40\">late</tspan></text>"));
    /* a full block; three eighths from below and five from the left; the dots at the upper left and lower
     * right */
    assert_non_null(strstr(svg, "<path class=\"t12\" d=\"M90 20h10v20h-10z\"/>"));
    assert_non_null(strstr(svg, "<path class=\"t0\" d=\"M100 32.5h10v7.5h-10zM110 20h6.25v20h-6.25z"
                                "M121.5 21.5h2v2h-2zM126.5 36.5h2v2h-2z\"/>"));
    assert_non_null(strstr(svg, "<tspan class=\"t0\" x=\"0\" textLength=\"10\">?</tspan>"));
    assert_null(strstr(svg, ".t9{"));
    buf_free(&out);
    canvas_free(&c);
}

/* Distance of two of a terminal's 256 colours in red, green and blue. */
static double apart(int a, int b) {
    static const int level[6] = {0, 95, 135, 175, 215, 255};
    static const int place[3] = {36, 6, 1};
    double sum = 0;
    assert_true(a >= 16 && a < 232 && b >= 16 && b < 232);
    for (int i = 0; i < 3; i++) {
        int d = level[(a - 16) / place[i] % 6] - level[(b - 16) / place[i] % 6];
        sum += d * d;
    }
    return sqrt(sum);
}

/* A hue says one thing: how good it is, which tier it is, or which series of a graph. */
static void test_hues_say_one_thing(void **state) {
    (void)state;
    static const enum tone tones[] = {TONE_GOOD, TONE_WARN,   TONE_BAD,    TONE_GPU,    TONE_CPU,
                                      TONE_NVME, TONE_REMOTE, TONE_ACCENT, TONE_SECOND, TONE_THIRD};
    static const enum scheme schemes[] = {SCHEME_DARK, SCHEME_LIGHT, SCHEME_COLOUR_BLIND,
                                          SCHEME_COLOUR_BLIND_LIGHT};
    enum { JUDGEMENT = 3, TIERS = 7, COUNT = sizeof tones / sizeof *tones };
    for (size_t s = 0; s < sizeof schemes / sizeof *schemes; s++) {
        for (int i = 0; i < COUNT; i++) {
            for (int k = 0; k < i; k++) {
                int one = term_look(tones[i], schemes[s], 256).fg,
                    two = term_look(tones[k], schemes[s], 256).fg;
                if (apart(one, two) < 55)
                    fail_msg("%s: tones %d and %d", scheme_name(schemes[s]), tones[i], tones[k]);
            }
        }
        for (int i = JUDGEMENT; i < TIERS; i++) /* eight colours have none left for series */
            for (int k = 0; k < JUDGEMENT; k++)
                assert_int_not_equal(term_look(tones[i], schemes[s], 8).fg,
                                     term_look(tones[k], schemes[s], 8).fg);
    }
    /* keys, marks and counts of a heat map are no judgement either */
    for (enum tone t = TONE_NORMAL; t < TONES; t++)
        for (int k = 0; k < JUDGEMENT; k++)
            if (t != tones[k] && t != TONE_STATE_GOOD + (enum tone)k)
                assert_int_not_equal(term_look(t, SCHEME_DARK, 256).fg,
                                     term_look(tones[k], SCHEME_DARK, 256).fg);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_reserved),
    cmocka_unit_test(test_svg),
    cmocka_unit_test(test_hues_say_one_thing),
    cmocka_unit_test(test_sizes),
    cmocka_unit_test(test_text_at_edges),
    cmocka_unit_test(test_panes_cut),
    cmocka_unit_test(test_wide),
    cmocka_unit_test(test_odd_text),
    cmocka_unit_test(test_ascii),
    cmocka_unit_test(test_right_and_clip),
    cmocka_unit_test(test_wrap),
    cmocka_unit_test(test_tone_and_hot),
    cmocka_unit_test(test_c_locale),
    cmocka_unit_test(test_schemes),
    cmocka_unit_test(test_random),
};

int main(void) {
    if (!setlocale(LC_CTYPE, "C.UTF-8")) return 77;
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("canvas", tests, NULL, NULL);
}
