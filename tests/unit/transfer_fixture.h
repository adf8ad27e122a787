/* A mover over three tiers that a test plays: gpu keeps no bytes, cpu copies at once, nvme completes a
 * chunk when and how the test says. The run clock stands at the time that the test sets. */
#ifndef TESTS_UNIT_TRANSFER_FIXTURE_H
#define TESTS_UNIT_TRANSFER_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/move/transfer.h"

enum { GPU = KVF_TIER_GPU, CPU = KVF_TIER_CPU, NVME = KVF_TIER_NVME };
enum { IO = 8192, PLACE_BYTES = 64 * 1024, PLACES = 16, CHUNKS = 64, OPS = 32 };
enum { READ = KVF_DIR_READ, WRITE = KVF_DIR_WRITE };

struct played {
    struct tier base;
    uint32_t caps;
    uint8_t *data;                    /* PLACES places of PLACE_BYTES */
    struct tier_chunk *at[CHUNKS];    /* at the device, in the order of submission */
    struct tier_chunk *back[CHUNKS];  /* complete, not reaped */
    unsigned ats, backs, most, taken; /* most: at the device at once; taken: ever */
    unsigned room;                    /* submit takes no more than these at once */
    unsigned begun[KVF_DIRS], ended[KVF_DIRS];
    int begin_error;
};
struct tier_queue {
    struct played *t;
};

struct ended {
    const struct cache_op *op;
    bool abandoned;
    int error;
    char what[300];
};

struct movers {
    struct mover *m;
    struct scenario s;
    struct run_clock clock;
    struct payload *payload;
    struct played tier[KVF_TIERS];
    struct tier *tiers[KVF_TIERS];
    struct counters *counters;
    struct ended ended[OPS];
    unsigned ends;
};

static struct movers t; /* of the test that runs */

/* ---- the tiers ---- */

static inline void time_set(uint64_t ns) {
    atomic_store(&t.clock.paused_at_ns, ns);
}

static inline uint8_t *place_data(int tier, uint64_t place) {
    return t.tier[tier].data + place * PLACE_BYTES;
}

static inline void chunk_carry_out(struct played *p, struct tier_chunk *c) {
    if (!c->buf) return;
    assert_true(c->place < PLACES && c->offset + c->len <= PLACE_BYTES);
    uint8_t *bytes = p->data + c->place * PLACE_BYTES + c->offset;
    if (c->dir == KVF_DIR_WRITE)
        memcpy(bytes, c->buf, c->len);
    else
        memcpy(c->buf, bytes, c->len);
}

static inline uint32_t played_caps(const struct tier *tier) {
    return ((const struct played *)(const void *)tier)->caps;
}

static inline int played_queue_open(struct tier *tier, struct tier_queue **out, uint32_t worker,
                                    uint32_t depth, struct err *e) {
    (void)worker;
    (void)depth;
    (void)e;
    *out = calloc(1, sizeof **out);
    assert_non_null(*out);
    (*out)->t = (struct played *)(void *)tier;
    return 0;
}

static inline void played_queue_close(struct tier_queue *q) {
    free(q);
}

static inline int played_begin(struct tier_queue *q, uint64_t place, uint64_t bytes, enum kvf_dir dir) {
    (void)place;
    (void)bytes;
    if (q->t->begin_error) return q->t->begin_error;
    q->t->begun[dir]++;
    return 0;
}

static inline void played_end(struct tier_queue *q, uint64_t place, enum kvf_dir dir) {
    (void)place;
    q->t->ended[dir]++;
}

static inline unsigned played_submit(struct tier_queue *q, struct tier_chunk **chunks, unsigned n) {
    struct played *p = q->t;
    unsigned took = 0;
    for (; took < n && p->ats < p->room; took++) {
        struct tier_chunk *c = chunks[took];
        c->submit_ns = run_clock_now(&t.clock);
        p->taken++;
        c->next = NULL; /* theirs, so that a submitter that goes on using it is found out */
        assert_true(p->ats < CHUNKS && p->backs < CHUNKS);
        if (p->caps & TIER_INSTANT) {
            chunk_carry_out(p, c);
            c->complete_ns = c->submit_ns;
            p->back[p->backs++] = c;
        } else {
            p->at[p->ats++] = c;
        }
        if (p->ats > p->most) p->most = p->ats;
    }
    return took;
}

