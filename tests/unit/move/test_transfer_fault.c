#include <stdio.h>
#include <unistd.h>

#include "engine/move/transfer_inside.h"
#include "engine/move/verify.h"

#include "tests/unit/transfer_fixture.h"

/* All buffers are free again: as many chunks as there are buffers can be at the device. */
static void expect_buffers(unsigned buffers) {
    struct cache_op op = write_op(NVME, 15, PLACE_BYTES);
    t.tier[NVME].most = 0;
    mover_begin(t.m, &op);
    pump();
    assert_int_equal(t.tier[NVME].ats, buffers);
    unsigned ends = t.ends;
    finish_all();
    expect_ended(ends, &op, false, 0);
}

static void expect_sentence(unsigned i, const char *want) {
    assert_true(i < t.ends);
    assert_string_equal(t.ended[i].what, want);
}

static void expect_begins(unsigned i, const char *want) {
    assert_true(i < t.ends);
    if (strncmp(t.ended[i].what, want, strlen(want)) != 0) fail_msg("\"%s\"", t.ended[i].what);
}

/* ---- errors ---- */

/* The second of three chunks fails. The others come back, then the entry fails once. */
static void an_error_in_a_chunk_fails_the_entry_once(void **state) {
    (void)state;
    movers_open(3, KVF_VERIFY_NONE);
    struct cache_op op = read_op(NVME, 7, 3 * IO);
    mover_begin(t.m, &op);
    pump();
    chunk_back(NVME, 1, EIO);
    pump();
    assert_int_equal(t.ends, 0);
    chunk_back(NVME, 1, ENOSPC);
    pump();
    assert_int_equal(t.ends, 0);
    chunk_back(NVME, 0, 0);
    pump();
    assert_int_equal(t.ends, 1);
    expect_ended(0, &op, false, EIO); /* the first error counts */
    expect_sentence(0, "nvme read of entry 7/1 (24.0 KiB) failed: Input/output error");
    assert_int_equal(counters_get(&t.counters->errors[NVME][READ]), 1);
    expect_counts(NVME, READ, KVF_CAUSE_PREFILL, 0, IO);
    assert_int_equal(histogram_count(&t.counters->op_total[NVME][READ]), 0);
    assert_int_equal(t.tier[NVME].ended[READ], 1);
    expect_buffers(3);
    movers_close();
}

/* Chunks not issued yet are not issued any more. */
static void after_an_error_no_chunk_of_the_entry_follows(void **state) {
    (void)state;
    movers_open(2, KVF_VERIFY_NONE);
    struct cache_op op = write_op(NVME, 7, 6 * IO);
    mover_begin(t.m, &op);
    pump();
    chunk_back(NVME, 0, ENOSPC);
    pump();
    assert_int_equal(t.tier[NVME].ats, 1);
    chunk_back(NVME, 0, 0);
    pump();
    assert_int_equal(t.tier[NVME].taken, 2);
    expect_ended(0, &op, false, ENOSPC);
    expect_sentence(0, "nvme write of entry 7/1 (48.0 KiB) failed: No space left on device");
    assert_int_equal(counters_get(&t.counters->errors[NVME][WRITE]), 1);
    assert_int_equal(counters_get(&t.counters->errors[NVME][READ]), 0);
    expect_buffers(2);
    movers_close();
}

/* Another entry's chunks at the same device are not touched by it. */
static void an_error_is_that_of_its_entry_alone(void **state) {
    (void)state;
    movers_open(4, KVF_VERIFY_NONE);
    struct cache_op bad = read_op(NVME, 1, 2 * IO), good = read_op(NVME, 2, 2 * IO);
    mover_begin(t.m, &bad);
    mover_begin(t.m, &good);
    pump();
    chunk_back(NVME, 0, EIO);
    finish_all();
    assert_int_equal(t.ends, 2);
    expect_ended(0, &bad, false, EIO);
    expect_ended(1, &good, false, 0);
    expect_counts(NVME, READ, KVF_CAUSE_PREFILL, 1, 3 * IO);
    movers_close();
}

