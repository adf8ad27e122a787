#include "tests/unit/cache_crowd.h"

/* Placement inclusive: worked examples, a slow model that keeps a table of which key is in which tier, and
 * a crowd. In the examples `in` says which copies there are: "AB/A/" is A and B in gpu, A in cpu. */

static void inclusive_open(struct fixture *f, uint64_t gpu, uint64_t cpu, uint64_t nvme) {
    fixture_open(f, gpu, cpu, nvme, KVF_PLACEMENT_INCLUSIVE, KVF_EVICTION_LRU, KVF_PROMOTION_ON_HIT);
}

static void expect_bytes(const struct fixture *f, uint64_t gpu, uint64_t cpu, uint64_t nvme) {
    struct cache_stats s = fixture_stats(f);
    assert_int_equal(s.used_bytes[GPU], gpu);
    assert_int_equal(s.used_bytes[CPU], cpu);
    assert_int_equal(s.used_bytes[NVME], nvme);
}

/* The write is done as soon as the fastest tier has it; the copies follow one another down. */
static void written_through(void **state) {
    (void)state;
    struct fixture f;
    struct cache_op *op;
    inclusive_open(&f, 100, 100, 100);
    assert_int_equal(write_start(&f, 'A', 60, &op), CACHE_PLANNED);
    done(&f, expect_write(&f, 'A', GPU));
    assert_int_equal(where(&f, 'A'), GPU);
    struct cache_op *first = expect_move(&f, 'A', GPU, CPU);
    assert_int_equal(first->cause, KVF_CAUSE_DEMOTION);
    assert_null(first->owner);
    expect_nothing(&f);
    expect_bytes(&f, 60, 0, 0);
    done(&f, first);
    struct cache_op *second = expect_move(&f, 'A', CPU, NVME);
    assert_int_equal(second->from_place, first->to_place);
    done(&f, second);
    expect_nothing(&f);
    expect_bytes(&f, 60, 60, 60);
    struct cache_stats s = fixture_stats(&f);
    assert_int_equal(s.entries[GPU] + s.entries[CPU] + s.entries[NVME], 3);
    assert_int_equal(s.demotions[GPU], 1);
    assert_int_equal(s.demotions[CPU], 1);
    assert_int_equal(write_start(&f, 'A', 60, &op), CACHE_IS_RESIDENT);
    fixture_close(&f);
}

/* With a copy below nothing moves to make room; the entry is found below and loaded again. */
static void evicted_for_nothing_and_loaded(void **state) {
    (void)state;
    struct fixture f;
    struct cache_op *op;
    inclusive_open(&f, 100, 200, 0);
    put(&f, 'A', 60);
    put(&f, 'B', 60);
    struct cache_stats s = fixture_stats(&f);
    assert_int_equal(s.copies_dropped[GPU], 1);
    assert_int_equal(s.evictions[GPU] + s.evictions[CPU], 0);
    expect_content(&f, "B", "A", "");
    expect_bytes(&f, 60, 120, 0);
    assert_non_null(op = read_start(&f, 'A'));
    assert_int_equal(op->cause, KVF_CAUSE_CONVERSATION);
    assert_ptr_equal(expect(&f, CACHE_OP_READ, 'A', CPU, GPU), op); /* B makes room */
    expect_bytes(&f, 0, 120, 0);
    assert_int_equal(where(&f, 'A'), CPU);
    done(&f, op);
    expect_nothing(&f);
    expect_content(&f, "A", "B", "");
    expect_bytes(&f, 60, 120, 0);
    s = fixture_stats(&f);
    assert_int_equal(s.promotions[CPU], 1);
    assert_int_equal(s.copies_dropped[GPU], 2);
    assert_int_equal(s.demotions[GPU], 2);
    fixture_close(&f);
}

