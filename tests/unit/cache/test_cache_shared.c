#include "base/rng.h"
#include "tests/unit/cache_fixture.h"

/* Caches that share their remote tier: worked examples, and a crowd that does anything in any order. */

enum { REMOTE = KVF_TIER_REMOTE, CACHES = 3, LETTERS = 26, OPS = 64 };

struct crowd {
    struct fixture store, of[CACHES];
    struct cache_note answer[LETTERS]; /* of a store that is elsewhere, as last asked */
};

/* On their way to a store that is elsewhere. */
static struct cache_note news[256];
static unsigned told, heard;

static void tell(void *ctx, const struct cache_note *note) {
    (void)ctx;
    news[told++ % 256] = *note;
}

static void store_hears(struct crowd *w, unsigned most) {
    for (; heard < told && most > 0; most--) cache_shared_note(w->store.c, &news[heard++ % 256]);
}

static void crowd_open_as(struct crowd *w, uint64_t gpu, uint64_t remote, enum scenario_placement placement,
                          enum scenario_eviction eviction, enum scenario_promotion promotion, bool far) {
    heard = told;
    for (int i = 0; i < LETTERS; i++)
        w->answer[i] = (struct cache_note){.key = key_of((char)('A' + i)), .kind = CACHE_NOTE_NONE};
    fixture_configure(&w->store, 0, 0, 0, placement, eviction, promotion);
    w->store.config.on[REMOTE] = true;
    w->store.config.usable_bytes[REMOTE] = remote;
    fixture_start(&w->store);
    for (int i = 0; i < CACHES; i++) {
        fixture_configure(&w->of[i], gpu, 0, 0, placement, eviction, promotion);
        w->of[i].config.on[REMOTE] = true;
        w->of[i].config.usable_bytes[REMOTE] = remote;
        if (far)
            w->of[i].config.tell = tell;
        else
            w->of[i].config.shared = w->store.c;
        fixture_start(&w->of[i]);
    }
}

