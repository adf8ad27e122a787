#include "tests/unit/policy_fixture.h"

/* C, accessed once, falls to D. D falls to E, having been accessed once, though A was accessed longer ago:
 * lru would take A. With E and A accessed again, the accesses before the last are B 2, A 4 and E 7: B falls
 * to F, and then F itself to G. */
static void worked_example(void **state) {
    (void)state;
    example_holds(KVF_EVICTION_LRU2, 3,
                  (struct example[]){{"ABCABD", "ABD"}, {"E", "ABE"}, {"EAF", "AEF"}, {"G", "AEG"}, {0}});
}

/* Segment 0: accessed once; 1: more often, by the access before the last. n: the last access. */
static void arrive(struct mirror *m, int t, int k) {
    (void)t;
    m->e[k].seg = 0;
    m->e[k].pos = m->e[k].n = m->e[k].access;
}

static void access(struct mirror *m, int t, int k) {
    (void)t;
    m->e[k].seg = 1;
    m->e[k].pos = m->e[k].n;
    m->e[k].n = m->e[k].access;
}

static int victim(struct mirror *m, int t, int incoming) {
    (void)incoming;
    int once = item_lowest(m, t, 0);
    return once >= 0 ? once : item_lowest(m, t, 1);
}

static const struct policy_model model = {
    .eviction = KVF_EVICTION_LRU2, .arrive = arrive, .access = access, .victim = victim};

POLICY_TESTS(policy_lru2, model, NULL, cmocka_unit_test(worked_example))
