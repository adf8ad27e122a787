#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "base/units.h"

static void test_parse_size(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } rows[] = {
        {"0", 0},
        {"4096", 4096},
        {"64KiB", 65536},
        {"64KB", 64000},
        {"1MiB", 1048576},
        {"1.5GiB", 1610612736},
        {"16GiB", 17179869184},
        {"2TiB", 2199023255552},
        {"2TB", 2000000000000},
        {"0.25MB", 250000},
        {"007KiB", 7168},
        {"0.1KiB", 102},                          /* 102.4 */
        {"0.9999999999999999999999999KiB", 1024}, /* digits beyond resolution round */
        {"18446744073709551615", UINT64_MAX},
        {"16777215TiB", UINT64_C(18446742974197923840)}, /* (2^24 - 1) 2^40 */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t bytes = 1;
        assert_int_equal(units_parse_size(rows[i].text, &bytes), 0);
        assert_int_equal(bytes, rows[i].bytes);
    }
}

static void test_parse_duration(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t ns;
    } rows[] = {
        {"0", 0},
        {"0.0", 0},
        {"0s", 0},
        {"17ns", 17},
        {"10us", 10000},
        {"500ms", 500000000},
        {"0.5s", 500000000},
        {"60s", UINT64_C(60000000000)},
        {"5m", UINT64_C(300000000000)},
        {"24h", UINT64_C(86400000000000)},
        {"1.5h", UINT64_C(5400000000000)},
        {"7500ms", UINT64_C(7500000000)},
        {"0.000000001s", 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t ns = 1;
        assert_int_equal(units_parse_duration(rows[i].text, &ns), 0);
        assert_int_equal(ns, rows[i].ns);
    }
}

static void test_parse_refuses(void **state) {
    (void)state;
    static const char *const neither[] = {
        "",
        " ",
        "-1",
        "+1",
        "1e3",
        "0x10",
        ".5GiB",
        ".5s",
        "1.",
        "1.GiB",
        "1..5s",
        "1.2.3s",
        "GiB",
        "s",
        "1 s",
        " 1s",
        "1s ",
        "1gib",
        "1G",
        "1M",
        "1sec",
        "1d",
        "1.5",
        "nan",
        "inf",
        "1KiBs",
        "1\n",
        "18446744073709551616",
        "16777216TiB",
        "99999999999999999999h",
        "1.5ns",
        "5124096h",
    };
    uint64_t v = 77;
    for (size_t i = 0; i < sizeof neither / sizeof neither[0]; i++) {
        assert_int_equal(units_parse_size(neither[i], &v), -1);
        assert_int_equal(units_parse_duration(neither[i], &v), -1);
    }
    assert_int_equal(units_parse_size("1s", &v), -1);
    assert_int_equal(units_parse_duration("1KiB", &v), -1);
    assert_int_equal(units_parse_duration("60", &v), -1); /* of what? */
    assert_int_equal(v, 77);
}

static void ages_are_durations_days_or_weeks(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t seconds;
    } rows[] = {{"36h", 129600}, {"7d", 604800}, {"12w", 7257600}, {"0d", 0}, {"1.5h", 5400}};
    static const char *const neither[] = {"",    "d",     "-1d",        "1.5d",
                                          "7 d", "7days", "2026-11-20", "9999999999d"};
    uint64_t ns = 77;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(units_parse_age(rows[i].text, &ns), 0);
        assert_int_equal(ns, rows[i].seconds * 1000000000);
    }
    ns = 77;
    for (size_t i = 0; i < sizeof neither / sizeof neither[0]; i++)
        assert_int_equal(units_parse_age(neither[i], &ns), -1);
    assert_int_equal(ns, 77);
}

static void test_exact(void **state) {
    (void)state;
    static const struct {
        uint64_t v;
        const char *size, *duration;
    } rows[] = {
        {0, "0", "0"},
        {1, "1", "1ns"},
        {1023, "1023", "1023ns"},
        {1024, "1KiB", "1024ns"},
        {4000, "4KB", "4us"},
        {4194304, "4MiB", "4194304ns"},
        {65000000, "65MB", "65ms"},
        {UINT64_C(90000000000), "90GB", "90s"},
        {UINT64_C(300000000000), "300GB", "5m"},
        {UINT64_C(86400000000000), "86400GB", "24h"},
        {UINT64_C(17179869184), "16GiB", "17179869184ns"},
        {UINT64_C(1024000), "1000KiB", "1024us"},
        {UINT64_MAX, "18446744073709551615", "18446744073709551615ns"},
    };
    char text[40];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_string_equal(units_size_exact(rows[i].v, text, sizeof text), rows[i].size);
        assert_string_equal(units_duration_exact(rows[i].v, text, sizeof text), rows[i].duration);
    }
}

