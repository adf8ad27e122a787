#include "tests/unit/policy_fixture.h"

enum { TTL_MS = 15 };

static void configure(struct cache_config *c) {
    c->ttl_ns = TTL_MS * KVF_NS_PER_MS;
}

static void example_ttl(struct fixture *f) {
    struct err e = {0};
    example_open(f, KVF_EVICTION_TTL, 3);
    cache_close(f->c);
    configure(&f->config);
    f->c = cache_open(&f->config, &e);
    assert_non_null(f->c);
}

/* Fifteen milliseconds. A comes at 0 and B at 10; A is read at 14. At 24 both are there, at 25 B is gone, at
 * 29 A is. Nothing falls before its time while there is room; then the one whose time is up first does. */
static void worked_example(void **state) {
    (void)state;
    struct fixture f;
    example_ttl(&f);
    example_accesses(&f, "A");
    cache_time(f.c, 10 * KVF_NS_PER_MS);
    example_accesses(&f, "B");
    cache_time(f.c, 14 * KVF_NS_PER_MS);
    example_accesses(&f, "A");
    cache_time(f.c, 24 * KVF_NS_PER_MS);
    expect_content(&f, "", "AB", "");
    cache_time(f.c, 25 * KVF_NS_PER_MS);
    expect_content(&f, "", "A", "");
    assert_int_equal(fixture_stats(&f).evictions[CPU], 1);
    cache_time(f.c, 28 * KVF_NS_PER_MS);
    example_accesses(&f, "CDE");
    expect_content(&f, "", "CDE", "");
    cache_time(f.c, 43 * KVF_NS_PER_MS);
    expect_content(&f, "", "", "");
    fixture_close(&f);
}

/* An entry that is being read when its time is up goes when its reader has left. */
static void in_use(void **state) {
    (void)state;
    struct fixture f;
    example_ttl(&f);
    example_accesses(&f, "A");
    read_start(&f, 'A');
    struct cache_op *op = expect_read(&f, 'A', CPU);
    cache_time(f.c, 99 * KVF_NS_PER_MS);
    expect_content(&f, "", "A", "");
    fixture_check(&f);
    done(&f, op);
    cache_time(f.c, 99 * KVF_NS_PER_MS);
    expect_content(&f, "", "", "");
    fixture_close(&f);
}

/* 10,000 hours of warmup and 10,000 of run: at the end as at the beginning. */
static void the_longest_run(void **state) {
    const uint64_t end = 20000 * UINT64_C(3600) * KVF_NS_PER_S;
    (void)state;
    struct fixture f;
    example_ttl(&f);
    cache_time(f.c, end - 20 * KVF_NS_PER_MS);
    example_accesses(&f, "A");
    cache_time(f.c, end - 10 * KVF_NS_PER_MS);
    example_accesses(&f, "B");
    expect_content(&f, "", "AB", "");
    cache_time(f.c, end);
    expect_content(&f, "", "B", "");
    fixture_close(&f);
}

/* A waiting write gets the room that expiry has freed. */
static void room_for_who_waits(void **state) {
    (void)state;
    struct fixture f;
    struct cache_op *pin[3], *op;
    example_ttl(&f);
    example_accesses(&f, "ABC");
    for (int i = 0; i < 3; i++) read_start(&f, "ABC"[i]);
    for (int i = 0; i < 3; i++) pin[i] = expect_read(&f, "ABC"[i], CPU);
    assert_int_equal(write_start(&f, 'D', 300, &op), CACHE_NO_ROOM_NOW);
    for (int i = 0; i < 2; i++) done(&f, pin[i]);
    cache_time(f.c, 15 * KVF_NS_PER_MS);
    expect_content(&f, "", "C", "");
    done(&f, pin[2]);
    expect_write(&f, 'D', CPU);
    done(&f, op);
    expect_content(&f, "", "D", "");
    fixture_close(&f);
}

static void place(struct mirror *m, int t, int k) {
    item_append(m, t, k, 0);
    m->e[k].at = m->now;
}

static int victim(struct mirror *m, int t, int incoming) {
    (void)incoming;
    return item_lowest(m, t, 0);
}

static int expired(struct mirror *m, int t) {
    for (int k = 0; k < KEYS; k++) {
        if (item_in(m, t, k) && m->e[k].at + TTL_MS * KVF_NS_PER_MS <= m->now) return k;
    }
    return -1;
}

static const struct policy_model model = {.eviction = KVF_EVICTION_TTL,
                                          .arrive = place,
                                          .access = place,
                                          .victim = victim,
                                          .expired = expired,
                                          .configure = configure};

POLICY_TESTS(policy_ttl, model, NULL, cmocka_unit_test(worked_example), cmocka_unit_test(in_use),
             cmocka_unit_test(the_longest_run), cmocka_unit_test(room_for_who_waits))
