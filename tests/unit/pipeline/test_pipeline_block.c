#include "tests/unit/engine_fixture.h"

/* A block is 4 tokens, 8 bytes. Letters stand for the ids of a trace's row. */

static struct rig r;

static void rig_open_blocks(uint64_t gpu, uint64_t cpu) {
    rig_open(&r, gpu, cpu, 0);
    r.s.cache.granularity = KVF_GRANULARITY_BLOCK;
}

struct row {
    struct flight f;
    uint64_t id[8];
};

static void row_make(struct row *w, uint64_t number, const char *ids) {
    *w = (struct row){.f = rig_flight(number, 1, 4 * strlen(ids), 10)};
    for (size_t i = 0; ids[i]; i++) w->id[i] = (uint64_t)ids[i];
    w->f.req.ids = w->id;
    w->f.req.id_count = w->f.req.id_cap = (uint32_t)strlen(ids);
}

static void row_start(struct row *w, uint64_t number, const char *ids) {
    row_make(w, number, ids);
    rig_start_at(&r, r.clock.virtual_ns, &w->f);
}

static struct cache_key id_key(char id) {
    return rig_id((uint64_t)id);
}

/* Ends whatever is under way, in the order in which it was planned. */
static void finish_all(void) {
    while (r.outs > 0) rig_end_at(&r, r.clock.virtual_ns + 1, r.out[0]);
}

static void run_row(uint64_t number, const char *ids) {
    struct row w;
    row_start(&w, number, ids);
    finish_all();
}

/* "AB C" of what is under way: kind and letters in order. */
static void expect_out(enum cache_op_kind kind, const char *letters) {
    char got[RIG_OPS + 1] = "";
    for (unsigned i = 0; i < r.outs; i++) {
        assert_int_equal(r.out[i]->kind, kind);
        got[i] = (char)r.out[i]->key.lo;
    }
    assert_string_equal(got, letters);
}

static void put_id(char id) {
    rig_put(&r, id_key(id), 8);
}

static void expect_resident(const char *yes, const char *no) {
    for (; *yes; yes++)
        if (rig_where(&r, id_key(*yes)) < 0) fail_msg("%c has gone", *yes);
    for (; *no; no++)
        if (rig_where(&r, id_key(*no)) >= 0) fail_msg("%c is there", *no);
}

static void rows_done(unsigned n) {
    assert_int_equal(r.dones, n);
}

/* ---- the longest resident prefix ---- */

static void nothing_resident_is_all_misses_and_all_written(void **state) {
    (void)state;
    struct row w;
    rig_open_blocks(1000, 0);
    row_start(&w, 1, "ABC");
    rig_lookups(&r, KVF_CAUSE_PREFIX, 3, 0);
    assert_int_equal(r.outs, 3);
    for (const char *p = "ABC"; *p; p++) rig_expect(&r, CACHE_OP_WRITE, id_key(*p), 8, KVF_CAUSE_PREFILL);
    finish_all();
    rows_done(1);
    assert_int_equal(r.last.misses, 3);
    rig_lookups(&r, KVF_CAUSE_DECODE, 0, 0); /* generation reads nothing again */
    assert_int_equal(counters_get(&r.x.counters->tokens_generated), 10);
    expect_resident("ABC", "");
    rig_close(&r);
}

/* A and B are there, C is not, D is there behind the gap: 2 hits, 2 misses, C alone is written. */
static void blocks_behind_the_first_gap_are_misses(void **state) {
    (void)state;
    struct row w;
    rig_open_blocks(1000, 0);
    put_id('A');
    put_id('B');
    put_id('D');
    row_start(&w, 1, "ABCD");
    rig_lookups(&r, KVF_CAUSE_PREFIX, 4, 2);
    assert_int_equal(r.outs, 2);
    rig_end_at(&r, 1100, rig_expect(&r, CACHE_OP_READ, id_key('A'), 8, KVF_CAUSE_PREFIX));
    rig_end_at(&r, 1200, rig_expect(&r, CACHE_OP_READ, id_key('B'), 8, KVF_CAUSE_PREFIX));
    expect_out(CACHE_OP_WRITE, "C");
    finish_all();
    rows_done(1);
    assert_int_equal(r.last.tier_hits[GPU], 2);
    assert_int_equal(r.last.misses, 2);
    rig_close(&r);
}

