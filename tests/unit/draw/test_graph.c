#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "draw/graph.h"

static const struct style utf8 = {.ascii = false, .scheme = SCHEME_DARK};
static const struct style mono = {.ascii = false, .scheme = SCHEME_MONO};
static const struct style ascii = {.ascii = true, .scheme = SCHEME_DARK};

static void expect_text(const struct canvas *c, const char *want) {
    struct buf out = {0};
    canvas_text(c, &out);
    assert_string_equal(buf_text(&out), want);
    buf_free(&out);
}

static uint32_t glyph(const struct canvas *c, int row, int col) {
    return canvas_cell(c, row, col)->ch;
}

static void expect_bar(struct style style, int cols, double share, const char *want) {
    struct canvas c;
    char line[64];
    canvas_init(&c, 1, 12, style);
    struct pane w = pane_whole(&c);
    graph_bar(&w, 0, 1, cols, share, TONE_GPU);
    strcat(strcat(strcpy(line, " "), want), "\n");
    expect_text(&c, line);
    canvas_free(&c);
}

static void test_bar(void **state) {
    (void)state;
    expect_bar(utf8, 4, 0, "\u00b7\u00b7\u00b7\u00b7");
    expect_bar(utf8, 4, NAN, "\u00b7\u00b7\u00b7\u00b7");
    expect_bar(utf8, 4, -3, "\u00b7\u00b7\u00b7\u00b7");
    expect_bar(utf8, 4, 1e-9, "\u258f\u00b7\u00b7\u00b7");
    expect_bar(utf8, 4, 0.5, "\u2588\u2588\u00b7\u00b7");
    expect_bar(utf8, 4, 0.625, "\u2588\u2588\u258c\u00b7"); /* 20 eighths: two and a half */
    expect_bar(utf8, 4, 11 / 32.0, "\u2588\u258d\u00b7\u00b7");
    expect_bar(utf8, 4, 0.999999, "\u2588\u2588\u2588\u2589");
    expect_bar(utf8, 4, 1, "\u2588\u2588\u2588\u2588");
    expect_bar(utf8, 4, INFINITY, "\u2588\u2588\u2588\u2588");
    expect_bar(ascii, 5, 0.001, "#....");
    expect_bar(ascii, 5, 0.6, "###..");
    expect_bar(ascii, 5, 0.999, "####.");
    expect_bar(ascii, 5, 7, "#####");
}

static void test_bar_bounds(void **state) {
    (void)state;
    struct canvas c;
    canvas_init(&c, 2, 3, ascii);
    struct pane w = pane_whole(&c);
    graph_bar(&w, 0, 0, 0, 0.5, TONE_GPU);
    graph_bar(&w, 0, 0, -4, 0.5, TONE_GPU);
    graph_bar(&w, 2, 0, 3, 0.5, TONE_GPU);
    graph_bar(&w, 1, 1, INT32_MAX, 1, TONE_GPU);
    expect_text(&c, "\n ##\n");
    graph_bar(&w, 0, 0, 2, 0.5, TONE_GPU);
    assert_int_equal(canvas_cell(&c, 0, 0)->tone, TONE_GPU);
    assert_int_equal(canvas_cell(&c, 0, 1)->tone, TONE_DIM);
    canvas_free(&c);
}

static void test_spark(void **state) {
    (void)state;
    /* Eight levels from 0 to 7; 0 has the lowest, what is missing has none. */
    const float v[6] = {0, 1, 2, 7, NAN, 99};
    struct canvas c;

    canvas_init(&c, 2, 8, utf8);
    struct pane w = pane_whole(&c);
    assert_int_equal(graph_spark_points(4), 4);
    assert_int_equal(graph_spark_points(-1), 0);
    graph_spark(&w, 0, 1, 6, v, 7, TONE_ACCENT);
    graph_spark(&w, 1, 1, 6, v, 0, TONE_ACCENT);
    expect_text(&c, " \u2581\u2582\u2583\u2588 \u2588\n\n");
    graph_spark(&w, 1, 4, 6, v, 7, TONE_ACCENT);
    assert_int_equal(glyph(&c, 1, 5), 0x2582);
    canvas_free(&c);

    canvas_init(&c, 1, 9, ascii);
    w = pane_whole(&c);
    assert_int_equal(graph_spark_points(4), 4);
    const float levels[8] = {0, 1, 2, 3, 4, 5, 6, NAN};
    graph_spark(&w, 0, 0, 8, levels, 6, TONE_ACCENT);
    expect_text(&c, "_.-=+*#\n");
    canvas_free(&c);
}

