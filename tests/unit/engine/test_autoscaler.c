/* The autoscaler's decisions, step by step: expected moves are worked by hand from the rules of the manual.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/scale/autoscaler.h"

static struct autoscaler a;
static struct autoscaler_config c;
static struct snapshot_decision d;
static struct stage_signals in;
static struct histogram answered[2];

/* Stages of 4 intervals after 2, a cool-down of 5, a hold of 6; class 0 keeps 100 ms, class 1 1,000 ms. */
static void config(enum autoscaler_mode mode, enum stage_figure figure) {
    c = (struct autoscaler_config){.mode = mode,
                                   .rules = {.figure = figure, .limit_saturation = 0.8, .classes = 2},
                                   .min_users = 1,
                                   .max_users = 1000,
                                   .settle_s = 2,
                                   .stage_s = 4,
                                   .hold_s = 6,
                                   .cooldown_s = 5,
                                   .growth = 2,
                                   .backoff = 0.7,
                                   .precision = 0.05,
                                   .tolerance = 0.02};
    strcpy(c.rules.name[0], "fast");
    strcpy(c.rules.name[1], "slow");
    c.rules.target_ms[0] = 100;
    c.rules.target_ms[1] = 1000;
}

static void begin(uint64_t users) {
    autoscaler_init(&a, &c, users, &d);
    assert_string_equal(d.action, "start");
    assert_int_equal(a.users, d.users_after);
}

/* An interval of a second in which so many of class 0 were answered in so many ms, and some late; nobody of
 * class 1 asks. */
static void interval_late(unsigned count, double ms, unsigned late) {
    memset(&in, 0, sizeof in);
    for (int k = 0; k < 2; k++) histogram_init(&answered[k]);
    for (unsigned i = 0; i < count; i++)
        histogram_record(&answered[0], (uint64_t)((i < late ? 1000 : ms) * 1e6));
    in = (struct stage_signals){.length_s = 1, .saturation = 0.5, .tokens = 1000, .nvme_tokens = 300};
    in.klass[0] = (struct stage_class_signals){
        .latency = &answered[0], .missed = ms > c.rules.target_ms[0] ? count : late, .in_service = 1};
    in.klass[1].latency = &answered[1];
}

static void interval(unsigned count, double ms) {
    interval_late(count, ms, 0);
}

static bool step(void) {
    return autoscaler_step(&a, &in, &d);
}

/* Intervals until something is decided; how many there were. */
static unsigned until(unsigned count, double ms) {
    for (unsigned n = 1; n < 200; n++) {
        interval(count, ms);
        if (step()) return n;
    }
    fail_msg("nothing was decided in 200 intervals");
    return 0;
}

/* The next stage has that P95; then this is decided. */
static void expect(double ms, const char *action, uint64_t users) {
    uint64_t before = a.users;
    (void)until(50, ms);
    if (strcmp(d.action, action) != 0 || d.users_after != users)
        fail_msg("at %" PRIu64 " users %g ms: %s to %" PRIu64 " (%s), not %s to %" PRIu64, before, ms,
                 d.action, d.users_after, d.reason, action, users);
    assert_int_equal(d.users_before, before);
    assert_int_equal(a.users, users);
}

static void expect_answer(double want, bool found) {
    bool is;
    double users = autoscaler_users(&a, &is);
    assert_int_equal(is, found);
    if (isnan(want) ? !isnan(users) : users != want) fail_msg("%g users, not %g", users, want);
}

static void expect_known(const char *want) {
    char text[200];
    autoscaler_known(&a, text, sizeof text);
    assert_string_equal(text, want);
}

/* ---- qos ---- */

/* 40 are good and 80 too many; 56 and 57 are a user apart. */
static void qos_step_by_step(void **state) {
    (void)state;
    config(AUTOSCALER_QOS, STAGE_TARGETS);
    begin(10);
    assert_string_equal(d.reason,
                        "seek the most users that keep every P95 target, between 1 and 1000: begin with 10 "
                        "users, judged for 4 s after 2 s");
    expect_known("no answer yet: no stage has ended; the search needs about 60 s more");
    expect(20, "grow", 20);
    assert_string_equal(d.reason, "P95 20.0 ms of fast; 0.0 % of 200 requests over 100 ms (at most 5 %), "
                                  "saturation 0.50: grow to 20 users");
    expect(30, "grow", 40);
    expect(40, "grow", 80);
    expect_known("no answer yet: at least 40 users are good; the search needs about 60 s more");
    expect(300, "bisect", 60);
    assert_string_equal(d.reason, "P95 300 ms of fast; 100.0 % of 100 requests over 100 ms (at most 5 %), "
                                  "saturation 0.50: try 60, between 40 (good) and 80 (too many)");
    expect(110, "bisect", 50);
    expect_known("no answer yet: 40 users are good, 60 too many; the search needs about 50 s more");
    expect_answer(40, false);
    expect(70, "bisect", 55);
    expect(95, "bisect", 57);
    expect(105, "bisect", 56);
    expect(98, "hold", 56);
    assert_non_null(strstr(d.reason, ": 56 are good and 57 too many, hold 56 for 6 s"));
    expect(98, "found", 56);
    assert_non_null(strstr(d.reason, "0.0 % of all 500 requests with 56 users over 100 ms"));
    assert_non_null(strstr(d.reason, ": the answer is 56 users, 57 are too many"));
    expect_known("56 users found, 57 are too many");
    expect_answer(56, true);
}

/* Half as many were good before. */
static void what_narrowly_does_not_hold_is_left_by_little(void **state) {
    (void)state;
    config(AUTOSCALER_QOS, STAGE_TARGETS);
    begin(100);
    expect(20, "grow", 200);
    expect(20, "grow", 400);
    for (uint64_t users = 300; users > 202; users = 200 + (users - 200) / 2) expect(300, "bisect", users);
    expect(300, "hold", 200);
    do interval_late(50, 20, 4);
    while (!step() || strcmp(d.action, "hold") == 0);
    assert_string_equal(d.action, "bisect");
    assert_int_equal(d.users_after, 190);
}

/* One request a second; what fewer users keep is no evidence of so many. */
static void few_requests_are_no_answer(void **state) {
    (void)state;
    config(AUTOSCALER_QOS, STAGE_TARGETS);
    begin(4);
    unsigned seen = 0, n = 0;
    do {
        seen += a.users == 10;
        interval(1, a.users <= 10 ? 20 : 300);
        assert_true(n++ < 5000);
    } while (!step() || strcmp(d.action, "found") != 0);
    expect_answer(10, true);
    assert_true(seen >= 100);
}

