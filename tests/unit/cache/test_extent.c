#include "base/rng.h"
#include "cache/state.h"
#include "tests/unit/cache_fixture.h"

/* Two caches do the same at every step, one with extents and one without: no decision may differ. */

enum { CONTEXTS = 12, BLOCKS = 24, ACTIVE = 4096, REMOTE = KVF_TIER_REMOTE };
enum { PLAIN, EXTENTS, BOTH };

struct twin {
    struct fixture f[BOTH], store[BOTH];
    struct cache_op *active[BOTH][ACTIVE];
    int actives;
    struct rng r;
    int step;
    uint64_t moves[BOTH]; /* a hash of what the caches said of moves */
    uint32_t least;       /* live entries with extents, of 100 without */
    bool shared;
};

static uint64_t one_place(void *ctx, int tier, uint64_t bytes) {
    struct fixture *f = ctx;
    f->held[tier] += bytes;
    assert_true(f->held[tier] <= f->config.usable_bytes[tier]);
    return 0;
}

static void place_back(void *ctx, int tier, uint64_t place, uint64_t bytes) {
    struct fixture *f = ctx;
    assert_int_equal(place, 0);
    f->held[tier] -= bytes;
}

static struct twin *twin_of_test;

static void moved(void *ctx, struct cache_key key, int tier, bool stored) {
    int which = ctx == &twin_of_test->f[EXTENTS] || ctx == &twin_of_test->store[EXTENTS];
    uint64_t *hash = &twin_of_test->moves[which];
    *hash = hash_mix64(*hash ^ cache_key_hash(key) ^ (uint64_t)tier << 1 ^ stored);
}

static struct cache_key block(uint64_t context, uint64_t number) {
    return cache_key_make(CACHE_KEY_BLOCK, context, number);
}

struct way {
    enum scenario_placement placement;
    enum scenario_promotion promotion;
    int step;
    bool background, shared;
};

static void side_open(struct fixture *f, const struct way *way, int which, struct cache *store) {
    fixture_configure(f, 90, way->shared ? 0 : 150, 0, way->placement, KVF_EVICTION_LRU, way->promotion);
    f->config.on[REMOTE] = way->shared;
    f->config.usable_bytes[REMOTE] = way->shared ? 200 : 0;
    f->config.shared = store;
    f->config.alloc = one_place;
    f->config.drop = place_back;
    f->config.moved = moved;
    f->config.extents = which == EXTENTS ? way->step : 0;
    if (way->background) fixture_background(f, 70, 90);
    fixture_start(f);
}

static void twin_open(struct twin *w, const struct way *way, uint64_t seed) {
    *w = (struct twin){.step = way->step, .shared = way->shared, .least = 100};
    rng_init(&w->r, 29, KVF_RNG_TEST, seed);
    twin_of_test = w;
    for (int k = 0; k < BOTH; k++) {
        if (way->shared) {
            fixture_configure(&w->store[k], 0, 0, 0, way->placement, KVF_EVICTION_LRU, way->promotion);
            w->store[k].config.on[REMOTE] = true;
            w->store[k].config.usable_bytes[REMOTE] = 200;
            w->store[k].config.alloc = one_place;
            w->store[k].config.drop = place_back;
            w->store[k].config.moved = moved;
            w->store[k].config.extents = k == EXTENTS ? way->step : 0;
            fixture_start(&w->store[k]);
        }
        side_open(&w->f[k], way, k, w->store[k].c);
    }
}

static void same_op(const struct cache_op *a, const struct cache_op *b) {
    assert_true((a == NULL) == (b == NULL));
    if (!a) return;
    assert_true(cache_key_equal(a->key, b->key));
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->cause, b->cause);
    assert_int_equal(a->from, b->from);
    assert_int_equal(a->to, b->to);
    assert_int_equal(a->seq, b->seq);
    assert_int_equal(a->rank, b->rank);
    assert_int_equal(a->failed_wait, b->failed_wait);
}

static void twin_drain(struct twin *w) {
    struct cache_op *op[BOTH];
    do {
        for (int k = 0; k < BOTH; k++) op[k] = cache_next_ready(w->f[k].c);
        same_op(op[PLAIN], op[EXTENTS]);
        if (!op[PLAIN]) return;
        assert_true(w->actives < ACTIVE);
        for (int k = 0; k < BOTH; k++) w->active[k][w->actives] = op[k];
        w->actives++;
    } while (true);
}

