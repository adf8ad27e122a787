/* A stage gives the same shares for the same load, however short the intervals are in which it is told. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/scale/stage.h"

static struct histogram none;
static struct stage s;
static struct stage_reading r;

static struct stage_rules rules_of(enum stage_figure figure) {
    struct stage_rules rules = {.figure = figure, .limit_saturation = 0.8, .classes = 2};
    strcpy(rules.name[0], "fast");
    strcpy(rules.name[1], "slow");
    rules.target_ms[0] = 100;
    rules.target_ms[1] = (double)NAN;
    return rules;
}

/* A stage of so many seconds in intervals of so many ms, at 1,000 tokens a second. Of every fifth second 50
 * ms leave work undone. Of every tenth the slow class is overtaken in the last 300 ms, of others for 100 ms
 * amid them. */
static enum stage_state told_in(unsigned interval_ms, unsigned seconds, enum stage_figure figure) {
    struct stage_rules rules = rules_of(figure);
    struct stage_plan plan = {.length_s = seconds, .line = (double)NAN};
    enum stage_state state = STAGE_RUNS;
    histogram_init(&none);
    stage_begin(&s, &plan, NULL);
    for (unsigned from = 0; state == STAGE_RUNS; from += interval_ms) {
        struct stage_signals in = {
            .length_s = interval_ms / 1e3, .saturation = 0.5, .tokens = interval_ms, .nvme_tokens = 0};
        in.klass[0] = in.klass[1] = (struct stage_class_signals){.latency = &none, .in_service = 1};
        for (unsigned ms = from; ms < from + interval_ms; ms++) {
            bool late = ms % 1000 >= 700 && ms % 1000 < 750;
            in.undone = in.slipped = in.slipped || (late && ms / 1000 % 5 == 4);
        }
        unsigned now = (from + interval_ms - 1) % 1000;
        in.klass[1].overtaken = from / 1000 % 10 == 1 ? now >= 700 : now >= 400 && now < 500;
        state = stage_step(&s, &rules, &in);
    }
    stage_read(&s, &rules, &r);
    return state;
}

static const unsigned lengths_ms[] = {10, 50, 100, 250, 1000};
enum { LENGTHS = sizeof lengths_ms / sizeof lengths_ms[0] };

static void shares_do_not_depend_on_the_interval(void **state) {
    (void)state;
    for (unsigned i = 0; i < LENGTHS; i++) {
        assert_true(told_in(lengths_ms[i], 40, STAGE_SATURATION) == STAGE_OVER);
        assert_true(fabs(r.slipped - 0.2) < 1e-9);
        assert_true(fabs(r.overtaken - 0.1) < 1e-9);
        assert_int_equal(r.behind, 1);
        assert_false(r.undone);
    }
}

/* Four seconds of five count. */
static void throughput_does_not_depend_on_the_interval(void **state) {
    (void)state;
    for (unsigned i = 0; i < LENGTHS; i++) {
        assert_true(told_in(lengths_ms[i], 40, STAGE_TOKENS) == STAGE_WITHIN);
        assert_true(fabs(r.value - 800) < 1e-6);
        /* 40 stretches with a variance of 160,000 x 40 / 39, by stretches alone */
        assert_true(r.noise >= sqrt(160000.0 / 39) - 1e-6 && r.noise < 1.5 * sqrt(160000.0 / 39));
    }
}

/* Of intervals of 300 ms four are a stretch; 40 s are 133 of them: 33 stretches of 1.2 s, and one is left.
 */
static void a_rest_is_dropped(void **state) {
    (void)state;
    (void)told_in(300, 40, STAGE_SATURATION);
    assert_int_equal(s.stretches, 33);
    (void)told_in(10, 4, STAGE_SATURATION);
    assert_int_equal(s.stretches, 4);
    assert_true(r.slipped < 1e-9);
}

/* Longer intervals are stretches of their own. */
static void longer_intervals_are_stretches(void **state) {
    (void)state;
    (void)told_in(5000, 40, STAGE_SATURATION);
    assert_int_equal(s.stretches, 8);
    assert_true(fabs(r.slipped - 1) < 1e-9);
    assert_true(r.undone);
}

/* A second that a clock cut short is one still, and so is a stage that is shorter. */
static void a_short_second_is_a_stretch(void **state) {
    (void)state;
    struct stage_rules rules = rules_of(STAGE_SATURATION);
    struct stage_plan plan = {.length_s = 4, .line = (double)NAN};
    struct stage_signals in = {.length_s = 0.999, .saturation = 0.5};
    histogram_init(&none);
    in.klass[0] = in.klass[1] = (struct stage_class_signals){.latency = &none, .in_service = 1};
    stage_begin(&s, &plan, NULL);
    for (int i = 0; i < 3; i++) (void)stage_step(&s, &rules, &in);
    assert_int_equal(s.stretches, 3);
    plan.length_s = 0.3;
    in.length_s = 0.1;
    in.slipped = in.undone = true;
    stage_begin(&s, &plan, NULL);
    while (stage_step(&s, &rules, &in) == STAGE_RUNS) {}
    stage_read(&s, &rules, &r);
    assert_int_equal(s.stretches, 1);
    assert_true(fabs(r.slipped - 1) < 1e-9);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_do_not_depend_on_the_interval),
        cmocka_unit_test(throughput_does_not_depend_on_the_interval),
        cmocka_unit_test(a_rest_is_dropped),
        cmocka_unit_test(longer_intervals_are_stretches),
        cmocka_unit_test(a_short_second_is_a_stretch),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("stage", tests, NULL, NULL);
}
