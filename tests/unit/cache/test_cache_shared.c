#include "base/rng.h"
#include "tests/unit/cache_fixture.h"

/* Caches that share their remote tier: worked examples, and a crowd that does anything in any order. */

enum { REMOTE = KVF_TIER_REMOTE, CACHES = 3, LETTERS = 26, OPS = 64 };

struct crowd {
    struct fixture store, of[CACHES];
};

static void crowd_open(struct crowd *w, uint64_t gpu, uint64_t remote, enum scenario_placement placement,
                       enum scenario_eviction eviction, enum scenario_promotion promotion) {
    fixture_configure(&w->store, 0, 0, 0, placement, eviction, promotion);
    w->store.config.on[REMOTE] = true;
    w->store.config.usable_bytes[REMOTE] = remote;
    fixture_start(&w->store);
    for (int i = 0; i < CACHES; i++) {
        fixture_configure(&w->of[i], gpu, 0, 0, placement, eviction, promotion);
        w->of[i].config.on[REMOTE] = true;
        w->of[i].config.usable_bytes[REMOTE] = remote;
        w->of[i].config.shared = w->store.c;
        fixture_start(&w->of[i]);
    }
}

static void crowd_close(struct crowd *w) {
    for (int i = 0; i < CACHES; i++) fixture_close(&w->of[i]);
    fixture_close(&w->store);
}

static int look(struct crowd *w, int i, char letter) {
    cache_shared_refresh(w->of[i].c, key_of(letter));
    return where(&w->of[i], letter);
}

/* Another cache finds what fell out of the first, and reads it; nothing is there twice. */
static void found_by_others(void **state) {
    (void)state;
    struct crowd w;
    crowd_open(&w, 100, 200, KVF_PLACEMENT_WATERFALL, KVF_EVICTION_LRU, KVF_PROMOTION_NEVER);
    put(&w.of[0], 'A', 60);
    assert_int_equal(look(&w, 1, 'A'), -1);
    put(&w.of[0], 'B', 60);
    assert_int_equal(where(&w.store, 'A'), REMOTE);
    assert_int_equal(look(&w, 1, 'A'), REMOTE);
    assert_int_equal(look(&w, 1, 'B'), -1);
    assert_non_null(read_start(&w.of[1], 'A'));
    done(&w.of[1], expect_read(&w.of[1], 'A', REMOTE));
    struct cache_stats s = fixture_stats(&w.store);
    assert_int_equal(s.used_bytes[REMOTE], 60);
    assert_int_equal(s.bytes_in[REMOTE], 60);
    crowd_close(&w);
}

/* An entry that the store has is dropped without a move, and that is no eviction. */
static void falls_without_a_move(void **state) {
    (void)state;
    struct crowd w;
    struct cache_op *op;
    crowd_open(&w, 100, 200, KVF_PLACEMENT_WATERFALL, KVF_EVICTION_LRU, KVF_PROMOTION_NEVER);
    put(&w.of[0], 'A', 60);
    put(&w.of[1], 'A', 60);
    put(&w.of[0], 'B', 60);
    assert_int_equal(write_start(&w.of[1], 'C', 60, &op), CACHE_PLANNED);
    done(&w.of[1], expect_write(&w.of[1], 'C', GPU));
    expect_nothing(&w.of[1]);
    struct cache_stats s = fixture_stats(&w.of[1]);
    assert_int_equal(s.copies_dropped[GPU], 1);
    assert_int_equal(s.evictions[GPU], 0);
    assert_int_equal(s.demotions[GPU], 0);
    crowd_close(&w);
}

/* The store's order is that of all accesses: A is read by another cache, so that B makes room. */
static void order_of_all(void **state) {
    (void)state;
    struct crowd w;
    crowd_open(&w, 60, 120, KVF_PLACEMENT_WATERFALL, KVF_EVICTION_LRU, KVF_PROMOTION_NEVER);
    put(&w.of[0], 'A', 60);
    put(&w.of[0], 'B', 60);
    put(&w.of[0], 'C', 60); /* A and B are in the store */
    assert_int_equal(look(&w, 2, 'B'), REMOTE);
    assert_int_equal(look(&w, 1, 'A'), REMOTE);
    get(&w.of[1], 'A');
    put(&w.of[0], 'D', 60); /* C falls */
    assert_int_equal(where(&w.store, 'A'), REMOTE);
    assert_int_equal(where(&w.store, 'B'), -1);
    assert_int_equal(look(&w, 2, 'B'), -1);
    assert_int_equal(look(&w, 2, 'C'), REMOTE);
    assert_int_equal(fixture_stats(&w.store).evictions[REMOTE], 1);
    for (int i = 0; i < CACHES; i++) assert_int_equal(fixture_stats(&w.of[i]).evictions[REMOTE], 0);
    crowd_close(&w);
}

/* While the store is stopped a victim leaves the cache instead, and is counted. */
static void victims_of_a_stopped_store(void **state) {
    (void)state;
    struct crowd w;
    crowd_open(&w, 60, 120, KVF_PLACEMENT_WATERFALL, KVF_EVICTION_LRU, KVF_PROMOTION_NEVER);
    put(&w.of[0], 'A', 60);
    put(&w.of[0], 'B', 60); /* A falls */
    assert_int_equal(fixture_stats(&w.of[0]).outage_dropped, 0);
    cache_stop(w.store.c);
    put(&w.of[0], 'C', 60);
    assert_int_equal(look(&w, 0, 'B'), -1);
    assert_int_equal(fixture_stats(&w.of[0]).outage_dropped, 1);
    assert_int_equal(fixture_stats(&w.of[0]).evictions[GPU], 1);
    cache_restart(w.store.c, KVF_TIERS);
    put(&w.of[0], 'D', 60); /* C falls */
    assert_int_equal(look(&w, 1, 'C'), REMOTE);
    assert_int_equal(fixture_stats(&w.of[0]).outage_dropped, 1);
    crowd_close(&w);
}

