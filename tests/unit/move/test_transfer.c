#include "tests/unit/transfer_fixture.h"

/* ---- chunks ---- */

static void an_entry_is_cut_into_chunks_of_the_io_size(void **state) {
    (void)state;
    movers_open(4, KVF_VERIFY_NONE);
    struct cache_op op = read_op(NVME, 3, 20 * 1024);
    mover_begin(t.m, &op);
    pump();
    assert_int_equal(t.tier[NVME].ats, 3);
    expect_chunk(NVME, 0, KVF_DIR_READ, 3, 0, 8192);
    expect_chunk(NVME, 1, KVF_DIR_READ, 3, 8192, 8192);
    expect_chunk(NVME, 2, KVF_DIR_READ, 3, 16384, 4096);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(t.tier[NVME].at[i]->entry_bytes, 20 * 1024);
        assert_int_equal((uintptr_t)t.tier[NVME].at[i]->buf % 4096, 0);
        for (unsigned k = 0; k < i; k++)
            assert_ptr_not_equal(t.tier[NVME].at[i]->buf, t.tier[NVME].at[k]->buf);
    }
    finish_all();
    assert_int_equal(t.ends, 1);
    expect_ended(0, &op, false, 0);
    expect_counts(NVME, READ, KVF_CAUSE_PREFILL, 1, 20 * 1024);
    assert_int_equal(t.tier[NVME].begun[READ], 1);
    assert_int_equal(t.tier[NVME].ended[READ], 1);
    movers_close();
}

/* Chunks may complete in any order; the entry ends with the last one. */
static void an_operation_ends_once_with_its_last_chunk(void **state) {
    (void)state;
    movers_open(4, KVF_VERIFY_NONE);
    struct cache_op op = read_op(NVME, 0, 3 * IO);
    mover_begin(t.m, &op);
    pump();
    chunk_back(NVME, 2, 0);
    chunk_back(NVME, 0, 0);
    pump();
    assert_int_equal(t.ends, 0);
    expect_counts(NVME, READ, KVF_CAUSE_PREFILL, 0, 2 * IO); /* bytes count by chunk, operations by entry */
    assert_int_equal(counters_get(&t.counters->chunks_in_flight[NVME]), 1);
    chunk_back(NVME, 0, 0);
    pump();
    assert_int_equal(t.ends, 1);
    assert_int_equal(counters_get(&t.counters->chunks_in_flight[NVME]), 0);
    assert_false(mover_pump(t.m, true));
    movers_close();
}

/* Three buffers, five entries of two chunks: three chunks are at the device until fewer are left, and
 * each place that comes free is taken at once, by the next entry too. */
static void the_queue_is_kept_full_across_entry_borders(void **state) {
    (void)state;
    movers_open(3, KVF_VERIFY_NONE);
    struct cache_op op[5];
    for (uint64_t i = 0; i < 5; i++) {
        op[i] = read_op(NVME, i, 2 * IO);
        mover_begin(t.m, &op[i]);
    }
    pump();
    for (unsigned left = 10; left > 0; left--) {
        assert_int_equal(t.tier[NVME].ats, left < 3 ? left : 3);
        chunk_back(NVME, 0, 0);
        pump();
    }
    assert_int_equal(t.tier[NVME].most, 3);
    assert_int_equal(t.tier[NVME].taken, 10);
    assert_int_equal(t.ends, 5);
    for (unsigned i = 0; i < 5; i++) expect_ended(i, &op[i], false, 0);
    movers_close();
}

/* An entry of eight chunks passes through one buffer. */
static void the_size_of_an_entry_needs_no_more_buffers(void **state) {
    (void)state;
    movers_open(1, KVF_VERIFY_FULL);
    have(NVME, 2, 8 * IO);
    struct cache_op op = read_op(NVME, 2, 8 * IO);
    mover_begin(t.m, &op);
    finish_all();
    assert_int_equal(t.tier[NVME].most, 1);
    assert_int_equal(t.tier[NVME].taken, 8);
    expect_ended(0, &op, false, 0);
    movers_close();
}

