#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "record/judge/judge.h"
#include "record/standing.h"

static struct run_record r;

static void put(const char *metric, double value) {
    struct result *found = NULL;
    for (size_t i = 0; i < r.results.count && !found; i++)
        if (strcmp(r.results.items[i].metric, metric) == 0) found = &r.results.items[i];
    if (found)
        found->value = value;
    else
        result_add(&r.results, value, 0, "%s", metric);
}

static void put_class(const char *name, const char *what, double value) {
    char metric[64];
    snprintf(metric, sizeof metric, "class_%s_%s", name, what);
    put(metric, value);
}

static void put_requests(const char *name, double arrived, double open, double done, double queued) {
    put_class(name, "arrived", arrived);
    put_class(name, "open_at_start", open);
    put_class(name, "done", done);
    put_class(name, "failed", 0);
    put_class(name, "queued_at_end", queued);
    put_class(name, "starved_s", 0);
    put_class(name, "oldest_wait_ms", 0);
}

static void put_all(double arrived, double open, double done, double queued) {
    put("requests_arrived", arrived);
    put("requests_open_at_start", open);
    put("requests_done", done);
    put("requests_failed", 0);
    put("requests_dropped", 0);
    put("requests_queued_at_end", queued);
}

/* 60 s of an open loop: 3000 requests of one class that are all served, and 138 of another. */
static int set_up(void **state) {
    (void)state;
    run_record_init(&r);
    r.classes = 2;
    snprintf(r.klass[0].name, sizeof r.klass[0].name, "inter");
    snprintf(r.klass[1].name, sizeof r.klass[1].name, "batch");
    put("measured_s", 60);
    put("unserved_ratio", 0.02);
    put_requests("inter", 3000, 0, 2998, 2);
    put_requests("batch", 138, 0, 138, 0);
    put_all(3138, 0, 3136, 2);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    run_record_free(&r);
    return 0;
}

static void expect(size_t n, const char *names) {
    char text[STANDING_UNSERVED];
    assert_int_equal(standing_run_unserved(&r, text), n);
    assert_string_equal(text, names);
}

static void a_class_starves_or_waits_for_half_of_the_run(void **state) {
    (void)state;
    expect(0, "");
    put_class("batch", "starved_s", 30);
    expect(0, "");
    put_class("batch", "starved_s", 31);
    expect(1, "class batch");
    put_class("batch", "starved_s", 0);
    put_class("batch", "oldest_wait_ms", 31e3);
    expect(0, "");
    put_class("batch", "done", 0);
    expect(1, "class batch");
    put_class("inter", "starved_s", 31);
    expect(2, "classes inter and batch");
}

/* In the queue of all it is hidden: 83 of 3138 are under 3 percent. */
static void a_class_is_left_behind_the_others(void **state) {
    (void)state;
    put_requests("batch", 138, 0, 55, 83);
    put_all(3138, 0, 3053, 85);
    expect(1, "class batch");
    put("unserved_ratio", KVF_MISSING); /* users who wait for their answers ask for no more */
    expect(0, "");
    put("unserved_ratio", 0.02);
    put_requests("batch", 138, 0, 103, 35); /* 35 of 138 are less than 3 x 11.7 */
    put_all(3138, 0, 3101, 37);
    expect(0, "");
    put_requests("batch", 138, 0, 102, 36);
    put_all(3138, 0, 3100, 38);
    expect(1, "class batch");
    put_requests("batch", 138, 60, 162, 36); /* 60 from before are gone, and 36 of now are left */
    put_all(3138, 60, 3160, 38);
    expect(0, "");
    put_requests("batch", 20, 138, 122, 36); /* most came before: what is left of all is not served */
    put_all(3020, 138, 3120, 38);
    expect(0, "");
    put_requests("batch", 20, 138, 120, 38);
    put_all(3020, 138, 3118, 40);
    expect(1, "class batch");
}

static void expect_left(double arrived, double unserved, double queued, double dispersion, bool behind) {
    put("requests_arrived", arrived);
    put("unserved_ratio", unserved);
    put("requests_queued_at_end", queued);
    put("arrival_dispersion", dispersion);
    assert_int_equal(standing_run_behind(&r.results), behind);
    assert_int_equal(standing_run_left(&r.results) > 0, behind);
}

