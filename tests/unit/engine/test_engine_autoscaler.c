/* The autoscaler in runs: against a tier whose knee is known, and under commands. */
#include "base/rng.h"
#include "tests/unit/run_fixture.h"

/* ---- the knee ---- */

/* A request writes 1,000 tokens of 4 KiB over a link of 1,024 MB/s: 4 ms, and 1 ms of latency. It is asked
 * after a think of 400 ms, give or take 20 %. */
#define LINK_NS    UINT64_C(2000000)
#define LATENCY_NS UINT64_C(1000000)
#define THINK_NS   UINT64_C(200000000)
#define TARGET_MS  150.0
#define KNEE                                                                                                         \
    "mode: simulate\n"                                                                                               \
    "run: {duration: 60s, warmup: 300ms, interval: 80ms}\n"                                                          \
    "engine: {workers: 2, noise: 1MiB, slots: 1024}\n"                                                               \
    "tiers: {gpu: {capacity: 2GiB, backend: emulated, write_bandwidth: 2048MB/s, latency: 1ms}}\n"                   \
    "qos: {classes: [{name: all, p95: 150ms}]}\n"                                                                    \
    "autoscaler: {mode: %s, settle: 250ms, stage: 400ms, hold: 800ms, cooldown: 250ms, tolerance: 0.05, "            \
    "when_found: stop}\n"                                                                                            \
    "workload: {users: %u, phase: prefill, prefix: {probability: 0}, conversation: {end_probability: 1}, personas: " \
    "[{name: a, context: [1000, 1000], generate: [1, 1], think: [200ms, 200ms], spread: 1}]}\n"

enum { USERS_MOST = 1000, FACTS = 20000 };

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* That system by itself, in virtual time: who has thought longest ago is served first. */
static void simulate(unsigned users, double *p95_ms, double *rate_per_s) {
    static uint64_t asks[USERS_MOST];
    static double took[FACTS];
    struct rng r;
    uint64_t free_ns = 0, begun_ns = 0;
    rng_init(&r, 7, KVF_RNG_TEST, users);
    for (unsigned u = 0; u < users; u++) asks[u] = rng_range(&r, 0, THINK_NS);
    for (int n = -FACTS / 4; n < FACTS; n++) {
        unsigned next = 0;
        for (unsigned u = 1; u < users; u++)
            if (asks[u] < asks[next]) next = u;
        free_ns = (free_ns > asks[next] ? free_ns : asks[next]) + LINK_NS;
        if (n == 0) begun_ns = free_ns;
        if (n >= 0) took[n] = (double)(free_ns + LATENCY_NS - asks[next]) / 1e6;
        asks[next] = free_ns + LATENCY_NS + rng_range(&r, THINK_NS * 8 / 10, THINK_NS * 12 / 10);
    }
    *rate_per_s = (FACTS - 1) / ((double)(free_ns - begun_ns) / 1e9);
    qsort(took, FACTS, sizeof took[0], by_size);
    *p95_ms = took[FACTS * 95 / 100 - 1];
}

static bool fits(bool qos, unsigned users) {
    double p95_ms, rate;
    simulate(users, &p95_ms, &rate);
    return qos ? p95_ms > TARGET_MS : rate >= 0.95 * 1e9 / (double)LINK_NS;
}

/* The fewest users beyond the target, less one; or the fewest with 95 % of what the link carries. */
static unsigned knee_of(bool qos) {
    unsigned lo = 1, hi = USERS_MOST;
    while (hi - lo > 1) {
        unsigned mid = (lo + hi) / 2;
        *(fits(qos, mid) ? &hi : &lo) = mid;
    }
    return qos ? lo : hi;
}

static double found_from(bool qos, unsigned from) {
    char yaml[1200], text[1300];
    snprintf(yaml, sizeof yaml, KNEE, qos ? "qos" : "capacity", from);
    snprintf(text, sizeof text, "%s%s", MODEL_4K, yaml);
    setup_of(text, 1);
    assert_int_equal(engine_run(&t.setup, &t.err), 0);
    assert_int_equal(t.run.status, RUN_COMPLETED);
    assert_float_equal(result_value(&t.run.results, "autoscaler_found"), 1, 0);
    double users = result_value(&t.run.results, "autoscaler_users");
    run_end();
    return users;
}

/* On a virtual clock, where the link is exactly what the scenario says: the machine's load moves no knee. */
static void both_modes_find_the_knee_from_below_and_from_above(void **state) {
    (void)state;
    static const struct {
        bool qos;
        unsigned from;
    } cases[] = {{true, 90}, {true, 300}, {false, 60}, {false, 200}};
    unsigned knee[] = {knee_of(false), knee_of(true)};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double want = knee[cases[i].qos], users = found_from(cases[i].qos, cases[i].from);
        print_message("%s from %u: %g users, the knee is at %g\n", cases[i].qos ? "qos" : "capacity",
                      cases[i].from, users, want);
        assert_true(fabs(users - want) <= 0.05 * want);
    }
}