/* Reads and writes share the buffers, and a tier that copies at once needs none of them. */
static void copies_in_memory_do_not_wait_for_the_disk(void **state) {
    (void)state;
    movers_open(1, KVF_VERIFY_NONE);
    struct cache_op slow = read_op(NVME, 0, IO), next = write_op(NVME, 1, IO),
                    copy = write_op(CPU, 2, 5 * IO);
    mover_begin(t.m, &slow);
    mover_begin(t.m, &next);
    mover_begin(t.m, &copy);
    pump();
    assert_int_equal(t.tier[NVME].ats, 1);
    assert_int_equal(t.ends, 1);
    expect_ended(0, &copy, false, 0);
    chunk_back(NVME, 0, 0);
    pump();
    assert_int_equal(t.tier[NVME].ats, 1);
    expect_chunk(NVME, 0, KVF_DIR_WRITE, 1, 0, IO);
    finish_all();
    assert_int_equal(t.ends, 3);
    assert_int_equal(t.tier[NVME].most, 1);
    movers_close();
}

/* A tier without bytes needs no buffer: its operations do not stand in line behind the disk's. */
static void emulated_operations_do_not_wait_for_buffers(void **state) {
    (void)state;
    movers_open(1, KVF_VERIFY_NONE);
    struct cache_op slow[2] = {read_op(NVME, 0, 2 * IO), read_op(NVME, 1, 2 * IO)};
    struct cache_op read = read_op(GPU, 2, 3 * IO), write = write_op(GPU, 3, 3 * IO);
    mover_begin(t.m, &slow[0]);
    mover_begin(t.m, &slow[1]);
    mover_begin(t.m, &read);
    mover_begin(t.m, &write);
    pump();
    assert_int_equal(t.tier[NVME].ats, 1);
    assert_int_equal(t.tier[GPU].ats, 2);
    expect_chunk(GPU, 0, KVF_DIR_READ, 2, 0, 3 * IO);
    assert_null(t.tier[GPU].at[0]->buf);
    time_set(1500);
    chunk_back(GPU, 1, 0);
    chunk_back(GPU, 0, 0);
    pump();
    assert_int_equal(t.ends, 2);
    expect_times(GPU, READ, 500, 500);
    expect_times(GPU, WRITE, 500, 500);
    expect_counts(GPU, READ, KVF_CAUSE_PREFILL, 1, 3 * IO);
    finish_all();
    movers_close();
}

/* ---- what the device takes ---- */

static void a_device_that_takes_fewer_is_asked_again(void **state) {
    (void)state;
    movers_open(8, KVF_VERIFY_FULL);
    have(NVME, 5, 5 * IO);
    t.tier[NVME].room = 2;
    struct cache_op op = read_op(NVME, 5, 5 * IO);
    mover_begin(t.m, &op);
    pump();
    assert_int_equal(t.tier[NVME].ats, 2);
    t.tier[NVME].room = 1;
    chunk_back(NVME, 0, 0);
    pump();
    assert_int_equal(t.tier[NVME].ats, 1);
    t.tier[NVME].room = 3;
    pump();
    assert_int_equal(t.tier[NVME].ats, 3);
    expect_chunk(NVME, 0, KVF_DIR_READ, 5, IO, IO);
    expect_chunk(NVME, 1, KVF_DIR_READ, 5, 2 * IO, IO); /* in order, none twice */
    expect_chunk(NVME, 2, KVF_DIR_READ, 5, 3 * IO, IO);
    finish_all();
    assert_int_equal(t.tier[NVME].taken, 5);
    assert_int_equal(t.ends, 1);
    expect_ended(0, &op, false, 0);
    movers_close();
}

/* The time between is the host's: nothing of the entry was at the device. */
static void waiting_for_the_device_to_take_a_chunk_is_host_time(void **state) {
    (void)state;
    movers_open(2, KVF_VERIFY_NONE);
    t.tier[NVME].room = 0;
    struct cache_op op = read_op(NVME, 0, IO);
    mover_begin(t.m, &op);
    pump();
    time_set(1300);
    t.tier[NVME].room = 8;
    pump();
    time_set(1400);
    chunk_back(NVME, 0, 0);
    pump();
    expect_times(NVME, READ, 400, 100);
    movers_close();
}

/* ---- bytes ---- */

