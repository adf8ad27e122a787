#include "tests/unit/policy_fixture.h"

/* Queue A B C, oldest first, with A's bit set. D: the hand clears A and takes B, and stands under C. A is
 * accessed again. E: C is taken, the hand stands under D. F and G: D and E are taken, although A is older. */
static void worked_example(void **state) {
    (void)state;
    struct fixture f;
    example_open(&f, KVF_EVICTION_SIEVE, 3);
    example_accesses(&f, "ABCAD");
    expect_content(&f, "", "ACD", "");
    example_accesses(&f, "AE");
    expect_content(&f, "", "ADE", "");
    example_accesses(&f, "F");
    expect_content(&f, "", "AEF", "");
    example_accesses(&f, "G");
    expect_content(&f, "", "AFG", "");
    /* All bits set: the hand clears F, G and, from the other end, A; then it takes F. */
    example_accesses(&f, "FGAH");
    expect_content(&f, "", "AGH", "");
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

/* The one that arrived next after a position; -1: none. */
static int next_behind(struct mirror *m, int t, uint64_t pos) {
    int best = -1;
    for (int k = 0; k < KEYS; k++) {
        if (item_in(m, t, k) && m->e[k].pos > pos && (best < 0 || m->e[k].pos < m->e[best].pos)) best = k;
    }
    return best;
}

/* hand: position of the entry it is under; 0: it begins at the oldest. */
static int victim(struct mirror *m, int t, int incoming) {
    (void)incoming;
    for (;;) {
        int k = next_behind(m, t, m->t[t].hand ? m->t[t].hand - 1 : 0);
        if (k < 0) return -1;
        m->t[t].hand = m->e[k].pos;
        if (!m->e[k].n) return k;
        m->e[k].n = 0;
        k = next_behind(m, t, m->e[k].pos);
        m->t[t].hand = k < 0 ? 0 : m->e[k].pos;
    }
}

static void gone(struct mirror *m, int t, int k) {
    if (m->t[t].hand != m->e[k].pos) return;
    int next = next_behind(m, t, m->e[k].pos);
    m->t[t].hand = next < 0 ? 0 : m->e[next].pos;
}

static void back(struct mirror *m, int t, int k) {
    int next = next_behind(m, t, m->e[k].pos);
    if (m->t[t].hand == (next < 0 ? 0 : m->e[next].pos)) m->t[t].hand = m->e[k].pos;
}

static const struct policy_model model = {.eviction = KVF_EVICTION_SIEVE,
                                          .arrive = arrive,
                                          .access = access,
                                          .victim = victim,
                                          .gone = gone,
                                          .back = back};

POLICY_TESTS(policy_sieve, model, NULL, cmocka_unit_test(worked_example))
