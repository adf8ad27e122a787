#include "tests/unit/policy_fixture.h"

static void link_letters(struct fixture *f, const char *blocks) {
    for (; blocks[1]; blocks++) cache_link(f->c, key_of(blocks[1]), key_of(blocks[0]));
}

/* A B C follow one another, and A D. The last accessed is C. E puts D out, a leaf, though A and B were
 * accessed before; F puts C out, the only leaf but E, G E, and with F and G accessed again B and A fall in
 * turn. */
static void worked_example(void **state) {
    (void)state;
    struct fixture f;
    example_open(&f, KVF_EVICTION_LEAF_LRU, 4);
    example_accesses(&f, "ABDC");
    link_letters(&f, "ABC");
    link_letters(&f, "AD");
    fixture_check(&f);
    example_accesses(&f, "E");
    expect_content(&f, "", "ABCE", "");
    example_accesses(&f, "F");
    expect_content(&f, "", "ABEF", "");
    example_accesses(&f, "G");
    expect_content(&f, "", "AEFG", "");
    example_accesses(&f, "H");
    expect_content(&f, "", "EFGH", "");
    fixture_close(&f);
}

/* A block that is written anew gets its blocks behind back when it is linked to them. */
static void written_anew(void **state) {
    (void)state;
    struct fixture f;
    example_open(&f, KVF_EVICTION_LEAF_LRU, 3);
    example_accesses(&f, "AB");
    link_letters(&f, "AB");
    assert_true(cache_drop(f.c, key_of('A')));
    fixture_check(&f);
    example_accesses(&f, "AB"); /* B more recent than A */
    example_accesses(&f, "CD");
    expect_content(&f, "", "BCD", "");
    assert_true(cache_drop(f.c, key_of('C')));
    assert_true(cache_drop(f.c, key_of('D')));
    example_accesses(&f, "AB");
    link_letters(&f, "AB");
    example_accesses(&f, "CD");
    expect_content(&f, "", "ACD", "");
    fixture_close(&f);
}

/* In circles there are no leaves, and room is made all the same. */
static void circle(void **state) {
    (void)state;
    struct fixture f;
    example_open(&f, KVF_EVICTION_LEAF_LRU, 3);
    example_accesses(&f, "ABC");
    link_letters(&f, "ABCA");
    example_accesses(&f, "D");
    expect_content(&f, "", "BCD", "");
    fixture_close(&f);
}

static int victim(struct mirror *m, int t, int incoming) {
    (void)incoming;
    int best = -1;
    for (int k = 0; k < KEYS; k++) {
        bool leaf = item_in(m, t, k);
        for (int child = 0; child < KEYS; child++)
            leaf = leaf && !(tree_parent(child) == k && item_in(m, t, child));
        if (leaf && (best < 0 || m->e[k].pos < m->e[best].pos)) best = k;
    }
    return best;
}

static const struct policy_model model = {.eviction = KVF_EVICTION_LEAF_LRU,
                                          .arrive = lru_position,
                                          .access = lru_position,
                                          .victim = victim,
                                          .tree = true};

POLICY_TESTS(policy_leaf_lru, model, NULL, cmocka_unit_test(worked_example), cmocka_unit_test(written_anew),
             cmocka_unit_test(circle))
