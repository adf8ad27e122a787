#include "tests/unit/engine_fixture.h"

static struct rig r;

/* ---- gone, refused ---- */

/* The tier holds one entry. While it is read the first time, X asks for its room and gets it between
 * that read and the next. It is written again behind X; all reads share one lookup. */
static void an_entry_that_goes_between_reads_is_written_again(void **state) {
    (void)state;
    rig_open(&r, 200, 0, 0);
    struct flight f = rig_flight(7, 1, 100, 33), x = rig_flight(8, 1, 100, 0);
    x.req.prefill_only = true;
    rig_start_at(&r, 2000, &f);
    rig_end_at(&r, 2100, rig_find(&r, CACHE_OP_WRITE, rig_turn(7, 1)));
    rig_start_at(&r, 2150, &x);
    assert_int_equal(r.waits, 1); /* X: the only victim is being read */
    rig_end_at(&r, 2200, rig_find(&r, CACHE_OP_READ, rig_turn(7, 1)));
    assert_int_equal(rig_where(&r, rig_turn(7, 1)), -1);
    assert_int_equal(r.outs, 1);
    rig_end_at(&r, 2300, rig_find(&r, CACHE_OP_WRITE, rig_turn(8, 1)));
    assert_int_equal(r.dones, 1);
    rig_end_at(&r, 2400, rig_expect(&r, CACHE_OP_WRITE, rig_turn(7, 1), 200, KVF_CAUSE_DECODE));
    rig_end_at(&r, 2500, rig_find(&r, CACHE_OP_READ, rig_turn(7, 1)));
    assert_int_equal(r.dones, 1);
    rig_end_at(&r, 2600, rig_find(&r, CACHE_OP_READ, rig_turn(7, 1)));
    assert_int_equal(r.dones, 2);
    rig_lookups(&r, KVF_CAUSE_DECODE, 1, 1);
    assert_int_equal(r.last.storage_ns, 600); /* the wait for room is in it */
    assert_int_equal(fixture_stats(&r.cache).evictions[GPU], 2);
    rig_close(&r);
}

/* The tier holds one entry and X waits for its room. Whoever has written it reads it once before it can
 * go: else both would write in turn for ever. */
static void what_was_written_is_read_once_before_it_can_go(void **state) {
    (void)state;
    rig_open(&r, 200, 0, 0);
    struct flight f = rig_flight(7, 1, 100, 0), x = rig_flight(8, 1, 100, 0);
    rig_start_at(&r, 2000, &f);
    rig_start_at(&r, 2050, &x);
    assert_int_equal(r.waits, 1);
    rig_end_at(&r, 2100, rig_find(&r, CACHE_OP_WRITE, rig_turn(7, 1)));
    assert_int_equal(r.outs, 1);
    rig_end_at(&r, 2200, rig_find(&r, CACHE_OP_READ, rig_turn(7, 1)));
    assert_int_equal(r.dones, 1);
    rig_end_at(&r, 2300, rig_find(&r, CACHE_OP_WRITE, rig_turn(8, 1)));
    rig_end_at(&r, 2400, rig_find(&r, CACHE_OP_READ, rig_turn(8, 1)));
    assert_int_equal(r.dones, 2);
    rig_lookups(&r, KVF_CAUSE_DECODE, 2, 2);
    assert_int_equal(r.last.storage_ns, 350);
    rig_close(&r);
}

static void a_context_that_no_tier_holds_is_refused_and_the_request_fails(void **state) {
    (void)state;
    rig_open(&r, 100, 150, 0);
    struct flight f = rig_flight(7, 1, 76, 40); /* 152 bytes */
    rig_start_at(&r, 2000, &f);
    assert_int_equal(r.dones, 1);
    assert_int_equal(r.outs, 0);
    assert_true(r.last.failed && r.last.refused);
    assert_int_equal(fixture_stats(&r.cache).refused, 1);
    rig_lookups(&r, KVF_CAUSE_DECODE, 0, 0);
    assert_int_equal(counters_get(&r.x.counters->requests_done), 0);
    assert_int_equal(counters_get(&r.x.counters->requests_refused), 1);
    assert_int_equal(counters_get(&r.x.counters->tokens_generated), 0);
    rig_close(&r);
}

/* Everything that is in the gpu is read: the write waits there, then in the cpu, and finds room in nvme. Its
 * latency has both waits. */
