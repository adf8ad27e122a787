#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/clock.h"
#include "engine/service/queue.h"

static struct flight flight_of(uint32_t klass, uint64_t arrival_ns, uint64_t id) {
    return (struct flight){.req = {.klass = klass, .arrival_ns = arrival_ns, .id = id}};
}

static void an_empty_queue_gives_nothing(void **state) {
    (void)state;
    struct queue q;
    queue_init(&q, 10, 0);
    assert_null(queue_pop(&q));
    for (uint32_t k = 0; k < KVF_CLASSES_MAX; k++) assert_true(queue_oldest_ns(&q, k) == KVF_NEVER);
    queue_destroy(&q);
}

static void within_a_class_the_scheduled_arrival_counts_then_the_row(void **state) {
    (void)state;
    struct queue q;
    struct flight late = flight_of(0, 900, 1), early = flight_of(0, 100, 9), row4 = flight_of(0, 500, 4),
                  row3 = flight_of(0, 500, 3);
    queue_init(&q, 10, 0);
    assert_true(queue_push(&q, &late));
    assert_true(queue_push(&q, &row4));
    assert_true(queue_push(&q, &early));
    assert_true(queue_push(&q, &row3));
    assert_int_equal(q.count, 4);
    assert_int_equal(queue_oldest_ns(&q, 0), 100);
    assert_ptr_equal(queue_pop(&q), &early);
    assert_int_equal(queue_oldest_ns(&q, 0), 500);
    assert_ptr_equal(queue_pop(&q), &row3);
    assert_ptr_equal(queue_pop(&q), &row4);
    assert_ptr_equal(queue_pop(&q), &late);
    assert_null(queue_pop(&q));
    assert_int_equal(q.count, 0);
    queue_destroy(&q);
}

/* However long the others have waited. */
static void the_first_class_is_served_first(void **state) {
    (void)state;
    struct queue q;
    struct flight batch = flight_of(2, 1, 1), responsive = flight_of(1, 50, 2), first = flight_of(0, 900, 3),
                  last = flight_of(KVF_CLASSES_MAX - 1, 0, 4);
    queue_init(&q, 10, 0);
    assert_true(queue_push(&q, &last));
    assert_true(queue_push(&q, &batch));
    assert_true(queue_push(&q, &responsive));
    assert_true(queue_push(&q, &first));
    assert_int_equal(queue_oldest_ns(&q, 0), 900);
    assert_int_equal(queue_oldest_ns(&q, 1), 50);
    assert_int_equal(queue_oldest_ns(&q, 2), 1);
    assert_true(queue_oldest_ns(&q, 3) == KVF_NEVER);
    assert_ptr_equal(queue_pop(&q), &first);
    assert_ptr_equal(queue_pop(&q), &responsive);
    struct flight next = flight_of(0, 5000, 5);
    assert_true(queue_push(&q, &next));
    assert_ptr_equal(queue_pop(&q), &next);
    assert_ptr_equal(queue_pop(&q), &batch);
    assert_ptr_equal(queue_pop(&q), &last);
    queue_destroy(&q);
}

/* The limit holds for all classes together, and a full queue takes again after a pop. */
static void a_full_queue_refuses_and_keeps_what_it_has(void **state) {
    (void)state;
    struct queue q;
    struct flight a = flight_of(0, 10, 1), b = flight_of(1, 20, 2), c = flight_of(0, 1, 3);
    queue_init(&q, 2, 0);
    assert_true(queue_push(&q, &a));
    assert_true(queue_push(&q, &b));
    assert_false(queue_push(&q, &c));
    assert_int_equal(q.count, 2);
    assert_int_equal(queue_oldest_ns(&q, 0), 10);
    assert_ptr_equal(queue_pop(&q), &a);
    assert_true(queue_push(&q, &c));
    assert_ptr_equal(queue_pop(&q), &c);
    assert_ptr_equal(queue_pop(&q), &b);
    queue_destroy(&q);
}

static void those_that_arrived_before_are_counted(void **state) {
    (void)state;
    struct queue q;
    struct flight f[5];
    queue_init(&q, 10, 0);
    for (uint64_t i = 0; i < 5; i++) {
        f[i] = flight_of(i == 4, 100 * (5 - i), i); /* 500, 400, 300, 200; 100 of another class */
        assert_true(queue_push(&q, &f[i]));
    }
    assert_int_equal(queue_older(&q, 0, 200), 0);
    assert_int_equal(queue_older(&q, 0, 201), 1);
    assert_int_equal(queue_older(&q, 0, 401), 3);
    assert_int_equal(queue_older(&q, 0, KVF_NEVER), 4);
    assert_int_equal(queue_older(&q, 2, KVF_NEVER), 0);
    queue_destroy(&q);
}

/* ---- aging ---- */

