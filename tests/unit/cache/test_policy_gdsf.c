#include "tests/unit/policy_fixture.h"

/* A of 2 MiB is worth 1.5 an access, B of 1 MiB 2, C of 256 KiB 5. With 3.25 MiB all fit. D of 1 MiB puts A
 * out: the age is 1.5, D is worth 3.5. A comes back: B, 2, goes, the age is 2 and A worth 3.5, as D is, which
 * was accessed before. E of 2 MiB needs more than D leaves: A goes too; C, worth 5, stays. */
static void worked_example(void **state) {
    (void)state;
    struct fixture f;
    struct cache_op *op;
    static const struct {
        char letter;
        uint64_t quarters;
        const char *content;
    } writes[] = {{'A', 8, "A"},   {'B', 4, "AB"},  {'C', 1, "ABC"},
                  {'D', 4, "BCD"}, {'A', 8, "ACD"}, {'E', 8, "CE"}};
    fixture_open(&f, 0, 13 << 18, 0, KVF_PLACEMENT_WATERFALL, KVF_EVICTION_GDSF, KVF_PROMOTION_NEVER);
    for (size_t i = 0; i < sizeof writes / sizeof writes[0]; i++) {
        assert_int_equal(write_start(&f, writes[i].letter, writes[i].quarters << 18, &op), CACHE_PLANNED);
        settle(&f);
        expect_content(&f, "", writes[i].content, "");
    }
    fixture_close(&f);
}

/* With entries of one size the order is that of accesses, aged. */
static void one_size(void **state) {
    (void)state;
    example_holds(KVF_EVICTION_GDSF, 3, (struct example[]){{"AAABBCDEFG", "EFG"}, {0}});
}

/* age: the greatest worth of a victim. at: the worth, in 1/1024. */
static void weighed(struct mirror *m, int t, int k) {
    m->e[k].at = m->t[t].age + m->e[k].n * (1024 + (UINT64_C(1024) << 20) / m->e[k].bytes);
    m->e[k].pos = m->e[k].access;
}

static void arrive(struct mirror *m, int t, int k) {
    m->e[k].n = 1;
    weighed(m, t, k);
}

static void access(struct mirror *m, int t, int k) {
    m->e[k].n++;
    weighed(m, t, k);
}

static const struct policy_model model = {.eviction = KVF_EVICTION_GDSF,
                                          .arrive = arrive,
                                          .access = access,
                                          .victim = worth_victim,
                                          .evicted = worth_evicted};

POLICY_TESTS(policy_gdsf, model, NULL, cmocka_unit_test(worked_example), cmocka_unit_test(one_size))