static void a_write_falls_through_and_its_waits_stay_in_its_latency(void **state) {
    (void)state;
    rig_open(&r, 200, 200, 200);
    rig_put(&r, rig_turn(1, 1), 200);
    rig_put(&r, rig_turn(2, 1), 200); /* the other falls to the cpu */
    struct flight one = rig_flight(1, 2, 1, 0), two = rig_flight(2, 2, 1, 0), f = rig_flight(7, 1, 100, 0);
    rig_start_at(&r, 2000, &one);
    rig_start_at(&r, 2000, &two);
    rig_start_at(&r, 3000, &f);
    assert_int_equal(r.waits, 1);
    r.clock.virtual_ns = 3000 + ROOM_NS;
    rig_waits_over(&r);
    assert_int_equal(r.waits, 1);
    assert_int_equal(r.wait[0]->deadline_ns, 3000 + 2 * ROOM_NS);
    r.clock.virtual_ns = 3000 + 2 * ROOM_NS;
    rig_waits_over(&r);
    struct cache_op *op = rig_find(&r, CACHE_OP_WRITE, rig_turn(7, 1));
    assert_int_equal(op->to, NVME);
    assert_int_equal(fixture_stats(&r.cache).fell_through[GPU], 1);
    assert_int_equal(fixture_stats(&r.cache).fell_through[CPU], 1);
    rig_end_at(&r, 4000 + 2 * ROOM_NS, op);
    rig_end_at(&r, 5000 + 2 * ROOM_NS, rig_find(&r, CACHE_OP_READ, rig_turn(7, 1)));
    assert_int_equal(r.last.req.conversation, 7);
    assert_false(r.last.failed);
    assert_int_equal(r.last.storage_ns, 2000 + 2 * ROOM_NS);
    assert_int_equal(r.last.owed_bytes, 200 + 200); /* written once, read back once */
    assert_int_equal(counters_get(&r.x.counters->owed_bytes), 400);
    while (r.outs) rig_end(&r, r.out[0], CACHE_DONE);
    rig_close(&r);
}

/* Admission takes the first tier that can hold it at all. */
static void a_context_too_large_for_the_first_tier_goes_to_the_next(void **state) {
    (void)state;
    rig_open(&r, 100, 200, 0);
    struct flight f = rig_flight(7, 1, 76, 0);
    rig_start_at(&r, 2000, &f);
    struct cache_op *op = rig_find(&r, CACHE_OP_WRITE, rig_turn(7, 1));
    assert_int_equal(op->to, CPU);
    rig_end_at(&r, 2100, op);
    rig_end_at(&r, 2200, rig_find(&r, CACHE_OP_READ, rig_turn(7, 1)));
    assert_int_equal(fixture_stats(&r.cache).tier_hits[CPU], 1);
    rig_close(&r);
}

static void a_wait_for_room_is_bounded_and_then_the_write_is_refused(void **state) {
    (void)state;
    rig_open(&r, 200, 0, 0);
    struct flight f = rig_flight(7, 1, 100, 0), x = rig_flight(8, 1, 100, 40);
    rig_start_at(&r, 2000, &f);
    rig_end_at(&r, 2100, rig_find(&r, CACHE_OP_WRITE, rig_turn(7, 1)));
    rig_start_at(&r, 3000, &x); /* while the one entry is read */
    assert_int_equal(r.waits, 1);
    assert_int_equal(r.wait[0]->kind, CACHE_OP_WRITE);
    assert_int_equal(r.wait[0]->deadline_ns, 3000 + ROOM_NS);
    r.clock.virtual_ns = 3000 + ROOM_NS;
    rig_waits_over(&r);
    struct cache_op *refused = rig_find(&r, CACHE_OP_WRITE, rig_turn(8, 1));
    assert_true(refused->failed_wait && refused->refused);
    rig_end_at(&r, r.clock.virtual_ns, refused);
    assert_int_equal(r.dones, 1);
    assert_int_equal(r.last.req.conversation, 8);
    assert_true(r.last.failed && r.last.refused);
    assert_int_equal(r.last.storage_ns, ROOM_NS);
    assert_int_equal(fixture_stats(&r.cache).refused, 1);
    assert_int_equal(counters_get(&r.x.counters->requests_failed), 1);
    assert_int_equal(counters_get(&r.x.counters->klass[0].failed), 1);
    assert_int_equal(counters_get(&r.x.counters->tokens_generated), 0);
    rig_lookups(&r, KVF_CAUSE_DECODE, 1, 1);
    rig_end_at(&r, r.clock.virtual_ns, rig_find(&r, CACHE_OP_READ, rig_turn(7, 1)));
    assert_int_equal(r.dones, 2);
    rig_close(&r);
}