/* With 100 a class, worked by hand: 1000 + 0, 950 + 100, 870 + 200, and 900 + 100 of a later row. */
static void a_class_is_worth_so_much_waiting(void **state) {
    (void)state;
    struct queue q;
    struct flight a = flight_of(0, 1000, 1), b = flight_of(1, 950, 2), c = flight_of(2, 870, 3),
                  d = flight_of(1, 901, 4);
    queue_init(&q, 10, 100);
    assert_true(queue_push(&q, &c) && queue_push(&q, &b) && queue_push(&q, &a) && queue_push(&q, &d));
    assert_int_equal(queue_oldest_ns(&q, 2), 870); /* it is its arrival that is shown */
    assert_ptr_equal(queue_pop(&q), &a);           /* 1000 */
    assert_ptr_equal(queue_pop(&q), &d);           /* 1001 */
    assert_ptr_equal(queue_pop(&q), &b);           /* 1050 */
    assert_ptr_equal(queue_pop(&q), &c);           /* 1070 */
    assert_null(queue_pop(&q));
    assert_int_equal(q.count, 0);
    queue_destroy(&q);
}

static void of_equal_keys_the_more_urgent_class_is_served(void **state) {
    (void)state;
    struct queue q;
    struct flight first = flight_of(0, 700, 9), third = flight_of(2, 500, 1), last = flight_of(7, 0, 2);
    queue_init(&q, 10, 100);
    assert_true(queue_push(&q, &last) && queue_push(&q, &third) && queue_push(&q, &first));
    assert_ptr_equal(queue_pop(&q), &first);
    assert_ptr_equal(queue_pop(&q), &third);
    assert_ptr_equal(queue_pop(&q), &last);
    queue_destroy(&q);
}

/* Arrivals of a class that go back in time, as late rows do, find their place. */
static void aging_keeps_the_order_within_a_class(void **state) {
    (void)state;
    struct queue q;
    struct flight late = flight_of(3, 900, 1), early = flight_of(3, 100, 2), row4 = flight_of(3, 500, 4),
                  row3 = flight_of(3, 500, 3);
    queue_init(&q, 10, 50);
    assert_true(queue_push(&q, &late) && queue_push(&q, &row4) && queue_push(&q, &early) &&
                queue_push(&q, &row3));
    assert_ptr_equal(queue_pop(&q), &early);
    assert_ptr_equal(queue_pop(&q), &row3);
    assert_ptr_equal(queue_pop(&q), &row4);
    assert_ptr_equal(queue_pop(&q), &late);
    queue_destroy(&q);
}

/* ---- overload: one server takes a request a tick; urgent ones arrive every tick, batch ones every tenth.
 * Eleven arrive where ten are served. ---- */

enum { TICKS = 2000, AGING_TICKS = 50, BATCH_CLASS = 2 };

struct overload {
    uint64_t batch_served, batch_wait_max, overtaken_late; /* by urgent ones that arrived too late for it */
};

static struct overload overload_run(uint64_t aging) {
    static struct flight urgent[TICKS], batch[TICKS];
    struct overload o = {0};
    struct queue q;
    uint64_t waiting_since = KVF_NEVER;
    queue_init(&q, 3 * TICKS, aging);
    for (uint64_t now = 0; now < TICKS; now++) {
        urgent[now] = flight_of(0, now, now);
        assert_true(queue_push(&q, &urgent[now]));
        batch[now] = flight_of(BATCH_CLASS, now, TICKS + now);
        if (now % 10 == 0) assert_true(queue_push(&q, &batch[now]));
        waiting_since = queue_oldest_ns(&q, BATCH_CLASS);
        const struct flight *f = queue_pop(&q);
        uint64_t wait = now - f->req.arrival_ns;
        if (f->req.klass == BATCH_CLASS) {
            o.batch_served++;
            if (wait > o.batch_wait_max) o.batch_wait_max = wait;
        } else if (waiting_since != KVF_NEVER &&
                   f->req.arrival_ns > waiting_since + BATCH_CLASS * AGING_TICKS) {
            o.overtaken_late++;
        }
    }
    queue_destroy(&q);
    return o;
}

static void strict_starves_the_last_class_under_overload(void **state) {
    (void)state;
    struct overload o = overload_run(0);
    assert_int_equal(o.batch_served, 0);
    assert_true(o.overtaken_late > 0);
}

/* A batch request waits class x aging longer than urgent ones do, and these wait for the backlog, which
 * is a tenth of the time at most. */
static void aging_starves_nobody(void **state) {
    (void)state;
    struct overload o = overload_run(AGING_TICKS);
    assert_int_equal(o.overtaken_late, 0);
    assert_true(o.batch_served > (TICKS - 2 * BATCH_CLASS * AGING_TICKS) / 11);
    assert_true(o.batch_wait_max <= TICKS / 10 + BATCH_CLASS * AGING_TICKS + 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_queue_gives_nothing),
        cmocka_unit_test(within_a_class_the_scheduled_arrival_counts_then_the_row),
        cmocka_unit_test(the_first_class_is_served_first),
        cmocka_unit_test(a_full_queue_refuses_and_keeps_what_it_has),
        cmocka_unit_test(those_that_arrived_before_are_counted),
        cmocka_unit_test(a_class_is_worth_so_much_waiting),
        cmocka_unit_test(of_equal_keys_the_more_urgent_class_is_served),
        cmocka_unit_test(aging_keeps_the_order_within_a_class),
        cmocka_unit_test(strict_starves_the_last_class_under_overload),
        cmocka_unit_test(aging_starves_nobody),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("queue", tests, NULL, NULL);
}