/* A read outlasts its entry; the next lookup misses. */
static void read_of_what_is_dropped(void **state) {
    (void)state;
    struct crowd w;
    crowd_open(&w, 60, 60, KVF_PLACEMENT_WATERFALL, KVF_EVICTION_LRU, KVF_PROMOTION_NEVER);
    put(&w.of[0], 'A', 60);
    put(&w.of[0], 'B', 60);
    assert_int_equal(look(&w, 1, 'A'), REMOTE);
    assert_non_null(read_start(&w.of[1], 'A'));
    struct cache_op *read = expect_read(&w.of[1], 'A', REMOTE);
    put(&w.of[0], 'C', 60);
    assert_int_equal(look(&w, 1, 'A'), -1);
    fixture_check(&w.of[1]);
    done(&w.of[1], read);
    expect_nothing(&w.of[1]);
    assert_int_equal(fixture_stats(&w.of[1]).used_bytes[REMOTE], 0);
    crowd_close(&w);
}

/* An entry that goes up stays for the others. */
static void promoted_and_kept(void **state) {
    (void)state;
    struct crowd w;
    crowd_open(&w, 60, 120, KVF_PLACEMENT_WATERFALL, KVF_EVICTION_LRU, KVF_PROMOTION_ON_HIT);
    put(&w.of[0], 'A', 60);
    put(&w.of[0], 'B', 60);
    assert_int_equal(look(&w, 1, 'A'), REMOTE);
    get(&w.of[1], 'A');
    assert_int_equal(where(&w.of[1], 'A'), GPU);
    assert_int_equal(look(&w, 2, 'A'), REMOTE);
    crowd_close(&w);
}

/* Reads, writes and ends at random: every cache stays sound, and the store never holds more than it may. */
static void random_crowd(enum scenario_placement placement, enum scenario_eviction eviction,
                         enum scenario_promotion promotion, uint64_t seed) {
    struct crowd w;
    struct cache_op *op[CACHES][OPS];
    unsigned ops[CACHES] = {0};
    struct rng rng;
    crowd_open(&w, 300, 500, placement, eviction, promotion);
    rng_init(&rng, seed, KVF_RNG_ROUTER, 0);
    for (int n = 0; n < 20000; n++) {
        int i = (int)rng_range(&rng, 0, CACHES - 1);
        struct fixture *f = &w.of[i];
        char letter = (char)('A' + rng_range(&rng, 0, LETTERS - 1));
        struct cache_op *made;
        if (ops[i] < OPS / 2 && rng_range(&rng, 0, 1)) {
            if (look(&w, i, letter) >= 0)
                (void)read_start(f, letter);
            else if (write_start(f, letter, 20 + (uint64_t)letter % 40, &made) == CACHE_NO_ROOM_NOW)
                (void)cache_wait_over(f->c, made);
        } else if (ops[i] > 0) {
            unsigned which = (unsigned)rng_range(&rng, 0, ops[i] - 1);
            enum cache_outcome how = rng_range(&rng, 0, 9) ? CACHE_DONE : CACHE_FAILED;
            struct cache_op *ends = op[i][which];
            op[i][which] = op[i][--ops[i]];
            cache_finish(f->c, ends, how, how == CACHE_FAILED);
        }
        while (ops[i] < OPS && (made = cache_next_ready(f->c))) op[i][ops[i]++] = made;
        if (n % 16 == 0) fixture_check(f);
        if (n % 16 == 0) fixture_check(&w.store);
    }
    for (int i = 0; i < CACHES; i++) {
        cache_stop(w.of[i].c);
        while (ops[i] > 0) cache_finish(w.of[i].c, op[i][--ops[i]], CACHE_DONE, false);
        settle(&w.of[i]);
        assert_int_equal(cache_under_way(w.of[i].c), 0);
    }
    struct cache_stats s = fixture_stats(&w.store);
    assert_true(s.evictions[REMOTE] > 100);
    assert_true(s.used_bytes[REMOTE] > 0 && s.used_bytes[REMOTE] <= 500);
    crowd_close(&w);
}

static void anything_in_any_order(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        random_crowd(KVF_PLACEMENT_WATERFALL, KVF_EVICTION_LRU, KVF_PROMOTION_NEVER, seed);
        random_crowd(KVF_PLACEMENT_WATERFALL, KVF_EVICTION_ARC, KVF_PROMOTION_ON_HIT, seed);
        random_crowd(KVF_PLACEMENT_SPILLOVER, KVF_EVICTION_SIEVE, KVF_PROMOTION_SECOND_HIT, seed);
        random_crowd(KVF_PLACEMENT_WATERFALL, KVF_EVICTION_LEAF_LRU, KVF_PROMOTION_ON_HIT, seed);
    }
}

int main(void) {
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(found_by_others),
        cmocka_unit_test(falls_without_a_move),
        cmocka_unit_test(order_of_all),
        cmocka_unit_test(victims_of_a_stopped_store),
        cmocka_unit_test(read_of_what_is_dropped),
        cmocka_unit_test(promoted_and_kept),
        cmocka_unit_test(anything_in_any_order),
    };
    return cmocka_run_group_tests_name("cache_shared", tests, NULL, NULL);
}
