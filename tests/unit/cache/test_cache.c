#include "tests/unit/cache_fixture.h"

/* Worked examples: how entries fall, who waits for whom, and who is victim. Sizes are chosen so that
 * each outcome can be followed by hand. */

static void write_then_resident(void **state) {
    (void)state;
    struct fixture f;
    struct cache_op *op;
    fixture_waterfall(&f, 100, 100, 100);
    assert_int_equal(cache_peek(f.c, key_of('A')), CACHE_ABSENT);
    assert_int_equal(write_start(&f, 'A', 60, &op), CACHE_PLANNED);
    assert_int_equal(op->state, CACHE_OP_READY);
    assert_int_equal(cache_under_way(f.c), 1);
    assert_int_equal(cache_peek(f.c, key_of('A')), CACHE_WRITING);
    assert_null(read_start(&f, 'A'));
    struct cache_op *again;
    assert_int_equal(write_start(&f, 'A', 60, &again), CACHE_IS_WRITING);
    assert_null(again);
    assert_ptr_equal(expect_write(&f, 'A', GPU), op);
    assert_int_equal(fixture_stats(&f).used_bytes[GPU], 0);
    done(&f, op);
    assert_int_equal(cache_under_way(f.c), 0);
    assert_int_equal(cache_peek(f.c, key_of('A')), CACHE_RESIDENT);
    assert_int_equal(write_start(&f, 'A', 60, &again), CACHE_IS_RESIDENT);
    struct cache_stats s = fixture_stats(&f);
    assert_int_equal(s.used_bytes[GPU], 60);
    assert_int_equal(s.entries[GPU], 1);
    assert_int_equal(s.bytes_in[GPU], 60);
    fixture_close(&f);
}

/* All tiers full: A leaves at once, then C, E and G start one after the other, deepest first. */
static void waterfall_chain(void **state) {
    (void)state;
    struct fixture f;
    struct cache_op *op;
    fixture_waterfall(&f, 200, 200, 200);
    for (char k = 'A'; k <= 'F'; k++) put(&f, k, 100);
    expect_content(&f, "EF", "CD", "AB");
    assert_int_equal(write_start(&f, 'G', 100, &op), CACHE_PLANNED);
    assert_int_equal(op->state, CACHE_OP_GATED);
    assert_int_equal(where(&f, 'A'), -1);
    struct cache_op *c = expect_move(&f, 'C', CPU, NVME);
    expect_nothing(&f);
    done(&f, c);
    struct cache_op *e = expect_move(&f, 'E', GPU, CPU);
    expect_nothing(&f);
    assert_int_equal(where(&f, 'E'), GPU);
    done(&f, e);
    assert_ptr_equal(expect_write(&f, 'G', GPU), op);
    done(&f, op);
    expect_nothing(&f);
    expect_content(&f, "FG", "DE", "BC");
    struct cache_stats s = fixture_stats(&f);
    assert_int_equal(s.evictions[NVME], 1);
    assert_int_equal(s.demotions[GPU], 5); /* A to E */
    assert_int_equal(s.demotions[CPU], 3); /* A to C */
    fixture_close(&f);
}

/* W needs two victims. V falls to cpu, and again to nvme to let X follow, being colder than U: each
 * fall is a move of its own, the second starts where the first ended. */
static void same_entry_falls_twice(void **state) {
    (void)state;
    struct fixture f;
    struct cache_op *w;
    fixture_waterfall(&f, 100, 100, 1000);
    put(&f, 'U', 50);
    put(&f, 'P', 60);
    put(&f, 'V', 40); /* P and V fill gpu, U is in cpu */
    put(&f, 'X', 60); /* P falls: cpu 110 > 100, so U falls to nvme */
    expect_content(&f, "VX", "P", "U");
    get(&f, 'P');
    assert_int_equal(write_start(&f, 'W', 100, &w), CACHE_PLANNED);
    /* V (40) fits beside P (60). X (60) needs 60: V is colder than P and falls on, then P as well. */
    struct cache_op *v1 = expect_move(&f, 'V', GPU, CPU);
    expect_nothing(&f);
    uint64_t seq = v1->seq, place = v1->to_place;
    done(&f, v1);
    struct cache_op *v2 = expect_move(&f, 'V', CPU, NVME);
    assert_int_equal(v2->seq, seq + 1);
    assert_int_equal(v2->from_place, place);
    struct cache_op *p = expect_move(&f, 'P', CPU, NVME);
    assert_int_equal(p->seq, seq + 2);
    expect_nothing(&f);
    done(&f, v2);
    expect_nothing(&f); /* 60 of cpu are still P's */
    done(&f, p);
    struct cache_op *x = expect_move(&f, 'X', GPU, CPU);
    assert_int_equal(x->seq, seq + 3);
    expect_nothing(&f);
    done(&f, x);
    assert_ptr_equal(expect_write(&f, 'W', GPU), w);
    assert_int_equal(w->seq, seq + 4);
    done(&f, w);
    expect_content(&f, "W", "X", "UVP");
    fixture_close(&f);
}

