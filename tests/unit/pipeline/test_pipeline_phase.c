#include "tests/unit/engine_fixture.h"

static struct rig r;

/* ---- phases ---- */

static void prefill_alone_does_not_read_back(void **state) {
    (void)state;
    rig_open(&r, 1000, 0, 0);
    rig_put(&r, rig_turn(7, 1), 50);
    struct flight f = rig_flight(7, 2, 100, 40);
    f.req.prefill_only = true;
    rig_start_at(&r, 2000, &f);
    rig_end_at(&r, 2100, rig_find(&r, CACHE_OP_READ, rig_turn(7, 1)));
    rig_end_at(&r, 2200, rig_find(&r, CACHE_OP_WRITE, rig_turn(7, 2)));
    assert_int_equal(r.outs, 0);
    assert_int_equal(r.dones, 1);
    rig_lookups(&r, KVF_CAUSE_DECODE, 0, 0);
    rig_lookups(&r, KVF_CAUSE_CONVERSATION, 1, 1);
    rig_close(&r);
}

static struct flight decoding(uint32_t stored) {
    struct flight f = rig_flight(7, 1, 100, 40);
    f.req.user = 5;
    f.req.decode_only = true;
    f.req.stored = stored;
    return f;
}

static void decode_alone_reads_a_stored_entry_and_writes_nothing(void **state) {
    (void)state;
    struct cache_key key = cache_key_make(CACHE_KEY_STORED, 5, 8);
    rig_open(&r, 1000, 0, 0);
    rig_put(&r, key, 200);
    struct flight f = decoding(8);
    rig_start_at(&r, 2000, &f);
    for (uint64_t read = 0; read < 3; read++)
        rig_end_at(&r, 2100 + 100 * read, rig_expect(&r, CACHE_OP_READ, key, 200, KVF_CAUSE_DECODE));
    assert_int_equal(r.dones, 1);
    rig_lookups(&r, KVF_CAUSE_DECODE, 1, 1);
    assert_int_equal(rig_latency(&r, REQUEST_LATENCY_TTFT), 1100); /* its first read */
    assert_int_equal(rig_latency(&r, REQUEST_LATENCY_E2E), 1300);
    rig_close(&r);
}

static void decode_alone_of_an_entry_that_has_gone_is_a_miss_and_fails(void **state) {
    (void)state;
    rig_open(&r, 1000, 0, 0);
    struct flight f = decoding(8);
    rig_start_at(&r, 2000, &f);
    assert_int_equal(r.dones, 1);
    assert_true(r.last.failed && !r.last.refused);
    assert_int_equal(counters_get(&r.x.counters->requests_failed), 1);
    assert_int_equal(r.outs, 0);
    rig_lookups(&r, KVF_CAUSE_DECODE, 1, 0);
    rig_close(&r);
}

static struct flight prepared(uint64_t index, uint64_t bytes) {
    return (struct flight){.req = {.kind = REQUEST_WRITE, .prompt = REQUEST_NO_PROMPT},
                           .internal = true,
                           .key = cache_key_make(CACHE_KEY_STORED, 5, index),
                           .bytes = bytes,
                           .cause = KVF_CAUSE_PRECONDITION};
}

static struct cache_op *prepared_write(uint64_t index, uint64_t bytes) {
    return rig_expect(&r, CACHE_OP_WRITE, cache_key_make(CACHE_KEY_STORED, 5, index), bytes,
                      KVF_CAUSE_PRECONDITION);
}

static void what_is_written_before_the_clock_is_counted_nowhere(void **state) {
    (void)state;
    rig_open(&r, 1000, 0, 0);
    struct flight f = prepared(8, 200);
    rig_start_at(&r, 2000, &f);
    rig_end_at(&r, 2100, prepared_write(8, 200));
    assert_int_equal(r.dones, 1);
    assert_int_equal(counters_get(&r.x.counters->requests_done), 0);
    assert_int_equal(histogram_count(&r.x.counters->entry_bytes), 0);
    for (int l = 0; l < REQUEST_LATENCIES; l++) assert_int_equal(rig_samples(&r, l), 0);
    rig_close(&r);
}

/* However long it takes: its wait for room has no end. */
static void what_is_written_before_the_clock_waits_for_room(void **state) {
    (void)state;
    rig_open(&r, 1000, 0, 0);
    struct flight first = prepared(1, 600), second = prepared(2, 600);
    rig_start_at(&r, 2000, &first);
    rig_start_at(&r, 2000, &second);
    assert_int_equal(r.outs, 1);
    assert_int_equal(r.waits, 0);
    rig_end_at(&r, 2000 + 100 * ROOM_NS, prepared_write(1, 600));
    rig_end_at(&r, 2000 + 100 * ROOM_NS, prepared_write(2, 600));
    assert_int_equal(r.dones, 2);
    assert_false(r.last.refused);
    rig_close(&r);
}

/* ---- operations of a file ---- */

static struct flight operation(enum request_kind kind, const char *key) {
    struct flight f = rig_flight(1, 1, 100, 0);
    f.req.kind = kind;
    snprintf(f.req.key, sizeof f.req.key, "%s", key);
    return f;
}