/* By chance no more than three times the root of dispersion x arrivals wait. */
static void the_arrival_process_says_what_chance_explains(void **state) {
    (void)state;
    expect_left(300, 0.17, 51, KVF_MISSING, false); /* 51 of 300 are less than 3 x 17.3 */
    expect_left(300, 0.17, 51, 1, false);
    expect_left(300, 0.17, 51, 0, true); /* even gaps */
    expect_left(300, 0.04, 12, 0, false);
    expect_left(20, 0.1, 2, 0, false); /* one or two */
    expect_left(20, 0.15, 3, 0, true);
    expect_left(300, 0.17, 0, 0, false); /* no queue: sizes differ, so more or fewer are in service */
    expect_left(300, 0.18, 0, 0, true);
    expect_left(300, 0.18, 54, 4, false); /* 54 are less than 3 x 34.6 */
    expect_left(300, 0.4, 120, 4, true);
    expect_left(300, 0.17, 51, 1, false); /* where 17.3 % may be chance, that is enough */
    assert_true(standing_run_allowed(&r.results) > 0.17 && standing_run_allowed(&r.results) < 0.174);
    expect_left(300, 0.18, 54, 1, true);
    assert_true(standing_run_allowed(&r.results) == 0.05);
    expect_left(300, 0.01, 3, 1, false);
    assert_true(standing_run_allowed(&r.results) == 0.05);
    expect_left(1000, 0.24, 240, 225, false); /* bursts explain 142 %, and a quarter is no burst */
    assert_true(standing_run_allowed(&r.results) == 0.25);
    expect_left(1000, 0.26, 260, 225, true);
    expect_left(30, 0.5, 15, 225, false); /* of 30 single ones are 55 % */
    put("nvme_busy_ratio",
        0.96); /* a full tier had no time for what came by chance: once the root is enough */
    expect_left(300, 0.17, 51, 1, true);
    expect_left(300, 0.05, 15, 1, false);
    put("nvme_busy_ratio", 0.94);
    expect_left(300, 0.17, 51, 1, false);
    expect_left(300, KVF_MISSING, 120, 0, false); /* users who wait for their answers */
}

/* The load is too high for all of them, which unserved_ratio tells. */
static void no_class_is_behind_where_all_wait(void **state) {
    (void)state;
    put("unserved_ratio", 0.6);
    put_requests("inter", 3000, 0, 1200, 1800);
    put_requests("batch", 138, 0, 55, 83);
    put_all(3138, 0, 1255, 1883);
    expect(0, "");
    r.classes = 1;
    put_requests("inter", 3000, 0, 1200, 1800);
    put_all(3000, 0, 1200, 1800);
    expect(0, "");
}

/* Every trial has the same classes: their numbers do not add up as those of requests do. */
static void trials_tell_the_most_classes_of_any(void **state) {
    (void)state;
    struct trials t = {0};
    struct standing s;
    char text[STANDING_TEXT];
    for (uint32_t n = 1; n <= 3; n++) {
        struct run_record one;
        run_record_init(&one);
        one.trial = n;
        one.trials = 3;
        one.status = RUN_COMPLETED;
        result_add(&one.results, n == 3 ? 2 : 1, 0, "classes_unserved");
        result_add(&one.results, n, 0, "requests_failed");
        trials_add(&t, &one);
        run_record_free(&one);
    }
    standing_of(&r, &t, &s);
    standing_undone(s.undone, text, sizeof text);
    assert_string_equal(text, "6 requests failed and 2 classes were left unserved");
    assert_float_equal(standing_undone_each(&s, standing_undone_find("requests_failed")), 2, 1e-9);
    assert_float_equal(standing_undone_each(&s, standing_undone_find("classes_unserved")), 2, 1e-9);
    trials_free(&t);
}