static void stages_last_as_long_as_they_should(void **state) {
    (void)state;
    config(AUTOSCALER_QOS, STAGE_TARGETS);
    begin(10);
    assert_int_equal(until(50, 20), 2 + 4);  /* settle and stage */
    assert_int_equal(until(50, 300), 2 + 2); /* a clear breach */
    assert_int_equal(until(50, 110),
                     5 + 4); /* the cool-down, and a breach that is not clear: the whole stage */
    assert_int_equal(d.users_after, 12);
    expect(20, "bisect", 13);
    expect(20, "bisect", 14);
    assert_int_equal(until(50, 20), 2 + 4);
    assert_string_equal(d.action, "hold");
    assert_int_equal(until(50, 20), 6); /* what is held need not settle */
    assert_string_equal(d.action, "found");
}

/* Requests of 5 s: three of them one after the other last longer than the stage. */
static void a_stage_lasts_several_requests(void **state) {
    (void)state;
    for (int mode = AUTOSCALER_QOS; mode <= AUTOSCALER_CAPACITY; mode++) {
        config((enum autoscaler_mode)mode, mode == AUTOSCALER_QOS ? STAGE_TARGETS : STAGE_TOKENS);
        begin(10);
        unsigned n = 0;
        do {
            interval(50, 20);
            in.arrived = in.done = 50;
            in.e2e_s = 50 * 5;
            n++;
        } while (!step());
        assert_int_equal(n, 2 + 15);
    }
}

static void near_the_target_steps_are_small(void **state) {
    (void)state;
    config(AUTOSCALER_QOS, STAGE_TARGETS);
    begin(50);
    expect(93, "grow", 55);
    expect(80, "grow", 110);
    c.growth = 1.05;
    begin(50);
    expect(93, "grow", 53);
}

/* Two of 50 late is 4 %: 24 of 600 are 1.1 standard errors under the line, and it takes 60 of 1,500 for the
 * 1.645 that rule chance out: (75 - 60) / sqrt(1500 x 0.05 x 0.95) = 1.78. */
static void evidence_of_all_windows_counts(void **state) {
    (void)state;
    config(AUTOSCALER_QOS, STAGE_TARGETS);
    c.max_users = 10;
    begin(10);
    static const unsigned windows[] = {2 + 12, 6, 6, 6};
    static const char *const of[] = {"4.0 % of 600 requests over",
                                     "4.0 % of all 900 requests with 10 users over", "4.0 % of all 1200",
                                     "4.0 % of all 1500"};
    for (int i = 0; i < 4; i++) {
        unsigned n = 0;
        do {
            interval_late(50, 20, 2);
            n++;
        } while (!step());
        assert_int_equal(n, windows[i]);
        assert_string_equal(d.action, i < 3 ? "hold" : "found");
        if (!strstr(d.reason, of[i])) fail_msg("%s", d.reason);
    }
}

/* A system that carries so many users: three late of a hundred up to there, twelve beyond. */
static void carry(uint64_t knee, unsigned windows) {
    for (unsigned n = 0; n < 6 * windows; n++) {
        interval_late(100, 20, a.users <= knee ? 3 : 12);
        (void)step();
    }
}

static void an_answer_that_turns_bad_is_withdrawn_and_grows_back(void **state) {
    (void)state;
    config(AUTOSCALER_QOS, STAGE_TARGETS);
    begin(10);
    carry(30, 30);
    expect_answer(30, true);
    expect_known("30 users found, 31 are too many");
    carry(30, 400);
    expect_answer(30, true);
    carry(20, 400);
    expect_answer(20, true);
    carry(45, 400);
    expect_answer(45, true);
}

static void a_bad_window_alone_withdraws_nothing(void **state) {
    (void)state;
    config(AUTOSCALER_QOS, STAGE_TARGETS);
    c.max_users = 20;
    begin(10);
    expect(20, "grow", 20);
    expect(20, "hold", 20);
    assert_non_null(strstr(d.reason, ": 20 users are the most allowed, hold them for 6 s"));
    expect(20, "found", 20);
    assert_non_null(strstr(d.reason, ": the answer is at least 20 users, the most allowed"));
    expect_known("at least 20 users, the most allowed");
    expect_answer(20, true);
    for (int i = 0; i < 120; i++) {
        interval(50, i >= 60 && i < 62 ? 300 : 20);
        assert_false(step());
    }
}

static void even_the_fewest_may_be_too_many(void **state) {
    (void)state;
    config(AUTOSCALER_QOS, STAGE_TARGETS);
    c.min_users = 5;
    begin(8);
    expect(300, "back off", 6);
    expect(300, "back off", 5);
    assert_int_equal(until(50, 300), 5 + 4); /* nothing is below: no early end */
    assert_string_equal(d.action, "too many");
    assert_int_equal(d.users_after, 5);
    assert_non_null(strstr(d.reason, ": even 5 users, the fewest allowed, are too many"));
    expect_known("even 5 users, the fewest allowed, are too many");
    expect_answer(NAN, false);
    for (int i = 0; i < 30; i++) {
        interval(50, 300);
        assert_false(step());
    }
    for (int i = 0; i < 200 && a.answer == AUTOSCALER_TOO_MANY; i++) { /* the machine has come to itself */
        interval(50, 20);
        (void)step();
    }
    expect_answer(5, true);
}

/* 340 users of whom 306 wait: 34 think and ask 60 times a second, as often as they are answered. Requests
 * that wait are let out before 34 are tried. */
static void far_too_many_are_drained_and_the_knee_is_estimated(void **state) {
    (void)state;
    config(AUTOSCALER_QOS, STAGE_TARGETS);
    begin(340);
    unsigned n = 0;
    do {
        interval(50, 5000);
        in.arrived = in.done = 60;
        in.klass[0].waiting = 305;
        in.klass[0].oldest_wait_ms = 5000;
        in.oldest_ms = 100;
        n++;
    } while (!step());
    assert_int_equal(n, 2 + 2);
    assert_string_equal(d.action, "back off");
    assert_int_equal(d.users_after, 1);
    if (!strstr(d.reason, ": back off to 34 users (") ||
        !strstr(d.reason, "; drain 306 requests first, with 1 user"))
        fail_msg("%s", d.reason);
    for (n = 1; n <= 5; n++) {
        interval(50, 5000);
        in.oldest_ms = n < 5 ? 6000 : 0;
        assert_int_equal(step(), n == 5);
    }
    assert_string_equal(d.action, "drained");
    assert_int_equal(d.users_before, 1);
    assert_int_equal(d.users_after, 34);
    assert_string_equal(d.reason, "after 5 s no request from before waits any more: now try 34 users");
    expect(20, "bisect", 68);
}

