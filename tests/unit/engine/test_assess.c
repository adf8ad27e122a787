#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/limits/assess.h"

static struct scenario *s;
static struct run_record r;

static int set_up(void **state) {
    (void)state;
    s = calloc(1, sizeof *s);
    run_record_init(&r);
    return s ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    run_record_free(&r);
    free(s);
    return 0;
}

static void add(const char *metric, double value) {
    result_add(&r.results, value, 0, "%s", metric);
}

static void expect(size_t i, const char *metric, const char *op, double target, int passed) {
    assert_true(i < r.criterion_count);
    assert_string_equal(r.criteria[i].metric, metric);
    assert_string_equal(r.criteria[i].op, op);
    assert_true(r.criteria[i].target == target);
    if (r.criteria[i].passed != passed)
        fail_msg("%s %s %g: %g, not %d", metric, op, target, r.criteria[i].passed, passed);
}

/* Both profiles ask for these besides. */
enum { UNDONE = 6 };
static const char *const undone[UNDONE] = {"requests_failed",  "refused",          "fell_through",
                                           "lookups_given_up", "requests_dropped", "classes_unserved"};

/* The published rules: nvme write P95 under 500 ms and read P95 under 200 ms at the device, cpu reads and
 * writes together under 150 ms, hit ratio above 30 %. */
static void expect_latency(int write, int read, int cpu, int hits) {
    assess_run(s, &r);
    assert_int_equal(r.criterion_count, 4 + UNDONE);
    for (size_t i = 0; i < UNDONE; i++) expect(4 + i, undone[i], "==", 0, 0); /* nothing is known of them */
    expect(0, "nvme_write_device_p95_ms", "<", 500, write);
    expect(1, "nvme_read_device_p95_ms", "<", 200, read);
    expect(2, "cpu_p95_ms", "<", 150, cpu);
    expect(3, "hit_ratio", ">", 0.3, hits);
}

/* By the kernel's clock where there is one, for each direction by itself. */
static void the_kernel_is_asked_for_the_drives_latency(void **state) {
    (void)state;
    add("nvme_write_device_p95_ms", 700);
    add("nvme_read_device_p95_ms", 150);
    add("nvme_read_d2c_p95_ms", 250);
    add("nvme_write_d2c_p95_ms", KVF_MISSING);
    assess_run(s, &r);
    expect(0, "nvme_write_device_p95_ms", "<", 500, 0);
    expect(1, "nvme_read_d2c_p95_ms", "<", 200, 0);
    assert_true(r.criteria[1].actual == 250);
    r.results.count = 0; /* other results, without the kernel's */
    add("nvme_read_device_p95_ms", 150);
    assess_again(&r);
    expect(0, "nvme_write_device_p95_ms", "<", 500, 0);
    expect(1, "nvme_read_device_p95_ms", "<", 200, 1);
}

/* Without writes of the tier the kernel saw those of other files alone. */
static void a_tier_that_wrote_nothing_has_no_latency_to_judge(void **state) {
    (void)state;
    add("nvme_write_d2c_p95_ms", 0.84);
    add("nvme_write_ops", 0);
    add("nvme_write_device_p95_ms", KVF_MISSING);
    add("nvme_read_d2c_p95_ms", 0.84);
    add("nvme_read_ops", 7);
    assess_run(s, &r);
    expect(0, "nvme_write_device_p95_ms", "<", 500, 0);
    expect(1, "nvme_read_d2c_p95_ms", "<", 200, 1);
}

static void profile_latency_passes(void **state) {
    (void)state;
    add("nvme_write_device_p95_ms", 499.9);
    add("nvme_read_device_p95_ms", 0.2);
    add("cpu_p95_ms", 149);
    add("hit_ratio", 0.3001);
    expect_latency(1, 1, 1, 1);
    assert_string_equal(r.criteria[0].unit, "ms");
    assert_true(r.criteria[0].actual == 499.9);
    assert_string_equal(r.criteria[3].unit, "");
}

