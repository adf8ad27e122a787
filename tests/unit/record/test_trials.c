#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/trials.h"

static struct trials t;

static int set_up(void **state) {
    (void)state;
    t = (struct trials){0};
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    trials_free(&t);
    return 0;
}

static void expect_near(double got, double want, double off) {
    if (!(fabs(got - want) <= off)) fail_msg("%.12g is not %.12g within %g", got, want, off);
}

static void begin(struct run_record *r, uint32_t trial) {
    run_record_init(r);
    r->run_id = 100 + trial;
    r->trial = trial;
    r->trials = 4;
    r->status = RUN_COMPLETED;
}

static void put(struct run_record *r, const char *metric, double value, const char *unit) {
    struct result one = {.value = value};
    snprintf(one.metric, sizeof one.metric, "%.63s", metric);
    snprintf(one.unit, sizeof one.unit, "%.11s", unit);
    result_put(&r->results, &one);
}

static void end(struct run_record *r) {
    trials_add(&t, r);
    run_record_free(r);
}

static void criterion(struct run_record *r, double passed) {
    run_record_criterion(r, &(struct run_criterion){.name = "x", .passed = passed});
}

/* Published of a tier validation: 263 +- 2 tok/s on nvme alone over three trials. */
static void metrics_of_complete_trials(void **state) {
    (void)state;
    static const double tok[] = {261, 265, 263}, read[] = {350, 358.2, 366.4};
    struct run_record r;
    struct statistics s;
    for (uint32_t i = 0; i < 3; i++) {
        begin(&r, i + 1);
        put(&r, "storage_throughput_tok_s", tok[i], "tok/s");
        put(&r, "nvme_read_p95_ms", read[i], "ms");
        end(&r);
    }
    assert_int_equal(t.asked, 4);
    assert_true(t.count == 3 && trials_complete(&t) == 3 && t.metrics == 2);
    assert_true(t.trial[1].run_id == 102 && t.trial[1].number == 2);
    const struct trial_metric *m = trials_metric(&t, "storage_throughput_tok_s");
    assert_string_equal(m->unit, "tok/s");
    trials_statistics(&t, m, &s);
    assert_true(s.n == 3 && s.median == 263 && s.mean == 263);
    expect_near(s.sd, 2, 1e-12);
    expect_near(s.cv * 100, 0.76, 0.005);
    expect_near(s.ci95_high, 263 + 4.30265 * 2 / sqrt(3), 1e-4);
    trials_statistics(&t, trials_metric(&t, "nvme_read_p95_ms"), &s);
    expect_near(s.median, 358.2, 1e-12);
    assert_null(trials_metric(&t, "no_such"));
}

/* Published of the same: one trial finished 438 of 549 requests. */
static void a_trial_with_requests_left_is_left_out_and_named(void **state) {
    (void)state;
    struct run_record r;
    struct statistics s;
    for (uint32_t i = 1; i <= 5; i++) {
        begin(&r, i);
        put(&r, "throughput_tok_s", i == 2 || i == 5 ? 9999 : 100, "tok/s");
        if (i < 5) put(&r, "requests_asked", 549, "");
        put(&r, "requests_left", i == 2 || i == 5 ? 111 : 0, "");
        end(&r);
    }
    assert_true(t.count == 5 && trials_complete(&t) == 3);
    assert_string_equal(t.trial[4].incomplete, "not all requests done"); /* of how many is not known */
    assert_string_equal(t.trial[1].incomplete, "438 of 549 requests done");
    assert_string_equal(t.trial[0].incomplete, "");
    assert_true(t.trial[1].throughput_tok_s == 9999); /* known, but no part of the averages */
    trials_statistics(&t, trials_metric(&t, "throughput_tok_s"), &s);
    assert_true(s.n == 3 && s.mean == 100 && s.sd == 0);
    /* the slow ones are in no average, and let the group not pass */
    assert_true(t.trial[0].left == 0 && t.trial[1].left == 111 && t.trial[4].left == 111);
    assert_false(trials_passed(&t));
}

static void a_trial_that_failed_lets_the_group_not_pass(void **state) {
    (void)state;
    struct run_record r;
    for (uint32_t i = 1; i <= 3; i++) {
        begin(&r, i);
        r.status = i == 3 ? RUN_FAILED : RUN_COMPLETED;
        end(&r);
        assert_true(trials_passed(&t) == (i < 3));
    }
}