/* The moves that make room belong to the write: it is outstanding all the while. */
static void the_moves_for_a_write_are_storage_time_of_its_request(void **state) {
    (void)state;
    rig_open(&r, 200, 200, 0);
    rig_put(&r, rig_turn(1, 1), 200);
    struct flight f = rig_flight(7, 1, 100, 0);
    f.req.prefill_only = true;
    rig_start_at(&r, 2000, &f);
    assert_int_equal(r.outs, 1);
    struct cache_op *move = rig_expect(&r, CACHE_OP_MOVE, rig_turn(1, 1), 200, KVF_CAUSE_DEMOTION);
    assert_null(move->owner);
    rig_end_at(&r, 2600, move);
    rig_end_at(&r, 2700, rig_find(&r, CACHE_OP_WRITE, rig_turn(7, 1)));
    assert_int_equal(r.dones, 1);
    assert_int_equal(r.last.storage_ns, 700);
    assert_int_equal(rig_latency(&r, REQUEST_LATENCY_TTFT), 1700);
    assert_int_equal(rig_where(&r, rig_turn(1, 1)), CPU);
    rig_close(&r);
}

/* ---- errors and the end ---- */

/* Two reads are under way; one fails. The hit is taken back, the other read is waited for, and the
 * request ends as failed without a prefill. */
static void a_failed_read_is_no_hit_and_fails_the_request(void **state) {
    (void)state;
    rig_open(&r, 1000, 0, 0);
    rig_put(&r, rig_turn(7, 1), 80);
    rig_put(&r, rig_turn(7, 2), 90);
    struct flight f = rig_flight(7, 3, 100, 40);
    rig_start_at(&r, 2000, &f);
    rig_end(&r, rig_find(&r, CACHE_OP_READ, rig_turn(7, 1)), CACHE_FAILED);
    assert_int_equal(r.dones, 0);
    assert_int_equal(r.outs, 1);
    rig_lookups(&r, KVF_CAUSE_CONVERSATION, 2, 1);
    assert_int_equal(fixture_stats(&r.cache).tier_hits[GPU], 1);
    assert_int_equal(rig_where(&r, rig_turn(7, 1)), -1); /* not to be hit again */
    rig_end_at(&r, 2100, rig_find(&r, CACHE_OP_READ, rig_turn(7, 2)));
    assert_int_equal(r.outs, 0);
    assert_int_equal(r.dones, 1);
    assert_true(r.last.failed);
    assert_int_equal(r.last.tier_hits[GPU], 1);
    assert_int_equal(r.last.misses, 1);
    const struct counters *c = r.x.counters;
    assert_int_equal(counters_get(&c->requests_failed), 1);
    assert_int_equal(counters_get(&c->requests_done), 0);
    assert_int_equal(counters_get(&c->klass[0].failed), 1);
    assert_int_equal(counters_get(&c->klass[0].done), 0);
    assert_int_equal(counters_get(&c->klass[0].missed), 0);
    assert_int_equal(counters_get(&c->tokens_generated), 0);
    for (int l = 0; l < REQUEST_LATENCIES; l++) assert_int_equal(rig_samples(&r, l), 0);
    rig_close(&r);
}

/* The third read of the batch-by-batch decode fails: the one lookup that they share was no hit. */
static void a_failed_decode_read_takes_the_one_hit_back(void **state) {
    (void)state;
    rig_open(&r, 1000, 0, 0);
    struct flight f = rig_flight(7, 1, 100, 40);
    rig_start_at(&r, 2000, &f);
    rig_end_at(&r, 2100, rig_find(&r, CACHE_OP_WRITE, rig_turn(7, 1)));
    rig_end_at(&r, 2200, rig_find(&r, CACHE_OP_READ, rig_turn(7, 1)));
    rig_end_at(&r, 2300, rig_find(&r, CACHE_OP_READ, rig_turn(7, 1)));
    rig_lookups(&r, KVF_CAUSE_DECODE, 1, 1);
    rig_end(&r, rig_find(&r, CACHE_OP_READ, rig_turn(7, 1)), CACHE_FAILED);
    rig_lookups(&r, KVF_CAUSE_DECODE, 1, 0);
    assert_int_equal(fixture_stats(&r.cache).tier_hits[GPU], 0);
    assert_int_equal(r.dones, 1);
    assert_true(r.last.failed);
    assert_int_equal(r.last.tier_hits[GPU], 0);
    assert_int_equal(r.last.misses, 1);
    rig_close(&r);
}