static void limits_are_kept_from_the_start(void **state) {
    (void)state;
    config(AUTOSCALER_QOS, STAGE_TARGETS);
    c.min_users = 5;
    begin(2);
    assert_int_equal(d.users_before, 2);
    assert_int_equal(d.users_after, 5);
    begin(5000);
    assert_int_equal(d.users_after, 1000);
    expect(20, "hold", 1000);
}

/* A user asks every second and has conversations of 5 turns: 56 of them are held for (1.5 / 0.05)^2 x 5 / 56
 * s, and so are 58. */
static void a_hold_lasts_until_contexts_average_out(void **state) {
    double held_s[2] = {0};
    (void)state;
    config(AUTOSCALER_QOS, STAGE_TARGETS);
    c.turns = 5;
    begin(20);
    for (unsigned n = 0; n < 4000 && a.answer == AUTOSCALER_SEEKING; n++) {
        interval((unsigned)a.users, a.users > 56 ? 120 : 80);
        in.arrived = in.done = a.users;
        in.e2e_s = 0.08 * (double)a.users;
        (void)step();
    }
    assert_string_equal(d.action, "found");
    for (unsigned i = 0; i < a.levels; i++) {
        bool over = a.level[i].users > 56;
        if (!over || held_s[1] == 0) held_s[over] = a.level[i].seconds;
        if (!over) assert_true(a.level[i].users <= a.answered);
    }
    assert_in_range(a.answered, 54, 56);
    for (int over = 0; over < 2; over++) assert_true(held_s[over] > 0.9 * 900 * 5 / 58);
}

static void without_a_hold_the_gap_is_the_answer(void **state) {
    (void)state;
    config(AUTOSCALER_QOS, STAGE_TARGETS);
    c.hold_s = 0;
    begin(1);
    expect(20, "grow", 2);
    expect(300, "found", 1);
    expect_answer(1, true);
}

static void saturation_is_kept_as_targets_are(void **state) {
    (void)state;
    config(AUTOSCALER_QOS, STAGE_SATURATION);
    begin(10);
    unsigned n = 0;
    do {
        interval(50, 20);
        in.saturation = 0.6;
        n++;
    } while (!step());
    assert_int_equal(n, 6);
    assert_int_equal(d.users_after, 20);
    assert_string_equal(
        d.reason, "saturation 0.60 is under 0.72 (90 % of its limit 0.80), P95 20.0 ms: grow to 20 users");
    do {
        interval(50, 20);
        in.saturation = 0.85;
    } while (!step());
    assert_int_equal(d.users_after, 15);
    assert_non_null(strstr(d.reason, "saturation 0.85 is over its limit 0.80, P95"));
}

/* ---- what an interval says ---- */

/* Late are 3 of 50, 6 %: within two standard errors of the 5 %, 6 / 5.3 of 600, so that the stage goes on to
 * three times its length; then more than 5 % is too many. 12 of 50 need no second look. */
static void what_is_near_the_line_is_looked_at_for_longer(void **state) {
    (void)state;
    for (unsigned late = 2; late <= 12; late += 5) {
        config(AUTOSCALER_QOS, STAGE_TARGETS);
        begin(10);
        unsigned n = 0;
        do {
            interval_late(50, 20, late == 7 ? 3 : late);
            n++;
        } while (!step());
        assert_int_equal(n, late == 12 ? 2 + 2 : 2 + 12);
        assert_string_equal(d.action, late == 2 ? "grow" : "back off");
    }
}

/* Requests that are not late need no number: what is good by luck is looked at again in the end. */
static void few_answers_are_taken_together(void **state) {
    (void)state;
    config(AUTOSCALER_QOS, STAGE_TARGETS);
    begin(10);
    assert_int_equal(until(1, 20), 2 + 4);
    assert_string_equal(d.action, "grow");
    assert_int_equal(until(1, 110), 2 + 4); /* 4 of 4: (4 - 0.2) / 0.44 standard errors */
    assert_string_equal(d.action, "bisect");
    assert_non_null(strstr(d.reason, "100.0 % of 4 requests over 100 ms"));
}

static void failed_requests_have_missed(void **state) {
    (void)state;
    config(AUTOSCALER_QOS, STAGE_TARGETS);
    begin(10);
    do {
        interval(98, 20);
        in.klass[0].failed = 2;
    } while (!step());
    assert_string_equal(d.action, "grow");
    do {
        interval(90, 20);
        in.klass[0].failed = 10;
    } while (!step());
    assert_string_equal(d.action, "bisect");
    assert_non_null(strstr(d.reason, "40 of 400 requests of fast failed"));
    assert_true(isnan(d.p95_ms));
}

/* Class 1 has 1,000 ms; one of it waits and none is answered. Class 0 would be fine. */
static void a_starved_class_is_a_breach(void **state) {
    (void)state;
    config(AUTOSCALER_QOS, STAGE_TARGETS);
    begin(10);
    unsigned n = 0;
    do {
        interval(50, 20);
        in.klass[1].waiting = 3;
        in.klass[1].oldest_wait_ms = 7000;
        n++;
    } while (!step());
    assert_int_equal(n, 2 + 2);
    assert_string_equal(d.action, "back off");
    assert_non_null(strstr(d.reason, "slow has waited 7.00 s for an answer (target 1.00 s)"));
}

static void begin_without_a_target(void) {
    config(AUTOSCALER_QOS, STAGE_TARGETS);
    c.rules.target_ms[1] = KVF_MISSING;
    begin(10);
}

/* With saturation no target is held. */
static void begin_by(bool saturation) {
    begin_without_a_target();
    if (!saturation) return;
    config(AUTOSCALER_QOS, STAGE_SATURATION);
    begin(10);
}

/* So many of class 1 wait, the oldest for 7 s, and one has a slot. */
static void interval_waiting(unsigned served) {
    interval(50, 20);
    in.klass[1].waiting = 3;
    in.klass[1].oldest_wait_ms = 7000;
    in.klass[1].in_service = served;
}