/* A read above keeps the copy below from becoming the coldest there. */
static void read_above_is_recent_below(void **state) {
    (void)state;
    struct fixture f;
    inclusive_open(&f, 100, 200, 0);
    put(&f, 'A', 50);
    put(&f, 'B', 50);
    get(&f, 'A');
    put(&f, 'C', 50); /* B leaves gpu */
    put(&f, 'D', 50); /* A leaves gpu; cpu is full */
    expect_content(&f, "CD", "AB", "");
    put(&f, 'E', 50);
    expect_content(&f, "DE", "AC", "");
    struct cache_stats s = fixture_stats(&f);
    assert_int_equal(s.evictions[CPU], 1); /* B, of which there was no other */
    fixture_close(&f);
}

/* A copy that leaves below takes nothing with it, and is made again at the next read above. */
static void missing_below_is_made_again(void **state) {
    (void)state;
    struct fixture f;
    struct cache_op *op;
    inclusive_open(&f, 100, 60, 0);
    put(&f, 'A', 50);
    put(&f, 'B', 50);
    expect_content(&f, "AB", "", "");
    expect_bytes(&f, 100, 50, 0);
    struct cache_stats s = fixture_stats(&f);
    assert_int_equal(s.copies_dropped[CPU], 1);
    assert_int_equal(s.evictions[CPU], 0);
    assert_non_null(op = read_start(&f, 'A'));
    done(&f, expect_read(&f, 'A', GPU));
    done(&f, expect_move(&f, 'A', GPU, CPU));
    expect_nothing(&f);
    put(&f, 'C', 50); /* B has no copy below: it is lost */
    s = fixture_stats(&f);
    assert_int_equal(s.evictions[GPU], 1);
    assert_int_equal(where(&f, 'B'), -1);
    expect_content(&f, "AC", "", "");
    fixture_close(&f);
}

/* The source of a copy is no victim; a copy that finds no room is skipped, not waited for. */
static void copies_hold_and_skip(void **state) {
    (void)state;
    struct fixture f;
    struct cache_op *op, *a, *b;
    inclusive_open(&f, 100, 60, 0);
    assert_int_equal(write_start(&f, 'A', 50, &op), CACHE_PLANNED);
    done(&f, expect_write(&f, 'A', GPU));
    a = expect_move(&f, 'A', GPU, CPU);
    assert_int_equal(write_start(&f, 'B', 50, &op), CACHE_PLANNED);
    done(&f, expect_write(&f, 'B', GPU)); /* cpu is promised to A */
    expect_nothing(&f);
    assert_int_equal(fixture_stats(&f).copies_skipped, 1);
    assert_non_null(b = read_start(&f, 'B'));
    expect_read(&f, 'B', GPU);
    assert_int_equal(write_start(&f, 'C', 50, &op), CACHE_NO_ROOM_NOW);
    expect_nothing(&f);
    done(&f, a); /* A may go now, and B is copied after its read */
    assert_ptr_equal(expect_write(&f, 'C', GPU), op);
    assert_int_equal(where(&f, 'A'), CPU);
    done(&f, b);
    b = expect_move(&f, 'B', GPU, CPU);
    assert_int_equal(where(&f, 'A'), -1);
    done(&f, b);
    done(&f, op);
    settle(&f);
    expect_content(&f, "BC", "", "");
    fixture_close(&f);
}

/* A copy that fails is an error and leaves the source; an abandoned one is neither. */
static void copies_end_badly(void **state) {
    (void)state;
    struct fixture f;
    struct cache_op *op;
    inclusive_open(&f, 100, 100, 100);
    assert_int_equal(write_start(&f, 'A', 60, &op), CACHE_PLANNED);
    done(&f, op = expect_write(&f, 'A', GPU));
    cache_finish(f.c, expect_move(&f, 'A', GPU, CPU), CACHE_FAILED, false);
    expect_nothing(&f);
    expect_bytes(&f, 60, 0, 0);
    assert_int_equal(fixture_stats(&f).move_errors, 1);
    assert_non_null(read_start(&f, 'A'));
    done(&f, expect_read(&f, 'A', GPU));
    cache_finish(f.c, expect_move(&f, 'A', GPU, CPU), CACHE_ABANDONED, false);
    expect_nothing(&f);
    expect_bytes(&f, 60, 0, 0);
    assert_int_equal(fixture_stats(&f).move_errors, 1);
    fixture_close(&f);
}

