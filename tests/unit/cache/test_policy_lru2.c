#include "tests/unit/policy_fixture.h"

/* C, accessed once, falls to D. D falls to E, having been accessed once, though A was accessed longer ago:
 * lru would take A. With E and A accessed again, the accesses before the last are B 2, A 4 and E 7: B falls
 * to F, and then F itself to G. */
static void worked_example(void **state) {
    (void)state;
    struct fixture f;
    example_open(&f, KVF_EVICTION_LRU2, 3);
    example_accesses(&f, "ABCABD");
    expect_content(&f, "", "ABD", "");
    example_accesses(&f, "E");
    expect_content(&f, "", "ABE", "");
    example_accesses(&f, "EAF");
    expect_content(&f, "", "AEF", "");
    example_accesses(&f, "G");
    expect_content(&f, "", "AEG", "");
    fixture_close(&f);
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

static void model_agrees(void **state) {
    static const struct policy_model model = {
        .eviction = KVF_EVICTION_LRU2, .arrive = arrive, .access = access, .victim = victim};
    (void)state;
    against_the_model(&model, NULL);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(worked_example),
        cmocka_unit_test(model_agrees),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("policy_lru2", tests, NULL, NULL);
}
