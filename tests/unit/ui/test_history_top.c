#include "tests/unit/history_fixture.h"

#include <stdlib.h>

static void add_value(struct history *h, double v) {
    struct snapshot *s = interval(history_newest(h) + 1, 1);

    s->interval.e2e_p95_ms = v;
    history_add(h, s);
}

static void assert_top(const struct history *h, enum zoom z, double want) {
    assert_near(history_top(h, SERIES_E2E_P95_MS, z, MISSING), want, "top", z);
}

static void test_top_rounds(void **state) {
    (void)state;
    static const double cases[][2] = {
        {1, 1},       {1.01, 1.5},    {1.5, 1.5},  {1.6, 2},       {2, 2},      {2.1, 3},
        {3.5, 4},     {5, 5},         {5.1, 6},    {7, 8},         {8.1, 10},   {10, 10},
        {0.1, 0.1},   {0.2, 0.2},     {0.17, 0.2}, {0, 1},         {999, 1000}, {1000, 1000},
        {1001, 1500}, {2.4e-6, 3e-6}, {-3, 1},     {4.2e12, 5e12}, {0.5, 0.5},  {1e9 * 1.5, 1.5e9}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct history *h = history_new();

        add_value(h, cases[i][0]);
        for (int z = 0; z < ZOOMS; z++) {
            double top = history_top(h, SERIES_E2E_P95_MS, (enum zoom)z, MISSING);

            if (!(fabs(top - cases[i][1]) <= 1e-9 * cases[i][1]))
                fail_msg("%g has the top %g, not %g", cases[i][0], top, cases[i][1]);
        }
        history_free(h);
    }
}

/* It rises at once. 1800 leaves the minute when sixty more have come; then the largest is 90, below half
 * of 1500, and ten intervals later the axis ends at 100. The ring for all holds 1800 for ever. */
static void test_top_falls_late(void **state) {
    (void)state;
    struct history *h = history_new();

    add_value(h, 90);
    assert_top(h, ZOOM_MINUTE, 100);
    add_value(h, 1800);
    assert_top(h, ZOOM_MINUTE, 2000);
    for (int i = 0; i < 60; i++) {
        assert_top(h, ZOOM_MINUTE, 2000);
        add_value(h, i % 7 ? 90 : MISSING);
    }
    for (int i = 1; i < 10; i++) { /* the first one below was the last of those sixty */
        assert_top(h, ZOOM_MINUTE, 2000);
        add_value(h, 90);
    }
    assert_top(h, ZOOM_MINUTE, 100);
    assert_top(h, ZOOM_TEN, 2000);
    assert_top(h, ZOOM_ALL, 2000);
    history_free(h);

    h = history_new(); /* five calm intervals, then 800 for a minute: the ten begin anew */
    add_value(h, 1800);
    for (int i = 0; i < 64; i++) add_value(h, 90);
    add_value(h, 800);
    for (int i = 0; i < 68; i++) add_value(h, 90);
    assert_top(h, ZOOM_MINUTE, 2000);
    add_value(h, 90);
    assert_top(h, ZOOM_MINUTE, 100);
    history_free(h);

    h = history_new(); /* 800 is above half of 1500: 2000 stays */
    add_value(h, 1800);
    for (int i = 0; i < 200; i++) add_value(h, 800);
    assert_top(h, ZOOM_MINUTE, 2000);
    add_value(h, 749); /* still 800s in the ring */
    assert_top(h, ZOOM_MINUTE, 2000);
    for (int i = 0; i < 80; i++) add_value(h, i % 9 == 8 ? 751 : 300); /* never ten in a row below */
    assert_top(h, ZOOM_MINUTE, 2000);
    for (int i = 0; i < 80; i++) add_value(h, MISSING); /* no data in the minute */
    assert_top(h, ZOOM_MINUTE, 0);
    assert_top(h, ZOOM_TEN, 2000);
    history_free(h);
}