/* Corrupt data below: the load leaves nothing above either; a copy elsewhere is not in question. */
static void load_of_corrupt_data(void **state) {
    (void)state;
    struct fixture f;
    inclusive_open(&f, 100, 100, 200);
    put(&f, 'A', 60);
    put(&f, 'B', 60);
    put(&f, 'C', 60);
    expect_content(&f, "C", "", "AB");
    assert_non_null(read_start(&f, 'B'));
    cache_finish(f.c, expect(&f, CACHE_OP_READ, 'B', NVME, GPU), CACHE_FAILED, true);
    expect_nothing(&f);
    assert_int_equal(where(&f, 'B'), -1);
    expect_bytes(&f, 0, 60, 120);
    expect_content(&f, "", "C", "A");
    fixture_close(&f);
}

/* Dropped while it is loaded and read: nobody finds it, and its places are free when all have left. */
static void dropped_under_way(void **state) {
    (void)state;
    struct fixture f;
    struct cache_op *load, *read, *op;
    inclusive_open(&f, 100, 200, 0);
    put(&f, 'A', 60);
    put(&f, 'B', 60);
    assert_non_null(load = read_start(&f, 'A'));
    expect(&f, CACHE_OP_READ, 'A', CPU, GPU);
    assert_non_null(read = read_start(&f, 'A')); /* one load is enough */
    expect_read(&f, 'A', CPU);
    assert_true(cache_drop(f.c, key_of('A')));
    fixture_check(&f);
    assert_int_equal(cache_peek(f.c, key_of('A')), CACHE_ABSENT);
    expect_bytes(&f, 0, 120, 0);
    assert_int_equal(write_start(&f, 'A', 90, &op), CACHE_NO_ROOM_NOW); /* gpu is still being loaded to */
    done(&f, load);
    assert_ptr_equal(expect_write(&f, 'A', GPU), op);
    fixture_check(&f);
    done(&f, read);
    expect_bytes(&f, 0, 60, 0);
    done(&f, op);
    done(&f, expect_move(&f, 'A', GPU, CPU));
    expect_nothing(&f);
    expect_bytes(&f, 90, 150, 0);
    assert_false(cache_drop(f.c, key_of('X')));
    fixture_close(&f);
}

/* Loads do not overtake a write that waits for room; the data is read where it is. */
static void no_load_past_a_waiting_write(void **state) {
    (void)state;
    struct fixture f;
    struct cache_op *op, *held;
    inclusive_open(&f, 100, 300, 0);
    put(&f, 'A', 60);
    put(&f, 'B', 60);
    assert_non_null(held = read_start(&f, 'B'));
    expect_read(&f, 'B', GPU);
    assert_int_equal(write_start(&f, 'C', 80, &op), CACHE_NO_ROOM_NOW);
    assert_non_null(read_start(&f, 'A'));
    done(&f, expect_read(&f, 'A', CPU));
    assert_int_equal(fixture_stats(&f).promotions_skipped, 1);
    done(&f, held);
    settle(&f);
    expect_content(&f, "C", "AB", "");
    fixture_close(&f);
}

/* A is in gpu alone and B in cpu alone when a request reads both under one hold of the lock: the room for B
 * is not made by dropping A. */
