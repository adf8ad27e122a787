#include "tests/unit/run_fixture.h"

#include <inttypes.h>

/* A run as a screen sees it: requests in service, how latencies are spread, what becomes of a
 * command, events. The callbacks are called on the control thread, between two intervals. */

#define CPU_TIER "tiers: {cpu: {capacity: 4MiB}}\n"
#define USERS(n)                                                                                             \
    "workload: {users: " n ", personas: [{name: a, context: [4, 8], generate: [1, 4], spread: 1, think: "    \
    "[1ms, 50ms]}]}\n"
#define ENDLESS "run: {duration: 100s, warmup: 0s, interval: 10ms}\n"
#define NEVER   "compute: {mode: fixed, ms_per_token: 100000}\n"

static struct snapshot last, seen;
static unsigned step, intervals;

static void watched(void (*on_interval)(void *ctx, const struct snapshot *snap)) {
    t.setup.on_interval = on_interval;
    memset(&last, 0, sizeof last);
    step = intervals = 0;
}

/* The newest snapshot there is. */
static const struct snapshot *newest(void) {
    uint64_t version = 0;
    note_that(slot_get(t.setup.slot, &seen, &version));
    return &seen;
}

/* ---- requests in service ---- */

static bool is_step(const char *name) {
    static const char *const steps[] = {"lookup", "reads", "prefill", "decode", "generate"};
    for (unsigned i = 0; i < 5; i++)
        if (strcmp(name, steps[i]) == 0) return true;
    return false;
}

/* Properties of every snapshot: oldest slot first, who waits for an answer asks nothing else, and no age
 * is more than the time that has run. */
static void requests_are_sound(const struct snapshot *snap) {
    note_that(snap->requests_known && snap->requests <= SNAPSHOT_REQUESTS);
    for (uint32_t i = 0; i < snap->requests; i++) {
        const struct snapshot_request *r = &snap->request[i];
        note_that(is_step(r->step));
        double steps_ms = 0;
        for (int k = 0; k < SNAPSHOT_STEPS; k++) steps_ms += r->step_ms[k];
        note_that(steps_ms <= r->service_ms + 1e-6);
        note_that(r->tier >= -1 && r->tier < KVF_TIERS);
        note_that(r->turn >= 1);
        note_that(r->service_ms >= 0 && r->age_ms >= r->service_ms);
        note_that(r->age_ms <= snap->interval.t_s * 1e3 + 1e-6);
        note_that(i == 0 || snap->request[i - 1].service_ms >= r->service_ms);
        for (uint32_t k = 0; k < i; k++) note_that(snap->request[k].user != r->user);
    }
}

/* Nobody is ever done: whoever was in service stays where it was in the order. Twenty intervals after the
 * last one came they all generate. */
static void nobody_leaves(void *ctx, const struct snapshot *snap) {
    (void)ctx;
    if (snap->interval.phase != KVF_PHASE_MEASURED) return;
    uint64_t shown = snap->interval.in_service_now < 64 ? snap->interval.in_service_now : 64;
    requests_are_sound(snap);
    note_that(snap->requests == shown);
    for (uint32_t i = 0; i < last.requests; i++) {
        note_that(snap->request[i].user == last.request[i].user);
        note_that(snap->request[i].service_ms > last.request[i].service_ms);
    }
    last = *snap;
    if (snap->interval.in_service_now == 100 && intervals++ == 20) tell(COMMAND_STOP, 0);
}

static uint64_t drained_in_service, drained_requests;
static void keep_the_end(void *ctx, const struct snapshot *snap) {
    if (snap->interval.phase == KVF_PHASE_DRAIN) {
        drained_in_service = snap->interval.in_service_now;
        drained_requests = snap->requests;
    }
    nobody_leaves(ctx, snap);
}

