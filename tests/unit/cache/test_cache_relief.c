#include "tests/unit/cache_crowd.h"

/* Room made ahead of need: worked examples, and a crowd under every placement. Under inclusive the model of
 * test_cache_copy makes it too. */

static void marked_open(struct fixture *f, uint64_t gpu, uint64_t cpu, uint64_t nvme,
                        enum scenario_placement placement) {
    fixture_configure(f, gpu, cpu, nvme, placement, KVF_EVICTION_LRU, KVF_PROMOTION_NEVER);
    fixture_background(f, 60, 80);
    fixture_start(f);
}

/* 100 bytes, marks at 60 and 80. The fifth entry of 20 passes the high one as it is planned; A, B fall
 * before anybody needs their room, and the write does not wait for them. */
static void falls_between_the_marks(void **state) {
    (void)state;
    struct fixture f;
    struct cache_op *op;
    marked_open(&f, 100, 100, 0, KVF_PLACEMENT_WATERFALL);
    for (char k = 'A'; k <= 'D'; k++) put(&f, k, 20);
    expect_content(&f, "ABCD", "", "");
    assert_int_equal(write_start(&f, 'E', 20, &op), CACHE_PLANNED);
    assert_int_equal(op->state, CACHE_OP_READY);
    assert_ptr_equal(expect_write(&f, 'E', GPU), op);
    struct cache_op *a = expect_move(&f, 'A', GPU, CPU), *b = expect_move(&f, 'B', GPU, CPU);
    expect_nothing(&f);
    done(&f, op);
    expect_nothing(&f);
    done(&f, b);
    done(&f, a);
    expect_nothing(&f);
    expect_content(&f, "CDE", "AB", "");
    struct cache_stats s = fixture_stats(&f);
    assert_int_equal(s.room_background, 2);
    assert_int_equal(s.room_inline, 0);
    assert_int_equal(s.demotions[GPU], 2);
    put(&f, 'F', 20); /* 80 is not beyond the mark */
    expect_content(&f, "CDEF", "AB", "");
    fixture_close(&f);
}

/* The ones that fall push the tier below over its mark as well: there the coldest are dropped, A at once to
 * let F in, B and C ahead of need. */
static void the_last_tier_drops(void **state) {
    (void)state;
    struct fixture f;
    marked_open(&f, 100, 100, 0, KVF_PLACEMENT_WATERFALL);
    for (char k = 'A'; k <= 'H'; k++) put(&f, k, 20); /* A, B fall at E; C, D at G */
    expect_content(&f, "EFGH", "ABCD", "");
    put(&f, 'I', 20); /* E, F fall: cpu passes 80 and drops A, B, C */
    expect_content(&f, "GHI", "DEF", "");
    struct cache_stats s = fixture_stats(&f);
    assert_int_equal(s.evictions[CPU], 3);
    assert_int_equal(s.room_background, 2 + 2 + 2 + 2);
    fixture_close(&f);
}

/* A write that needs more than is free makes room for itself, as always. */
static void writes_fall_back_to_inline(void **state) {
    (void)state;
    struct fixture f;
    struct cache_op *op;
    marked_open(&f, 100, 200, 0, KVF_PLACEMENT_WATERFALL);
    for (char k = 'A'; k <= 'D'; k++) put(&f, k, 20);
    assert_int_equal(write_start(&f, 'E', 50, &op), CACHE_PLANNED);
    assert_int_equal(op->state, CACHE_OP_GATED);
    struct cache_op *a = expect_move(&f, 'A', GPU, CPU), *b = expect_move(&f, 'B', GPU, CPU);
    /* 90 are left, so C and D go on ahead of need */
    struct cache_op *c = expect_move(&f, 'C', GPU, CPU), *d = expect_move(&f, 'D', GPU, CPU);
    expect_nothing(&f);
    done(&f, a);
    expect_nothing(&f);
    done(&f, b);
    assert_ptr_equal(expect_write(&f, 'E', GPU), op);
    done(&f, op);
    done(&f, c);
    done(&f, d);
    expect_nothing(&f);
    struct cache_stats s = fixture_stats(&f);
    assert_int_equal(s.room_inline, 1);
    assert_int_equal(s.room_background, 2);
    expect_content(&f, "E", "ABCD", "");
    fixture_close(&f);
}