/* The same without nvme: V falls to cpu and out of it. It does so byte for byte, but nobody finds it. */
static void fall_and_leave_in_one_plan(void **state) {
    (void)state;
    struct fixture f;
    struct cache_op *w, *again;
    fixture_waterfall(&f, 100, 100, 0);
    put(&f, 'P', 60);
    put(&f, 'V', 40);
    put(&f, 'X', 60);
    expect_content(&f, "VX", "P", "");
    get(&f, 'P');
    struct cache_stats before = fixture_stats(&f);
    assert_int_equal(write_start(&f, 'W', 100, &w), CACHE_PLANNED);
    /* P leaves at once, so both V and X have room below; what X was given is still V's in the plan. */
    assert_int_equal(cache_peek(f.c, key_of('V')), CACHE_ABSENT);
    assert_null(read_start(&f, 'V'));
    assert_int_equal(where(&f, 'P'), -1);
    assert_int_equal(fixture_stats(&f).evictions[CPU], before.evictions[CPU] + 1);
    struct cache_op *v = expect_move(&f, 'V', GPU, CPU), *x = expect_move(&f, 'X', GPU, CPU);
    assert_int_equal(v->seq + 1, x->seq);
    assert_int_equal(fixture_stats(&f).used_bytes[GPU], 100);
    /* The new V is another entry; it waits, as all of gpu is promised to W. */
    assert_int_equal(write_start(&f, 'V', 40, &again), CACHE_NO_ROOM_NOW);
    assert_true(again->generation > v->generation);
    done(&f, v);
    struct cache_stats s = fixture_stats(&f);
    assert_int_equal(s.demotions[GPU], before.demotions[GPU] + 1);
    assert_int_equal(s.evictions[GPU], 0);
    assert_int_equal(s.evictions[CPU], before.evictions[CPU] + 2);
    assert_int_equal(s.bytes_in[CPU], before.bytes_in[CPU] + 40);
    assert_int_equal(s.bytes_out[CPU], before.bytes_out[CPU] + 60 + 40);
    assert_int_equal(s.bytes_out[GPU], before.bytes_out[GPU] + 40);
    assert_int_equal(s.used_bytes[CPU], 0);
    assert_int_equal(cache_peek(f.c, key_of('V')), CACHE_WRITING);
    done(&f, x);
    assert_ptr_equal(expect_write(&f, 'W', GPU), w);
    expect_nothing(&f);
    done(&f, w);
    settle(&f);
    expect_content(&f, "V", "W", "");
    fixture_close(&f);
}

/* Three full tiers; A and B were read since, so C is the coldest that is not in gpu, then D. For F,
 * which takes all of gpu: D falls and C before it, E falls and D again before it, and now nvme has to
 * let C go, which came to it in this plan. */
static void victim_leaves_from_where_it_fell_to(void **state) {
    (void)state;
    struct fixture f;
    struct cache_op *w;
    fixture_waterfall(&f, 8192, 8192, 8192);
    for (char k = 'A'; k <= 'E'; k++) put(&f, k, 4096);
    expect_content(&f, "DE", "BC", "A");
    get(&f, 'A');
    get(&f, 'B');
    struct cache_stats before = fixture_stats(&f);
    assert_int_equal(write_start(&f, 'F', 8192, &w), CACHE_PLANNED);
    assert_int_equal(where(&f, 'C'), -1);
    struct cache_op *c = expect_move(&f, 'C', CPU, NVME);
    uint64_t seq = c->seq;
    expect_nothing(&f);
    assert_int_equal(fixture_stats(&f).used_bytes[CPU], 8192);
    done(&f, c);
    assert_int_equal(fixture_stats(&f).evictions[NVME], 1);
    assert_int_equal(fixture_stats(&f).used_bytes[NVME], 4096);
    assert_int_equal(fixture_stats(&f).bytes_in[NVME], before.bytes_in[NVME] + 4096);
    struct cache_op *d1 = expect_move(&f, 'D', GPU, CPU);
    assert_int_equal(d1->seq, seq + 1);
    expect_nothing(&f);
    done(&f, d1);
    struct cache_op *d2 = expect_move(&f, 'D', CPU, NVME);
    assert_int_equal(d2->seq, seq + 2);
    expect_nothing(&f);
    done(&f, d2);
    struct cache_op *e = expect_move(&f, 'E', GPU, CPU);
    assert_int_equal(e->seq, seq + 3);
    done(&f, e);
    done(&f, expect_write(&f, 'F', GPU));
    expect_content(&f, "F", "BE", "AD");
    struct cache_stats s = fixture_stats(&f);
    assert_int_equal(s.evictions[GPU] + s.evictions[CPU], 0);
    assert_int_equal(s.evictions[NVME], 1);
    assert_int_equal(s.demotions[CPU], before.demotions[CPU] + 2);
    assert_int_equal(s.demotions[GPU], before.demotions[GPU] + 2);
    fixture_close(&f);
}

