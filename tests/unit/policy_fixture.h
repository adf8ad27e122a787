/* A cache beside a model of it that is slow and obviously right: entries in an array, plans by linear
 * search, no links. A test brings the model of its policy, a few lines that say which entry is the
 * victim; the rest, falls through the tiers, plans taken back, entries that are busy, is here.
 *
 * What a plan spends while it looks for victims stays spent when it is taken back, and an entry in use that
 * a search meets is out of the order until nobody uses it: so says policy.h, and so does the mirror. */
#ifndef TESTS_UNIT_POLICY_FIXTURE_H
#define TESTS_UNIT_POLICY_FIXTURE_H

#include "tests/unit/cache_fixture.h"

#include "base/clock.h"
#include "base/rng.h"

enum { KEYS = 40, GHOSTS = 4096, STEPS = 4096, PINS = 6 };

struct item {
    int tier; /* -1: not in the cache */
    uint64_t bytes, access, first, next_use, now;
    int cause, klass, pins, missed; /* missed: accesses while parked */
    bool parked;
    /* the model's, while it is in the tier */
    int seg;
    uint64_t pos, n, at;
};

struct ghost {
    int key, list;
    uint64_t bytes;
};

struct mirror;
/* t: the tier; k: the key, of which m->e[k] is the entry. */
struct policy_model {
    enum scenario_eviction eviction;
    void (*arrive)(struct mirror *m, int t, int k);
    void (*access)(struct mirror *m, int t, int k);
    int (*victim)(struct mirror *m, int t, int incoming); /* -1: none; parked entries are not there */
    void (*admitted)(struct mirror *m, int t, int k);     /* NULL: nothing to do */
    void (*evicted)(struct mirror *m, int t, int k, const struct item *was);
    int (*expired)(struct mirror *m, int t);      /* NULL: time puts nothing out */
    void (*configure)(struct cache_config *c);    /* NULL: nothing to set */
    bool tree;                                    /* goes by the blocks' parents */
    void (*gone)(struct mirror *m, int t, int k); /* it is about to leave the order for any reason; NULL */
    void (*back)(struct mirror *m, int t, int k); /* it has been put back; NULL */
};

struct mirror_tier {
    const struct policy_model *model;
    uint64_t usable;
    struct ghost ghost[GHOSTS]; /* oldest first */
    int ghosts;
    uint64_t tick, age, hand;
    double target, found[KEYS];
};

struct mirror_step {
    int key, from, to;
    struct item was;
};

struct mirror {
    struct fixture f;
    struct rng r;
    struct item e[KEYS];
    struct mirror_tier t[KVF_TIERS];
    struct mirror_step step[STEPS];
    int steps;
    uint64_t rank, now;
    struct cache_op *pin[PINS];
    bool taken_back; /* the last plan */
    uint64_t plans_taken_back, parked, evicted, expired;
    uint64_t (*next_use)(struct mirror *m); /* NULL: none known */
    bool tree;
};

/* ---- what models are made of ---- */

static inline bool item_in(const struct mirror *m, int t, int k) {
    return m->e[k].tier == t && !m->e[k].parked;
}
/* The one of a segment with the least position; -1. */
static inline int item_lowest(const struct mirror *m, int t, int seg) {
    int best = -1;
    for (int k = 0; k < KEYS; k++) {
        if (item_in(m, t, k) && m->e[k].seg == seg && (best < 0 || m->e[k].pos < m->e[best].pos)) best = k;
    }
    return best;
}
/* Bytes of a segment; those of parked entries are out of it. */
static inline uint64_t item_bytes(const struct mirror *m, int t, int seg) {
    uint64_t sum = 0;
    for (int k = 0; k < KEYS; k++) sum += item_in(m, t, k) && m->e[k].seg == seg ? m->e[k].bytes : 0;
    return sum;
}
static inline void item_append(struct mirror *m, int t, int k, int seg) {
    m->e[k].seg = seg;
    m->e[k].pos = ++m->t[t].tick;
}