static void profile_latency_fails_at_the_bounds(void **state) {
    (void)state;
    add("nvme_write_device_p95_ms", 500);
    add("nvme_read_device_p95_ms", 200);
    add("cpu_p95_ms", 150);
    add("hit_ratio", 0.3);
    expect_latency(0, 0, 0, 0);
}

/* A drive whose whole latency is bad and whose own part is good passes: the profile is about the device. */
static void profile_latency_is_about_the_device_alone(void **state) {
    (void)state;
    add("nvme_write_p95_ms", 12000);
    add("nvme_read_p95_ms", 12390);
    add("nvme_write_device_p95_ms", 31);
    add("nvme_read_device_p95_ms", 9.74);
    add("cpu_p95_ms", 1);
    add("hit_ratio", 0.9);
    expect_latency(1, 1, 1, 1);
}

static void without_data_nothing_passes(void **state) {
    (void)state;
    add("nvme_write_device_p95_ms", KVF_MISSING);
    add("cpu_p95_ms", 3);
    expect_latency(0, 0, 1, 0);
    assert_true(isnan(r.criteria[0].actual) && isnan(r.criteria[1].actual));
    assert_string_equal(r.criteria[1].unit, "ms"); /* of the target, which is told all the same */
    assert_string_equal(r.criteria[3].unit, "");
}

/* A tier that was not needed has nothing to be judged, and one that was has failed without data. */
static void a_tier_that_was_not_needed_is_not_judged(void **state) {
    (void)state;
    static const char *const none[] = {"cpu_read_ops", "cpu_write_ops", "nvme_read_ops", "nvme_write_ops",
                                       "evictions"};
    static const char *const lost[] = {"evictions",    "fell_through",     "refused",
                                       "not_admitted", "lookups_given_up", "requests_failed"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) add(none[i], 0);
    add("requests_done", 20);
    add("hit_ratio", 0.9);
    assess_run(s, &r);
    for (size_t i = 0; i < 3; i++) assert_true(isnan(r.criteria[i].passed) && isnan(r.criteria[i].actual));
    assert_true(r.criteria[3].passed == 1);
    for (size_t i = 0; i < sizeof lost / sizeof *lost; i++) {
        r.results.count = r.criterion_count = 0;
        for (size_t k = 0; k < 4; k++) add(none[k], 0);
        add("requests_done", 20);
        add(lost[i], 1);
        expect_latency(0, 0, 0, 0);
        r.criterion_count = 0;
    }
    r.results.count = r.criterion_count = 0; /* nvme did the work, so that cpu is no tier without need */
    add("requests_done", 20);
    for (size_t k = 0; k < 3; k++) add(none[k], 0);
    add("nvme_write_ops", 20);
    assess_run(s, &r);
    assert_true(r.criteria[0].passed == 0 && isnan(r.criteria[1].passed) && r.criteria[2].passed == 0);
    r.results.count = r.criterion_count = 0; /* one write is under way all the time */
    add("requests_done", 20);
    for (size_t k = 0; k < 4; k++) add(none[k], 0);
    add("nvme_write_busy_ratio", 0.98);
    assess_run(s, &r);
    assert_true(r.criteria[0].passed == 0 && isnan(r.criteria[1].passed) && r.criteria[2].passed == 0);
}

static void throughput(enum scenario_workload_phase phase, double least) {
    s->assess.profile = KVF_PROFILE_THROUGHPUT;
    s->assess.nvme_tok_s = least;
    s->workload.phase = phase;
    r.criterion_count = 0;
    assess_run(s, &r);
}