static void all_resident_is_all_hits_and_nothing_written(void **state) {
    (void)state;
    struct row w;
    rig_open_blocks(1000, 0);
    run_row(1, "ABC");
    row_start(&w, 2, "AB");
    rig_lookups(&r, KVF_CAUSE_PREFIX, 5, 2);
    assert_int_equal(r.outs, 2);
    finish_all();
    rows_done(2);
    assert_int_equal(r.last.misses, 0);
    rig_close(&r);
}

/* Reads of the hits come before the writes; TTFT is the end of the last write. */
static void the_latencies_of_a_row_are_exact(void **state) {
    (void)state;
    struct row w;
    rig_open_blocks(1000, 0);
    put_id('A');
    r.clock.virtual_ns = 1300;
    row_start(&w, 1, "ABC");
    rig_end_at(&r, 1400, rig_find(&r, CACHE_OP_READ, id_key('A')));
    rig_end_at(&r, 1450, rig_find(&r, CACHE_OP_WRITE, id_key('B')));
    rig_end_at(&r, 1600, rig_find(&r, CACHE_OP_WRITE, id_key('C')));
    rows_done(1);
    assert_int_equal(rig_latency(&r, REQUEST_LATENCY_QUEUE_WAIT), 300);
    assert_int_equal(rig_latency(&r, REQUEST_LATENCY_TTFT), 600);
    assert_int_equal(rig_latency(&r, REQUEST_LATENCY_STORAGE_IO), 300);
    assert_int_equal(rig_latency(&r, REQUEST_LATENCY_E2E), 600);
    rig_close(&r);
}

/* ---- recency ---- */

/* The tier holds four blocks. After ABC, each new block pushes out one: leaves go before roots. */
static void leaves_go_before_roots(void **state) {
    (void)state;
    rig_open_blocks(32, 0);
    run_row(1, "ABC");
    put_id('W');
    put_id('X');
    expect_resident("ABWX", "C");
    put_id('Y');
    expect_resident("AWXY", "BC");
    put_id('Z');
    expect_resident("WXYZ", "ABC");
    rig_close(&r);
}

static void touched_forward_roots_go_before_leaves(void **state) {
    (void)state;
    rig_open_blocks(32, 0);
    r.s.cache.touch_order = KVF_TOUCH_FORWARD;
    run_row(1, "ABC");
    put_id('W');
    put_id('X');
    expect_resident("BCWX", "A");
    put_id('Y');
    expect_resident("CWXY", "AB");
    rig_close(&r);
}

/* Order of the writes, which is the order of touching. */
static void missing_blocks_are_written_in_touch_order(void **state) {
    (void)state;
    struct row w, v;
    rig_open_blocks(1000, 0);
    row_start(&w, 1, "ABC");
    expect_out(CACHE_OP_WRITE, "CBA");
    finish_all();
    r.s.cache.touch_order = KVF_TOUCH_FORWARD;
    row_start(&v, 2, "DEF");
    expect_out(CACHE_OP_WRITE, "DEF");
    finish_all();
    rows_done(2);
    rig_close(&r);
}

/* A row touches all its blocks, hit or behind the gap: AB are read, D (behind the missing C) is touched
 * too. From then on X, which was put there later than all three, is the oldest. */
