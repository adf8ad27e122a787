#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "cache/index.h"
#include "cache/order.h"

enum { N = 400 };

/* The model: ranks in an array, the order found by sorting. */
struct pair {
    uint64_t rank;
    uint32_t entry;
};

static int pair_compare(const void *a, const void *b) {
    const struct pair *x = a, *y = b;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    return x->entry < y->entry ? -1 : x->entry > y->entry;
}

static void same_as_sorted(const struct order *o, const uint64_t *rank, const bool *in) {
    struct pair want[N];
    size_t n = 0;
    for (uint32_t i = 0; i < N; i++) {
        if (in[i]) want[n++] = (struct pair){rank[i], i};
    }
    qsort(want, n, sizeof *want, pair_compare);
    assert_true(order_check(o));
    assert_int_equal(order_count(o), n);
    uint32_t at = order_first(o);
    for (size_t i = 0; i < n; i++, at = order_next(o, at)) assert_int_equal(at, want[i].entry);
    assert_int_equal(at, POLICY_END);
}

/* Behind an entry of the same rank, if nothing has to stand between them. */
static void beside_where_it_belongs(struct order *o, struct policy_node *nodes, struct pair p, uint64_t *rank,
                                    bool *in) {
    for (uint32_t at = 0; at < p.entry; at++) {
        if (!in[at]) continue;
        uint32_t next = order_next(o, at);
        nodes[p.entry].rank = rank[at];
        if (next != POLICY_END && !policy_before(nodes, p.entry, next)) continue;
        bool listed = order_neighbour(o, at, true) == next;
        order_beside(o, p.entry, at, true);
        rank[p.entry] = rank[at];
        in[p.entry] = true;
        if (listed && order_neighbour(o, p.entry, false) != POLICY_END)
            assert_int_equal(order_neighbour(o, p.entry, false), at);
        return;
    }
}

static void against_a_sorted_array(void **state) {
    (void)state;
    static struct policy_node storage[N];
    struct policy_node *nodes = storage;
    struct order o;
    struct rng r;
    uint64_t rank[N] = {0}, newest = 1;
    bool in[N] = {false};
    rng_init(&r, 7, KVF_RNG_TEST, 0);
    order_init(&o, &nodes);
    for (int step = 0; step < 20000; step++) {
        uint32_t e = (uint32_t)rng_range(&r, 0, N - 1);
        /* Mostly appended, sometimes anywhere, often with equal ranks. */
        uint64_t to = rng_range(&r, 0, 9) < 6 ? ++newest : rng_range(&r, 0, newest + 3);
        if (!in[e]) {
            order_insert(&o, e, to);
            rank[e] = to;
            in[e] = true;
        } else if (rng_range(&r, 0, 1)) {
            order_remove(&o, e);
            if (rng_range(&r, 0, 1)) {
                order_restore(&o, e);
                continue;
            }
            in[e] = false;
            beside_where_it_belongs(&o, nodes, (struct pair){rank[e], e}, rank, in);
        } else {
            order_move(&o, e, to);
            rank[e] = to;
        }
        if (step % 50 == 0) same_as_sorted(&o, rank, in);
    }
    same_as_sorted(&o, rank, in);
    assert_true(o.listed > 0 && o.rest.count > 0);
}

static void emptied_from_the_front(void **state) {
    (void)state;
    static struct policy_node storage[N];
    struct policy_node *nodes = storage;
    struct order o;
    order_init(&o, &nodes);
    assert_int_equal(order_first(&o), POLICY_END);
    assert_true(order_check(&o));
    for (uint32_t i = 0; i < N; i++) order_insert(&o, (i * 37) % N, i);
    for (uint32_t i = 0; i < N; i++) {
        assert_int_equal(order_first(&o), (i * 37) % N);
        order_remove(&o, order_first(&o));
        assert_true(order_check(&o));
    }
    assert_int_equal(order_first(&o), POLICY_END);
}

/* The same for the treap alone, whose shape depends on the content. */
static void shape_depends_on_content_alone(void **state) {
    (void)state;
    static struct policy_node a[N], b[N];
    struct policy_node *pa = a, *pb = b;
    struct treap ta, tb;
    treap_init(&ta, &pa);
    treap_init(&tb, &pb);
    for (uint32_t i = 0; i < N; i++) a[i].rank = b[i].rank = i / 3;
    for (uint32_t i = 0; i < N; i++) treap_insert(&ta, i);
    for (uint32_t i = N; i-- > 0;) treap_insert(&tb, i);
    treap_remove(&tb, 5);
    treap_remove(&tb, 6);
    treap_insert(&tb, 6);
    treap_insert(&tb, 5);
    assert_true(treap_check(&ta) && treap_check(&tb));
    assert_int_equal(ta.root, tb.root);
    for (uint32_t i = 0; i < N; i++) {
        assert_true(a[i].rank == b[i].rank && a[i].parent == b[i].parent);
        assert_true(a[i].left == b[i].left && a[i].right == b[i].right);
    }
}