/* Class 1 has no target, and a slot now and then; others that come later get theirs at once. */
static void a_class_without_a_target_is_not_to_be_left_behind(void **state) {
    (void)state;
    for (int saturation = 0; saturation < 2; saturation++) {
        unsigned n = 0;
        begin_by(saturation);
        do interval_waiting(1); /* without a target that is not long */
        while (!step());
        assert_string_equal(d.action, "grow");
        do {
            interval_waiting(1);
            in.klass[1].overtaken = n++ % 4 == 3; /* a quarter of the intervals */
        } while (!step());
        assert_string_equal(d.action, "bisect");
        assert_non_null(strstr(d.reason, "slow waited too long while others went first in "));
    }
}

/* Class 1 has no target, and none of it gets a slot: the stage lasts three times as long, then it is a
 * breach, although nothing says yet that it waits for too long. */
static void a_class_without_a_target_is_not_to_starve(void **state) {
    (void)state;
    for (int saturation = 0; saturation < 2; saturation++) {
        unsigned n = 0;
        begin_by(saturation);
        do {
            interval_waiting(0);
            n++;
        } while (!step());
        assert_int_equal(n, 2 + 3 * 4);
        assert_string_equal(d.action, "back off");
        assert_non_null(
            strstr(d.reason, "slow has waited 7.00 s for an answer (requests of others go first)"));
        assert_null(strstr(d.reason, "P95"));
    }
}

static void a_class_without_a_target_is_not_to_fail(void **state) {
    (void)state;
    begin_without_a_target();
    do {
        interval(50, 20);
        histogram_record(&answered[1], 700 * UINT64_C(1000000)); /* as slowly as it likes */
    } while (!step());
    assert_string_equal(d.action, "grow");
    do {
        interval(50, 20);
        histogram_record(&answered[1], 700 * UINT64_C(1000000));
        in.klass[1].failed = 1;
    } while (!step());
    assert_string_equal(d.action, "bisect");
    assert_non_null(strstr(d.reason, "3 of 6 requests of slow failed, saturation"));
    unsigned seen[64] = {0}, told = 0;
    for (unsigned i = 0; i < 600; i++) { /* in later stages with so many users none fails */
        uint64_t users = a.users;
        assert_true(users < 64);
        interval(50, 20);
        histogram_record(&answered[1], 700 * UINT64_C(1000000));
        in.klass[1].failed = users >= 16 && seen[users] == 0 ? 2 : 0;
        if (!step()) continue;
        seen[users]++;
        assert_true(strncmp(d.reason, "0 of ", 5) != 0);
        told += strstr(d.reason, "requests of slow with 16 users failed (at most 5 %)") != NULL;
    }
    assert_true(told > 0);
}

/* With saturation every class is like one without a target, and that of requests that fail, or are dropped,
 * is low. */
static void with_saturation_no_class_is_to_fail(void **state) {
    (void)state;
    for (unsigned targets = 0; targets < 2; targets++) {
        config(AUTOSCALER_QOS, STAGE_SATURATION);
        for (unsigned k = 0; !targets && k < 2; k++) c.rules.target_ms[k] = KVF_MISSING;
        begin(10);
        do {
            interval(97, 20);
            in.klass[0].failed = 3; /* of 100 */
        } while (!step());
        assert_string_equal(d.action, "grow");
        do {
            interval(50, 20);
            histogram_record(&answered[1], 700 * UINT64_C(1000000));
            in.klass[1].failed = 1;
        } while (!step());
        assert_string_equal(d.action, "bisect");
        assert_non_null(strstr(d.reason, "requests of slow failed"));
        for (unsigned i = 0; i < 600; i++) { /* 20 and more have one of ten dropped */
            interval(90, 20);
            in.klass[0].failed = a.users >= 20 ? 10 : 0;
            (void)step();
        }
        expect_answer(19, true);
    }
}

/* Requests are answered in time because part of their work is left: no number of users holds. */
static void work_left_undone_is_a_breach(void **state) {
    (void)state;
    for (int saturation = 0; saturation < 2; saturation++) {
        config(AUTOSCALER_QOS, saturation ? STAGE_SATURATION : STAGE_TARGETS);
        begin(10);
        (void)until(50, 20);
        assert_string_equal(d.action, "grow");
        unsigned n = 0;
        do {
            interval(50, 20);
            in.undone = in.slipped = n++ % 4 == 3;
        } while (!step());
        assert_string_equal(d.action, "bisect");
        assert_non_null(strstr(d.reason, "% of the time (at most 5 %)"));
        for (unsigned i = 0; i < 300; i++) { /* only 20 and more leave work undone */
            interval(50, 20);
            in.undone = in.slipped = a.users >= 20;
            (void)step();
        }
        expect_answer(19, true);
    }
}

/* By a rule that turns writes away with any number of users: that is no reason for fewer. */
static void work_that_is_never_done_is_no_breach(void **state) {
    (void)state;
    config(AUTOSCALER_QOS, STAGE_TARGETS);
    begin(10);
    do {
        interval(50, 20);
        in.undone = true;
    } while (!step());
    assert_string_equal(d.action, "grow");
}

/* Misses of many users tell nothing of few: a class without a request there does not make them too many. */
static void a_class_that_does_not_ask_is_not_judged_by_more_users(void **state) {
    (void)state;
    config(AUTOSCALER_QOS, STAGE_TARGETS);
    begin(20);
    (void)until(50, 150);
    assert_string_equal(d.action, "back off");
    assert_true(a.users < 20);
    uint64_t few = a.users;
    for (unsigned n = 0; n < 200; n++) {
        interval(0, 0);
        in.klass[0].in_service = 0;
        for (int i = 0; i < 50; i++) histogram_record(&answered[1], 50000000);
        if (step()) break;
    }
    assert_int_equal(d.users_before, few);
    assert_string_not_equal(d.action, "back off");
    assert_true(d.users_after >= few);
}

/* A second of users who ask so often in it whether there is an answer or not; so many are answered, in order.
 */
static void second_of_paced(uint64_t *queue, uint64_t asks, uint64_t serves) {
    uint64_t asked = asks * a.users, done = *queue + asked < serves ? *queue + asked : serves;
    double waited_s = (double)*queue / (double)serves;
    *queue += asked - done;
    interval((unsigned)done, 20 + 1e3 * waited_s);
    in.klass[0].missed = 0;
    in.klass[0].waiting = *queue;
    in.klass[0].in_service = 0;
    in.arrived = asked;
    in.done = done;
    in.e2e_s = (double)done * (0.02 + waited_s);
    in.oldest_ms = 1e3 * (double)*queue / (double)serves;
    in.saturation = 0.1;
}

