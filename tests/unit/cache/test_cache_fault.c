#include "tests/unit/cache_fixture.h"

/* Promotions, and operations that end badly, are given up or are cut off by the end of a run. */

static void open_promoting(struct fixture *f, uint64_t gpu, uint64_t cpu, uint64_t nvme,
                           enum scenario_placement placement) {
    fixture_open(f, gpu, cpu, nvme, placement, KVF_EVICTION_LRU, KVF_PROMOTION_ON_HIT);
}

static void end_failed(struct fixture *f, struct cache_op *op) {
    cache_finish(f->c, op, CACHE_FAILED, false);
}
static void end_corrupt(struct fixture *f, struct cache_op *op) {
    cache_finish(f->c, op, CACHE_FAILED, true);
}
static void abandon(struct fixture *f, struct cache_op *op) {
    cache_finish(f->c, op, CACHE_ABANDONED, false);
}

/* A goes up from nvme after its read; C and B fall for it, so D leaves though A's place gets free. */
static void promotion_on_hit(void **state) {
    (void)state;
    struct fixture f;
    open_promoting(&f, 100, 100, 200, KVF_PLACEMENT_WATERFALL);
    put(&f, 'D', 100);
    put(&f, 'A', 100);
    put(&f, 'B', 100);
    put(&f, 'C', 100);
    expect_content(&f, "C", "B", "DA");
    read_start(&f, 'A');
    struct cache_op *read = expect_read(&f, 'A', NVME);
    uint64_t seq = read->seq;
    read->worker = 6;
    done(&f, read);
    struct cache_op *b = expect_move(&f, 'B', CPU, NVME);
    assert_int_equal(b->cause, KVF_CAUSE_DEMOTION);
    assert_int_equal(b->seq, seq + 1);
    assert_int_equal(where(&f, 'D'), -1);
    done(&f, b);
    done(&f, expect_move(&f, 'C', GPU, CPU));
    struct cache_op *a = expect_move(&f, 'A', NVME, GPU);
    assert_int_equal(a->cause, KVF_CAUSE_PROMOTION);
    assert_int_equal(a->seq, seq + 3);
    assert_int_equal(a->worker, 6);
    assert_null(a->owner);
    done(&f, a);
    expect_nothing(&f);
    expect_content(&f, "A", "C", "B");
    struct cache_stats s = fixture_stats(&f);
    assert_int_equal(s.promotions[NVME], 1);
    assert_int_equal(s.promotions_skipped, 0);
    fixture_close(&f);
}

static void promotion_waits_for_the_last_reader(void **state) {
    (void)state;
    struct fixture f;
    open_promoting(&f, 100, 100, 0, KVF_PLACEMENT_WATERFALL);
    put(&f, 'A', 100);
    put(&f, 'B', 100);
    read_start(&f, 'A');
    read_start(&f, 'A');
    struct cache_op *r1 = expect_read(&f, 'A', CPU), *r2 = expect_read(&f, 'A', CPU);
    done(&f, r1);
    expect_nothing(&f);
    end_failed(&f, r2); /* no hit */
    expect_nothing(&f);
    assert_int_equal(fixture_stats(&f).promotions_skipped, 0);
    fixture_close(&f);
}

/* B is pinned in gpu; the promotion of A does not wait for it. */
static void promotion_without_room_is_skipped(void **state) {
    (void)state;
    struct fixture f;
    open_promoting(&f, 100, 100, 0, KVF_PLACEMENT_WATERFALL);
    put(&f, 'A', 100);
    put(&f, 'B', 100);
    read_start(&f, 'B');
    struct cache_op *pin = expect_read(&f, 'B', GPU);
    get(&f, 'A');
    expect_content(&f, "B", "A", "");
    assert_int_equal(fixture_stats(&f).promotions_skipped, 1);
    done(&f, pin);
    expect_nothing(&f);
    /* B may fall now, but cpu, full with A itself, has no room: its bytes do not count as leaving. */
    get(&f, 'A');
    expect_content(&f, "B", "A", "");
    assert_int_equal(fixture_stats(&f).promotions_skipped, 2);
    fixture_close(&f);
}

