#include "tests/unit/policy_fixture.h"

/* Five entries, four of them protected at most. A, B are accessed again and are protected; C, D, E are on
 * probation. F takes C. D, E are protected too; then F as the fifth sends A back to probation, where G
 * finds it alone. */
static void worked_example(void **state) {
    (void)state;
    example_holds(KVF_EVICTION_SLRU, 5,
                  (struct example[]){{"ABCDEABF", "ABDEF"}, {"DEFG", "BDEFG"}, {"H", "BDEFH"}, {0}});
}

enum { PROBATION, PROTECTED };

static void arrive(struct mirror *m, int t, int k) {
    item_append(m, t, k, PROBATION);
}

static void access(struct mirror *m, int t, int k) {
    item_append(m, t, k, PROTECTED);
    while (item_bytes(m, t, PROTECTED) > m->t[t].usable - m->t[t].usable / 5)
        item_append(m, t, item_lowest(m, t, PROTECTED), PROBATION);
}

static int victim(struct mirror *m, int t, int incoming) {
    (void)incoming;
    int k = item_lowest(m, t, PROBATION);
    return k < 0 ? item_lowest(m, t, PROTECTED) : k;
}

static const struct policy_model model = {
    .eviction = KVF_EVICTION_SLRU, .arrive = arrive, .access = access, .victim = victim};

POLICY_TESTS(policy_slru, model, NULL, cmocka_unit_test(worked_example))
