#include "tests/unit/policy_fixture.h"

/* Ten entries: one is the share of the small queue. All ten are in it; A was accessed twice more, B once. K:
 * A goes on to the main queue, B goes out. L: C goes out. B comes back, to the main queue: D goes out. E is
 * accessed twice; M: E goes on, F goes out. */
static void worked_example(void **state) {
    (void)state;
    struct fixture f;
    example_open(&f, KVF_EVICTION_S3FIFO, 10);
    example_accesses(&f, "ABCDEFGHIJAABK");
    expect_content(&f, "", "ACDEFGHIJK", "");
    example_accesses(&f, "L");
    expect_content(&f, "", "ADEFGHIJKL", "");
    example_accesses(&f, "B");
    expect_content(&f, "", "ABEFGHIJKL", "");
    example_accesses(&f, "EEM");
    expect_content(&f, "", "ABEGHIJKLM", "");
    /* The small queue, G to M, shrinks to one, M; what was put out comes back to the main queue. */
    example_accesses(&f, "CDFGHI");
    expect_content(&f, "", "ABCDEFGHIM", "");
    /* No longer too long: the main queue A B E C D F G H I loses its oldest, but A was accessed: B goes. */
    example_accesses(&f, "AN");
    expect_content(&f, "", "ACDEFGHIMN", "");
    fixture_close(&f);
}

enum { SMALL, MAIN };

static void arrive(struct mirror *m, int t, int k) {
    item_append(m, t, k, ghost_list(&m->t[t], k) >= 0 ? MAIN : SMALL);
    m->e[k].n = 0;
}

static void access(struct mirror *m, int t, int k) {
    (void)t;
    if (m->e[k].n < 3) m->e[k].n++;
}

static int victim(struct mirror *m, int t, int incoming) {
    (void)incoming;
    for (;;) {
        int small = item_lowest(m, t, SMALL), main = item_lowest(m, t, MAIN);
        if (small >= 0 && (main < 0 || item_bytes(m, t, SMALL) > m->t[t].usable / 10)) {
            if (m->e[small].n < 2) return small;
            item_append(m, t, small, MAIN);
            m->e[small].n = 0;
        } else {
            if (main < 0 || m->e[main].n == 0) return main;
            item_append(m, t, main, MAIN);
            m->e[main].n--;
        }
    }
}

static void admitted(struct mirror *m, int t, int k) {
    ghost_forget(&m->t[t], k);
}

static void evicted(struct mirror *m, int t, int k, const struct item *was) {
    uint64_t most = m->t[t].usable - m->t[t].usable / 10;
    if (was->seg == SMALL) ghost_add(&m->t[t], k, was->bytes, 0, most);
}

/* The authors' implementation. Ten entries: A fills the small queue, B to J go to the main one, which then
 * has its share of nine, no more: K puts A out of the small queue. L: K goes out. A comes back to the main
 * queue, for which L goes out. Now the main queue is too long: M puts B out, which was not accessed. */
static void reference_example(void **state) {
    (void)state;
    struct fixture f;
    example_open(&f, KVF_EVICTION_S3FIFO_REF, 10);
    example_accesses(&f, "ABCDEFGHIJK");
    expect_content(&f, "", "BCDEFGHIJK", "");
    example_accesses(&f, "L");
    expect_content(&f, "", "BCDEFGHIJL", "");
    example_accesses(&f, "A");
    expect_content(&f, "", "ABCDEFGHIJ", "");
    example_accesses(&f, "M");
    expect_content(&f, "", "ACDEFGHIJM", "");
    /* Accessed twice, M goes on; the small queue is empty then, and the main one loses C. */
    example_accesses(&f, "MMN");
    expect_content(&f, "", "ADEFGHIJMN", "");
    fixture_close(&f);
}

static const struct policy_model model = {.eviction = KVF_EVICTION_S3FIFO,
                                          .arrive = arrive,
                                          .access = access,
                                          .victim = victim,
                                          .admitted = admitted,
                                          .evicted = evicted};

POLICY_TESTS(policy_s3fifo, model, NULL, cmocka_unit_test(worked_example),
             cmocka_unit_test(reference_example))
