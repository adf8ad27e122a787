/* The outcome of a sweep: best points, differences and peaks, with figures worked by hand. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "record/metric.h"
#include "record/outcome.h"

/* Two groups of two variants, and two values of a key: eight points, of which point i has 10 (i + 1). */
static void fill(struct outcome *o) {
    static const char *const names[] = {"\"a\"", "\"b\"", "\"x\"", "\"y\"", "1", "2"};
    outcome_init(o);
    strcpy(o->record.profile, "keys");
    outcome_add_dimension(o, OUTCOME_VARIANT, "size", "");
    outcome_add_dimension(o, OUTCOME_VARIANT, "speed", "");
    outcome_add_dimension(o, OUTCOME_KEY, "workload.users", "");
    outcome_make_titles(o);
    size_t tok = outcome_measure(o, "throughput_tok_s", "tok/s");
    size_t p95 = outcome_measure(o, "e2e_p95_ms", "ms");
    o->chosen = o->measures;
    for (size_t i = 0; i < 8; i++) {
        struct outcome_point *p = outcome_add_point(o);
        p->state = OUTCOME_DONE;
        p->at[0] = outcome_place(&o->dimension[0], names[i / 4], NAN);
        p->at[1] = outcome_place(&o->dimension[1], names[2 + i / 2 % 2], NAN);
        p->at[2] = outcome_place(&o->dimension[2], names[4 + i % 2], (double)(i % 2 + 1));
        p->against = i % 4;
        outcome_set(p, p95, 100.0 - (double)i);
        outcome_set(p, tok, 10.0 * (double)(i + 1));
    }
    o->compared = true;
    o->base_group = 0;
    o->base_variant = 0;
}

static void peaks_are_the_best_of_each_combination(void **state) {
    struct outcome o;
    size_t count;
    (void)state;
    fill(&o);
    assert_int_equal(outcome_configurations(&o), 4);
    assert_string_equal(o.dimension[1].value[outcome_variant(&o, 2, 1)].text, "x");
    assert_string_equal(o.dimension[2].title, "users");
    struct outcome_peak *peak = outcome_peaks(&o, &count);
    assert_int_equal(count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(peak[i].point, 2 * i + 1);
        assert_true(peak[i].value[0] == 20.0 * (double)(i + 1));
    }
    assert_true(peak[0].delta == 0 && peak[1].delta == 0);
    assert_true(peak[2].delta == 60.0 / 20 - 1 && peak[3].delta == 80.0 / 40 - 1);
    outcome_peaks_free(peak, count);

    o.point[7].state = OUTCOME_STOPPED; /* what it gave is no result */
    assert_int_equal(outcome_best(&o, 0), 6);
    assert_true(outcome_measured(&o, 7, 0) == 80 && isnan(outcome_value(&o, 7, 0)));
    o.point[2].state = o.point[3].state = OUTCOME_FAILED;
    peak = outcome_peaks(&o, &count);
    assert_true(peak[1].point == SIZE_MAX && isnan(peak[1].value[0]));
    assert_true(peak[3].point == 6 && isnan(peak[3].delta));
    outcome_peaks_free(peak, count);
    outcome_free(&o);
}

/* Less work is done sooner: such a point is best of nothing, and no peak. */
static void a_point_that_left_work_undone_is_not_the_best(void **state) {
    struct outcome o;
    char text[STANDING_TEXT];
    size_t count;
    (void)state;
    fill(&o);
    for (size_t i = 0; i < STANDING_UNDONE; i++) {
        o.point[7].undone[i] = 3;
        assert_false(standing_nothing_undone(o.point[7].undone));
        assert_non_null(strstr(standing_undone(o.point[7].undone, text, sizeof text), "3 "));
        assert_int_equal(outcome_best(&o, 0), 6);
        assert_int_equal(outcome_best(&o, 1), 6);
        struct outcome_peak *peak = outcome_peaks(&o, &count);
        assert_int_equal(peak[3].point, 6);
        outcome_peaks_free(peak, count);
        o.point[7].undone[i] = 0;
    }
    assert_true(standing_nothing_undone(o.point[7].undone) &&
                standing_undone(o.point[7].undone, text, sizeof text)[0] == '\0');
    assert_int_equal(outcome_best(&o, 0), 7);
    for (enum standing_flaw f = STANDING_FLAWLESS + 1; f < STANDING_FLAWS; f++) {
        o.point[7].flaw = f;
        assert_int_equal(outcome_best(&o, 0), 6);
        assert_true(outcome_undone(&o.point[7], text)[0] != '\0');
    }
    for (size_t i = 0; i < 8; i++) o.point[i].undone[1] = 1;
    assert_true(outcome_best(&o, 0) == SIZE_MAX);
    outcome_free(&o);
}

static void with_a_load_all_figures_are_those_of_the_peak(void **state) {
    struct outcome o;
    size_t count;
    (void)state;
    fill(&o);
    strcpy(o.record.profile, "rates");
    struct outcome_peak *peak = outcome_peaks(&o, &count);
    assert_true(peak[3].value[0] == 80 && peak[3].value[1] == 93);
    outcome_peaks_free(peak, count);
    outcome_free(&o);
}

static void differences_are_parts_of_the_baseline(void **state) {
    struct outcome o;
    (void)state;
    fill(&o);
    assert_true(outcome_delta(&o, 5, 0) == 60.0 / 20 - 1);
    assert_true(outcome_delta(&o, 5, 1) == 95.0 / 99 - 1);
    outcome_set(&o.point[1], 0, 0);
    assert_true(isnan(outcome_delta(&o, 5, 0)));
    o.point[5].against = SIZE_MAX;
    assert_true(isnan(outcome_delta(&o, 5, 1)));
    outcome_free(&o);
}

static void the_first_measure_says_what_is_best(void **state) {
    struct outcome o;
    (void)state;
    fill(&o);
    assert_int_equal(outcome_best(&o, 0), 7);
    strcpy(o.measure[0].name, "miss_ratio");
    assert_int_equal(outcome_best(&o, 0), 0);
    assert_true(metric_better("ttft_p95_ms") == METRIC_LOWER && metric_better("prepare_s") == METRIC_LOWER);
    assert_false(metric_better("requests_per_s") == METRIC_LOWER ||
                 metric_better("nvme_read_gib_s") == METRIC_LOWER);
    /* compare and sweeps ask the same table */
    assert_true(metric_better("nvme_evictions") == METRIC_LOWER && metric_better("misses") == METRIC_LOWER &&
                metric_better("requests_dropped") == METRIC_LOWER &&
                metric_better("refused") == METRIC_LOWER &&
                metric_better("throughput_tok_s") == METRIC_HIGHER);
    outcome_free(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(peaks_are_the_best_of_each_combination),
        cmocka_unit_test(a_point_that_left_work_undone_is_not_the_best),
        cmocka_unit_test(with_a_load_all_figures_are_those_of_the_peak),
        cmocka_unit_test(differences_are_parts_of_the_baseline),
        cmocka_unit_test(the_first_measure_says_what_is_best),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("outcome", tests, NULL, NULL);
}