/* Read again while it moves up: the old place stays, and counts in the plan, until the reader leaves. */
static void promoted_entry_still_read_below(void **state) {
    (void)state;
    struct fixture f;
    struct cache_op *op;
    open_promoting(&f, 100, 100, 0, KVF_PLACEMENT_WATERFALL);
    put(&f, 'A', 60);
    put(&f, 'B', 100);
    put(&f, 'C', 40);
    expect_content(&f, "C", "B", "");
    put(&f, 'D', 60);
    get(&f, 'B'); /* 100 for gpu: no room below for C and D beside B itself */
    expect_content(&f, "CD", "B", "");
    fixture_close(&f);

    open_promoting(&f, 100, 200, 0, KVF_PLACEMENT_WATERFALL);
    put(&f, 'A', 100);
    put(&f, 'B', 100);
    read_start(&f, 'A');
    done(&f, expect_read(&f, 'A', CPU));
    done(&f, expect_move(&f, 'B', GPU, CPU));
    struct cache_op *up = expect_move(&f, 'A', CPU, GPU);
    read_start(&f, 'A');
    struct cache_op *below = expect_read(&f, 'A', CPU);
    done(&f, up);
    assert_int_equal(where(&f, 'A'), GPU);
    assert_int_equal(fixture_stats(&f).used_bytes[CPU], 200);
    /* C needs A to fall and 100 of cpu for it: the held place is no room yet, so B leaves. */
    assert_int_equal(write_start(&f, 'C', 100, &op), CACHE_PLANNED);
    assert_int_equal(where(&f, 'B'), -1);
    done(&f, below);
    assert_int_equal(fixture_stats(&f).used_bytes[CPU], 0);
    settle(&f);
    expect_content(&f, "C", "A", "");
    fixture_close(&f);
}

/* W waits for the whole of gpu; B would fit beside A, but may not take what W waits for. */
static void promotion_does_not_overtake_who_waits(void **state) {
    (void)state;
    struct fixture f;
    struct cache_op *w;
    open_promoting(&f, 100, 200, 0, KVF_PLACEMENT_WATERFALL);
    put(&f, 'B', 30);
    put(&f, 'C', 100);
    read_start(&f, 'C');
    end_corrupt(&f, expect_read(&f, 'C', GPU));
    put(&f, 'A', 60);
    read_start(&f, 'A');
    struct cache_op *pin = expect_read(&f, 'A', GPU);
    assert_int_equal(write_start(&f, 'W', 100, &w), CACHE_NO_ROOM_NOW);
    get(&f, 'B');
    expect_content(&f, "A", "B", "");
    assert_int_equal(fixture_stats(&f).promotions_skipped, 1);
    done(&f, pin);
    settle(&f);
    expect_content(&f, "W", "AB", "");
    fixture_close(&f);
}

static void promotion_under_spillover(void **state) {
    (void)state;
    struct fixture f;
    open_promoting(&f, 100, 100, 0, KVF_PLACEMENT_SPILLOVER);
    put(&f, 'A', 90);
    put(&f, 'B', 60);
    get(&f, 'B');
    expect_content(&f, "A", "B", "");
    assert_int_equal(fixture_stats(&f).promotions_skipped, 1);
    read_start(&f, 'A');
    end_corrupt(&f, expect_read(&f, 'A', GPU));
    get(&f, 'B');
    expect_content(&f, "B", "", "");
    fixture_close(&f);
}

static void failed_write_leaves_nothing(void **state) {
    (void)state;
    struct fixture f;
    struct cache_op *a;
    fixture_waterfall(&f, 100, 0, 0);
    write_start(&f, 'A', 100, &a);
    expect_write(&f, 'A', GPU);
    struct cache_op *w1 = cache_wait(f.c, key_of('A'), 0, NULL), *w2 = cache_wait(f.c, key_of('A'), 0, NULL);
    assert_int_equal(fixture_stats(&f).waiting, 2);
    expect_nothing(&f);
    end_failed(&f, a);
    assert_ptr_equal(expect(&f, CACHE_OP_WAIT, 'A', -1, -1), w1);
    assert_ptr_equal(expect(&f, CACHE_OP_WAIT, 'A', -1, -1), w2);
    assert_false(w1->failed_wait);
    assert_int_equal(w1->seq, 0);
    done(&f, w1);
    done(&f, w2);
    assert_int_equal(cache_peek(f.c, key_of('A')), CACHE_ABSENT);
    assert_null(cache_wait(f.c, key_of('A'), 0, NULL));
    assert_int_equal(f.held[GPU], 0);
    assert_int_equal(fixture_stats(&f).bytes_in[GPU], 0);
    put(&f, 'A', 100);
    assert_null(cache_wait(f.c, key_of('A'), 0, NULL));
    fixture_close(&f);
}