static void the_oldest_in_service_are_shown(void **state) {
    (void)state;
    setup_of(MODEL_4K "engine: {workers: 2, noise: 1MiB, slots: 100}\n" CPU_TIER NEVER USERS("100") ENDLESS,
             3);
    watched(keep_the_end);
    drained_requests = 1;
    run_go();
    expect_status(RUN_INTERRUPTED);
    assert_int_equal(last.requests, SNAPSHOT_REQUESTS);
    for (uint32_t i = 0; i < last.requests; i++) {
        const struct snapshot_request *r = &last.request[i];
        assert_string_equal(r->step, "generate");
        assert_true(r->step_ms[SNAPSHOT_STEPS - 2] > 0); /* generates since a while ago */
        assert_int_equal(r->tier, KVF_TIER_CPU);
        assert_int_equal(r->turn, 1);
        assert_true(r->user < 100 && r->klass < t.s.qos.classes);
        assert_true(r->generate_tokens >= 1 && r->generate_tokens <= 4);
        /* a shared prompt may make the context longer than the persona's */
        assert_true(r->context_tokens >= 4);
    }
    /* those that were cut off are in service in the books, and nobody serves them */
    assert_int_equal(drained_in_service, 100);
    assert_int_equal(drained_requests, 0);
    run_end();
}

/* One slot: a request is served while five wait, and everything about the one is what the log says. */
static uint64_t served[256], turns[256], tokens[256];
static unsigned serves;
static void one_at_a_time(void *ctx, const struct snapshot *snap) {
    (void)ctx;
    requests_are_sound(snap);
    note_that(snap->requests <= 1);
    if (snap->requests == 0 || serves == 256) return;
    served[serves] = snap->request[0].user;
    turns[serves] = snap->request[0].turn;
    tokens[serves++] = snap->request[0].generate_tokens;
    note_that(snap->interval.queue_depth == 0 || snap->request[0].age_ms > 0);
}

static void what_is_shown_is_the_request_that_is_served(void **state) {
    (void)state;
    setup_of(MODEL_4K "engine: {workers: 2, noise: 1MiB, slots: 1}\n" CPU_TIER
                      "compute: {mode: fixed, ms_per_token: 5}\n" USERS(
                          "6") "run: {duration: 100s, warmup: 0s, interval: 10ms, max_requests: 30}\n",
             1);
    watched(one_at_a_time);
    serves = 0;
    t.setup.request_log_path = t.requests;
    run_go();
    expect_status(RUN_COMPLETED);
    assert_true(serves > 0);
    char *log = text_of(t.requests);
    for (unsigned i = 0; i < serves; i++) {
        char want[80];
        bool found = false;
        snprintf(want, sizeof want, "\"turn\":%" PRIu64 ",", turns[i]);
        for (char *line = log; !found && *line; line = strchr(line, '\n') + 1) {
            char *end = strchr(line, '\n'), *turn = strstr(line, want), *out = strstr(line, "\"generate");
            uint64_t id = strtoull(line + strlen("{\"id\":"), NULL, 10);
            found = id >> 32 == served[i] && turn && turn < end && out && out < end &&
                    strtoull(strchr(out, ':') + 1, NULL, 10) == tokens[i];
        }
        if (!found) fail_msg("turn %" PRIu64 " of user %" PRIu64 " is not in the log", turns[i], served[i]);
    }
    free(log);
    run_end();
}

/* ---- the spread of latencies ---- */

static uint64_t heat[SNAPSHOT_HEATS], done, reads, writes, empty_after_done, said_nothing_done;

static void heat_adds_up(void *ctx, const struct snapshot *snap) {
    (void)ctx;
    requests_are_sound(snap);
    note_that(!snap->peek);
    for (int i = 0; i < SNAPSHOT_HEATS; i++)
        for (int b = 0; b < SNAPSHOT_HEAT_BINS; b++) heat[i] += snap->heat[i][b];
    done += snap->interval.done;
    reads += snap->tier[KVF_TIER_NVME].read_ops;
    writes += snap->tier[KVF_TIER_NVME].write_ops;
    if (done == 0 || snap->interval.done > 0) return;
    empty_after_done++;
    said_nothing_done += strncmp(snap->bottleneck, "no request was completed", 24) == 0;
}