/* Source or destination: the error is booked where it happened. */
static void a_move_fails_on_either_side(void **state) {
    (void)state;
    movers_open(2, KVF_VERIFY_NONE);
    have(CPU, 3, 4 * IO);
    struct cache_op out = move_op(CPU, NVME, 3, 4 * IO), in = move_op(NVME, CPU, 4, 4 * IO);
    mover_begin(t.m, &out);
    pump();
    chunk_back(NVME, 0, EIO);
    finish_all();
    expect_ended(0, &out, false, EIO);
    expect_sentence(0, "nvme write of entry 3/1 (32.0 KiB) failed: Input/output error");
    assert_int_equal(counters_get(&t.counters->errors[NVME][WRITE]), 1);
    assert_int_equal(counters_get(&t.counters->errors[CPU][READ]), 0);
    expect_buffers(2);
    unsigned ends = t.ends, begun = t.tier[CPU].begun[WRITE];
    mover_begin(t.m, &in);
    pump();
    chunk_back(NVME, 1, EIO);
    finish_all();
    expect_ended(ends, &in, false, EIO);
    assert_int_equal(counters_get(&t.counters->errors[NVME][READ]), 1);
    assert_int_equal(t.tier[CPU].begun[WRITE], begun + 1);
    assert_int_equal(t.tier[CPU].ended[WRITE], begun + 1);
    expect_buffers(2);
    movers_close();
}

static void an_error_of_a_tier_without_bytes_counts_too(void **state) {
    (void)state;
    movers_open(2, KVF_VERIFY_NONE);
    struct cache_op read = read_op(GPU, 1, IO), move = move_op(GPU, NVME, 2, IO);
    mover_begin(t.m, &read);
    mover_begin(t.m, &move);
    pump();
    chunk_back(GPU, 0, EIO);
    chunk_back(GPU, 0, EIO);
    pump();
    assert_int_equal(t.ends, 2);
    expect_ended(0, &read, false, EIO);
    expect_ended(1, &move, false, EIO);
    assert_int_equal(t.tier[NVME].taken, 0);
    assert_int_equal(counters_get(&t.counters->errors[GPU][READ]), 2);
    movers_close();
}

/* A place that cannot be made ready: nothing is issued, and what was begun is ended. */
static void a_place_that_cannot_be_opened_fails_the_entry(void **state) {
    (void)state;
    movers_open(2, KVF_VERIFY_NONE);
    have(CPU, 3, IO);
    struct cache_op read = read_op(NVME, 9, IO), move = move_op(CPU, NVME, 3, IO);
    unsigned begun = t.tier[CPU].begun[READ];
    t.tier[NVME].begin_error = ENOENT;
    mover_begin(t.m, &read);
    mover_begin(t.m, &move);
    pump();
    assert_int_equal(t.ends, 2);
    expect_sentence(0, "nvme read of entry 9/1 (8.00 KiB) failed: No such file or directory");
    expect_sentence(1, "nvme write of entry 3/1 (8.00 KiB) failed: No such file or directory");
    assert_int_equal(t.tier[NVME].taken, 0);
    assert_int_equal(t.tier[NVME].ended[READ] + t.tier[NVME].ended[WRITE], 0);
    assert_int_equal(t.tier[CPU].begun[READ], begun + 1);
    assert_int_equal(t.tier[CPU].ended[READ], begun + 1);
    t.tier[NVME].begin_error = 0;
    expect_buffers(2);
    movers_close();
}

/* ---- verification ---- */

static uint64_t blocks_checked(int tier) {
    return counters_get(&t.counters->verified[tier]);
}
static uint64_t blocks_mismatched(int tier) {
    return counters_get(&t.counters->mismatched[tier]);
}

static void run_op(struct cache_op *op) {
    mover_begin(t.m, op);
    finish_all();
}

/* 20 KiB are five blocks. */
static void what_was_written_is_found_again(void **state) {
    (void)state;
    for (int full = 0; full < 2; full++) {
        movers_open(2, full ? KVF_VERIFY_FULL : KVF_VERIFY_HEADER);
        have(NVME, 1, 20 * 1024);
        have(CPU, 1, 20 * 1024);
        struct cache_op disk = read_op(NVME, 1, 20 * 1024), memory = read_op(CPU, 1, 20 * 1024);
        run_op(&disk);
        run_op(&memory);
        expect_ended(0, &disk, false, 0);
        expect_ended(1, &memory, false, 0);
        assert_int_equal(blocks_checked(NVME), 5);
        assert_int_equal(blocks_checked(CPU), 5);
        assert_int_equal(blocks_mismatched(NVME) + blocks_mismatched(CPU), 0);
        movers_close();
    }
}