/* No target is missed yet, and nothing is saturated: five users are as many as are answered. */
static void users_who_ask_on_unanswered_are_too_many(void **state) {
    (void)state;
    for (int saturation = 0; saturation < 2; saturation++) {
        uint64_t queue = 0;
        config(AUTOSCALER_QOS, saturation ? STAGE_SATURATION : STAGE_TARGETS);
        c.rules.paced = true;
        c.rules.target_ms[0] = 1e6;
        begin(1);
        unsigned told = 0;
        for (unsigned t = 0; t < 2000 && a.answer == AUTOSCALER_SEEKING; t++) {
            second_of_paced(&queue, 20, 100);
            told += step() && strstr(d.reason, "requests pile up, ") != NULL;
        }
        assert_true(told > 0);
        expect_answer(5, true);
    }
}

/* Twelve of twenty users wait for answers, which come after 10 s: in the next stage, of 4 s, none but these
 * would be judged. */
static void requests_that_outlast_a_stage_are_drained(void **state) {
    (void)state;
    for (int soon = 0; soon < 2; soon++) {
        config(AUTOSCALER_QOS, STAGE_TARGETS);
        begin(20);
        do {
            interval(5, soon ? 3000 : 10000);
            in.klass[0].in_service = 12;
            in.arrived = in.done = 5;
            in.e2e_s = soon ? 15 : 50;
        } while (!step());
        assert_string_equal(d.action, "back off");
        assert_int_equal(d.users_after == 1, !soon);
        assert_int_equal(strstr(d.reason, "; drain 12 requests first") != NULL, !soon);
    }
}

/* Eleven ask for a tenth more than is answered: in a hold that may be chance, in several it is not. */
static void a_queue_that_grows_slowly_shows_in_several_holds(void **state) {
    (void)state;
    uint64_t queue = 0;
    config(AUTOSCALER_QOS, STAGE_TARGETS);
    c.rules.paced = true;
    c.rules.target_ms[0] = 1e6;
    begin(1);
    for (unsigned t = 0; t < 4000 && a.answer == AUTOSCALER_SEEKING; t++) {
        second_of_paced(&queue, 1, 10);
        (void)step();
    }
    expect_answer(10, true);
}

/* From 20 users on a queue fills for 30 s, and those are answered late who come when it is full. */
static void who_came_while_the_queue_was_short_holds_nothing(void **state) {
    (void)state;
    config(AUTOSCALER_QOS, STAGE_TARGETS);
    c.max_users = 40;
    begin(10);
    uint64_t before = a.users;
    double since_s = 100;
    for (unsigned t = 0; t < 3000 && a.answer == AUTOSCALER_SEEKING; t++) {
        since_s = a.users == before ? since_s + 1 : 1;
        before = a.users;
        interval(50, before >= 20 && since_s > 30 ? 300 : 20);
        in.oldest_ms = before >= 20 ? 1e3 * fmin(since_s, 30) : 20;
        (void)step();
    }
    expect_answer(19, true);
}

/* More are under way at the end of each hold, so that it is held again, until it is no more. */
static void a_hold_in_which_more_are_under_way_is_none(void **state) {
    (void)state;
    config(AUTOSCALER_QOS, STAGE_TARGETS);
    c.max_users = 10;
    begin(10);
    unsigned holds = 0;
    for (unsigned t = 0; t < 200 && a.answer == AUTOSCALER_SEEKING; t++) {
        interval(50, 20);
        in.arrived = in.done = 50;
        in.e2e_s = 1;
        in.klass[0].waiting = 20 * (t < 18 ? t : 18);
        holds += step() && strcmp(d.action, "hold") == 0;
    }
    assert_int_equal(holds, 3); /* from 6, 12 and 18 s on */
    expect_answer(10, true);
}

static void the_worst_class_counts(void **state) {
    (void)state;
    config(AUTOSCALER_QOS, STAGE_TARGETS);
    begin(10);
    do {
        interval(50, 50); /* half of its target */
        for (int i = 0; i < 50; i++) histogram_record(&answered[1], 700 * UINT64_C(1000000));
        in.klass[1].in_service = 1;
    } while (!step());
    assert_non_null(strstr(d.reason, "700 ms of slow; 0.0 % of 200 requests over 1.00 s"));
    assert_true(fabs(d.p95_ms / 700 - 1) < 0.01);
}

static void nobody_answered_is_a_breach_and_nobody_asking_is_none(void **state) {
    (void)state;
    config(AUTOSCALER_QOS, STAGE_TARGETS);
    begin(10);
    assert_int_equal(until(0, 0), 2 + 12);
    assert_string_equal(d.action, "back off");
    assert_non_null(strstr(d.reason, "no request was answered in 12 s"));
    unsigned n = 0;
    do {
        interval(0, 0);
        in.klass[0].in_service = 0;
        n++;
    } while (!step());
    assert_int_equal(n, 5 + 4);
    assert_non_null(strstr(d.reason, "no request came in 4 s"));
    assert_true(isnan(d.p95_ms));
}

/* Nothing of the time in which it settles counts; it begins when who came before the change is answered. */
static void what_came_before_the_change_is_waited_for(void **state) {
    (void)state;
    config(AUTOSCALER_QOS, STAGE_TARGETS);
    begin(10);
    for (unsigned n = 1; n <= 9; n++) {
        bool old = n <= 3, settles = n <= 5;
        interval(50, settles ? 5000 : 20);
        in.oldest_ms = old ? 9000 : 100;
        assert_int_equal(step(), n == 9);
    }
    assert_string_equal(d.action, "grow");
    unsigned n = 0;
    do { /* who came while there were fewer is no trouble */
        interval(50, 300);
        in.oldest_ms = 1e6;
        n++;
    } while (!step());
    assert_int_equal(n, 2 + 2);
    n = 0;
    do { /* one that is never answered is waited for no longer than three stages */
        interval(50, 20);
        in.oldest_ms = 1e6;
        n++;
    } while (!step());
    assert_int_equal(n, 12 + 5 + 4);
}

/* ---- capacity ---- */

/* A stage with that many tokens a second, and in turns more and less by `swing`. */
static void expect_swing(double mean, double swing, const char *action, uint64_t users) {
    uint64_t before = a.users;
    unsigned n = 0;
    do {
        double tokens = n % 2 ? mean - swing : mean + swing;
        interval(50, 20);
        in.tokens = tokens;
        in.done = tokens > 0 ? 50 : 0;
        in.e2e_s = (double)in.done * 0.02;
        in.klass[0].in_service = tokens > 0 ? 1 : before; /* nobody thinks where nothing is generated */
        assert_true(n++ < 100);
    } while (!step());
    if (strcmp(d.action, action) != 0 || d.users_after != users)
        fail_msg("at %" PRIu64 " users %g tok/s: %s to %" PRIu64 " (%s), not %s to %" PRIu64, before, mean,
                 d.action, d.users_after, d.reason, action, users);
}