/* All in use: nothing can go. As soon as something can, it does, without a new write. */
static void entries_in_use_go_later(void **state) {
    (void)state;
    struct fixture f;
    struct cache_op *read[4], *op;
    marked_open(&f, 100, 100, 0, KVF_PLACEMENT_WATERFALL);
    for (int i = 0; i < 4; i++) put(&f, (char)('A' + i), 20);
    for (int i = 0; i < 4; i++) {
        assert_non_null(read[i] = read_start(&f, (char)('A' + i)));
        expect_read(&f, (char)('A' + i), GPU);
    }
    assert_int_equal(write_start(&f, 'E', 20, &op), CACHE_PLANNED);
    expect_write(&f, 'E', GPU);
    expect_nothing(&f);
    done(&f, read[1]);
    struct cache_op *b = expect_move(&f, 'B', GPU, CPU);
    expect_nothing(&f);
    done(&f, read[2]);
    struct cache_op *c = expect_move(&f, 'C', GPU, CPU);
    done(&f, read[0]);
    done(&f, read[3]);
    expect_nothing(&f); /* 60 are left */
    done(&f, b);
    done(&f, c);
    done(&f, op);
    expect_nothing(&f);
    expect_content(&f, "ADE", "BC", "");
    fixture_close(&f);
}

/* Nothing moves under spillover: the last tier alone is kept from being full. */
static void spillover_relieves_the_last_tier(void **state) {
    (void)state;
    struct fixture f;
    marked_open(&f, 100, 100, 0, KVF_PLACEMENT_SPILLOVER);
    for (char k = 'A'; k <= 'E'; k++) put(&f, k, 20);
    expect_content(&f, "ABCDE", "", "");
    for (char k = 'F'; k <= 'I'; k++) put(&f, k, 20);
    expect_content(&f, "ABCDE", "FGHI", "");
    put(&f, 'J', 20);
    expect_content(&f, "ABCDE", "HIJ", "");
    struct cache_stats s = fixture_stats(&f);
    assert_int_equal(s.evictions[CPU], 2);
    assert_int_equal(s.demotions[GPU], 0);
    fixture_close(&f);
}

/* With copies below, room costs no move at all. */
static void inclusive_drops_copies(void **state) {
    (void)state;
    struct fixture f;
    marked_open(&f, 100, 1000, 0, KVF_PLACEMENT_INCLUSIVE);
    for (char k = 'A'; k <= 'E'; k++) put(&f, k, 20);
    expect_content(&f, "CDE", "AB", "");
    struct cache_stats s = fixture_stats(&f);
    assert_int_equal(s.copies_dropped[GPU], 2);
    assert_int_equal(s.evictions[GPU], 0);
    assert_int_equal(s.room_background, 2);
    assert_int_equal(s.used_bytes[CPU], 100);
    fixture_close(&f);
}

/* A few at a time: 100 entries of one byte above the low mark take several calls. */
static void many_go_in_several_calls(void **state) {
    (void)state;
    struct fixture f;
    struct cache_op *op;
    marked_open(&f, 500, 0, 0, KVF_PLACEMENT_WATERFALL);
    for (uint64_t i = 0; i < 400; i++) {
        struct cache_access access = {.cause = KVF_CAUSE_PREFILL};
        assert_int_equal(cache_write(f.c, cache_key_make(CACHE_KEY_BLOCK, 1, i), 1, &access, 0, NULL, &op),
                         CACHE_PLANNED);
        settle(&f);
    }
    assert_int_equal(fixture_stats(&f).room_background, 0);
    assert_int_equal(write_start(&f, 'A', 1, &op), CACHE_PLANNED);
    expect_write(&f, 'A', GPU);
    uint64_t first = fixture_stats(&f).room_background;
    assert_true(first > 0 && first < 50);
    expect_nothing(&f);
    assert_int_equal(fixture_stats(&f).room_background, first);
    done(&f, op);
    expect_nothing(&f);
    uint64_t second = fixture_stats(&f).room_background;
    assert_true(second > first && second - first == first);
    for (int i = 0; i < 20; i++) get(&f, 'A');
    assert_int_equal(fixture_stats(&f).room_background, 101);
    assert_int_equal(fixture_stats(&f).used_bytes[GPU], 300);
    fixture_close(&f);
}

