/* Axes of charts: ticks that a person would choose, worked out by hand. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "draw/axis.h"

/* "0 20 40 60 80 100 ms": all ticks, then the unit. */
static void assert_ticks(const struct axis_wish *w, const char *expected) {
    struct axis a;
    struct buf text = {0};
    axis_make(&a, w);
    for (size_t i = 0; i < a.ticks; i++) buf_addf(&text, "%s%s", i ? " " : "", a.text[i]);
    if (*a.unit) buf_addf(&text, " [%s]", a.unit);
    assert_string_equal(buf_text(&text), expected);
    buf_free(&text);
}

static void linear_ticks_are_round(void **state) {
    (void)state;
    assert_ticks(&(struct axis_wish){3, 87, "", false, false, 6}, "0 20 40 60 80 100");
    assert_ticks(&(struct axis_wish){0, 1, "", false, false, 6}, "0.0 0.2 0.4 0.6 0.8 1.0");
    assert_ticks(&(struct axis_wish){0, 0.0042, "", false, false, 6}, "0.000 0.001 0.002 0.003 0.004 0.005");
    assert_ticks(&(struct axis_wish){0, 45000, "tok/s", false, false, 6}, "0 10k 20k 30k 40k 50k [tok/s]");
    assert_ticks(&(struct axis_wish){0, 2.2e6, "", false, false, 6}, "0 0.5M 1.0M 1.5M 2.0M 2.5M");
    assert_ticks(&(struct axis_wish){-0.3, 0.2, "%", false, false, 6}, "-30 -20 -10 0 10 20 [%]");
    assert_ticks(&(struct axis_wish){0.2, 0.5, "%", false, false, 6}, "0 10 20 30 40 50 [%]");
}

static void units_follow_the_size(void **state) {
    (void)state;
    assert_ticks(&(struct axis_wish){0, 3 * 0x1p30, "B", false, false, 6}, "0 1 2 3 [GiB]");
    assert_ticks(&(struct axis_wish){0, 700 * 0x1p20, "B", false, false, 6}, "0 200 400 600 800 [MiB]");
    assert_ticks(&(struct axis_wish){0, 1500, "ms", false, false, 6}, "0 500 1000 1500 [ms]");
    assert_ticks(&(struct axis_wish){0, 4400, "ms", false, false, 6}, "0 1 2 3 4 5 [s]");
    assert_ticks(&(struct axis_wish){0, 0.08, "ms", false, false, 6}, "0 20 40 60 80 [us]");
}

static void run_time_goes_by_the_clock(void **state) {
    (void)state;
    assert_ticks(&(struct axis_wish){0, 25, "clock", false, true, 6}, "0:00 0:05 0:10 0:15 0:20 0:25");
    assert_ticks(&(struct axis_wish){0, 3605, "clock", false, true, 8},
                 "0:00 10:00 20:00 30:00 40:00 50:00 1:00:00");
    assert_ticks(&(struct axis_wish){0, 0.9, "clock", false, true, 6}, "0:00 0.2 s 0.4 s 0.6 s 0.8 s");
    assert_ticks(&(struct axis_wish){7, 93, "clock", false, true, 6}, "0:30 1:00 1:30");
}

static void logarithmic_ticks_are_powers_of_ten(void **state) {
    (void)state;
    assert_ticks(&(struct axis_wish){0.03, 250, "ms", true, false, 6}, "10 us 100 us 1 ms 10 ms 100 ms 1 s");
    assert_ticks(&(struct axis_wish){2, 60, "ms", true, false, 6}, "1 ms 2 ms 5 ms 10 ms 20 ms 50 ms 100 ms");
    assert_ticks(&(struct axis_wish){1, 1000, "P", true, true, 6}, "P0 P50 P90 P99 P99.9");
    assert_ticks(&(struct axis_wish){1e-3, 1e5, "ms", true, false, 5}, "1 us 100 us 10 ms 1 s 100 s");
}