/* Which list remembers a key; -1: none. */
static inline int ghost_list(const struct mirror_tier *t, int key) {
    for (int i = 0; i < t->ghosts; i++) {
        if (t->ghost[i].key == key) return t->ghost[i].list;
    }
    return -1;
}
static inline uint64_t ghost_bytes(const struct mirror_tier *t, int list) {
    uint64_t sum = 0;
    for (int i = 0; i < t->ghosts; i++) sum += t->ghost[i].list == list ? t->ghost[i].bytes : 0;
    return sum;
}
static inline void ghost_out(struct mirror_tier *t, int at) {
    memmove(&t->ghost[at], &t->ghost[at + 1], (size_t)(--t->ghosts - at) * sizeof t->ghost[0]);
}
static inline void ghost_forget(struct mirror_tier *t, int key) {
    for (int i = t->ghosts; i-- > 0;) {
        if (t->ghost[i].key == key) ghost_out(t, i);
    }
}
/* The oldest of a list. */
static inline bool ghost_drop(struct mirror_tier *t, int list) {
    for (int i = 0; i < t->ghosts; i++) {
        if (t->ghost[i].list != list) continue;
        ghost_out(t, i);
        return true;
    }
    return false;
}
static inline void ghost_add(struct mirror_tier *t, int key, uint64_t bytes, int list, uint64_t most) {
    ghost_forget(t, key);
    assert_true(t->ghosts < GHOSTS);
    t->ghost[t->ghosts++] = (struct ghost){key, list, bytes};
    while (ghost_bytes(t, list) > most) ghost_drop(t, list);
}

/* lru, for the tiers around the one that is tested. */
static inline void lru_position(struct mirror *m, int t, int k) {
    (void)t;
    m->e[k].seg = 0;
    m->e[k].pos = m->e[k].access;
}
static inline int lru_victim(struct mirror *m, int t, int incoming) {
    (void)incoming;
    return item_lowest(m, t, 0);
}
/* Of policies that rank by a number, at: the least falls, the oldest of equals; age is the greatest that
 * fell. */
static inline int worth_victim(struct mirror *m, int t, int incoming) {
    (void)incoming;
    int best = -1;
    for (int k = 0; k < KEYS; k++) {
        const struct item *e = &m->e[k], *b = best < 0 ? NULL : &m->e[best];
        if (item_in(m, t, k) && (!b || e->at < b->at || (e->at == b->at && e->pos < b->pos))) best = k;
    }
    return best;
}

static inline void worth_evicted(struct mirror *m, int t, int k, const struct item *was) {
    (void)k;
    if (was->at > m->t[t].age) m->t[t].age = was->at;
}

static const struct policy_model model_lru = {
    .eviction = KVF_EVICTION_LRU, .arrive = lru_position, .access = lru_position, .victim = lru_victim};

static inline void mirror_gone(struct mirror *m, int k) {
    int t = m->e[k].tier;
    if (m->t[t].model->gone && !m->e[k].parked) m->t[t].model->gone(m, t, k);
}
static inline void mirror_back(struct mirror *m, int k) {
    int t = m->e[k].tier;
    if (m->t[t].model->back) m->t[t].model->back(m, t, k);
}

/* ---- plans ---- */

static inline uint64_t mirror_level(const struct mirror *m, int t, bool idle) {
    uint64_t sum = 0;
    for (int k = 0; k < KEYS; k++) sum += m->e[k].tier == t && !(idle && m->e[k].pins) ? m->e[k].bytes : 0;
    return sum;
}

static inline void mirror_step_do(struct mirror *m, int k, int from, int to) {
    assert_true(m->steps < STEPS);
    mirror_gone(m, k);
    m->step[m->steps++] = (struct mirror_step){k, from, to, m->e[k]};
    m->e[k].tier = to;
    if (to >= 0) m->t[to].model->arrive(m, to, k);
}

static inline bool mirror_room(struct mirror *m, int t, uint64_t bytes, int incoming) {
    struct mirror_tier *tier = &m->t[t];
    if (mirror_level(m, t, false) + bytes > tier->usable + mirror_level(m, t, true)) return false;
    while (mirror_level(m, t, false) + bytes > tier->usable) {
        int k, below = t + 1;
        while ((k = tier->model->victim(m, t, incoming)) >= 0 && m->e[k].pins) {
            mirror_gone(m, k);
            m->e[k].parked = true;
            m->parked++;
        }
        if (k < 0) return false;
        while (below < KVF_TIERS && m->e[k].bytes > m->t[below].usable) below++;
        if (below < KVF_TIERS && !mirror_room(m, below, m->e[k].bytes, k)) return false;
        mirror_step_do(m, k, t, below < KVF_TIERS ? below : -1);
    }
    return true;
}