static void each_operation_is_in_one_bin(void **state) {
    (void)state;
    setup_of(MODEL_4K ENGINE "tiers: {cpu: {capacity: 128KiB}, nvme: {capacity: 4MiB, io_size: 16KiB}}\n"
                             "compute: {mode: fixed, ms_per_token: 20}\n" USERS(
                                 "4") "run: {duration: 100s, warmup: 0s, interval: 10ms, max_requests: 40}\n",
             1);
    watched(heat_adds_up);
    memset(heat, 0, sizeof heat);
    done = reads = writes = empty_after_done = said_nothing_done = 0;
    run_go();
    expect_status(RUN_COMPLETED);
    expect_result("requests_done", 40);
    assert_int_equal(heat[0], 40);
    assert_true(reads > 0 && writes > 0);
    assert_int_equal(heat[1], reads);
    assert_int_equal(heat[2], writes);
    /* requests take longer than an interval; the sentence has those before it to go by */
    assert_true(empty_after_done > 0);
    assert_int_equal(said_nothing_done, 0);
    run_end();
}

/* ---- commands and events ---- */

enum { TOLD = 32 };
static char told[TOLD][1000];
static unsigned tells;

static void event_kept(const struct record_event *e) {
    if (tells < TOLD) snprintf(told[tells], sizeof told[0], "%s", e->message);
    tells++;
}

static bool is(const struct record_event *e, const char *message) {
    return strcmp(e->message, message) == 0;
}

/* Each event tells the next command; by the time an event is told, the slot shows what came of it. */
static void command_by_command(void *ctx, const struct record_event *e) {
    (void)ctx;
    const struct snapshot_interval *i = &newest()->interval;
    event_kept(e);
    note_that(seen.peek && i->phase == KVF_PHASE_MEASURED);
    if (is(e, "users 5 by test")) {
        note_that(i->users == 5 && !i->paused);
        tell(COMMAND_PAUSE, 0);
    } else if (is(e, "paused by test")) {
        note_that(i->users == 5 && i->paused);
        tell(COMMAND_USERS, 0);
    } else if (strncmp(e->message, "users cannot be 0", 17) == 0) {
        note_that(i->users == 5 && i->paused && strcmp(e->level, "warning") == 0);
        tell(COMMAND_USERS, 3);
    } else if (is(e, "users 3 by test")) {
        note_that(i->users == 3 && i->paused);
        tell(COMMAND_GENERATION, UINT64_MAX);
    } else if (is(e, "generation 1e+06 ms per token by test")) {
        tell(COMMAND_RESUME, 0);
    } else if (is(e, "resumed by test")) {
        note_that(i->users == 3 && !i->paused);
        tell(COMMAND_STOP, 0);
    } else {
        wrong = "one of the events that were expected";
        tell(COMMAND_STOP, 0);
    }
}

static void first_command(void *ctx, const struct snapshot *snap) {
    (void)ctx;
    requests_are_sound(snap);
    if (step++ == 0) tell(COMMAND_USERS, 5);
}

static void a_command_shows_at_once_and_its_event_is_told(void **state) {
    (void)state;
    setup_of(MODEL_4K ENGINE CPU_TIER NEVER USERS("2") ENDLESS, 1);
    watched(first_command);
    tells = 0;
    t.setup.slot = slot_new();
    t.setup.on_event = command_by_command;
    run_go();
    expect_status(RUN_INTERRUPTED);
    assert_int_equal(tells, 6);
    assert_int_equal(tells, t.run.event_count);
    for (unsigned i = 0; i < tells; i++) assert_string_equal(told[i], t.run.events[i].message);
    slot_free(t.setup.slot);
    run_end();
}

