#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "draw/number.h"

static const struct {
    number_fn *fn;
    size_t width;
} padded[] = {
    {number_bytes, NUMBER_BYTES}, {number_rate, NUMBER_RATE},       {number_ms, NUMBER_MS},
    {number_count, NUMBER_COUNT}, {number_percent, NUMBER_PERCENT}, {number_short, NUMBER_SHORT},
};
enum { PADDED = sizeof padded / sizeof padded[0] };

struct figure {
    double v;
    const char *text;
};

static void expect_figures(number_fn *fn, const struct figure *f, size_t count) {
    char out[NUMBER];
    for (size_t i = 0; i < count; i++) assert_string_equal(fn(f[i].v, out), f[i].text);
}
#define EXPECT(fn, list) expect_figures(fn, list, sizeof list / sizeof list[0])

static const double MIB = 1048576, GIB = 1073741824;

static void test_bytes(void **state) {
    (void)state;
    const struct figure f[] = {
        {0, "     0 B"},           {1, "     1 B"},           {512, "   512 B"},
        {1023, "  1023 B"},        {1024, "1.00 KiB"},        {1.25 * GIB, "1.25 GiB"},
        {9.994 * MIB, "9.99 MiB"}, {9.996 * MIB, "10.0 MiB"}, {99.94 * MIB, "99.9 MiB"},
        {99.96 * MIB, " 100 MiB"}, {999.4 * MIB, " 999 MiB"}, {999.6 * MIB, "0.98 GiB"},
        {1023 * MIB, "1.00 GiB"},  {2.5, "  2.50 B"},         {-1.25 * GIB, "-1.2 GiB"},
        {-512, "  -512 B"},        {NAN, "      --"},         {INFINITY, "      --"},
        {1e30, ">999 EiB"},        {-1e30, "<-99 EiB"},       {1099511627776.0, "1.00 TiB"},
    };
    EXPECT(number_bytes, f);
    const struct figure rates[] = {
        {1.25 * GIB, "1.25 GiB/s"}, {0, "     0 B/s"}, {999.6 * MIB, "0.98 GiB/s"}, {NAN, "        --"}};
    EXPECT(number_rate, rates);
    const struct figure shorts[] = {
        {1.6 * GIB, "1.60G"}, {512.0 * 1024, " 512K"}, {20 * GIB, "  20G"},    {4.1 * GIB, "4.10G"},
        {0, "   0B"},         {1010, "0.99K"},         {999.6 * MIB, "0.98G"}, {-1010, "-1.0K"},
        {NAN, "   --"}};
    EXPECT(number_short, shorts);
}

static void test_ms(void **state) {
    (void)state;
    const struct figure f[] = {
        {42, "42.0 ms"},      {0.82, " 820 us"},    {1200, " 1.20 s"},   {720000, "   12 m"},
        {0, "   0 ms"},       {0.00002, "20.0 ns"}, {0.0005, " 500 ns"}, {0.9994, " 999 us"},
        {0.9996, "1.00 ms"},  {999.4, " 999 ms"},   {999.7, " 1.00 s"},  {9.996, "10.0 ms"},
        {95000, " 95.0 s"},   {599400, "  599 s"},  {599600, " 9.99 m"}, {750000, " 12.5 m"},
        {7200000, "    2 h"}, {5.0e9, " >999 h"},   {-42, " -42 ms"},    {NAN, "     --"},
    };
    EXPECT(number_ms, f);
}

static void test_count_and_percent(void **state) {
    (void)state;
    const struct figure counts[] = {
        {388, "  388"},    {12400, "12.4k"},  {1200000, "1.20M"}, {0, "    0"},     {999, "  999"},
        {999.6, "1.00k"},  {99960, " 100k"},  {999600, "1.00M"},  {3.7, " 3.70"},   {128.4, "  128"},
        {-12400, " -12k"}, {-0.001, " 0.00"}, {NAN, "   --"},     {1e40, ">999E"},  {-1e40, "<-99E"},
        {1023, "1.02k"},   {9994, "9.99k"},   {9996, "10.0k"},    {0.123, " 0.12"}, {-1020, "-1.0k"},
    };
    EXPECT(number_count, counts);
    const struct figure percents[] = {
        {0.931, " 93.1 %"},  {1, "100.0 %"},       {0.9996, "100.0 %"},  {0.9994, " 99.9 %"},
        {0, "  0.0 %"},      {-0.0, "  0.0 %"},    {-0.0001, "  0.0 %"}, {0.0004, "  0.0 %"},
        {12, " 1200 %"},     {1e9, ">9999 %"},     {-0.5, "-50.0 %"},    {-1e9, "<-999 %"},
        {9.9996, " 1000 %"}, {-0.9996, " -100 %"}, {NAN, "     --"},     {-INFINITY, "     --"},
    };
    EXPECT(number_percent, percents);
}