static inline void mirror_commit(struct mirror *m) {
    for (int i = 0; i < m->steps; i++) {
        const struct mirror_step *s = &m->step[i];
        const struct policy_model *from = m->t[s->from].model;
        if (from->evicted) from->evicted(m, s->from, s->key, &s->was);
        if (s->to >= 0 && m->t[s->to].model->admitted) m->t[s->to].model->admitted(m, s->to, s->key);
        m->evicted += s->to < 0;
    }
}

static inline enum cache_verdict mirror_write(struct mirror *m, int k, const struct item *entry) {
    int to = 0;
    while (to < KVF_TIERS && entry->bytes > m->t[to].usable) to++;
    if (to == KVF_TIERS) return CACHE_TOO_LARGE;
    m->rank++;
    m->steps = 0;
    if (!mirror_room(m, to, entry->bytes, k)) {
        m->plans_taken_back += m->steps > 0;
        while (m->steps > 0) {
            const struct mirror_step *s = &m->step[--m->steps];
            if (s->to >= 0) mirror_gone(m, s->key);
            m->e[s->key] = s->was;
            mirror_back(m, s->key);
        }
        return CACHE_NO_ROOM_NOW;
    }
    mirror_commit(m);
    m->e[k] = *entry;
    m->e[k].tier = to;
    m->e[k].access = m->e[k].first = m->rank;
    m->t[to].model->arrive(m, to, k);
    if (m->t[to].model->admitted) m->t[to].model->admitted(m, to, k);
    return CACHE_PLANNED;
}

static inline void mirror_access(struct mirror *m, int k) {
    m->e[k].access = ++m->rank;
    m->e[k].now = m->now;
    if (m->e[k].parked)
        m->e[k].missed++;
    else
        m->t[m->e[k].tier].model->access(m, m->e[k].tier, k);
}

static inline void mirror_unpin(struct mirror *m, int k) {
    struct item *e = &m->e[k];
    if (--e->pins > 0 || !e->parked) return;
    e->parked = false;
    mirror_back(m, k);
    for (; e->missed > 0; e->missed--) m->t[e->tier].model->access(m, e->tier, k);
}

/* An entry in use when its time is up is out of the order, as when a search meets it. */
static inline void mirror_expire(struct mirror *m) {
    for (int t = 0; t < KVF_TIERS; t++) {
        int k;
        while (m->t[t].model->expired && (k = m->t[t].model->expired(m, t)) >= 0) {
            mirror_gone(m, k);
            if (m->e[k].pins)
                m->e[k].parked = true;
            else
                m->e[k].tier = -1;
            m->expired++;
        }
    }
}

/* ---- both, one step at a time ---- */

static inline struct cache_key policy_key(int k) {
    return cache_key_make(CACHE_KEY_TRACE, 0, (uint64_t)k);
}

static inline void mirror_open(struct mirror *m, const uint64_t usable[KVF_TIERS],
                               const struct policy_model *const model[KVF_TIERS], uint64_t seed) {
    struct err e = {0};
    memset(m, 0, sizeof *m);
    rng_init(&m->r, seed, KVF_RNG_TEST, 0);
    m->f.config = (struct cache_config){.placement = KVF_PLACEMENT_WATERFALL,
                                        .promotion = KVF_PROMOTION_NEVER,
                                        .ctx = &m->f,
                                        .alloc = fixture_alloc,
                                        .drop = fixture_drop};
    for (int t = 0; t < KVF_TIERS; t++) {
        m->t[t].usable = m->f.config.usable_bytes[t] = usable[t];
        m->t[t].model = model[t];
        m->f.config.on[t] = usable[t] > 0;
        if (model[t]->configure) model[t]->configure(&m->f.config);
        m->tree = m->tree || model[t]->tree;
        m->f.config.eviction[t] = usable[t] > 0 ? model[t]->eviction : KVF_EVICTION_LRU;
    }
    for (int k = 0; k < KEYS; k++) m->e[k].tier = -1;
    m->f.c = cache_open(&m->f.config, &e);
    if (!m->f.c) fail_msg("%s", e.text);
}