/* ---- what is recorded ---- */

#define SMALL                                                                                                \
    "tiers: {gpu: {capacity: 4MiB, backend: emulated}}\n"                                                    \
    "workload: {users: 4, personas: [{name: a, context: [4, 8], generate: [1, 4], think: [1ms, 2ms]}]}\n"    \
    "qos: {classes: [{name: all, p95: 10s}]}\n"
#define QUICK "settle: 0s, stage: 20ms, hold: 20ms, cooldown: 0s"

static unsigned step, decided;
static struct snapshot_decision seen[64];

static void begin(const char *yaml, void (*on_interval)(void *ctx, const struct snapshot *snap)) {
    char text[1200];
    snprintf(text, sizeof text, "%s%s%s%s", MODEL_4K, ENGINE, SMALL, yaml);
    setup_of(text, 1);
    t.setup.on_interval = on_interval;
    step = decided = 0;
}

static void keep(const struct snapshot *snap) {
    for (uint32_t i = 0; i < snap->decisions && decided < 64; i++) seen[decided++] = snap->decision[i];
}

static void keep_all(void *ctx, const struct snapshot *snap) {
    (void)ctx;
    keep(snap);
    bool told = snap->interval.phase == KVF_PHASE_MEASURED && snap->interval.done > 0;
    note_that(!told || (snap->interval.saturation >= 0 && snap->interval.saturation <= 1));
}

/* Nobody is ever over 10 s: it grows to the most allowed. On the virtual clock, however slow the machine. */
static void decisions_are_in_the_record_and_in_the_intervals(void **state) {
    (void)state;
    begin("mode: simulate\n"
          "run: {duration: 20s, warmup: 50ms, interval: 10ms}\n"
          "autoscaler: {mode: qos, max_users: 16, when_found: stop, " QUICK "}\n",
          keep_all);
    run_go();
    expect_status(RUN_COMPLETED);
    assert_non_null(strstr(t.run.status_reason, "autoscaler.when_found"));
    expect_identities();
    expect_result("autoscaler_users", 16);
    expect_result("autoscaler_found", 1);
    assert_true(value_of("users_at_peak") >= 4 && value_of("users_at_peak") <= 16);
    assert_true(value_of("peak_throughput_tok_s") > 0);
    static const char *const actions[] = {"start", "grow", "grow", "hold", "found"};
    static const uint64_t users[] = {4, 8, 16, 16, 16};
    assert_int_equal(t.run.decision_count, 5);
    expect_result("autoscaler_decisions", 5);
    assert_int_equal(decided, 5);
    for (int i = 0; i < 5; i++) {
        const struct snapshot_decision *d = &t.run.decisions[i];
        assert_string_equal(d->mode, "qos");
        assert_string_equal(d->action, actions[i]);
        assert_int_equal(d->users_after, users[i]);
        assert_string_equal(d->reason, seen[i].reason);
        assert_true(t.run.decision_t_s[i] >= 0.05 &&
                    (i == 0 || t.run.decision_t_s[i] > t.run.decision_t_s[i - 1]));
    }
    assert_string_equal(event_of("info"), "at least 16 users, the most allowed");
    run_end();
}

static void what_is_known_at_the_end_is_told(void **state) {
    (void)state;
    begin("run: {duration: 200ms, warmup: 0s, interval: 10ms}\n"
          "autoscaler: {mode: capacity, settle: 0s, stage: 10s}\n",
          keep_all);
    run_go();
    expect_status(RUN_COMPLETED);
    expect_missing("autoscaler_users");
    expect_missing("peak_throughput_tok_s");
    expect_result("autoscaler_found", 0);
    assert_int_equal(t.run.decision_count, 2);
    assert_string_equal(t.run.decisions[1].action, "end");
    assert_string_equal(t.run.decisions[1].reason,
                        "no answer yet: no stage has ended; the search needs about 100 s more");
    assert_non_null(strstr(event_of("warning"), "run.duration 0.2 s has room for 0 stages"));
    run_end();
}

static void without_an_autoscaler_there_is_only_saturation(void **state) {
    (void)state;
    begin("run: {duration: 200ms, warmup: 0s, interval: 10ms}\n", keep_all);
    run_go();
    assert_int_equal(t.run.decision_count, 0);
    assert_null(result_find(&t.run.results, "autoscaler_users"));
    run_end();
}

/* ---- commands ---- */

static void switch_it(void *ctx, const struct snapshot *snap) {
    (void)ctx;
    keep(snap);
    switch (step) {
    case 0: /* both before the next interval: only the second has begun */
        tell(COMMAND_AUTOSCALER, 1);
        tell(COMMAND_AUTOSCALER, 2);
        break;
    case 1:
        note_that(snap->decisions == 1);
        break;
    case 2:
        tell(COMMAND_AUTOSCALER, 0);
        break;
    case 3:
        tell(COMMAND_AUTOSCALER, 1);
        break;
    case 5:
        tell(COMMAND_USERS, 9);
        break;
    case 7:
        note_that(snap->interval.users == 9);
        tell(COMMAND_STOP, 0);
        break;
    default:
        break;
    }
    step++;
}

