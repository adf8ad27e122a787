#include "tests/unit/policy_fixture.h"

/* The trace 7 0 1 2 0 3 0 4 2 3 0 3 2 1 2 0 1 7 0 1 with three frames: nine faults, as in the textbooks. */
static void worked_example(void **state) {
    (void)state;
    static const int trace[] = {7, 0, 1, 2, 0, 3, 0, 4, 2, 3, 0, 3, 2, 1, 2, 0, 1, 7, 0, 1};
    enum { N = sizeof trace / sizeof trace[0] };
    struct fixture f;
    struct cache_op *op;
    int faults = 0;
    example_open(&f, KVF_EVICTION_BELADY, 3);
    for (int i = 0; i < N; i++) {
        struct cache_access access = {.cause = KVF_CAUSE_PREFILL, .next_use = UINT64_MAX};
        for (int j = N - 1; j > i; j--) {
            if (trace[j] == trace[i]) access.next_use = (uint64_t)j + 1;
        }
        if (cache_read(f.c, policy_key(trace[i]), &access, 0, NULL) == NULL) {
            faults++;
            assert_int_equal(cache_write(f.c, policy_key(trace[i]), 100, &access, 0, NULL, &op),
                             CACHE_PLANNED);
        }
        settle(&f);
    }
    assert_int_equal(faults, 9);
    fixture_close(&f);
}

/* Never again, or nothing known: positions below all others. */
static void place(struct mirror *m, int t, int k) {
    (void)t;
    uint64_t next = m->e[k].next_use;
    m->e[k].seg = next == 0 || next == UINT64_MAX ? 0 : 1;
    m->e[k].pos = m->e[k].seg ? UINT64_MAX - next : m->e[k].access;
}

static int victim(struct mirror *m, int t, int incoming) {
    (void)incoming;
    int never = item_lowest(m, t, 0);
    return never < 0 ? item_lowest(m, t, 1) : never;
}

/* Any positions will do for the order; one is given once. */
static uint64_t next_use(struct mirror *m) {
    uint64_t dice = rng_range(&m->r, 0, 9);
    if (dice < 2) return dice ? UINT64_MAX : 0;
    return (m->rank + 2) * 1000 + rng_range(&m->r, 0, 99) * 1009000 + rng_range(&m->r, 0, 1) * 500;
}

static const struct policy_model model = {
    .eviction = KVF_EVICTION_BELADY, .arrive = place, .access = place, .victim = victim};

POLICY_TESTS(policy_belady, model, next_use, cmocka_unit_test(worked_example))