/* 8 columns of plot, 3 rows: 16 dots by 12. */
static struct graph small_graph(const float *values) {
    return (struct graph){.title = "Wait",
                          .axis = number_count,
                          .top = 11,
                          .from_s = 0,
                          .to_s = 16,
                          .cursor_s = NAN,
                          .lines = 1,
                          .line = {{.name = "all", .values = values, .tone = TONE_ACCENT}}};
}

static void test_line(void **state) {
    (void)state;
    float v[16];
    struct canvas c;
    canvas_init(&c, 5, 16, utf8);
    struct pane w = pane_whole(&c);
    assert_int_equal(graph_points(&w), 16);

    /* Rises by a dot a step to the top at point 11, a gap, then 0. */
    for (int i = 0; i < 16; i++) v[i] = i < 12 ? (float)i : i < 14 ? NAN : 0;
    struct graph g = small_graph(v);
    graph_draw(&w, &g);
    expect_text(&c, "Wait         all\n"
                    "     11\u2524    \u2860\u280a\n"
                    "       \u2502  \u2860\u280a\n"
                    "      0\u2524\u2860\u280a     \u28c0\n"
                    "           00:16\n");
    assert_int_equal(canvas_cell(&c, 3, 8)->tone, TONE_ACCENT);
    assert_int_equal(canvas_cell(&c, 3, 7)->tone, TONE_DIM);
    canvas_free(&c);
}

static void test_joined(void **state) {
    (void)state;
    float v[16];
    struct canvas c;
    canvas_init(&c, 5, 16, utf8);
    struct pane w = pane_whole(&c);

    /* A jump from the bottom to the top between points 7 and 8, half of the way in either's column:
     * dots 11 (the bottom) to 6, and 5 to 0. */
    for (int i = 0; i < 16; i++) v[i] = i < 8 ? 0 : 11;
    struct graph g = small_graph(v);
    graph_draw(&w, &g);
    assert_int_equal(glyph(&c, 3, 11), 0x2800 | 0x40 | 0x08 | 0x10 | 0x20 | 0x80);
    assert_int_equal(glyph(&c, 2, 11), 0x2800 | 0x20 | 0x80);
    assert_int_equal(glyph(&c, 1, 11), ' ');
    assert_int_equal(glyph(&c, 3, 12), ' ');
    assert_int_equal(glyph(&c, 2, 12), 0x2800 | 0x01 | 0x02);
    assert_int_equal(glyph(&c, 1, 12), 0x2800 | 0x01 | 0x02 | 0x04 | 0x40 | 0x08);
    /* Above the top and below 0 is at the border. */
    for (int i = 0; i < 16; i++) v[i] = i % 2 ? INFINITY : -5;
    canvas_clear(&c);
    graph_draw(&w, &g);
    assert_int_equal(glyph(&c, 1, 15) & 0x08, 0x08);
    assert_int_equal(glyph(&c, 3, 15) & 0x40, 0x40);
    assert_int_equal(glyph(&c, 0, 15), 'l');
    canvas_free(&c);
}

static void test_later_line_gives_tone(void **state) {
    (void)state;
    float low[48], high[48];
    struct canvas c;
    canvas_init(&c, 7, 32, utf8);
    struct pane w = pane_whole(&c);

    for (int i = 0; i < 48; i++) {
        low[i] = 0;
        high[i] = i < 24 ? 0 : 11;
    }
    struct graph g = small_graph(low);
    g.lines = 2;
    g.line[1] = (struct graph_line){.name = "aft", .values = high, .tone = TONE_SECOND};
    graph_draw(&w, &g);
    assert_int_equal(canvas_cell(&c, 5, 8)->tone, TONE_SECOND);
    assert_int_equal(canvas_cell(&c, 5, 31)->tone, TONE_ACCENT);
    /* The legend names both by their tones; nothing stands on the curves. */
    assert_int_equal(glyph(&c, 5, 31) & ~0xffu, 0x2800);
    assert_int_equal(glyph(&c, 1, 29) & ~0xffu, 0x2800);
    assert_int_equal(canvas_cell(&c, 0, 27)->tone, TONE_SECOND);
    struct buf out = {0};
    canvas_text(&c, &out);
    assert_non_null(strstr(buf_text(&out), "Wait                \u2501 all  \u2501 aft\n"));
    /* Five rows of plot: the middle has its value as well. */
    assert_non_null(strstr(buf_text(&out), "    5.5\u2524"));
    buf_free(&out);
    canvas_free(&c);
}