static void more_users_than_there_may_be(void *ctx, const struct snapshot *snap) {
    (void)ctx;
    if (step++ == 0) tell(COMMAND_USERS, UINT64_MAX);
    if (snap->interval.users != 1000000) return;
    step = 100;
    tell(COMMAND_STOP, 0);
}

static void users_are_as_many_as_a_scenario_may_have(void **state) {
    (void)state;
    setup_of(MODEL_4K ENGINE CPU_TIER
             "workload: {users: 1, personas: [{name: a, context: [4, 8], think: [1h, 2h]}]}\n" ENDLESS,
             1);
    watched(more_users_than_there_may_be);
    run_go();
    expect_status(RUN_INTERRUPTED);
    assert_int_equal(step, 100);
    assert_non_null(strstr(event_of("info"), "users 1000000 by test"));
    run_end();
}

/* ---- preparation ---- */

#define STORED                                                                                               \
    MODEL_4K ENGINE "tiers: {nvme: {capacity: 64MiB, io_size: 16KiB}}\n"                                     \
                    "workload: {users: 50, phase: decode, personas: [{name: a, context: [8, 16], generate: " \
                    "[1, 1], think: [0, 1ms]}]}\n"                                                           \
                    "run: {duration: 100s, warmup: 0s, interval: 10ms, max_requests: 60}\n"

static enum command_kind in_preparation;
static unsigned stores;

static void told_while_storing(void *ctx, const char *what, double share) {
    (void)ctx;
    (void)share;
    if (!strstr(what, "entries")) return;
    if (stores++ == 0) tell(in_preparation, 0);
}

static void a_stop_ends_the_storing_of_entries(void **state) {
    (void)state;
    setup_of(STORED, 1);
    watched(NULL);
    stores = 0;
    in_preparation = COMMAND_STOP;
    t.setup.on_prepare = told_while_storing;
    run_go();
    expect_status(RUN_INTERRUPTED);
    assert_int_equal(stores, 1);
    assert_null(result_find(&t.run.results, "requests_done"));
    run_end();
}

/* The clock has not begun: no time has run, and the users are those that will come. */
static void resumed_in_preparation(void *ctx, const struct record_event *e) {
    (void)ctx;
    const struct snapshot *snap = newest();
    if (is(e, "paused by test")) {
        note_that(snap->peek && snap->interval.paused && snap->interval.phase == KVF_PHASE_PREPARE);
        note_that(snap->interval.t_s == 0 && snap->interval.users == 50 && snap->interval.done == 0);
        note_that(snap->requests_known && snap->requests == 0);
        note_that(isnan(e->t_s));
        tell(COMMAND_USERS, 7);
    } else if (is(e, "users 7 by test")) {
        note_that(snap->interval.users == 7 && snap->interval.paused);
        tell(COMMAND_RESUME, 0);
    }
}

static void the_preparation_can_be_paused(void **state) {
    (void)state;
    setup_of(STORED, 1);
    watched(NULL);
    stores = 0;
    in_preparation = COMMAND_PAUSE;
    t.setup.on_prepare = told_while_storing;
    t.setup.on_event = resumed_in_preparation;
    t.setup.slot = slot_new();
    run_go();
    expect_status(RUN_COMPLETED);
    expect_identities();
    expect_no_errors();
    assert_int_equal(t.run.event_count, 3);
    assert_string_equal(t.run.events[2].message, "resumed by test");
    expect_result("nvme_entries", 500); /* of all that the scenario has */
    slot_free(t.setup.slot);
    run_end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_oldest_in_service_are_shown),
        cmocka_unit_test(what_is_shown_is_the_request_that_is_served),
        cmocka_unit_test(each_operation_is_in_one_bin),
        cmocka_unit_test(a_command_shows_at_once_and_its_event_is_told),
        cmocka_unit_test(users_are_as_many_as_a_scenario_may_have),
        cmocka_unit_test(a_stop_ends_the_storing_of_entries),
        cmocka_unit_test(the_preparation_can_be_paused),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("engine_screen", tests, runs_set_up, runs_tear_down);
}