static void both_reasons_are_told(void **state) {
    (void)state;
    double counts[STANDING_UNDONE] = {0};
    char text[STANDING_TEXT];
    counts[standing_undone_find("requests_failed")] = 3;
    assert_string_equal(standing_why(counts, STANDING_FLAW_BEHIND, text),
                        "3 requests failed; it did not serve what arrived");
    assert_string_equal(standing_why(counts, STANDING_FLAWLESS, text), "3 requests failed");
    counts[standing_undone_find("requests_failed")] = 0;
    assert_string_equal(standing_why(counts, STANDING_FLAW_CUT, text), "it ended amid most of its work");
    assert_string_equal(standing_why(counts, STANDING_FLAWLESS, text), "");
}

/* A reader of these metrics alone finds the flaw that a reader of all results does. */
static void a_flaw_is_told_by_its_metrics(void **state) {
    (void)state;
    for (size_t b = 0; b < standing_busy_count; b++) {
        bool listed = false;
        for (size_t i = 0; i < standing_flaw_metric_count; i++)
            listed = listed || strcmp(standing_flaw_metrics[i], standing_busy[b]) == 0;
        if (!listed) fail_msg("%s is not listed", standing_busy[b]);
    }
}

/* Rows that were rejected, and what users without a conversation would have asked, may miss the target. */
static void a_part_of_the_load_meets_no_targets(void **state) {
    (void)state;
    static const struct {
        const char *metric;
        double value, met;
        enum run_status status;
        bool targets; /* that count */
    } cases[] = {{"rows_rejected_ratio", 0.04, 1, RUN_COMPLETED, true},
                 {"rows_rejected_ratio", 0.05, 1, RUN_COMPLETED, false},
                 {"rows_rejected_ratio", 0.05, 0, RUN_COMPLETED, true},
                 {"rows_rejected_ratio", 0.05, 1, RUN_FAILED, true},
                 {"warmup_counted_s", 0.2, 1, RUN_COMPLETED, false},
                 {"users_exhausted_ratio", 0.2, 1, RUN_COMPLETED, false},
                 {"users_exhausted_ratio", 0.2, 0, RUN_COMPLETED, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct judge_input in = {.whole = true};
        struct run_record one;
        run_record_init(&one);
        one.status = cases[i].status;
        one.classes = 1;
        snprintf(one.klass[0].name, sizeof one.klass[0].name, "a");
        one.klass[0].p95_ns = 10 * KVF_NS_PER_MS;
        result_add(&one.results, cases[i].met, 100, "slo_a_p95_met");
        result_add(&one.results, cases[i].value, 0, "%s", cases[i].metric);
        judge_read_results(&one, &in);
        assert_int_equal(in.targets, cases[i].targets);
        assert_int_equal(in.targets && in.targets_met, cases[i].targets && cases[i].met == 1);
        run_record_free(&one);
    }
}

/* Five percent of them, beyond the chance of as many. */
static void misses_of_turns_are_work_left_out(void **state) {
    static const struct {
        double lookups, hits;
        bool missed;
    } cases[] = {{1000, 950, false}, {1000, 700, true}, {1000, 1000, false}, {10, 9, false}, {0, 0, false}};
    char text[STANDING_TURNS];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put("conversation_lookups", cases[i].lookups);
        put("conversation_hits", cases[i].hits);
        struct standing_turns t = standing_turns(&r.results);
        assert_int_equal(standing_turns_missed(&t), cases[i].missed);
        if (cases[i].hits == 700)
            assert_string_equal(standing_turns_text(&t, "run 2", true, text),
                                "300 of 1.00k lookups of run 2 missed, and nothing computes that at "
                                "granularity request, unlike at block");
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(a_class_starves_or_waits_for_half_of_the_run),
        CASE(a_class_is_left_behind_the_others),
        CASE(the_arrival_process_says_what_chance_explains),
        CASE(no_class_is_behind_where_all_wait),
        CASE(trials_tell_the_most_classes_of_any),
        CASE(both_reasons_are_told),
        CASE(a_flaw_is_told_by_its_metrics),
        CASE(a_part_of_the_load_meets_no_targets),
        CASE(misses_of_turns_are_work_left_out),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("standing", tests, NULL, NULL);
}
