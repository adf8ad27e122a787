#include "tests/unit/policy_fixture.h"

/* Three frames, hand under A: A B C with the bits of A and B set. D: the hand clears A and B and takes C. The
 * ring is A B D from the hand. B is accessed; E: A is taken. F: B's bit is cleared, D is taken. */
static void worked_example(void **state) {
    (void)state;
    struct fixture f;
    example_open(&f, KVF_EVICTION_CLOCK, 3);
    example_accesses(&f, "ABCABD");
    expect_content(&f, "", "ABD", "");
    example_accesses(&f, "BE");
    expect_content(&f, "", "BDE", "");
    example_accesses(&f, "F");
    expect_content(&f, "", "BEF", "");
    fixture_close(&f);
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
    return cmocka_run_group_tests_name("policy_clock", tests, NULL, NULL);
}