static void crowd_open(struct crowd *w, uint64_t gpu, uint64_t remote, enum scenario_placement placement,
                       enum scenario_eviction eviction, enum scenario_promotion promotion) {
    crowd_open_as(w, gpu, remote, placement, eviction, promotion, false);
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

/* A store that is elsewhere has what it has heard of, and a cache what the store has answered. A read that
 * comes too late for an entry drops it here, and one that the store already has is not put there again. */
static void told_and_answered(void **state) {
    (void)state;
    struct crowd w;
    crowd_open_as(&w, 60, 60, KVF_PLACEMENT_WATERFALL, KVF_EVICTION_LRU, KVF_PROMOTION_NEVER, true);
    put(&w.of[0], 'A', 60);
    put(&w.of[0], 'B', 60); /* A falls */
    struct cache_note early = cache_shared_find(w.store.c, key_of('A'));
    assert_int_equal(early.kind, CACHE_NOTE_NONE);
    assert_int_equal(where(&w.store, 'A'), -1);
    store_hears(&w, 1);
    struct cache_note found = cache_shared_find(w.store.c, key_of('A'));
    assert_int_equal(found.kind, CACHE_NOTE_PUT);
    assert_int_equal(found.bytes, 60);
    cache_shared_found(w.of[1].c, &found);
    assert_int_equal(where(&w.of[1], 'A'), REMOTE);
    assert_non_null(read_start(&w.of[1], 'A'));
    struct cache_op *read = expect_read(&w.of[1], 'A', REMOTE);
    put(&w.of[0], 'C', 60); /* B falls, and pushes A out */
    store_hears(&w, 2);     /* of the access, and of B */
    assert_int_equal(where(&w.store, 'A'), -1);
    cache_finish(w.of[1].c, read, CACHE_LOST, false);
    assert_int_equal(where(&w.of[1], 'A'), -1);
    assert_int_equal(fixture_stats(&w.of[1]).used_bytes[REMOTE], 0);
    assert_int_equal(heard, told);
    cache_shared_found(w.of[2].c, &found); /* an answer that is out of date */
    assert_int_equal(where(&w.of[2], 'A'), REMOTE);
    cache_shared_found(w.of[2].c, &early);
    assert_int_equal(where(&w.of[2], 'A'), -1);
    crowd_close(&w);
}

/* An entry on its way to a store that takes nothing is dropped, and counted; one that it has is kept there
 * once. */
static void refused_or_kept_elsewhere(void **state) {
    (void)state;
    struct crowd w;
    struct cache_op *op;
    crowd_open_as(&w, 60, 120, KVF_PLACEMENT_WATERFALL, KVF_EVICTION_LRU, KVF_PROMOTION_NEVER, true);
    put(&w.of[0], 'A', 60);
    assert_int_equal(write_start(&w.of[0], 'B', 60, &op), CACHE_PLANNED);
    cache_finish(w.of[0].c, expect_move(&w.of[0], 'A', GPU, REMOTE), CACHE_LOST, false);
    done(&w.of[0], expect_write(&w.of[0], 'B', GPU));
    assert_int_equal(where(&w.of[0], 'A'), -1);
    assert_int_equal(fixture_stats(&w.of[0]).outage_dropped, 1);
    assert_int_equal(fixture_stats(&w.of[0]).move_errors, 0);
    assert_int_equal(write_start(&w.of[0], 'C', 60, &op), CACHE_PLANNED);
    op = expect_move(&w.of[0], 'B', GPU, REMOTE);
    op->kept = true;
    done(&w.of[0], op);
    done(&w.of[0], expect_write(&w.of[0], 'C', GPU));
    assert_int_equal(where(&w.of[0], 'B'), REMOTE);
    assert_int_equal(heard, told);
    fixture_check(&w.of[0]);
    crowd_close(&w);
}

static int look_far(struct crowd *w, int i, char letter, bool ask) {
    struct cache_note *a = &w->answer[letter - 'A'];
    if (ask) *a = cache_shared_find(w->store.c, key_of(letter));
    cache_shared_found(w->of[i].c, a);
    return where(&w->of[i], letter);
}

/* As the store would have it. */
static enum cache_outcome far_outcome(const struct crowd *w, struct cache_op *op) {
    bool has = cache_peek(w->store.c, op->key) == CACHE_RESIDENT;
    op->kept = op->to == REMOTE && has;
    return op->from == REMOTE && !has ? CACHE_LOST : CACHE_DONE;
}

/* Reads, writes and ends at random: every cache stays sound, and the store never holds more than it may. */
static void random_crowd(enum scenario_placement placement, enum scenario_eviction eviction,
                         enum scenario_promotion promotion, uint64_t seed, bool far) {
    struct crowd w;
    struct cache_op *op[CACHES][OPS];
    unsigned ops[CACHES] = {0}, lost = 0;
    struct rng rng;
    crowd_open_as(&w, 300, 500, placement, eviction, promotion, far);
    rng_init(&rng, seed, KVF_RNG_ROUTER, 0);
    for (int n = 0; n < 20000; n++) {
        int i = (int)rng_range(&rng, 0, CACHES - 1);
        struct fixture *f = &w.of[i];
        char letter = (char)('A' + rng_range(&rng, 0, LETTERS - 1));
        struct cache_op *made;
        if (ops[i] < OPS / 2 && rng_range(&rng, 0, 1)) {
            if ((far ? look_far(&w, i, letter, rng_range(&rng, 0, 1)) : look(&w, i, letter)) >= 0)
                (void)read_start(f, letter);
            else if (write_start(f, letter, 20 + (uint64_t)letter % 40, &made) == CACHE_NO_ROOM_NOW)
                (void)cache_wait_over(f->c, made);
        } else if (ops[i] > 0) {
            unsigned which = (unsigned)rng_range(&rng, 0, ops[i] - 1);
            enum cache_outcome how = rng_range(&rng, 0, 9) ? CACHE_DONE : CACHE_FAILED;
            struct cache_op *ends = op[i][which];
            op[i][which] = op[i][--ops[i]];
            if (far && how == CACHE_DONE) how = far_outcome(&w, ends);
            lost += how == CACHE_LOST;
            cache_finish(f->c, ends, how, how == CACHE_FAILED);
        }
        while (ops[i] < OPS && (made = cache_next_ready(f->c))) op[i][ops[i]++] = made;
        if (told - heard > 100 || rng_range(&rng, 0, 1)) store_hears(&w, (unsigned)rng_range(&rng, 1, 8));
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
    assert_true(s.evictions[REMOTE] > 100 && (lost > 100) == far);
    assert_true(s.used_bytes[REMOTE] > 0 && s.used_bytes[REMOTE] <= 500);
    crowd_close(&w);
}

static void anything_in_any_order(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        bool far = seed % 2 == 0;
        random_crowd(KVF_PLACEMENT_WATERFALL, KVF_EVICTION_LRU, KVF_PROMOTION_NEVER, seed, far);
        random_crowd(KVF_PLACEMENT_WATERFALL, KVF_EVICTION_ARC, KVF_PROMOTION_ON_HIT, seed, far);
        random_crowd(KVF_PLACEMENT_SPILLOVER, KVF_EVICTION_SIEVE, KVF_PROMOTION_SECOND_HIT, seed, far);
        random_crowd(KVF_PLACEMENT_WATERFALL, KVF_EVICTION_LEAF_LRU, KVF_PROMOTION_ON_HIT, seed, far);
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
        cmocka_unit_test(told_and_answered),
        cmocka_unit_test(refused_or_kept_elsewhere),
        cmocka_unit_test(anything_in_any_order),
    };
    return cmocka_run_group_tests_name("cache_shared", tests, NULL, NULL);
}