static void twin_end_one(struct twin *w, bool well) {
    if (w->actives == 0) return;
    /* mostly in the order in which they came out */
    int at = rng_range(&w->r, 0, 3) ? 0 : (int)rng_range(&w->r, 0, (uint64_t)w->actives - 1);
    uint64_t dice = well ? 99 : rng_range(&w->r, 0, 99);
    w->actives--;
    for (int k = 0; k < BOTH; k++) {
        struct cache_op *op = w->active[k][at];
        memmove(&w->active[k][at], &w->active[k][at + 1],
                (size_t)(w->actives - at) * sizeof(struct cache_op *));
        enum cache_outcome outcome = dice < 2 ? CACHE_FAILED : dice < 4 ? CACHE_LOST : CACHE_DONE;
        if (op->kind == CACHE_OP_WRITE && outcome == CACHE_LOST) outcome = CACHE_FAILED;
        if (op->failed_wait) outcome = CACHE_ABANDONED;
        cache_finish(w->f[k].c, op, outcome, dice < 1);
    }
}

/* A request reads what is there of its context, and writes the rest. */
static void twin_request(struct twin *w) {
    uint64_t context = rng_range(&w->r, 0, CONTEXTS - 1), blocks = rng_range(&w->r, 1, BLOCKS);
    uint64_t klass = rng_range(&w->r, 0, 9) / 9;
    if (w->actives > 200) return;
    for (int k = 0; k < BOTH; k++) {
        struct cache *c = w->f[k].c;
        uint64_t rank = cache_ranks(c, blocks);
        if (w->shared)
            for (uint64_t i = 0; i < blocks; i++) cache_shared_refresh(c, block(context, i));
        for (uint64_t i = 0; i < blocks; i++) {
            uint64_t number = w->step > 0 ? i : blocks - 1 - i;
            struct cache_access access = {
                .cause = KVF_CAUSE_PREFILL, .klass = (uint8_t)klass, .rank = rank + i};
            struct cache_op *op;
            enum cache_presence at = cache_peek(c, block(context, number));
            if (at == CACHE_RESIDENT)
                assert_non_null(cache_read(c, block(context, number), &access, 0, NULL));
            else if (at == CACHE_ABSENT)
                cache_write(c, block(context, number), 1, &access, 0, NULL, &op);
        }
    }
}

static void twin_look(struct twin *w) {
    struct cache_stats s[BOTH];
    for (int k = 0; k < BOTH; k++) {
        fixture_check(&w->f[k]);
        if (w->shared) fixture_check(&w->store[k]);
        cache_stats(w->f[k].c, &s[k]);
    }
    assert_memory_equal(&s[PLAIN], &s[EXTENTS], sizeof s[PLAIN]);
    assert_int_equal(w->moves[PLAIN], w->moves[EXTENTS]);
    for (uint64_t c = 0; c < CONTEXTS; c++)
        for (uint64_t i = 0; i < BLOCKS; i++)
            assert_int_equal(cache_where(w->f[PLAIN].c, block(c, i)),
                             cache_where(w->f[EXTENTS].c, block(c, i)));
    uint32_t all = w->f[PLAIN].c->entries.live, some = w->f[EXTENTS].c->entries.live;
    if (all > 100 && some * 100 / all < w->least) w->least = some * 100 / all;
}

static void twin_step(struct twin *w) {
    uint64_t what = rng_range(&w->r, 0, 99);
    struct cache_key key = block(rng_range(&w->r, 0, CONTEXTS - 1), rng_range(&w->r, 0, BLOCKS - 1));
    if (what < 6)
        twin_request(w);
    else if (what < 96)
        twin_end_one(w, false);
    else
        for (int k = 0; k < BOTH; k++) {
            if (what < 98)
                cache_touch(w->f[k].c, key, &(struct cache_access){0});
            else
                cache_drop(w->f[k].c, key);
        }
    twin_drain(w);
}

static void twin_run(const struct way *way, uint64_t seed) {
    struct twin *w = calloc(1, sizeof *w);
    assert_non_null(w);
    twin_open(w, way, seed);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 4000; i++) {
            twin_step(w);
            if (i % 20 == 0) twin_look(w);
        }
        while (w->actives > 0) {
            twin_end_one(w, true);
            twin_drain(w);
        }
        twin_look(w);
        for (int k = 0; k < BOTH && round == 1; k++) cache_clear(w->f[k].c);
        w->moves[EXTENTS] = w->moves[PLAIN]; /* it clears in no particular order */
    }
    if (w->least > 50) fail_msg("%u of 100 entries are left: hardly any extents were made", w->least);
    for (int k = 0; k < BOTH; k++) {
        fixture_close(&w->f[k]);
        if (way->shared) fixture_close(&w->store[k]);
    }
    free(w);
}

