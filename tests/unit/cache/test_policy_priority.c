#include "tests/unit/policy_fixture.h"

static const struct policy_rule rules[] = {
    {.cause = KVF_CAUSE_PREFIX, .klass = -1, .priority = 80, .duration_ns = 20 * KVF_NS_PER_MS},
    {.cause = -1, .klass = 2, .priority = 10},
    {.cause = KVF_CAUSE_PREFILL, .klass = 1, .priority = 36, .duration_ns = 5 * KVF_NS_PER_MS},
    {.cause = KVF_CAUSE_RAG, .klass = -1, .priority = 35},
};
enum { RULES = sizeof rules / sizeof rules[0] };

static void configure(struct cache_config *c) {
    memcpy(c->rules, rules, sizeof rules);
    c->rule_count = RULES;
}

static void open_with_rules(struct fixture *f, uint64_t entries) {
    struct err e = {0};
    example_open(f, KVF_EVICTION_PRIORITY, entries);
    cache_close(f->c);
    configure(&f->config);
    f->c = cache_open(&f->config, &e);
    assert_non_null(f->c);
}

static void put_as(struct fixture *f, char letter, enum kvf_cause cause, uint8_t klass) {
    struct cache_op *op;
    struct cache_access access = {.cause = cause, .klass = klass};
    assert_int_equal(cache_write(f->c, key_of(letter), 100, &access, 0, NULL, &op), CACHE_PLANNED);
    settle(f);
}

/* A is a prefix, 80 for 20 ms; B of class 2 has 10, C of class 0 35, as has D, a chunk. E puts B out, which
 * was written last but one, F puts C out, G puts D out. At 20 ms A's time is up: it has 35, and was accessed
 * before E, F and G. */
static void worked_example(void **state) {
    (void)state;
    struct fixture f;
    open_with_rules(&f, 4);
    put_as(&f, 'A', KVF_CAUSE_PREFIX, 0);
    put_as(&f, 'C', KVF_CAUSE_PREFILL, 0);
    put_as(&f, 'B', KVF_CAUSE_PREFILL, 2);
    put_as(&f, 'D', KVF_CAUSE_RAG, 0);
    put_as(&f, 'E', KVF_CAUSE_PREFILL, 0);
    expect_content(&f, "", "ACDE", "");
    put_as(&f, 'F', KVF_CAUSE_PREFILL, 0);
    expect_content(&f, "", "ADEF", "");
    cache_time(f.c, 19 * KVF_NS_PER_MS);
    put_as(&f, 'G', KVF_CAUSE_PREFILL, 0);
    expect_content(&f, "", "AEFG", "");
    cache_time(f.c, 20 * KVF_NS_PER_MS);
    put_as(&f, 'H', KVF_CAUSE_PREFILL, 0);
    expect_content(&f, "", "EFGH", "");
    fixture_close(&f);
}

/* An access begins the time anew. */
static void renewed(void **state) {
    (void)state;
    struct fixture f;
    open_with_rules(&f, 2);
    put_as(&f, 'A', KVF_CAUSE_PREFIX, 0);
    cache_time(f.c, 30 * KVF_NS_PER_MS);
    get(&f, 'A');
    cache_time(f.c, 49 * KVF_NS_PER_MS);
    put_as(&f, 'B', KVF_CAUSE_PREFILL, 0);
    put_as(&f, 'C', KVF_CAUSE_PREFILL, 0);
    expect_content(&f, "", "AC", "");
    fixture_close(&f);
}

/* The new block of a request is less recent than those that it found, where ranks say so: A is accessed with
 * a greater rank before B is written. */
static void new_block_by_its_rank(void **state) {
    (void)state;
    struct fixture f;
    open_with_rules(&f, 2);
    put_as(&f, 'A', KVF_CAUSE_PREFILL, 0);
    uint64_t first = cache_ranks(f.c, 2);
    cache_touch(f.c, key_of('A'), &(struct cache_access){.cause = KVF_CAUSE_PREFILL, .rank = first + 1});
    struct cache_op *op;
    struct cache_access access = {.cause = KVF_CAUSE_PREFILL, .rank = first};
    assert_int_equal(cache_write(f.c, key_of('B'), 100, &access, 0, NULL, &op), CACHE_PLANNED);
    settle(&f);
    put_as(&f, 'C', KVF_CAUSE_PREFILL, 0);
    expect_content(&f, "", "AC", "");
    fixture_close(&f);
}

static int rule_of(const struct item *e) {
    for (int r = 0; r < RULES; r++) {
        if (rules[r].cause >= 0 && rules[r].cause != e->cause) continue;
        if (rules[r].klass >= 0 && rules[r].klass != e->klass) continue;
        return r;
    }
    return RULES;
}

static uint32_t priority_of(const struct item *e) {
    return e->seg == RULES ? 35 : rules[e->seg].priority;
}

static void place(struct mirror *m, int t, int k) {
    (void)t;
    m->e[k].seg = rule_of(&m->e[k]);
    m->e[k].pos = m->e[k].access;
    m->e[k].at = m->now;
}

static int least_recent(const struct mirror *m, int t, int seg) {
    int best = -1;
    for (int k = 0; k < KEYS; k++)
        if (item_in(m, t, k) && m->e[k].seg == seg && (best < 0 || m->e[k].pos < m->e[best].pos)) best = k;
    return best;
}

static int victim(struct mirror *m, int t, int incoming) {
    (void)incoming;
    int best = -1;
    for (int r = 0; r < RULES; r++) {
        int k;
        while (rules[r].duration_ns && (k = least_recent(m, t, r)) >= 0 &&
               m->e[k].at + rules[r].duration_ns <= m->now)
            m->e[k].seg = RULES;
    }
    for (int r = 0; r <= RULES; r++) {
        int k = least_recent(m, t, r);
        if (k < 0) continue;
        uint32_t mine = priority_of(&m->e[k]), least = best < 0 ? 0 : priority_of(&m->e[best]);
        if (best < 0 || mine < least || (mine == least && m->e[k].pos < m->e[best].pos)) best = k;
    }
    return best;
}

static const struct policy_model model = {.eviction = KVF_EVICTION_PRIORITY,
                                          .arrive = place,
                                          .access = place,
                                          .victim = victim,
                                          .configure = configure};

POLICY_TESTS(policy_priority, model, NULL, cmocka_unit_test(worked_example), cmocka_unit_test(renewed),
             cmocka_unit_test(new_block_by_its_rank))
