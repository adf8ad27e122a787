#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>

#include "metrics/usage.h"

#define READ  KVF_DIR_READ
#define WRITE KVF_DIR_WRITE

static struct usage u;

static int begin(void **state) {
    (void)state;
    usage_init(&u, false);
    return 0;
}

static int end(void **state) {
    (void)state;
    usage_destroy(&u);
    return 0;
}

/* Two reads from 100 to 300 and 400, a write from 350 to 500: by hand. */
static void what_was_there_adds_up_over_time(void **state) {
    (void)state;
    usage_come(&u, READ, 2, 100);
    usage_go(&u, READ, 1, 300, 0);
    usage_come(&u, WRITE, 1, 350);
    struct usage_sums s = usage_read(&u, 380);
    assert_int_equal(s.chunk_ns[READ], 2 * 200 + 80);
    assert_int_equal(s.busy_ns[READ], 280);
    assert_int_equal(s.busy_ns[WRITE], 30);
    usage_go(&u, READ, 1, 400, 0);
    usage_go(&u, WRITE, 1, 500, 0);
    s = usage_read(&u, 1000);
    assert_int_equal(s.chunk_ns[READ], 200 + 300);
    assert_int_equal(s.chunk_ns[WRITE], 150);
    assert_int_equal(s.busy_ns[READ], 300);
    assert_int_equal(s.any_ns, 400);
}

/* Three that were complete at 200, 250 and 300 are handed over together at 320, when another thread was
 * here already. */
static void completions_count_when_they_were(void **state) {
    (void)state;
    usage_come(&u, READ, 3, 100);
    usage_come(&u, WRITE, 1, 320);
    usage_go(&u, READ, 3, 300, 100 + 50);
    usage_go(&u, WRITE, 1, 330, 0);
    struct usage_sums s = usage_read(&u, 400);
    assert_int_equal(s.chunk_ns[READ], 100 + 150 + 200);
    assert_int_equal(s.chunk_ns[WRITE], 10);
}

static void a_time_before_the_last_takes_nothing_away(void **state) {
    (void)state;
    usage_come(&u, READ, 1, 500);
    usage_come(&u, READ, 1, 400);
    struct usage_sums s = usage_read(&u, 300);
    assert_int_equal(s.chunk_ns[READ], 100);
    assert_int_equal(s.busy_ns[READ], 0);
    assert_int_equal(usage_read(&u, 600).chunk_ns[READ], 100 + 200);
}

/* Four chunks and more, one of which leaves each 10 ms: then none for so long. */
static struct usage_sums after_silence(enum kvf_dir dir, uint64_t there, uint64_t silence_ns) {
    const uint64_t step_ns = 10 * KVF_NS_PER_MS;
    uint64_t now_ns = 0;
    usage_come(&u, dir, there, 0);
    for (int i = 0; i < 50; i++) {
        usage_go(&u, dir, 1, now_ns += step_ns, 0);
        usage_come(&u, dir, 1, now_ns);
    }
    usage_go(&u, dir, 1, now_ns + silence_ns, 0);
    return usage_read(&u, now_ns + silence_ns);
}

static uint64_t stalls(const struct usage_sums *s) {
    uint64_t n = 0;
    for (int i = 0; i < USAGE_STALL_LENGTHS; i++) n += s->stalls[i];
    return n;
}