static inline void step_unpin(struct mirror *m, int slot) {
    if (!m->pin[slot]) return;
    int k = (int)m->pin[slot]->key.lo;
    cache_finish(m->f.c, m->pin[slot], CACHE_DONE, false);
    m->pin[slot] = NULL;
    mirror_unpin(m, k);
    settle(&m->f);
}

/* The read stays open for a while when there is a slot. */
static inline void step_read(struct mirror *m, int k, const struct cache_access *access, bool hold) {
    int slot = (int)rng_range(&m->r, 0, PINS - 1);
    assert_non_null(cache_read(m->f.c, policy_key(k), access, 0, NULL));
    mirror_access(m, k);
    if (!hold || m->pin[slot]) {
        settle(&m->f);
        return;
    }
    m->e[k].pins++;
    m->pin[slot] = cache_next_ready(m->f.c);
}

/* The keys are the nodes of a tree whose root is 0: each has up to three behind it. */
static inline int tree_parent(int k) {
    return k > 0 ? (k - 1) / 3 : -1;
}
static inline void tree_link(struct mirror *m, int k) {
    if (k > 0) cache_link(m->f.c, policy_key(k), policy_key(tree_parent(k)));
    for (int child = 3 * k + 1; child <= 3 * k + 3; child++)
        cache_link(m->f.c, policy_key(child), policy_key(k));
}

static inline void step_write(struct mirror *m, int k, uint64_t bytes, const struct cache_access *access) {
    struct cache_op *op;
    struct item entry = {.bytes = bytes,
                         .next_use = access->next_use,
                         .cause = (int)access->cause,
                         .klass = access->klass,
                         .now = m->now};
    enum cache_verdict want = mirror_write(m, k, &entry);
    enum cache_verdict v = cache_write(m->f.c, policy_key(k), bytes, access, 0, NULL, &op);
    assert_int_equal(v, want);
    if (m->tree) tree_link(m, k);
    if (v == CACHE_NO_ROOM_NOW) assert_true(cache_cancel(m->f.c, op));
    settle(&m->f);
}

static inline void step_any(struct mirror *m, uint64_t size_min, uint64_t size_max, bool pins) {
    /* Half of the accesses go to a fifth of the keys. */
    int k = (int)rng_range(&m->r, 0, rng_range(&m->r, 0, 1) ? KEYS - 1 : KEYS / 5);
    struct cache_access access = {.cause = rng_range(&m->r, 0, 1) ? KVF_CAUSE_PREFIX : KVF_CAUSE_PREFILL,
                                  .klass = (uint8_t)rng_range(&m->r, 0, 2),
                                  .next_use = m->next_use ? m->next_use(m) : 0};
    uint64_t what = rng_range(&m->r, 0, 19);
    m->now += rng_range(&m->r, 0, 2) * KVF_NS_PER_MS;
    cache_time(m->f.c, m->now);
    mirror_expire(m);
    if (what < 5 && pins) step_unpin(m, (int)rng_range(&m->r, 0, PINS - 1));
    if (m->e[k].tier < 0) {
        step_write(m, k, rng_range(&m->r, size_min, size_max), &access);
    } else if (what == 5 && m->e[k].pins == 0) {
        assert_true(cache_drop(m->f.c, policy_key(k)));
        mirror_gone(m, k);
        m->e[k].tier = -1;
        settle(&m->f);
    } else if (what == 6) {
        cache_touch(m->f.c, policy_key(k), &access);
        m->e[k].next_use = access.next_use;
        mirror_access(m, k);
    } else {
        m->e[k].next_use = access.next_use;
        step_read(m, k, &access, pins && what > 8);
    }
}

static inline void mirror_same(struct mirror *m, int step) {
    for (int k = 0; k < KEYS; k++) {
        int tier = cache_where(m->f.c, policy_key(k));
        if (tier != m->e[k].tier)
            fail_msg("step %d: key %d is in tier %d, not %d", step, k, tier, m->e[k].tier);
    }
}

