#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "record/command.h"

static bool readable(const struct command_queue *q) {
    struct pollfd p = {.fd = command_fd(q), .events = POLLIN};
    return poll(&p, 1, 0) == 1;
}

static void test_order_and_flag(void **state) {
    (void)state;
    struct command_queue *q = command_queue_new();
    struct command c = {.kind = COMMAND_USERS, .value = 60, .text = "key"}, out;

    assert_non_null(q);
    assert_false(readable(q));
    assert_false(command_take(q, &out));
    assert_true(command_put(q, &c));
    c = (struct command){.kind = COMMAND_MARK, .text = "cold cache"};
    assert_true(command_put(q, &c));
    assert_true(readable(q));
    assert_true(command_take(q, &out));
    assert_int_equal(out.kind, COMMAND_USERS);
    assert_int_equal(out.value, 60);
    assert_string_equal(out.text, "key");
    assert_true(readable(q)); /* one is left */
    assert_true(command_take(q, &out));
    assert_int_equal(out.kind, COMMAND_MARK);
    assert_string_equal(out.text, "cold cache");
    assert_false(readable(q));
    assert_false(command_take(q, &out));
    command_queue_free(q);
    command_queue_free(NULL);
}

/* 64 fit, the 65th is refused, and there is room again after one was taken; many rounds. */
static void test_full(void **state) {
    (void)state;
    struct command_queue *q = command_queue_new();
    struct command c = {.kind = COMMAND_USERS}, out;
    uint64_t next_in = 0, next_out = 0;

    assert_non_null(q);
    for (int i = 0; i < 64; i++) {
        c.value = next_in++;
        assert_true(command_put(q, &c));
    }
    for (int round = 0; round < 500; round++) {
        c.value = next_in;
        assert_false(command_put(q, &c));
        assert_true(command_take(q, &out));
        assert_int_equal(out.value, next_out++);
        assert_true(command_put(q, &c));
        next_in++;
    }
    while (command_take(q, &out)) assert_int_equal(out.value, next_out++);
    assert_int_equal(next_out, next_in);
    assert_false(readable(q));
    command_queue_free(q);
}

/* A text without an end does not leave the queue without one. */
static void test_text_is_ended(void **state) {
    (void)state;
    struct command_queue *q = command_queue_new();
    struct command c = {.kind = COMMAND_MARK}, out;

    assert_non_null(q);
    memset(c.text, 'x', sizeof c.text);
    assert_true(command_put(q, &c));
    assert_true(command_take(q, &out));
    assert_int_equal(strlen(out.text), sizeof out.text - 1);
    command_queue_free(q);
}

enum { PRODUCERS = 3, EACH = 2000 };

struct producer {
    struct command_queue *q;
    unsigned who;
};

static void *produce(void *arg) {
    struct producer *p = arg;
    struct command c = {.kind = COMMAND_USERS};
    for (uint64_t i = 1; i <= EACH; i++) {
        c.value = p->who * (uint64_t)1000000 + i;
        (void)snprintf(c.text, sizeof c.text, "%u/%u", p->who, (unsigned)i);
        while (!command_put(p->q, &c)) (void)sched_yield();
    }
    return NULL;
}

/* Three threads put as fast as they can; the one that sleeps on the descriptor gets every command,
 * whole, each thread's in order, and is always woken while there is one. */
static void test_race(void **state) {
    (void)state;
    struct command_queue *q = command_queue_new();
    struct producer p[PRODUCERS];
    pthread_t thread[PRODUCERS];
    uint64_t taken = 0, last[PRODUCERS] = {0};
    struct command c;
    char expected[40];

    assert_non_null(q);
    for (unsigned i = 0; i < PRODUCERS; i++) {
        p[i] = (struct producer){.q = q, .who = i};
        assert_int_equal(pthread_create(&thread[i], NULL, produce, &p[i]), 0);
    }
    while (taken < PRODUCERS * EACH) {
        struct pollfd wait = {.fd = command_fd(q), .events = POLLIN};
        assert_int_equal(poll(&wait, 1, 30000), 1);
        if (!command_take(q, &c)) continue;
        uint64_t who = c.value / 1000000, n = c.value % 1000000;
        assert_true(who < PRODUCERS);
        assert_int_equal(n, last[who] + 1);
        last[who] = n;
        (void)snprintf(expected, sizeof expected, "%u/%u", (unsigned)who, (unsigned)n);
        assert_string_equal(c.text, expected);
        taken++;
    }
    for (int i = 0; i < PRODUCERS; i++) pthread_join(thread[i], NULL);
    assert_false(command_take(q, &c));
    assert_false(readable(q));
    command_queue_free(q);
}

struct pairs {
    struct command_queue *q;
    atomic_uint taken;
};

enum { PAIRS = 20000 };

static void *produce_pairs(void *arg) {
    struct pairs *p = arg;
    const struct command c = {.kind = COMMAND_USERS};
    for (unsigned i = 0; i < PAIRS; i++) {
        (void)command_put(p->q, &c);
        for (atomic_uint spin = i % 500; spin > 0; spin--) continue; /* another distance each time */
        (void)command_put(p->q, &c);
        while (atomic_load(&p->taken) < 2 * (i + 1)) (void)sched_yield();
    }
    return NULL;
}

/* Commands in pairs, the next pair only when both were taken: the second often comes just as the
 * taker of the first lowers the flag, and nobody would wake it later. */
static void test_no_lost_wake(void **state) {
    (void)state;
    struct pairs p = {.q = command_queue_new()};
    pthread_t thread;
    struct command c;

    assert_non_null(p.q);
    assert_int_equal(pthread_create(&thread, NULL, produce_pairs, &p), 0);
    while (atomic_load(&p.taken) < 2 * PAIRS) {
        struct pollfd wait = {.fd = command_fd(p.q), .events = POLLIN};
        if (poll(&wait, 1, 0) == 0) assert_int_equal(poll(&wait, 1, 10000), 1);
        if (command_take(p.q, &c)) atomic_fetch_add(&p.taken, 1);
    }
    pthread_join(thread, NULL);
    command_queue_free(p.q);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_order_and_flag), cmocka_unit_test(test_full),
    cmocka_unit_test(test_text_is_ended),  cmocka_unit_test(test_race),
    cmocka_unit_test(test_no_lost_wake),
};

int main(void) {
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("command", tests, NULL, NULL);
}
