#include "tests/unit/policy_fixture.h"

/* Three entries, by the paper's algorithm. */
static void worked_example(void **state) {
    (void)state;
    struct fixture f;
    example_open(&f, KVF_EVICTION_ARC, 3);
    /* T1 B C, T2 A; target 0. */
    example_accesses(&f, "AABC");
    expect_content(&f, "", "ABC", "");
    /* T1 has more than its target: B goes to B1. T1 C D, B1 B. */
    example_accesses(&f, "D");
    expect_content(&f, "", "ACD", "");
    /* B comes back: target 1, T1 has more, so C goes to B1. T1 D, T2 A B, B1 C. */
    example_accesses(&f, "B");
    expect_content(&f, "", "ABD", "");
    /* T1 has no more than its target: T2's least recent, A, goes to B2. T1 D E, T2 B, B1 C, B2 A. */
    example_accesses(&f, "E");
    expect_content(&f, "", "BDE", "");
    /* C comes back: target 2, T1 has no more: B goes to B2. T1 D E, T2 C, B1 -, B2 A B. */
    example_accesses(&f, "C");
    expect_content(&f, "", "CDE", "");
    /* A comes back from B2, B1 being empty: target 2 - 1 = 1, T1 has more: D goes to B1. T1 E, T2 C A. */
    example_accesses(&f, "A");
    expect_content(&f, "", "ACE", "");
    /* D comes back from B1; B2 has B, B1 has D: target 2, T1 has less: C goes. T1 E, T2 A D, B2 B C. */
    example_accesses(&f, "D");
    expect_content(&f, "", "ADE", "");
    fixture_close(&f);
}

enum { T1, T2 };

static void arrive(struct mirror *m, int t, int k) {
    item_append(m, t, k, ghost_list(&m->t[t], k) >= 0 ? T2 : T1);
}

static void access(struct mirror *m, int t, int k) {
    item_append(m, t, k, T2);
}

/* How far the target moves when a key comes back that a list remembers. */
static double step_for(const struct mirror_tier *t, int key) {
    double b[2] = {(double)ghost_bytes(t, T1), (double)ghost_bytes(t, T2)}, step = 0;
    int list = ghost_list(t, key);
    for (int i = 0; i < t->ghosts; i++) step = t->ghost[i].key == key ? (double)t->ghost[i].bytes : step;
    return b[!list] > b[list] ? step * (b[!list] / b[list]) : step;
}

static double moved(const struct mirror_tier *t, int list, double step) {
    double least = 0, most = (double)t->usable, to = list == T1 ? t->target + step : t->target - step;
    return to < least ? least : to > most ? most : to;
}

/* found: for each key the step when a victim was sought for it; a step is never 0. */
static int victim(struct mirror *m, int t, int incoming) {
    struct mirror_tier *tier = &m->t[t];
    int once = item_lowest(m, t, T1), often = item_lowest(m, t, T2), list = ghost_list(tier, incoming);
    double target = tier->target, have = (double)item_bytes(m, t, T1);
    if (list >= 0) {
        tier->found[incoming] = step_for(tier, incoming);
        target = moved(tier, list, tier->found[incoming]);
    }
    if (once < 0 || often < 0) return once < 0 ? often : once;
    return have > target || (list == T2 && have >= target) ? once : often;
}

static void bound(struct mirror *m, int t) {
    struct mirror_tier *tier = &m->t[t];
    uint64_t t1 = item_bytes(m, t, T1), t2 = item_bytes(m, t, T2), c = tier->usable;
    while (ghost_bytes(tier, T1) > 0 && t1 + ghost_bytes(tier, T1) > c) ghost_drop(tier, T1);
    while (ghost_bytes(tier, T2) > 0 && t1 + t2 + ghost_bytes(tier, T1) + ghost_bytes(tier, T2) > 2 * c)
        ghost_drop(tier, T2);
}

static void admitted(struct mirror *m, int t, int k) {
    struct mirror_tier *tier = &m->t[t];
    int list = ghost_list(tier, k);
    if (list >= 0) {
        tier->target = moved(tier, list, tier->found[k] > 0 ? tier->found[k] : step_for(tier, k));
        ghost_forget(tier, k);
    }
    tier->found[k] = 0;
    bound(m, t);
}

static void evicted(struct mirror *m, int t, int k, const struct item *was) {
    ghost_add(&m->t[t], k, was->bytes, was->seg, UINT64_MAX);
    bound(m, t);
}

static const struct policy_model model = {.eviction = KVF_EVICTION_ARC,
                                          .arrive = arrive,
                                          .access = access,
                                          .victim = victim,
                                          .admitted = admitted,
                                          .evicted = evicted};

POLICY_TESTS(policy_arc, model, NULL, cmocka_unit_test(worked_example))
