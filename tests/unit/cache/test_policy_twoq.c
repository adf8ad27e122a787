#include "tests/unit/policy_fixture.h"

/* Four entries, of which A1in has one as its share; two are remembered. A B C D are all in A1in, and being
 * accessed there is nothing: E puts A out, F puts B out. A comes back, to Am, and puts C out: B, C are
 * remembered. G puts D out, and B is forgotten: it comes in anew, to A1in, putting E out. */
static void worked_example(void **state) {
    (void)state;
    struct fixture f;
    example_open(&f, KVF_EVICTION_TWOQ, 4);
    example_accesses(&f, "ABCDAAEF");
    expect_content(&f, "", "CDEF", "");
    example_accesses(&f, "A");
    expect_content(&f, "", "ADEF", "");
    example_accesses(&f, "G");
    expect_content(&f, "", "AEFG", "");
    example_accesses(&f, "B");
    expect_content(&f, "", "ABFG", "");
    /* D and E are remembered. D and E come back to Am: F, G are put out. */
    example_accesses(&f, "DE");
    expect_content(&f, "", "ABDE", "");
    /* A1in has no more than its share, B: the least recent of Am goes, which is D once A is accessed. */
    example_accesses(&f, "AH");
    expect_content(&f, "", "ABEH", "");
    fixture_close(&f);
}

enum { A1IN, AM };

static void arrive(struct mirror *m, int t, int k) {
    item_append(m, t, k, ghost_list(&m->t[t], k) >= 0 || m->t[t].hand >> k & 1 ? AM : A1IN);
}

static void access(struct mirror *m, int t, int k) {
    if (m->e[k].seg == AM) item_append(m, t, k, AM);
}

/* hand: a bit for each key that a victim was sought for when it was remembered, and that has not come yet. */
static int victim(struct mirror *m, int t, int incoming) {
    if (ghost_list(&m->t[t], incoming) >= 0) {
        m->t[t].hand |= UINT64_C(1) << incoming;
        ghost_forget(&m->t[t], incoming);
    }
    int in = item_lowest(m, t, A1IN), main = item_lowest(m, t, AM);
    if (main < 0 || (in >= 0 && item_bytes(m, t, A1IN) > m->t[t].usable / 4)) return in;
    return main;
}

static void admitted(struct mirror *m, int t, int k) {
    ghost_forget(&m->t[t], k);
    m->t[t].hand &= ~(UINT64_C(1) << k);
}

static void evicted(struct mirror *m, int t, int k, const struct item *was) {
    if (was->seg == A1IN) ghost_add(&m->t[t], k, was->bytes, 0, m->t[t].usable / 2);
}

static const struct policy_model model = {.eviction = KVF_EVICTION_TWOQ,
                                          .arrive = arrive,
                                          .access = access,
                                          .victim = victim,
                                          .admitted = admitted,
                                          .evicted = evicted};

POLICY_TESTS(policy_twoq, model, NULL, cmocka_unit_test(worked_example))