static void test_mono_repeats_letters(void **state) {
    (void)state;
    static float a[160], b[160];
    struct canvas c;
    canvas_init(&c, 6, 88, mono);
    struct pane w = pane_whole(&c);
    int seen = 0;

    for (int i = 0; i < 160; i++) {
        a[i] = 1;
        b[i] = 9;
    }
    struct graph g = small_graph(a);
    g.lines = 2;
    g.line[1] = (struct graph_line){.name = "b", .values = b, .tone = TONE_SECOND};
    graph_draw(&w, &g);
    for (int row = 1; row < 5; row++)
        for (int col = 8; col < 88; col++) seen += glyph(&c, row, col) == 'a';
    assert_true(seen >= 3);
    canvas_free(&c);
}

static void test_ascii_letters(void **state) {
    (void)state;
    float v[6][24];
    static const char *const names[] = {"read", "rest", "ram", "Write", "", NULL};
    struct canvas c;
    canvas_init(&c, 8, 32, ascii);
    struct pane w = pane_whole(&c);
    assert_int_equal(graph_points(&w), 24);

    struct graph g = small_graph(v[0]);
    g.top = 5;
    g.lines = 6;
    for (unsigned l = 0; l < 6; l++) {
        for (int i = 0; i < 24; i++) v[l][i] = i == 3 ? NAN : (float)l;
        g.line[l] = (struct graph_line){.name = names[l], .values = v[l], .tone = TONE_ACCENT};
    }
    graph_draw(&w, &g);
    static const char want[] = "rRaW12"; /* from the bottom */
    for (int l = 0; l < 6; l++) {
        assert_int_equal(glyph(&c, 6 - l, 8), want[l]);
        assert_int_equal(glyph(&c, 6 - l, 11), ' ');
    }
    for (int row = 0; row < 8; row++)
        for (int col = 0; col < 32; col++) assert_true(glyph(&c, row, col) < 0x7f);
    canvas_free(&c);
}

static void test_time_axis(void **state) {
    (void)state;
    static float v[160];
    struct canvas c;
    canvas_init(&c, 4, 88, ascii);
    struct pane w = pane_whole(&c);
    struct graph g = small_graph(v);

    /* 80 columns for 80 s: a second a column. */
    g.from_s = 10;
    g.to_s = 90;
    g.marks = 4;
    g.mark[0] = (struct graph_mark){25, 'm', TONE_MARK};
    g.mark[1] = (struct graph_mark){89.9, '!', TONE_BAD};
    g.mark[2] = (struct graph_mark){89.2, '^', TONE_MARK}; /* does not hide what went wrong */
    g.mark[3] = (struct graph_mark){91, 'x', TONE_MARK};
    g.cursor_s = 50;
    graph_draw(&w, &g);
    struct buf out = {0};
    canvas_text(&c, &out);
    /* Both ends are told where they are, and marks stand at their time over the top of the plot. */
    assert_non_null(strstr(buf_text(&out),
                           "\n        00:10             00:30          00:45          01:00      "
                           "    01:15       01:30\n"));
    buf_free(&out);
    assert_int_equal(glyph(&c, 1, 8 + 15), 'm');
    assert_int_equal(canvas_cell(&c, 1, 8 + 15)->tone, TONE_MARK);
    assert_int_equal(glyph(&c, 1, 87), '!');
    assert_int_equal(canvas_cell(&c, 1, 87)->tone, TONE_BAD);
    assert_int_equal(glyph(&c, 1, 8 + 40), '|');
    assert_int_equal(glyph(&c, 2, 8 + 40), 'a');
    assert_int_equal(canvas_cell(&c, 2, 8 + 40)->tone, TONE_SELECTED);
    canvas_free(&c);
}

