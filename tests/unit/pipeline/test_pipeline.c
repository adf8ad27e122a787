#include "tests/unit/engine_fixture.h"

static struct rig r;

/* ---- the life of a first turn ---- */

/* 100 tokens are 200 bytes; 40 tokens in batches of 32 are 1 + 2 reads of it. */
static void a_first_turn_writes_its_context_and_reads_it_back(void **state) {
    (void)state;
    rig_open(&r, 1000, 0, 0);
    struct flight f = rig_flight(7, 1, 100, 40);
    rig_start_at(&r, 1500, &f);
    assert_int_equal(r.outs, 1);
    struct cache_op *op = rig_expect(&r, CACHE_OP_WRITE, rig_turn(7, 1), 200, KVF_CAUSE_PREFILL);
    assert_int_equal(op->to, GPU);
    rig_end_at(&r, 1700, op);
    for (uint64_t read = 0; read < 3; read++) {
        assert_int_equal(r.dones, 0);
        assert_int_equal(r.outs, 1);
        op = rig_expect(&r, CACHE_OP_READ, rig_turn(7, 1), 200, KVF_CAUSE_DECODE);
        rig_end_at(&r, 1750 + 60 * read, op);
    }
    assert_int_equal(r.dones, 1);
    assert_int_equal(r.last.req.id, 7 << 8 | 1);
    assert_false(r.last.failed);
    rig_lookups(&r, KVF_CAUSE_DECODE, 1, 1);
    rig_lookups(&r, KVF_CAUSE_PREFILL, 0, 0);
    rig_lookups(&r, KVF_CAUSE_CONVERSATION, 0, 0);
    assert_int_equal(fixture_stats(&r.cache).tier_hits[GPU], 1);
    assert_int_equal(r.last.tier_hits[GPU], 1);
    assert_int_equal(r.last.misses, 0);
    rig_close(&r);
}

/* Arrived at 1000, slot at 1500, written at 1700, read at 1750, 1810 and 1870. */
static void the_latencies_of_a_first_turn_are_exact(void **state) {
    (void)state;
    rig_open(&r, 1000, 0, 0);
    struct flight f = rig_flight(7, 1, 100, 40);
    rig_start_at(&r, 1500, &f);
    rig_end_at(&r, 1700, r.out[0]);
    rig_end_at(&r, 1750, r.out[0]);
    rig_end_at(&r, 1810, r.out[0]);
    rig_end_at(&r, 1870, r.out[0]);
    assert_int_equal(rig_latency(&r, REQUEST_LATENCY_QUEUE_WAIT), 500);
    assert_int_equal(rig_latency(&r, REQUEST_LATENCY_TTFT), 700);
    assert_int_equal(rig_latency(&r, REQUEST_LATENCY_STORAGE_IO), 370);
    assert_int_equal(rig_latency(&r, REQUEST_LATENCY_E2E), 870);
    assert_int_equal(rig_latency(&r, REQUEST_LATENCY_GENERATION), 0);
    for (int l = 0; l < REQUEST_LATENCIES; l++) assert_int_equal(rig_samples(&r, l), 1);
    const struct counters *c = r.x.counters;
    assert_int_equal(counters_get(&c->requests_done), 1);
    assert_int_equal(counters_get(&c->requests_failed), 0);
    assert_int_equal(counters_get(&c->tokens_generated), 40);
    assert_int_equal(counters_get(&c->context_tokens), 100);
    assert_int_equal(counters_get(&c->prompt_seen), 0);
    assert_int_equal(histogram_count(&c->entry_bytes), 1);
    assert_int_equal(atomic_load(&c->entry_bytes.sum), 200);
    rig_close(&r);
}

/* 1 + ceil(generated / batch): nothing generated is one read, a full batch two, one more three. */
static void decode_reads_once_and_once_a_batch(void **state) {
    (void)state;
    static const struct {
        uint64_t generate;
        unsigned reads;
    } example[] = {{0, 1}, {1, 2}, {32, 2}, {33, 3}, {320, 11}};
    for (size_t i = 0; i < sizeof example / sizeof *example; i++) {
        rig_open(&r, 1000, 0, 0);
        struct flight f = rig_flight(1, 1, 10, example[i].generate);
        rig_start_at(&r, 2000, &f);
        rig_end_at(&r, 2010, rig_find(&r, CACHE_OP_WRITE, rig_turn(1, 1)));
        unsigned reads = 0;
        for (; r.outs > 0; reads++) rig_end_at(&r, 2020, rig_find(&r, CACHE_OP_READ, rig_turn(1, 1)));
        assert_int_equal(reads, example[i].reads);
        assert_int_equal(r.dones, 1);
        rig_lookups(&r, KVF_CAUSE_DECODE, 1, 1);
        rig_close(&r);
    }
}