static void a_silence_of_many_chunks_is_a_stall(void **state) {
    static const struct {
        uint64_t there, ms;
        int length; /* -1: no stall */
    } cases[] = {{4, 110, 0},  {40, 199, 0}, {40, 1500, 3}, {40, 1000000, USAGE_STALL_LENGTHS - 1},
                 {40, 99, -1}, {3, 1500, -1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        usage_watch(&u);
        struct usage_sums s =
            after_silence(i % 2 ? READ : WRITE, cases[i].there, cases[i].ms * KVF_NS_PER_MS);
        assert_int_equal(stalls(&s), cases[i].length >= 0);
        assert_int_equal(usage_stall_ns(&s), cases[i].length >= 0 ? cases[i].ms * KVF_NS_PER_MS : 0);
        if (cases[i].length >= 0) assert_int_equal(s.stalls[cases[i].length], 1);
        end(state);
        begin(state);
    }
    struct usage_sums unwatched = after_silence(READ, 40, KVF_NS_PER_S);
    assert_int_equal(stalls(&unwatched), 0);
}

/* Where one leaves each 150 ms, 1.4 s are no stall, and 1.6 s are. */
static void a_slow_drive_does_not_stall_all_the_time(void **state) {
    const uint64_t step_ns = 150 * KVF_NS_PER_MS;
    uint64_t now_ns = 0;
    (void)state;
    usage_watch(&u);
    usage_come(&u, READ, 40, 0);
    for (int i = 0; i < 20; i++) usage_go(&u, READ, 1, now_ns += step_ns, 0);
    usage_go(&u, READ, 1, now_ns += 1400 * KVF_NS_PER_MS, 0);
    struct usage_sums s = usage_read(&u, now_ns);
    assert_int_equal(stalls(&s), 0);
    usage_go(&u, READ, 1, now_ns += 2400 * KVF_NS_PER_MS, 0);
    s = usage_read(&u, now_ns);
    assert_int_equal(stalls(&s), 1);
}

/* A chunk that is slow by itself, and others that come while it is there. */
static void chunks_that_come_late_are_not_waited_for_before(void **state) {
    (void)state;
    usage_watch(&u);
    usage_come(&u, READ, 1, 0);
    usage_come(&u, READ, 9, 450 * KVF_NS_PER_MS);
    usage_go(&u, READ, 1, 500 * KVF_NS_PER_MS, 0);
    struct usage_sums s = usage_read(&u, KVF_NS_PER_S);
    assert_int_equal(stalls(&s), 0);
}

/* Sixteen answers at once, each 120 ms after they were asked for; then they take 350 ms, and 500 ms. */
static void a_long_way_is_no_stall(void **state) {
    uint64_t now_ns = KVF_NS_PER_S;
    (void)state;
    usage_watch(&u);
    for (int i = 0; i < 40; i++) {
        usage_come(&u, READ, 16, now_ns);
        usage_go(&u, READ, 16, now_ns += (i < 38 ? 120 : i < 39 ? 350 : 500) * KVF_NS_PER_MS, 0);
        struct usage_sums s = usage_read(&u, now_ns);
        assert_int_equal(stalls(&s), i == 39);
    }
}

/* By length too: each count and sum is taken from its own. */
static void what_lies_between_two_readings_added_to_the_first_is_the_second(void **state) {
    (void)state;
    enum { COUNT = sizeof(struct usage_sums) / sizeof(uint64_t) };
    uint64_t first[COUNT], second[COUNT];
    for (unsigned i = 0; i < COUNT; i++) first[i] = 10 + i, second[i] = 1000 * (i + 1);
    struct usage_sums a, b;
    memcpy(&a, first, sizeof a);
    memcpy(&b, second, sizeof b);
    struct usage_sums d = usage_between(&a, &b);
    assert_int_equal(d.chunk_ns[READ], 1000 - 10);
    assert_int_equal(d.stall_ns[USAGE_STALL_LENGTHS - 1], 1000 * COUNT - (10 + COUNT - 1));
    usage_add(&a, &d);
    assert_memory_equal(&a, &b, sizeof a);
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(what_was_there_adds_up_over_time),
        TEST(completions_count_when_they_were),
        TEST(a_time_before_the_last_takes_nothing_away),
        TEST(a_silence_of_many_chunks_is_a_stall),
        TEST(a_slow_drive_does_not_stall_all_the_time),
        TEST(a_long_way_is_no_stall),
        TEST(chunks_that_come_late_are_not_waited_for_before),
        cmocka_unit_test(what_lies_between_two_readings_added_to_the_first_is_the_second),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