/* A whole block of something else in the third block of the entry at place 1. */
static void expect_found(const void *block, const char *found) {
    char want[400];
    movers_open(2, KVF_VERIFY_HEADER);
    have(NVME, 1, 20 * 1024);
    have(NVME, 2, 20 * 1024);
    memcpy(place_data(NVME, 1) + 2 * 4096, block ? block : place_data(NVME, 2) + 4096, 4096);
    struct cache_op op = read_op(NVME, 1, 20 * 1024);
    run_op(&op);
    expect_ended(0, &op, false, EBADMSG);
    snprintf(want, sizeof want,
             "nvme read of entry 1/1 (20.0 KiB) failed: the data is not what was written (byte 8192 of the "
             "entry): expected entry 1/1 generation 101 block 2 seed 42, found %s",
             found);
    expect_sentence(0, want);
    assert_int_equal(blocks_mismatched(NVME), 1);
    movers_close();
}

static void what_was_expected_and_what_was_found_is_named(void **state) {
    (void)state;
    static unsigned char zeroes[4096], noise[4096] = {1, 2, 0xfe, 4, 5, 6, 7, 8, 9};
    expect_found(zeroes, "zeroes");
    expect_found(noise, "no stamp; it begins with 0102fe0405060708");
    expect_found(NULL, "entry 2/1 generation 102 block 1 seed 42");
}

static void read_file(const char *path, unsigned char *out, size_t len) {
    FILE *f = fopen(path, "re");
    assert_non_null(f);
    assert_int_equal(fread(out, 1, len, f), len);
    assert_int_equal(fgetc(f), EOF);
    fclose(f);
}

/* Each operation keeps its first bad block, until there are enough. */
static void bad_blocks_are_kept_up_to_a_number(void **state) {
    (void)state;
    char dir[] = "/tmp/kvf-dump-XXXXXX", path[200];
    unsigned char kept[4096];
    assert_non_null(mkdtemp(dir));
    struct verify_dump dump = {.dir = dir, .tag = 0xab};
    movers_open(2, KVF_VERIFY_HEADER);
    t.m->setup.dump = &dump;
    have(NVME, 1, 20 * 1024);
    memset(place_data(NVME, 1) + 4096, 0x5a, 2 * 4096);
    for (unsigned i = 0; i < VERIFY_DUMPS + 3; i++) {
        struct cache_op op = read_op(NVME, 1, 20 * 1024);
        run_op(&op);
        snprintf(path, sizeof path, "%s/kvfall-00000000000000ab-%02u-nvme-block1.bin", dir, i);
        assert_int_equal(strstr(t.ended[i].what, path) != NULL, i < VERIFY_DUMPS);
        assert_int_equal(access(path, F_OK) == 0, i < VERIFY_DUMPS);
        if (i >= VERIFY_DUMPS) continue;
        read_file(path, kept, sizeof kept);
        assert_memory_equal(kept, place_data(NVME, 1) + 4096, sizeof kept);
        unlink(path);
    }
    assert_int_equal(rmdir(dir), 0);
    /* nothing that is there is written over, and what cannot be kept is said */
    atomic_store(&dump.kept, 0);
    struct cache_op op = read_op(NVME, 1, 20 * 1024);
    run_op(&op);
    assert_non_null(strstr(t.ended[VERIFY_DUMPS + 3].what, "could not be kept in"));
    movers_close();
}

static void a_byte_that_differs_is_found_when_every_byte_is_checked(void **state) {
    (void)state;
    movers_open(2, KVF_VERIFY_FULL);
    have(NVME, 1, 20 * 1024);
    place_data(NVME, 1)[3 * 4096 + 4095] ^= 1;
    struct cache_op op = read_op(NVME, 1, 20 * 1024);
    run_op(&op);
    expect_ended(0, &op, false, EBADMSG);
    expect_begins(0,
                  "nvme read of entry 1/1 (20.0 KiB) failed: the data is not what was written (byte 12288 of "
                  "the entry): expected entry 1/1 generation 101 block 3 seed 42, found entry 1/1 generation "
                  "101 block 3 seed 42; block 3 differs from what was written at its byte 4095: ");
    assert_int_equal(blocks_mismatched(NVME), 1);
    assert_int_equal(counters_get(&t.counters->errors[NVME][READ]), 1);
    expect_counts(NVME, READ, KVF_CAUSE_PREFILL, 0, 2 * IO); /* the third chunk was not asked for */
    expect_buffers(2);
    movers_close();
}