static inline unsigned played_reap(struct tier_queue *q, struct tier_chunk **done, unsigned max) {
    struct played *p = q->t;
    unsigned n = p->backs < max ? p->backs : max;
    memcpy(done, p->back, n * sizeof *done);
    p->backs -= n;
    memmove(p->back, p->back + n, p->backs * sizeof *done);
    return n;
}

static inline int played_fd(const struct tier_queue *q) {
    (void)q;
    return -1;
}

static inline uint64_t played_next_ns(const struct tier_queue *q) {
    (void)q;
    return KVF_NEVER;
}

static const struct tier_ops played_ops = {.name = "played",
                                           .caps = played_caps,
                                           .queue_open = played_queue_open,
                                           .queue_close = played_queue_close,
                                           .begin = played_begin,
                                           .end = played_end,
                                           .submit = played_submit,
                                           .reap = played_reap,
                                           .fd = played_fd,
                                           .next_ns = played_next_ns};

/* The i-th chunk at the device is complete, with this outcome, at the present time. */
static inline void chunk_back(int tier, unsigned i, int error) {
    struct played *p = &t.tier[tier];
    assert_true(i < p->ats);
    struct tier_chunk *c = p->at[i];
    p->ats--;
    memmove(p->at + i, p->at + i + 1, (p->ats - i) * sizeof(struct tier_chunk *));
    if (!error) chunk_carry_out(p, c);
    c->error = error;
    c->complete_ns = run_clock_now(&t.clock);
    p->back[p->backs++] = c;
}

/* ---- the mover ---- */

static inline void op_ended(void *ctx, const struct transfer *transfer, bool abandoned, const char *what) {
    struct movers *all = ctx;
    assert_true(all->ends < OPS);
    struct ended *e = &all->ended[all->ends++];
    *e = (struct ended){.op = transfer->op, .abandoned = abandoned, .error = transfer->error};
    strncpy(e->what, what, sizeof e->what - 1);
}

static inline void movers_open(uint32_t buffers, enum scenario_verify verify) {
    struct err e = {0};
    memset(&t, 0, sizeof t);
    t.s.nvme.io_size = IO;
    t.s.cache.verify = verify;
    t.payload = payload_open(42, 1 << 20, &e);
    assert_non_null(t.payload);
    t.counters = counters_new(1);
    static const uint32_t caps[KVF_TIERS] = {TIER_EMULATED | TIER_WHOLE_ENTRY,
                                             TIER_HOLDS_BYTES | TIER_INSTANT, TIER_HOLDS_BYTES};
    for (int i = 0; i < KVF_TIERS; i++) {
        t.tier[i] = (struct played){.base = {.ops = &played_ops, .tier = (enum kvf_tier)i},
                                    .caps = caps[i],
                                    .room = CHUNKS,
                                    .data = calloc(PLACES, PLACE_BYTES)};
        assert_non_null(t.tier[i].data);
        t.tiers[i] = &t.tier[i].base;
    }
    time_set(1000);
    struct mover_setup setup = {.scenario = &t.s,
                                .clock = &t.clock,
                                .payload = t.payload,
                                .tiers = t.tiers,
                                .counters = t.counters,
                                .worker = 1,
                                .buffers = buffers,
                                .done = op_ended,
                                .ctx = &t};
    assert_int_equal(mover_open(&t.m, &setup, &e), 0);
}

static inline void movers_close(void) {
    assert_true(mover_idle(t.m));
    mover_close(t.m);
    payload_close(t.payload);
    counters_free(t.counters, 1);
    for (int i = 0; i < KVF_TIERS; i++) free(t.tier[i].data);
}

/* Until nothing moves without a completion. */
static inline void pump(void) {
    for (int turns = 0; mover_pump(t.m, true); turns++) assert_true(turns < 1000);
}

