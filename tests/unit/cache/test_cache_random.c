#include "tests/unit/cache_crowd.h"

/* Two random nets. First, one operation at a time, against a slow model that knows nothing of plans:
 * it moves entries in an array, found by linear search. Second, a crowd: many operations at a time. */

static const struct setting settings[] = {
    {{100, 200, 400}, 30, KVF_PLACEMENT_WATERFALL, KVF_EVICTION_LRU, KVF_PROMOTION_NEVER},
    {{100, 200, 400}, 120, KVF_PLACEMENT_WATERFALL, KVF_EVICTION_LRU, KVF_PROMOTION_ON_HIT},
    {{200, 100, 300}, 150, KVF_PLACEMENT_WATERFALL, KVF_EVICTION_FIFO, KVF_PROMOTION_ON_HIT},
    {{100, 100, 100}, 60, KVF_PLACEMENT_WATERFALL, KVF_EVICTION_LRU, KVF_PROMOTION_NEVER},
    {{150, 0, 300}, 400, KVF_PLACEMENT_WATERFALL, KVF_EVICTION_LRU, KVF_PROMOTION_ON_HIT},
    {{0, 120, 0}, 50, KVF_PLACEMENT_WATERFALL, KVF_EVICTION_FIFO, KVF_PROMOTION_NEVER},
    {{300, 150, 80}, 100, KVF_PLACEMENT_WATERFALL, KVF_EVICTION_LRU, KVF_PROMOTION_ON_HIT},
    {{100, 200, 400}, 120, KVF_PLACEMENT_SPILLOVER, KVF_EVICTION_LRU, KVF_PROMOTION_ON_HIT},
    {{100, 200, 150}, 170, KVF_PLACEMENT_SPILLOVER, KVF_EVICTION_FIFO, KVF_PROMOTION_NEVER},
    {{100, 200, 400}, 120, KVF_PLACEMENT_WATERFALL, KVF_EVICTION_LRU, KVF_PROMOTION_SECOND_HIT},
    {{100, 200, 400}, 50, KVF_PLACEMENT_SPILLOVER, KVF_EVICTION_LRU, KVF_PROMOTION_SECOND_HIT},
};
enum { SETTINGS = sizeof settings / sizeof *settings };

/* --- the model --- */

struct mirror_entry {
    int tier; /* -1: not there */
    uint64_t bytes, access, first;
    bool held; /* not to be moved: the entry being promoted */
    int falls; /* in this request */
    int hits;  /* since it came to its tier */
};
struct mirror {
    const struct setting *set;
    struct mirror_entry e[KEYS];
    uint64_t rank, gone, refused, skipped;
    uint64_t evicted[KVF_TIERS], fallen[KVF_TIERS], risen[KVF_TIERS], in[KVF_TIERS], out[KVF_TIERS];
    uint64_t passed; /* fell and left within one request */
    bool drops;
};

static bool model_on(const struct mirror *m, int t, uint64_t bytes) {
    return m->set->usable[t] > 0 && bytes <= m->set->usable[t];
}

static uint64_t model_free(const struct mirror *m, int t) {
    uint64_t used = 0;
    for (int k = 0; k < KEYS; k++) used += m->e[k].tier == t ? m->e[k].bytes : 0;
    return m->set->usable[t] - used;
}

static int model_victim(const struct mirror *m, int t) {
    int best = -1;
    for (int k = 0; k < KEYS; k++) {
        const struct mirror_entry *e = &m->e[k];
        if (e->tier != t || e->held) continue;
        bool fifo = m->set->eviction == KVF_EVICTION_FIFO;
        if (best < 0 || (fifo ? e->first < m->e[best].first : e->access < m->e[best].access)) best = k;
    }
    return best;
}

static void model_leave(struct mirror *m, int k) {
    m->out[m->e[k].tier] += m->e[k].bytes;
}

static void model_put(struct mirror *m, int k, int t) {
    m->e[k].tier = t;
    m->e[k].hits = 0;
    m->in[t] += m->e[k].bytes;
}

/* Each fall is one of its own, and an entry is evicted from the tier where it then is. */
static void model_fall(struct mirror *m, int k, int to) {
    int from = m->e[k].tier;
    model_leave(m, k);
    m->e[k].falls++;
    if (to >= 0) {
        m->fallen[from]++;
        model_put(m, k, to);
        return;
    }
    m->e[k].tier = -1;
    m->evicted[from]++;
    m->gone++;
    m->passed += m->e[k].falls > 1;
}

