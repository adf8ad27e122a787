#include "tests/unit/engine_fixture.h"

/* Retrieval and ingestion, step by step. A document has 25 tokens, 50 bytes, in chunks of 10, 10 and 5
 * tokens, unless a test says otherwise. */

static struct rig r;
static struct rag g;

static void rig_open_rag(uint64_t gpu, uint64_t tokens, uint64_t top_k) {
    rig_open(&r, gpu, 0, 0);
    r.s.seed = 42;
    r.s.workload.rag.documents = 10;
    r.s.workload.rag.probability = 1;
    r.s.workload.rag.chunk_tokens = 10;
    r.s.workload.rag.top_k = top_k;
    r.s.workload.rag.tokens = (struct scenario_range){tokens, tokens};
    rag_init(&g, &r.s);
    r.p.rag = &g;
}

static void rig_close_rag(void) {
    rag_free(&g);
    rig_close(&r);
}

static struct cache_key chunk(uint64_t document, uint64_t index) {
    return cache_key_make(CACHE_KEY_CHUNK, document, index);
}

/* Document 0 alone is in, and all of its chunks are wanted: 0, 1, 2. */
static void document_put(void) {
    rig_put(&r, chunk(0, 0), 20);
    rig_put(&r, chunk(0, 1), 20);
    rig_put(&r, chunk(0, 2), 10);
    pipeline_documents_set(&r.p, (struct rag_window){0, 1});
}

static struct flight retrieving(void) {
    struct flight f = rig_flight(7, 1, 100, 0);
    f.req.retrieves = true;
    f.req.retrieval = 99;
    return f;
}

static struct flight ingesting(uint64_t document) {
    return (struct flight){
        .req = {.kind = REQUEST_INGEST, .conversation = document, .prompt = REQUEST_NO_PROMPT},
        .internal = true};
}

static void read_end(uint64_t at, uint64_t index, uint64_t bytes) {
    rig_end_at(&r, at, rig_expect(&r, CACHE_OP_READ, chunk(0, index), bytes, KVF_CAUSE_RAG));
}

/* ---- retrieval ---- */

static void chunks_are_read_after_prefill_and_before_decode(void **state) {
    (void)state;
    rig_open_rag(1000, 25, 5);
    document_put();
    struct flight f = retrieving();
    rig_start_at(&r, 1500, &f);
    assert_int_equal(r.outs, 1);
    rig_end_at(&r, 1700, rig_expect(&r, CACHE_OP_WRITE, rig_turn(7, 1), 200, KVF_CAUSE_PREFILL));
    rig_shows(&f, FLIGHT_RETRIEVE, GPU);
    assert_int_equal(r.outs, 3); /* together */
    read_end(1800, 1, 20);
    read_end(1850, 0, 20);
    assert_int_equal(r.outs, 1);
    read_end(1900, 2, 10);
    rig_shows(&f, FLIGHT_DECODE, GPU);
    rig_end_at(&r, 2000, rig_expect(&r, CACHE_OP_READ, rig_turn(7, 1), 200, KVF_CAUSE_DECODE));
    assert_int_equal(r.dones, 1);
    rig_lookups(&r, KVF_CAUSE_RAG, 3, 3);
    rig_lookups(&r, KVF_CAUSE_DECODE, 1, 1);
    assert_int_equal(r.last.tier_hits[GPU], 4);
    /* arrived at 1000: the end of prefill, not of the retrieval */
    assert_int_equal(rig_latency(&r, REQUEST_LATENCY_TTFT), 700);
    assert_int_equal(rig_latency(&r, REQUEST_LATENCY_STORAGE_IO), 500);
    assert_int_equal(rig_latency(&r, REQUEST_LATENCY_E2E), 1000);
    assert_int_equal(counters_get(&r.x.counters->rag_requests), 1);
    assert_int_equal(counters_get(&r.x.counters->rag_empty), 0);
    rig_close_rag();
}