static void expect_tokens(double tokens, const char *action, uint64_t users) {
    expect_swing(tokens, 0, action, users);
}

/* 100 tok/s a user up to 1,000; 98 % of it are enough. The gap below closes at 2.5 %, the one above at 5 %.
 */
static void capacity_step_by_step(void **state) {
    (void)state;
    config(AUTOSCALER_CAPACITY, STAGE_TOKENS);
    begin(3);
    assert_non_null(strstr(d.reason, "seek the fewest users with the most tok/s"));
    expect_tokens(300, "double", 6);
    assert_string_equal(d.reason, "300 tok/s at 3 users: double to 6 users");
    expect_tokens(600, "double", 12);
    assert_string_equal(d.reason,
                        "600 tok/s at 6 users, 100.00 % more than the best, 300: double to 12 users");
    expect_tokens(1000, "double", 24); /* two thirds more than before still pays */
    expect_answer(10, false);          /* 600 of 6 users, so 980 need ten at least */
    expect_known(
        "no answer yet: so far 1000 tok/s at 12 users; 600 at 6; by these 10 users at the least; the search needs about "
        "40 s more");
    expect_tokens(1000, "bisect", 18);
    assert_string_equal(
        d.reason, "1.00k tok/s at 24 users, 0.00 % more than the best, 1.00k; try 18, between 12 and 24");
    expect_tokens(1000, "bisect", 9); /* three levels are flat: there is no peak above */
    expect_tokens(900, "bisect", 10);
    expect_tokens(1000, "found", 10);
    assert_string_equal(d.reason, "Peak capacity found: 1000 tok/s at 10 users; 900 at 9");
    expect_known("Peak capacity found: 1000 tok/s at 10 users");
    expect_answer(10, true);
    assert_true(a.peak == 1000 && a.peak_users == 10);
    for (int i = 0; i < 50; i++) {
        interval(50, 20);
        assert_false(step());
    }
}

/* Half as much again or more: double; less: x 1.5. Above the peak it falls. */
static void growth_slows_down_where_it_brings_less(void **state) {
    (void)state;
    config(AUTOSCALER_CAPACITY, STAGE_TOKENS);
    begin(10);
    expect_tokens(100, "double", 20);
    expect_tokens(150, "double", 40);
    expect_tokens(200, "grow", 60);
    expect_tokens(300, "grow", 90); /* as much as that, but it stays with x 1.5 */
    expect_tokens(280, "bisect", 75);
    expect_tokens(290, "bisect", 50);
}

/* A first stage with four users that happens to bring little is not the end: the most that were tried bring
 * most. */
static void growth_that_chance_ended_goes_on(void **state) {
    (void)state;
    config(AUTOSCALER_CAPACITY, STAGE_TOKENS);
    c.min_users = 2;
    begin(2);
    expect_tokens(200, "double", 4);
    expect_swing(202, 150, "again", 4);
    assert_non_null(strstr(d.reason, "4 users did best, which may be chance"));
    expect_tokens(400, "again", 2);
    for (int i = 0; i < 2; i++) expect_tokens(200, "again", 2);
    expect_tokens(200, "bisect", 3);
    expect_tokens(210, "grow", 6);
    assert_non_null(strstr(d.reason, "; the most users that were tried bring most: grow x 1.5 to 6 users"));
    expect_tokens(500, "grow", 9);
}

static void from_above_it_goes_down_first(void **state) {
    (void)state;
    config(AUTOSCALER_CAPACITY, STAGE_NVME);
    begin(800);
    uint64_t users[] = {1000, 400, 200, 100};
    for (int i = 0; i < 4; i++) {
        do {
            interval(50, 20);
            in.nvme_tokens = 500;
        } while (!step());
        assert_int_equal(d.users_after, users[i]);
    }
    assert_string_equal(d.reason,
                        "500 nvme tok/s at 200 users, 0.00 % more than the best, 500: as good; nothing below "
                        "200 was tried: try 100 users");
}

static void capacity_at_its_limits(void **state) {
    (void)state;
    config(AUTOSCALER_CAPACITY, STAGE_TOKENS);
    c.max_users = 15;
    begin(10);
    expect_tokens(1000, "double", 15);
    expect_tokens(1500, "bisect", 12);
    expect_tokens(1200, "bisect", 13);
    expect_tokens(1300, "bisect", 14);
    expect_tokens(1400, "found", 15);
    assert_string_equal(
        d.reason, "Peak capacity found: 1500 tok/s at 15 users, the most allowed: more might carry more; "
                  "1400 at 14");
    c.min_users = c.max_users = 15;
    begin(15);
    expect_tokens(1000, "found", 15);
}

/* A stage without a token lasts three times as long, and goes nowhere. */
static void nothing_generated_is_no_peak(void **state) {
    (void)state;
    config(AUTOSCALER_CAPACITY, STAGE_TOKENS);
    begin(10);
    expect_tokens(0, "double", 20);
    expect_tokens(0, "end", 20);
    assert_string_equal(d.reason,
                        "nothing was generated in any of 2 stages: raise autoscaler.stage, 4 s is too short");
    expect_answer(NAN, false);
    expect_known("nothing was generated in any stage");
}

/* Where requests fail, their tokens are no throughput: 100 tok/s a user, 300 where work is left undone. */
static uint64_t answer_below(uint64_t begins, uint64_t too_many) {
    config(AUTOSCALER_CAPACITY, STAGE_TOKENS);
    begin(begins);
    for (unsigned n = 0; n < 1000; n++) {
        interval(50, 20);
        in.undone = a.users >= too_many;
        in.tokens = (in.undone ? 300 : 100) * (double)a.users;
        in.done = 50;
        in.e2e_s = 50 * 0.02;
        if (!step()) continue;
        if (strcmp(d.action, "too many") == 0) return 0;
        if (strcmp(d.action, "found") == 0) return a.peak_users;
    }
    fail_msg("%" PRIu64 " users too many, from %" PRIu64 ": no answer in 1,000 intervals", too_many, begins);
    return 0;
}