static void a_row_touches_all_its_blocks(void **state) {
    (void)state;
    rig_open_blocks(40, 0);
    put_id('A');
    put_id('B');
    put_id('D');
    put_id('X');
    run_row(1, "ABCD");
    put_id('V'); /* five blocks are there: X falls first */
    expect_resident("ABCDV", "X");
    put_id('W'); /* then D, the last of the row */
    expect_resident("ABCVW", "DX");
    put_id('Y');
    expect_resident("ABVWY", "CDX");
    rig_close(&r);
}

/* ---- other writers ---- */

/* B wants blocks that A is writing: it waits before anything of it is counted, then hits them all. */
static void a_block_being_written_is_waited_for(void **state) {
    (void)state;
    struct row a, b;
    rig_open_blocks(1000, 0);
    row_start(&a, 1, "AB");
    r.clock.virtual_ns = 2000;
    row_start(&b, 2, "ABC");
    assert_int_equal(r.outs, 2);
    assert_int_equal(r.waits, 1);
    assert_int_equal(r.wait[0]->kind, CACHE_OP_WAIT);
    assert_int_equal(r.wait[0]->deadline_ns, 2000 + ROOM_NS);
    rig_shows(&b.f, FLIGHT_LOOKUP, -1);
    rig_lookups(&r, KVF_CAUSE_PREFIX, 2, 0);
    rig_end_at(&r, 2100, rig_find(&r, CACHE_OP_WRITE, id_key('A')));
    rig_end_at(&r, 2150, rig_find(&r, CACHE_OP_WAIT, id_key('A')));
    assert_int_equal(r.waits, 1); /* the block B is being written still */
    assert_true(cache_key_equal(r.wait[0]->key, id_key('B')));
    rig_end_at(&r, 2200, rig_find(&r, CACHE_OP_WRITE, id_key('B')));
    rows_done(1);
    rig_end_at(&r, 2250, rig_find(&r, CACHE_OP_WAIT, id_key('B')));
    rig_lookups(&r, KVF_CAUSE_PREFIX, 5, 2);
    rig_shows(&b.f, FLIGHT_READS, GPU);
    rig_end_at(&r, 2300, rig_find(&r, CACHE_OP_READ, id_key('A')));
    rig_end_at(&r, 2300, rig_find(&r, CACHE_OP_READ, id_key('B')));
    expect_out(CACHE_OP_WRITE, "C");
    finish_all();
    rows_done(2);
    assert_int_equal(r.last.storage_ns, r.clock.virtual_ns - 2000); /* waits included, one stretch */
    rig_close(&r);
}

/* All waits of one lookup share one patience. */
static void waiting_for_writers_is_bounded(void **state) {
    (void)state;
    struct row a, b;
    rig_open_blocks(1000, 0);
    row_start(&a, 1, "AB");
    r.clock.virtual_ns = 2000;
    row_start(&b, 2, "ABC");
    rig_end_at(&r, 2500, rig_find(&r, CACHE_OP_WRITE, id_key('A')));
    rig_end_at(&r, 2600, rig_find(&r, CACHE_OP_WAIT, id_key('A')));
    assert_int_equal(r.waits, 1);
    assert_int_equal(r.wait[0]->deadline_ns, 2000 + ROOM_NS);
    r.clock.virtual_ns = 2000 + ROOM_NS;
    rig_waits_over(&r);
    rig_end_at(&r, r.clock.virtual_ns, rig_find(&r, CACHE_OP_WAIT, id_key('B')));
    rig_lookups(&r, KVF_CAUSE_PREFIX, 5, 1); /* A; B is still being written: a miss, and so is C */
    rig_end_at(&r, r.clock.virtual_ns, rig_find(&r, CACHE_OP_READ, id_key('A')));
    assert_int_equal(r.outs, 2); /* C, and B by the other row */
    finish_all();
    rows_done(2);
    rig_close(&r);
}

/* ---- room ---- */

/* Two blocks have room and both are read by somebody: the third write waits, and no further one is
 * planned before it. When its time is up the others are not tried. */