static void reads_of_one_hold_stay(void **state) {
    (void)state;
    struct fixture f;
    struct cache_op *write, *op;
    inclusive_open(&f, 100, 100, 0);
    put(&f, 'B', 60);
    assert_int_equal(write_start(&f, 'A', 60, &write), CACHE_PLANNED);
    expect_write(&f, 'A', GPU);
    assert_non_null(op = read_start(&f, 'B'));
    expect_read(&f, 'B', CPU);
    done(&f, write);
    done(&f, op);
    expect_nothing(&f);
    expect_bytes(&f, 60, 60, 0);
    assert_non_null(read_start(&f, 'B'));
    assert_non_null(read_start(&f, 'A'));
    struct cache_op *b = expect_read(&f, 'B', CPU), *a = expect_read(&f, 'A', GPU);
    done(&f, a);
    done(&f, b);
    settle(&f);
    assert_int_equal(where(&f, 'A'), GPU);
    assert_int_equal(fixture_stats(&f).promotions_skipped, 2);
    fixture_close(&f);
}

/* Too large for gpu: it lives below alone; too large for cpu: it is copied past it. */
static void sizes_choose_tiers(void **state) {
    (void)state;
    struct fixture f;
    inclusive_open(&f, 100, 50, 300);
    put(&f, 'A', 120);
    put(&f, 'B', 80);
    put(&f, 'C', 40);
    expect_content(&f, "C", "", "AB");
    expect_bytes(&f, 40, 40, 240);
    get(&f, 'A');
    expect_content(&f, "C", "", "AB");
    get(&f, 'B');
    expect_content(&f, "B", "C", "A");
    expect_bytes(&f, 80, 40, 240);
    fixture_close(&f);
}

/* Entries put into a lower tier before a run stay out of the faster ones. */
static void admitted_from_below(void **state) {
    (void)state;
    struct fixture f;
    inclusive_open(&f, 100, 100, 100);
    cache_admit_from(f.c, CPU);
    put(&f, 'A', 60);
    expect_bytes(&f, 0, 60, 60);
    cache_admit_from(f.c, GPU);
    struct cache_op *op;
    assert_int_equal(write_start(&f, 'B', 30, &op), CACHE_PLANNED);
    done(&f, expect_write(&f, 'B', GPU));
    struct cache_op *copy = expect_move(&f, 'B', GPU, CPU);
    cache_clear(f.c);
    fixture_check(&f);
    assert_int_equal(where(&f, 'A'), -1);
    done(&f, copy);
    expect_nothing(&f);
    expect_bytes(&f, 0, 0, 0);
    assert_int_equal(fixture_stats(&f).evictions[GPU], 0);
    fixture_close(&f);
}

static void nothing_new_after_the_stop(void **state) {
    (void)state;
    struct fixture f;
    struct cache_op *op;
    inclusive_open(&f, 100, 200, 0);
    put(&f, 'A', 60);
    put(&f, 'B', 60);
    assert_int_equal(write_start(&f, 'C', 40, &op), CACHE_PLANNED);
    expect_write(&f, 'C', GPU);
    cache_stop(f.c);
    assert_non_null(read_start(&f, 'A'));
    done(&f, expect_read(&f, 'A', CPU));
    done(&f, op);
    expect_nothing(&f);
    expect_bytes(&f, 100, 120, 0);
    fixture_close(&f);
}

/* --- the model: which key is in which tier, and nothing of operations --- */

struct table {
    const struct setting *set;
    struct marks marks;
    bool in[KEYS][KVF_TIERS];
    int hits[KEYS][KVF_TIERS]; /* since the copy came */
    bool busy[KVF_TIERS];      /* the copy of the key that is being asked for is in use there */
    int asked;
    bool relieved[KVF_TIERS];
    uint64_t inlined, relieves;
    uint64_t bytes[KEYS], access[KEYS], first[KEYS];
    uint64_t rank, refused;
    uint64_t evicted[KVF_TIERS], dropped[KVF_TIERS], down[KVF_TIERS], up[KVF_TIERS];
};

static int table_where(const struct table *m, int k) {
    for (int t = 0; t < KVF_TIERS; t++) {
        if (m->in[k][t]) return t;
    }
    return -1;
}

static uint64_t table_used(const struct table *m, int t) {
    uint64_t used = 0;
    for (int k = 0; k < KEYS; k++) used += m->in[k][t] ? m->bytes[k] : 0;
    return used;
}