static void what_is_written_names_its_entry_in_every_block(void **state) {
    (void)state;
    movers_open(2, KVF_VERIFY_NONE);
    struct cache_op op[3] = {write_op(NVME, 0, 20 * 1024), write_op(CPU, 1, 5 * IO), write_op(NVME, 2, 6000)};
    for (int i = 0; i < 3; i++) mover_begin(t.m, &op[i]);
    finish_all();
    assert_int_equal(t.ends, 3);
    assert_int_equal(blocks_wrong(NVME, &op[0]), 0);
    assert_int_equal(blocks_wrong(CPU, &op[1]), 0);
    assert_int_equal(blocks_wrong(NVME, &op[2]), 0);
    op[0].generation++;
    assert_int_equal(blocks_wrong(NVME, &op[0]), 5);
    movers_close();
}

/* Buffers are used for reads and writes in turn: what was read before must not be written again. */
static void a_buffer_that_was_read_into_is_clean_before_it_is_written(void **state) {
    (void)state;
    movers_open(1, KVF_VERIFY_NONE);
    memset(place_data(NVME, 0), 0xee, 2 * IO);
    for (uint64_t turn = 0; turn < 3; turn++) {
        struct cache_op in = read_op(NVME, 0, 2 * IO), out = write_op(NVME, 1 + turn, 2 * IO);
        mover_begin(t.m, &in);
        finish_all();
        mover_begin(t.m, &out);
        finish_all();
        assert_int_equal(blocks_wrong(NVME, &out), 0);
    }
    movers_close();
}

/* ---- moves ---- */

/* Each chunk goes on as soon as it is read; the others may still be on their way. */
static void a_move_goes_on_chunk_by_chunk(void **state) {
    (void)state;
    movers_open(3, KVF_VERIFY_FULL);
    have(NVME, 4, 3 * IO);
    struct cache_op op = move_op(NVME, CPU, 4, 3 * IO);
    mover_begin(t.m, &op);
    pump();
    assert_int_equal(t.tier[NVME].ats, 3);
    chunk_back(NVME, 1, 0);
    pump();
    expect_counts(CPU, WRITE, KVF_CAUSE_DEMOTION, 0, IO);
    assert_memory_equal(place_data(CPU, 4) + IO, place_data(NVME, 4) + IO, IO);
    assert_int_equal(t.ends, 0);
    finish_all();
    expect_ended(0, &op, false, 0);
    expect_counts(NVME, READ, KVF_CAUSE_DEMOTION, 1, 3 * IO);
    expect_counts(CPU, WRITE, KVF_CAUSE_DEMOTION, 1, 3 * IO);
    assert_int_equal(blocks_wrong(CPU, &op), 0);
    assert_int_equal(t.tier[CPU].begun[WRITE], 1);
    assert_int_equal(t.tier[CPU].ended[WRITE], 1);
    assert_int_equal(t.tier[NVME].ended[READ], 1);
    movers_close();
}

/* Both legs of a move use one buffer a chunk, so that the disk never has more than there are. */
/* A request's read that keeps what it loads passes its bytes on like a move; above it is a promotion. What
 * does not check is not kept. */
static void a_read_keeps_what_it_loads(void **state) {
    (void)state;
    movers_open(3, KVF_VERIFY_FULL);
    have(NVME, 4, 3 * IO);
    have(NVME, 5, IO);
    struct cache_op load = move_op(NVME, CPU, 4, 3 * IO), bad = move_op(NVME, CPU, 5, IO);
    load.kind = bad.kind = CACHE_OP_READ;
    load.cause = bad.cause = KVF_CAUSE_PREFIX;
    place_data(NVME, 5)[100] ^= 1;
    mover_begin(t.m, &load);
    finish_all();
    mover_begin(t.m, &bad);
    finish_all();
    expect_ended(0, &load, false, 0);
    expect_ended(1, &bad, false, EBADMSG);
    assert_int_equal(blocks_wrong(CPU, &load), 0);
    expect_counts(NVME, READ, KVF_CAUSE_PREFIX, 1, 4 * IO);
    expect_counts(CPU, WRITE, KVF_CAUSE_PROMOTION, 1, 3 * IO);
    expect_counts(CPU, WRITE, KVF_CAUSE_PREFIX, 0, 0);
    movers_close();
}

static void a_move_to_the_disk_keeps_to_its_buffers(void **state) {
    (void)state;
    movers_open(2, KVF_VERIFY_FULL);
    have(CPU, 6, 7 * IO);
    struct cache_op op = move_op(CPU, NVME, 6, 7 * IO);
    mover_begin(t.m, &op);
    finish_all();
    assert_int_equal(t.tier[NVME].most, 2);
    expect_ended(0, &op, false, 0);
    assert_int_equal(blocks_wrong(NVME, &op), 0);
    movers_close();
}