static void profile_throughput_asks_for_the_directions_of_the_phase(void **state) {
    (void)state;
    add("nvme_tok_s", 1000);
    add("nvme_read_tok_s", 1000);
    add("nvme_write_tok_s", 0);
    add("operation_errors", 0);
    add("requests_failed", 2);
    add("refused", 3);
    add("e2e_p95_ms", 1e6);
    throughput(KVF_WORKLOAD_PHASE_BOTH, 0);
    assert_int_equal(r.criterion_count, 3 + UNDONE);
    expect(0, "nvme_read_tok_s", ">", 0, 1);
    expect(1, "nvme_write_tok_s", ">", 0, 0);
    expect(2, "operation_errors", "==", 0, 1);
    expect(3, "requests_failed", "==", 0, 0);
    expect(4, "refused", "==", 0, 0);
    throughput(KVF_WORKLOAD_PHASE_DECODE, 0);
    assert_int_equal(r.criterion_count, 2 + UNDONE);
    expect(0, "nvme_read_tok_s", ">", 0, 1);
    throughput(KVF_WORKLOAD_PHASE_PREFILL, 0);
    assert_int_equal(r.criterion_count, 2 + UNDONE);
    expect(0, "nvme_write_tok_s", ">", 0, 0);
}

static void profile_throughput_with_a_threshold(void **state) {
    (void)state;
    add("nvme_tok_s", 1000);
    add("operation_errors", 0);
    add("requests_failed", 0);
    throughput(KVF_WORKLOAD_PHASE_BOTH, 1000);
    assert_int_equal(r.criterion_count, 2 + UNDONE);
    expect(0, "nvme_tok_s", ">=", 1000, 1);
    throughput(KVF_WORKLOAD_PHASE_BOTH, 1000.5);
    expect(0, "nvme_tok_s", ">=", 1000.5, 0);
}

/* Work that was not done fails a criterion of its own, in either profile. */
static void work_undone_passes_nothing(void **state) {
    (void)state;
    static const char *const names[] = {
        "requests_failed",  "refused",         "fell_through",          "lookups_given_up",
        "not_admitted",     "copies_skipped",  "rag_documents_refused", "rag_documents_overdue",
        "outage_dropped",   "outage_lost",     "requests_left",         "ranks_lost",
        "requests_dropped", "classes_unserved"};
    enum { NAMES = sizeof names / sizeof *names };
    s->cache.placement = KVF_PLACEMENT_INCLUSIVE;
    s->cache.admission = KVF_ADMISSION_SECOND_HIT;
    s->fleet.outages = 1;
    s->run.max_requests = 1;
    s->tier[KVF_TIER_REMOTE].on = true;
    s->workload.rag.documents = 1;
    s->workload.rag.ingest = KVF_RAG_INGEST_DURING;
    s->workload.rag.probability = 1;
    for (size_t i = 0; i < NAMES; i++) add(names[i], 0);
    add("unserved_ratio", 0.049);
    for (size_t broken = 0; broken <= NAMES; broken++) {
        for (size_t i = 0; i < NAMES; i++) r.results.items[i].value = i == broken;
        r.results.items[NAMES].value = broken == NAMES ? 0.05 : 0.049;
        s->assess.profile = KVF_PROFILE_LATENCY;
        r.criterion_count = 0;
        assess_run(s, &r);
        assert_int_equal(r.criterion_count, 4 + NAMES + 1);
        for (size_t i = 0; i < NAMES; i++) expect(4 + i, names[i], "==", 0, i != broken);
        expect(4 + NAMES, "unserved_ratio", "<", 0.05, broken != NAMES);
        throughput(KVF_WORKLOAD_PHASE_BOTH, 1);
        assert_int_equal(r.criterion_count, 2 + NAMES); /* an open loop may be more than the tiers carry */
        for (size_t i = 0; i < NAMES; i++) expect(2 + i, names[i], "==", 0, i != broken);
    }
}