/* ---- what others see of it ---- */

/* The turn before is in gpu, which is too small for this one. */
static void its_stage_and_tier_are_shown_as_it_goes_on(void **state) {
    (void)state;
    rig_open(&r, 100, 1000, 0);
    atomic_store(&r.p.ns_per_token, 7);
    rig_put(&r, rig_turn(7, 1), 80);
    struct flight f = rig_flight(7, 2, 60, 10);
    rig_shows(&f, FLIGHT_QUEUED, -1);
    rig_start_at(&r, 1500, &f);
    rig_shows(&f, FLIGHT_READS, GPU);
    rig_end_at(&r, 1600, rig_find(&r, CACHE_OP_READ, rig_turn(7, 1)));
    rig_shows(&f, FLIGHT_PREFILL, CPU);
    rig_end_at(&r, 1700, rig_find(&r, CACHE_OP_WRITE, rig_turn(7, 2)));
    rig_shows(&f, FLIGHT_DECODE, CPU);
    for (int read = 0; read < 2; read++) rig_end_at(&r, 1800, rig_find(&r, CACHE_OP_READ, rig_turn(7, 2)));
    rig_shows(&f, FLIGHT_GENERATE, CPU);
    pipeline_timer(&r.p, &r.x, &f);
    rig_shows(&r.last, FLIGHT_ENDED, CPU);
    rig_close(&r);
}

/* B waits for room, which is nowhere; when A has read what fills the tier, its write begins. */
static void who_waits_for_room_is_nowhere(void **state) {
    (void)state;
    rig_open(&r, 100, 0, 0);
    struct flight a = rig_flight(1, 1, 40, 0), b = rig_flight(2, 1, 40, 0);
    rig_start_at(&r, 1500, &a);
    rig_start_at(&r, 1500, &b);
    assert_int_equal(r.waits, 1);
    rig_shows(&a, FLIGHT_PREFILL, GPU);
    rig_shows(&b, FLIGHT_PREFILL, -1);
    rig_end_at(&r, 1600, rig_find(&r, CACHE_OP_WRITE, rig_turn(1, 1)));
    rig_end_at(&r, 1700, rig_find(&r, CACHE_OP_READ, rig_turn(1, 1)));
    rig_shows(&b, FLIGHT_PREFILL, -1);
    struct cache_op *op = rig_find(&r, CACHE_OP_WRITE, rig_turn(2, 1));
    assert_int_equal(b.room_ns, 0);
    pipeline_op_ready(&r.x, op);
    assert_int_equal(b.room_ns, 200);
    pipeline_op_begins(op);
    rig_shows(&b, FLIGHT_PREFILL, GPU);
    rig_end_at(&r, 1800, op);
    assert_int_equal(b.first_room_ns, 200);
    assert_int_equal(b.first_storage_ns, 300);
    assert_int_equal(b.first_paced_ns[GPU][KVF_DIR_WRITE], 100);
    rig_end_at(&r, 1900, rig_find(&r, CACHE_OP_READ, rig_turn(2, 1)));
    assert_int_equal(r.last.first_storage_ns, 300);
    assert_int_equal(r.last.storage_ns, 400);
    assert_int_equal(r.last.paced_ns[GPU][KVF_DIR_WRITE], 100);
    assert_int_equal(r.last.paced_ns[GPU][KVF_DIR_READ], 100);
    assert_int_equal(r.dones, 2);
    rig_close(&r);
}

/* ---- shared prompts ---- */

static struct flight prompted(uint64_t conversation, uint32_t turn) {
    struct flight f = rig_flight(conversation, turn, 60, 0);
    f.req.prompt = 2;
    f.req.prompt_tokens = 50;
    return f;
}

