#include "tests/unit/policy_fixture.h"

/* Five entries, four of them protected at most. A, B are accessed again and are protected; C, D, E are on
 * probation. F takes C. D, E are protected too; then F as the fifth sends A back to probation, where G
 * finds it alone. */
static void worked_example(void **state) {
    (void)state;
    struct fixture f;
    example_open(&f, KVF_EVICTION_SLRU, 5);
    example_accesses(&f, "ABCDEABF");
    expect_content(&f, "", "ABDEF", "");
    example_accesses(&f, "DEF");
    example_accesses(&f, "G");
    expect_content(&f, "", "BDEFG", "");
    example_accesses(&f, "H");
    expect_content(&f, "", "BDEFH", "");
    fixture_close(&f);
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

static void model_agrees(void **state) {
    (void)state;
    against_the_model(&model, NULL);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(worked_example),
        cmocka_unit_test(model_agrees),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("policy_slru", tests, NULL, NULL);
}