static void too_large_for_the_next_tier(void **state) {
    (void)state;
    struct fixture f;
    struct cache_op *op;
    fixture_waterfall(&f, 100, 50, 1000);
    put(&f, 'A', 60);
    put(&f, 'B', 90);
    expect_content(&f, "B", "", "A");
    put(&f, 'C', 200);
    expect_content(&f, "B", "", "AC");
    assert_int_equal(write_start(&f, 'D', 1001, &op), CACHE_TOO_LARGE);
    assert_null(op);
    assert_int_equal(fixture_stats(&f).refused, 1);
    assert_int_equal(cache_peek(f.c, key_of('D')), CACHE_ABSENT);
    put(&f, 'E', 1000);
    expect_content(&f, "B", "", "E");
    fixture_close(&f);
}

static void spillover_moves_nothing(void **state) {
    (void)state;
    struct fixture f;
    fixture_open(&f, 100, 100, 0, KVF_PLACEMENT_SPILLOVER, KVF_EVICTION_LRU, KVF_PROMOTION_NEVER);
    put(&f, 'A', 60);
    put(&f, 'B', 60);
    put(&f, 'C', 40);
    expect_content(&f, "AC", "B", "");
    put(&f, 'D', 60); /* no room anywhere: the terminal tier evicts, though A is colder */
    expect_content(&f, "AC", "D", "");
    struct cache_stats s = fixture_stats(&f);
    assert_int_equal(s.evictions[CPU], 1);
    assert_int_equal(s.evictions[GPU] + s.demotions[GPU] + s.demotions[CPU], 0);
    fixture_close(&f);
}

static void pinned_is_no_victim(void **state) {
    (void)state;
    struct fixture f;
    struct cache_op *b;
    fixture_waterfall(&f, 100, 0, 0);
    put(&f, 'A', 100);
    struct cache_op *r1 = read_start(&f, 'A'), *r2 = read_start(&f, 'A');
    assert_ptr_equal(expect_read(&f, 'A', GPU), r1);
    assert_ptr_equal(expect_read(&f, 'A', GPU), r2);
    assert_int_equal(write_start(&f, 'B', 100, &b), CACHE_NO_ROOM_NOW);
    assert_int_equal(b->state, CACHE_OP_WAITING);
    assert_int_equal(b->seq, 0);
    assert_int_equal(fixture_stats(&f).waiting, 1);
    assert_int_equal(cache_peek(f.c, key_of('B')), CACHE_WRITING);
    done(&f, r1);
    expect_nothing(&f);
    done(&f, r2);
    assert_ptr_equal(expect_write(&f, 'B', GPU), b);
    assert_int_equal(where(&f, 'A'), -1);
    assert_int_equal(fixture_stats(&f).waiting, 0);
    done(&f, b);
    fixture_close(&f);
}

/* A plan that fails deep down leaves nothing behind: gpu and cpu are as they were. */
static void failed_plan_changes_nothing(void **state) {
    (void)state;
    struct fixture f;
    struct cache_op *op;
    fixture_waterfall(&f, 100, 100, 100);
    put(&f, 'A', 100);
    put(&f, 'B', 100);
    put(&f, 'C', 50);
    put(&f, 'D', 50);
    expect_content(&f, "CD", "B", "A");
    struct cache_op *r = read_start(&f, 'A');
    expect_read(&f, 'A', NVME);
    struct cache_stats before = fixture_stats(&f), after;
    assert_int_equal(write_start(&f, 'E', 80, &op), CACHE_NO_ROOM_NOW);
    expect_nothing(&f);
    after = fixture_stats(&f);
    before.waiting = 1;
    assert_memory_equal(&before, &after, sizeof before);
    expect_content(&f, "CD", "B", "A");
    done(&f, r);
    expect_move(&f, 'B', CPU, NVME);
    fixture_close(&f);
}

/* P is pinned and colder than what falls beside it later in the same plan: V, colder still, must be
 * found although the search for victims had passed P before V came. */
static void fallen_entry_is_found_before_a_pinned_one(void **state) {
    (void)state;
    struct fixture f;
    struct cache_op *w;
    fixture_waterfall(&f, 100, 100, 1000);
    put(&f, 'P', 30);
    put(&f, 'Q', 50);
    put(&f, 'V', 50);
    put(&f, 'X', 50);
    expect_content(&f, "VX", "PQ", "");
    read_start(&f, 'P');
    struct cache_op *pin = expect_read(&f, 'P', CPU);
    get(&f, 'Q');
    assert_int_equal(write_start(&f, 'W', 100, &w), CACHE_PLANNED);
    settle(&f);
    expect_content(&f, "W", "PX", "QV");
    done(&f, pin);
    fixture_close(&f);
}

/* A, B and C are passed over while they are read. Each comes back with its own recency: B as it was,
 * A as read last, C as touched meanwhile. */
