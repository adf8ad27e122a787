/* How users who differ change throughput, by hand. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>

#include "engine/limits/mix.h"

enum { HALF = 10 };

static void near_to(double got, double want) {
    if (fabs(got - want) > 1e-6 * fabs(want)) fail_msg("%.9g, expected %.9g", got, want);
}

static void fill(struct mix_class *c, unsigned window, unsigned count, double cycle_s, double demand_s) {
    for (unsigned i = 0; i < count; i++) c[i] = (struct mix_class){window, cycle_s, demand_s};
}

static void alike_nothing_changes(void **state) {
    struct mix_class c[2 * HALF];
    (void)state;
    fill(c, 0, HALF, 1, 0.05);
    fill(c + HALF, 1, HALF, 2, 0.1); /* the other part of the run was slower for all */
    near_to(mix_factor(c, 2 * HALF, 8, 2), 1);
    near_to(mix_factor(c, 0, 8, 2), 1);
}

/* Ten users queue at a saturated station for all of their cycle of a second, 0.1 s of it being served; ten
 * never come there. Twice as fast, the first make 20 requests per second and the others 10, still. Twenty of
 * the mean ask for 0.05 s and are half of the time elsewhere. Each waits for 9/10 of those there: four times
 * 0.025 s, beside the 0.5 s, is 20 users in 0.6 s. */
static void users_elsewhere_gain_nothing(void **state) {
    struct mix_class c[2 * HALF];
    (void)state;
    fill(c, 0, HALF, 1, 0.1);
    fill(c + HALF, 0, HALF, 1, 0);
    near_to(mix_factor(c, 2 * HALF, 10, 2), 30 / (20 / 0.6));
}

/* Without a queue nobody hinders anybody: 1 + 2 instead of 2 in 0.75 s. */
static void without_a_queue(void **state) {
    const struct mix_class c[] = {{0, 1, 1}, {0, 1, 0}};
    (void)state;
    near_to(mix_factor(c, 2, 1, 2), 3 / (2 / 0.75));
}

/* A user whose requests wait for less than the mean does not wait longer than its cycle. */
static void no_wait_exceeds_a_cycle(void **state) {
    const struct mix_class c[] = {{0, 1, 0.5}, {0, 1, 0.5}, {0, 0.1, 0.1}};
    (void)state;
    double factor = mix_factor(c, 3, 4, 2);
    assert_true(isfinite(factor) && factor > 0.5 && factor < 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alike_nothing_changes),
        cmocka_unit_test(users_elsewhere_gain_nothing),
        cmocka_unit_test(without_a_queue),
        cmocka_unit_test(no_wait_exceeds_a_cycle),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("mix", tests, NULL, NULL);
}