static void a_shared_prompt_that_is_resident_is_read(void **state) {
    (void)state;
    rig_open(&r, 1000, 0, 0);
    rig_put(&r, rig_prompt(2), 100);
    struct flight f = prompted(7, 1);
    rig_start_at(&r, 2000, &f);
    assert_int_equal(r.outs, 1);
    rig_end_at(&r, 2100, rig_expect(&r, CACHE_OP_READ, rig_prompt(2), 100, KVF_CAUSE_PREFIX));
    rig_end_at(&r, 2300, rig_expect(&r, CACHE_OP_WRITE, rig_turn(7, 1), 120, KVF_CAUSE_PREFILL));
    rig_end_at(&r, 2400, rig_expect(&r, CACHE_OP_READ, rig_turn(7, 1), 120, KVF_CAUSE_DECODE));
    assert_int_equal(r.dones, 1);
    rig_lookups(&r, KVF_CAUSE_PREFIX, 1, 1);
    const struct counters *c = r.x.counters;
    assert_int_equal(counters_get(&c->prompt_seen), 1);
    assert_int_equal(counters_get(&c->prompt_hits), 1);
    assert_int_equal(counters_get(&c->prompt_rebuilt), 0);
    assert_int_equal(counters_get(&c->context_tokens), 110);
    assert_int_equal(rig_latency(&r, REQUEST_LATENCY_TTFT), 1300);
    rig_close(&r);
}

static void a_shared_prompt_that_is_missing_is_written(void **state) {
    (void)state;
    rig_open(&r, 1000, 0, 0);
    struct flight f = prompted(7, 1);
    rig_start_at(&r, 2000, &f);
    rig_end_at(&r, 2100, rig_expect(&r, CACHE_OP_WRITE, rig_prompt(2), 100, KVF_CAUSE_PREFIX));
    rig_end_at(&r, 2300, rig_expect(&r, CACHE_OP_WRITE, rig_turn(7, 1), 120, KVF_CAUSE_PREFILL));
    rig_end_at(&r, 2400, rig_find(&r, CACHE_OP_READ, rig_turn(7, 1)));
    assert_int_equal(r.dones, 1);
    rig_lookups(&r, KVF_CAUSE_PREFIX, 1, 0);
    assert_int_equal(counters_get(&r.x.counters->prompt_hits), 0);
    assert_int_equal(counters_get(&r.x.counters->prompt_rebuilt), 1);
    assert_int_equal(r.last.misses, 1);
    assert_int_equal(rig_where(&r, rig_prompt(2)), GPU);
    rig_close(&r);
}

/* B finds the prompt being written by A: it waits, counts nothing, and hits when A is done. Its wait
 * from 2000 and its read to 2250 are one stretch of storage time. */
static void a_prompt_being_written_is_waited_for_and_hit(void **state) {
    (void)state;
    rig_open(&r, 1000, 0, 0);
    struct flight a = prompted(7, 1), b = prompted(8, 1);
    rig_start_at(&r, 1900, &a);
    struct cache_op *write = rig_find(&r, CACHE_OP_WRITE, rig_prompt(2));
    rig_start_at(&r, 2000, &b);
    assert_int_equal(r.outs, 1);
    assert_int_equal(r.waits, 1);
    assert_int_equal(r.wait[0]->kind, CACHE_OP_WAIT);
    assert_int_equal(r.wait[0]->deadline_ns, 2000 + ROOM_NS);
    rig_lookups(&r, KVF_CAUSE_PREFIX, 1, 0);
    rig_end_at(&r, 2100, write);
    rig_end_at(&r, 2150, rig_find(&r, CACHE_OP_WAIT, rig_prompt(2)));
    rig_lookups(&r, KVF_CAUSE_PREFIX, 2, 1);
    rig_end_at(&r, 2250, rig_expect(&r, CACHE_OP_READ, rig_prompt(2), 100, KVF_CAUSE_PREFIX));
    assert_int_equal(b.storage_ns, 250);
    rig_end_at(&r, 2300, rig_find(&r, CACHE_OP_WRITE, rig_turn(8, 1)));
    rig_end_at(&r, 2310, rig_find(&r, CACHE_OP_READ, rig_turn(8, 1)));
    assert_int_equal(r.dones, 1);
    assert_int_equal(r.last.req.conversation, 8);
    assert_int_equal(r.last.storage_ns, 310);
    assert_int_equal(counters_get(&r.x.counters->prompt_hits), 1);
    rig_end_at(&r, 2320, rig_find(&r, CACHE_OP_WRITE, rig_turn(7, 1)));
    rig_end_at(&r, 2330, rig_find(&r, CACHE_OP_READ, rig_turn(7, 1)));
    assert_int_equal(r.dones, 2);
    rig_close(&r);
}