static bool model_room(struct mirror *m, int t, uint64_t bytes) {
    while (model_free(m, t) < bytes) {
        int v = model_victim(m, t), below = -1;
        if (v < 0) return false;
        for (int d = t + 1; d < KVF_TIERS && m->set->placement == KVF_PLACEMENT_WATERFALL && below < 0; d++) {
            if (model_on(m, d, m->e[v].bytes)) below = d;
        }
        if (below >= 0 && !model_room(m, below, m->e[v].bytes)) return false;
        model_fall(m, v, below);
    }
    return true;
}

static void model_write(struct mirror *m, int k, uint64_t bytes, uint64_t rank) {
    int to = -1, deepest = -1;
    for (int t = 0; t < KVF_TIERS; t++) {
        if (!model_on(m, t, bytes)) continue;
        deepest = t;
        bool take = m->set->placement == KVF_PLACEMENT_WATERFALL || model_free(m, t) >= bytes;
        if (to < 0 && take) to = t;
    }
    if (deepest < 0) {
        m->refused++;
        return;
    }
    if (to < 0) to = deepest;
    assert_true(model_room(m, to, bytes));
    m->e[k] = (struct mirror_entry){.bytes = bytes, .access = rank, .first = rank};
    model_put(m, k, to);
}

static void model_touch(struct mirror *m, int k, uint64_t rank) {
    if (m->e[k].access < rank) m->e[k].access = rank;
}

static void model_read(struct mirror *m, int k, uint64_t rank, bool again) {
    model_touch(m, k, rank);
    m->e[k].hits += !again;
    if (m->set->promotion == KVF_PROMOTION_NEVER) return;
    if (m->set->promotion == KVF_PROMOTION_SECOND_HIT && m->e[k].hits < 2) return;
    uint64_t bytes = m->e[k].bytes;
    int to = -1;
    bool spill = m->set->placement == KVF_PLACEMENT_SPILLOVER, higher = false;
    for (int t = m->e[k].tier - 1; t >= 0; t--) {
        if (!model_on(m, t, bytes)) continue;
        higher = true;
        if (!spill || model_free(m, t) >= bytes) to = t;
    }
    if (!higher) return;
    struct mirror before = *m;
    m->e[k].held = true;
    if (to >= 0 && model_room(m, to, bytes)) {
        m->risen[m->e[k].tier]++;
        model_leave(m, k);
        model_put(m, k, to);
        m->e[k].held = false;
    } else {
        *m = before;
        m->skipped++;
    }
}

/* --- one at a time, against the model --- */

static void same_content(const struct fixture *f, const struct mirror *m, int step) {
    struct cache_stats s = fixture_stats(f);
    for (int k = 0; k < KEYS; k++) {
        int tier = cache_where(f->c, number_key(k));
        if (tier != m->e[k].tier)
            fail_msg("step %d: key %d is in tier %d, not %d", step, k, tier, m->e[k].tier);
    }
    for (int t = 0; t < KVF_TIERS; t++) {
        assert_int_equal(s.evictions[t], m->evicted[t]);
        assert_int_equal(s.demotions[t], m->fallen[t]);
        assert_int_equal(s.promotions[t], m->risen[t]);
        assert_int_equal(s.bytes_in[t], m->in[t]);
        assert_int_equal(s.bytes_out[t], m->out[t]);
        if (m->set->usable[t]) assert_int_equal(s.used_bytes[t], m->set->usable[t] - model_free(m, t));
        assert_int_equal(f->held[t], s.used_bytes[t]);
    }
    assert_int_equal(s.refused, m->refused);
    assert_int_equal(s.promotions_skipped, m->skipped);
    assert_int_equal(s.waiting, 0);
}

/* One in eight is taken out. */
static bool model_drop(struct fixture *f, struct mirror *m, struct rng *r, int k) {
    if (rng_range(r, 0, 7) != 0) return false;
    bool there = m->e[k].tier >= 0;
    assert_int_equal(cache_drop(f->c, number_key(k)), there);
    if (there) model_leave(m, k);
    m->e[k].tier = -1;
    return true;
}