static void passed_over_keeps_its_recency(void **state) {
    (void)state;
    for (int fifo = 0; fifo < 2; fifo++) {
        struct fixture f;
        struct cache_op *pin[3];
        fixture_open(&f, 500, 0, 0, KVF_PLACEMENT_WATERFALL, fifo ? KVF_EVICTION_FIFO : KVF_EVICTION_LRU,
                     KVF_PROMOTION_NEVER);
        for (char k = 'A'; k <= 'C'; k++) put(&f, k, 100);
        for (int i = 0; i < 3; i++) {
            read_start(&f, "BAC"[i]);
            pin[i] = cache_next_ready(f.c);
        }
        put(&f, 'D', 100);
        put(&f, 'E', 100);
        get(&f, 'D');
        put(&f, 'F', 100); /* of D and E; passes A, B and C if they are the coldest */
        expect_content(&f, fifo ? "ABCEF" : "ABCDF", "", "");
        fixture_check(&f);
        cache_touch(f.c, key_of('C'), &(struct cache_access){0});
        for (int i = 0; i < 3; i++) done(&f, pin[i]);
        fixture_check(&f);
        put(&f, 'G', 100);
        expect_content(&f, fifo ? "BCEFG" : "ACDFG", "", "");
        put(&f, 'H', 100);
        expect_content(&f, fifo ? "CEFGH" : "CDFGH", "", "");
        put(&f, 'I', 200);
        expect_content(&f, fifo ? "FGHI" : "CGHI", "", "");
        fixture_close(&f);
    }
}

/* A crowd of readers at the cold end, and as many writes that find the one victim behind them all,
 * then as many that wait in vain: neither walks over the crowd each time. */
static void busy_crowd_is_passed_once(void **state) {
    (void)state;
    enum { CROWD = 20000 };
    struct fixture f;
    struct cache_op *op, *first = NULL, *last = NULL;
    fixture_waterfall(&f, CROWD + 1, 0, 0);
    for (uint64_t i = 0; i < CROWD; i++) {
        struct cache_key key = cache_key_make(CACHE_KEY_BLOCK, 1, i);
        cache_write(f.c, key, 1, &(struct cache_access){.cause = KVF_CAUSE_PREFILL}, 0, NULL, &op);
        settle(&f);
        cache_read(f.c, key, &(struct cache_access){.cause = KVF_CAUSE_CONVERSATION}, 0, NULL);
        op = cache_next_ready(f.c);
        op->user = last;
        last = op;
    }
    for (uint64_t i = 0; i < CROWD; i++) {
        cache_write(f.c, cache_key_make(CACHE_KEY_BLOCK, 2, i), 1,
                    &(struct cache_access){.cause = KVF_CAUSE_PREFILL}, 0, NULL, &op);
        settle(&f);
    }
    assert_int_equal(fixture_stats(&f).evictions[GPU], CROWD - 1);
    fixture_check(&f);
    assert_int_equal(write_start(&f, 'W', CROWD + 1, &first), CACHE_NO_ROOM_NOW);
    while (last) {
        op = last;
        last = op->user;
        assert_int_equal(first->state, CACHE_OP_WAITING);
        done(&f, op);
    }
    settle(&f);
    assert_int_equal(fixture_stats(&f).evictions[GPU], 2 * CROWD);
    expect_content(&f, "W", "", "");
    fixture_close(&f);
}

/* A retry that comes to nothing leaves the queue as it was. */
static void waiters_keep_their_order(void **state) {
    (void)state;
    struct fixture f;
    struct cache_op *b, *c;
    fixture_waterfall(&f, 100, 0, 0);
    put(&f, 'A', 100);
    read_start(&f, 'A');
    read_start(&f, 'A');
    struct cache_op *r1 = expect_read(&f, 'A', GPU), *r2 = expect_read(&f, 'A', GPU);
    assert_int_equal(write_start(&f, 'B', 50, &b), CACHE_NO_ROOM_NOW);
    assert_int_equal(write_start(&f, 'C', 50, &c), CACHE_NO_ROOM_NOW);
    done(&f, r1);
    expect_nothing(&f);
    done(&f, r2);
    assert_ptr_equal(expect_write(&f, 'B', GPU), b);
    assert_ptr_equal(expect_write(&f, 'C', GPU), c);
    assert_true(b->seq < c->seq);
    fixture_close(&f);
}

/* Two writes wait for the same tier; the smaller, later one may not slip in. */
static void newcomers_do_not_overtake(void **state) {
    (void)state;
    struct fixture f;
    struct cache_op *b, *c, *d;
    fixture_waterfall(&f, 100, 0, 0);
    put(&f, 'A', 80);
    struct cache_op *r = read_start(&f, 'A');
    expect_read(&f, 'A', GPU);
    assert_int_equal(write_start(&f, 'B', 50, &b), CACHE_NO_ROOM_NOW);
    assert_int_equal(write_start(&f, 'C', 20, &c), CACHE_NO_ROOM_NOW);
    expect_nothing(&f);
    /* B gives up: C fits beside A at once, D has to wait for A. */
    assert_true(cache_cancel(f.c, b));
    assert_false(cache_cancel(f.c, b));
    struct cache_op *gone = expect(&f, CACHE_OP_WRITE, 'B', -1, -1);
    assert_true(gone->failed_wait);
    assert_false(c->failed_wait);
    assert_ptr_equal(expect_write(&f, 'C', GPU), c);
    assert_int_equal(write_start(&f, 'D', 30, &d), CACHE_NO_ROOM_NOW);
    assert_int_equal(fixture_stats(&f).refused, 1);
    cache_finish(f.c, gone, CACHE_ABANDONED, false);
    assert_int_equal(cache_peek(f.c, key_of('B')), CACHE_ABSENT);
    done(&f, c);
    done(&f, r);
    settle(&f);
    expect_content(&f, "CD", "", "");
    fixture_close(&f);
}