static void a_missing_chunk_is_a_miss_and_stays_missing(void **state) {
    (void)state;
    rig_open_rag(1000, 25, 5);
    document_put();
    cache_drop(r.cache.c, chunk(0, 1));
    struct flight f = retrieving();
    rig_start_at(&r, 1500, &f);
    rig_end_at(&r, 1700, rig_find(&r, CACHE_OP_WRITE, rig_turn(7, 1)));
    assert_int_equal(r.outs, 2);
    read_end(1800, 0, 20);
    read_end(1800, 2, 10);
    rig_end_at(&r, 2000, rig_find(&r, CACHE_OP_READ, rig_turn(7, 1)));
    assert_int_equal(r.dones, 1);
    assert_int_equal(r.last.misses, 1);
    rig_lookups(&r, KVF_CAUSE_RAG, 3, 2);
    assert_int_equal(rig_where(&r, chunk(0, 1)), -1);
    rig_close_rag();
}

/* Nothing of it is there: the request goes on at once. */
static void all_chunks_may_be_missing(void **state) {
    (void)state;
    rig_open_rag(1000, 25, 5);
    pipeline_documents_set(&r.p, (struct rag_window){0, 1});
    struct flight f = retrieving();
    rig_start_at(&r, 1500, &f);
    rig_end_at(&r, 1700, rig_find(&r, CACHE_OP_WRITE, rig_turn(7, 1)));
    rig_end_at(&r, 2000, rig_find(&r, CACHE_OP_READ, rig_turn(7, 1)));
    assert_int_equal(r.dones, 1);
    rig_lookups(&r, KVF_CAUSE_RAG, 3, 0);
    assert_int_equal(counters_get(&r.x.counters->rag_requests), 1);
    rig_close_rag();
}

static void without_a_document_nothing_is_looked_up(void **state) {
    (void)state;
    rig_open_rag(1000, 25, 5);
    struct flight f = retrieving();
    rig_start_at(&r, 1500, &f);
    rig_end_at(&r, 1700, rig_find(&r, CACHE_OP_WRITE, rig_turn(7, 1)));
    rig_end_at(&r, 2000, rig_find(&r, CACHE_OP_READ, rig_turn(7, 1)));
    assert_int_equal(r.dones, 1);
    rig_lookups(&r, KVF_CAUSE_RAG, 0, 0);
    assert_int_equal(counters_get(&r.x.counters->rag_requests), 0);
    assert_int_equal(counters_get(&r.x.counters->rag_empty), 1);
    rig_close_rag();
}

static void as_many_chunks_as_asked_for(void **state) {
    (void)state;
    rig_open_rag(2000, 400, 7); /* 40 chunks */
    pipeline_documents_set(&r.p, (struct rag_window){0, 1});
    for (uint64_t i = 0; i < 40; i++) rig_put(&r, chunk(0, i), 20);
    struct flight f = retrieving();
    rig_start_at(&r, 1500, &f);
    rig_end_at(&r, 1700, rig_find(&r, CACHE_OP_WRITE, rig_turn(7, 1)));
    assert_int_equal(r.outs, 7);
    for (unsigned i = 0; i < 7; i++) {
        assert_int_equal(r.out[i]->cause, KVF_CAUSE_RAG);
        for (unsigned k = 0; k < i; k++) assert_false(cache_key_equal(r.out[i]->key, r.out[k]->key));
    }
    while (r.outs > 0) rig_end_at(&r, 1800, r.out[0]);
    assert_int_equal(r.dones, 1);
    rig_lookups(&r, KVF_CAUSE_RAG, 7, 7);
    rig_close_rag();
}

static void prefill_alone_and_blocks_retrieve_too(void **state) {
    (void)state;
    rig_open_rag(1000, 25, 5);
    document_put();
    struct flight f = retrieving();
    f.req.prefill_only = true;
    rig_start_at(&r, 1500, &f);
    rig_end_at(&r, 1700, rig_find(&r, CACHE_OP_WRITE, rig_turn(7, 1)));
    for (uint64_t i = 0; i < 3; i++) read_end(1800, i, i < 2 ? 20 : 10);
    assert_int_equal(r.dones, 1);

    r.s.cache.granularity = KVF_GRANULARITY_BLOCK; /* of 4 tokens, 8 bytes */
    f = retrieving();
    f.req.conversation_blocks = 2;
    rig_start_at(&r, 1900, &f);
    for (uint64_t i = 0; i < 2; i++)
        rig_end_at(&r, 2000, rig_find(&r, CACHE_OP_WRITE, cache_key_make(CACHE_KEY_BLOCK, 7, i)));
    assert_int_equal(r.outs, 3);
    for (uint64_t i = 0; i < 3; i++) read_end(2100, i, i < 2 ? 20 : 10);
    assert_int_equal(r.dones, 2);
    assert_int_equal(counters_get(&r.x.counters->rag_requests), 2);

    f = retrieving(); /* its blocks are all there: read, nothing written, then its chunks */
    f.req.conversation_blocks = 2;
    rig_start_at(&r, 2200, &f);
    for (uint64_t i = 0; i < 2; i++)
        rig_end_at(&r, 2300, rig_find(&r, CACHE_OP_READ, cache_key_make(CACHE_KEY_BLOCK, 7, i)));
    for (uint64_t i = 0; i < 3; i++) read_end(2400, i, i < 2 ? 20 : 10);
    assert_int_equal(r.dones, 3);
    rig_close_rag();
}