static void it_can_be_switched_while_the_run_goes_on(void **state) {
    (void)state;
    begin("run: {duration: 100s, warmup: 0s, interval: 10ms}\nautoscaler: {stage: 10s}\n", switch_it);
    run_go();
    expect_status(RUN_INTERRUPTED);
    static const char *const modes[] = {"capacity", "capacity", "qos", "qos"};
    static const char *const actions[] = {"start", "off", "start", "off"};
    static const char *const reasons[] = {"seek the fewest users", "switched to off by test",
                                          "seek the most users",
                                          "the users were changed to 9 by test, which ends the autoscaler"};
    assert_int_equal(decided, 4);
    for (int i = 0; i < 4; i++) {
        assert_string_equal(seen[i].mode, modes[i]);
        assert_string_equal(seen[i].action, actions[i]);
        if (strncmp(seen[i].reason, reasons[i], strlen(reasons[i])) != 0) fail_msg("%s", seen[i].reason);
        assert_int_equal(seen[i].users_before, 4);
        assert_int_equal(seen[i].users_after, 4);
    }
    assert_string_equal(event_of("info"), "autoscaler qos by test");
    run_end();
}

/* Before the measured part it is only noted down. */
static void off_in_the_warm_up(void *ctx, const struct snapshot *snap) {
    (void)ctx;
    keep(snap);
    if (step++ == 0) {
        tell(COMMAND_AUTOSCALER, 0);
        tell(COMMAND_AUTOSCALER, 2);
        tell(COMMAND_AUTOSCALER, 0);
    }
}

static void it_can_be_called_off_before_it_begins(void **state) {
    (void)state;
    begin("run: {duration: 50ms, warmup: 50ms, interval: 10ms}\nautoscaler: {mode: qos, " QUICK "}\n",
          off_in_the_warm_up);
    run_go();
    expect_status(RUN_COMPLETED);
    assert_int_equal(decided, 1);
    assert_string_equal(seen[0].action, "off");
    assert_null(result_find(&t.run.results, "autoscaler_users"));
    run_end();
}

static void pause_it(void *ctx, const struct snapshot *snap) {
    (void)ctx;
    keep(snap);
    if (step++ % 2) return;
    tell(COMMAND_PAUSE, 0);
    tell(COMMAND_RESUME, 0);
}

/* Looks in between are no intervals: a stage of five has five. On the virtual clock, so that nothing else on
 * the machine can make the users wait beyond their targets. */
static void pauses_do_not_move_it(void **state) {
    (void)state;
    begin(
        "mode: simulate\n"
        "run: {duration: 20s, warmup: 0s, interval: 20ms}\n"
        "autoscaler: {mode: qos, max_users: 8, when_found: stop, settle: 0s, stage: 100ms, hold: 100ms, cooldown: "
        "0s}\n",
        pause_it);
    run_go();
    expect_status(RUN_COMPLETED);
    assert_int_equal(t.run.decision_count, 4);
    for (size_t i = 1; i < 4; i++) {
        double took = t.run.decision_t_s[i] - t.run.decision_t_s[i - 1];
        if (i == 1) took += 0.02; /* the begin is told with the first interval */
        assert_true(took > 0.085);
    }
    run_end();
}

static void it_cannot_steer_a_trace(void **state) {
    (void)state;
    rows_write("{\"timestamp\": 0, \"input_length\": 512, \"output_length\": 1, \"hash_ids\": [1]}\n");
    setup_of(MODEL_16 ENGINE "tiers: {cpu: {capacity: 4MiB}}\nworkload: {source: mooncake}\n"
                             "cache: {granularity: block}\nrun: {duration: 100s, warmup: 0s}\n",
             1);
    t.setup.on_interval = NULL;
    tell(COMMAND_AUTOSCALER, 1);
    run_go();
    assert_non_null(strstr(event_of("warning"), "the autoscaler stays off: "));
    assert_int_equal(t.run.decision_count, 0);
    run_end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_modes_find_the_knee_from_below_and_from_above),
        cmocka_unit_test(decisions_are_in_the_record_and_in_the_intervals),
        cmocka_unit_test(what_is_known_at_the_end_is_told),
        cmocka_unit_test(without_an_autoscaler_there_is_only_saturation),
        cmocka_unit_test(it_can_be_switched_while_the_run_goes_on),
        cmocka_unit_test(it_can_be_called_off_before_it_begins),
        cmocka_unit_test(pauses_do_not_move_it),
        cmocka_unit_test(it_cannot_steer_a_trace),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("engine_autoscaler", tests, runs_set_up, runs_tear_down);
}