/* Completes everything at all devices, oldest first, until nothing is left. */
static inline void finish_all(void) {
    for (pump(); t.tier[NVME].ats + t.tier[GPU].ats > 0; pump()) {
        while (t.tier[NVME].ats > 0) chunk_back(NVME, 0, 0);
        while (t.tier[GPU].ats > 0) chunk_back(GPU, 0, 0);
    }
}

/* An entry of this number, kept at the place of the same number in every tier. */
static inline struct cache_op op_of(enum cache_op_kind kind, int from, int to, uint64_t number,
                                    uint64_t bytes) {
    return (struct cache_op){.kind = kind,
                             .cause = kind == CACHE_OP_MOVE ? KVF_CAUSE_DEMOTION : KVF_CAUSE_PREFILL,
                             .from = from,
                             .to = to,
                             .from_place = number,
                             .to_place = number,
                             .key = cache_key_make(CACHE_KEY_TURN, number, 1),
                             .generation = 100 + number,
                             .bytes = bytes};
}
static inline struct cache_op read_op(int tier, uint64_t number, uint64_t bytes) {
    return op_of(CACHE_OP_READ, tier, -1, number, bytes);
}
static inline struct cache_op write_op(int tier, uint64_t number, uint64_t bytes) {
    return op_of(CACHE_OP_WRITE, -1, tier, number, bytes);
}
static inline struct cache_op move_op(int from, int to, uint64_t number, uint64_t bytes) {
    return op_of(CACHE_OP_MOVE, from, to, number, bytes);
}

/* Blocks at a place that are not the entry's, byte for byte. */
static inline uint64_t blocks_wrong(int tier, const struct cache_op *op) {
    struct payload_id id = {op->key.hi, op->key.lo, op->generation};
    uint64_t place = op->to >= 0 ? op->to_place : op->from_place, first;
    return payload_verify(t.payload, place_data(tier, place), op->bytes, &id, 0, PAYLOAD_CHECK_FULL, &first,
                          NULL);
}

/* Writes an entry to a tier, so that it can be read or moved. */
static inline void have(int tier, uint64_t number, uint64_t bytes) {
    struct cache_op op = write_op(tier, number, bytes);
    unsigned ends = t.ends;
    mover_begin(t.m, &op);
    finish_all();
    assert_int_equal(t.ends, ends + 1);
    assert_int_equal(t.ended[ends].error, 0);
    t.ends = ends;
    t.tier[tier].most = t.tier[tier].taken = 0;
}

static inline void expect_ended(unsigned i, const struct cache_op *op, bool abandoned, int error) {
    assert_true(i < t.ends);
    assert_ptr_equal(t.ended[i].op, op);
    assert_int_equal(t.ended[i].abandoned, abandoned);
    assert_int_equal(t.ended[i].error, error);
    if (!error) assert_string_equal(t.ended[i].what, "");
}

static inline void expect_chunk(int tier, unsigned i, enum kvf_dir dir, uint64_t place, uint64_t offset,
                                uint64_t len) {
    assert_true(i < t.tier[tier].ats);
    const struct tier_chunk *c = t.tier[tier].at[i];
    assert_int_equal(c->dir, dir);
    assert_int_equal(c->place, place);
    assert_int_equal(c->offset, offset);
    assert_int_equal(c->len, len);
}

/* Times of the one operation that a tier has had in this direction. */
static inline void expect_times(int tier, int dir, uint64_t total, uint64_t device) {
    assert_int_equal(histogram_count(&t.counters->op_total[tier][dir]), 1);
    assert_int_equal(atomic_load(&t.counters->op_total[tier][dir].sum), total);
    assert_int_equal(atomic_load(&t.counters->op_device[tier][dir].sum), device);
    assert_int_equal(atomic_load(&t.counters->op_host[tier][dir].sum), total - device);
}

static inline void expect_counts(int tier, int dir, enum kvf_cause cause, uint64_t ops, uint64_t bytes) {
    assert_int_equal(counters_get(&t.counters->io[tier][dir][cause].ops), ops);
    assert_int_equal(counters_get(&t.counters->io[tier][dir][cause].bytes), bytes);
}

#endif
