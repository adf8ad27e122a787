#include <pthread.h>
#include <sys/resource.h>

#include "tests/unit/run_fixture.h"

/* Commands are given on the engine's own control thread, between two intervals: the tests wait for
 * what they see, not for a time. */

#define CPU_TIER "tiers: {cpu: {capacity: 4MiB}}\n"
#define USERS(n)                                                                                             \
    "workload: {users: " n ", personas: [{name: a, context: [4, 8], generate: [1, 4], think: [1ms, "         \
    "2ms]}]}\n"
#define ENDLESS "run: {duration: 100s, warmup: 0s, interval: 10ms}\n"

static unsigned step;
static uint64_t done_so_far;

static void watched(void (*on_interval)(void *ctx, const struct snapshot *snap)) {
    t.setup.on_interval = on_interval;
    step = 0;
    done_so_far = 0;
}

/* ---- stop ---- */

static void stop_when_some_are_done(void *ctx, const struct snapshot *snap) {
    (void)ctx;
    done_so_far += snap->interval.done;
    if (done_so_far < 20 || step++ > 0) return;
    tell(COMMAND_STOP, 0);
}

static void a_stop_ends_the_run_and_keeps_its_results(void **state) {
    (void)state;
    setup_of(MODEL_4K ENGINE CPU_TIER USERS("4") ENDLESS, 1);
    watched(stop_when_some_are_done);
    run_go();
    expect_status(RUN_INTERRUPTED);
    assert_string_equal(t.run.status_reason, "stopped by test");
    expect_identities();
    expect_no_errors();
    assert_true(value_of("requests_done") >= 20);
    run_end();
}

/* It came before the first tier was open, or while the last one was. */
static void a_stop_during_the_preparation_is_heard(void **state) {
    (void)state;
    static const char *const tiers[] = {CPU_TIER, "tiers: {nvme: {capacity: 4MiB}}\n"};
    for (int i = 0; i < 2; i++) {
        char yaml[600];
        snprintf(yaml, sizeof yaml, "%s%s%s%s", MODEL_4K ENGINE, tiers[i], USERS("4"), ENDLESS);
        setup_of(yaml, 1);
        watched(NULL);
        tell(COMMAND_STOP, 0);
        run_go();
        expect_status(RUN_INTERRUPTED);
        assert_true(strstr(t.run.status_reason, "stopped ") && strstr(t.run.status_reason, " by test"));
        run_end();
    }
}

/* Generation takes minutes: whoever is in service is neither done nor failed. */
static void what_is_in_service_at_the_end_is_abandoned(void **state) {
    (void)state;
    setup_of(MODEL_4K ENGINE CPU_TIER USERS("4") "compute: {mode: fixed, ms_per_token: 100000}\n"
                                                 "run: {duration: 200ms, warmup: 0s, interval: 10ms}\n",
             1);
    run_go();
    expect_status(RUN_FAILED);
    assert_non_null(strstr(t.run.status_reason, "no request was done: 4 arrived, 0 failed"));
    expect_identities();
    expect_result("requests_arrived", 4);
    expect_result("requests_done", 0);
    expect_result("requests_failed", 0);
    expect_result("requests_in_service_at_end", 4);
    expect_missing("e2e_mean_ms");
    expect_missing("context_tokens_mean");
    run_end();
}

/* ---- pause ---- */

static uint64_t paused_at, resumed_at, done_before_pause;

