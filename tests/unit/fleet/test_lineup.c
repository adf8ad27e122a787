#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/rng.h"
#include "fleet/lineup.h"

enum { MOST = 40 };

static void test_earliest_first_of_equals_the_lowest(void **state) {
    (void)state;
    struct lineup l;
    uint32_t out[5];
    lineup_open(&l, 5);
    assert_int_equal(lineup_next_ns(&l), KVF_NEVER);
    lineup_set(&l, 3, 70);
    lineup_set(&l, 1, 70);
    lineup_set(&l, 4, 20);
    lineup_set(&l, 0, 90);
    assert_int_equal(lineup_next_ns(&l), 20);
    assert_int_equal(lineup_due(&l, 19, out, 5), 0);
    assert_int_equal(lineup_due(&l, 70, out, 5), 3);
    assert_int_equal(out[0], 4);
    assert_int_equal(out[1], 1);
    assert_int_equal(out[2], 3);
    assert_int_equal(lineup_next_ns(&l), 90);
    lineup_set(&l, 0, KVF_NEVER);
    assert_int_equal(lineup_next_ns(&l), KVF_NEVER);
    lineup_close(&l);
}

static void test_called_go_first_and_once(void **state) {
    (void)state;
    struct lineup l;
    uint32_t out[4];
    lineup_open(&l, 4);
    lineup_set(&l, 0, 10);
    lineup_set(&l, 2, 10);
    lineup_call(&l, 3);
    lineup_call(&l, 2);
    lineup_call(&l, 3);
    assert_int_equal(lineup_next_ns(&l), 0);
    assert_int_equal(lineup_due(&l, 10, out, 4), 3);
    assert_int_equal(out[0], 3);
    assert_int_equal(out[1], 2);
    assert_int_equal(out[2], 0);
    assert_int_equal(lineup_due(&l, 10, out, 4), 0);
    /* one that is called before its time keeps that time */
    lineup_set(&l, 1, 50);
    lineup_call(&l, 1);
    assert_int_equal(lineup_due(&l, 20, out, 4), 1);
    assert_int_equal(lineup_next_ns(&l), 50);
    lineup_close(&l);
}

static void test_what_has_no_room_stays(void **state) {
    (void)state;
    struct lineup l;
    uint32_t out[2];
    lineup_open(&l, 6);
    for (uint32_t i = 0; i < 3; i++) lineup_call(&l, 5 - i);
    lineup_set(&l, 0, 1);
    assert_int_equal(lineup_due(&l, 1, out, 2), 2);
    assert_int_equal(out[0], 5);
    assert_int_equal(out[1], 4);
    assert_int_equal(lineup_due(&l, 1, out, 2), 2);
    assert_int_equal(out[0], 3);
    assert_int_equal(out[1], 0);
    assert_int_equal(lineup_due(&l, 1, out, 2), 0);
    lineup_close(&l);
}

/* The earliest of a plain list, searched from its beginning. */
static uint32_t earliest(const uint64_t *at_ns, uint32_t count) {
    uint32_t first = 0;
    for (uint32_t i = 1; i < count; i++)
        if (at_ns[i] < at_ns[first]) first = i;
    return first;
}

static void test_random_times_of_any_number(void **state) {
    (void)state;
    struct rng rng;
    rng_init(&rng, 9, 0, 0);
    for (uint32_t count = 1; count <= MOST; count++) {
        struct lineup l;
        uint64_t at_ns[MOST];
        lineup_open(&l, count);
        for (uint32_t i = 0; i < count; i++) at_ns[i] = KVF_NEVER;
        for (int step = 0; step < 300; step++) {
            uint32_t i = (uint32_t)rng_range(&rng, 0, count - 1), out;
            at_ns[i] = rng_range(&rng, 0, 9) == 0 ? KVF_NEVER : rng_range(&rng, 1, 30);
            lineup_set(&l, i, at_ns[i]);
            uint32_t first = earliest(at_ns, count);
            assert_int_equal(lineup_next_ns(&l), at_ns[first]);
            if (step % 3 || at_ns[first] == KVF_NEVER) continue;
            assert_int_equal(lineup_due(&l, at_ns[first], &out, 1), 1);
            assert_int_equal(out, first);
            at_ns[first] = KVF_NEVER;
        }
        lineup_close(&l);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_earliest_first_of_equals_the_lowest),
        cmocka_unit_test(test_called_go_first_and_once),
        cmocka_unit_test(test_what_has_no_room_stays),
        cmocka_unit_test(test_random_times_of_any_number),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("lineup", tests, NULL, NULL);
}