/* A place that holds another entry, or the same one of before, is found by the stamps alone. */
static void stamps_tell_entries_and_generations_apart(void **state) {
    (void)state;
    movers_open(2, KVF_VERIFY_HEADER);
    have(NVME, 1, 2 * IO);
    struct cache_op stranger = read_op(NVME, 1, 2 * IO), older = read_op(NVME, 1, 2 * IO);
    stranger.key = cache_key_make(CACHE_KEY_TURN, 99, 1);
    older.generation--;
    run_op(&stranger);
    run_op(&older);
    expect_ended(0, &stranger, false, EBADMSG);
    expect_ended(1, &older, false, EBADMSG);
    assert_int_equal(blocks_mismatched(NVME), 2 * 4);
    movers_close();
}

static void nothing_is_checked_unless_asked_for(void **state) {
    (void)state;
    movers_open(2, KVF_VERIFY_NONE);
    struct cache_op op = read_op(NVME, 1, 2 * IO), emulated = read_op(GPU, 2, IO);
    run_op(&op); /* nothing was ever written there */
    run_op(&emulated);
    expect_ended(0, &op, false, 0);
    assert_int_equal(blocks_checked(NVME), 0);
    assert_int_equal(counters_get(&t.counters->unverified[GPU]), 0);
    movers_close();
}

/* A move checks what it reads and does not pass wrong data on. */
static void a_move_checks_what_it_reads(void **state) {
    (void)state;
    movers_open(1, KVF_VERIFY_FULL);
    have(NVME, 1, 3 * IO);
    place_data(NVME, 1)[IO + 200] ^= 1;
    struct cache_op op = move_op(NVME, CPU, 1, 3 * IO);
    run_op(&op);
    expect_ended(0, &op, false, EBADMSG);
    expect_counts(CPU, WRITE, KVF_CAUSE_DEMOTION, 0, IO);
    assert_int_equal(t.tier[NVME].taken, 2);
    movers_close();
}

/* An emulated tier has nothing to check: its reads are counted as unverified. */
static void reads_without_bytes_are_counted_as_unverified(void **state) {
    (void)state;
    movers_open(1, KVF_VERIFY_HEADER);
    struct cache_op op = read_op(GPU, 1, IO), out = write_op(GPU, 2, IO);
    run_op(&op);
    run_op(&out);
    assert_int_equal(counters_get(&t.counters->unverified[GPU]), 1);
    movers_close();
}

/* ---- the stop ---- */

/* Five chunks, two at the device when the run ends: they come back, nothing follows. */
static void a_stop_cuts_between_chunks(void **state) {
    (void)state;
    movers_open(2, KVF_VERIFY_NONE);
    struct cache_op op = read_op(NVME, 1, 5 * IO), behind = write_op(NVME, 2, IO);
    mover_begin(t.m, &op);
    mover_begin(t.m, &behind);
    pump();
    mover_stop(t.m);
    assert_int_equal(t.ends, 1);
    expect_ended(0, &behind, true, 0); /* not begun at all */
    assert_false(mover_idle(t.m));
    chunk_back(NVME, 0, 0);
    pump();
    assert_int_equal(t.ends, 1);
    chunk_back(NVME, 0, 0);
    pump();
    assert_int_equal(t.ends, 2);
    expect_ended(1, &op, true, 0);
    assert_int_equal(t.tier[NVME].taken, 2);
    expect_counts(NVME, READ, KVF_CAUSE_PREFILL, 0, 2 * IO); /* bytes were read, no entry was */
    assert_int_equal(histogram_count(&t.counters->op_total[NVME][READ]), 0);
    assert_int_equal(counters_get(&t.counters->errors[NVME][READ]), 0);
    assert_true(mover_idle(t.m));
    movers_close();
}

/* The last chunk was at the device already: the operation is complete. */
static void what_is_complete_at_the_stop_is_done(void **state) {
    (void)state;
    movers_open(2, KVF_VERIFY_NONE);
    struct cache_op op = read_op(NVME, 1, 2 * IO);
    mover_begin(t.m, &op);
    pump();
    mover_stop(t.m);
    chunk_back(NVME, 1, 0);
    chunk_back(NVME, 0, 0);
    pump();
    assert_int_equal(t.ends, 1);
    expect_ended(0, &op, false, 0);
    expect_counts(NVME, READ, KVF_CAUSE_PREFILL, 1, 2 * IO);
    movers_close();
}

