/* The pipeline on a modelled GPU: what it asks for, and when. */
#include "tests/unit/engine_fixture.h"

#include "engine/pipeline/compute.h"

static struct rig r;
static struct executor_ops ops;
static struct flight *handed; /* to the executor that serves it */

static void rig_computed(struct executor *x, struct flight *f) {
    (void)x;
    assert_null(handed);
    handed = f;
}

/* A token takes 1 us to compute, a step that only decodes 10 us: whole numbers of ns. The rig's tokens have 2
 * bytes. */
static void gpu_open(uint64_t gpu) {
    struct compute_config c = {
        .roofline = {.token_fs = 1000 * ROOFLINE_FS_PER_NS, .dense_fs = 10000 * ROOFLINE_FS_PER_NS},
        .max_batch = 8,
        .max_batch_tokens = 1000,
        .kv_bytes = UINT64_MAX,
        .full_bytes = BYTES_PER_TOKEN};
    rig_open(&r, gpu, 0, 0);
    r.p.compute = compute_open(&c);
    ops = rig_ops;
    ops.computed = rig_computed;
    r.x.ops = &ops;
    handed = NULL;
}

static void gpu_close(void) {
    compute_close(r.p.compute);
    rig_close(&r);
}

static struct flight asked(uint64_t conversation, uint32_t turn, uint64_t context, uint64_t generate) {
    struct flight f = rig_flight(conversation, turn, context, generate);
    f.worker = RIG_WORKER;
    return f;
}

static void tick_at(uint64_t at) {
    assert_ptr_equal(r.timed, &r.x.tick);
    assert_int_equal(r.timer_ns, at);
    r.clock.virtual_ns = at;
    pipeline_timer(&r.p, &r.x, &r.x.tick);
}

/* Computed from 2,000 for 100 us, written, read back, then 9 of its 10 tokens at 10 us each. */
static void prefill_then_write_then_tokens(void **state) {
    (void)state;
    gpu_open(1000);
    struct flight f = asked(7, 1, 100, 10);
    rig_start_at(&r, 2000, &f);
    assert_int_equal(r.outs, 0);
    rig_shows(&f, FLIGHT_COMPUTE, -1);
    tick_at(102000);
    struct cache_op *op = rig_expect(&r, CACHE_OP_WRITE, rig_turn(7, 1), 200, KVF_CAUSE_PREFILL);
    rig_end_at(&r, 102500, op);
    rig_end_at(&r, 102600, r.out[0]);
    rig_end_at(&r, 102700, r.out[0]);
    assert_int_equal(r.dones, 0);
    rig_shows(&f, FLIGHT_GENERATE, GPU);
    tick_at(192700);
    assert_int_equal(r.dones, 1);
    assert_int_equal(rig_latency(&r, REQUEST_LATENCY_TTFT), 102500 - RIG_TIME);
    assert_int_equal(rig_latency(&r, REQUEST_LATENCY_GENERATION), 90000);
    assert_int_equal(rig_latency(&r, REQUEST_LATENCY_TPOT), 10000);
    assert_int_equal(rig_latency(&r, REQUEST_LATENCY_E2E), 192700 - RIG_TIME);
    assert_int_equal(counters_get(&r.x.counters->prefill_ns), 100000);
    gpu_close();
}

/* An earlier turn of 300 tokens that was read is not computed; nor is a request of one token decoded. */
static void what_was_read_is_not_computed(void **state) {
    struct compute_stats sums;
    (void)state;
    gpu_open(2000);
    rig_put(&r, rig_turn(7, 1), 600);
    struct flight f = asked(7, 2, 100, 1);
    f.req.prefill_only = true;
    rig_start_at(&r, 2000, &f);
    rig_end_at(&r, 3000, rig_find(&r, CACHE_OP_READ, rig_turn(7, 1)));
    assert_int_equal(f.found_tokens, 300);
    assert_int_equal(r.outs, 0);
    tick_at(103000);
    rig_end_at(&r, 103500, r.out[0]);
    assert_int_equal(r.dones, 1);
    assert_int_equal(rig_latency(&r, REQUEST_LATENCY_GENERATION), 0);
    compute_read(r.p.compute, r.clock.virtual_ns, &sums);
    assert_int_equal(sums.prefill_tokens, 100);
    assert_int_equal(sums.decode_tokens, 0);
    gpu_close();
}

