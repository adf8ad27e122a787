/* Charts as SVG: where things stand, and that whatever is in them is well-formed. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draw/spark.h"
#include "draw/svg.h"
#include "draw/svg_frame.h"

/* As strict as a parser of XML: elements nest and end, attributes are in quotes and there once, texts have no
 * markup of their own. */
static void assert_well_formed(const char *text) {
    char open[32][16];
    size_t depth = 0;
    for (const char *p = text; *p;) {
        if (*p == '&') {
            assert_true(strspn(p + 1, "#0123456789abcdefghijklmnopqrstuvwxyz") > 0);
            p += 1 + strspn(p + 1, "#0123456789abcdefghijklmnopqrstuvwxyz");
            assert_int_equal(*p++, ';');
        } else if (*p != '<') {
            assert_true(*p != '>' && ((unsigned char)*p >= ' ' || *p == '\n'));
            p++;
        } else if (p[1] == '/') {
            size_t len = strcspn(p + 2, ">");
            assert_true(depth > 0 && strlen(open[depth - 1]) == len &&
                        strncmp(open[depth - 1], p + 2, len) == 0);
            depth--;
            p += len + 3;
        } else {
            size_t len = strcspn(++p, " />");
            assert_in_range(len, 1, 15);
            assert_in_range(depth, 0, 31);
            snprintf(open[depth++], 16, "%.*s", (int)len, p);
            for (p += len; *p == ' ';) {
                p += 1 + strspn(p + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-0123456789");
                assert_int_equal(strncmp(p, "=\"", 2), 0);
                p += 2 + strcspn(p + 2, "\"<");
                assert_int_equal(*p++, '"');
            }
            if (*p == '/') {
                depth--;
                p++;
            }
            assert_int_equal(*p++, '>');
        }
    }
    assert_int_equal(depth, 0);
}

static size_t count_of(const char *text, const char *part) {
    size_t n = 0;
    for (; (text = strstr(text, part)) != NULL; text += strlen(part)) n++;
    return n;
}

static char *drawn(const struct plot *p) {
    struct buf out = {0};
    svg_plot(p, "id-1", true, &out);
    assert_well_formed(buf_text(&out));
    return out.data ? out.data : strdup("");
}

/* 0 to 100 over 0 to 10 with ticks at both ends: the corners of the area inside the axes. */
static void points_stand_where_their_values_are(void **state) {
    static const double x[] = {0, 5, 10}, y[] = {0, 100, 50};
    double left, top, right, bottom, px[3], py[3];
    (void)state;
    struct plot *p = plot_new(PLOT_LINES, "t");
    plot_line(p, "", 3, x, sizeof *x, y, sizeof *y);
    char *svg = drawn(p);
    const char *axes = strstr(svg, "<path class=\"x\""), *line = strstr(svg, "<path class=\"l k0 d0\"");
    assert_non_null(axes);
    assert_non_null(line);
    assert_int_equal(sscanf(axes, "<path class=\"x\" d=\"M%lf %lfV%lfH%lf\"", &left, &top, &bottom, &right),
                     4);
    assert_int_equal(sscanf(line, "<path class=\"l k0 d0\" d=\"M%lf %lfL%lf %lfL%lf %lf\"", &px[0], &py[0],
                            &px[1], &py[1], &px[2], &py[2]),
                     6);
    assert_true(fabs(px[0] - left) < 0.11 && fabs(py[0] - bottom) < 0.11);
    assert_true(fabs(px[1] - (left + right) / 2) < 0.11 && fabs(py[1] - top) < 0.11);
    assert_true(fabs(px[2] - right) < 0.11 && fabs(py[2] - (top + bottom) / 2) < 0.11);
    free(svg);
    plot_free(p);
}

static void gaps_stay_gaps(void **state) {
    static const double x[] = {0, 1, 2, 3, 4, 5, 6}, y[] = {1, 2, NAN, 3, NAN, 4, 5};
    (void)state;
    struct plot *p = plot_new(PLOT_LINES, "t");
    plot_line(p, "", 7, x, sizeof *x, y, sizeof *y);
    char *svg = drawn(p), *line = strstr(svg, "<path class=\"l k0 d0\""), *end;
    assert_non_null(line);
    const char *dot = strstr(line, "<path class=\"q k0\" d=\"");
    assert_non_null(dot);
    assert_int_equal(count_of(dot, "h.01"), 1); /* the one alone is a dot */
    end = strstr(line, "/>");
    *end = '\0';
    assert_int_equal(count_of(line, "M"), 3);
    assert_int_equal(count_of(line, "L"), 2);
    free(svg);
    plot_free(p);
}

static void values_are_under_the_pointer(void **state) {
    static const double x[] = {0, 60, 120}, y[] = {1, 2, 3}, z[] = {10, NAN, 30};
    (void)state;
    struct plot *p = plot_new(PLOT_LINES, "t");
    plot_axis(&p->x, "run time", "clock");
    plot_axis(&p->y, "latency", "ms");
    plot_line(p, "P50", 3, x, sizeof *x, y, sizeof *y);
    plot_line(p, "P95", 3, x, sizeof *x, z, sizeof *z);
    char *svg = drawn(p);
    assert_non_null(strstr(svg, "<title>0:00\nP50: 1.00 ms\nP95: 10.0 ms</title>"));
    assert_non_null(strstr(svg, "<title>1:00\nP50: 2.00 ms</title>"));
    assert_non_null(strstr(svg, "<title>2:00\nP50: 3.00 ms\nP95: 30.0 ms</title>"));
    assert_non_null(strstr(svg, "aria-labelledby=\"id-1-t id-1-d\""));
    assert_non_null(strstr(svg, "<desc id=\"id-1-d\">P50, P95 in latency over run time</desc>"));
    free(svg);
    plot_free(p);
}

/* Names at the ends, apart from each other however near the ends are, and inside the picture. */
static void names_do_not_touch(void **state) {
    static const double x[] = {0, 1};
    (void)state;
    for (size_t lines = 2; lines <= 30; lines += 7) {
        struct plot *p = plot_new(PLOT_LINES, "t");
        for (size_t k = 0; k < lines; k++) {
            char name[32];
            double y[] = {1, 50 + (double)k * 0.01};
            snprintf(name, sizeof name, "line-%zu", k);
            plot_line(p, name, 2, x, sizeof *x, y, sizeof *y);
        }
        char *svg = drawn(p);
        double height, at[30];
        assert_int_equal(sscanf(strstr(svg, "viewBox=\"0 0 "), "viewBox=\"0 0 640 %lf\"", &height), 1);
        for (size_t k = 0; k < lines; k++) {
            char want[48];
            snprintf(want, sizeof want, ">line-%zu</text>", k);
            char *text = strstr(svg, want);
            assert_non_null(text);
            while (strncmp(text, "y=\"", 3) != 0) text--;
            at[k] = strtod(text + 3, NULL);
            assert_true(at[k] > 8 && at[k] < height);
            for (size_t i = 0; i < k; i++) assert_true(fabs(at[i] - at[k]) >= 12);
        }
        free(svg);
        plot_free(p);
    }
}

static void long_lines_are_bands(void **state) {
    (void)state;
    struct plot *p = plot_new(PLOT_LINES, "t");
    struct plot_line *l = plot_line_room(p, "", 3600, true);
    for (int i = 0; i < 3600; i++) {
        l->x[i] = i;
        l->y[i] = i == 1234 ? 100 : 1;
    }
    char *svg = drawn(p);
    assert_non_null(strstr(svg, "<path class=\"w k0\""));
    assert_non_null(strstr(svg, "1 to 100")); /* in the strip over the spike */
    const char *fine = strstr(svg, "data-fine=\"");
    assert_non_null(fine);
    for (int i = 0; i < 2; i++) fine = strchr(fine, ' ') + 1; /* behind both ends */
    /* each point by itself, three times: 1 of 100 is 99 % down, (63 x 64 + 23) x 64 + 2 of 262,143 */
    assert_memory_equal(fine + 9 * 1233, "_N2_N2_N2000000000_N2_N2_N2", 27);
    assert_int_equal(strcspn(fine, "\""), 9 * 3600);
    assert_true(strlen(svg) < 40000 + 9 * 3600);
    free(svg);
    plot_free(p);
}

static void every_kind_takes_hostile_names(void **state) {
    static const char *const names[] = {"<script>alert(1)</script>",
                                        "\"'&]]>",
                                        "\x1b[31m\x01\xff\xc3",
                                        "\u202eabc",
                                        "a very very very very very very very very long name",
                                        ""};
    static const double x[] = {1, 2, 3}, y[] = {3, NAN, -2};
    (void)state;
    for (int kind = PLOT_LINES; kind <= PLOT_HEAT; kind++)
        for (int log = 0; log < 2; log++) {
            struct plot *p = plot_new((enum plot_kind)kind, names[0]);
            plot_axis(&p->x, names[1], "");
            plot_axis(&p->y, names[2], "B");
            p->x.log = p->y.log = log;
            p->stacked = p->diverging = log;
            plot_caption(p, "%s", names[0]);
            for (size_t i = 0; i < 6; i++) {
                plot_line(p, names[i], 3, kind < PLOT_BARS ? x : NULL, sizeof *x, y, sizeof *y)->marks = log;
                plot_category(p, names[i]);
                plot_span(p, (double)i, (double)i + 0.5, names[i]);
                plot_mark(p, 1.5, names[i]);
                plot_level(p, 1.5, names[i]);
            }
            char *svg = drawn(p);
            assert_true(strlen(svg) > 500);
            assert_null(strstr(svg, "<script"));
            assert_null(strstr(svg, "nan"));
            free(svg);
            plot_free(p);
        }
}

static void heat_says_every_value(void **state) {
    static const double one[] = {0.12, -0.34, NAN}, two[] = {0, 0.5, -0.0001};
    (void)state;
    struct plot *p = plot_new(PLOT_HEAT, "change");
    p->diverging = true;
    plot_axis(&p->y, "", "%");
    for (int i = 0; i < 3; i++) plot_category(p, (const char *const[]){"10", "20", "40"}[i]);
    plot_line(p, "a", 3, NULL, 0, one, sizeof *one);
    plot_line(p, "b", 3, NULL, 0, two, sizeof *two);
    char *svg = drawn(p);
    static const char *const cells[] = {">+12.0 %</text>", ">-34.0 %</text>", ">--</text>",
                                        ">+50.0 %</text>"};
    for (size_t i = 0; i < 4; i++) assert_int_equal(count_of(svg, cells[i]), 1);
    assert_int_equal(count_of(svg, ">0.0 %</text>"), 2);
    assert_non_null(strstr(svg, "<title>a, 20: -34.0 %</title>"));
    free(svg);
    plot_free(p);
}

/* Also of a bar that reaches the end of its axis. */
static void values_have_room_behind_their_bars(void **state) {
    static const double most[] = {24900, 25000, 9.99e11};
    (void)state;
    for (size_t i = 0; i < sizeof most / sizeof *most; i++) {
        struct plot *p = plot_new(PLOT_BARS, "Tokens/s");
        double width = 0, x;
        plot_axis(&p->y, "Tokens/s", "tok/s");
        plot_category(p, "a");
        plot_line_room(p, "Tokens/s", 1, false)->y[0] = most[i];
        char *svg = drawn(p);
        assert_int_equal(sscanf(strstr(svg, "viewBox"), "viewBox=\"0 0 %lf", &width), 1);
        const char *value = strstr(svg, "class=\"v o\">"), *begin = value;
        assert_non_null(value);
        while (strncmp(begin, "<text", 5) != 0) begin--;
        assert_int_equal(sscanf(begin, "<text x=\"%lf", &x), 1);
        char text[40] = "";
        assert_int_equal(sscanf(strchr(value, '>'), ">%39[^<]", text), 1);
        assert_true(x + svg_text_width(text, sizeof text) <= width);
        free(svg);
        plot_free(p);
    }
}

static void nothing_draws_nothing(void **state) {
    static const double nan[] = {NAN, NAN}, x[] = {0, 1};
    struct buf out = {0};
    (void)state;
    struct plot *p = plot_new(PLOT_LINES, "t");
    plot_line(p, "a", 2, x, sizeof *x, nan, sizeof *nan);
    plot_line(p, "b", 0, x, sizeof *x, nan, sizeof *nan);
    svg_plot(p, "x", false, &out);
    spark_plot(p, &(struct format_style){0}, &out);
    assert_int_equal(out.len, 0);
    plot_free(p);
}

/* As characters: 40 columns leave 16 for the bars, each 7/16 of x wide; a column without a point has the
 * height of the one before. */
static void lines_of_characters(void **state) {
    static const double x[] = {0, 1, 2, 3, 4, 5, 6, 7}, y[] = {0, 1, 2, 3, 4, 5, 6, 8};
    struct buf out = {0};
    (void)state;
    struct plot *p = plot_new(PLOT_LINES, "t");
    plot_axis(&p->x, "run time", "clock");
    plot_axis(&p->y, "count", "");
    plot_line(p, "rising", 8, x, sizeof *x, y, sizeof *y);
    spark_plot(p, &(struct format_style){.ascii = true, .columns = 40}, &out);
    assert_string_equal(buf_text(&out), "  rising             __..--:::==++**# 0 to 8\n"
                                        "                     0:00        0:07 run time\n");
    buf_free(&out);
    plot_free(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_stand_where_their_values_are),
        cmocka_unit_test(gaps_stay_gaps),
        cmocka_unit_test(values_are_under_the_pointer),
        cmocka_unit_test(names_do_not_touch),
        cmocka_unit_test(long_lines_are_bands),
        cmocka_unit_test(every_kind_takes_hostile_names),
        cmocka_unit_test(heat_says_every_value),
        cmocka_unit_test(values_have_room_behind_their_bars),
        cmocka_unit_test(nothing_draws_nothing),
        cmocka_unit_test(lines_of_characters),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("svg", tests, NULL, NULL);
}