/* While A and B are read there is no room in either tier: C waits in the first, then in the second, behind D,
 * which does not fit into the first, and at last in nvme. E stands in the line of the first all the while. */
static void a_write_falls_through_tier_by_tier(void **state) {
    (void)state;
    struct fixture f;
    struct cache_op *c, *d, *e;
    fixture_waterfall(&f, 100, 200, 90);
    put(&f, 'A', 100);
    put(&f, 'B', 100); /* A falls to the cpu */
    struct cache_op *ra = read_start(&f, 'A'), *rb = read_start(&f, 'B');
    expect_read(&f, 'A', CPU);
    expect_read(&f, 'B', GPU);
    assert_int_equal(write_start(&f, 'D', 150, &d), CACHE_NO_ROOM_NOW);
    assert_int_equal(write_start(&f, 'C', 60, &c), CACHE_NO_ROOM_NOW);
    assert_int_equal(write_start(&f, 'E', 50, &e), CACHE_NO_ROOM_NOW);
    assert_true(cache_wait_over(f.c, c)); /* there would be room, but D was first */
    expect_nothing(&f);
    assert_false(cache_wait_over(f.c, c));
    assert_ptr_equal(expect_write(&f, 'C', NVME), c);
    assert_int_equal(fixture_stats(&f).fell_through[GPU], 1);
    assert_int_equal(fixture_stats(&f).fell_through[CPU], 1);
    /* nvme cannot hold D: where it waits is the last tier for it */
    assert_false(cache_wait_over(f.c, d));
    struct cache_op *gone = expect(&f, CACHE_OP_WRITE, 'D', -1, -1);
    assert_true(gone->failed_wait && gone->refused);
    cache_finish(f.c, gone, CACHE_ABANDONED, false);
    assert_int_equal(fixture_stats(&f).refused, 1);
    assert_false(cache_wait_over(f.c, e)); /* it has room in the cpu at once */
    assert_ptr_equal(expect_write(&f, 'E', CPU), e);
    assert_false(cache_wait_over(f.c, e)); /* nothing happens to one that waits no more */
    done(&f, c);
    done(&f, e);
    done(&f, ra);
    done(&f, rb);
    settle(&f);
    expect_content(&f, "B", "AE", "C");
    assert_int_equal(fixture_stats(&f).refused, 1);
    fixture_close(&f);
}

/* A write that spills over has been tried in every tier. */
static void what_spills_over_does_not_fall_through(void **state) {
    (void)state;
    struct fixture f;
    struct cache_op *b;
    fixture_open(&f, 100, 100, 0, KVF_PLACEMENT_SPILLOVER, KVF_EVICTION_LRU, KVF_PROMOTION_NEVER);
    put(&f, 'A', 100);
    put(&f, 'C', 100);
    struct cache_op *ra = read_start(&f, 'A'), *rc = read_start(&f, 'C');
    expect_read(&f, 'A', GPU);
    expect_read(&f, 'C', CPU);
    assert_int_equal(write_start(&f, 'B', 50, &b), CACHE_NO_ROOM_NOW);
    assert_false(cache_wait_over(f.c, b));
    assert_true(expect(&f, CACHE_OP_WRITE, 'B', -1, -1)->refused);
    cache_finish(f.c, b, CACHE_ABANDONED, false);
    done(&f, ra);
    done(&f, rc);
    settle(&f);
    assert_int_equal(fixture_stats(&f).fell_through[GPU], 0);
    fixture_close(&f);
}

/* B's move waits for A's; a reader of the moving A uses the old place, which counts until it leaves. */
static void moving_entry_is_read_at_its_old_place(void **state) {
    (void)state;
    struct fixture f;
    struct cache_op *b;
    fixture_waterfall(&f, 100, 100, 0);
    put(&f, 'A', 100);
    assert_int_equal(write_start(&f, 'B', 100, &b), CACHE_PLANNED);
    struct cache_op *move = expect_move(&f, 'A', GPU, CPU);
    read_start(&f, 'A');
    struct cache_op *old = expect_read(&f, 'A', GPU);
    assert_int_equal(old->from_place, move->from_place);
    uint64_t new_place = move->to_place;
    done(&f, move);
    expect_nothing(&f); /* B is held up by the reader alone */
    assert_int_equal(where(&f, 'A'), CPU);
    struct cache_stats s = fixture_stats(&f);
    assert_int_equal(s.used_bytes[GPU], 100);
    assert_int_equal(s.used_bytes[CPU], 100);
    assert_int_equal(s.demotions[GPU], 1);
    read_start(&f, 'A');
    struct cache_op *fresh = expect_read(&f, 'A', CPU);
    assert_int_equal(fresh->from_place, new_place);
    done(&f, fresh);
    expect_nothing(&f);
    done(&f, old);
    assert_ptr_equal(expect_write(&f, 'B', GPU), b);
    assert_int_equal(fixture_stats(&f).used_bytes[GPU], 0);
    done(&f, b);
    fixture_close(&f);
}

