#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "base/clock.h"
#include "tier/tier.h"

/* A stopped run clock shows exactly the time it is set to. */
static struct run_clock run_time;

static void set_time(uint64_t ns) {
    atomic_store(&run_time.paused_at_ns, ns);
}

static struct tier_queue *queue_of(struct tier *t, uint32_t depth) {
    struct tier_queue *q = NULL;
    struct err e = {0};
    assert_int_equal(t->ops->queue_open(t, &q, 0, depth, &e), 0);
    return q;
}

/* Row of the scenario's cpu tier; the tier that it stands for. */
static struct tier *tier_opened(void) {
    struct scenario *s = calloc(1, sizeof *s);
    struct tier_setup setup = {.scenario = s, .tier = KVF_TIER_CPU, .clock = &run_time, .workers = 1};
    struct tier *t = NULL;
    struct err e = {0};
    s->tier[KVF_TIER_CPU].backend = KVF_CPU_INSTANT;
    assert_ptr_equal(tier_backend(&setup, &e), &tier_instant_ops);
    assert_int_equal(tier_instant_ops.open(&t, &setup, &e), 0);
    free(s);
    return t;
}

static void operations_take_no_time_and_come_back_in_order(void **state) {
    (void)state;
    struct tier *t = tier_opened();
    struct tier_queue *q = queue_of(t, 8);
    struct tier_chunk c[3] = {{.dir = KVF_DIR_WRITE, .len = 1 << 30, .error = 5}, {.len = 1}, {.len = 4096}};
    struct tier_chunk *list[] = {&c[0], &c[1], &c[2]}, *done[3] = {NULL};
    set_time(1234);
    assert_int_equal(t->ops->next_ns(q), KVF_NEVER);
    assert_int_equal(t->ops->submit(q, list, 3), 3);
    assert_int_equal(t->ops->next_ns(q), 1234);
    set_time(9999);
    assert_int_equal(t->ops->reap(q, done, 2), 2);
    assert_int_equal(t->ops->reap(q, done + 2, 3), 1);
    for (int i = 0; i < 3; i++) {
        assert_ptr_equal(done[i], &c[i]);
        assert_true(c[i].submit_ns == 1234 && c[i].complete_ns == 1234 && c[i].error == 0);
    }
    assert_int_equal(t->ops->reap(q, done, 3), 0);
    assert_int_equal(t->ops->next_ns(q), KVF_NEVER);
    t->ops->queue_close(q);
    t->ops->close(t);
}

static void a_queue_takes_what_its_depth_allows(void **state) {
    (void)state;
    struct tier *t = tier_opened();
    struct tier_queue *q = queue_of(t, 2);
    struct tier_chunk c[3] = {{.len = 1}, {.len = 1}, {.len = 1}};
    struct tier_chunk *list[] = {&c[0], &c[1], &c[2]}, *done[3] = {NULL};
    assert_int_equal(t->ops->submit(q, list, 3), 2);
    assert_int_equal(t->ops->submit(q, list + 2, 1), 0);
    assert_int_equal(t->ops->reap(q, done, 1), 1);
    assert_int_equal(t->ops->submit(q, list + 2, 1), 1);
    assert_int_equal(t->ops->reap(q, done, 3), 2);
    assert_true(done[0] == &c[1] && done[1] == &c[2]);
    t->ops->queue_close(q);
    t->ops->close(t);
}

/* Its numbers are labelled, and places are told apart. */
static void it_is_labelled_and_keeps_no_bytes(void **state) {
    (void)state;
    struct tier *t = tier_opened();
    uint32_t caps = t->ops->caps(t);
    assert_true(caps & TIER_EMULATED && caps & TIER_INSTANT && !(caps & TIER_HOLDS_BYTES));
    uint64_t a = t->ops->alloc(t, 4096), b = t->ops->alloc(t, 4096);
    assert_true(a != TIER_NO_PLACE && a == b); /* extents of a cache are of entries in one place */
    t->ops->drop(t, a, 4096);
    t->ops->close(t);
}

int main(void) {
    cmocka_set_message_output(CM_OUTPUT_TAP);
    set_time(1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_take_no_time_and_come_back_in_order),
        cmocka_unit_test(a_queue_takes_what_its_depth_allows),
        cmocka_unit_test(it_is_labelled_and_keeps_no_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
