/* A pipeline on an executor without threads and devices: time is a number that the test sets, and an
 * operation ends when the test says so, in any order. A token takes 2 bytes. */
#ifndef TESTS_UNIT_ENGINE_FIXTURE_H
#define TESTS_UNIT_ENGINE_FIXTURE_H

#include <math.h>
#include <stdio.h>

#include "engine/pipeline/pipeline.h"
#include "tests/unit/cache_fixture.h"

enum { RIG_OPS = 64, RIG_WORKER = 3, BYTES_PER_TOKEN = 2 };
#define MS       UINT64_C(1000000)
#define ROOM_NS  (UINT64_C(10000) * MS)
#define RIG_TIME UINT64_C(1000)

struct rig {
    struct executor x; /* first: the pipeline hands this back */
    struct fixture cache;
    struct scenario s;
    struct pipeline p;
    struct run_clock clock;
    int inside;                    /* between enter and leave */
    struct cache_op *out[RIG_OPS]; /* taken from the ready list and not ended, oldest first */
    unsigned outs;
    struct cache_op *wait[RIG_OPS]; /* that wait, oldest first */
    unsigned waits;
    struct flight *timed; /* whose timer was set last */
    uint64_t timer_ns;
    unsigned timers, dones, errors;
    struct flight last; /* the one given back last, as it was */
};

static inline struct rig *rig_of(struct executor *x) {
    return (struct rig *)(void *)x;
}

static inline void rig_enter(struct executor *x) {
    assert_int_equal(rig_of(x)->inside++, 0);
}

static inline void rig_leave(struct executor *x) {
    struct rig *r = rig_of(x);
    struct cache_op *op;
    assert_int_equal(--r->inside, 0);
    while ((op = cache_next_ready(r->cache.c)) != NULL) {
        assert_true(r->outs < RIG_OPS);
        assert_int_equal(op->worker, RIG_WORKER);
        r->out[r->outs++] = op;
    }
}

static inline void rig_waits(struct executor *x, struct cache_op *op) {
    struct rig *r = rig_of(x);
    assert_int_equal(r->inside, 1);
    assert_true(r->waits < RIG_OPS);
    assert_true(op->deadline_ns > 0);
    r->wait[r->waits++] = op;
}

static inline void rig_timer(struct executor *x, struct flight *f, uint64_t at_ns) {
    struct rig *r = rig_of(x);
    assert_int_equal(r->inside, 0);
    r->timed = f;
    r->timer_ns = f->timer_ns = at_ns;
    r->timers++;
}

/* As in the engine, the flight is another request as soon as it is given back. */
static inline void rig_done(struct executor *x, struct flight *f) {
    struct rig *r = rig_of(x);
    assert_int_equal(r->inside, 0);
    assert_int_equal(f->outstanding, 0);
    r->last = *f;
    r->dones++;
    memset(f, 0, sizeof *f);
}

static inline void rig_error(struct executor *x, const char *sentence) {
    (void)sentence;
    rig_of(x)->errors++;
}

static const struct executor_ops rig_ops = {.enter = rig_enter,
                                            .leave = rig_leave,
                                            .waits = rig_waits,
                                            .timer = rig_timer,
                                            .done = rig_done,
                                            .error = rig_error};

/* Usable bytes of the tiers, 0: off. No generation time, all classes without targets. */
static inline void rig_open(struct rig *r, uint64_t gpu, uint64_t cpu, uint64_t nvme) {
    *r = (struct rig){0};
    run_clock_set(&r->clock, RIG_TIME);
    struct scenario *s = &r->s;
    s->model = (struct model){.layers = 1, .kv_heads = 1, .head_dim = 1, .dtype = MODEL_DTYPE_INT8};
    s->tensor_parallel = 1;
    s->cache.granularity = KVF_GRANULARITY_REQUEST;
    s->cache.block_tokens = 4;
    s->cache.touch_order = KVF_TOUCH_LAST_FIRST;
    s->workload.conversation.reads = KVF_READS_ALL;
    s->workload.decode.batch_tokens = 32;
    s->engine.room_wait_ns = ROOM_NS;
    s->qos.classes = 2;
    s->qos.latency = KVF_QOS_LATENCY_TTFT;
    for (int k = 0; k < KVF_CLASSES_MAX; k++) s->qos.klass[k].p95_ns = KVF_UNSET;
    fixture_waterfall(&r->cache, gpu, cpu, nvme);
    r->x = (struct executor){
        .ops = &rig_ops, .clock = &r->clock, .counters = counters_new(1), .worker = RIG_WORKER};
    r->p = (struct pipeline){.scenario = s, .cache = r->cache.c};
}

static inline void rig_close(struct rig *r) {
    assert_int_equal(r->outs, 0);
    assert_int_equal(r->errors, 0);
    counters_free(r->x.counters, 1);
    fixture_close(&r->cache);
}

static inline struct cache_key rig_turn(uint64_t conversation, uint32_t turn) {
    return cache_key_make(CACHE_KEY_TURN, conversation, turn);
}
static inline struct cache_key rig_prompt(uint64_t prompt) {
    return cache_key_make(CACHE_KEY_PROMPT, 0, prompt);
}
static inline struct cache_key rig_id(uint64_t id) {
    return cache_key_make(CACHE_KEY_TRACE, 0, id);
}