static void test_time_odd(void **state) {
    (void)state;
    static float v[2 * CANVAS_COLS_MAX];
    static const double spans[][2] = {{0, 0},          {NAN, NAN},        {5, 1},   {0, 1e300},
                                      {-1e300, 1e300}, {1e17, 1e17 + 64}, {-60, 0}, {0, 1e-9},
                                      {0, INFINITY},   {0, 86400.0 * 30}};
    struct canvas c;
    for (int cols = 1; cols < 300; cols += cols < 30 ? 1 : 61)
        for (size_t i = 0; i < sizeof spans / sizeof spans[0]; i++) {
            canvas_init(&c, 5, cols, utf8);
            struct pane w = pane_whole(&c);
            struct graph g = small_graph(v);
            g.from_s = spans[i][0];
            g.to_s = spans[i][1];
            g.cursor_s = spans[i][1];
            g.marks = GRAPH_MARKS;
            for (int k = 0; k < GRAPH_MARKS; k++) g.mark[k] = (struct graph_mark){k, 'm', TONE_MARK};
            graph_draw(&w, &g);
            canvas_free(&c);
        }
}

/* 0.31 of 0.8 in 80 columns is column 31, though the division says 30.999... */
static void test_time_between(void **state) {
    (void)state;
    static float v[160];
    struct canvas c;
    canvas_init(&c, 4, 88, utf8);
    struct pane w = pane_whole(&c);
    struct graph g = small_graph(v);
    g.to_s = 0.8;
    g.marks = 1;
    g.mark[0] = (struct graph_mark){0.31, 'm', TONE_MARK};
    graph_draw(&w, &g);
    assert_int_equal(glyph(&c, 1, 8 + 31), 'm');
    canvas_free(&c);
}

/* Dense marks: both ends are still told. */
static void test_marks_everywhere(void **state) {
    (void)state;
    static float v[64];
    struct canvas c;
    canvas_init(&c, 4, 40, utf8);
    struct pane w = pane_whole(&c);
    struct graph g = small_graph(v);
    g.to_s = 32;
    g.marks = 32;
    for (int k = 0; k < 32; k++) g.mark[k] = (struct graph_mark){k, 'm', TONE_MARK};
    graph_draw(&w, &g);
    struct buf out = {0};
    canvas_text(&c, &out);
    assert_non_null(strstr(buf_text(&out), "mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm\n"));
    assert_non_null(strstr(buf_text(&out), "        00:00        00:15         00:32\n"));
    buf_free(&out);
    canvas_free(&c);
}

static void test_no_data_and_no_room(void **state) {
    (void)state;
    static float v[64];
    struct canvas c;
    canvas_init(&c, 5, 30, utf8);
    struct pane w = pane_whole(&c);
    struct graph g = small_graph(v);
    g.top = 0;
    graph_draw(&w, &g);
    expect_text(&c,
                "Wait                       all\n       \u2502\n       \u2502       no data\n       \u2502\n"
                "        00:00            00:16\n");
    canvas_clear(&c);
    struct pane low = pane_part(&w, 0, 0, 2, -1), thin = pane_part(&w, 2, 0, -1, 15);
    assert_int_equal(graph_points(&low), 0);
    assert_int_equal(graph_points(&thin), 0);
    assert_int_equal(graph_heat_points(&low), 0);
    g.top = 5;
    graph_draw(&low, &g);
    graph_draw(&thin, &g);
    expect_text(&c, "Wait\n\nWait\n\n\n");
    canvas_free(&c);
}

/* No figure of an axis reaches into the plot, however long it is. */
static void test_axis_labels(void **state) {
    (void)state;
    static float v[64];
    struct canvas c;
    canvas_init(&c, 4, 24, ascii);
    struct pane w = pane_whole(&c);
    struct graph g = small_graph(v);
    g.line[0].name = "";
    g.axis = number_rate;
    g.top = 4.66 * 1073741824;
    graph_draw(&w, &g);
    expect_text(&c,
                "Wait                   1\n4.66GiB+\n0 GiB/s+1111111111111111\n        00:00      00:16\n");
    g.axis = number_bytes;
    g.top = 20 * 1073741824.0;
    canvas_clear(&c);
    graph_draw(&w, &g);
    assert_int_equal(glyph(&c, 1, 0), '2');
    assert_int_equal(glyph(&c, 1, 6), 'B');
    assert_int_equal(glyph(&c, 1, 7), '+');
    canvas_free(&c);
}

