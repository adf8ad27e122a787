/* Bisection against conditions whose answer is known. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>

#include "metrics/bisect.h"

/* Searches for the least value that is at least `threshold`; how often it asked. */
static unsigned search(struct bisect *b, double threshold) {
    unsigned asked = 0;
    double v;
    while (bisect_next(b, &v)) {
        assert_true(++asked < 200);
        bisect_tell(b, v >= threshold);
    }
    return asked;
}

static void the_answer_is_as_near_as_was_asked_for(void **state) {
    (void)state;
    static const double precision[] = {0.001, 0.01, 0.05, 0.5};
    static const double thresholds[] = {1.5e6, 2e6, 77e6, 1e9, 123456789012.0, 1.0994e12};
    for (unsigned p = 0; p < 4; p++)
        for (unsigned t = 0; t < 6; t++)
            for (int whole = 0; whole < 2; whole++) {
                struct bisect b;
                bisect_init(&b, 1048576, 1099511627776.0, precision[p], whole);
                unsigned asked = search(&b, thresholds[t]);
                assert_int_equal(b.state, BISECT_FOUND);
                assert_true(b.low < thresholds[t] && b.high >= thresholds[t]);
                assert_true(b.high - b.low <= precision[p] * b.high);
                assert_true(!whole || (b.low == floor(b.low) && b.high == floor(b.high)));
                /* 20 doublings between the bounds, halved until one is as narrow as the precision */
                assert_true(asked <= 2 + ceil(log2(20 / log2(1 / (1 - precision[p])))) + 2);
            }
}

static void whole_numbers_are_found_exactly(void **state) {
    (void)state;
    for (double answer = 1; answer <= 1000; answer++) {
        struct bisect b;
        bisect_init(&b, 0, 1000, 0.0001, true);
        search(&b, answer);
        assert_int_equal(b.state, BISECT_FOUND);
        assert_true(b.high == answer && b.low == answer - 1);
    }
}

static void bounds_answer_for_themselves(void **state) {
    (void)state;
    struct bisect b;
    bisect_init(&b, 10, 20, 0.05, true);
    assert_int_equal(search(&b, 5), 1); /* the upper bound is not even tried */
    assert_int_equal(b.state, BISECT_AT_LOW);
    assert_true(b.high == 10);
    bisect_init(&b, 10, 20, 0.05, true);
    assert_int_equal(search(&b, 21), 2);
    assert_int_equal(b.state, BISECT_NOT_MET);
    bisect_init(&b, 10, 20, 0.05, true);
    search(&b, 20);
    assert_int_equal(b.state, BISECT_FOUND);
    assert_true(b.high == 20 && b.low == 19);
}

static void what_is_asked_does_not_change_before_it_is_told(void **state) {
    (void)state;
    struct bisect b;
    double one, two;
    bisect_init(&b, 0.5, 2, 0.1, false);
    bisect_tell(&b, false);
    bisect_tell(&b, true);
    assert_true(bisect_next(&b, &one) && bisect_next(&b, &two) && one == two);
    assert_float_equal(one, 1, 1e-12); /* the middle of the logarithms */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_answer_is_as_near_as_was_asked_for),
        cmocka_unit_test(whole_numbers_are_found_exactly),
        cmocka_unit_test(bounds_answer_for_themselves),
        cmocka_unit_test(what_is_asked_does_not_change_before_it_is_told),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("bisect", tests, NULL, NULL);
}