/* One of two layers keeps 100 tokens alone: 300 tokens have 300 x 2 + 100 x 2 bytes. */
static void tokens_outside_the_window_are_found_too(void **state) {
    (void)state;
    gpu_open(2000);
    r.s.model.layers = 2;
    r.s.model.sliding_layers = 1;
    r.s.model.window = 100;
    rig_put(&r, rig_turn(7, 1), 800);
    struct flight f = asked(7, 2, 100, 1);
    rig_start_at(&r, 2000, &f);
    rig_end_at(&r, 3000, rig_find(&r, CACHE_OP_READ, rig_turn(7, 1)));
    assert_int_equal(f.found_tokens, 300);
    gpu_close();
}

/* All blocks of a sequence of 18 tokens but its last two tokens are there; of one of 16 the last is computed.
 */
static void the_last_token_is_computed_at_least(void **state) {
    static const uint64_t lengths[] = {18, 16}, computed[] = {2, 1};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct compute_stats sums;
        gpu_open(2000);
        r.s.cache.granularity = KVF_GRANULARITY_BLOCK;
        struct flight f = asked(7, 1, lengths[i], 1);
        uint64_t ids[] = {1, 2, 3, 4};
        for (int k = 0; k < 4; k++) rig_put(&r, rig_id(ids[k]), 8);
        f.req.ids = ids;
        f.req.id_count = 4;
        f.req.sequence_tokens = lengths[i];
        rig_start_at(&r, 2000, &f);
        while (r.outs > 0) rig_end_at(&r, 3000, r.out[0]);
        tick_at(3000 + 10000);
        assert_int_equal(r.dones, 1);
        compute_read(r.p.compute, r.clock.virtual_ns, &sums);
        assert_int_equal(sums.prefill_tokens, computed[i]);
        gpu_close();
    }
}

/* The worker whose timer rings may not serve the request: it is handed on, and goes on there. */
static void it_goes_on_where_it_is_served(void **state) {
    (void)state;
    gpu_open(1000);
    struct flight f = asked(7, 1, 100, 1);
    rig_start_at(&r, 2000, &f);
    f.worker = RIG_WORKER + 1;
    tick_at(102000);
    assert_ptr_equal(handed, &f);
    assert_int_equal(r.outs, 0);
    f.worker = RIG_WORKER;
    pipeline_computed(&r.p, &r.x, &f);
    assert_int_equal(r.outs, 1);
    while (r.outs > 0) rig_end_at(&r, 103000, r.out[0]);
    assert_int_equal(r.dones, 1);
    gpu_close();
}

/* A write that fails ends the request, which leaves the batch to the one behind it. */
static void who_fails_leaves_the_batch(void **state) {
    struct compute_stats sums;
    (void)state;
    gpu_open(1000);
    struct flight f = asked(7, 1, 100, 10);
    rig_start_at(&r, 2000, &f);
    tick_at(102000);
    rig_end(&r, r.out[0], CACHE_FAILED);
    assert_int_equal(r.dones, 1);
    assert_true(r.last.failed);
    compute_read(r.p.compute, r.clock.virtual_ns, &sums);
    roofline_fs before = sums.running;
    compute_read(r.p.compute, r.clock.virtual_ns + 1000000, &sums);
    assert_true(sums.running == before && before > 0);
    gpu_close();
}

/* Entries of the preparation and operations of a file are not computed. */
static void others_are_not_computed(void **state) {
    (void)state;
    gpu_open(1000);
    struct flight f = asked(7, 1, 100, 0);
    f.internal = true;
    f.req.kind = REQUEST_WRITE;
    f.key = rig_turn(9, 1);
    f.bytes = 100;
    f.cause = KVF_CAUSE_PRECONDITION;
    rig_start_at(&r, 2000, &f);
    assert_int_equal(r.timers, 0);
    rig_end_at(&r, 2100, r.out[0]);
    assert_int_equal(r.dones, 1);
    gpu_close();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prefill_then_write_then_tokens),
        cmocka_unit_test(what_was_read_is_not_computed),
        cmocka_unit_test(tokens_outside_the_window_are_found_too),
        cmocka_unit_test(the_last_token_is_computed_at_least),
        cmocka_unit_test(it_goes_on_where_it_is_served),
        cmocka_unit_test(who_fails_leaves_the_batch),
        cmocka_unit_test(others_are_not_computed),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("pipeline_compute", tests, NULL, NULL);
}