static void waiter_gives_up(void **state) {
    (void)state;
    struct fixture f;
    struct cache_op *a;
    fixture_waterfall(&f, 100, 0, 0);
    write_start(&f, 'A', 100, &a);
    expect_write(&f, 'A', GPU);
    struct cache_op *w = cache_wait(f.c, key_of('A'), 0, NULL);
    assert_false(cache_cancel(f.c, a)); /* running */
    assert_true(cache_cancel(f.c, w));
    assert_ptr_equal(expect(&f, CACHE_OP_WAIT, 'A', -1, -1), w);
    assert_true(w->failed_wait);
    abandon(&f, w);
    assert_int_equal(fixture_stats(&f).refused, 0);
    done(&f, a);
    expect_nothing(&f);
    expect_content(&f, "A", "", "");
    fixture_close(&f);
}

/* The entry is lost, but its bytes are free above, so the write behind it goes on. */
static void failed_move_drops_the_entry(void **state) {
    (void)state;
    struct fixture f;
    struct cache_op *b;
    fixture_waterfall(&f, 100, 100, 0);
    put(&f, 'A', 100);
    write_start(&f, 'B', 100, &b);
    end_failed(&f, expect_move(&f, 'A', GPU, CPU));
    assert_int_equal(cache_peek(f.c, key_of('A')), CACHE_ABSENT);
    assert_ptr_equal(expect_write(&f, 'B', GPU), b);
    done(&f, b);
    struct cache_stats s = fixture_stats(&f);
    assert_int_equal(s.move_errors, 1);
    assert_int_equal(s.demotions[GPU] + s.evictions[GPU], 0);
    assert_int_equal(s.used_bytes[CPU], 0);
    assert_int_equal(f.held[CPU], 0);
    fixture_close(&f);
}

/* V has two falls to go when the first fails: the second still comes out, as given up. */
static void failed_move_with_another_behind(void **state) {
    (void)state;
    struct fixture f;
    struct cache_op *w;
    fixture_waterfall(&f, 100, 100, 1000);
    put(&f, 'P', 60);
    put(&f, 'V', 40);
    put(&f, 'X', 60);
    get(&f, 'P');
    write_start(&f, 'W', 100, &w);
    struct cache_op *v1 = expect_move(&f, 'V', GPU, CPU);
    uint64_t seq = v1->seq;
    end_failed(&f, v1);
    struct cache_op *v2 = expect_move(&f, 'V', CPU, NVME);
    assert_true(v2->failed_wait);
    assert_int_equal(v2->seq, seq + 1);
    abandon(&f, v2);
    settle(&f);
    expect_content(&f, "W", "X", "P");
    assert_int_equal(fixture_stats(&f).move_errors, 1);
    fixture_close(&f);
}

/* For W, all of gpu, D falls to cpu, on to nvme and out, B making room in cpu before it, A in nvme;
 * E follows it to nvme and F to cpu. Returns the first fall of D. */
static struct cache_op *leaving_start(struct fixture *f, struct cache_op **w) {
    fixture_waterfall(f, 12, 8, 8);
    for (char k = 'A'; k <= 'F'; k++) put(f, k, 4);
    expect_content(f, "DEF", "BC", "A");
    for (char k = 'A'; k <= 'C'; k++) get(f, k);
    assert_int_equal(write_start(f, 'W', 12, w), CACHE_PLANNED);
    expect_content(f, "EF", "BC", "");
    done(f, expect_move(f, 'B', CPU, NVME));
    return expect_move(f, 'D', GPU, CPU);
}

/* Each fall of D fails in turn: D is lost where it is, by an error and not by eviction. */
static void failed_move_of_a_leaving_entry(void **state) {
    (void)state;
    for (int which = 0; which < 3; which++) {
        struct fixture f;
        struct cache_op *w, *d = leaving_start(&f, &w);
        if (which == 0) {
            end_failed(&f, d);
            d = expect_move(&f, 'D', CPU, NVME);
            assert_true(d->failed_wait);
            abandon(&f, d);
        } else {
            done(&f, d);
            d = expect_move(&f, 'D', CPU, NVME);
            assert_int_equal(fixture_stats(&f).used_bytes[CPU], 8);
            cache_finish(f.c, d, which == 1 ? CACHE_FAILED : CACHE_DONE, false);
        }
        fixture_check(&f);
        assert_int_equal(fixture_stats(&f).used_bytes[GPU], 8);
        assert_int_equal(f.held[NVME], 4);
        settle(&f);
        expect_content(&f, "W", "CF", "BE");
        struct cache_stats s = fixture_stats(&f);
        assert_int_equal(s.move_errors, which < 2);
        assert_int_equal(s.evictions[GPU] + s.evictions[CPU], 0);
        assert_int_equal(s.evictions[NVME], which < 2 ? 1 : 2); /* A; and D if all went well */
        fixture_close(&f);
    }
}