static bool table_drop_coldest(struct table *m, int t) {
    int v = -1;
    const uint64_t *by = m->set->eviction == KVF_EVICTION_FIFO ? m->first : m->access;
    for (int i = 0; i < KEYS; i++) {
        bool idle = m->in[i][t] && !(i == m->asked && m->busy[t]);
        if (idle && (v < 0 || by[i] < by[v])) v = i;
    }
    if (v < 0) return false;
    m->in[v][t] = false;
    if (table_where(m, v) < 0)
        m->evicted[t]++;
    else
        m->dropped[t]++;
    return true;
}

/* Whether something had to leave. */
static bool table_put(struct table *m, int k, int t) {
    bool made = false;
    for (; table_used(m, t) + m->bytes[k] > m->set->usable[t]; made = true)
        assert_true(table_drop_coldest(m, t));
    m->in[k][t] = true;
    m->hits[k][t] = 0;
    return made;
}

/* Sixteen at a time, slowest tier first, whenever somebody has asked for something or it has ended. */
static void table_relieve(struct table *m) {
    int left = 16;
    for (int t = KVF_TIERS - 1; t >= 0 && m->marks.high; t--) {
        uint64_t low = m->set->usable[t] * m->marks.low / 100, high = m->set->usable[t] * m->marks.high / 100;
        if (table_used(m, t) > high) m->relieved[t] = true;
        if (table_used(m, t) <= low) m->relieved[t] = false;
        while (m->relieved[t] && left > 0 && table_drop_coldest(m, t)) {
            left--;
            m->relieves++;
            m->relieved[t] = table_used(m, t) > low;
        }
    }
}

static int table_fastest(const struct table *m, uint64_t bytes) {
    for (int t = 0; t < KVF_TIERS; t++) {
        if (m->set->usable[t] && bytes <= m->set->usable[t]) return t;
    }
    return -1;
}

static void table_spread(struct table *m, int k) {
    int above = table_where(m, k);
    for (int t = above + 1; t < KVF_TIERS; t++) {
        if (!m->in[k][t] && m->set->usable[t] && m->bytes[k] <= m->set->usable[t]) {
            table_put(m, k, t);
            m->busy[above] = m->busy[t] = true;
            table_relieve(m);
            m->busy[above] = m->busy[t] = false;
            m->down[above]++;
        }
        if (m->in[k][t]) above = t;
    }
    table_relieve(m);
}

static void table_write(struct table *m, int k, uint64_t bytes, uint64_t rank) {
    int to = table_fastest(m, bytes);
    if (to < 0) {
        m->refused++;
        return;
    }
    m->bytes[k] = bytes;
    m->access[k] = m->first[k] = rank;
    m->inlined += table_put(m, k, to);
    m->busy[to] = true;
    table_relieve(m);
    m->busy[to] = false;
    table_spread(m, k);
}

static void table_read(struct table *m, int k, uint64_t rank, bool again) {
    int at = table_where(m, k), to = table_fastest(m, m->bytes[k]);
    if (m->access[k] < rank) m->access[k] = rank;
    int needed = m->set->promotion == KVF_PROMOTION_SECOND_HIT ? 2 : 1;
    m->hits[k][at] += !again;
    if (to < at && m->set->promotion != KVF_PROMOTION_NEVER && (needed == 1 || m->hits[k][at] >= needed)) {
        table_put(m, k, to);
        m->hits[k][at] = 0;
        m->up[at]++;
    }
    table_spread(m, k);
}

