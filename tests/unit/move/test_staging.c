#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "engine/move/staging.h"

enum { BUFFERS = 3, IO_SIZE = 64 << 10 };
static struct run_clock run_clock;
static struct payload *payload;
static struct staging_pool pool;

static int pool_setup(void **state) {
    struct err e = {0};
    (void)state;
    run_clock_virtual(&run_clock);
    payload = payload_open(1, 1 << 20, &e);
    return payload && staging_open(&pool, &run_clock, payload, IO_SIZE, BUFFERS, 0, &e) == 0 ? 0 : -1;
}

static int pool_teardown(void **state) {
    (void)state;
    staging_close(&pool);
    payload_close(payload);
    return 0;
}

/* One alone might stay in a processor's cache where copies come one by one, and not where several do. */
static void buffers_for_copies_are_used_in_turn(void **state) {
    struct staging *first = staging_take(&pool, true, false), *second = staging_take(&pool, true, false);
    (void)state;
    assert_non_null(first);
    assert_non_null(second);
    assert_null(staging_take(&pool, true, false));
    staging_give(&pool, first);
    staging_give(&pool, second);
    for (int i = 0; i < 6; i++) {
        struct staging *s = staging_take(&pool, true, false);
        assert_ptr_equal(s, i % 2 ? second : first);
        staging_give(&pool, s);
    }
}

/* A write takes one that has its noise still, a read one that has not. */
static void reads_leave_clean_buffers_to_writes(void **state) {
    (void)state;
    struct staging *read = staging_take(&pool, false, false);
    read->clean = false;
    staging_give(&pool, read);
    struct staging *write = staging_take(&pool, false, true);
    assert_true(write->clean && write != read);
    assert_ptr_equal(staging_take(&pool, false, false), read);
    staging_give(&pool, write);
    staging_give(&pool, read);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(buffers_for_copies_are_used_in_turn, pool_setup, pool_teardown),
        cmocka_unit_test_setup_teardown(reads_leave_clean_buffers_to_writes, pool_setup, pool_teardown),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("staging", tests, NULL, NULL);
}