static void a_waiter_writes_the_prompt_itself_when_that_write_failed(void **state) {
    (void)state;
    rig_open(&r, 1000, 0, 0);
    struct flight a = prompted(7, 1), b = prompted(8, 1);
    rig_start_at(&r, 2000, &a);
    rig_start_at(&r, 2000, &b);
    rig_end(&r, rig_find(&r, CACHE_OP_WRITE, rig_prompt(2)), CACHE_FAILED);
    assert_int_equal(r.dones, 1);
    assert_true(r.last.failed);
    rig_end_at(&r, 2100, rig_find(&r, CACHE_OP_WAIT, rig_prompt(2)));
    rig_lookups(&r, KVF_CAUSE_PREFIX, 2, 0);
    rig_end_at(&r, 2200, rig_expect(&r, CACHE_OP_WRITE, rig_prompt(2), 100, KVF_CAUSE_PREFIX));
    rig_end_at(&r, 2300, rig_find(&r, CACHE_OP_WRITE, rig_turn(8, 1)));
    rig_end_at(&r, 2400, rig_find(&r, CACHE_OP_READ, rig_turn(8, 1)));
    assert_int_equal(r.dones, 2);
    assert_false(r.last.failed);
    assert_int_equal(counters_get(&r.x.counters->requests_failed), 1);
    rig_close(&r);
}

/* After the time for waiting it is a miss, and the request goes on without the prompt. */
static void a_wait_for_a_writer_is_bounded(void **state) {
    (void)state;
    rig_open(&r, 1000, 0, 0);
    struct flight a = prompted(7, 1), b = prompted(8, 1);
    rig_start_at(&r, 2000, &a);
    rig_start_at(&r, 2000, &b);
    r.clock.virtual_ns = 2000 + ROOM_NS - 1;
    rig_waits_over(&r);
    assert_int_equal(r.outs, 1);
    r.clock.virtual_ns = 2000 + ROOM_NS;
    rig_waits_over(&r);
    assert_int_equal(r.outs, 2);
    rig_end_at(&r, r.clock.virtual_ns, rig_find(&r, CACHE_OP_WAIT, rig_prompt(2)));
    rig_lookups(&r, KVF_CAUSE_PREFIX, 2, 0);
    assert_int_equal(fixture_stats(&r.cache).refused, 0);
    rig_end_at(&r, r.clock.virtual_ns + 5, rig_find(&r, CACHE_OP_WRITE, rig_turn(8, 1)));
    rig_end_at(&r, r.clock.virtual_ns + 5, rig_find(&r, CACHE_OP_READ, rig_turn(8, 1)));
    assert_int_equal(r.last.req.conversation, 8);
    rig_end_at(&r, r.clock.virtual_ns, rig_find(&r, CACHE_OP_WRITE, rig_prompt(2)));
    rig_end_at(&r, r.clock.virtual_ns, rig_find(&r, CACHE_OP_WRITE, rig_turn(7, 1)));
    rig_end_at(&r, r.clock.virtual_ns, rig_find(&r, CACHE_OP_READ, rig_turn(7, 1)));
    assert_int_equal(r.dones, 2);
    rig_close(&r);
}

/* ---- earlier turns ---- */

/* Turns 1 and 2 are there, turn 3 has gone, this is turn 4. */
static void all_earlier_turns_are_read_together(void **state) {
    (void)state;
    rig_open(&r, 1000, 0, 0);
    rig_put(&r, rig_turn(7, 1), 80);
    rig_put(&r, rig_turn(7, 2), 90);
    struct flight f = rig_flight(7, 4, 100, 0);
    rig_start_at(&r, 2000, &f);
    assert_int_equal(r.outs, 2);
    rig_lookups(&r, KVF_CAUSE_CONVERSATION, 3, 2);
    struct cache_op *second = rig_expect(&r, CACHE_OP_READ, rig_turn(7, 2), 90, KVF_CAUSE_CONVERSATION);
    struct cache_op *first = rig_expect(&r, CACHE_OP_READ, rig_turn(7, 1), 80, KVF_CAUSE_CONVERSATION);
    rig_end_at(&r, 2050, second);
    assert_int_equal(r.outs, 1); /* the prefill needs all of them */
    rig_end_at(&r, 2100, first);
    rig_end_at(&r, 2200, rig_expect(&r, CACHE_OP_WRITE, rig_turn(7, 4), 200, KVF_CAUSE_PREFILL));
    rig_end_at(&r, 2250, rig_find(&r, CACHE_OP_READ, rig_turn(7, 4)));
    assert_int_equal(r.dones, 1);
    assert_int_equal(r.last.misses, 1);
    /* a union: 2000 to 2250 without a gap, not 50 + 100 + 100 + 50 */
    assert_int_equal(rig_latency(&r, REQUEST_LATENCY_STORAGE_IO), 250);
    assert_int_equal(rig_where(&r, rig_turn(7, 3)), -1); /* a miss is not made good */
    rig_close(&r);
}

