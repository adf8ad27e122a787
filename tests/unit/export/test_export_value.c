/* Numbers of exports: short, and the same when they are read back. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "export/export.h"

static void texts_of_numbers(void **state) {
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0, "0"},
        {3, "3"},
        {0.1, "0.1"},
        {1.2345675, "1.2345675"},
        {0.254387118, "0.254387118"},
        {1e-9, "0.000000001"},
        {999999.999999999, "999999.999999999"},
        {123456.5, "123456.5"},
        {20924.80170320574, "20924.80170320574"},
        {-1.5, "-1.5"},
        {9007199254740991.0, "9007199254740991"},
        {1.0 / 3, "0.3333333333333333"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf out = {0};
        assert_true(export_add_real(cases[i].value, &out));
        assert_string_equal(buf_text(&out), cases[i].text);
        buf_free(&out);
    }
}

static void missing_is_nothing(void **state) {
    (void)state;
    struct buf out = {0};
    assert_false(export_add_real((double)NAN, &out));
    assert_false(export_add_real((double)INFINITY, &out));
    assert_int_equal(out.len, 0);
    export_add_count(UINT64_MAX, &out);
    assert_string_equal(buf_text(&out), "18446744073709551615");
    buf_free(&out);
}

/* Times in whole and half nanoseconds, quotients of them, and any bits at all. */
static void numbers_read_back(void **state) {
    (void)state;
    uint64_t bits = 0x9e3779b97f4a7c15;
    struct buf out = {0};
    for (int i = 0; i < 300000; i++) {
        bits = bits * 6364136223846793005 + 1442695040888963407;
        double ns = (double)(bits >> (20 + bits % 40)), v = i % 3 == 0   ? ns / 1e6
                                                            : i % 3 == 1 ? (ns + 0.5) / 1e6
                                                                         : 0;
        if (i % 3 == 2) memcpy(&v, &bits, sizeof v);
        if (!isfinite(v)) continue;
        out.len = 0;
        assert_true(export_add_real(v, &out));
        assert_true(strtod(buf_text(&out), NULL) == v);
    }
    buf_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_of_numbers),
        cmocka_unit_test(missing_is_nothing),
        cmocka_unit_test(numbers_read_back),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("export_value", tests, NULL, NULL);
}
