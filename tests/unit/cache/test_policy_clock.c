#include "tests/unit/policy_fixture.h"

/* Three frames, hand under A: A B C with the bits of A and B set. D: the hand clears A and B and takes C. The
 * ring is A B D from the hand. B is accessed; E: A is taken. F: B's bit is cleared, D is taken. */
static void worked_example(void **state) {
    (void)state;
    example_holds(KVF_EVICTION_CLOCK, 3,
                  (struct example[]){{"ABCABD", "ABD"}, {"BE", "BDE"}, {"F", "BEF"}, {0}});
}

static void arrive(struct mirror *m, int t, int k) {
    item_append(m, t, k, 0);
    m->e[k].n = 0;
}

static void access(struct mirror *m, int t, int k) {
    (void)t;
    m->e[k].n = 1;
}

static int victim(struct mirror *m, int t, int incoming) {
    (void)incoming;
    int k;
    while ((k = item_lowest(m, t, 0)) >= 0 && m->e[k].n) arrive(m, t, k);
    return k;
}

static const struct policy_model model = {
    .eviction = KVF_EVICTION_CLOCK, .arrive = arrive, .access = access, .victim = victim};

POLICY_TESTS(policy_clock, model, NULL, cmocka_unit_test(worked_example))