static void one_write_waits_for_room_at_a_time(void **state) {
    (void)state;
    struct row readers, w;
    rig_open_blocks(16, 0);
    run_row(1, "AB");
    row_start(&readers, 2, "AB");
    assert_int_equal(r.outs, 2);
    row_start(&w, 3, "XYZ");
    assert_int_equal(r.outs, 2);
    assert_int_equal(r.waits, 1);
    assert_true(cache_key_equal(r.wait[0]->key, id_key('Z'))); /* last first */
    r.clock.virtual_ns += ROOM_NS;
    rig_waits_over(&r);
    struct cache_op *op = rig_find(&r, CACHE_OP_WRITE, id_key('Z'));
    assert_true(op->failed_wait);
    rig_end_at(&r, r.clock.virtual_ns, op);
    rows_done(2);
    assert_int_equal(r.last.req.conversation, 3);
    assert_true(r.last.failed && r.last.refused);
    assert_int_equal(r.waits, 0);
    assert_int_equal(fixture_stats(&r.cache).refused, 1);
    finish_all();
    rows_done(3);
    rig_close(&r);
}

static void writes_go_on_when_room_comes(void **state) {
    (void)state;
    struct row readers, w;
    rig_open_blocks(16, 0);
    run_row(1, "AB");
    row_start(&readers, 2, "AB");
    row_start(&w, 3, "XY");
    assert_int_equal(r.waits, 1);
    rig_end_at(&r, r.clock.virtual_ns + 10, rig_find(&r, CACHE_OP_READ, id_key('A')));
    rig_end_at(&r, r.clock.virtual_ns + 10, rig_find(&r, CACHE_OP_READ, id_key('B')));
    rig_end_at(&r, r.clock.virtual_ns + 10, rig_find(&r, CACHE_OP_WRITE, id_key('Y')));
    expect_out(CACHE_OP_WRITE, "X");
    finish_all();
    rows_done(3);
    expect_resident("XY", "AB");
    assert_int_equal(fixture_stats(&r.cache).refused, 0);
    rig_close(&r);
}

/* ---- synthetic conversations ---- */

/* Two blocks of prompt 6, then the conversation's three: keys, causes and order. */
static void a_conversations_blocks_stand_behind_its_prompts(void **state) {
    (void)state;
    rig_open_blocks(1000, 0);
    struct flight f = rig_flight(9, 1, 14, 0);
    f.req.prompt = 6;
    f.req.prompt_tokens = 9;
    f.req.prompt_blocks = 2;
    f.req.conversation_blocks = 3;
    rig_put(&r, cache_key_make(CACHE_KEY_PROMPT_BLOCK, 6, 0), 8);
    rig_put(&r, cache_key_make(CACHE_KEY_PROMPT_BLOCK, 6, 1), 8);
    rig_put(&r, cache_key_make(CACHE_KEY_BLOCK, 9, 0), 8);
    rig_start_at(&r, 2000, &f);
    rig_lookups(&r, KVF_CAUSE_PREFIX, 2, 2);
    rig_lookups(&r, KVF_CAUSE_CONVERSATION, 3, 1);
    assert_int_equal(r.outs, 3);
    finish_all();
    rows_done(1);
    for (uint64_t i = 0; i < 3; i++)
        assert_int_equal(rig_where(&r, cache_key_make(CACHE_KEY_BLOCK, 9, i)), GPU);
    assert_int_equal(counters_get(&r.x.counters->prompt_seen), 1);
    assert_int_equal(counters_get(&r.x.counters->prompt_hits), 1);
    rig_close(&r);
}

