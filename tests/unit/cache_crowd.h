/* Many operations at a time, ended in any order and any way: the identities hold, no tier ever holds too
 * much (the fixture sees every place), and everything that was asked for comes out. */
#ifndef TESTS_UNIT_CACHE_CROWD_H
#define TESTS_UNIT_CACHE_CROWD_H

#include "tests/unit/cache_fixture.h"

#include "base/rng.h"

enum { KEYS = 60, ACTIVE = 128 };

struct setting {
    uint64_t usable[KVF_TIERS];
    uint64_t size_max;
    enum scenario_placement placement;
    enum scenario_eviction eviction;
    enum scenario_promotion promotion;
};

/* Marks of making room in the background, in percent of the usable bytes; 0: it is not. */
struct marks {
    uint64_t low, high;
};

static inline void setting_open(struct fixture *f, const struct setting *set, struct marks marks) {
    fixture_configure(f, set->usable[GPU], set->usable[CPU], set->usable[NVME], set->placement, set->eviction,
                      set->promotion);
    if (marks.high) fixture_background(f, marks.low, marks.high);
    fixture_start(f);
}

static inline struct cache_key number_key(int k) {
    return cache_key_make(CACHE_KEY_TRACE, 1, (uint64_t)k);
}

/* Requested entries that have not come out yet. */
struct asked {
    struct cache_op *op; /* NULL: free */
};
struct crowd {
    struct fixture f;
    struct rng r;
    struct asked asked[ACTIVE];
    struct cache_op *active[ACTIVE * 16]; /* came out, not ended */
    int actives;
    bool seen[1 << 18]; /* by seq: came out */
    uint64_t seq_max;
    uint64_t failed_moves, given_up, waited, dropped;
    bool stopped, drops;
};

static inline struct asked *asked_free(struct crowd *w) {
    for (int i = 0; i < ACTIVE; i++) {
        if (!w->asked[i].op) return &w->asked[i];
    }
    return NULL;
}

static inline void crowd_drain(struct crowd *w) {
    struct cache_op *op;
    while ((op = cache_next_ready(w->f.c))) {
        if (op->owner) ((struct asked *)op->owner)->op = NULL;
        assert_true(w->actives < (int)(sizeof w->active / sizeof *w->active));
        w->active[w->actives++] = op;
        w->given_up += op->failed_wait;
        if (op->seq == 0) continue;
        assert_true(op->seq < sizeof w->seen && !w->seen[op->seq]);
        w->seen[op->seq] = true;
        if (op->seq > w->seq_max) w->seq_max = op->seq;
    }
}

static inline void crowd_ask(struct crowd *w, const struct setting *set) {
    struct asked *a = asked_free(w);
    struct cache_key key = number_key((int)rng_range(&w->r, 0, KEYS - 1));
    if (!a || w->actives > ACTIVE) return;
    switch (cache_peek(w->f.c, key)) {
    case CACHE_RESIDENT:
        a->op = cache_read(w->f.c, key, &(struct cache_access){.cause = KVF_CAUSE_DECODE}, 0, a);
        assert_non_null(a->op);
        break;
    case CACHE_WRITING:
        a->op = cache_wait(w->f.c, key, 0, a);
        assert_non_null(a->op);
        break;
    case CACHE_ABSENT:
        w->waited += cache_write(w->f.c, key, rng_range(&w->r, 1, set->size_max),
                                 &(struct cache_access){.cause = KVF_CAUSE_PREFILL}, 0, a,
                                 &a->op) == CACHE_NO_ROOM_NOW;
        break;
    }
}

static inline void crowd_end_one(struct crowd *w, bool only_done) {
    if (w->actives == 0) return;
    int at = (int)rng_range(&w->r, 0, (uint64_t)w->actives - 1);
    struct cache_op *op = w->active[at];
    w->active[at] = w->active[--w->actives];
    uint64_t dice = only_done ? 99 : rng_range(&w->r, 0, 99);
    enum cache_outcome outcome = dice < 8 ? CACHE_FAILED : CACHE_DONE;
    if (w->stopped && dice < 50) outcome = CACHE_ABANDONED;
    if (op->failed_wait) outcome = CACHE_ABANDONED;
    w->failed_moves += op->kind == CACHE_OP_MOVE && outcome == CACHE_FAILED;
    cache_finish(w->f.c, op, outcome, op->kind == CACHE_OP_READ && dice < 4);
}

static inline void crowd_step(struct crowd *w, const struct setting *set) {
    uint64_t what = rng_range(&w->r, 0, 19);
    if (what < 10) {
        crowd_ask(w, set);
    } else if (what < 18) {
        crowd_end_one(w, false);
    } else if (what < 19) {
        struct asked *a = &w->asked[rng_range(&w->r, 0, ACTIVE - 1)];
        if (a->op && (a - w->asked) % 4 == 0)
            cache_wait_over(w->f.c, a->op);
        else if (a->op)
            cache_cancel(w->f.c, a->op);
    } else if (w->drops) {
        struct cache_key key = number_key((int)rng_range(&w->r, 0, KEYS - 1));
        bool there = cache_peek(w->f.c, key) == CACHE_RESIDENT;
        assert_int_equal(cache_drop(w->f.c, key), there);
        if (there) assert_int_equal(cache_peek(w->f.c, key), CACHE_ABSENT);
        w->dropped += there;
    } else {
        cache_touch(w->f.c, number_key((int)rng_range(&w->r, 0, KEYS - 1)), &(struct cache_access){0});
    }
    crowd_drain(w);
}

/* Ends what is there until nothing is: had anything been forgotten at a gate or in a queue, it would
 * be missing from what came out. */
static inline void crowd_empty(struct crowd *w) {
    while (w->actives) {
        crowd_end_one(w, !w->stopped);
        crowd_drain(w);
    }
    fixture_check(&w->f);
    for (int i = 0; i < ACTIVE; i++) assert_null(w->asked[i].op);
    for (uint64_t s = 1; s <= w->seq_max; s++) assert_true(w->seen[s]);
    struct cache_stats s = fixture_stats(&w->f);
    assert_int_equal(s.waiting, 0);
    assert_int_equal(s.move_errors, w->failed_moves);
    for (int t = 0; t < KVF_TIERS; t++) {
        assert_int_equal(s.used_bytes[t], w->f.held[t]);
        assert_int_equal(s.bytes_in[t] - s.bytes_out[t], w->f.held[t]);
    }
}

static inline void crowd_run_marked(const struct setting *set, struct marks marks, uint64_t index, bool stop,
                                    bool drops) {
    struct crowd *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->drops = drops;
    rng_init(&w->r, 23, KVF_RNG_TEST, index);
    setting_open(&w->f, set, marks);
    for (int round = 0; round < (stop ? 1 : 4); round++) {
        for (int step = 0; step < 3000; step++) {
            crowd_step(w, set);
            if (step % 4 == 0) fixture_check(&w->f);
        }
        if (stop) {
            cache_stop(w->f.c);
            w->stopped = true;
            crowd_drain(w);
        }
        crowd_empty(w);
    }
    assert_true(w->waited > 20 && w->given_up > 0);
    if (drops && w->dropped == 0) fail_msg("nothing was dropped: %d", (int)index);
    fixture_close(&w->f);
    free(w);
}

static inline void crowd_run(const struct setting *set, uint64_t index, bool stop, bool drops) {
    crowd_run_marked(set, (struct marks){0}, index, stop, drops);
}

#endif