static void work_left_undone_is_no_throughput(void **state) {
    static const uint64_t from[] = {1, 6, 40, 1000};
    (void)state;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(answer_below(from[i], 8), 7);
        expect_answer(7, true);
    }
    assert_int_equal(answer_below(40, 1), 0);
    assert_string_equal(d.reason, "work is left undone with 1 user already");
    expect_known("every number of users tried left work undone");
    expect_answer(NAN, false);
}

/* However much what it brings scatters. */
/* Every third interval of each number leaves work undone, and the answer is of the others: it says so. */
static void a_throughput_without_some_intervals_says_so(void **state) {
    (void)state;
    config(AUTOSCALER_CAPACITY, STAGE_TOKENS);
    begin(1);
    for (unsigned n = 0; n < 4000 && a.doing != AUTOSCALER_DONE; n++) {
        interval(50, 20);
        in.undone = n % 3 == 2;
        in.tokens = 100 * fmin((double)a.users, 4);
        (void)step();
    }
    assert_true(a.doing == AUTOSCALER_DONE);
    assert_non_null(strstr(d.reason, ", where time that left work undone counts 0"));
    char known[200];
    autoscaler_known(&a, known, sizeof known);
    assert_non_null(strstr(known, ", where time that left work undone counts 0"));
}

static void a_number_beside_others_that_leave_work_undone_is_the_answer(void **state) {
    (void)state;
    config(AUTOSCALER_CAPACITY, STAGE_TOKENS);
    begin(1);
    for (unsigned n = 0; n < 1000; n++) {
        interval(50, 20);
        in.undone = a.users > 1;
        in.tokens = in.undone ? 600 : n % 3 == 0 ? 300 : 10;
        in.done = 50;
        in.e2e_s = 50 * 0.02;
        if (!step()) continue;
        assert_string_not_equal(d.action, "again");
        if (strcmp(d.action, "found") == 0) break;
    }
    assert_string_equal(d.action, "found");
    expect_answer(1, true);
}

/* 100 tok/s a user up to 3,000 while conversations are short, then half of it: the peak has 30 users, and
 * what was measured before is none of that system. */
static void what_was_measured_before_caches_filled_is_no_peak(void **state) {
    bool young = true;
    (void)state;
    config(AUTOSCALER_CAPACITY, STAGE_TOKENS);
    begin(8);
    for (unsigned n = 0; n < 2000 && strcmp(d.action, "found") != 0; n++) {
        interval(50, 20);
        in.tokens = fmin((double)a.users * 100, 3000) / (young ? 1 : 2);
        in.done = 50;
        in.e2e_s = 50 * 0.02;
        if (step()) young = young && a.growing;
    }
    assert_string_equal(d.action, "found");
    assert_in_range(d.users_after, 29, 31);
    assert_true(fabs(a.peak / 1500 - 1) < 0.05);
}

/* Conversations are longer and shorter than usual in turn, for three intervals each, and that means fewer and
 * more tokens: 10 users bring 1,000 tok/s in the mean, and so do more. The answer is not that of a moment. */
static void throughput_is_that_of_usual_conversations(void **state) {
    (void)state;
    config(AUTOSCALER_CAPACITY, STAGE_TOKENS);
    begin(4);
    for (unsigned n = 0; n < 4000 && a.doing != AUTOSCALER_DONE; n++) {
        double longer = n / 3 % 2 ? 0.4 : -0.4;
        interval(50, 20);
        in.usual_tokens = 1e5;
        in.load_tokens = in.usual_tokens * (1 + longer);
        in.tokens = 100 * fmin((double)a.users, 10) * (1 - longer * 2 / 3);
        in.done = 50;
        in.e2e_s = 50 * 0.02;
        (void)step();
    }
    assert_string_equal(d.action, "found");
    assert_in_range(d.users_after, 10, 11);
    assert_true(fabs(a.peak / 1000 - 1) < 0.02);
    assert_true(fabs(a.rule.slope + 2 / 3.0) < 0.02);
}

/* 5 users bring more than 20, as those who come later ask for more: they are found, from 20. */
static void a_peak_of_few_users_is_found_from_more(void **state) {
    (void)state;
    config(AUTOSCALER_CAPACITY, STAGE_TOKENS);
    begin(20);
    for (unsigned n = 0; n < 1000 && a.doing != AUTOSCALER_DONE; n++) {
        interval(50, 20);
        in.tokens = a.users <= 5 ? 80 * (double)a.users : fmax(300, 420 - 4 * (double)a.users);
        in.tokens += a.users == 20 ? 15 : 0;
        in.done = 50;
        in.e2e_s = 50 * 0.02;
        (void)step();
    }
    assert_string_equal(d.action, "found");
    assert_int_equal(d.users_after, 5);
}

/* Users who think for 45 s, of 100 tokens and 10 ms each: the stages of the first have a request or none.
 * What came in them is chance, and the link is idle. */
static void few_requests_of_users_who_think_end_nothing(void **state) {
    static const uint64_t done[] = {1, 0, 3, 1, 0};
    (void)state;
    config(AUTOSCALER_CAPACITY, STAGE_TOKENS);
    begin(1);
    for (unsigned stage = 0; stage < sizeof done / sizeof done[0]; stage++) {
        uint64_t before = a.users, left = done[stage];
        unsigned n = 0;
        do { /* settles for two intervals */
            uint64_t now = n >= 2 && left > 0;
            interval((unsigned)now, 10);
            in.klass[0].in_service = 0;
            in.tokens = 100 * (double)now;
            in.arrived = in.done = now;
            in.e2e_s = 0.01 * (double)now;
            left -= now;
            assert_true(n++ < 100);
        } while (!step());
        assert_int_equal(d.users_after, before * (done[stage] ? 4 : 2));
    }
    assert_int_equal(a.answer, AUTOSCALER_SEEKING);
}

/* A user asks ten times a second whether there is an answer or not, and four are answered, however many ask:
 * the longer it goes on the longer they take. No number of users would bring more. */
static void users_who_ask_for_more_than_is_answered_are_enough(void **state) {
    (void)state;
    config(AUTOSCALER_CAPACITY, STAGE_TOKENS);
    c.rules.paced = true;
    begin(5);
    assert_int_equal(a.users, 1);
    for (unsigned t = 1; t == 1 || !step() || strcmp(d.action, "found") != 0; t++) {
        assert_true(t < 60);
        assert_int_equal(a.users, 1);
        interval(4, 700 * t);
        in.arrived = 10;
        in.done = 4;
        in.e2e_s = 4 * 0.7 * t;
        in.tokens = 400;
        in.klass[0].in_service = 6 * t;
    }
    expect_answer(1, true);
    assert_non_null(
        strstr(d.reason, "at 1 user, the fewest allowed, and they ask for more than is answered"));
    expect_known("Peak capacity found: 400 tok/s at 1 user");
}