static void own_criteria_stand_behind_in_their_order(void **state) {
    (void)state;
    static const struct {
        enum scenario_criterion_op op;
        const char *text;
        int under, equal, over; /* verdict for an actual of 4, 5 and 6 against 5 */
    } ops[] = {{KVF_OP_LT, "<", 1, 0, 0},  {KVF_OP_LE, "<=", 1, 1, 0}, {KVF_OP_GT, ">", 0, 0, 1},
               {KVF_OP_GE, ">=", 0, 1, 1}, {KVF_OP_EQ, "==", 0, 1, 0}, {KVF_OP_NE, "!=", 1, 0, 1}};
    enum { OPS = sizeof ops / sizeof ops[0] };
    add("a_ms", 4);
    add("b_ms", 5);
    add("c_ms", 6);
    s->assess.criteria = 3 * OPS + 1;
    for (uint32_t i = 0; i < OPS; i++)
        for (uint32_t k = 0; k < 3; k++) {
            struct scenario_criterion *c = &s->assess.criterion[3 * i + k];
            snprintf(c->metric, sizeof c->metric, "%c_ms", "abc"[k]);
            c->op = ops[i].op;
            c->value = 5;
        }
    s->assess.criterion[3 * OPS] =
        (struct scenario_criterion){.metric = "no_such_ms", .op = KVF_OP_NE, .value = 1};
    assess_run(s, &r);
    enum { FIRST = 4 + UNDONE };
    assert_int_equal(r.criterion_count, FIRST + 3 * OPS + 1);
    for (size_t i = 0; i < OPS; i++) {
        expect(FIRST + 3 * i, "a_ms", ops[i].text, 5, ops[i].under);
        expect(FIRST + 1 + 3 * i, "b_ms", ops[i].text, 5, ops[i].equal);
        expect(FIRST + 2 + 3 * i, "c_ms", ops[i].text, 5, ops[i].over);
        assert_string_equal(r.criteria[FIRST + 3 * i].name, "a_ms");
    }
    r.results.count = 0;
    for (size_t k = 0; k < 3; k++) add((const char *[]){"a_ms", "b_ms", "c_ms"}[k], 5);
    assess_again(&r);
    for (size_t i = 0; i < 3 * OPS; i++) assert_int_equal(r.criteria[FIRST + i].passed, ops[i / 3].equal);
    expect(FIRST + 3 * OPS, "no_such_ms", "!=", 1, 0); /* "!=" of nothing is no pass either */
}

static void left_in_service(double value) {
    for (size_t i = 0; i < r.results.count; i++)
        if (strcmp(r.results.items[i].metric, "requests_in_service_at_end") == 0)
            r.results.items[i].value = value;
}

static void nothing_done_for(const char *why) {
    r.status = RUN_COMPLETED;
    assess_nothing_done(s, &r);
    assert_int_equal(r.status, RUN_FAILED);
    const char *said = strstr(r.status_reason, "; ");
    assert_non_null(said);
    assert_string_equal(said + 2, why);
}

static void why_nothing_was_done_is_what_the_counts_say(void **state) {
    (void)state;
    static const char *const none[] = {"requests_done", "requests_dropped", "requests_queued_at_end",
                                       "requests_in_service_at_end"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) add(none[i], 0);
    add("requests_arrived", 2);
    add("requests_failed", 2);
    add("requests_refused", 0);
    nothing_done_for("the events say why they failed");
    s->workload.phase = KVF_WORKLOAD_PHASE_DECODE;
    nothing_done_for("the entries that they would read had left the tiers");
    r.results.count -= 1;
    add("requests_refused", 2);
    nothing_done_for("no tier had room for them");
    left_in_service(1); /* what is still there says nothing of those that ended */
    nothing_done_for("no tier had room for them");
    left_in_service(3);
    nothing_done_for("run.duration is shorter than a request takes, or the load is far beyond the tiers");
    left_in_service(0);
    r.results.count -= 3;
    add("requests_arrived", 0);
    add("requests_failed", 0);
    add("requests_refused", 0);
    nothing_done_for("nobody asked in the time measured");
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(profile_latency_passes),
        CASE(profile_latency_fails_at_the_bounds),
        CASE(the_kernel_is_asked_for_the_drives_latency),
        CASE(a_tier_that_wrote_nothing_has_no_latency_to_judge),
        CASE(profile_latency_is_about_the_device_alone),
        CASE(without_data_nothing_passes),
        CASE(a_tier_that_was_not_needed_is_not_judged),
        CASE(profile_throughput_asks_for_the_directions_of_the_phase),
        CASE(profile_throughput_with_a_threshold),
        CASE(work_undone_passes_nothing),
        CASE(own_criteria_stand_behind_in_their_order),
        CASE(why_nothing_was_done_is_what_the_counts_say),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("assess", tests, NULL, NULL);
}