/* A trial whose load was changed by hand is no repetition; a pause, a mark and the autoscaler's own are none
 * of that. */
static void a_trial_that_was_changed_by_hand_is_left_out(void **state) {
    static const struct {
        const char *kind, *message;
    } events[] = {{"users", "users 10 by key"},
                  {"generation", "generation 2 ms per token by key"},
                  {"autoscaler", "autoscaler qos by key"},
                  {"pause", "paused by key"},
                  {"", "autoscaler: the answer does not hold any more; by and by"},
                  {"", "users cannot be changed: in an open loop requests do not wait"}};
    (void)state;
    for (uint32_t i = 0; i < 6; i++) {
        struct run_record r;
        struct record_event e = {.t_s = 3, .level = "info"};
        begin(&r, i + 1);
        snprintf(e.kind, sizeof e.kind, "%s", events[i].kind);
        snprintf(e.message, sizeof e.message, "%s", events[i].message);
        run_record_event(&r, &e);
        end(&r);
    }
    assert_int_equal(trials_complete(&t), 3);
    assert_string_equal(t.trial[0].incomplete, "changed by hand: users 10 by key");
    assert_string_equal(t.trial[1].incomplete, "changed by hand: generation 2 ms per token by key");
    assert_string_equal(t.trial[2].incomplete, "changed by hand: autoscaler qos by key");
}

static void without_a_limit_no_request_is_left(void **state) {
    (void)state;
    struct run_record r;
    begin(&r, 1);
    put(&r, "requests_asked", KVF_MISSING, "");
    put(&r, "requests_left", KVF_MISSING, "");
    end(&r);
    assert_int_equal(trials_complete(&t), 1);
}

static void what_did_not_complete_is_left_out(void **state) {
    (void)state;
    static const struct {
        enum run_status status;
        const char *reason, *want;
    } ends[] = {
        {RUN_INTERRUPTED, "stopped by key", "interrupted: stopped by key"},
        {RUN_FAILED, "read of entry 7: Input/output error", "failed: read of entry 7: Input/output error"},
        {RUN_CRASHED, "", "crashed"}};
    struct run_record r;
    for (uint32_t i = 0; i < 3; i++) {
        begin(&r, i + 1);
        r.status = ends[i].status;
        strcpy(r.status_reason, ends[i].reason);
        put(&r, "throughput_tok_s", 5, "tok/s");
        end(&r);
        assert_string_equal(t.trial[i].incomplete, ends[i].want);
    }
    assert_true(trials_complete(&t) == 0 && t.metrics == 0);
    assert_false(trials_passed(&t));
}

/* Metrics by cause are there only where the cause did something, and values may be missing. */
static void a_metric_that_some_trials_lack(void **state) {
    (void)state;
    struct run_record r;
    struct statistics s;
    for (uint32_t i = 1; i <= 4; i++) {
        begin(&r, i);
        if (i >= 2) put(&r, "late_ms", i, "ms");
        if (i != 3) put(&r, "gap_ms", i, "ms");
        put(&r, "all_ms", i == 4 ? KVF_MISSING : i, "ms");
        end(&r);
    }
    trials_statistics(&t, trials_metric(&t, "late_ms"), &s);
    assert_true(s.n == 3 && s.mean == 3); /* 2, 3, 4 */
    trials_statistics(&t, trials_metric(&t, "gap_ms"), &s);
    assert_true(s.n == 3 && s.median == 2); /* 1, 2, 4 */
    trials_statistics(&t, trials_metric(&t, "all_ms"), &s);
    assert_true(s.n == 3 && s.mean == 2); /* 1, 2, 3 */
    const struct trial_metric *m = trials_metric(&t, "late_ms");
    assert_true(isnan(m->value[0]) && m->value[1] == 2); /* each value at its trial's place */
}

