/* Classes in a run: who is served, what became of their targets, and what of it is seen meanwhile. */
#include "tests/unit/run_fixture.h"

#include "engine/sampling/sampler.h"
#include "record/publish.h"

/* A hundred rows at once; a class of its own for rows. */
#define ROWS         100
#define CLASS(more)  "qos: {classes: [{name: only, share: 1" more "}]}\n"
#define LONG_TARGETS ", p95: 24h, p99: 24h, p999: 24h, p9999: 24h"
#define AT_ONCE(limit)                                                                                       \
    MODEL_16 "engine: {workers: 2, noise: 1MiB, slots: 1, queue_limit: " limit "}\n"                         \
             "tiers: {gpu: {capacity: 1MiB, backend: emulated}}\n"                                           \
             "cache: {granularity: block, block_tokens: 512}\n"                                              \
             "workload: {source: mooncake}\n"                                                                \
             "run: {duration: 100s, warmup: 0s, interval: 10ms}\n"

static void rows_at_once(void) {
    struct buf text = {0};
    for (int i = 0; i < ROWS; i++)
        buf_add(&text,
                "{\"timestamp\": 0, \"input_length\": 512, \"output_length\": 1, \"hash_ids\": [1]}\n");
    rows_write(buf_text(&text));
    buf_free(&text);
}

static double violations_seen;
static unsigned unjudged;

static void violations_watched(void *ctx, const struct snapshot *snap) {
    (void)ctx;
    for (uint32_t k = 0; k < snap->classes; k++) {
        const struct snapshot_qos *q = &snap->qos[k];
        if (snap->interval.phase == KVF_PHASE_MEASURED) violations_seen += q->violations;
        assert_true(q->starved == 0 || q->starved == 1);
        unjudged += q->done > 0 && !kvf_present(q->met_ratio) && !kvf_present(q->violations);
    }
}

static void run_watched(const char *yaml) {
    rows_at_once();
    setup_of(yaml, 1);
    t.setup.on_interval = violations_watched;
    violations_seen = 0;
    unjudged = 0;
    run_go();
    expect_status(RUN_COMPLETED);
    expect_identities();
}

static void kept_targets(void **state) {
    (void)state;
    run_watched(AT_ONCE("1000") CLASS(LONG_TARGETS));
    expect_result("requests_done", ROWS);
    expect_result("slo_only_met_ratio", 1);
    expect_result("slo_only_violations", 0);
    expect_result("slo_only_p95_met", 1);
    expect_result("slo_only_p99_met", 1);
    expect_missing("slo_only_p999_met"); /* of 1,000 requests at least */
    expect_missing("slo_only_p9999_met");
    expect_result("slo_only_p95_ms", value_of("class_only_ttft_p95_ms"));
    expect_result("slo_only_p99_ms", value_of("ttft_p99_ms"));
    expect_missing("slo_only_p999_ms");
    assert_true(violations_seen == 0 && unjudged == 0);
    run_end();
}

static void missed_targets(void **state) {
    (void)state;
    run_watched(AT_ONCE("1000") "qos: {latency: e2e, classes: [{name: only, p95: 1us, p99: 24h}]}\n");
    expect_result("slo_only_met_ratio", 0);
    expect_result("slo_only_violations", ROWS);
    expect_result("slo_only_p95_met", 0);
    expect_result("slo_only_p99_met", 1);
    expect_result("slo_only_p95_ms", value_of("class_only_e2e_p95_ms"));
    expect_result("class_only_e2e_mean_ms", value_of("e2e_mean_ms"));
    expect_result("class_only_e2e_p50_ms", value_of("e2e_p50_ms"));
    expect_result("class_only_e2e_max_ms", value_of("e2e_max_ms"));
    assert_true(violations_seen == ROWS);
    run_end();
}

/* Eleven of a hundred were served, one that had the slot at once and ten that waited: what they took says
 * nothing about the others. */
static void dropped_requests_keep_no_target(void **state) {
    (void)state;
    run_watched(AT_ONCE("10") CLASS(LONG_TARGETS));
    expect_result("requests_done", 11);
    expect_result("requests_dropped", 89);
    expect_result("class_only_failed", 89);
    expect_result("slo_only_met_ratio", 0.11);
    expect_result("slo_only_violations", 89);
    expect_result("slo_only_p95_met", 0);
    expect_result("slo_only_p99_met", 0);
    expect_result("slo_only_p999_met", 0);        /* too few for it, and P95 is beyond it */
    assert_true(value_of("slo_only_p95_ms") > 0); /* of those that were served */
    expect_missing("slo_only_p99_ms");
    assert_true(violations_seen == 89);
    run_end();
}