/* Nodes may move between calls: they are found through the owner's pointer each time. */
static void nodes_may_move(void **state) {
    (void)state;
    struct policy_node *nodes = calloc(1, sizeof *nodes);
    assert_non_null(nodes);
    struct order o;
    order_init(&o, &nodes);
    for (uint32_t i = 0; i < 100; i++) {
        struct policy_node *moved = malloc((i + 1) * sizeof *moved);
        assert_non_null(moved);
        memcpy(moved, nodes, i * sizeof *moved);
        free(nodes);
        nodes = moved;
        order_insert(&o, i, 100 - i);
    }
    assert_true(order_check(&o));
    assert_int_equal(order_first(&o), 99);
    free(nodes);
}

/* Damage of each kind is seen. */
static void check_sees_damage(void **state) {
    (void)state;
    static struct policy_node storage[9];
    struct policy_node *nodes = storage;
    struct order o;
    order_init(&o, &nodes);
    for (uint32_t i = 0; i < 8; i++) order_insert(&o, i, 10 * i);
    assert_true(order_check(&o));
    o.listed++;
    assert_false(order_check(&o));
    o.listed--;
    nodes[3].rank = 75;
    assert_false(order_check(&o));
    nodes[3].rank = 30;
    o.head = 1;
    assert_false(order_check(&o));
    o.head = 0;
    assert_true(order_check(&o));
    treap_insert(&o.rest, 8);
    assert_true(order_check(&o));
    o.rest.count++;
    assert_false(order_check(&o));
}

/* Keys that collide, growth in steps, removal while growing: against presence in an array. */
static void index_against_an_array(void **state) {
    (void)state;
    enum { KEYS = 6000 };
    struct entry_pool pool = {0};
    struct index ix;
    struct rng r;
    static uint32_t held[KEYS];
    rng_init(&r, 3, KVF_RNG_TEST, 1);
    index_init(&ix, &pool);
    for (int i = 0; i < KEYS; i++) held[i] = ENTRY_NONE;
    for (int step = 0; step < 60000; step++) {
        uint64_t k = rng_range(&r, 0, KEYS - 1);
        /* Equal lo, other hi: only the exact comparison tells some of them apart. */
        struct cache_key key = cache_key_make(CACHE_KEY_TURN, k / 64, k % 64);
        assert_int_equal(index_find(&ix, key), held[k]);
        if (held[k] == ENTRY_NONE) {
            uint32_t i = pool_entry_take(&pool);
            entry_at(&pool, i)->key = key;
            index_insert(&ix, i);
            held[k] = i;
        } else if (rng_range(&r, 0, 3) == 0) {
            index_remove(&ix, held[k]);
            pool_entry_give(&pool, held[k]);
            held[k] = ENTRY_NONE;
        }
        assert_int_equal(index_count(&ix), pool.live);
    }
    assert_true(pool.live > 1024);
    for (uint64_t k = 0; k < KEYS; k++)
        assert_int_equal(index_find(&ix, cache_key_make(CACHE_KEY_TURN, k / 64, k % 64)), held[k]);
    index_close(&ix);
    pool_entries_close(&pool);
}

/* So many keys that hashes of 32 bits coincide: what is not there is not found all the same. */
static void index_tells_equal_hashes_apart(void **state) {
    (void)state;
    enum { HELD = 100000, ASKED = 300000 };
    struct entry_pool pool = {0};
    struct index ix;
    index_init(&ix, &pool);
    for (uint64_t k = 0; k < HELD; k++) {
        uint32_t i = pool_entry_take(&pool);
        entry_at(&pool, i)->key = cache_key_make(CACHE_KEY_BLOCK, 1, k);
        index_insert(&ix, i);
    }
    for (uint64_t k = 0; k < ASKED; k++)
        assert_int_equal(index_find(&ix, cache_key_make(CACHE_KEY_BLOCK, 2, k)), ENTRY_NONE);
    index_close(&ix);
    pool_entries_close(&pool);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_a_sorted_array),
        cmocka_unit_test(emptied_from_the_front),
        cmocka_unit_test(shape_depends_on_content_alone),
        cmocka_unit_test(nodes_may_move),
        cmocka_unit_test(check_sees_damage),
        cmocka_unit_test(index_against_an_array),
        cmocka_unit_test(index_tells_equal_hashes_apart),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("cache_order", tests, NULL, NULL);
}