/* The run ends while D falls: it leaves from the last tier that it reached, in whatever order the
 * executor reports, and all else is where it was. */
static void stop_of_a_leaving_entry(void **state) {
    (void)state;
    for (int which = 0; which < 4; which++) {
        struct fixture f;
        struct cache_op *w, *d1 = leaving_start(&f, &w), *d2;
        bool arrives = which & 1, first = which & 2;
        cache_stop(f.c);
        while ((d2 = cache_next_ready(f.c)) && letter_of(d2) != 'D') abandon(&f, d2);
        assert_true(d2->failed_wait);
        if (!first) abandon(&f, d2);
        fixture_check(&f);
        assert_int_equal(fixture_stats(&f).used_bytes[GPU], 12);
        cache_finish(f.c, d1, arrives ? CACHE_DONE : CACHE_ABANDONED, false);
        fixture_check(&f);
        if (first && arrives) assert_int_equal(fixture_stats(&f).used_bytes[CPU], 8);
        if (first) abandon(&f, d2);
        settle(&f);
        expect_content(&f, "EF", "C", "B");
        struct cache_stats s = fixture_stats(&f);
        assert_int_equal(s.evictions[GPU], !arrives);
        assert_int_equal(s.evictions[CPU], arrives);
        assert_int_equal(s.evictions[NVME], 1);
        assert_int_equal(s.demotions[GPU], 3 + arrives);
        assert_int_equal(s.used_bytes[GPU], 8);
        assert_int_equal(f.held[CPU], 4);
        assert_int_equal(s.move_errors, 0);
        fixture_close(&f);
    }
}

/* A corrupt entry is gone at once, its place when the other reader has left. */
static void corrupt_read_drops_the_entry(void **state) {
    (void)state;
    struct fixture f;
    struct cache_op *op;
    fixture_waterfall(&f, 100, 0, 0);
    put(&f, 'A', 100);
    read_start(&f, 'A');
    read_start(&f, 'A');
    struct cache_op *r1 = expect_read(&f, 'A', GPU), *r2 = expect_read(&f, 'A', GPU);
    end_failed(&f, r1); /* an I/O error alone drops nothing */
    assert_int_equal(where(&f, 'A'), GPU);
    read_start(&f, 'A');
    end_corrupt(&f, expect_read(&f, 'A', GPU));
    assert_int_equal(cache_peek(f.c, key_of('A')), CACHE_ABSENT);
    assert_int_equal(f.held[GPU], 100);
    assert_int_equal(write_start(&f, 'A', 100, &op), CACHE_NO_ROOM_NOW);
    end_corrupt(&f, r2); /* of the old A: the new one is not touched */
    assert_ptr_equal(expect_write(&f, 'A', GPU), op);
    done(&f, op);
    expect_content(&f, "A", "", "");
    fixture_close(&f);
}

/* A late report on the old A, written again meanwhile, does not touch the new one. */
static void corrupt_read_of_an_older_generation(void **state) {
    (void)state;
    struct fixture f;
    fixture_waterfall(&f, 200, 0, 0);
    put(&f, 'A', 100);
    read_start(&f, 'A');
    read_start(&f, 'A');
    struct cache_op *r1 = expect_read(&f, 'A', GPU), *r2 = expect_read(&f, 'A', GPU);
    end_corrupt(&f, r1);
    put(&f, 'A', 90);
    assert_int_equal(fixture_stats(&f).used_bytes[GPU], 190);
    end_corrupt(&f, r2);
    expect_content(&f, "A", "", "");
    assert_int_equal(fixture_stats(&f).used_bytes[GPU], 90);
    fixture_close(&f);
}

/* Found corrupt while its move is under way, and while it still stands at the gate. */
static void corrupt_read_of_a_moving_entry(void **state) {
    (void)state;
    struct fixture f;
    struct cache_op *c;
    fixture_waterfall(&f, 100, 100, 0);
    put(&f, 'A', 100);
    write_start(&f, 'C', 100, &c);
    struct cache_op *move = expect_move(&f, 'A', GPU, CPU);
    read_start(&f, 'A');
    end_corrupt(&f, expect_read(&f, 'A', GPU));
    assert_int_equal(cache_peek(f.c, key_of('A')), CACHE_ABSENT);
    expect_nothing(&f); /* the copy reads the place: C waits */
    done(&f, move);
    assert_int_equal(f.held[CPU], 0);
    assert_ptr_equal(expect_write(&f, 'C', GPU), c);
    fixture_close(&f);

    fixture_waterfall(&f, 100, 100, 100);
    put(&f, 'A', 100);
    put(&f, 'B', 100);
    write_start(&f, 'C', 100, &c);
    move = expect_move(&f, 'A', CPU, NVME); /* B stands at the gate of cpu */
    read_start(&f, 'B');
    end_corrupt(&f, expect_read(&f, 'B', GPU));
    struct cache_op *cut = expect_move(&f, 'B', GPU, CPU);
    assert_true(cut->failed_wait);
    assert_ptr_equal(expect_write(&f, 'C', GPU), c);
    abandon(&f, cut);
    done(&f, move);
    done(&f, c);
    expect_content(&f, "C", "", "A");
    fixture_close(&f);
}

