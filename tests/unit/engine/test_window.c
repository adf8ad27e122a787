#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "engine/sampling/window.h"

static struct window w;

static int begin(void **state) {
    (void)state;
    window_begin(&w);
    return 0;
}

/* So many requests of so many ms each, in an interval of so many seconds. */
static struct window_sums interval(double s, double requests, double e2e_ms) {
    return (struct window_sums){.length_s = s,
                                .requests = requests,
                                .e2e_ms = requests * e2e_ms,
                                .op_s = {[KVF_TIER_NVME] = {[KVF_DIR_READ] = 2 * s}}};
}

static void add(double s, double requests, double e2e_ms) {
    struct window_sums i = interval(s, requests, e2e_ms);
    window_add(&w, &i);
}

static struct window_sums look(void) {
    struct window_sums out;
    window_look(&w, NULL, &out);
    return out;
}

static void near(double got, double want) {
    if (!(fabs(got - want) <= 1e-9 * fabs(want) + 1e-9)) fail_msg("%.17g, not %.17g", got, want);
}

static void it_begins_empty(void **state) {
    (void)state;
    struct window_sums got = look();
    near(got.length_s, 0);
    add(1, 3, 100);
    window_begin(&w);
    got = look();
    near(got.length_s, 0);
    near(got.requests, 0);
}

/* Request n is of interval n: after 25 intervals those of 15 to 24 are left, 195 in all. */
static void it_keeps_ten_seconds(void **state) {
    (void)state;
    for (int n = 0; n < 25; n++) {
        add(1, n, 100);
        near(look().length_s, n < 10 ? n + 1 : 10);
        near(look().op_s[KVF_TIER_NVME][KVF_DIR_READ], n < 10 ? 2 * (n + 1) : 20);
    }
    near(look().requests, 15 + 16 + 17 + 18 + 19 + 20 + 21 + 22 + 23 + 24);
    near(look().e2e_ms, 195 * 100);
    for (int n = 0; n < 10; n++) add(1, 0, 0);
    near(look().requests, 0);
    assert_true(look().e2e_ms == 0);
}

/* 200,000 of 1 ms: no more than that many marks, and not much more than ten seconds. */
static void short_intervals_need_no_more_memory(void **state) {
    (void)state;
    for (int n = 0; n < 200000; n++) {
        add(0.001, 1, 5);
        if (w.count > WINDOW_MARKS) fail_msg("%u marks", w.count);
        if (n < 10200) continue;
        struct window_sums got = look();
        if (!(got.length_s > 9.999 && got.length_s < 10.2)) fail_msg("%g s", got.length_s);
        if (!(fabs(got.requests - got.length_s * 1000) < 1.5)) fail_msg("%g requests", got.requests);
    }
    near(look().e2e_ms / look().requests, 5);
}

static void an_interval_that_is_longer_stands_for_itself(void **state) {
    (void)state;
    add(60, 7, 100);
    near(look().length_s, 60);
    add(60, 4, 100);
    near(look().length_s, 60);
    near(look().requests, 4);
    add(1, 1, 100); /* less than ten seconds by itself */
    near(look().length_s, 61);
    near(look().requests, 5);
}

/* Slow model: every interval is kept, and the newest are summed until they are ten seconds. */
static void it_agrees_with_a_list_of_all_intervals(void **state) {
    (void)state;
    enum { INTERVALS = 3000 };
    double *s = calloc(INTERVALS, sizeof *s), *requests = calloc(INTERVALS, sizeof *requests);
    assert_non_null(s);
    assert_non_null(requests);
    uint32_t x = 12345;
    for (int n = 0; n < INTERVALS; n++) {
        x = x * 1664525 + 1013904223;
        s[n] = 0.25 + (double)(x >> 24) / 64; /* sums are exact, and each interval far enough for a mark */
        requests[n] = (double)(x >> 16 & 7);
        add(s[n], requests[n], 10);
        double length = 0, sum = 0;
        for (int k = n; k >= 0 && length < WINDOW_S - 1e-6; k--) {
            length += s[k];
            sum += requests[k];
        }
        struct window_sums got = look();
        if (!(fabs(got.length_s - length) < 1e-6 && fabs(got.requests - sum) < 1e-6))
            fail_msg("interval %d: %g s, not %g; %g requests, not %g", n, got.length_s, length, got.requests,
                     sum);
    }
    free(s);
    free(requests);
}