/* Mean 10, sd 15.6, t 4.30: 10 -+ 38.7 reaches below zero, where no latency can be but a slope. */
static void no_interval_reaches_where_no_value_can(void **state) {
    static const double values[] = {1, 1, 28};
    (void)state;
    struct run_record r;
    struct statistics s;
    for (uint32_t i = 0; i < 3; i++) {
        begin(&r, i + 1);
        put(&r, "e2e_p95_ms", values[i], "ms");
        put(&r, "steady_slope", values[i], "");
        put(&r, "hit_ratio", 1 - values[i] / 300, "");
        end(&r);
    }
    trials_statistics(&t, trials_metric(&t, "e2e_p95_ms"), &s);
    assert_true(s.ci95_low == 0);
    expect_near(s.ci95_high, 48.72, 0.01);
    trials_statistics(&t, trials_metric(&t, "steady_slope"), &s);
    expect_near(s.ci95_low, -28.72, 0.01);
    trials_statistics(&t, trials_metric(&t, "hit_ratio"), &s);
    assert_true(s.ci95_low > 0 && s.ci95_high == 1);
}

/* One seed gives one simulation, however often: no spread can be told of it. */
static void trials_of_one_seed_of_a_simulation_have_no_interval(void **state) {
    (void)state;
    struct run_record r;
    struct statistics s;
    for (uint32_t i = 1; i <= 4; i++) {
        begin(&r, i);
        snprintf(r.mode, sizeof r.mode, "simulate");
        r.seed = i < 4 ? 42 : 43;
        put(&r, "throughput_tok_s", 3780, "tok/s");
        end(&r);
        trials_statistics(&t, trials_metric(&t, "throughput_tok_s"), &s);
        assert_true(s.n == i && s.mean == 3780);
        assert_true(i == 4 ? s.ci95_low == 3780 : isnan(s.ci95_low) && isnan(s.sd));
    }
    assert_true(trials_seeds_differ(&t) && trials_seed(&t, 3) == 43);
}

static void the_group_passes_when_every_complete_trial_does(void **state) {
    (void)state;
    struct run_record r;
    begin(&r, 1);
    criterion(&r, 1);
    criterion(&r, 1);
    end(&r);
    assert_true(t.trial[0].criteria == 2 && t.trial[0].passed == 2);
    assert_true(trials_passed(&t));
    begin(&r, 2); /* incomplete: its verdicts do not count */
    r.status = RUN_INTERRUPTED;
    criterion(&r, 0);
    end(&r);
    assert_true(trials_passed(&t));
    begin(&r, 3);
    criterion(&r, 1);
    criterion(&r, 0); /* no data is no pass */
    end(&r);
    assert_true(t.trial[2].passed == 1);
    assert_false(trials_passed(&t));
    begin(&r, 4);
    criterion(&r, KVF_MISSING); /* a tier that was not needed */
    end(&r);
    assert_true(t.trial[3].criteria == 0 && t.trial[3].without_data == 1);
}

static void many_trials_of_many_metrics(void **state) {
    (void)state;
    char name[32];
    struct run_record r;
    struct statistics s;
    for (uint32_t i = 1; i <= 50; i++) {
        begin(&r, i);
        for (int k = 0; k < 600; k++) {
            snprintf(name, sizeof name, "metric_%d",
                     (k * 7 + (int)i * 13) % 600); /* not always in one order */
            put(&r, name, i, "");
        }
        end(&r);
    }
    assert_true(t.metrics == 600 && trials_complete(&t) == 50);
    for (size_t i = 0; i < t.metrics; i++) {
        trials_statistics(&t, &t.metric[i], &s);
        assert_true(s.n == 50 && s.mean == 25.5); /* 1 to 50 */
    }
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(metrics_of_complete_trials),
        CASE(a_trial_with_requests_left_is_left_out_and_named),
        CASE(a_trial_that_failed_lets_the_group_not_pass),
        CASE(a_trial_that_was_changed_by_hand_is_left_out),
        CASE(what_did_not_complete_is_left_out),
        CASE(without_a_limit_no_request_is_left),
        CASE(what_did_not_complete_is_left_out),
        CASE(a_metric_that_some_trials_lack),
        CASE(no_interval_reaches_where_no_value_can),
        CASE(trials_of_one_seed_of_a_simulation_have_no_interval),
        CASE(the_group_passes_when_every_complete_trial_does),
        CASE(many_trials_of_many_metrics),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("trials", tests, NULL, NULL);
}