/* A moves for B's sake and is no victim for C, which waits although A alone would do. */
static void moving_for_others_is_no_victim(void **state) {
    (void)state;
    struct fixture f;
    struct cache_op *b, *c;
    fixture_waterfall(&f, 100, 100, 0);
    put(&f, 'A', 100);
    write_start(&f, 'B', 100, &b);
    struct cache_op *move = expect_move(&f, 'A', GPU, CPU);
    assert_int_equal(write_start(&f, 'C', 100, &c), CACHE_NO_ROOM_NOW);
    done(&f, move);
    done(&f, expect_write(&f, 'B', GPU));
    /* Now that B is resident it may fall, and A make room for it by leaving. */
    done(&f, expect_move(&f, 'B', GPU, CPU));
    done(&f, expect_write(&f, 'C', GPU));
    expect_content(&f, "C", "B", "");
    fixture_close(&f);
}

/* B falls after A, but A was read below since: B is the colder one there. */
static void demotion_keeps_recency(void **state) {
    (void)state;
    struct fixture f;
    fixture_waterfall(&f, 100, 200, 0);
    put(&f, 'A', 100);
    put(&f, 'B', 100);
    get(&f, 'A');
    put(&f, 'C', 100);
    expect_content(&f, "C", "AB", "");
    put(&f, 'D', 100);
    expect_content(&f, "D", "AC", "");
    fixture_close(&f);
}

static void lru_and_fifo_differ(void **state) {
    (void)state;
    struct fixture f;
    for (int fifo = 0; fifo < 2; fifo++) {
        fixture_open(&f, 300, 0, 0, KVF_PLACEMENT_WATERFALL, fifo ? KVF_EVICTION_FIFO : KVF_EVICTION_LRU,
                     KVF_PROMOTION_NEVER);
        for (char k = 'A'; k <= 'C'; k++) put(&f, k, 100);
        get(&f, 'A');
        cache_touch(f.c, key_of('B'), &(struct cache_access){0});
        struct cache_op *op;
        assert_int_equal(write_start(&f, 'C', 100, &op), CACHE_IS_RESIDENT); /* no access */
        put(&f, 'D', 100);
        expect_content(&f, fifo ? "BCD" : "ABD", "", "");
        fixture_close(&f);
    }
}

/* Three blocks, touched with ranks of one piece: last first lets the leaf (C) go first. */
static void touch_order_decides(void **state) {
    (void)state;
    for (int forward = 0; forward < 2; forward++) {
        struct fixture f;
        fixture_waterfall(&f, 300, 0, 0);
        for (char k = 'A'; k <= 'C'; k++) put(&f, k, 100);
        uint64_t rank = cache_ranks(f.c, 3);
        for (char k = 'A'; k <= 'C'; k++)
            cache_touch(f.c, key_of(k),
                        &(struct cache_access){.rank = rank + (uint64_t)(forward ? k - 'A' : 'C' - k)});
        put(&f, 'D', 100);
        expect_content(&f, forward ? "BCD" : "ABD", "", "");
        fixture_close(&f);
    }
}

/* Writes with explicit ranks, finished in another order; an old rank does not make less recent. */
static void ranks_of_writes_and_late_touches(void **state) {
    (void)state;
    struct fixture f;
    struct cache_op *a, *b;
    fixture_waterfall(&f, 200, 0, 0);
    uint64_t rank = cache_ranks(f.c, 2);
    cache_write(f.c, key_of('A'), 100, &(struct cache_access){.cause = KVF_CAUSE_PREFILL, .rank = rank + 1},
                3, &f, &a);
    cache_write(f.c, key_of('B'), 100, &(struct cache_access){.cause = KVF_CAUSE_PREFILL, .rank = rank}, 4,
                &f, &b);
    assert_int_equal(a->worker, 3);
    assert_ptr_equal(b->owner, &f);
    settle(&f);
    put(&f, 'C', 100);
    expect_content(&f, "AC", "", "");
    cache_touch(f.c, key_of('C'), &(struct cache_access){.rank = rank});
    put(&f, 'D', 100);
    expect_content(&f, "CD", "", "");
    fixture_close(&f);
}

static void lookups_are_counted(void **state) {
    (void)state;
    struct fixture f;
    fixture_waterfall(&f, 100, 0, 0);
    cache_count_lookup(f.c, KVF_CAUSE_PREFIX, GPU);
    cache_count_lookup(f.c, KVF_CAUSE_PREFIX, -1);
    cache_count_lookup(f.c, KVF_CAUSE_RAG, GPU);
    cache_recount_miss(f.c, KVF_CAUSE_RAG, GPU);
    struct cache_stats s = fixture_stats(&f);
    assert_int_equal(s.lookups[KVF_CAUSE_PREFIX], 2);
    assert_int_equal(s.hits[KVF_CAUSE_PREFIX], 1);
    assert_int_equal(s.misses[KVF_CAUSE_PREFIX], 1);
    assert_int_equal(s.tier_hits[GPU], 1);
    assert_int_equal(s.hits[KVF_CAUSE_RAG], 0);
    assert_int_equal(s.misses[KVF_CAUSE_RAG], 1);
    fixture_close(&f);
}