static void decisions_are_those_without(void **state) {
    (void)state;
    static const struct way ways[] = {
        {KVF_PLACEMENT_WATERFALL, KVF_PROMOTION_NEVER, -1, false, false},
        {KVF_PLACEMENT_WATERFALL, KVF_PROMOTION_ON_HIT, -1, false, false},
        {KVF_PLACEMENT_WATERFALL, KVF_PROMOTION_SECOND_HIT, 1, false, false},
        {KVF_PLACEMENT_WATERFALL, KVF_PROMOTION_ON_HIT, 1, true, false},
        {KVF_PLACEMENT_SPILLOVER, KVF_PROMOTION_ON_HIT, -1, false, false},
        {KVF_PLACEMENT_WATERFALL, KVF_PROMOTION_ON_HIT, -1, false, true},
        {KVF_PLACEMENT_WATERFALL, KVF_PROMOTION_NEVER, 1, false, true},
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) twin_run(&ways[i], i);
}

/* Where a policy wants more of its entries than a place in line, or a key has several, there are none. */
static void only_where_they_can_be(void **state) {
    (void)state;
    static const struct {
        enum scenario_placement placement;
        enum scenario_eviction eviction;
        bool can;
    } cases[] = {{KVF_PLACEMENT_WATERFALL, KVF_EVICTION_LRU, true},
                 {KVF_PLACEMENT_INCLUSIVE, KVF_EVICTION_LRU, false},
                 {KVF_PLACEMENT_WATERFALL, KVF_EVICTION_FIFO, false},
                 {KVF_PLACEMENT_WATERFALL, KVF_EVICTION_ARC, false},
                 {KVF_PLACEMENT_WATERFALL, KVF_EVICTION_LEAF_LRU, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture f;
        fixture_configure(&f, 100, 0, 0, cases[i].placement, cases[i].eviction, KVF_PROMOTION_NEVER);
        f.config.alloc = one_place;
        f.config.drop = place_back;
        f.config.extents = 1;
        fixture_start(&f);
        for (uint64_t k = 0; k < 10; k++) {
            struct cache_op *op;
            assert_int_equal(
                cache_write(f.c, block(1, k), 1, &(struct cache_access){.rank = 0}, 0, NULL, &op),
                CACHE_PLANNED);
            assert_ptr_equal(cache_next_ready(f.c), op);
            done(&f, op);
        }
        assert_int_equal(f.c->entries.live, cases[i].can ? 1 : 10);
        fixture_close(&f);
    }
}

/* A block in the middle comes alone, what is before it and behind it stays together. */
static void a_block_in_the_middle(void **state) {
    (void)state;
    struct fixture f;
    fixture_configure(&f, 100, 0, 0, KVF_PLACEMENT_WATERFALL, KVF_EVICTION_LRU, KVF_PROMOTION_NEVER);
    f.config.alloc = one_place;
    f.config.drop = place_back;
    f.config.extents = 1;
    fixture_start(&f);
    for (uint64_t k = 0; k < 100; k++) {
        struct cache_op *op;
        cache_write(f.c, block(1, k), 1, &(struct cache_access){.rank = 0}, 0, NULL, &op);
        done(&f, cache_next_ready(f.c));
    }
    assert_int_equal(f.c->entries.live, 1);
    assert_true(cache_drop(f.c, block(1, 30)) && cache_drop(f.c, block(1, 70)));
    assert_int_equal(f.c->entries.live, 3);
    fixture_check(&f);
    cache_touch(f.c, block(1, 50), &(struct cache_access){0});
    assert_int_equal(f.c->entries.live, 5);
    for (uint64_t k = 0; k < 100; k++)
        assert_int_equal(cache_where(f.c, block(1, k)), k == 30 || k == 70 ? -1 : GPU);
    fixture_check(&f);
    cache_clear(f.c);
    assert_int_equal(f.c->entries.live, 0);
    assert_int_equal(fixture_stats(&f).used_bytes[GPU], 0);
    fixture_close(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decisions_are_those_without),
        cmocka_unit_test(only_where_they_can_be),
        cmocka_unit_test(a_block_in_the_middle),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