/* Ingestion of document 0 is under way, though it counts as in: its chunk is waited for, then hit. */
static void a_chunk_that_is_being_written_is_waited_for(void **state) {
    (void)state;
    rig_open_rag(1000, 5, 5);
    pipeline_documents_set(&r.p, (struct rag_window){0, 1});
    struct flight i = ingesting(0), f = retrieving();
    rig_start_at(&r, 1400, &i);
    struct cache_op *write = rig_find(&r, CACHE_OP_WRITE, chunk(0, 0));
    rig_start_at(&r, 1500, &f);
    rig_end_at(&r, 1700, rig_find(&r, CACHE_OP_WRITE, rig_turn(7, 1)));
    assert_int_equal(r.waits, 1);
    assert_int_equal(r.wait[0]->deadline_ns, 1700 + ROOM_NS);
    rig_lookups(&r, KVF_CAUSE_RAG, 0, 0);
    rig_end_at(&r, 1800, write);
    rig_end_at(&r, 1800, rig_find(&r, CACHE_OP_WAIT, chunk(0, 0)));
    rig_lookups(&r, KVF_CAUSE_RAG, 1, 1);
    read_end(1900, 0, 10);
    rig_end_at(&r, 2000, rig_find(&r, CACHE_OP_READ, rig_turn(7, 1)));
    assert_int_equal(r.dones, 2);
    rig_close_rag();
}

/* A chunk was corrupt: no hit, the entry is gone and the request has failed. */
static void a_failed_read_is_no_hit(void **state) {
    (void)state;
    rig_open_rag(1000, 25, 5);
    document_put();
    struct flight f = retrieving();
    rig_start_at(&r, 1500, &f);
    rig_end_at(&r, 1700, rig_find(&r, CACHE_OP_WRITE, rig_turn(7, 1)));
    rig_end(&r, rig_find(&r, CACHE_OP_READ, chunk(0, 1)), CACHE_FAILED);
    read_end(1800, 0, 20);
    read_end(1800, 2, 10);
    assert_int_equal(r.dones, 1);
    assert_true(r.last.failed);
    rig_lookups(&r, KVF_CAUSE_RAG, 3, 2);
    assert_int_equal(rig_where(&r, chunk(0, 1)), -1);
    assert_int_equal(counters_get(&r.x.counters->rag_requests), 0);
    rig_close_rag();
}

/* B puts A's entry out while A retrieves. A's decode misses it, writes it again and reads it: both end. */
static void an_entry_put_out_meanwhile_is_written_again(void **state) {
    (void)state;
    rig_open_rag(100, 5, 5);
    rig_put(&r, chunk(0, 0), 10);
    pipeline_documents_set(&r.p, (struct rag_window){0, 1});
    struct flight a = retrieving(), b = rig_flight(8, 1, 45, 0);
    a.req.context_tokens = 45; /* 90 bytes */
    rig_start_at(&r, 1500, &a);
    rig_end_at(&r, 1700, rig_find(&r, CACHE_OP_WRITE, rig_turn(7, 1)));
    struct cache_op *read = rig_expect(&r, CACHE_OP_READ, chunk(0, 0), 10, KVF_CAUSE_RAG);
    rig_start_at(&r, 1800, &b);
    assert_int_equal(rig_where(&r, rig_turn(7, 1)), -1);
    rig_end_at(&r, 1900, read);
    assert_int_equal(r.waits, 1); /* A, for room */
    rig_end_at(&r, 2000, rig_find(&r, CACHE_OP_WRITE, rig_turn(8, 1)));
    rig_end_at(&r, 2100, rig_find(&r, CACHE_OP_READ, rig_turn(8, 1)));
    rig_end_at(&r, 2200, rig_expect(&r, CACHE_OP_WRITE, rig_turn(7, 1), 90, KVF_CAUSE_DECODE));
    rig_end_at(&r, 2300, rig_find(&r, CACHE_OP_READ, rig_turn(7, 1)));
    assert_int_equal(r.dones, 2);
    rig_lookups(&r, KVF_CAUSE_DECODE, 2, 1);
    rig_close_rag();
}