/* Chunks that the device had not taken yet are taken back. */
static void a_stop_takes_back_what_the_device_did_not_take(void **state) {
    (void)state;
    movers_open(4, KVF_VERIFY_NONE);
    t.tier[NVME].room = 1;
    struct cache_op op = write_op(NVME, 1, 3 * IO), other = write_op(NVME, 2, IO);
    mover_begin(t.m, &op);
    mover_begin(t.m, &other);
    pump();
    assert_int_equal(t.tier[NVME].ats, 1);
    mover_stop(t.m);
    t.tier[NVME].room = 8;
    expect_ended(0, &other, true, 0);
    chunk_back(NVME, 0, 0);
    pump();
    assert_int_equal(t.tier[NVME].taken, 1);
    assert_int_equal(t.ends, 2);
    expect_ended(1, &op, true, 0);
    assert_int_equal(counters_get(&t.counters->chunks_in_flight[NVME]), 0);
    movers_close();
}

/* A move between its legs: what is read is not written any more. */
static void a_stop_cuts_a_move_between_its_legs(void **state) {
    (void)state;
    movers_open(2, KVF_VERIFY_NONE);
    have(NVME, 1, 4 * IO);
    struct cache_op op = move_op(NVME, CPU, 1, 4 * IO), up = move_op(NVME, GPU, 2, IO);
    mover_begin(t.m, &op);
    pump();
    mover_begin(t.m, &up);
    chunk_back(NVME, 0, 0);
    pump();
    expect_counts(CPU, WRITE, KVF_CAUSE_DEMOTION, 0, IO);
    mover_stop(t.m);
    while (t.tier[NVME].ats > 0) chunk_back(NVME, 0, 0);
    pump();
    assert_int_equal(t.ends, 2);
    assert_true(t.ended[0].abandoned && t.ended[1].abandoned);
    expect_counts(CPU, WRITE, KVF_CAUSE_DEMOTION, 0, IO);
    assert_int_equal(t.tier[GPU].taken, 0);
    movers_close();
}

/* Nobody waits for the clock of a tier without bytes: what is in it ends at the stop. */
static void a_stop_does_not_wait_for_emulated_operations(void **state) {
    (void)state;
    movers_open(2, KVF_VERIFY_NONE);
    struct cache_op read = read_op(GPU, 1, IO), move = move_op(GPU, NVME, 2, IO), late = write_op(GPU, 3, IO);
    mover_begin(t.m, &read);
    mover_begin(t.m, &move);
    pump();
    mover_begin(t.m, &late);
    mover_stop(t.m);
    assert_int_equal(t.ends, 3);
    for (unsigned i = 0; i < 3; i++) assert_true(t.ended[i].abandoned);
    assert_true(mover_idle(t.m));
    assert_int_equal(counters_get(&t.counters->chunks_in_flight[GPU]), 0);
    pump();
    assert_int_equal(t.ends, 3);
    assert_int_equal(t.tier[NVME].taken, 0);
    movers_close();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_error_in_a_chunk_fails_the_entry_once),
        cmocka_unit_test(after_an_error_no_chunk_of_the_entry_follows),
        cmocka_unit_test(an_error_is_that_of_its_entry_alone),
        cmocka_unit_test(a_move_fails_on_either_side),
        cmocka_unit_test(an_error_of_a_tier_without_bytes_counts_too),
        cmocka_unit_test(a_place_that_cannot_be_opened_fails_the_entry),
        cmocka_unit_test(what_was_written_is_found_again),
        cmocka_unit_test(what_was_expected_and_what_was_found_is_named),
        cmocka_unit_test(bad_blocks_are_kept_up_to_a_number),
        cmocka_unit_test(a_byte_that_differs_is_found_when_every_byte_is_checked),
        cmocka_unit_test(stamps_tell_entries_and_generations_apart),
        cmocka_unit_test(nothing_is_checked_unless_asked_for),
        cmocka_unit_test(a_move_checks_what_it_reads),
        cmocka_unit_test(reads_without_bytes_are_counted_as_unverified),
        cmocka_unit_test(a_stop_cuts_between_chunks),
        cmocka_unit_test(what_is_complete_at_the_stop_is_done),
        cmocka_unit_test(a_stop_takes_back_what_the_device_did_not_take),
        cmocka_unit_test(a_stop_cuts_a_move_between_its_legs),
        cmocka_unit_test(a_stop_does_not_wait_for_emulated_operations),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("transfer_fault", tests, NULL, NULL);
}