/* A tier without bytes gives the entry as a whole and timed; then its bytes are stamped anew. */
static void a_move_from_a_tier_without_bytes_stamps_anew(void **state) {
    (void)state;
    movers_open(2, KVF_VERIFY_FULL);
    struct cache_op op = move_op(GPU, NVME, 1, 20 * 1024), to_cpu = move_op(GPU, CPU, 2, 9 * 1024);
    mover_begin(t.m, &op);
    mover_begin(t.m, &to_cpu);
    pump();
    assert_int_equal(t.tier[GPU].ats, 2);
    assert_int_equal(t.tier[NVME].ats, 0);
    expect_chunk(GPU, 0, KVF_DIR_READ, 1, 0, 20 * 1024);
    assert_null(t.tier[GPU].at[0]->buf);
    finish_all();
    assert_int_equal(t.ends, 2);
    assert_int_equal(blocks_wrong(NVME, &op), 0);
    assert_int_equal(blocks_wrong(CPU, &to_cpu), 0);
    expect_counts(GPU, READ, KVF_CAUSE_DEMOTION, 2, 29 * 1024);
    expect_counts(NVME, WRITE, KVF_CAUSE_DEMOTION, 1, 20 * 1024);
    assert_int_equal(counters_get(&t.counters->unverified[GPU]), 2);
    movers_close();
}

/* ... and takes it as a whole when all of it has been read. */
static void a_move_to_a_tier_without_bytes_comes_after_the_reads(void **state) {
    (void)state;
    movers_open(2, KVF_VERIFY_FULL);
    have(NVME, 1, 3 * IO);
    struct cache_op op = move_op(NVME, GPU, 1, 3 * IO);
    op.cause = KVF_CAUSE_PROMOTION;
    mover_begin(t.m, &op);
    pump();
    while (t.tier[NVME].ats > 0) {
        assert_int_equal(t.tier[GPU].ats, 0);
        chunk_back(NVME, 0, 0);
        pump();
    }
    assert_int_equal(t.tier[GPU].ats, 1);
    expect_chunk(GPU, 0, KVF_DIR_WRITE, 1, 0, 3 * IO);
    finish_all();
    expect_ended(0, &op, false, 0);
    expect_counts(GPU, WRITE, KVF_CAUSE_PROMOTION, 1, 3 * IO);
    expect_counts(NVME, READ, KVF_CAUSE_PROMOTION, 1, 3 * IO);
    movers_close();
}

/* ---- times, on a timeline made by hand ---- */

/* Issued at 1000, submitted at 1200. Chunks are back at 1500 and 1600; the third is submitted at 1600
 * when nothing else is at the device, and back at 1650. */
static void device_time_is_the_union_of_the_chunks(void **state) {
    (void)state;
    movers_open(2, KVF_VERIFY_NONE);
    struct cache_op op = read_op(NVME, 0, 3 * IO);
    mover_begin(t.m, &op);
    time_set(1200);
    pump();
    assert_int_equal(t.tier[NVME].ats, 2);
    time_set(1500);
    chunk_back(NVME, 0, 0);
    t.tier[NVME].room = 0;
    pump();
    time_set(1600);
    chunk_back(NVME, 0, 0);
    pump();
    time_set(1800);
    t.tier[NVME].room = 2;
    pump();
    time_set(1850);
    chunk_back(NVME, 0, 0);
    pump();
    assert_int_equal(t.ends, 1);
    expect_times(NVME, READ, 850, 400 + 50);
    assert_int_equal(atomic_load(&t.counters->op_cause[NVME][READ][KVF_CAUSE_PREFILL].sum), 850);
    movers_close();
}

/* Both are back before the mover looks, the later one handed over first: the union ends at 1700. */
static void the_order_of_handing_over_does_not_matter(void **state) {
    (void)state;
    movers_open(2, KVF_VERIFY_NONE);
    struct cache_op op = read_op(NVME, 0, 2 * IO);
    mover_begin(t.m, &op);
    pump();
    time_set(1700);
    chunk_back(NVME, 1, 0);
    time_set(1400);
    chunk_back(NVME, 0, 0);
    time_set(1900);
    pump();
    expect_times(NVME, READ, 700, 700);
    movers_close();
}

