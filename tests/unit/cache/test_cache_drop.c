#include "tests/unit/cache_fixture.h"

/* Entries taken out by name: at rest, read, moving, being written. */

static bool drop(struct fixture *f, char letter) {
    return cache_drop(f->c, key_of(letter));
}

static void at_rest_it_is_gone_at_once(void **state) {
    (void)state;
    struct fixture f;
    fixture_waterfall(&f, 100, 100, 0);
    put(&f, 'A', 60);
    put(&f, 'B', 40);
    assert_true(drop(&f, 'A'));
    expect_nothing(&f);
    expect_content(&f, "B", "", "");
    assert_int_equal(cache_peek(f.c, key_of('A')), CACHE_ABSENT);
    assert_int_equal(f.held[GPU], 40);
    struct cache_stats s = fixture_stats(&f);
    assert_int_equal(s.used_bytes[GPU], 40);
    assert_int_equal(s.entries[GPU], 1);
    assert_int_equal(s.bytes_in[GPU] - s.bytes_out[GPU], 40);
    assert_int_equal(s.evictions[GPU] + s.evictions[CPU], 0);
    assert_false(drop(&f, 'A'));
    put(&f, 'A', 60); /* another entry of that name, in the room of the first */
    expect_content(&f, "AB", "", "");
    fixture_close(&f);
}

/* Two read it: the place stays until the second has left, and a new A stands beside it. */
static void who_reads_it_reads_on(void **state) {
    (void)state;
    struct fixture f;
    fixture_waterfall(&f, 100, 0, 0);
    put(&f, 'A', 40);
    read_start(&f, 'A');
    read_start(&f, 'A');
    struct cache_op *one = expect_read(&f, 'A', GPU), *two = expect_read(&f, 'A', GPU);
    assert_true(drop(&f, 'A'));
    expect_nothing(&f);
    assert_null(read_start(&f, 'A'));
    assert_int_equal(f.held[GPU], 40);
    put(&f, 'A', 60);
    assert_int_equal(f.held[GPU], 100);
    done(&f, one);
    assert_int_equal(f.held[GPU], 100);
    done(&f, two);
    assert_int_equal(f.held[GPU], 60);
    expect_content(&f, "A", "", "");
    fixture_close(&f);
}

/* A, pinned, is in the way of C; when it is dropped and its reader has left, C is written. */
static void who_waits_for_room_gets_it(void **state) {
    (void)state;
    struct fixture f;
    struct cache_op *c;
    fixture_waterfall(&f, 100, 0, 0);
    put(&f, 'A', 50);
    put(&f, 'B', 50);
    read_start(&f, 'A');
    read_start(&f, 'B');
    struct cache_op *a = expect_read(&f, 'A', GPU), *b = expect_read(&f, 'B', GPU);
    assert_int_equal(write_start(&f, 'C', 50, &c), CACHE_NO_ROOM_NOW);
    assert_true(drop(&f, 'A'));
    expect_nothing(&f);
    done(&f, a);
    assert_ptr_equal(expect_write(&f, 'C', GPU), c);
    done(&f, c);
    done(&f, b);
    expect_content(&f, "BC", "", "");
    fixture_close(&f);

    fixture_waterfall(&f, 100, 0, 0);
    put(&f, 'A', 50);
    put(&f, 'B', 50);
    read_start(&f, 'B');
    b = expect_read(&f, 'B', GPU);
    assert_int_equal(write_start(&f, 'C', 60, &c), CACHE_NO_ROOM_NOW);
    assert_true(drop(&f, 'A')); /* 50 are free, C wants 60 */
    expect_nothing(&f);
    assert_true(drop(&f, 'B'));
    expect_nothing(&f);
    done(&f, b);
    assert_ptr_equal(expect_write(&f, 'C', GPU), c);
    done(&f, c);
    fixture_close(&f);
}

/* A's fall has begun: its copy ends first, then both places are free. B's fall stands at the gate: it
 * comes out and is not carried out. */