/* ---- ingestion ---- */

static void a_document_is_written_in_chunks(void **state) {
    (void)state;
    rig_open_rag(1000, 25, 5);
    struct flight f = ingesting(3);
    rig_start_at(&r, 1500, &f);
    assert_int_equal(r.outs, 3);
    for (unsigned i = 0; i < 3; i++) assert_int_equal(r.out[i]->key.lo, i); /* from the first on */
    rig_end_at(&r, 1600, rig_expect(&r, CACHE_OP_WRITE, chunk(3, 2), 10, KVF_CAUSE_RAG));
    rig_end_at(&r, 1600, rig_expect(&r, CACHE_OP_WRITE, chunk(3, 0), 20, KVF_CAUSE_RAG));
    assert_int_equal(r.dones, 0);
    rig_end_at(&r, 1700, rig_expect(&r, CACHE_OP_WRITE, chunk(3, 1), 20, KVF_CAUSE_RAG));
    assert_int_equal(r.dones, 1);
    assert_false(r.last.failed || r.last.refused);
    for (uint64_t i = 0; i < 3; i++) assert_int_equal(rig_where(&r, chunk(3, i)), GPU);
    /* no request */
    assert_int_equal(counters_get(&r.x.counters->requests_done), 0);
    assert_int_equal(histogram_count(&r.x.counters->entry_bytes), 0);
    for (int l = 0; l < REQUEST_LATENCIES; l++) assert_int_equal(rig_samples(&r, l), 0);
    struct cache_stats s = fixture_stats(&r.cache);
    for (int c = 0; c < KVF_CAUSES; c++) assert_int_equal(s.lookups[c], 0);
    rig_close_rag();
}

/* 40 chunks, more than are planned under one hold of the lock. */
static void a_long_document_too(void **state) {
    (void)state;
    rig_open_rag(10000, 400, 5);
    struct flight f = ingesting(0);
    rig_start_at(&r, 1500, &f);
    assert_int_equal(r.outs, 40);
    while (r.outs > 0) rig_end_at(&r, 1600, r.out[r.outs - 1]);
    assert_int_equal(r.dones, 1);
    assert_int_equal(fixture_stats(&r.cache).entries[GPU], 40);
    rig_close_rag();
}

/* Two chunks of three fill the tier: the third waits like a request's write, and is refused in the end. */
static void room_is_waited_for_as_by_requests(void **state) {
    (void)state;
    rig_open_rag(40, 25, 5);
    struct flight f = ingesting(0);
    rig_start_at(&r, 2000, &f);
    assert_int_equal(r.outs, 2);
    assert_int_equal(r.waits, 1);
    assert_int_equal(r.wait[0]->deadline_ns, 2000 + ROOM_NS);
    rig_end_at(&r, 2100, r.out[0]); /* may leave for the third */
    assert_int_equal(r.waits, 1);
    rig_end_at(&r, 2200, rig_find(&r, CACHE_OP_WRITE, chunk(0, 1)));
    rig_end_at(&r, 2300, rig_find(&r, CACHE_OP_WRITE, chunk(0, 2)));
    assert_int_equal(r.dones, 1);
    assert_false(r.last.refused);
    rig_close_rag();

    rig_open_rag(40, 45, 5); /* five chunks */
    rig_put(&r, rig_turn(1, 1), 20);
    rig_put(&r, rig_turn(1, 2), 20);
    struct flight pins = rig_flight(1, 3, 500, 0); /* its own context has no room at all */
    rig_start_at(&r, 1900, &pins);
    f = ingesting(0);
    rig_start_at(&r, 2000, &f);
    assert_int_equal(r.outs, 2); /* the reads */
    assert_int_equal(r.waits, 1);
    r.clock.virtual_ns = 2000 + ROOM_NS;
    rig_waits_over(&r);
    rig_end_at(&r, r.clock.virtual_ns, rig_find(&r, CACHE_OP_WRITE, chunk(0, 0)));
    assert_int_equal(r.dones, 1);
    assert_true(r.last.refused && r.last.internal);
    assert_int_equal(fixture_stats(&r.cache).refused, 1); /* the other chunks are not tried */
    while (r.outs > 0) rig_end_at(&r, r.clock.virtual_ns, r.out[0]);
    rig_close_rag();
}

