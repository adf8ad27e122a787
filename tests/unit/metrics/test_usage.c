#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(what_was_there_adds_up_over_time),
        TEST(completions_count_when_they_were),
        TEST(a_time_before_the_last_takes_nothing_away),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