/* A second of a queue: a paced user asks twice in it, ten requests of 100 tokens are answered, in order. */
enum { ASKED = 2, SERVED = 10, SECONDS = 600 };
static unsigned came[SECONDS + 1], there, gone; /* until each second; all until now, and of these answered */

static void second_of_queue(unsigned t) {
    unsigned waited = t, asked = ASKED * (unsigned)a.users;
    there += asked;
    came[t] = there;
    unsigned done = there - gone < SERVED ? there - gone : SERVED;
    gone += done;
    while (waited > 0 && came[waited - 1] > gone) waited--; /* the second of the oldest */
    interval(SERVED, 100);
    in.arrived = asked;
    in.done = done;
    in.e2e_s = (double)in.done * 0.1;
    in.tokens = 100 * (double)in.done;
    in.oldest_ms = there > gone ? 1000.0 * (t - waited + 1) : 0;
    in.klass[0].waiting = there - gone;
    in.klass[0].in_service = 0;
}

static void what_waited_before_the_search_is_no_throughput(void **state) {
    (void)state;
    for (unsigned backlog = 50; backlog <= 2000; backlog += 150) {
        config(AUTOSCALER_CAPACITY, STAGE_TOKENS);
        c.rules.paced = true;
        begin(20);
        assert_int_equal(a.users, 1);
        there = came[0] = backlog;
        gone = 0;
        unsigned t = 1, first = 0;
        char text[200];
        for (; t < SECONDS; t++) {
            second_of_queue(t);
            if (t == backlog / (SERVED - ASKED) / 2) {
                autoscaler_known(&a, text, sizeof text);
                assert_non_null(strstr(text,
                                       "no stage has ended; requests from before the last change of users "
                                       "are still waited for"));
            }
            if (!step()) continue;
            if (!first) { /* it has begun when all had been answered */
                first = t;
                assert_true(t >= backlog / (SERVED - ASKED) + 4);
                assert_non_null(strstr(d.reason, "200 tok/s at 1 user"));
            }
            if (strcmp(d.action, "found") == 0) break;
        }
        assert_true(t < SECONDS);
        expect_answer(SERVED / ASKED, true);
        assert_non_null(strstr(d.reason, "Peak capacity found: 1000 tok/s at 5 users; 800 at 4"));
    }
}

static void intervals_without_length_are_none(void **state) {
    (void)state;
    config(AUTOSCALER_QOS, STAGE_TARGETS);
    begin(10);
    for (int i = 0; i < 100; i++) {
        interval(50, 20);
        in.length_s = i % 2 ? 0 : NAN;
        assert_false(step());
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(qos_step_by_step),
        cmocka_unit_test(what_narrowly_does_not_hold_is_left_by_little),
        cmocka_unit_test(few_requests_are_no_answer),
        cmocka_unit_test(stages_last_as_long_as_they_should),
        cmocka_unit_test(near_the_target_steps_are_small),
        cmocka_unit_test(a_stage_lasts_several_requests),
        cmocka_unit_test(evidence_of_all_windows_counts),
        cmocka_unit_test(an_answer_that_turns_bad_is_withdrawn_and_grows_back),
        cmocka_unit_test(a_bad_window_alone_withdraws_nothing),
        cmocka_unit_test(far_too_many_are_drained_and_the_knee_is_estimated),
        cmocka_unit_test(even_the_fewest_may_be_too_many),
        cmocka_unit_test(limits_are_kept_from_the_start),
        cmocka_unit_test(without_a_hold_the_gap_is_the_answer),
        cmocka_unit_test(a_hold_lasts_until_contexts_average_out),
        cmocka_unit_test(saturation_is_kept_as_targets_are),
        cmocka_unit_test(what_is_near_the_line_is_looked_at_for_longer),
        cmocka_unit_test(few_answers_are_taken_together),
        cmocka_unit_test(failed_requests_have_missed),
        cmocka_unit_test(a_starved_class_is_a_breach),
        cmocka_unit_test(a_class_without_a_target_is_not_to_be_left_behind),
        cmocka_unit_test(a_class_without_a_target_is_not_to_starve),
        cmocka_unit_test(a_class_without_a_target_is_not_to_fail),
        cmocka_unit_test(with_saturation_no_class_is_to_fail),
        cmocka_unit_test(work_left_undone_is_a_breach),
        cmocka_unit_test(work_that_is_never_done_is_no_breach),
        cmocka_unit_test(a_class_that_does_not_ask_is_not_judged_by_more_users),
        cmocka_unit_test(users_who_ask_on_unanswered_are_too_many),
        cmocka_unit_test(requests_that_outlast_a_stage_are_drained),
        cmocka_unit_test(a_queue_that_grows_slowly_shows_in_several_holds),
        cmocka_unit_test(who_came_while_the_queue_was_short_holds_nothing),
        cmocka_unit_test(a_hold_in_which_more_are_under_way_is_none),
        cmocka_unit_test(the_worst_class_counts),
        cmocka_unit_test(nobody_answered_is_a_breach_and_nobody_asking_is_none),
        cmocka_unit_test(what_came_before_the_change_is_waited_for),
        cmocka_unit_test(capacity_step_by_step),
        cmocka_unit_test(growth_slows_down_where_it_brings_less),
        cmocka_unit_test(growth_that_chance_ended_goes_on),
        cmocka_unit_test(from_above_it_goes_down_first),
        cmocka_unit_test(capacity_at_its_limits),
        cmocka_unit_test(nothing_generated_is_no_peak),
        cmocka_unit_test(work_left_undone_is_no_throughput),
        cmocka_unit_test(a_throughput_without_some_intervals_says_so),
        cmocka_unit_test(a_number_beside_others_that_leave_work_undone_is_the_answer),
        cmocka_unit_test(what_was_measured_before_caches_filled_is_no_peak),
        cmocka_unit_test(throughput_is_that_of_usual_conversations),
        cmocka_unit_test(a_peak_of_few_users_is_found_from_more),
        cmocka_unit_test(few_requests_of_users_who_think_end_nothing),
        cmocka_unit_test(users_who_ask_for_more_than_is_answered_are_enough),
        cmocka_unit_test(what_waited_before_the_search_is_no_throughput),
        cmocka_unit_test(intervals_without_length_are_none),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("autoscaler", tests, NULL, NULL);
}