static double edge_ms(size_t bin) {
    return (double)(1u << bin);
}

static void test_heat(void **state) {
    (void)state;
    enum { BINS = 10, POINTS = 16 };
    static uint32_t counts[POINTS * BINS];
    struct canvas c;
    canvas_init(&c, 6, 24, ascii);
    struct pane w = pane_whole(&c);
    assert_int_equal(graph_heat_points(&w), POINTS);
    struct graph_heat h = {.title = "E2E",
                           .to_s = 16,
                           .cursor_s = NAN,
                           .bins = BINS,
                           .counts = counts,
                           .axis = number_ms,
                           .edge = edge_ms};
    graph_heat_draw(&w, &h);
    struct buf out = {0};
    canvas_text(&c, &out);
    assert_non_null(strstr(buf_text(&out), "no data"));
    buf_free(&out);

    /* Bins 2 to 5 in use: a row each, from 4 ms up. 10,000 is the darkest, 100 half of its logarithm. */
    counts[0 * BINS + 2] = 1;
    counts[1 * BINS + 3] = 100;
    counts[15 * BINS + 5] = 10000;
    counts[15 * BINS + 2] = 10;
    canvas_clear(&c);
    graph_heat_draw(&w, &h);
    expect_text(&c, "E2E        1 .:+*# 10.0k\n"
                    "32.0 ms+               #\n"
                    "       |\n"
                    "       | +\n"
                    "4.00 ms+.              :\n"
                    "        00:00      00:16\n");
    assert_int_equal(canvas_cell(&c, 1, 23)->tone, TONE_HEAT5);
    assert_int_equal(canvas_cell(&c, 3, 9)->tone, TONE_HEAT3);
    h.marks = 1;
    h.mark[0] = (struct graph_mark){4.5, 'm', TONE_MARK};
    graph_heat_draw(&w, &h);
    assert_int_equal(glyph(&c, 1, 8 + 4), 'm');
    h.marks = 0;

    /* Eight bins in four rows: two a row, added up. */
    counts[0 * BINS + 9] = 9900;
    counts[0 * BINS + 8] = 100;
    canvas_clear(&c);
    graph_heat_draw(&w, &h);
    assert_int_equal(glyph(&c, 1, 8), '#');
    assert_int_equal(glyph(&c, 4, 8), '.');
    assert_int_equal(glyph(&c, 4, 9), '+');
    assert_int_equal(glyph(&c, 3, 23), '#');
    canvas_free(&c);
}

/* The word that marks a tier as emulated is whole as long as there is room for it alone; the other names give
 * way, at last all but their letters. */
static void test_legend_keeps_whole_names(void **state) {
    (void)state;
    static float v[3][160];
    static const char *const wants[] = {"Title    g gpu emul  c cpu  n nvme vda",
                                        "Title  g gpu emul  c cpu  n nvm~", "Title     g gpu emul  c  n",
                                        "Title    g gpu emul  c  n", "Title  g gpu emul  c  n"};
    for (size_t i = 0; i < sizeof wants / sizeof *wants; i++) {
        struct canvas c;
        struct buf out = {0};
        canvas_init(&c, 4, (int)strlen(wants[i]), ascii);
        struct pane w = pane_whole(&c);
        struct graph g = small_graph(v[0]);
        g.title = "Title", g.lines = 3;
        g.line[0] = (struct graph_line){"gpu emul", v[0], TONE_GPU, false, true};
        g.line[1] = (struct graph_line){"cpu", v[1], TONE_CPU, false, false};
        g.line[2] = (struct graph_line){"nvme vda", v[2], TONE_NVME, false, false};
        graph_draw(&w, &g);
        canvas_text(&c, &out);
        *strchr(out.data, '\n') = '\0';
        assert_string_equal(out.data, wants[i]);
        buf_free(&out);
        canvas_free(&c);
    }
}

