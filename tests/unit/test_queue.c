#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/clock.h"
#include "engine/queue.h"

static struct flight flight_of(uint32_t klass, uint64_t arrival_ns, uint64_t id) {
    return (struct flight){.req = {.klass = klass, .arrival_ns = arrival_ns, .id = id}};
}

static void an_empty_queue_gives_nothing(void **state) {
    (void)state;
    struct queue q;
    queue_init(&q, 10);
    assert_null(queue_pop(&q));
    for (uint32_t k = 0; k < KVF_CLASSES_MAX; k++) assert_true(queue_oldest_ns(&q, k) == KVF_NEVER);
    queue_destroy(&q);
}

static void within_a_class_the_scheduled_arrival_counts_then_the_row(void **state) {
    (void)state;
    struct queue q;
    struct flight late = flight_of(0, 900, 1), early = flight_of(0, 100, 9), row4 = flight_of(0, 500, 4),
                  row3 = flight_of(0, 500, 3);
    queue_init(&q, 10);
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
    queue_init(&q, 10);
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
    queue_init(&q, 2);
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_queue_gives_nothing),
        cmocka_unit_test(within_a_class_the_scheduled_arrival_counts_then_the_row),
        cmocka_unit_test(the_first_class_is_served_first),
        cmocka_unit_test(a_full_queue_refuses_and_keeps_what_it_has),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("queue", tests, NULL, NULL);
}