static void nothing_and_sameness_have_an_axis(void **state) {
    static const double values[] = {NAN,    INFINITY, -INFINITY, 0,      5,      -5,
                                    5e-324, 1e-300,   1e299,     -1e299, 1.7e308};
    static const char *const units[] = {"", "ms", "B", "%", "clock", "P", "tok/s"};
    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        for (size_t k = 0; k < sizeof values / sizeof *values; k++)
            for (size_t u = 0; u < 7; u++)
                for (int flags = 0; flags < 4; flags++) {
                    struct axis a;
                    axis_make(&a,
                              &(struct axis_wish){values[i], values[k], units[u], flags & 1, flags & 2, 6});
                    assert_true(isfinite(a.low) && isfinite(a.high) && a.low < a.high);
                    assert_true(!a.log || a.low > 0);
                    assert_true(isnan(axis_part(&a, NAN)));
                    for (size_t t = 0; t < a.ticks; t++) {
                        assert_true(t == 0 || a.tick[t] > a.tick[t - 1]);
                        assert_in_range((int)(axis_part(&a, a.tick[t]) * 1000), 0, 1000);
                    }
                }
}

/* Whatever the range: it is covered, the ticks are evenly apart, and their steps are 1, 2 or 5. */
static void any_range_is_covered_by_even_steps(void **state) {
    (void)state;
    for (double high = 1e-6; high < 1e12; high *= 1.37) {
        struct axis a;
        axis_make(&a, &(struct axis_wish){0, high, "1/s", false, false, 6});
        assert_true(a.low == 0 && a.high >= high * (1 - 1e-9) && a.high < high * 2.6);
        assert_true(a.ticks >= 3 && a.ticks <= 7);
        double step = a.tick[1] - a.tick[0], digit = step / pow(10, floor(log10(step) + 1e-9));
        assert_true(fabs(digit - 1) < 1e-6 || fabs(digit - 2) < 1e-6 || fabs(digit - 5) < 1e-6);
        for (size_t i = 1; i < a.ticks; i++)
            assert_true(fabs(a.tick[i] - a.tick[i - 1] - step) < 1e-6 * step);
        assert_true(fabs(a.tick[a.ticks - 1] - a.high) < 1e-6 * step);
        for (size_t i = 1; i < a.ticks; i++) assert_string_not_equal(a.text[i], a.text[i - 1]);
    }
}

static void parts_of_the_scale(void **state) {
    struct axis a;
    (void)state;
    axis_make(&a, &(struct axis_wish){0, 100, "", false, false, 6});
    assert_true(axis_part(&a, 25) == 0.25 && axis_part(&a, -1) == 0 && axis_part(&a, 1000) == 1);
    axis_make(&a, &(struct axis_wish){1, 100, "ms", true, false, 6});
    assert_true(fabs(axis_part(&a, 10) - 0.5) < 1e-12 && axis_part(&a, 0) == 0);
}

static void values_have_their_units(void **state) {
    (void)state;
    assert_string_equal(axis_value(0.972, "%").text, "97.2 %");
    assert_string_equal(axis_value(90, "clock").text, "1:30");
    assert_string_equal(axis_value(1.5, "clock").text, "1.5 s");
    assert_string_equal(axis_value(100, "P").text, "P99");
    assert_string_equal(axis_value(42, "ms").text, "42.0 ms");
    assert_string_equal(axis_value(NAN, "ms").text, "--");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_ticks_are_round),
        cmocka_unit_test(units_follow_the_size),
        cmocka_unit_test(run_time_goes_by_the_clock),
        cmocka_unit_test(logarithmic_ticks_are_powers_of_ten),
        cmocka_unit_test(nothing_and_sameness_have_an_axis),
        cmocka_unit_test(any_range_is_covered_by_even_steps),
        cmocka_unit_test(parts_of_the_scale),
        cmocka_unit_test(values_have_their_units),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("axis", tests, NULL, NULL);
}
