#include "tests/unit/policy_fixture.h"

/* C falls first, having been accessed longest ago; B, written first, under fifo. */
static void by_access_and_by_first_write(void **state) {
    (void)state;
    for (int fifo = 0; fifo < 2; fifo++) {
        struct fixture f;
        example_open(&f, fifo ? KVF_EVICTION_FIFO : KVF_EVICTION_LRU, 3);
        example_accesses(&f, "ABCABD");
        expect_content(&f, "", fifo ? "BCD" : "ABD", "");
        example_accesses(&f, "BE");
        expect_content(&f, "", fifo ? "CDE" : "BDE", "");
        fixture_close(&f);
    }
}

static void fifo_arrive(struct mirror *m, int t, int k) {
    (void)t;
    m->e[k].seg = 0;
    m->e[k].pos = m->e[k].first;
}
static void fifo_access(struct mirror *m, int t, int k) {
    (void)m;
    (void)t;
    (void)k;
}
static const struct policy_model model_fifo = {
    .eviction = KVF_EVICTION_FIFO, .arrive = fifo_arrive, .access = fifo_access, .victim = lru_victim};

static void fifo_against_the_model(void **state) {
    (void)state;
    against_the_model(&model_fifo, NULL);
}

POLICY_TESTS(policy_lru, model_lru, NULL, cmocka_unit_test(by_access_and_by_first_write),
             cmocka_unit_test(fifo_against_the_model))