/* At most two are in. Document 2 comes for 0, of which one chunk has gone already and one is being read. */
static void a_document_leaves_for_a_new_one(void **state) {
    (void)state;
    rig_open_rag(1000, 25, 5);
    g.max_documents = 2;
    document_put();
    cache_drop(r.cache.c, chunk(0, 1));
    rig_put(&r, chunk(1, 0), 20);
    struct flight reader = retrieving();
    rig_start_at(&r, 1400, &reader);
    rig_end_at(&r, 1450, rig_find(&r, CACHE_OP_WRITE, rig_turn(7, 1)));
    struct cache_op *read = rig_find(&r, CACHE_OP_READ, chunk(0, 0));
    read_end(1460, 2, 10);

    struct flight f = ingesting(2);
    rig_start_at(&r, 1500, &f);
    for (uint64_t i = 0; i < 3; i++) assert_int_equal(rig_where(&r, chunk(0, i)), -1);
    assert_int_equal(rig_where(&r, chunk(1, 0)), GPU);
    assert_int_equal(counters_get(&r.x.counters->rag_evicted), 2);
    for (uint64_t i = 0; i < 3; i++) rig_end_at(&r, 1600, rig_find(&r, CACHE_OP_WRITE, chunk(2, i)));
    assert_int_equal(r.dones, 1);
    rig_end_at(&r, 1700, read); /* it had begun */
    rig_end_at(&r, 1800, rig_find(&r, CACHE_OP_READ, rig_turn(7, 1)));
    assert_int_equal(r.dones, 2);
    rig_lookups(&r, KVF_CAUSE_RAG, 3, 2);
    struct cache_stats s = fixture_stats(&r.cache);
    assert_int_equal(s.used_bytes[GPU], 20 + 50 + 200);
    assert_int_equal(s.evictions[GPU], 0);
    rig_close_rag();
}

static void the_first_documents_leave_none(void **state) {
    (void)state;
    rig_open_rag(1000, 25, 5);
    g.max_documents = 2;
    document_put();
    struct flight f = ingesting(1);
    rig_start_at(&r, 1500, &f);
    while (r.outs > 0) rig_end_at(&r, 1600, r.out[0]);
    assert_int_equal(rig_where(&r, chunk(0, 0)), GPU);
    assert_int_equal(counters_get(&r.x.counters->rag_evicted), 0);
    rig_close_rag();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_are_read_after_prefill_and_before_decode),
        cmocka_unit_test(a_missing_chunk_is_a_miss_and_stays_missing),
        cmocka_unit_test(all_chunks_may_be_missing),
        cmocka_unit_test(without_a_document_nothing_is_looked_up),
        cmocka_unit_test(as_many_chunks_as_asked_for),
        cmocka_unit_test(prefill_alone_and_blocks_retrieve_too),
        cmocka_unit_test(a_chunk_that_is_being_written_is_waited_for),
        cmocka_unit_test(a_failed_read_is_no_hit),
        cmocka_unit_test(an_entry_put_out_meanwhile_is_written_again),
        cmocka_unit_test(a_document_is_written_in_chunks),
        cmocka_unit_test(a_long_document_too),
        cmocka_unit_test(room_is_waited_for_as_by_requests),
        cmocka_unit_test(a_document_leaves_for_a_new_one),
        cmocka_unit_test(the_first_documents_leave_none),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("pipeline_rag", tests, NULL, NULL);
}