static void a_prompt_is_rebuilt_when_a_block_of_it_is_missing(void **state) {
    (void)state;
    rig_open_blocks(1000, 0);
    struct flight f = rig_flight(9, 1, 4, 0);
    f.req.prompt = 6;
    f.req.prompt_blocks = 2;
    f.req.conversation_blocks = 1;
    rig_put(&r, cache_key_make(CACHE_KEY_PROMPT_BLOCK, 6, 0), 8);
    rig_start_at(&r, 2000, &f);
    finish_all();
    rows_done(1);
    rig_lookups(&r, KVF_CAUSE_PREFIX, 2, 1);
    rig_lookups(&r, KVF_CAUSE_CONVERSATION, 1, 0);
    assert_int_equal(counters_get(&r.x.counters->prompt_hits), 0);
    assert_int_equal(counters_get(&r.x.counters->prompt_rebuilt), 1);
    rig_close(&r);
}

/* Only full blocks are stored: a context shorter than one has nothing to look up. */
static void a_context_without_a_full_block_is_computed(void **state) {
    (void)state;
    rig_open_blocks(1000, 0);
    struct flight f = rig_flight(9, 1, 3, 10);
    rig_start_at(&r, 2000, &f);
    rows_done(1);
    assert_int_equal(r.outs, 0);
    rig_lookups(&r, KVF_CAUSE_CONVERSATION, 0, 0);
    assert_int_equal(rig_latency(&r, REQUEST_LATENCY_TTFT), 1000);
    assert_int_equal(fixture_stats(&r.cache).refused, 0);
    rig_close(&r);
}

/* ---- errors, the end ---- */

static void a_failed_block_read_fails_the_row(void **state) {
    (void)state;
    struct row w;
    rig_open_blocks(1000, 0);
    put_id('A');
    put_id('B');
    row_start(&w, 1, "ABC");
    rig_end(&r, rig_find(&r, CACHE_OP_READ, id_key('B')), CACHE_FAILED);
    rig_lookups(&r, KVF_CAUSE_PREFIX, 3, 1);
    rig_end_at(&r, 2000, rig_find(&r, CACHE_OP_READ, id_key('A')));
    rows_done(1);
    assert_true(r.last.failed);
    assert_int_equal(r.last.tier_hits[GPU], 1);
    assert_int_equal(r.last.misses, 2);
    assert_int_equal(r.outs, 0);
    expect_resident("A", "BC");
    assert_int_equal(counters_get(&r.x.counters->requests_failed), 1);
    rig_close(&r);
}

static void after_the_stop_no_block_is_written(void **state) {
    (void)state;
    struct row w;
    rig_open_blocks(1000, 0);
    put_id('A');
    row_start(&w, 1, "AB");
    r.x.stopping = true;
    rig_end_at(&r, 2000, rig_find(&r, CACHE_OP_READ, id_key('A')));
    assert_int_equal(r.outs, 0);
    rows_done(0);
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_resident_is_all_misses_and_all_written),
        cmocka_unit_test(blocks_behind_the_first_gap_are_misses),
        cmocka_unit_test(all_resident_is_all_hits_and_nothing_written),
        cmocka_unit_test(the_latencies_of_a_row_are_exact),
        cmocka_unit_test(leaves_go_before_roots),
        cmocka_unit_test(touched_forward_roots_go_before_leaves),
        cmocka_unit_test(missing_blocks_are_written_in_touch_order),
        cmocka_unit_test(a_row_touches_all_its_blocks),
        cmocka_unit_test(a_block_being_written_is_waited_for),
        cmocka_unit_test(waiting_for_writers_is_bounded),
        cmocka_unit_test(one_write_waits_for_room_at_a_time),
        cmocka_unit_test(writes_go_on_when_room_comes),
        cmocka_unit_test(a_conversations_blocks_stand_behind_its_prompts),
        cmocka_unit_test(a_prompt_is_rebuilt_when_a_block_of_it_is_missing),
        cmocka_unit_test(a_context_without_a_full_block_is_computed),
        cmocka_unit_test(a_failed_block_read_fails_the_row),
        cmocka_unit_test(after_the_stop_no_block_is_written),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("pipeline_block", tests, NULL, NULL);
}