/* An operation that finds no buffer waits on the host's account. */
static void waiting_for_a_buffer_is_host_time(void **state) {
    (void)state;
    movers_open(1, KVF_VERIFY_NONE);
    struct cache_op first = write_op(NVME, 0, IO), second = read_op(NVME, 1, IO);
    mover_begin(t.m, &first);
    mover_begin(t.m, &second);
    pump();
    time_set(1600);
    chunk_back(NVME, 0, 0);
    pump();
    time_set(1700);
    chunk_back(NVME, 0, 0);
    pump();
    expect_times(NVME, WRITE, 600, 600);
    expect_times(NVME, READ, 700, 100);
    movers_close();
}

/* A chain of chunks from disk to memory: its line is the disk's, the copies are the memory's own. */
static void in_a_move_the_slower_tier_has_the_waiting(void **state) {
    (void)state;
    movers_open(1, KVF_VERIFY_NONE);
    struct cache_op op = move_op(NVME, CPU, 0, 2 * IO);
    mover_begin(t.m, &op);
    time_set(1100);
    pump();
    time_set(1400);
    chunk_back(NVME, 0, 0);
    pump();
    time_set(1900);
    chunk_back(NVME, 0, 0);
    pump();
    expect_times(NVME, READ, 900, 800); /* 1000 to 1900; at the device from 1100 */
    expect_times(CPU, WRITE, 0, 0);     /* copied at once */
    movers_close();
}

/* The entry is read from 1000 to 1300 without bytes; its write begins then. */
static void the_second_leg_begins_when_the_first_one_is_through(void **state) {
    (void)state;
    movers_open(1, KVF_VERIFY_NONE);
    struct cache_op op = move_op(GPU, NVME, 0, IO);
    mover_begin(t.m, &op);
    pump();
    time_set(1300);
    chunk_back(GPU, 0, 0);
    t.tier[NVME].room = 0;
    pump();
    time_set(1450);
    t.tier[NVME].room = 1;
    pump();
    time_set(1500);
    chunk_back(NVME, 0, 0);
    pump();
    expect_times(GPU, READ, 300, 300);
    expect_times(NVME, WRITE, 200, 50);
    movers_close();
}

/* An emulated operation begins when it is asked for, not when the mover gets round to it. */
static void the_time_of_an_emulated_operation_counts_from_its_issue(void **state) {
    (void)state;
    movers_open(1, KVF_VERIFY_NONE);
    struct cache_op op = read_op(GPU, 0, IO);
    mover_begin(t.m, &op);
    time_set(1200);
    pump();
    time_set(1500);
    chunk_back(GPU, 0, 0);
    pump();
    expect_times(GPU, READ, 500, 300);
    movers_close();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_entry_is_cut_into_chunks_of_the_io_size),
        cmocka_unit_test(an_operation_ends_once_with_its_last_chunk),
        cmocka_unit_test(the_queue_is_kept_full_across_entry_borders),
        cmocka_unit_test(the_size_of_an_entry_needs_no_more_buffers),
        cmocka_unit_test(copies_in_memory_do_not_wait_for_the_disk),
        cmocka_unit_test(emulated_operations_do_not_wait_for_buffers),
        cmocka_unit_test(a_device_that_takes_fewer_is_asked_again),
        cmocka_unit_test(waiting_for_the_device_to_take_a_chunk_is_host_time),
        cmocka_unit_test(what_is_written_names_its_entry_in_every_block),
        cmocka_unit_test(a_buffer_that_was_read_into_is_clean_before_it_is_written),
        cmocka_unit_test(a_move_goes_on_chunk_by_chunk),
        cmocka_unit_test(a_read_keeps_what_it_loads),
        cmocka_unit_test(a_move_to_the_disk_keeps_to_its_buffers),
        cmocka_unit_test(a_move_from_a_tier_without_bytes_stamps_anew),
        cmocka_unit_test(a_move_to_a_tier_without_bytes_comes_after_the_reads),
        cmocka_unit_test(device_time_is_the_union_of_the_chunks),
        cmocka_unit_test(the_order_of_handing_over_does_not_matter),
        cmocka_unit_test(waiting_for_a_buffer_is_host_time),
        cmocka_unit_test(in_a_move_the_slower_tier_has_the_waiting),
        cmocka_unit_test(the_second_leg_begins_when_the_first_one_is_through),
        cmocka_unit_test(the_time_of_an_emulated_operation_counts_from_its_issue),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("transfer", tests, NULL, NULL);
}