static void test_clock_and_plain(void **state) {
    (void)state;
    const struct figure clocks[] = {
        {42, "00:42"},     {0, "00:00"},       {41.99999999, "00:42"}, {59.9, "00:59"}, {60, "01:00"},
        {3599.5, "59:59"}, {3600, "1:00:00"},  {3727, "1:02:07"},      {NAN, "--:--"},  {INFINITY, "--:--"},
        {-5, "-00:05"},    {-0.0001, "00:00"}, {360000, "100:00:00"},
    };
    EXPECT(number_clock, clocks);
    const struct figure plains[] = {
        {0.42, "0.42"},   {12.4, "12.4"}, {0, "0"},         {1, "1.00"},      {123.4, "123"},
        {9.996, "10.0"},  {99.96, "100"}, {4321, "4321"},   {-2.5, "-2.50"},  {NAN, "--"},
        {0.0049, "0.00"}, {1e7, "1e+07"}, {-0.001, "0.00"}, {0.0051, "0.01"},
    };
    EXPECT(number_plain, plains);
}

/* From 1e-12 to 1e40, either sign, and just beside each power of both bases. */
static void test_width_holds(void **state) {
    (void)state;
    static const double odd[] = {NAN,    INFINITY, -INFINITY, DBL_MAX, -DBL_MAX, DBL_MIN,
                                 5e-324, -5e-324,  0.0,       -0.0,    1e308,    -1e308};
    char out[NUMBER];

    for (int f = 0; f < PADDED; f++) {
        for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++)
            assert_int_equal(strlen(padded[f].fn(odd[i], out)), padded[f].width);
        for (double v = 1e-12; v < 1e40; v *= 1.0173) {
            assert_int_equal(strlen(padded[f].fn(v, out)), padded[f].width);
            assert_int_equal(strlen(padded[f].fn(-v, out)), padded[f].width);
        }
        for (int e = -30; e < 90; e++)
            for (double near = 0.9990; near < 1.0010; near += 0.00005) {
                assert_int_equal(strlen(padded[f].fn(ldexp(near, e), out)), padded[f].width);
                assert_int_equal(strlen(padded[f].fn(-near * pow(10, e / 3.0), out)), padded[f].width);
            }
    }
    for (double v = 1e-320; v < 1e306; v *= 7.3) {
        assert_true(strlen(number_plain(-v, out)) <= 10);
        assert_true(strlen(number_clock(-v, out)) < NUMBER);
    }
}

/* The text equals the value to half of the last digit: read back by another way. */
static void test_reads_back(void **state) {
    (void)state;
    static const char units[] = "BKMGTPE";
    char out[NUMBER];

    for (double v = 1; v < 1e20; v *= 1.0137) {
        char *end;
        double figure = strtod(number_bytes(v, out), &end);
        int exponent = 10 * (int)(strchr(units, end[1]) - units);
        assert_true(fabs(ldexp(figure, exponent) / v - 1) < 0.0052);
        figure = strtod(number_short(v, out), &end);
        exponent = 10 * (int)(strchr(units, *end) - units);
        assert_true(fabs(ldexp(figure, exponent) / v - 1) < 0.0052);
        assert_true(figure < 1000);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_bytes),
    cmocka_unit_test(test_ms),
    cmocka_unit_test(test_count_and_percent),
    cmocka_unit_test(test_clock_and_plain),
    cmocka_unit_test(test_width_holds),
    cmocka_unit_test(test_reads_back),
};

int main(void) {
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("number", tests, NULL, NULL);
}