static void what_is_only_looked_at_is_not_kept(void **state) {
    (void)state;
    struct window_sums more = interval(0.5, 9, 100), got;
    add(1, 1, 100);
    for (int i = 0; i < 3; i++) {
        window_look(&w, &more, &got);
        near(got.length_s, 1.5);
        near(got.requests, 10);
    }
    near(look().requests, 1);
}

/* Three intervals by hand: 2 s at 40 % and 1 s at 100 % are 60 %; a second in which the disk was not to
 * be read does not count for it. */
static void means_are_weighted(void **state) {
    (void)state;
    struct window_sums a = {.length_s = 2,
                            .requests = 1,
                            .e2e_ms = 100,
                            .queue_ms = 10,
                            .storage_ms = 40,
                            .device_busy_s = 0.4 * 2,
                            .device_known_s = 2,
                            .host_busy_s = 0.1 * 2,
                            .host_known_s = 2,
                            .slots_busy_s = 4 * 2,
                            .slots_s = 8 * 2,
                            .lookups = 10,
                            .misses = 1};
    struct window_sums b = {.length_s = 1,
                            .requests = 3,
                            .e2e_ms = 3 * 300,
                            .queue_ms = 3 * 30,
                            .storage_ms = 3 * 20,
                            .ttft_ms = 2 * 90,
                            .first_tokens = 2,
                            .first_storage_ms = 2 * 15,
                            .first_room_ms = 2 * 5,
                            .paced_ms = {[KVF_TIER_CPU] = {[KVF_DIR_READ] = 4 * 7}},
                            .first_paced_ms = {[KVF_TIER_CPU] = {[KVF_DIR_READ] = 2 * 6}},
                            .generation_ms = 2 * 50,
                            .firsts = 4,
                            .sampled = 40,
                            .unwritten = 2,
                            .tier_busy_s = {[KVF_TIER_NVME] = 0.8},
                            .device_bytes = 600,
                            .our_bytes = 100,
                            .counted_s = 1,
                            .device_busy_s = 1,
                            .device_known_s = 1,
                            .host_busy_s = 0.7,
                            .host_known_s = 1,
                            .slots_busy_s = 8,
                            .slots_s = 8,
                            .lookups = 30,
                            .misses = 9,
                            .op_s = {[KVF_TIER_CPU] = {[KVF_DIR_WRITE] = 0.25}},
                            .device_s = {[KVF_TIER_CPU] = {[KVF_DIR_WRITE] = 0.2}},
                            .line_s = {[KVF_TIER_NVME] = {[KVF_DIR_READ] = 0.1}},
                            .held_s = 0.3};
    struct window_sums c = {.length_s = 1, .host_busy_s = 1, .host_known_s = 1, .slots_s = 8};
    struct judge_input in = {.backlog = 77, .slots = 8};
    window_add(&w, &a);
    window_add(&w, &b);
    window_add(&w, &c);
    struct window_sums all = look();
    window_means(&all, &in);
    assert_int_equal(in.requests, 4);
    near(in.e2e_ms, 250);
    near(in.queue_ms, 25);
    near(in.storage_ms, 25);
    near(in.ttft_ms, 90); /* of those that have a first token */
    near(in.first_storage_ms, 15);
    near(in.first_room_ms, 5);
    near(in.paced_ms[KVF_TIER_CPU][KVF_DIR_READ], 7);
    near(in.first_paced_ms[KVF_TIER_CPU][KVF_DIR_READ], 6);
    near(in.generation_ms, 25); /* of all requests, also of those that generate nothing */
    near(in.device_busy_ratio, 0.6);
    near(in.host_cpu_ratio, 0.475);
    near(in.slots_ratio, 0.5);
    near(in.miss_ratio, 0.25);
    near(in.op_s[KVF_TIER_CPU][KVF_DIR_WRITE], 0.25);
    near(in.device_s[KVF_TIER_CPU][KVF_DIR_WRITE], 0.2);
    near(in.line_s[KVF_TIER_NVME][KVF_DIR_READ], 0.1);
    near(in.held_s, 0.3);
    near(in.length_s, 4);
    near(in.first_ratio, 0.1);
    near(in.unwritten_ratio, 0.05);
    near(in.tier_busy[KVF_TIER_NVME], 0.2);
    near(in.device_bytes, 600);
    near(in.our_bytes, 100);
    assert_int_equal(in.backlog, 77);
    assert_int_equal(in.slots, 8);
}

static struct judge_input targets_of(const struct window_sums *s, const struct window_facts *f,
                                     const struct snapshot *snap) {
    struct judge_input in = {0};
    window_means(s, &in);
    window_describe(f, s, snap, &in);
    return in;
}