/* The copy was made from bytes that turned out corrupt: the moved entry goes too. */
static void corrupt_read_after_the_move(void **state) {
    (void)state;
    struct fixture f;
    struct cache_op *b;
    fixture_waterfall(&f, 100, 100, 0);
    put(&f, 'A', 100);
    write_start(&f, 'B', 100, &b);
    struct cache_op *move = expect_move(&f, 'A', GPU, CPU);
    read_start(&f, 'A');
    struct cache_op *old = expect_read(&f, 'A', GPU);
    done(&f, move);
    end_corrupt(&f, old);
    assert_int_equal(cache_peek(f.c, key_of('A')), CACHE_ABSENT);
    assert_int_equal(f.held[CPU], 0);
    assert_ptr_equal(expect_write(&f, 'B', GPU), b);
    done(&f, b);
    fixture_close(&f);
}

/* The end of a run: what runs is abandoned, what stands at gates or waits comes out. */
static void stop_brings_everything_out(void **state) {
    (void)state;
    struct fixture f;
    struct cache_op *w, *late;
    fixture_waterfall(&f, 100, 100, 1000);
    put(&f, 'P', 60);
    put(&f, 'V', 40);
    put(&f, 'X', 60);
    get(&f, 'P');
    write_start(&f, 'W', 100, &w);
    struct cache_op *v1 = expect_move(&f, 'V', GPU, CPU);
    assert_int_equal(write_start(&f, 'Z', 50, &late), CACHE_NO_ROOM_NOW);
    struct cache_op *wait = cache_wait(f.c, key_of('W'), 0, NULL);
    expect_nothing(&f);
    cache_stop(f.c);
    abandon(&f, v1);
    bool saw_wait = false;
    int moves = 0, writes = 0;
    for (struct cache_op *op; (op = cache_next_ready(f.c));) {
        assert_true(op->failed_wait);
        saw_wait |= op == wait;
        moves += op->kind == CACHE_OP_MOVE;
        writes += op->kind == CACHE_OP_WRITE;
        done(&f, op); /* given up is abandoned, whatever is reported */
        fixture_check(&f);
    }
    assert_true(saw_wait);
    assert_int_equal(moves, 3); /* V on, P, X */
    assert_int_equal(writes, 2);
    expect_content(&f, "VX", "P", "");
    struct cache_stats s = fixture_stats(&f);
    assert_int_equal(s.refused + s.move_errors + s.waiting, 0);
    /* Afterwards nothing is gated: a new write comes straight out, given up. */
    assert_int_equal(write_start(&f, 'Z', 50, &late), CACHE_PLANNED);
    assert_true(expect(&f, CACHE_OP_WRITE, 'Z', -1, -1)->failed_wait);
    abandon(&f, late);
    fixture_close(&f);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(promotion_on_hit),
        cmocka_unit_test(promotion_waits_for_the_last_reader),
        cmocka_unit_test(promotion_without_room_is_skipped),
        cmocka_unit_test(promoted_entry_still_read_below),
        cmocka_unit_test(promotion_does_not_overtake_who_waits),
        cmocka_unit_test(promotion_under_spillover),
        cmocka_unit_test(failed_write_leaves_nothing),
        cmocka_unit_test(waiter_gives_up),
        cmocka_unit_test(failed_move_drops_the_entry),
        cmocka_unit_test(failed_move_with_another_behind),
        cmocka_unit_test(failed_move_of_a_leaving_entry),
        cmocka_unit_test(stop_of_a_leaving_entry),
        cmocka_unit_test(corrupt_read_drops_the_entry),
        cmocka_unit_test(corrupt_read_of_an_older_generation),
        cmocka_unit_test(corrupt_read_of_a_moving_entry),
        cmocka_unit_test(corrupt_read_after_the_move),
        cmocka_unit_test(stop_brings_everything_out),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("cache_fault", tests, NULL, NULL);
}