struct policy_case {
    uint64_t usable[KVF_TIERS];
    uint64_t size_min, size_max;
    int tested; /* bit per tier that has the policy; the others have lru */
    bool pins;
};
static const struct policy_case policy_cases[] = {
    {{0, 1000, 0}, 100, 100, 1 << CPU, false},
    {{0, 1000, 0}, 10, 300, 1 << CPU, false},
    {{0, 1000, 0}, 10, 300, 1 << CPU, true},
    {{400, 900, 0}, 10, 200, 1 << CPU, false},
    {{400, 900, 0}, 10, 200, 1 << CPU, true},
    {{300, 500, 400}, 10, 250, 1 << GPU | 1 << CPU | 1 << NVME, true},
    {{300, 500, 400}, 10, 250, 1 << GPU, true},
    {{300, 200, 500}, 50, 400, 1 << NVME, true},
};
enum { POLICY_CASES = sizeof policy_cases / sizeof policy_cases[0] };

static inline void mirror_run(const struct policy_case *set, const struct policy_model *tested, uint64_t seed,
                              uint64_t (*next_use)(struct mirror *m), struct mirror *m) {
    const struct policy_model *model[KVF_TIERS];
    for (int t = 0; t < KVF_TIERS; t++) model[t] = set->tested >> t & 1 ? tested : &model_lru;
    mirror_open(m, set->usable, model, seed);
    m->next_use = next_use;
    for (int step = 0; step < 6000; step++) {
        step_any(m, set->size_min, set->size_max, set->pins);
        mirror_same(m, step);
        if (step % 16 == 0) fixture_check(&m->f);
    }
    for (int i = 0; i < PINS; i++) step_unpin(m, i);
    mirror_same(m, -1);
    assert_true(m->evicted > 500);
    fixture_close(&m->f);
}

/* All cases: a tier alone, with entries of one size and of many, as the lower tier of a waterfall, in
 * several tiers; with plans that are taken back and entries that are in use. */
static inline void against_the_model(const struct policy_model *tested,
                                     uint64_t (*next_use)(struct mirror *m)) {
    struct mirror *m = calloc(1, sizeof *m);
    uint64_t taken_back = 0, parked = 0;
    assert_non_null(m);
    for (int i = 0; i < POLICY_CASES; i++) {
        for (uint64_t seed = 0; seed < 3; seed++) {
            mirror_run(&policy_cases[i], tested, 100 * (uint64_t)i + seed, next_use, m);
            taken_back += m->plans_taken_back;
            parked += m->parked;
        }
    }
    free(m);
    assert_true(taken_back > 20);
    assert_true(parked > 100);
}

/* A worked example: each letter is read if it is there and else written with 100 bytes, into one tier that
 * holds so many; then the content has to be this. */
static inline void example_accesses(struct fixture *f, const char *letters) {
    for (; *letters; letters++) {
        if (where(f, *letters) >= 0)
            get(f, *letters);
        else
            put(f, *letters, 100);
    }
}
static inline void example_open(struct fixture *f, enum scenario_eviction eviction, uint64_t entries) {
    fixture_open(f, 0, 100 * entries, 0, KVF_PLACEMENT_WATERFALL, eviction, KVF_PROMOTION_NEVER);
}

/* Accesses in turn, and the entries of the cpu tier after them; the list ends with NULL. */
struct example {
    const char *accesses, *content;
};
static inline void example_holds(enum scenario_eviction eviction, uint64_t entries, const struct example *e) {
    struct fixture f;
    example_open(&f, eviction, entries);
    for (; e->accesses; e++) {
        example_accesses(&f, e->accesses);
        expect_content(&f, "", e->content, "");
    }
    fixture_close(&f);
}

/* The program of a policy: its examples, then the comparison with its model. */
#define POLICY_TESTS(name, model, next_use, ...)                                                             \
    static void model_agrees(void **state) {                                                                 \
        (void)state;                                                                                         \
        against_the_model(&(model), next_use);                                                               \
    }                                                                                                        \
    int main(void) {                                                                                         \
        static const struct CMUnitTest tests[] = {__VA_ARGS__, cmocka_unit_test(model_agrees)};              \
        cmocka_set_message_output(CM_OUTPUT_TAP);                                                            \
        return cmocka_run_group_tests_name(#name, tests, NULL, NULL);                                        \
    }

#endif