/* Whatever the value, its exact form parses back to it. */
static void test_exact_parses_back(void **state) {
    (void)state;
    struct rng r;
    char text[40];
    static const uint64_t scales[] = {1, 1000, 1024, 1000000, 1048576, UINT64_C(60000000000)};

    rng_init(&r, 5, KVF_RNG_TEST, 1);
    for (int i = 0; i < 6000; i++) {
        uint64_t v = (rng_u64(&r) >> (24 + i % 40)) * scales[i % 6], back = ~v; /* below 2^76: may wrap */
        assert_int_equal(units_parse_size(units_size_exact(v, text, sizeof text), &back), 0);
        assert_int_equal(back, v);
        assert_int_equal(units_parse_duration(units_duration_exact(v, text, sizeof text), &back), 0);
        assert_int_equal(back, v);
    }
}

static void test_human(void **state) {
    (void)state;
    static const struct {
        double v;
        const char *size, *duration, *count;
    } rows[] = {
        {0, "0 B", "0 ns", "0"},
        {7, "7 B", "7 ns", "7"},
        {7.25, "7.25 B", "7.25 ns", "7.25"},
        {0.0421, "0.0421 B", "0.0421 ns", "0.0421"},
        {999, "999 B", "999 ns", "999"},
        {999.7, "1000 B", "1.00 us", "1.00k"},
        {1000, "1000 B", "1.00 us", "1.00k"},
        {1023, "1023 B", "1.02 us", "1.02k"},
        {1024, "1.00 KiB", "1.02 us", "1.02k"},
        {12400, "12.1 KiB", "12.4 us", "12.4k"},
        {98000, "95.7 KiB", "98.0 us", "98.0k"},
        {999499, "976 KiB", "999 us", "999k"},
        {999501, "976 KiB", "1.00 ms", "1.00M"},
        {1343225856, "1.25 GiB", "1.34 s", "1.34G"},
        {42e6, "40.1 MiB", "42.0 ms", "42.0M"},
        {1010.0 * 1048576, "0.986 GiB", "1.06 s", "1.06G"},
        {274e9, "255 GiB", "274 s", "274G"},
        {999e9, "930 GiB", "999 s", "999G"},
        {1800e9, "1.64 TiB", "30.0 min", "1.80T"},
        {7200e9, "6.55 TiB", "2.00 h", "7.20T"},
        {5e15, "4.44 PiB", "1389 h", "5.00P"},
        {-1500, "-1.46 KiB", "-1.50 us", "-1.50k"},
        {NAN, "--", "--", "--"},
        {INFINITY, "--", "--", "--"},
    };
    char text[40];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_string_equal(units_size_human(rows[i].v, text, sizeof text), rows[i].size);
        assert_string_equal(units_duration_human(rows[i].v, text, sizeof text), rows[i].duration);
        assert_string_equal(units_count_human(rows[i].v, text, sizeof text), rows[i].count);
    }
}

static void test_clock(void **state) {
    (void)state;
    char text[40];
    assert_string_equal(units_clock(0, text, sizeof text), "00:00");
    assert_string_equal(units_clock(UINT64_C(42999999999), text, sizeof text), "00:42");
    assert_string_equal(units_clock(UINT64_C(3599000000000), text, sizeof text), "59:59");
    assert_string_equal(units_clock(UINT64_C(7635000000000), text, sizeof text), "02:07:15");
    assert_string_equal(units_clock(UINT64_C(360000000000000), text, sizeof text), "100:00:00");
}

static void test_is_unit(void **state) {
    (void)state;
    static const char *const units[] = {"%", "ms", "GiB, more", "s)", "tok/s.", "B", "% of it"};
    static const char *const words[] = {"", " %", "of", "msg", "Gib", "slots", ","};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) assert_true(units_is_unit(units[i]));
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) assert_false(units_is_unit(words[i]));
}

static void test_small_buffers(void **state) {
    (void)state;
    char text[5];
    memset(text, '#', sizeof text);
    assert_string_equal(units_size_human(1343225856, text, 4), "1.2");
    assert_int_equal(text[4], '#');
    assert_string_equal(units_duration_exact(5000, text, 3), "5u");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_parse_size),
    cmocka_unit_test(test_parse_duration),
    cmocka_unit_test(ages_are_durations_days_or_weeks),
    cmocka_unit_test(test_parse_refuses),
    cmocka_unit_test(test_exact),
    cmocka_unit_test(test_exact_parses_back),
    cmocka_unit_test(test_human),
    cmocka_unit_test(test_clock),
    cmocka_unit_test(test_is_unit),
    cmocka_unit_test(test_small_buffers),
};

int main(void) {
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("units", tests, NULL, NULL);
}