static void expect_since(const struct fixture *f, const struct cache_stats *then, enum kvf_cause cause,
                         uint64_t lookups, uint64_t hits) {
    struct cache_stats now = fixture_stats(f), since;
    cache_stats_since(&since, &now, then);
    assert_int_equal(since.lookups[cause], lookups);
    assert_int_equal(since.hits[cause], hits);
    assert_int_equal(since.misses[cause], lookups - hits);
    uint64_t by_tier = 0, by_cause = 0;
    for (int t = 0; t < KVF_TIERS; t++) by_tier += since.tier_hits[t];
    for (int k = 0; k < KVF_CAUSES; k++) by_cause += since.hits[k];
    assert_int_equal(by_tier, by_cause);
}

/* A read that fails after a reading takes back a hit from before it. */
static void what_was_counted_in_between_is_never_less_than_nothing(void **state) {
    (void)state;
    struct fixture f;
    fixture_waterfall(&f, 100, 100, 0);
    put(&f, 'A', 60);
    cache_count_lookup(f.c, KVF_CAUSE_PREFIX, GPU);
    cache_count_lookup(f.c, KVF_CAUSE_PREFIX, CPU);
    struct cache_stats then = fixture_stats(&f);
    cache_recount_miss(f.c, KVF_CAUSE_PREFIX, GPU);
    expect_since(&f, &then, KVF_CAUSE_PREFIX, 0, 0);
    cache_count_lookup(f.c, KVF_CAUSE_PREFIX, CPU);
    cache_count_lookup(f.c, KVF_CAUSE_PREFIX, CPU);
    cache_count_lookup(f.c, KVF_CAUSE_PREFIX, -1);
    cache_recount_miss(f.c, KVF_CAUSE_PREFIX, CPU); /* of three that were or are there, one of these */
    cache_count_lookup(f.c, KVF_CAUSE_RAG, GPU);
    expect_since(&f, &then, KVF_CAUSE_PREFIX, 3, 1);
    expect_since(&f, &then, KVF_CAUSE_RAG, 1, 1);
    put(&f, 'B', 60);
    struct cache_stats now = fixture_stats(&f), since;
    cache_stats_since(&since, &now, &then);
    assert_int_equal(since.demotions[GPU], 1);
    assert_int_equal(since.bytes_in[GPU], 60);
    assert_int_equal(since.used_bytes[CPU], 60);
    assert_int_equal(since.entries[GPU], 1);
    fixture_close(&f);
}

static void what_this_build_has_not_is_refused(void **state) {
    (void)state;
    struct cache_config config = {.on = {true},
                                  .usable_bytes = {100},
                                  .placement = KVF_PLACEMENT_INCLUSIVE,
                                  .eviction = {KVF_EVICTION_LEAF_LRU}};
    struct err e = {0};
    assert_null(cache_open(&config, &e));
    assert_int_equal(e.code, KVF_ERR_UNAVAILABLE);
    cache_close(NULL);
}

static void read_again(struct fixture *f, char letter) {
    struct cache_access access = {.cause = KVF_CAUSE_DECODE, .again = true};
    assert_non_null(cache_read(f->c, key_of(letter), &access, 0, NULL));
    settle(f);
}

/* A falls with a hit behind it, which counts no more below; its re-reads count nowhere. Back above it
 * starts at nothing again. */
static void second_hit_counts_from_the_arrival(void **state) {
    (void)state;
    struct fixture f;
    fixture_open(&f, 100, 300, 0, KVF_PLACEMENT_WATERFALL, KVF_EVICTION_LRU, KVF_PROMOTION_SECOND_HIT);
    put(&f, 'A', 60);
    get(&f, 'A');
    put(&f, 'B', 60);
    expect_content(&f, "B", "A", "");
    get(&f, 'A');
    for (int i = 0; i < 5; i++) read_again(&f, 'A');
    expect_content(&f, "B", "A", "");
    get(&f, 'A');
    expect_content(&f, "A", "B", "");
    get(&f, 'B');
    get(&f, 'A');
    get(&f, 'A');
    put(&f, 'C', 60);
    get(&f, 'A');
    expect_content(&f, "C", "AB", "");
    get(&f, 'B'); /* its second since it fell */
    expect_content(&f, "B", "AC", "");
    assert_int_equal(fixture_stats(&f).promotions[CPU], 2);
    fixture_close(&f);
}

/* At its second hit there is no room; it goes up at the third. */
static void second_hit_stays_due(void **state) {
    (void)state;
    struct fixture f;
    struct cache_op *op;
    fixture_open(&f, 100, 300, 0, KVF_PLACEMENT_WATERFALL, KVF_EVICTION_LRU, KVF_PROMOTION_SECOND_HIT);
    put(&f, 'A', 60);
    put(&f, 'B', 60);
    assert_non_null(op = read_start(&f, 'B'));
    expect_read(&f, 'B', GPU);
    get(&f, 'A');
    get(&f, 'A');
    assert_int_equal(fixture_stats(&f).promotions_skipped, 1);
    done(&f, op);
    get(&f, 'A');
    expect_content(&f, "A", "B", "");
    fixture_close(&f);
}