static void test_heat_utf8(void **state) {
    (void)state;
    static uint32_t counts[16 * 4];
    struct canvas c;
    canvas_init(&c, 8, 24, utf8);
    struct pane w = pane_whole(&c);
    struct graph_heat h = {.title = "E2E",
                           .to_s = 16,
                           .cursor_s = 8,
                           .bins = 4,
                           .counts = counts,
                           .axis = number_ms,
                           .edge = edge_ms};
    for (int i = 0; i < 16; i++) counts[i * 4 + 1] = 1;
    counts[3] = 1;
    graph_heat_draw(&w, &h);
    /* Three bins in six rows: two rows each; a count of 1 that is the largest is the darkest. */
    for (int row = 5; row <= 6; row++) assert_int_equal(glyph(&c, row, 8), 0x2588);
    for (int row = 3; row <= 4; row++) assert_int_equal(glyph(&c, row, 8), ' ');
    for (int row = 1; row <= 2; row++) assert_int_equal(glyph(&c, row, 8), 0x2588);
    assert_int_equal(canvas_cell(&c, 6, 16)->tone, TONE_SELECTED);
    assert_int_equal(glyph(&c, 1, 16), 0x2502);
    canvas_free(&c);
}

/* Nothing outside the pane is drawn, at any size. */
static void test_sweep(void **state) {
    (void)state;
    static float v[2 * CANVAS_COLS_MAX];
    static uint32_t counts[CANVAS_COLS_MAX * 64];
    struct canvas c;

    for (int i = 0; i < 2 * CANVAS_COLS_MAX; i++) v[i] = (float)(i * 7 % 13);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        counts[i] = i % 64 > 60 ? 0 : (uint32_t)(i % 97);
    for (int style = 0; style < 2; style++) {
        canvas_init(&c, 70, 210, style ? ascii : utf8);
        struct pane w = pane_whole(&c);
        for (int rows = 0; rows <= 66; rows += rows < 12 ? 1 : 18)
            for (int cols = 0; cols <= 206; cols += cols < 20 ? 1 : 31) {
                pane_fill(&w, TONE_NORMAL, '@');
                struct pane p = pane_part(&w, 2, 2, rows, cols);
                struct graph g = small_graph(v);
                g.lines = GRAPH_LINES;
                for (int i = 0; i < GRAPH_LINES; i++)
                    g.line[i] = (struct graph_line){.name = "line", .values = v + i, .tone = TONE_GPU};
                g.title = "A title of some length";
                g.cursor_s = 7;
                assert_true(graph_points(&p) <= 2 * CANVAS_COLS_MAX - GRAPH_LINES);
                graph_draw(&p, &g);
                struct graph_heat h = {.title = "Heat",
                                       .to_s = 16,
                                       .cursor_s = 3,
                                       .bins = 11,
                                       .counts = counts,
                                       .axis = number_rate,
                                       .edge = edge_ms};
                graph_heat_draw(&p, &h);
                graph_bar(&p, 0, 0, cols, 0.4, TONE_GPU);
                graph_spark(&p, rows - 1, 0, cols, v, 9, TONE_GPU);
                for (int row = 0; row < c.rows; row++)
                    for (int col = 0; col < c.cols; col++)
                        if (row < 2 || col < 2 || row >= 2 + rows || col >= 2 + cols)
                            assert_int_equal(glyph(&c, row, col), '@');
            }
        canvas_free(&c);
    }
    canvas_init(&c, CANVAS_ROWS_MAX, CANVAS_COLS_MAX, utf8);
    struct pane w = pane_whole(&c);
    struct graph g = small_graph(v);
    graph_draw(&w, &g);
    canvas_free(&c);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_bar),
    cmocka_unit_test(test_bar_bounds),
    cmocka_unit_test(test_spark),
    cmocka_unit_test(test_line),
    cmocka_unit_test(test_joined),
    cmocka_unit_test(test_later_line_gives_tone),
    cmocka_unit_test(test_mono_repeats_letters),
    cmocka_unit_test(test_ascii_letters),
    cmocka_unit_test(test_time_axis),
    cmocka_unit_test(test_time_odd),
    cmocka_unit_test(test_time_between),
    cmocka_unit_test(test_marks_everywhere),
    cmocka_unit_test(test_legend_keeps_whole_names),
    cmocka_unit_test(test_no_data_and_no_room),
    cmocka_unit_test(test_axis_labels),
    cmocka_unit_test(test_heat),
    cmocka_unit_test(test_heat_utf8),
    cmocka_unit_test(test_sweep),
};

int main(void) {
    if (!setlocale(LC_CTYPE, "C.UTF-8")) return 77;
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("graph", tests, NULL, NULL);
}