static void table_compare(const struct fixture *f, const struct table *m, int step) {
    struct cache_stats s = fixture_stats(f);
    for (int k = 0; k < KEYS; k++) {
        int tier = cache_where(f->c, number_key(k)), want = table_where(m, k);
        if (tier != want) fail_msg("step %d: key %d is in tier %d, not %d", step, k, tier, want);
    }
    for (int t = 0; t < KVF_TIERS; t++) {
        uint64_t entries = 0;
        for (int k = 0; k < KEYS; k++) entries += m->in[k][t];
        if (s.used_bytes[t] != table_used(m, t))
            fail_msg("step %d: tier %d holds %d, not %d", step, t, (int)s.used_bytes[t],
                     (int)table_used(m, t));
        assert_int_equal(s.entries[t], entries);
        assert_int_equal(s.evictions[t], m->evicted[t]);
        assert_int_equal(s.copies_dropped[t], m->dropped[t]);
        assert_int_equal(s.demotions[t], m->down[t]);
        assert_int_equal(s.promotions[t], m->up[t]);
        assert_int_equal(f->held[t], s.used_bytes[t]);
    }
    assert_int_equal(s.refused, m->refused);
    assert_int_equal(s.room_inline, m->inlined);
    assert_int_equal(s.room_background, m->relieves);
    assert_int_equal(s.promotions_skipped + s.copies_skipped + s.waiting, 0);
}

static void table_step(struct fixture *f, struct table *m, struct rng *r) {
    int k = m->asked = (int)rng_range(r, 0, KEYS - 1);
    uint64_t rank = 0, effective = m->rank + 1, what = rng_range(r, 0, 19);
    bool there = table_where(m, k) >= 0;
    if (what == 0) {
        assert_int_equal(cache_drop(f->c, number_key(k)), there);
        memset(m->in[k], 0, sizeof m->in[k]);
        return;
    }
    if (rng_range(r, 0, 4) == 0) {
        rank = effective = cache_ranks(f->c, 4) + rng_range(r, 0, 3);
        m->rank += 4;
    }
    struct cache_access access = {.cause = KVF_CAUSE_CONVERSATION, .rank = rank, .again = what >= 16};
    if (what == 1) {
        cache_touch(f->c, number_key(k), &access);
        if (there && m->access[k] < effective) m->access[k] = effective;
    } else if (there) {
        assert_non_null(cache_read(f->c, number_key(k), &access, 0, NULL));
        table_read(m, k, effective, access.again);
    } else {
        struct cache_op *op;
        uint64_t bytes = rng_range(r, 1, m->set->size_max), refused = m->refused;
        enum cache_verdict v = cache_write(f->c, number_key(k), bytes, &access, 0, NULL, &op);
        table_write(m, k, bytes, effective);
        there = m->refused == refused;
        assert_int_equal(v, there ? CACHE_PLANNED : CACHE_TOO_LARGE);
    }
    if (!rank && there) m->rank++;
    settle(f);
}

static const struct setting settings[] = {
    {{100, 200, 400}, 30, KVF_PLACEMENT_INCLUSIVE, KVF_EVICTION_LRU, KVF_PROMOTION_ON_HIT},
    {{100, 200, 400}, 120, KVF_PLACEMENT_INCLUSIVE, KVF_EVICTION_LRU, KVF_PROMOTION_ON_HIT},
    {{200, 100, 300}, 150, KVF_PLACEMENT_INCLUSIVE, KVF_EVICTION_FIFO, KVF_PROMOTION_ON_HIT},
    {{100, 100, 100}, 60, KVF_PLACEMENT_INCLUSIVE, KVF_EVICTION_LRU, KVF_PROMOTION_NEVER},
    {{150, 0, 300}, 400, KVF_PLACEMENT_INCLUSIVE, KVF_EVICTION_LRU, KVF_PROMOTION_ON_HIT},
    {{0, 120, 0}, 50, KVF_PLACEMENT_INCLUSIVE, KVF_EVICTION_FIFO, KVF_PROMOTION_NEVER},
    {{300, 150, 80}, 100, KVF_PLACEMENT_INCLUSIVE, KVF_EVICTION_LRU, KVF_PROMOTION_ON_HIT},
    {{100, 200, 400}, 40, KVF_PLACEMENT_INCLUSIVE, KVF_EVICTION_LRU, KVF_PROMOTION_SECOND_HIT},
    {{100, 200, 400}, 30, KVF_PLACEMENT_INCLUSIVE, KVF_EVICTION_LRU, KVF_PROMOTION_ON_HIT},
    {{200, 100, 300}, 90, KVF_PLACEMENT_INCLUSIVE, KVF_EVICTION_FIFO, KVF_PROMOTION_ON_HIT},
    {{0, 300, 600}, 40, KVF_PLACEMENT_INCLUSIVE, KVF_EVICTION_LRU, KVF_PROMOTION_NEVER},
};
enum { SETTINGS = sizeof settings / sizeof *settings };
/* Of the last ones. */
static const struct marks marks_of[SETTINGS] = {
    [SETTINGS - 3] = {70, 90}, [SETTINGS - 2] = {30, 80}, [SETTINGS - 1] = {60, 90}};