/* Measured on the pools themselves, at every size on the way up. */
static void memory_of_an_entry(void **state) {
    (void)state;
    struct fixture f;
    fixture_waterfall(&f, 1 << 20, 0, 0);
    for (uint64_t i = 0; i < 60000; i++) {
        struct cache_op *op;
        cache_write(f.c, cache_key_make(CACHE_KEY_BLOCK, 1, i), 1,
                    &(struct cache_access){.cause = KVF_CAUSE_PREFILL}, 0, NULL, &op);
        settle(&f);
        if (i > 30000) assert_true(cache_memory_bytes(f.c) < 128);
    }
    fixture_close(&f);
}

/* ---- before a run ---- */

/* Straight into the tier, and out of the cache from there; then the rule of the placement again. */
static void entries_can_be_put_into_a_lower_tier(void **state) {
    (void)state;
    struct fixture f;
    fixture_waterfall(&f, 100, 100, 200);
    cache_admit_from(f.c, NVME);
    for (char k = 'A'; k <= 'C'; k++) put(&f, k, 100);
    expect_content(&f, "", "", "BC");
    cache_admit_from(f.c, CPU);
    put(&f, 'D', 100);
    put(&f, 'E', 150); /* does not fit cpu at all */
    expect_content(&f, "", "D", "E");
    cache_admit_from(f.c, GPU);
    put(&f, 'F', 100);
    expect_content(&f, "F", "D", "E");
    assert_int_equal(fixture_stats(&f).demotions[GPU] + fixture_stats(&f).demotions[CPU], 0);
    fixture_close(&f);
}

static void spillover_puts_them_there_too(void **state) {
    (void)state;
    struct fixture f;
    fixture_open(&f, 100, 100, 100, KVF_PLACEMENT_SPILLOVER, KVF_EVICTION_LRU, KVF_PROMOTION_NEVER);
    cache_admit_from(f.c, CPU);
    put(&f, 'A', 100);
    put(&f, 'B', 100);
    expect_content(&f, "", "A", "B");
    fixture_close(&f);
}

/* Nothing is left of them, nothing counts as evicted, and all the room is there again. */
static void a_cleared_cache_is_empty(void **state) {
    (void)state;
    struct fixture f;
    fixture_waterfall(&f, 200, 200, 200);
    for (char k = 'A'; k <= 'F'; k++) put(&f, k, 100);
    cache_clear(f.c);
    fixture_check(&f);
    expect_nothing(&f);
    expect_content(&f, "", "", "");
    struct cache_stats s = fixture_stats(&f);
    for (int t = GPU; t <= NVME; t++) {
        assert_int_equal(s.used_bytes[t] + s.entries[t] + s.evictions[t], 0);
        assert_int_equal(s.bytes_in[t], s.bytes_out[t]);
    }
    for (char k = 'A'; k <= 'C'; k++) {
        assert_int_equal(cache_peek(f.c, key_of(k)), CACHE_ABSENT);
        put(&f, k, 200);
    }
    expect_content(&f, "C", "B", "A");
    fixture_close(&f);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(write_then_resident),
        cmocka_unit_test(waterfall_chain),
        cmocka_unit_test(same_entry_falls_twice),
        cmocka_unit_test(fall_and_leave_in_one_plan),
        cmocka_unit_test(victim_leaves_from_where_it_fell_to),
        cmocka_unit_test(too_large_for_the_next_tier),
        cmocka_unit_test(spillover_moves_nothing),
        cmocka_unit_test(pinned_is_no_victim),
        cmocka_unit_test(failed_plan_changes_nothing),
        cmocka_unit_test(fallen_entry_is_found_before_a_pinned_one),
        cmocka_unit_test(passed_over_keeps_its_recency),
        cmocka_unit_test(busy_crowd_is_passed_once),
        cmocka_unit_test(waiters_keep_their_order),
        cmocka_unit_test(newcomers_do_not_overtake),
        cmocka_unit_test(a_write_falls_through_tier_by_tier),
        cmocka_unit_test(what_spills_over_does_not_fall_through),
        cmocka_unit_test(moving_entry_is_read_at_its_old_place),
        cmocka_unit_test(moving_for_others_is_no_victim),
        cmocka_unit_test(demotion_keeps_recency),
        cmocka_unit_test(lru_and_fifo_differ),
        cmocka_unit_test(touch_order_decides),
        cmocka_unit_test(ranks_of_writes_and_late_touches),
        cmocka_unit_test(lookups_are_counted),
        cmocka_unit_test(what_was_counted_in_between_is_never_less_than_nothing),
        cmocka_unit_test(what_this_build_has_not_is_refused),
        cmocka_unit_test(second_hit_counts_from_the_arrival),
        cmocka_unit_test(second_hit_stays_due),
        cmocka_unit_test(memory_of_an_entry),
        cmocka_unit_test(entries_can_be_put_into_a_lower_tier),
        cmocka_unit_test(spillover_puts_them_there_too),
        cmocka_unit_test(a_cleared_cache_is_empty),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("cache", tests, NULL, NULL);
}