static double cpu_seconds(void) {
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

/* From another thread, since the control thread sleeps in a pause. */
static double pause_cpu_s;
static uint64_t pause_length_ns;

static void *resume_main(void *arg) {
    (void)arg;
    double before = cpu_seconds();
    uint64_t until = clock_now_ns() + pause_length_ns;
    for (uint64_t now; (now = clock_now_ns()) < until;) {
        struct timespec rest = {0, (long)(until - now)};
        if (until - now >= KVF_NS_PER_S) rest = (struct timespec){1, 0};
        nanosleep(&rest, NULL);
    }
    pause_cpu_s = cpu_seconds() - before;
    resumed_at = clock_now_ns();
    tell(COMMAND_RESUME, 0);
    return NULL;
}

static pthread_t resumer;

static void pause_when_some_are_done(void *ctx, const struct snapshot *snap) {
    (void)ctx;
    done_so_far += snap->interval.done;
    if (done_so_far < 5 || step++ > 0) return;
    done_before_pause = done_so_far;
    paused_at = clock_now_ns();
    tell(COMMAND_PAUSE, 0);
    note_that(pthread_create(&resumer, NULL, resume_main, NULL) == 0);
}

/* 300 ms with a pause of 1.2 s in them are 300 ms, and no latency has seen the pause. Eight users keep
 * both workers and the arrivals busy when it comes. */
static void paused_time_is_in_no_duration_and_no_latency(void **state) {
    (void)state;
    setup_of(MODEL_4K ENGINE "tiers: {gpu: {capacity: 256KiB}, cpu: {capacity: 4MiB}}\n"
                             "compute: {mode: fixed, ms_per_token: 1}\n" USERS(
                                 "8") "run: {duration: 300ms, warmup: 0s, interval: 10ms}\n",
             1);
    watched(pause_when_some_are_done);
    pause_length_ns = 1200 * KVF_NS_PER_MS;
    uint64_t begun = clock_now_ns();
    run_go();
    uint64_t took = clock_now_ns() - begun;
    assert_int_equal(pthread_join(resumer, NULL), 0);
    expect_status(RUN_COMPLETED);
    expect_identities();
    expect_no_errors();
    assert_true(took >= resumed_at - paused_at);
    double out_s = (double)(took - (resumed_at - paused_at)) / 1e9; /* and the pause begins a moment late */
    assert_true(value_of("measured_s") >= 0.3 && value_of("measured_s") < out_s + 0.6);
    assert_true(value_of("e2e_max_ms") < 1200);
    assert_true(value_of("queue_wait_max_ms") < 1200);
    assert_true(value_of("requests_done") > (double)done_before_pause); /* it went on */
    run_end();
}

/* Writes that end in the pause give their slots to requests that then wait in the workers' mail. */
static void a_paused_run_sleeps(void **state) {
    (void)state;
    setup_of(MODEL_4K "engine: {workers: 2, noise: 1MiB, slots: 4}\n"
                      "tiers: {nvme: {capacity: 4MiB, io_size: 16KiB}}\n"
                      "workload: {users: 20, phase: prefill, prefix: {probability: 0}, conversation: "
                      "{end_probability: 1}, personas: [{name: a, context: [4, 8], think: [0, 1ms]}]}\n"
                      "run: {duration: 100s, warmup: 0s, interval: 10ms, max_requests: 60}\n",
             1);
    watched(pause_when_some_are_done);
    pause_length_ns = 800 * KVF_NS_PER_MS;
    run_go();
    assert_int_equal(pthread_join(resumer, NULL), 0);
    expect_status(RUN_COMPLETED);
    expect_result("requests_done", 60);
    assert_true(pause_cpu_s < 0.3);
    run_end();
}

/* Again and again, at once: nobody may miss the resumption. */
static void pause_and_resume(void *ctx, const struct snapshot *snap) {
    (void)ctx;
    done_so_far += snap->interval.done;
    step++;
    tell(COMMAND_PAUSE, 0);
    tell(COMMAND_RESUME, 0);
}

static void many_short_pauses_do_no_harm(void **state) {
    (void)state;
    setup_of(MODEL_4K ENGINE
             "tiers: {gpu: {capacity: 256KiB}, nvme: {capacity: 4MiB, io_size: 16KiB}}\n"
             "compute: {mode: fixed, ms_per_token: 0.1}\n" USERS(
                 "8") "run: {duration: 100s, warmup: 0s, interval: 10ms, max_requests: 200}\n",
             1);
    watched(pause_and_resume);
    run_go();
    expect_status(RUN_COMPLETED);
    expect_identities();
    expect_no_errors();
    expect_result("requests_done", 200);
    run_end();
}

static void stop_in_the_pause(void *ctx, const struct snapshot *snap) {
    (void)ctx;
    (void)snap;
    if (step++ > 0) return;
    tell(COMMAND_PAUSE, 0);
    tell(COMMAND_STOP, 0);
}

static void a_paused_run_can_be_stopped(void **state) {
    (void)state;
    setup_of(MODEL_4K ENGINE CPU_TIER USERS("4") ENDLESS, 1);
    watched(stop_in_the_pause);
    run_go();
    expect_status(RUN_INTERRUPTED);
    expect_identities();
    run_end();
}

/* ---- users ---- */

/* Requests of a user, and when the last of them arrived. */
static uint64_t requests_of(const char *log, uint64_t user, double *last_s) {
    uint64_t n = 0;
    for (const char *p = log; (p = strstr(p, "{\"id\":")) != NULL; p++) {
        if (strtoull(p + 6, NULL, 10) >> 32 != user) continue;
        double at = strtod(strstr(p, "\"arrival_s\":") + 12, NULL);
        if (n++ == 0 || at > *last_s) *last_s = at;
    }
    return n;
}

static double alone_s; /* from then on user 0 is alone */

/* Two users, then five, then one; the run stops when that one has been alone for some answers. */
static void users_come_and_go(void *ctx, const struct snapshot *snap) {
    (void)ctx;
    done_so_far += snap->interval.done;
    switch (step) {
    case 0:
        note_that(snap->interval.users == 2);
        if (done_so_far < 10) return;
        tell(COMMAND_USERS, 5);
        break;
    case 1:
        if (snap->interval.users != 5 || done_so_far < 60) return;
        tell(COMMAND_USERS, 1);
        break;
    case 2:
        if (snap->interval.users != 1) return;
        alone_s = snap->interval.t_s;
        done_so_far = 0;
        break;
    case 3:
        note_that(snap->interval.users == 1);
        if (done_so_far < 20) return;
        tell(COMMAND_STOP, 0);
        break;
    default:
        return;
    }
    step++;
}

static void users_can_be_added_and_taken_away(void **state) {
    (void)state;
    double last_s = 0;
    setup_of(MODEL_4K ENGINE CPU_TIER USERS("2") ENDLESS, 1);
    watched(users_come_and_go);
    t.setup.request_log_path = t.requests;
    run_go();
    expect_status(RUN_INTERRUPTED);
    expect_identities();
    char *log = text_of(t.requests);
    for (uint64_t user = 0; user < 5; user++) {
        assert_true(requests_of(log, user, &last_s) > 0);
        assert_true(user == 0 ? last_s > alone_s : last_s <= alone_s);
    }
    assert_int_equal(requests_of(log, 5, &last_s), 0);
    free(log);
    assert_string_equal(event_of("info"), "users 5 by test");
    run_end();
}

/* Each of four users has 50 requests to ask. Two are sent away after the start: when the others have
 * asked theirs, nobody is left who could ask. */
static void send_two_away(void *ctx, const struct snapshot *snap) {
    (void)ctx;
    (void)snap;
    if (step++ == 0) tell(COMMAND_USERS, 2);
}

static void a_run_does_not_wait_for_users_that_were_sent_away(void **state) {
    (void)state;
    setup_of(MODEL_4K ENGINE CPU_TIER USERS(
                 "4") "run: {duration: 100s, warmup: 0s, interval: 10ms, max_requests: 200}\n",
             1);
    watched(send_two_away);
    run_go();
    expect_status(RUN_COMPLETED);
    expect_identities();
    assert_true(value_of("requests_done") >= 100 && value_of("requests_done") <= 200);
    assert_true(value_of("measured_s") < 50);
    run_end();
}

/* ---- the rest ---- */

static void generation_then_stop(void *ctx, const struct snapshot *snap) {
    (void)ctx;
    done_so_far += snap->interval.done;
    if (step == 0) {
        step++;
        tell(COMMAND_MARK, 0);
        tell(COMMAND_GENERATION, 0);
        tell(COMMAND_AUTOSCALER, 0);
    } else if (done_so_far >= 10 && step++ == 1) {
        tell(COMMAND_STOP, 0);
    }
}

static struct snapshot_follow followed;

static void follow_the_third(void *ctx, const struct snapshot *snap) {
    (void)ctx;
    if (step++ == 0) tell(COMMAND_FOLLOW, 2);
    if (snap->follow.known && snap->interval.phase == KVF_PHASE_MEASURED) followed = snap->follow;
}

static void a_followed_user_is_told_with_its_ended_requests(void **state) {
    (void)state;
    setup_of(MODEL_4K ENGINE CPU_TIER
             "compute: {mode: fixed, ms_per_token: 1}\n"
             "workload: {users: 4, personas: [{name: a, context: [4, 8], generate: "
             "[1, 4], think: [1ms, 5ms]}]}\n"
             "run: {duration: 100s, warmup: 0s, interval: 10ms, max_requests: 200}\n",
             1);
    memset(&followed, 0, sizeof followed);
    watched(follow_the_third);
    run_go();
    expect_status(RUN_COMPLETED);
    const struct snapshot_follow *w = &followed;
    assert_true(w->known && w->user == 2 && w->state >= FOLLOW_IDLE);
    assert_in_range(w->ended, 1, SNAPSHOT_ENDED);
    assert_true(w->asks.done >= w->ended && w->asks.failed == 0 && w->asks.worst_ms >= w->asks.mean_ms);
    assert_true(fabs(w->end[0].e2e_ms - w->asks.last_ms) < 1); /* both clocks are read one after the other */
    for (uint32_t i = 0; i < w->ended; i++) {
        assert_false(w->end[i].failed);
        assert_true(w->end[i].turn > 0);
        assert_in_range(w->end[i].context_tokens, 1, 100);
        assert_in_range(w->end[i].generate_tokens, 1, 10);
        if (i > 0) assert_true(w->end[i].ago_s >= w->end[i - 1].ago_s);
    }
    run_end();
}

/* Generation would take 100 s a token; told to take none, those that come from then on get done. */
static void generation_time_can_be_changed_and_marks_be_made(void **state) {
    (void)state;
    setup_of(MODEL_4K ENGINE CPU_TIER "compute: {mode: fixed, ms_per_token: 100000}\n"
                                      "workload: {users: 50, personas: [{name: a, context: [4, 8], generate: "
                                      "[1, 4], think: [200ms, 1s]}]}\n" ENDLESS,
             1);
    watched(generation_then_stop);
    run_go();
    expect_status(RUN_INTERRUPTED);
    assert_true(value_of("requests_done") >= 10);
    assert_string_equal(event_of("mark"), "test");
    assert_null(event_of("warning")); /* an autoscaler that is off can be told to be off */
    run_end();
}

static void users_of_a_trace_cannot_be_changed(void **state) {
    (void)state;
    rows_write("{\"timestamp\": 0, \"input_length\": 512, \"output_length\": 1, \"hash_ids\": [1]}\n"
               "{\"timestamp\": 50, \"input_length\": 512, \"output_length\": 1, \"hash_ids\": [1]}\n");
    setup_of(MODEL_16 ENGINE CPU_TIER "workload: {source: mooncake}\ncache: {granularity: block}\n"
                                      "run: {duration: 100s, warmup: 0s}\n",
             1);
    watched(NULL);
    tell(COMMAND_USERS, 7);
    run_go();
    expect_status(RUN_COMPLETED);
    expect_result("requests_done", 2);
    assert_non_null(strstr(event_of("warning"), "users cannot be changed"));
    run_end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stop_ends_the_run_and_keeps_its_results),
        cmocka_unit_test(a_stop_during_the_preparation_is_heard),
        cmocka_unit_test(what_is_in_service_at_the_end_is_abandoned),
        cmocka_unit_test(paused_time_is_in_no_duration_and_no_latency),
        cmocka_unit_test(a_paused_run_sleeps),
        cmocka_unit_test(many_short_pauses_do_no_harm),
        cmocka_unit_test(a_paused_run_can_be_stopped),
        cmocka_unit_test(users_can_be_added_and_taken_away),
        cmocka_unit_test(a_run_does_not_wait_for_users_that_were_sent_away),
        cmocka_unit_test(a_followed_user_is_told_with_its_ended_requests),
        cmocka_unit_test(generation_time_can_be_changed_and_marks_be_made),
        cmocka_unit_test(users_of_a_trace_cannot_be_changed),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("engine_control", tests, runs_set_up, runs_tear_down);
}