static void sequence_against_the_model(void **state) {
    (void)state;
    for (int i = 0; i < SETTINGS; i++) {
        const struct setting *set = &settings[i];
        struct fixture f;
        struct table m = {.set = set, .marks = marks_of[i]};
        struct rng r;
        rng_init(&r, 13, KVF_RNG_TEST, (uint64_t)i);
        setting_open(&f, set, marks_of[i]);
        for (int step = 0; step < 4000; step++) {
            table_step(&f, &m, &r);
            table_compare(&f, &m, step);
            if (step % 16 == 0) fixture_check(&f);
        }
        assert_true(m.evicted[GPU] + m.evicted[CPU] + m.evicted[NVME] > 100);
        fixture_close(&f);
    }
}

static void any_order_drains(void **state) {
    (void)state;
    for (int i = 0; i < SETTINGS; i++) crowd_run_marked(&settings[i], marks_of[i], (uint64_t)i, false, false);
}

static void any_order_drains_with_drops(void **state) {
    (void)state;
    for (int i = 0; i < SETTINGS; i++)
        crowd_run_marked(&settings[i], marks_of[i], (uint64_t)(200 + i), false, true);
}

static void any_order_stops(void **state) {
    (void)state;
    for (int seed = 0; seed < 3; seed++) {
        for (int i = 0; i < SETTINGS; i++)
            crowd_run_marked(&settings[i], marks_of[i], (uint64_t)(100 + 10 * seed + i), true, seed == 2);
    }
}

/* Copies come to and leave a tier under every policy that knows several entries of a key. */
static void every_policy_keeps_copies(void **state) {
    (void)state;
    for (unsigned i = 0; traits_policy(i); i++) {
        if (traits_policy(i)->caps & POLICY_BY_PARENTS) continue;
        struct setting set = settings[i % 2];
        struct marks marks = i % 2 ? (struct marks){60, 90} : (struct marks){0};
        set.eviction = (enum scenario_eviction)i;
        crowd_run_marked(&set, marks, 300 + i, false, true);
        crowd_run_marked(&set, marks, 400 + i, true, false);
    }
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_through),
        cmocka_unit_test(evicted_for_nothing_and_loaded),
        cmocka_unit_test(read_above_is_recent_below),
        cmocka_unit_test(missing_below_is_made_again),
        cmocka_unit_test(copies_hold_and_skip),
        cmocka_unit_test(copies_end_badly),
        cmocka_unit_test(load_of_corrupt_data),
        cmocka_unit_test(dropped_under_way),
        cmocka_unit_test(no_load_past_a_waiting_write),
        cmocka_unit_test(reads_of_one_hold_stay),
        cmocka_unit_test(sizes_choose_tiers),
        cmocka_unit_test(admitted_from_below),
        cmocka_unit_test(nothing_new_after_the_stop),
        cmocka_unit_test(sequence_against_the_model),
        cmocka_unit_test(any_order_drains),
        cmocka_unit_test(any_order_drains_with_drops),
        cmocka_unit_test(any_order_stops),
        cmocka_unit_test(every_policy_keeps_copies),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("cache_copy", tests, NULL, NULL);
}