static void operations_of_a_file_write_and_read_their_key_once(void **state) {
    (void)state;
    rig_open(&r, 1000, 0, 0);
    struct flight miss = operation(REQUEST_READ, "12"), write = operation(REQUEST_WRITE, "12"),
                  again = operation(REQUEST_WRITE, "12"), hit = operation(REQUEST_READ, "12");
    rig_start_at(&r, 2000, &miss);
    assert_int_equal(r.dones, 1);
    rig_start_at(&r, 2000, &write);
    rig_end_at(&r, 2200, rig_expect(&r, CACHE_OP_WRITE, rig_id(12), 200, KVF_CAUSE_PREFILL));
    assert_int_equal(r.dones, 2);
    rig_start_at(&r, 2300, &again); /* resident: writes nothing */
    assert_int_equal(r.dones, 3);
    assert_int_equal(r.outs, 0);
    rig_start_at(&r, 2300, &hit);
    rig_end_at(&r, 2350, rig_find(&r, CACHE_OP_READ, rig_id(12)));
    assert_int_equal(r.dones, 4);
    rig_lookups(&r, KVF_CAUSE_CONVERSATION, 2, 1);
    assert_int_equal(counters_get(&r.x.counters->requests_done), 4);
    assert_int_equal(counters_get(&r.x.counters->tokens_generated), 0);
    assert_int_equal(rig_samples(&r, REQUEST_LATENCY_GENERATION), 0);
    rig_close(&r);
}

/* ---- generation ---- */

/* 40 tokens of 2 ms, on a timer, after the decode reads. */
static void generation_runs_on_a_timer(void **state) {
    (void)state;
    rig_open(&r, 1000, 0, 0);
    atomic_store(&r.p.ns_per_token, 2 * MS);
    struct flight f = rig_flight(7, 1, 100, 40);
    rig_start_at(&r, 2000, &f);
    rig_end_at(&r, 2100, rig_find(&r, CACHE_OP_WRITE, rig_turn(7, 1)));
    for (uint64_t at = 2200; at <= 2400; at += 100)
        rig_end_at(&r, at, rig_find(&r, CACHE_OP_READ, rig_turn(7, 1)));
    assert_int_equal(r.dones, 0);
    assert_int_equal(r.outs, 0);
    assert_int_equal(r.timers, 1);
    assert_ptr_equal(r.timed, &f);
    assert_int_equal(r.timer_ns, 2400 + 80 * MS);
    r.clock.virtual_ns = r.timer_ns;
    pipeline_timer(&r.p, &r.x, r.timed);
    assert_int_equal(r.dones, 1);
    assert_int_equal(rig_latency(&r, REQUEST_LATENCY_GENERATION), 80 * MS);
    assert_int_equal(rig_latency(&r, REQUEST_LATENCY_TPOT), 2 * MS);
    assert_int_equal(rig_latency(&r, REQUEST_LATENCY_TTFT), 1100);
    assert_int_equal(rig_latency(&r, REQUEST_LATENCY_STORAGE_IO), 400);
    assert_int_equal(rig_latency(&r, REQUEST_LATENCY_E2E), 1400 + 80 * MS);
    rig_close(&r);
}

/* ---- targets ---- */

static void run_class_1(uint64_t written_at) {
    struct flight f = rig_flight(7, (uint32_t)written_at, 10, 0);
    f.req.klass = 1;
    f.req.prefill_only = true;
    f.req.turn = 1;
    f.req.conversation = written_at;
    rig_start_at(&r, 1000, &f);
    rig_end_at(&r, written_at, r.out[0]);
}

/* At the target is inside it. */
static void a_target_is_met_up_to_its_value(void **state) {
    (void)state;
    rig_open(&r, 1000, 0, 0);
    r.s.qos.klass[1].p95_ns = 500;
    run_class_1(1499);
    run_class_1(1500);
    run_class_1(1501);
    const struct counters_class *k = &r.x.counters->klass[1];
    assert_int_equal(counters_get(&k->done), 3);
    assert_int_equal(counters_get(&k->missed), 1);
    assert_int_equal(histogram_count(&k->ttft), 3);
    assert_int_equal(counters_get(&r.x.counters->klass[0].done), 0);
    rig_close(&r);
}

/* TTFT is inside the target, the whole request is not. */
static void the_target_is_that_of_ttft_or_of_the_whole_request(void **state) {
    (void)state;
    for (int e2e = 0; e2e < 2; e2e++) {
        rig_open(&r, 1000, 0, 0);
        r.s.qos.latency = e2e ? KVF_QOS_LATENCY_E2E : KVF_QOS_LATENCY_TTFT;
        r.s.qos.klass[0].p95_ns = 500;
        struct flight f = rig_flight(7, 1, 10, 0);
        rig_start_at(&r, 1000, &f);
        rig_end_at(&r, 1400, r.out[0]);
        rig_end_at(&r, 1600, r.out[0]);
        assert_int_equal(counters_get(&r.x.counters->klass[0].missed), e2e);
        rig_close(&r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prefill_alone_does_not_read_back),
        cmocka_unit_test(decode_alone_reads_a_stored_entry_and_writes_nothing),
        cmocka_unit_test(decode_alone_of_an_entry_that_has_gone_is_a_miss_and_fails),
        cmocka_unit_test(what_is_written_before_the_clock_is_counted_nowhere),
        cmocka_unit_test(what_is_written_before_the_clock_waits_for_room),
        cmocka_unit_test(operations_of_a_file_write_and_read_their_key_once),
        cmocka_unit_test(generation_runs_on_a_timer),
        cmocka_unit_test(a_target_is_met_up_to_its_value),
        cmocka_unit_test(the_target_is_that_of_ttft_or_of_the_whole_request),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("pipeline_phase", tests, NULL, NULL);
}