static void only_the_previous_turn_is_read_if_told_so(void **state) {
    (void)state;
    rig_open(&r, 1000, 0, 0);
    r.s.workload.conversation.reads = KVF_READS_PREVIOUS;
    rig_put(&r, rig_turn(7, 1), 80);
    rig_put(&r, rig_turn(7, 2), 90);
    struct flight f = rig_flight(7, 3, 100, 0);
    rig_start_at(&r, 2000, &f);
    assert_int_equal(r.outs, 1);
    rig_lookups(&r, KVF_CAUSE_CONVERSATION, 1, 1);
    rig_end_at(&r, 2100, rig_find(&r, CACHE_OP_READ, rig_turn(7, 2)));
    rig_end_at(&r, 2200, rig_find(&r, CACHE_OP_WRITE, rig_turn(7, 3)));
    rig_end_at(&r, 2300, rig_find(&r, CACHE_OP_READ, rig_turn(7, 3)));
    struct flight g = rig_flight(9, 1, 10, 0); /* a first turn has none before it */
    rig_start_at(&r, 2400, &g);
    rig_lookups(&r, KVF_CAUSE_CONVERSATION, 1, 1);
    rig_end_at(&r, 2500, rig_find(&r, CACHE_OP_WRITE, rig_turn(9, 1)));
    rig_end_at(&r, 2600, rig_find(&r, CACHE_OP_READ, rig_turn(9, 1)));
    assert_int_equal(r.dones, 2);
    rig_close(&r);
}

/* Prompt and earlier turns do not depend on each other. */
static void the_prompt_and_the_turns_are_looked_up_together(void **state) {
    (void)state;
    rig_open(&r, 1000, 0, 0);
    rig_put(&r, rig_prompt(2), 100);
    rig_put(&r, rig_turn(7, 1), 80);
    struct flight f = prompted(7, 2);
    rig_start_at(&r, 2000, &f);
    assert_int_equal(r.outs, 2);
    rig_end_at(&r, 2010, rig_find(&r, CACHE_OP_READ, rig_turn(7, 1)));
    rig_end_at(&r, 2020, rig_find(&r, CACHE_OP_READ, rig_prompt(2)));
    rig_end_at(&r, 2030, rig_expect(&r, CACHE_OP_WRITE, rig_turn(7, 2), 120, KVF_CAUSE_PREFILL));
    rig_end_at(&r, 2040, rig_find(&r, CACHE_OP_READ, rig_turn(7, 2)));
    assert_int_equal(r.dones, 1);
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_first_turn_writes_its_context_and_reads_it_back),
        cmocka_unit_test(the_latencies_of_a_first_turn_are_exact),
        cmocka_unit_test(decode_reads_once_and_once_a_batch),
        cmocka_unit_test(its_stage_and_tier_are_shown_as_it_goes_on),
        cmocka_unit_test(who_waits_for_room_is_nowhere),
        cmocka_unit_test(a_shared_prompt_that_is_resident_is_read),
        cmocka_unit_test(a_shared_prompt_that_is_missing_is_written),
        cmocka_unit_test(a_prompt_being_written_is_waited_for_and_hit),
        cmocka_unit_test(a_waiter_writes_the_prompt_itself_when_that_write_failed),
        cmocka_unit_test(a_wait_for_a_writer_is_bounded),
        cmocka_unit_test(all_earlier_turns_are_read_together),
        cmocka_unit_test(only_the_previous_turn_is_read_if_told_so),
        cmocka_unit_test(the_prompt_and_the_turns_are_looked_up_together),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("pipeline", tests, NULL, NULL);
}