static void a_failed_write_fails_the_request_and_leaves_no_entry(void **state) {
    (void)state;
    rig_open(&r, 1000, 0, 0);
    struct flight f = rig_flight(7, 1, 100, 40);
    rig_start_at(&r, 2000, &f);
    rig_end(&r, rig_find(&r, CACHE_OP_WRITE, rig_turn(7, 1)), CACHE_FAILED);
    assert_int_equal(r.dones, 1);
    assert_true(r.last.failed);
    assert_int_equal(rig_where(&r, rig_turn(7, 1)), -1);
    rig_lookups(&r, KVF_CAUSE_DECODE, 0, 0);
    assert_int_equal(fixture_stats(&r.cache).used_bytes[GPU], 0);
    assert_int_equal(histogram_count(&r.x.counters->entry_bytes), 0);
    rig_close(&r);
}

/* A move that fails is nobody's request; the write that it makes room for goes on. */
static void a_failed_move_drops_its_entry_and_fails_no_request(void **state) {
    (void)state;
    rig_open(&r, 200, 200, 0);
    rig_put(&r, rig_turn(1, 1), 200);
    struct flight f = rig_flight(7, 1, 100, 0);
    f.req.prefill_only = true;
    rig_start_at(&r, 2000, &f);
    rig_end(&r, rig_find(&r, CACHE_OP_MOVE, rig_turn(1, 1)), CACHE_FAILED);
    assert_int_equal(rig_where(&r, rig_turn(1, 1)), -1);
    assert_int_equal(fixture_stats(&r.cache).move_errors, 1);
    rig_end_at(&r, 2100, rig_find(&r, CACHE_OP_WRITE, rig_turn(7, 1)));
    assert_int_equal(r.dones, 1);
    assert_false(r.last.failed);
    rig_close(&r);
}

/* Operations under way are finished with the cache; nothing is begun, nothing ends, nothing is counted. */
static void after_the_stop_nothing_new_is_begun(void **state) {
    (void)state;
    rig_open(&r, 1000, 0, 0);
    struct flight f = rig_flight(7, 1, 100, 40), g = rig_flight(8, 1, 100, 40), h = rig_flight(9, 1, 100, 0);
    rig_start_at(&r, 2000, &f);
    rig_start_at(&r, 2000, &g);
    rig_end_at(&r, 2100, rig_find(&r, CACHE_OP_WRITE, rig_turn(8, 1)));
    r.x.stopping = true;
    rig_end_at(&r, 2200, rig_find(&r, CACHE_OP_WRITE, rig_turn(7, 1)));
    rig_end(&r, rig_find(&r, CACHE_OP_READ, rig_turn(8, 1)), CACHE_ABANDONED);
    rig_start_at(&r, 2300, &h);
    assert_int_equal(r.outs, 0);
    assert_int_equal(r.dones, 0);
    assert_int_equal(counters_get(&r.x.counters->requests_done), 0);
    assert_int_equal(counters_get(&r.x.counters->requests_failed), 0);
    assert_int_equal(rig_where(&r, rig_turn(7, 1)), GPU);
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_entry_that_goes_between_reads_is_written_again),
        cmocka_unit_test(what_was_written_is_read_once_before_it_can_go),
        cmocka_unit_test(a_context_that_no_tier_holds_is_refused_and_the_request_fails),
        cmocka_unit_test(a_context_too_large_for_the_first_tier_goes_to_the_next),
        cmocka_unit_test(a_wait_for_room_is_bounded_and_then_the_write_is_refused),
        cmocka_unit_test(a_write_falls_through_and_its_waits_stay_in_its_latency),
        cmocka_unit_test(the_moves_for_a_write_are_storage_time_of_its_request),
        cmocka_unit_test(a_failed_read_is_no_hit_and_fails_the_request),
        cmocka_unit_test(a_failed_decode_read_takes_the_one_hit_back),
        cmocka_unit_test(a_failed_write_fails_the_request_and_leaves_no_entry),
        cmocka_unit_test(a_failed_move_drops_its_entry_and_fails_no_request),
        cmocka_unit_test(after_the_stop_nothing_new_is_begun),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("pipeline_fault", tests, NULL, NULL);
}