static void a_move_that_has_begun_ends_first(void **state) {
    (void)state;
    struct fixture f;
    struct cache_op *c;
    fixture_waterfall(&f, 100, 100, 0);
    put(&f, 'A', 100);
    write_start(&f, 'C', 100, &c);
    struct cache_op *move = expect_move(&f, 'A', GPU, CPU);
    assert_true(drop(&f, 'A'));
    assert_false(drop(&f, 'A'));
    expect_nothing(&f);
    assert_int_equal(f.held[GPU] + f.held[CPU], 200);
    done(&f, move);
    assert_ptr_equal(expect_write(&f, 'C', GPU), c);
    assert_int_equal(f.held[CPU], 0);
    assert_int_equal(fixture_stats(&f).demotions[GPU], 0);
    done(&f, c);
    fixture_close(&f);

    fixture_waterfall(&f, 100, 100, 100);
    put(&f, 'A', 100);
    put(&f, 'B', 100);
    write_start(&f, 'C', 100, &c);
    move = expect_move(&f, 'A', CPU, NVME);
    assert_true(drop(&f, 'B'));
    struct cache_op *cut = expect_move(&f, 'B', GPU, CPU);
    assert_true(cut->failed_wait);
    assert_ptr_equal(expect_write(&f, 'C', GPU), c);
    done(&f, cut);
    done(&f, move);
    done(&f, c);
    expect_content(&f, "C", "", "A");
    fixture_close(&f);
}

static void a_rising_entry_leaves_both_places(void **state) {
    (void)state;
    struct fixture f;
    fixture_open(&f, 100, 100, 0, KVF_PLACEMENT_WATERFALL, KVF_EVICTION_LRU, KVF_PROMOTION_ON_HIT);
    put(&f, 'A', 60);
    put(&f, 'B', 100);
    expect_content(&f, "B", "A", "");
    assert_true(drop(&f, 'B'));
    read_start(&f, 'A');
    done(&f, expect_read(&f, 'A', CPU));
    struct cache_op *up = expect_move(&f, 'A', CPU, GPU);
    assert_true(drop(&f, 'A'));
    expect_nothing(&f);
    done(&f, up);
    assert_int_equal(f.held[GPU] + f.held[CPU], 0);
    assert_int_equal(fixture_stats(&f).promotions[CPU], 0);
    fixture_close(&f);
}

static void one_that_is_being_written_stays(void **state) {
    (void)state;
    struct fixture f;
    struct cache_op *a;
    fixture_waterfall(&f, 100, 0, 0);
    write_start(&f, 'A', 100, &a);
    assert_false(drop(&f, 'A'));
    done(&f, expect_write(&f, 'A', GPU));
    expect_content(&f, "A", "", "");
    assert_false(drop(&f, 'X'));
    fixture_close(&f);
}

static void after_the_stop_too(void **state) {
    (void)state;
    struct fixture f;
    fixture_waterfall(&f, 100, 0, 0);
    put(&f, 'A', 50);
    put(&f, 'B', 50);
    read_start(&f, 'B');
    struct cache_op *b = expect_read(&f, 'B', GPU);
    cache_stop(f.c);
    assert_true(drop(&f, 'A'));
    assert_true(drop(&f, 'B'));
    expect_nothing(&f);
    cache_finish(f.c, b, CACHE_ABANDONED, false);
    assert_int_equal(f.held[GPU], 0);
    fixture_close(&f);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_rest_it_is_gone_at_once),
        cmocka_unit_test(who_reads_it_reads_on),
        cmocka_unit_test(who_waits_for_room_gets_it),
        cmocka_unit_test(a_move_that_has_begun_ends_first),
        cmocka_unit_test(a_rising_entry_leaves_both_places),
        cmocka_unit_test(one_that_is_being_written_stays),
        cmocka_unit_test(after_the_stop_too),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("cache_drop", tests, NULL, NULL);
}