/* Four slots, in which generation outlasts the run: nobody has ended, four have had their first token. */
static void who_is_still_served_is_judged_too(void **state) {
    (void)state;
    static const struct {
        const char *latency;
        uint64_t samples;
    } of[] = {{"ttft", ROWS}, {"e2e", ROWS}}; /* the first tokens came late */
    for (int i = 0; i < 2; i++) {
        struct buf yaml = {0};
        buf_addf(&yaml,
                 MODEL_16 "engine: {workers: 2, noise: 1MiB, slots: 4}\n"
                          "tiers: {gpu: {capacity: 1MiB, backend: emulated}}\n"
                          "cache: {granularity: block, block_tokens: 512}\n"
                          "workload: {source: mooncake}\ncompute: {mode: fixed, ms_per_token: 1000000}\n"
                          "run: {duration: 300ms, warmup: 0s, interval: 10ms}\n"
                          "qos: {latency: %s, classes: [{name: only, p95: 1us, p99: 24h}]}\n",
                 of[i].latency);
        rows_at_once();
        run_yaml(buf_text(&yaml), 1);
        buf_free(&yaml);
        expect_status(RUN_FAILED); /* nothing was done */
        expect_identities();
        expect_result("requests_in_service_at_end", 4);
        expect_result("slo_only_p95_met", 0);
        expect_missing("slo_only_p99_met"); /* nobody is older than that, and nobody has ended */
        assert_true(result_find(&t.run.results, "slo_only_p95_met")->samples == of[i].samples);
        run_end();
    }
}

static void without_targets_nothing_is_judged(void **state) {
    (void)state;
    run_watched(AT_ONCE("1000") CLASS(""));
    expect_result("class_only_done", ROWS);
    expect_missing("slo_only_met_ratio");
    expect_missing("slo_only_violations");
    expect_missing("slo_only_p95_met");
    expect_missing("slo_only_p99_met");
    expect_result("class_only_starved_s", 0);
    assert_true(value_of("slo_only_p95_ms") > 0);
    assert_true(unjudged > 0);
    run_end();
}

/* The ratio is of the P95 target: a P99 target alone is judged by itself. */
/* Where 99 % shall be within a time, so shall 95 %. */
static void a_later_target_alone_is_one_of_p95_too(void **state) {
    (void)state;
    run_watched(AT_ONCE("1000") CLASS(", p99: 1us"));
    expect_result("slo_only_met_ratio", 0);
    expect_result("slo_only_p95_met", 0);
    expect_result("slo_only_p99_met", 0);
    assert_true(value_of("slo_only_violations") > 0);
    run_end();
}

/* ---- overload: one slot, twelve users who ask again at once, half of them of the last class ---- */

#define OVERLOAD_IN(scheduler, batch, token_ms, duration, interval)                                          \
    MODEL_4K                                                                                                 \
    "engine: {workers: 2, noise: 1MiB, slots: 1}\n"                                                          \
    "tiers: {gpu: {capacity: 8MiB, backend: emulated}}\n"                                                    \
    "workload: {users: 12, phase: prefill, personas: [{name: a, context: [4, 8], generate: [2, 2], "         \
    "think: [0, 0], spread: 1}], prefix: {probability: 0}, conversation: {end_probability: 1}}\n"            \
    "compute: {mode: fixed, ms_per_token: " token_ms "}\n"                                                   \
    "qos: {" scheduler ", classes: [{name: urgent, share: 1, p95: 1ms}, {name: batch, share: 1" batch        \
    "}]}\n"                                                                                                  \
    "run: {duration: " duration ", warmup: 0s, interval: " interval "}\n"
#define OVERLOAD_OF(scheduler, batch) OVERLOAD_IN(scheduler, batch, "1", "400ms", "20ms")
#define OVERLOAD(scheduler)           OVERLOAD_OF(scheduler, ", p95: 1ms")

/* The last class without a target as well: nobody is to take it for one that is served. */
static void a_class_without_a_target_starves_too(void **state) {
    (void)state;
    run_yaml(OVERLOAD_OF("scheduler: strict", "") "mode: simulate\n", 1);
    expect_identities();
    assert_true(value_of("class_batch_starved_s") > 0.2); /* of 0.4 */
    expect_result("class_urgent_starved_s", 0);
    expect_result("classes_unserved", 1);
    run_end();
    run_yaml(OVERLOAD_OF("scheduler: aging, aging: 4ms", "") "mode: simulate\n", 1);
    expect_result("class_batch_starved_s", 0);
    expect_result("classes_unserved", 0);
    run_end();
}

/* Starving has a time of its own: in a short interval nobody of a class may get a slot that it gets in time.
 */
