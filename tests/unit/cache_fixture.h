/* A cache over places that are only booked: every place is handed out once, comes back once with
 * the size it had, and a tier never holds more than its usable bytes. */
#ifndef TESTS_UNIT_CACHE_FIXTURE_H
#define TESTS_UNIT_CACHE_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "cache/cache.h"

enum { GPU = KVF_TIER_GPU, CPU = KVF_TIER_CPU, NVME = KVF_TIER_NVME };

struct fixture_place {
    int tier; /* -1: given back */
    uint64_t bytes;
};
struct fixture {
    struct cache *c;
    struct cache_config config;
    struct fixture_place *place;
    size_t places, cap;
    uint64_t held[KVF_TIERS]; /* bytes of places that are out */
};

static inline uint64_t fixture_alloc(void *ctx, int tier, uint64_t bytes) {
    struct fixture *f = ctx;
    if (f->places == f->cap) {
        f->cap = f->cap ? 2 * f->cap : 256;
        f->place = realloc(f->place, f->cap * sizeof *f->place);
        assert_non_null(f->place);
    }
    f->held[tier] += bytes;
    assert_true(f->config.on[tier]);
    assert_true(f->held[tier] <= f->config.usable_bytes[tier]);
    f->place[f->places] = (struct fixture_place){tier, bytes};
    return f->places++;
}

static inline void fixture_drop(void *ctx, int tier, uint64_t place, uint64_t bytes) {
    struct fixture *f = ctx;
    assert_true(place < f->places);
    assert_int_equal(f->place[place].tier, tier);
    assert_int_equal(f->place[place].bytes, bytes);
    f->place[place].tier = -1;
    f->held[tier] -= bytes;
}

/* With the configuration that it has. */
static inline void fixture_start(struct fixture *f) {
    struct err e = {0};
    f->c = cache_open(&f->config, &e);
    if (!f->c) fail_msg("%s", e.text);
}

/* Usable bytes of 0: the tier is off. */
static inline void fixture_configure(struct fixture *f, uint64_t gpu, uint64_t cpu, uint64_t nvme,
                                     enum scenario_placement placement, enum scenario_eviction eviction,
                                     enum scenario_promotion promotion) {
    *f = (struct fixture){0};
    f->config = (struct cache_config){.usable_bytes = {gpu, cpu, nvme},
                                      .placement = placement,
                                      .promotion = promotion,
                                      .ctx = f,
                                      .alloc = fixture_alloc,
                                      .drop = fixture_drop};
    for (int t = 0; t < KVF_TIERS; t++) {
        f->config.on[t] = f->config.usable_bytes[t] > 0;
        f->config.eviction[t] = eviction;
    }
}

static inline void fixture_open(struct fixture *f, uint64_t gpu, uint64_t cpu, uint64_t nvme,
                                enum scenario_placement placement, enum scenario_eviction eviction,
                                enum scenario_promotion promotion) {
    fixture_configure(f, gpu, cpu, nvme, placement, eviction, promotion);
    fixture_start(f);
}

/* Room is made ahead of need, between these marks in percent of the usable bytes. */
static inline void fixture_background(struct fixture *f, uint64_t low, uint64_t high) {
    f->config.background = true;
    for (int t = 0; t < KVF_TIERS; t++) {
        f->config.low_bytes[t] = f->config.usable_bytes[t] * low / 100;
        f->config.high_bytes[t] = f->config.usable_bytes[t] * high / 100;
    }
}

static inline void fixture_waterfall(struct fixture *f, uint64_t gpu, uint64_t cpu, uint64_t nvme) {
    fixture_open(f, gpu, cpu, nvme, KVF_PLACEMENT_WATERFALL, KVF_EVICTION_LRU, KVF_PROMOTION_NEVER);
}

static inline void fixture_check(struct fixture *f) {
    struct err e = {0};
    if (cache_check(f->c, &e)) fail_msg("%s", e.text);
}

static inline void fixture_close(struct fixture *f) {
    fixture_check(f);
    cache_close(f->c);
    free(f->place);
}

static inline struct cache_stats fixture_stats(const struct fixture *f) {
    struct cache_stats s;
    cache_stats(f->c, &s);
    return s;
}

/* Entries of examples have one letter. */
static inline struct cache_key key_of(char letter) {
    return cache_key_make(CACHE_KEY_TRACE, 0, (uint64_t)letter);
}
static inline char letter_of(const struct cache_op *op) {
    return (char)op->key.lo;
}

static inline enum cache_verdict write_start(struct fixture *f, char letter, uint64_t bytes,
                                             struct cache_op **op) {
    return cache_write(f->c, key_of(letter), bytes, &(struct cache_access){.cause = KVF_CAUSE_PREFILL}, 0,
                       NULL, op);
}

static inline struct cache_op *read_start(struct fixture *f, char letter) {
    return cache_read(f->c, key_of(letter), &(struct cache_access){.cause = KVF_CAUSE_CONVERSATION}, 0, NULL);
}

static inline int where(const struct fixture *f, char letter) {
    return cache_where(f->c, key_of(letter));
}

static inline void done(struct fixture *f, struct cache_op *op) {
    cache_finish(f->c, op, CACHE_DONE, false);
}

/* Takes the next ready operation, which has to be this one. */
static inline struct cache_op *expect(struct fixture *f, enum cache_op_kind kind, char letter, int from,
                                      int to) {
    struct cache_op *op = cache_next_ready(f->c);
    assert_non_null(op);
    assert_int_equal(op->kind, kind);
    assert_int_equal(letter_of(op), letter);
    assert_int_equal(op->from, from);
    assert_int_equal(op->to, to);
    assert_int_equal(op->state, CACHE_OP_RUNNING);
    fixture_check(f);
    return op;
}
static inline struct cache_op *expect_move(struct fixture *f, char letter, int from, int to) {
    return expect(f, CACHE_OP_MOVE, letter, from, to);
}
static inline struct cache_op *expect_write(struct fixture *f, char letter, int to) {
    return expect(f, CACHE_OP_WRITE, letter, -1, to);
}
static inline struct cache_op *expect_read(struct fixture *f, char letter, int from) {
    return expect(f, CACHE_OP_READ, letter, from, -1);
}
static inline void expect_nothing(struct fixture *f) {
    assert_null(cache_next_ready(f->c));
    fixture_check(f);
}

/* Carries out whatever is ready until nothing is. */
static inline void settle(struct fixture *f) {
    struct cache_op *op;
    while ((op = cache_next_ready(f->c))) cache_finish(f->c, op, CACHE_DONE, false);
}
static inline void put(struct fixture *f, char letter, uint64_t bytes) {
    struct cache_op *op;
    assert_int_equal(write_start(f, letter, bytes, &op), CACHE_PLANNED);
    settle(f);
}
static inline void get(struct fixture *f, char letter) {
    assert_non_null(read_start(f, letter));
    settle(f);
}

/* "AB C -" says what is in gpu, cpu and nvme; "-" nothing. Only capital letters are looked at. */
static inline void expect_content(const struct fixture *f, const char *gpu, const char *cpu,
                                  const char *nvme) {
    const char *want[KVF_TIERS] = {gpu, cpu, nvme, ""};
    for (char k = 'A'; k <= 'Z'; k++) {
        int tier = -1;
        for (int t = 0; t < KVF_TIERS; t++) {
            if (strchr(want[t], k)) tier = t;
        }
        if (where(f, k) != tier) fail_msg("%c is in tier %d, not %d", k, where(f, k), tier);
    }
}

#endif