/* A class of which none has ended is not judged, unless some wait past the target. */
static void targets_are_judged_by_what_ended(void **state) {
    static const struct window_facts f;
    static struct snapshot snap;
    (void)state;
    struct window_sums s = {.class_judged = {100, 3}, .class_missed = {5}};
    struct judge_input in = targets_of(&s, &f, &snap);
    assert_true(in.targets && in.targets_met && in.stand.targets == 2); /* 95 of 100 */
    s.class_judged[0]++, s.class_missed[0]++;
    in = targets_of(&s, &f, &snap);
    assert_true(in.targets && !in.targets_met);
    s = (struct window_sums){.class_judged = {20}, .class_there = {1, 1}};
    in = targets_of(&s, &f, &snap);
    assert_true(in.targets && in.targets_met && in.stand.targets == 1 && in.stand.unjudged == 1 &&
                in.stand.empty == 1);
    s.class_late[1] = 1;
    in = targets_of(&s, &f, &snap);
    assert_true(!in.targets_met && in.stand.targets == 2 && in.stand.unjudged == 0);
    s = (struct window_sums){.class_missed = {1}, .class_there = {1}};
    in = targets_of(&s, &f, &snap);
    assert_true(in.targets && !in.targets_met);
}

/* A target that is longer than the time so far was met by all that ended, and by nothing that is open: it is
 * met only where these are few, and missed where that many failed. */
static void a_target_longer_than_the_time_so_far_is_not_judged(void **state) {
    static const struct window_facts longer = {.longer = {1}}, shorter;
    static struct snapshot snap = {.classes = 1, .qos = {{.queued = 4, .in_service_now = 6}}};
    (void)state;
    struct window_sums s = {.class_judged = {90}};
    assert_true(targets_of(&s, &shorter, &snap).targets_met);
    struct judge_input in = targets_of(&s, &longer, &snap);
    assert_true(!in.targets && in.stand.unjudged == 1 && in.stand.longer == 1);
    s.class_judged[0] = 190; /* 10 of 200 */
    in = targets_of(&s, &longer, &snap);
    assert_true(in.targets && in.targets_met);
    s.class_missed[0] = 11;
    in = targets_of(&s, &longer, &snap);
    assert_true(in.targets && !in.targets_met);
}

/* 400 came in ten seconds, and 300 of them are open at the end: half of these at any moment, or as many from
 * the beginning. Those of 300 users who came make no load unsettled. */
static void open_requests_of_a_closed_loop_grow(void **state) {
    static const struct window_facts closed = {.loop = WINDOW_LOOP_CLOSED},
                                     paced = {.loop = WINDOW_LOOP_PACED};
    static struct snapshot snap;
    (void)state;
    snap.interval.in_service_now = 200;
    snap.interval.queue_depth = 100;
    struct window_sums s = {.length_s = 10,
                            .arrived = 400,
                            .class_done = {60},
                            .class_failed = {40},
                            .slots_busy_s = 100 * 10,
                            .queued_s = 50 * 10};
    assert_true(targets_of(&s, &closed, &snap).unsettled);
    assert_false(targets_of(&s, &paced, &snap).unsettled);
    s.users_more = 300;
    assert_false(targets_of(&s, &closed, &snap).unsettled);
    s.users_more = 0;
    s.slots_busy_s = 250 * 10;
    assert_false(targets_of(&s, &closed, &snap).unsettled);
    s.slots_busy_s = 100 * 10;
    s.class_done[0] = 395; /* 5 of them, by chance */
    snap.interval.in_service_now = 5, snap.interval.queue_depth = 0;
    assert_false(targets_of(&s, &closed, &snap).unsettled);
}

/* As of a run: of its requests none was done and one is as old as half of the time; or it was starved for
 * most of it; or the others are served and it is not. */
