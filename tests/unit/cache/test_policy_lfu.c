#include "tests/unit/policy_fixture.h"

/* Keys of A B C after A A A B B C: 3 2 1. D puts C out: the age is 1, D has 2, as B has, but B was accessed
 * before it: E puts B out, age 2, E has 3. F: D, with 2, goes; F has 3. G: A, with 3, goes, having been
 * accessed before E and F: its three accesses do not keep it for ever. */
static void worked_example(void **state) {
    (void)state;
    example_holds(KVF_EVICTION_LFU, 3,
                  (struct example[]){{"AAABBCD", "ABD"}, {"E", "ADE"}, {"F", "AEF"}, {"G", "EFG"}, {0}});
}

/* age: the greatest key of a victim. at: the key. */
static void keyed(struct mirror *m, int t, int k) {
    m->e[k].at = m->e[k].n + m->t[t].age;
    m->e[k].pos = m->e[k].access;
}

static void arrive(struct mirror *m, int t, int k) {
    m->e[k].n = 1;
    keyed(m, t, k);
}

static void access(struct mirror *m, int t, int k) {
    m->e[k].n++;
    keyed(m, t, k);
}

static const struct policy_model model = {.eviction = KVF_EVICTION_LFU,
                                          .arrive = arrive,
                                          .access = access,
                                          .victim = worth_victim,
                                          .evicted = worth_evicted};

POLICY_TESTS(policy_lfu, model, NULL, cmocka_unit_test(worked_example))