/* A millisecond of 1000 and then nothing: the mean of its slot, 15 or 16 ms long, is what counts. */
static void test_top_of_means(void **state) {
    (void)state;
    struct history *h = history_new();

    for (int i = 1; i <= 100; i++) {
        struct snapshot *s = interval(i / 1000.0, 0.001);

        s->interval.throughput_tok_s = i == 1 ? 1000 : 0;
        history_add(h, s);
        if (i == 1) assert_true(history_top(h, SERIES_TOKENS_PER_S, ZOOM_ALL, MISSING) == 1000);
    }
    assert_true(history_top(h, SERIES_TOKENS_PER_S, ZOOM_ALL, MISSING) == 100);
    history_free(h);
}

/* Of the lowest on a step of the ladder the next lower one is the highest of the step before: 800 under
 * 1000, so that 401 keeps it and 399 does not. */
static void test_top_at_a_power(void **state) {
    (void)state;
    for (int low = 0; low < 2; low++) {
        struct history *h = history_new();

        add_value(h, 990);
        for (int i = 0; i < 80; i++) add_value(h, low ? 399 : 401);
        assert_top(h, ZOOM_MINUTE, low ? 400 : 1000);
        history_free(h);
    }
}

/* A value that goes round a border all the time does not move the axis. */
static void test_top_does_not_flicker(void **state) {
    (void)state;
    struct history *h = history_new();
    double top = 0;
    int changes = 0;

    for (int i = 0; i < 2000; i++) {
        add_value(h, 95 + 10 * sin(i / 9.0));
        if (history_top(h, SERIES_E2E_P95_MS, ZOOM_MINUTE, MISSING) != top) changes++;
        top = history_top(h, SERIES_E2E_P95_MS, ZOOM_MINUTE, MISSING);
    }
    assert_true(top == 150 && changes <= 2);
    history_free(h);
}

/* Never below what is shown, whatever comes; in the past neither. */
static void test_top_holds_all(void **state) {
    (void)state;
    struct history *h = history_new();
    double level = 10;

    srand(99);
    for (int i = 0; i < 3000; i++) {
        double most = 0;

        if (i % 100 == 0) level = pow(10, rand() % 5);
        add_value(h, level * (1 + rand() % 100));
        if (i % 37) continue;
        for (int z = 0; z < ZOOMS; z++) {
            series(h, SERIES_E2E_P95_MS, (enum zoom)z, MISSING, 200);
            for (int k = 0; k < 200; k++) most = fmax(isnan(got[k]) ? 0 : (double)got[k], most);
            assert_true(history_top(h, SERIES_E2E_P95_MS, (enum zoom)z, MISSING) >= most * (1 - 1e-6));
            most = 0;
        }
    }
    for (double end = 1; end < 3000; end += 31)
        for (int z = 0; z < ZOOM_ALL; z++) {
            double most = 0, top = history_top(h, SERIES_E2E_P95_MS, (enum zoom)z, end);

            series(h, SERIES_E2E_P95_MS, (enum zoom)z, end, 600);
            for (int k = 0; k < 600; k++) most = fmax(isnan(got[k]) ? 0 : (double)got[k], most);
            assert_true(top >= most * (1 - 1e-6) && top < most * 1.6);
        }
    for (int z = 0; z < ZOOMS; z++) /* at the newest it is the steady one */
        assert_true(history_top(h, SERIES_E2E_P95_MS, (enum zoom)z, 3000) ==
                    history_top(h, SERIES_E2E_P95_MS, (enum zoom)z, MISSING));
    history_free(h);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_top_rounds),           cmocka_unit_test(test_top_falls_late),
    cmocka_unit_test(test_top_of_means),         cmocka_unit_test(test_top_at_a_power),
    cmocka_unit_test(test_top_does_not_flicker), cmocka_unit_test(test_top_holds_all),
};

int main(void) {
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("history_top", tests, NULL, NULL);
}