static void model_step(struct fixture *f, struct mirror *m, struct rng *r) {
    int k = (int)rng_range(r, 0, KEYS - 1);
    /* Sometimes a rank out of a piece, so that ranks come in any order. */
    uint64_t rank = 0, effective = m->rank + 1;
    for (int i = 0; i < KEYS; i++) m->e[i].falls = 0;
    if (m->drops && model_drop(f, m, r, k)) return;
    if (rng_range(r, 0, 4) == 0) {
        rank = cache_ranks(f->c, 4) + rng_range(r, 0, 3);
        assert_true(rank > m->rank && rank <= m->rank + 4);
        effective = rank;
        m->rank += 4;
    }
    uint64_t what = rng_range(r, 0, 9);
    struct cache_op *op;
    bool there = m->e[k].tier >= 0;
    if (what == 0) {
        cache_touch(f->c, number_key(k), &(struct cache_access){.rank = rank});
        if (there) model_touch(m, k, effective);
    } else if (there) {
        struct cache_access access = {.cause = KVF_CAUSE_CONVERSATION, .rank = rank, .again = what == 9};
        assert_non_null(cache_read(f->c, number_key(k), &access, 0, NULL));
        model_read(m, k, effective, access.again);
    } else {
        uint64_t bytes = rng_range(r, 1, m->set->size_max);
        uint64_t refused = m->refused;
        enum cache_verdict v =
            cache_write(f->c, number_key(k), bytes,
                        &(struct cache_access){.cause = KVF_CAUSE_PREFILL, .rank = rank}, 0, NULL, &op);
        model_write(m, k, bytes, effective);
        assert_int_equal(v, m->refused > refused ? CACHE_TOO_LARGE : CACHE_PLANNED);
        there = v == CACHE_PLANNED;
    }
    if (!rank && there) m->rank++;
    settle(f);
}

static void sequences(bool drops) {
    uint64_t passed = 0;
    for (int i = 0; i < SETTINGS; i++) {
        const struct setting *set = &settings[i];
        struct fixture f;
        struct mirror m = {.set = set, .drops = drops};
        struct rng r;
        for (int k = 0; k < KEYS; k++) m.e[k].tier = -1;
        rng_init(&r, 11, KVF_RNG_TEST, (uint64_t)i);
        fixture_open(&f, set->usable[GPU], set->usable[CPU], set->usable[NVME], set->placement, set->eviction,
                     set->promotion);
        for (int step = 0; step < 4000; step++) {
            model_step(&f, &m, &r);
            same_content(&f, &m, step);
            if (step % 16 == 0) fixture_check(&f);
        }
        assert_true(m.gone > 100);
        passed += m.passed;
        fixture_close(&f);
    }
    assert_true(passed > 100);
}

static void sequence_against_the_model(void **state) {
    (void)state;
    sequences(false);
}

static void sequence_with_drops_against_the_model(void **state) {
    (void)state;
    sequences(true);
}

/* --- many at a time --- */

static void any_order_drains(void **state) {
    (void)state;
    for (int i = 0; i < SETTINGS; i++) crowd_run(&settings[i], (uint64_t)i, false, false);
}

static void any_order_drains_with_drops(void **state) {
    (void)state;
    for (int i = 0; i < SETTINGS; i++) crowd_run(&settings[i], (uint64_t)(200 + i), false, true);
}

static void any_order_stops(void **state) {
    (void)state;
    for (int seed = 0; seed < 3; seed++) {
        for (int i = 0; i < SETTINGS; i++)
            crowd_run(&settings[i], (uint64_t)(100 + 10 * seed + i), true, seed == 2);
    }
}

/* Every policy in every tier: entries are parked, plans taken back and moves fail while it looks for victims.
 */
static void every_policy_drains(void **state) {
    (void)state;
    static const enum scenario_eviction policies[] = {
#define X(id, ...) id,
        TRAITS_POLICY_LIST(X)
#undef X
    };
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        struct setting set = settings[i % SETTINGS];
        set.eviction = policies[i];
        crowd_run(&set, 300 + i, false, true);
        crowd_run(&set, 400 + i, true, false);
    }
}

/* Nothing else uses the machine of the cache: same calls, same operations. */
static void same_calls_same_decisions(void **state) {
    (void)state;
    struct cache_stats s[2];
    memset(s, 0, sizeof s);
    for (int i = 0; i < 2; i++) {
        struct crowd *w = calloc(1, sizeof *w);
        assert_non_null(w);
        rng_init(&w->r, 31, KVF_RNG_TEST, 0);
        fixture_open(&w->f, 100, 200, 400, KVF_PLACEMENT_WATERFALL, KVF_EVICTION_LRU, KVF_PROMOTION_ON_HIT);
        for (int step = 0; step < 3000; step++) crowd_step(w, &settings[1]);
        s[i] = fixture_stats(&w->f);
        crowd_empty(w);
        fixture_close(&w->f);
        free(w);
    }
    assert_memory_equal(&s[0], &s[1], sizeof s[0]);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(sequence_against_the_model),
        cmocka_unit_test(sequence_with_drops_against_the_model),
        cmocka_unit_test(any_order_drains),
        cmocka_unit_test(any_order_drains_with_drops),
        cmocka_unit_test(any_order_stops),
        cmocka_unit_test(every_policy_drains),
        cmocka_unit_test(same_calls_same_decisions),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("cache_random", tests, NULL, NULL);
}