static void a_class_is_left_unserved(void **state) {
    static const struct window_facts closed = {.loop = WINDOW_LOOP_CLOSED}, open = {.loop = WINDOW_LOOP_OPEN};
    static struct snapshot snap = {.classes = 2, .class_name = {"chat", "batch"}};
    (void)state;
    struct window_sums s = {.length_s = 10, .arrived = 50, .class_arrived = {49, 1}, .class_done = {49}};
    snap.qos[1].oldest_wait_ms = 4000;
    assert_string_equal(targets_of(&s, &closed, &snap).unserved, "");
    snap.qos[1].oldest_wait_ms = 6000;
    assert_string_equal(targets_of(&s, &closed, &snap).unserved, "class batch");
    s.class_done[1] = 1;
    assert_string_equal(targets_of(&s, &closed, &snap).unserved, "");
    s.class_starved_s[1] = 6;
    assert_string_equal(targets_of(&s, &closed, &snap).unserved, "class batch");
    s = (struct window_sums){
        .length_s = 10, .arrived = 500, .class_arrived = {400, 100}, .class_done = {400, 20}};
    snap.qos[1].queued = snap.interval.queue_depth = 80;
    assert_string_equal(targets_of(&s, &closed, &snap).unserved, "");
    assert_string_equal(targets_of(&s, &open, &snap).unserved, "class batch");
}

/* A link of two directions, each busy for all of every other second: either has half of its time left, and so
 * has the link. Where they share its time it is full. */
static void directions_in_turn_leave_half_of_a_full_duplex_link(void **state) {
    static struct snapshot snap;
    static const struct window_facts shared = {.linked = {[KVF_TIER_REMOTE] = 1}},
                                     apart = {.linked = {[KVF_TIER_REMOTE] = 1},
                                              .full = {[KVF_TIER_REMOTE] = 1}};
    struct judge_input in = {0};
    (void)state;
    for (int n = 0; n < 10; n++) {
        struct window_sums i = {.length_s = 1, .tier_busy_s = {[KVF_TIER_REMOTE] = 1}};
        i.busy_s[KVF_TIER_REMOTE][n % 2] = i.link_s[KVF_TIER_REMOTE][n % 2] = i.link_any_s[KVF_TIER_REMOTE] =
            1;
        window_add(&w, &i);
    }
    struct window_sums sums = look();
    snap.tier_on[KVF_TIER_REMOTE] = true;
    window_means(&sums, &in);
    window_describe(&shared, &sums, &snap, &in);
    near(in.tier_busy[KVF_TIER_REMOTE], 1);
    near(in.link_any[KVF_TIER_REMOTE], 1);
    window_describe(&apart, &sums, &snap, &in);
    near(in.tier_busy[KVF_TIER_REMOTE], 0.5);
    near(in.link_any[KVF_TIER_REMOTE], 0.5);
    near(in.busy[KVF_TIER_REMOTE][KVF_DIR_READ], 0.5);
    static const struct window_facts together = {.linked = {[KVF_TIER_REMOTE] = 1},
                                                 .full = {[KVF_TIER_REMOTE] = 1},
                                                 .joint = {[KVF_TIER_REMOTE] = {0.75, 0.75}}};
    window_describe(&together, &sums, &snap, &in);
    near(in.tier_busy[KVF_TIER_REMOTE],
         0.75); /* a second at full speed leaves a quarter of what both share */
    near(in.link_any[KVF_TIER_REMOTE], 0.75);
}

/* Four writes may be in flight, and the channels serve one of them: without the gate they wait there instead.
 */
static void a_gate_as_wide_as_the_tier_behind_it_is_its_line(void **state) {
    static struct snapshot snap;
    struct window_facts f = {.writes = 4};
    struct window_sums s = {.length_s = 20,
                            .requests = 1,
                            .held_s = 30,
                            .turns_s = {[KVF_TIER_CPU] = 10},
                            .op_s = {[KVF_TIER_CPU] = {[KVF_DIR_WRITE] = 10}},
                            .device_s = {[KVF_TIER_CPU] = {[KVF_DIR_WRITE] = 8}},
                            .busy_s = {[KVF_TIER_CPU] = {[KVF_DIR_WRITE] = 8}},
                            .line_s = {[KVF_TIER_CPU] = {[KVF_DIR_WRITE] = 2}},
                            .bytes = {[KVF_TIER_CPU] = {[KVF_DIR_WRITE] = 400}},
                            .aside_bytes = {[KVF_TIER_CPU] = {[KVF_DIR_WRITE] = 100}}};
    struct judge_input in = {0};
    (void)state;
    snap.tier_on[KVF_TIER_CPU] = snap.tier_emulated[KVF_TIER_CPU] = true;
    window_means(&s, &in);
    window_describe(&f, &s, &snap, &in);
    near(in.held_s, 0);
    near(in.op_s[KVF_TIER_CPU][KVF_DIR_WRITE], 40);
    near(in.line_s[KVF_TIER_CPU][KVF_DIR_WRITE], 32);
    near(in.needed[KVF_TIER_CPU][KVF_DIR_WRITE], 0.75);
    near(in.needed[KVF_TIER_CPU][KVF_DIR_READ], 1);
    s.busy_s[KVF_TIER_CPU][KVF_DIR_WRITE] =
        1; /* the rest of the eight seconds is latency, of eight at a time */
    window_means(&s, &in);
    window_describe(&f, &s, &snap, &in);
    near(in.held_s, 30);
    f.channels[KVF_TIER_CPU] = 3; /* four writes keep three channels busy, however these share with reads */
    s.write_latency_s[KVF_TIER_CPU] = 0.5;
    window_means(&s, &in);
    window_describe(&f, &s, &snap, &in);
    near(in.held_s, 0);
    s.write_latency_s[KVF_TIER_CPU] = 2.5; /* of 2.5 more the latency passes beside */
    window_means(&s, &in);
    window_describe(&f, &s, &snap, &in);
    near(in.held_s, 30);
    f.channels[KVF_TIER_CPU] = 0;
    s.busy_s[KVF_TIER_CPU][KVF_DIR_WRITE] = 8;
    snap.tier_emulated[KVF_TIER_CPU] = false; /* how many a real one serves at a time nobody knows */
    window_means(&s, &in);
    window_describe(&f, &s, &snap, &in);
    near(in.held_s, 30);
}