static void intervals_of_any_length_tell_the_same(void **state) {
    static const char *const schedulers[] = {"strict", "aging, aging: 40ms"}, *const intervals[] = {"10ms",
                                                                                                    "200ms"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        double starved_s[2];
        for (int n = 0; n < 2; n++) {
            struct buf yaml = {0};
            buf_addf(&yaml, OVERLOAD_IN("scheduler: %s", "", "10", "4s", "%s") "mode: simulate\n",
                     schedulers[i], intervals[n]);
            run_yaml(buf_text(&yaml), 1);
            buf_free(&yaml);
            starved_s[n] = value_of("class_batch_starved_s");
            run_end();
        }
        assert_true(fabs(starved_s[0] - starved_s[1]) <= 0.2); /* an interval */
        assert_true(i == 0 ? starved_s[0] > 2 : starved_s[0] == 0);
    }
}

static void strict_starves_and_says_so(void **state) {
    (void)state;
    run_yaml(OVERLOAD("scheduler: strict"), 1);
    expect_status(RUN_COMPLETED);
    expect_identities();
    assert_true(value_of("class_urgent_arrived") > 6 && value_of("class_batch_arrived") >= 1);
    assert_true(value_of("class_batch_queued_at_end") >= 1);
    assert_true(value_of("class_batch_starved_s") > 0);
    expect_result("class_urgent_starved_s", 0); /* it waits as long, but nobody is served before it */
    /* those that were served may be in time, those that still wait are not */
    expect_result("slo_batch_p95_met", 0);
    run_end();
}

/* The second of two classes waits for long, and gets a slot in every interval. */
static void a_class_that_is_served_is_not_starved(void **state) {
    (void)state;
    run_yaml(OVERLOAD("scheduler: aging, aging: 4ms") "mode: simulate\n", 1);
    expect_status(RUN_COMPLETED);
    assert_true(value_of("class_batch_done") > 30);
    assert_true(value_of("slo_batch_p95_ms") > 10);
    expect_result("class_batch_starved_s", 0);
    run_end();
}

static void aging_serves_everybody(void **state) {
    (void)state;
    run_yaml(OVERLOAD("scheduler: aging, aging: 1ms"), 1);
    expect_status(RUN_COMPLETED);
    expect_identities();
    assert_true(value_of("class_urgent_done") > 0);
    assert_true(value_of("class_batch_done") > 6); /* more than one of each user */
    run_end();
}

/* ---- eight ---- */

static void eight_classes_add_up(void **state) {
    (void)state;
    static const char *const suffix[] = {"arrived", "done", "failed", "queued_at_end"};
    char name[64];
    run_yaml(
        MODEL_4K ENGINE
        "tiers: {gpu: {capacity: 8MiB, backend: emulated}}\n"
        "workload: {users: 64, phase: prefill, personas: [{name: a, context: [4, 8], think: [0, 1ms]}]}\n"
        "qos: {scheduler: aging, classes: [{name: a}, {name: b}, {name: c}, {name: d}, {name: e}, "
        "{name: f}, {name: g}, {name: h, p95: 24h}]}\n"
        "run: {duration: 100s, warmup: 0s, max_requests: 640}\n",
        1);
    expect_status(RUN_COMPLETED);
    double sum[4] = {0};
    for (char k = 'a'; k <= 'h'; k++) {
        for (int i = 0; i < 4; i++) {
            snprintf(name, sizeof name, "class_%c_%s", k, suffix[i]);
            sum[i] += value_of(name);
        }
        snprintf(name, sizeof name, "class_%c_done", k);
        assert_true(value_of(name) >= 10);
    }
    assert_true(sum[0] == 640 && sum[1] == 640 && sum[2] == 0 && sum[3] == 0);
    expect_result("slo_h_p95_met", 1);
    run_end();
}

/* A reading between a request's two counts: three are counted as late before the third is as done. */
static void no_more_keep_a_target_than_were_done(void **state) {
    (void)state;
    struct counters *c = counters_new(1);
    assert_non_null(c);
    counters_add(&c->klass[0].missed, 3);
    counters_add(&c->klass[0].done, 2);
    assert_int_equal(result_met(&c->klass[0]), 0);
    counters_add(&c->klass[0].done, 1);
    assert_int_equal(result_met(&c->klass[0]), 0);
    counters_add(&c->klass[0].done, 4);
    assert_int_equal(result_met(&c->klass[0]), 4);
    counters_free(c, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_targets),
        cmocka_unit_test(missed_targets),
        cmocka_unit_test(dropped_requests_keep_no_target),
        cmocka_unit_test(who_is_still_served_is_judged_too),
        cmocka_unit_test(without_targets_nothing_is_judged),
        cmocka_unit_test(a_later_target_alone_is_one_of_p95_too),
        cmocka_unit_test(strict_starves_and_says_so),
        cmocka_unit_test(a_class_that_is_served_is_not_starved),
        cmocka_unit_test(a_class_without_a_target_starves_too),
        cmocka_unit_test(intervals_of_any_length_tell_the_same),
        cmocka_unit_test(aging_serves_everybody),
        cmocka_unit_test(eight_classes_add_up),
        cmocka_unit_test(no_more_keep_a_target_than_were_done),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("engine_qos", tests, runs_set_up, runs_tear_down);
}
