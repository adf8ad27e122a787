#include "tests/unit/run_fixture.h"

#include <math.h>

#include "record/windows.h"

/* Windows of a run are sums of its intervals, and that of all of it says what the results say. */

enum { MOST = 4096 };
static struct snapshot interval[MOST];
static unsigned intervals, windows_seen[WINDOWS_SPANS];
static struct windows_view view, whole;
static uint64_t version[WINDOWS_SPANS];

static bool same(double a, double b) {
    return fabs(a - b) <= 1e-6 * fmax(1, fabs(b));
}

/* The last intervals whose lengths add up to the window's; 0: there are none. */
static unsigned intervals_of(const struct snapshot *w) {
    double length_s = 0;
    for (unsigned n = 1; n <= intervals; n++) {
        length_s += interval[intervals - n].interval.length_s;
        if (same(length_s, w->interval.length_s)) return n;
    }
    return 0;
}

static void is_their_sum(const struct snapshot *w, unsigned n) {
    uint64_t done = 0, lookups = 0, reads = 0, met = 0;
    double busy_s = 0, violations = 0;
    for (unsigned i = intervals - n; i < intervals; i++) {
        const struct snapshot *s = &interval[i];
        done += s->interval.done;
        lookups += s->interval.reuse_lookups;
        reads += s->tier[KVF_TIER_CPU].read_bytes;
        met += s->qos[0].done;
        violations += s->qos[0].violations;
        busy_s += s->tier[KVF_TIER_CPU].busy_ratio * s->interval.length_s;
    }
    note_that(w->interval.done == done);
    note_that(w->interval.reuse_lookups == lookups);
    note_that(w->tier[KVF_TIER_CPU].read_bytes == reads);
    note_that(w->qos[0].done == met && same(w->qos[0].violations, violations));
    note_that(w->tier[KVF_TIER_CPU].used_bytes == interval[intervals - 1].tier[KVF_TIER_CPU].used_bytes);
    note_that(busy_s == 0 || w->tier[KVF_TIER_CPU].busy_ratio > 0);
}

/* A figure that no interval has is missing in their window as well, and is not 0; percentiles apart, for
 * which a window may have requests enough. */
static void lacks_what_they_lack(const struct snapshot *w, unsigned n) {
    bool missing;
#define X(kind, name, unit, join, help)                                                                      \
    missing = SNAPSHOT_##join != SNAPSHOT_LEVEL;                                                             \
    for (unsigned i = intervals - n; i < intervals; i++)                                                     \
        missing = missing && isnan((double)interval[i].interval.name);                                       \
    note_that(!missing || isnan((double)w->interval.name));
    SNAPSHOT_INTERVAL_FIELDS(X)
#undef X
}

static void look(void *ctx, const struct snapshot *snap) {
    (void)ctx;
    if (snap->interval.phase == KVF_PHASE_PREPARE || intervals == MOST) return;
    interval[intervals++] = *snap;
    for (int s = 0; s < WINDOWS_SPANS; s++) {
        double span_s = windows_seconds((enum windows_span)s);
        note_that(windows_get(t.setup.windows, (enum windows_span)s, &view, &version[s]));
        const struct snapshot *w = &view.snap;
        unsigned n = intervals_of(w);
        note_that(n > 0 && w->interval.t_s == snap->interval.t_s && !w->peek);
        /* all there is, or a span and what its first interval has beyond it */
        note_that(n == intervals || span_s == 0 || w->interval.length_s >= span_s * 0.9);
        if (n > 0) is_their_sum(w, n);
        if (n > 0) lacks_what_they_lack(w, n);
        note_that(view.verdict.known && view.verdict.sentence[0]);
        if (kvf_present(w->interval.e2e_mean_ms)) /* a worker may be between a request's count and its time */
            note_that(same(verdict_value(&view.verdict, "e2e_mean_ms"), w->interval.e2e_mean_ms));
        windows_seen[s]++;
        if (s == WINDOWS_RUN && snap->interval.phase == KVF_PHASE_MEASURED) whole = view;
    }
}

static void windows_add_up(void **state) {
    (void)state;
    setup_of(MODEL_4K "engine: {workers: 2, noise: 1MiB, slots: 8}\ntiers: {cpu: {capacity: 4MiB}}\n"
                      "compute: {mode: fixed, ms_per_token: 1}\nworkload: {users: 8, personas: [{name: a, "
                      "context: [4, 8], generate: [1, 4], spread: 1, think: [1ms, 50ms]}]}\n"
                      "run: {duration: 2500ms, warmup: 0s, interval: 20ms}\n",
             3);
    t.setup.windows = windows_new();
    t.setup.on_interval = look;
    run_go();
    expect_status(RUN_COMPLETED);
    for (int s = 0; s < WINDOWS_SPANS; s++) assert_int_equal(windows_seen[s], intervals);
    assert_true(intervals > 1 && whole.snap.interval.done > 0);
    /* the same requests, counted by the same histograms */
    double p99_ms = whole.snap.interval.e2e_p99_ms; /* missing where there are too few */
    expect_result("e2e_p95_ms", whole.snap.interval.e2e_p95_ms);
    if (kvf_present(p99_ms)) expect_result("e2e_p99_ms", p99_ms);
    expect_result("requests_done", (double)whole.snap.interval.done);
    expect_result("reuse_lookups", (double)whole.snap.interval.reuse_lookups);
    expect_result("cpu_reuse_hits", (double)whole.snap.tier[KVF_TIER_CPU].reuse_hits);
    windows_free(t.setup.windows);
    run_end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(windows_add_up, runs_set_up, runs_tear_down),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("engine_windows", tests, NULL, NULL);
}