/* An entry beyond the mark by itself is read by whoever wrote it before it goes. */
static void read_before_it_goes(void **state) {
    (void)state;
    struct fixture f;
    struct cache_op *op;
    marked_open(&f, 100, 0, 0, KVF_PLACEMENT_WATERFALL);
    assert_int_equal(write_start(&f, 'A', 90, &op), CACHE_PLANNED);
    done(&f, expect_write(&f, 'A', GPU));
    assert_non_null(op = read_start(&f, 'A'));
    expect_read(&f, 'A', GPU);
    expect_nothing(&f);
    done(&f, op);
    expect_nothing(&f);
    assert_int_equal(where(&f, 'A'), -1);
    assert_int_equal(fixture_stats(&f).evictions[GPU], 1);
    fixture_close(&f);
}

static const struct setting settings[] = {
    {{100, 200, 400}, 30, KVF_PLACEMENT_WATERFALL, KVF_EVICTION_LRU, KVF_PROMOTION_NEVER},
    {{100, 200, 400}, 120, KVF_PLACEMENT_WATERFALL, KVF_EVICTION_LRU, KVF_PROMOTION_ON_HIT},
    {{200, 100, 300}, 150, KVF_PLACEMENT_WATERFALL, KVF_EVICTION_FIFO, KVF_PROMOTION_SECOND_HIT},
    {{300, 150, 80}, 100, KVF_PLACEMENT_WATERFALL, KVF_EVICTION_LRU, KVF_PROMOTION_ON_HIT},
    {{100, 200, 400}, 120, KVF_PLACEMENT_SPILLOVER, KVF_EVICTION_LRU, KVF_PROMOTION_ON_HIT},
    {{100, 200, 400}, 60, KVF_PLACEMENT_INCLUSIVE, KVF_EVICTION_LRU, KVF_PROMOTION_SECOND_HIT},
};
enum { SETTINGS = sizeof settings / sizeof *settings };

static void any_order_drains(void **state) {
    (void)state;
    for (int i = 0; i < SETTINGS; i++) {
        crowd_run_marked(&settings[i], (struct marks){60, 80}, (uint64_t)i, false, false);
        crowd_run_marked(&settings[i], (struct marks){10, 95}, (uint64_t)(40 + i), false, true);
    }
}

static void any_order_stops(void **state) {
    (void)state;
    for (int seed = 0; seed < 3; seed++) {
        for (int i = 0; i < SETTINGS; i++)
            crowd_run_marked(&settings[i], (struct marks){50, 70}, (uint64_t)(100 + 10 * seed + i), true,
                             seed == 2);
    }
}

/* One at a time, whatever is asked for: once all has settled no tier is beyond its high mark. */
static void never_beyond_the_mark_for_long(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) {
        const struct setting *set = &settings[i];
        struct fixture f;
        struct rng r;
        rng_init(&r, 17, KVF_RNG_TEST, (uint64_t)i);
        setting_open(&f, set, (struct marks){60, 80});
        for (int step = 0; step < 3000; step++) {
            struct cache_key key = number_key((int)rng_range(&r, 0, KEYS - 1));
            struct cache_access access = {.cause = KVF_CAUSE_PREFILL};
            struct cache_op *op;
            if (cache_peek(f.c, key) == CACHE_RESIDENT)
                cache_read(f.c, key, &access, 0, NULL);
            else
                cache_write(f.c, key, rng_range(&r, 1, set->size_max), &access, 0, NULL, &op);
            settle(&f);
            struct cache_stats s = fixture_stats(&f);
            for (int t = 0; t < KVF_TIERS; t++) assert_true(s.used_bytes[t] <= f.config.high_bytes[t]);
        }
        struct cache_stats s = fixture_stats(&f);
        assert_true(s.room_background > s.room_inline && s.room_inline > 0);
        fixture_close(&f);
    }
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(falls_between_the_marks),
        cmocka_unit_test(the_last_tier_drops),
        cmocka_unit_test(writes_fall_back_to_inline),
        cmocka_unit_test(entries_in_use_go_later),
        cmocka_unit_test(spillover_relieves_the_last_tier),
        cmocka_unit_test(inclusive_drops_copies),
        cmocka_unit_test(many_go_in_several_calls),
        cmocka_unit_test(read_before_it_goes),
        cmocka_unit_test(never_beyond_the_mark_for_long),
        cmocka_unit_test(any_order_drains),
        cmocka_unit_test(any_order_stops),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("cache_relief", tests, NULL, NULL);
}