/* As in the results of a run: 300 wait at the end of a window in which 100 of 400 were served and none came,
 * or 100 came and the queue stands; where the queue grew from few, its growth. A closed loop has no ratio. */
static void what_waits_is_told_in_a_window_of_any_arrivals(void **state) {
    static struct snapshot snap;
    static const struct window_facts open = {.loop = WINDOW_LOOP_OPEN}, closed = {.loop = WINDOW_LOOP_CLOSED};
    struct judge_input in = {0};
    (void)state;
    snap.interval.queue_depth = 300;
    struct window_sums drains = {.length_s = 10, .requests = 100, .class_done = {100}}, stands = drains,
                       grows = drains;
    stands.arrived = 100;
    grows.arrived = 400;
    window_means(&drains, &in);
    window_describe(&open, &drains, &snap, &in);
    near(in.unserved_ratio, 300.0 / 400);
    near(in.came_before, 400);
    window_means(&stands, &in);
    window_describe(&open, &stands, &snap, &in);
    near(in.unserved_ratio, 300.0 / 400);
    near(in.came_before, 300);
    window_means(&grows, &in);
    window_describe(&open, &grows, &snap, &in);
    near(in.unserved_ratio, 300.0 / 400);
    near(in.came_before, 0);
    window_describe(&closed, &grows, &snap, &in);
    assert_true(isnan(in.unserved_ratio) && in.came_before == 0);
}

static void what_nobody_measured_is_missing(void **state) {
    (void)state;
    struct judge_input in = {0};
    struct window_sums none = look();
    window_means(&none, &in);
    assert_int_equal(in.requests, 0);
    assert_true(isnan(in.e2e_ms) && isnan(in.queue_ms) && isnan(in.storage_ms) && isnan(in.generation_ms));
    assert_true(isnan(in.device_busy_ratio) && isnan(in.host_cpu_ratio));
    assert_true(isnan(in.device_bytes) && isnan(in.first_ratio) && !in.targets);
    assert_true(isnan(in.slots_ratio) && isnan(in.miss_ratio));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(it_begins_empty, begin),
        cmocka_unit_test_setup(it_keeps_ten_seconds, begin),
        cmocka_unit_test_setup(short_intervals_need_no_more_memory, begin),
        cmocka_unit_test_setup(an_interval_that_is_longer_stands_for_itself, begin),
        cmocka_unit_test_setup(it_agrees_with_a_list_of_all_intervals, begin),
        cmocka_unit_test_setup(what_is_only_looked_at_is_not_kept, begin),
        cmocka_unit_test_setup(means_are_weighted, begin),
        cmocka_unit_test_setup(directions_in_turn_leave_half_of_a_full_duplex_link, begin),
        cmocka_unit_test(targets_are_judged_by_what_ended),
        cmocka_unit_test(a_target_longer_than_the_time_so_far_is_not_judged),
        cmocka_unit_test(open_requests_of_a_closed_loop_grow),
        cmocka_unit_test(a_class_is_left_unserved),
        cmocka_unit_test(a_gate_as_wide_as_the_tier_behind_it_is_its_line),
        cmocka_unit_test(what_waits_is_told_in_a_window_of_any_arrivals),
        cmocka_unit_test_setup(what_nobody_measured_is_missing, begin),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("window", tests, NULL, NULL);
}
