/* The content of a chart: ranges, and long lines thinned out. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>

#include "draw/plot.h"

static void parts_keep_least_mean_and_most(void **state) {
    static const double x[] = {0, 1, 2, 3, 4, 5, 6, 7, 8}, y[] = {5, 1, 9, 2, NAN, 4, NAN, NAN, NAN};
    struct plot_part part[3];
    (void)state;
    /* thirds of 0 to 8 end at 2.67 and 5.33 */
    assert_int_equal(plot_thin(x, y, 9, 3, part), 3);
    assert_true(part[0].x == 1 && part[0].least == 1 && part[0].mean == 5 && part[0].most == 9);
    assert_true(part[1].x == 4 && part[1].least == 2 && part[1].mean == 3 && part[1].most == 4);
    assert_true(part[2].x == 7 && isnan(part[2].least) && isnan(part[2].mean) && isnan(part[2].most));
}

static void no_spike_is_lost(void **state) {
    enum { POINTS = 3600, PARTS = 300 };
    static double x[POINTS], y[POINTS];
    static struct plot_part part[PARTS];
    (void)state;
    for (int spike = 0; spike < POINTS; spike += 37) {
        double least = INFINITY, most = -INFINITY;
        for (int i = 0; i < POINTS; i++) {
            x[i] = 0.25 + i * 1.01;
            y[i] = i == spike ? 1e6 : i == (spike + 99) % POINTS ? -7 : 10;
        }
        size_t n = plot_thin(x, y, POINTS, PARTS, part);
        assert_int_equal(n, PARTS);
        for (size_t i = 0; i < n; i++) {
            least = fmin(least, part[i].least);
            most = fmax(most, part[i].most);
            assert_true(part[i].least <= part[i].mean && part[i].mean <= part[i].most);
            assert_true(i == 0 || part[i].x > part[i - 1].x);
        }
        assert_true(most == 1e6 && least == -7);
    }
}

static void parts_without_points_are_left_out(void **state) {
    static const double x[] = {0, 1, 99, 100}, y[] = {1, 2, 3, 4};
    struct plot_part part[10];
    (void)state;
    assert_int_equal(plot_thin(x, y, 4, 10, part), 2);
    assert_true(part[0].x == 0.5 && part[1].x == 99.5);
    assert_int_equal(plot_thin(x, y, 0, 10, part), 0);
    assert_int_equal(plot_thin((double[]){3, 3, 3}, y, 3, 10, part), 1); /* all at one place */
    assert_true(part[0].least == 1 && part[0].most == 3);
}

static void ranges_are_of_what_can_be_drawn(void **state) {
    static const double x[] = {-1, 0, 10, NAN}, y[] = {5, 0, INFINITY, 2}, other[] = {1, -3, 4, 9};
    double low, high;
    (void)state;
    struct plot *p = plot_new(PLOT_LINES, "t");
    assert_true(plot_empty(p) && !plot_range_x(p, &low, &high) && !plot_range_y(p, &low, &high));
    plot_line(p, "a", 4, x, sizeof *x, y, sizeof *y);
    assert_true(!plot_empty(p) && plot_range_x(p, &low, &high) && low == -1 && high == 0);
    assert_true(plot_range_y(p, &low, &high) && low == 0 && high == 5);
    p->y.log = true; /* 0 has no place on it */
    assert_true(plot_range_y(p, &low, &high) && low == 5 && high == 5);
    p->x.log = true; /* nor has -1 */
    assert_true(plot_empty(p));
    p->x.log = p->y.log = false;
    p->y.high = 100;
    assert_true(plot_range_y(p, &low, &high) && high == 100);
    p->y.high = NAN;
    p->kind = PLOT_STACK;
    plot_line(p, "b", 4, x, sizeof *x, other, sizeof *other);
    assert_true(plot_range_y(p, &low, &high) && low == -3 && high == 11); /* 5 + 1, 0 - 3, 4, 2 + 9 */
    plot_free(p);
    plot_free(NULL);
}

static void columns_of_structs_are_lines(void **state) {
    static const struct { double t, skipped, v; } rows[] = {{1, 0, 10}, {2, 0, 20}};
    (void)state;
    struct plot *p = plot_new(PLOT_LINES, "t");
    struct plot_line *l = plot_line(p, "a", 2, &rows[0].t, sizeof rows[0], &rows[0].v, sizeof rows[0]);
    assert_true(l->x[1] == 2 && l->y[0] == 10 && l->y[1] == 20 && l->colour == 0);
    for (int i = 0; i < 20; i++) l = plot_line_room(p, "b", 1, false);
    assert_true(l->colour < PLOT_COLOURS && l->dash < PLOT_DASHES && isnan(l->y[0]) && l->x == NULL);
    plot_free(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_keep_least_mean_and_most),
        cmocka_unit_test(no_spike_is_lost),
        cmocka_unit_test(parts_without_points_are_left_out),
        cmocka_unit_test(ranges_are_of_what_can_be_drawn),
        cmocka_unit_test(columns_of_structs_are_lines),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("plot", tests, NULL, NULL);
}