/* A request that arrived at RIG_TIME. */
static inline struct flight rig_flight(uint64_t conversation, uint32_t turn, uint64_t context,
                                       uint64_t generate) {
    return (struct flight){.req = {.id = conversation << 8 | turn,
                                   .arrival_ns = RIG_TIME,
                                   .kind = REQUEST_INFERENCE,
                                   .conversation = conversation,
                                   .turn = turn,
                                   .context_tokens = context,
                                   .generate_tokens = generate,
                                   .prompt = REQUEST_NO_PROMPT}};
}

/* The operation under way with this key, which must be the only one and of this kind. */
static inline struct cache_op *rig_find(const struct rig *r, enum cache_op_kind kind, struct cache_key key) {
    struct cache_op *found = NULL;
    char text[CACHE_KEY_TEXT_MAX];
    for (unsigned i = 0; i < r->outs; i++) {
        if (!cache_key_equal(r->out[i]->key, key) || r->out[i]->kind != kind) continue;
        assert_null(found);
        found = r->out[i];
    }
    if (!found)
        fail_msg("no operation of kind %d on %s is under way", (int)kind,
                 cache_key_text(key, text, sizeof text));
    return found;
}

static inline struct cache_op *rig_expect(const struct rig *r, enum cache_op_kind kind, struct cache_key key,
                                          uint64_t bytes, enum kvf_cause cause) {
    struct cache_op *op = rig_find(r, kind, key);
    assert_int_equal(op->bytes, bytes);
    assert_int_equal(op->cause, cause);
    assert_false(op->failed_wait);
    return op;
}

static inline void rig_forget(struct rig *r, const struct cache_op *op) {
    unsigned i = 0;
    while (i < r->outs && r->out[i] != op) i++;
    assert_true(i < r->outs);
    r->outs--;
    for (; i < r->outs; i++) r->out[i] = r->out[i + 1];
    for (i = 0; i < r->waits && r->wait[i] != op;) i++;
    if (i == r->waits) return;
    r->waits--;
    for (; i < r->waits; i++) r->wait[i] = r->wait[i + 1];
}

/* Ends it at the time that it is now. */
static inline void rig_end(struct rig *r, struct cache_op *op, enum cache_outcome outcome) {
    rig_forget(r, op);
    pipeline_op_done(&r->p, &r->x, op, outcome);
    fixture_check(&r->cache);
}

static inline void rig_end_at(struct rig *r, uint64_t at, struct cache_op *op) {
    r->clock.virtual_ns = at;
    rig_end(r, op, op->failed_wait ? CACHE_ABANDONED : CACHE_DONE);
}

/* The executor's action when its clock has passed the deadline of a wait. */
static inline void rig_waits_over(struct rig *r) {
    rig_enter(&r->x);
    for (unsigned i = 0; i < r->waits; i++)
        if (r->wait[i]->deadline_ns <= r->clock.virtual_ns && cache_wait_over(r->cache.c, r->wait[i]))
            r->wait[i]->deadline_ns = r->clock.virtual_ns + r->s.engine.room_wait_ns;
    rig_leave(&r->x);
}

/* Puts an entry there at once, on behalf of nobody. */
static inline void rig_put(struct rig *r, struct cache_key key, uint64_t bytes) {
    struct cache_op *op;
    rig_enter(&r->x);
    assert_int_equal(cache_write(r->cache.c, key, bytes, &(struct cache_access){.cause = KVF_CAUSE_PREFILL},
                                 RIG_WORKER, NULL, &op),
                     CACHE_PLANNED);
    while ((op = cache_next_ready(r->cache.c)) != NULL) cache_finish(r->cache.c, op, CACHE_DONE, false);
    rig_leave(&r->x);
}

static inline int rig_where(const struct rig *r, struct cache_key key) {
    return cache_where(r->cache.c, key);
}

static inline void rig_start_at(struct rig *r, uint64_t at, struct flight *f) {
    r->clock.virtual_ns = at;
    f->slot_ns = at;
    f->worker = RIG_WORKER;
    pipeline_start(&r->p, &r->x, f);
}

/* A flight as other threads see it. */
static inline void rig_shows(const struct flight *f, enum flight_stage stage, int tier) {
    int at;
    assert_int_equal(flight_shown(f, &at), stage);
    assert_int_equal(at, tier);
}

/* Lookups, hits and misses of a cause so far. */
static inline void rig_lookups(const struct rig *r, enum kvf_cause cause, uint64_t lookups, uint64_t hits) {
    struct cache_stats s = fixture_stats(&r->cache);
    assert_int_equal(s.lookups[cause], lookups);
    assert_int_equal(s.hits[cause], hits);
    assert_int_equal(s.misses[cause], lookups - hits);
}

/* Latencies are compared by their sums, which are exact. */
static inline uint64_t rig_latency(const struct rig *r, enum request_latency l) {
    return atomic_load(&r->x.counters->latency[l].sum);
}
static inline uint64_t rig_samples(const struct rig *r, enum request_latency l) {
    return histogram_count(&r->x.counters->latency[l]);
}

#endif
