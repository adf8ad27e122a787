#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "engine/move/writegate.h"

enum { OPS = 16 };
static struct cache_op op[OPS];
static struct cache_op *posted[OPS];
static unsigned posts;

static void note_post(void *ctx, struct cache_op *o) {
    (void)ctx;
    assert_true(posts < OPS);
    posted[posts++] = o;
}

static int begin(void **state) {
    (void)state;
    memset(op, 0, sizeof op);
    posts = 0;
    return 0;
}

static void so_many_pass_and_the_rest_stands_in_line(void **state) {
    (void)state;
    struct writegate g;
    writegate_init(&g, 2, note_post, NULL);
    assert_true(writegate_enter(&g, &op[0]));
    assert_true(writegate_enter(&g, &op[1]));
    assert_false(writegate_enter(&g, &op[2]));
    assert_true(op[0].has_turn && op[1].has_turn);
    assert_false(op[2].has_turn);
    assert_int_equal(posts, 0);
    assert_int_equal(writegate_most(&g), 2);
    writegate_destroy(&g);
}

/* A newcomer cannot overtake writes in line: each end lets exactly one in. */
static void first_come_first_served(void **state) {
    (void)state;
    struct writegate g;
    writegate_init(&g, 1, note_post, NULL);
    assert_true(writegate_enter(&g, &op[0]));
    for (int i = 1; i < 5; i++) assert_false(writegate_enter(&g, &op[i]));
    for (unsigned i = 1; i < 5; i++) {
        writegate_leave(&g);
        assert_int_equal(posts, i);
        assert_ptr_equal(posted[i - 1], &op[i]);
        assert_true(op[i].has_turn);
        if (i == 2) assert_false(writegate_enter(&g, &op[5]));
    }
    writegate_leave(&g);
    assert_int_equal(posts, 5);
    assert_ptr_equal(posted[4], &op[5]);
    writegate_leave(&g);
    assert_true(writegate_enter(&g, &op[6]));
    assert_int_equal(writegate_most(&g), 1);
    writegate_destroy(&g);
}

static void at_the_end_of_a_run_nobody_waits(void **state) {
    (void)state;
    struct writegate g;
    writegate_init(&g, 1, note_post, NULL);
    assert_true(writegate_enter(&g, &op[0]));
    assert_false(writegate_enter(&g, &op[1]));
    assert_false(writegate_enter(&g, &op[2]));
    writegate_stop(&g);
    assert_int_equal(posts, 2);
    assert_ptr_equal(posted[0], &op[1]);
    assert_ptr_equal(posted[1], &op[2]);
    assert_true(writegate_enter(&g, &op[3]));
    for (int i = 0; i < 4; i++) writegate_leave(&g);
    assert_int_equal(posts, 2);
    writegate_destroy(&g);
}

/* Writes in flight before the measured part count in it only if they still are. */
static void the_most_is_counted_from_a_moment_on(void **state) {
    (void)state;
    struct writegate g;
    writegate_init(&g, 3, note_post, NULL);
    for (int i = 0; i < 3; i++) assert_true(writegate_enter(&g, &op[i]));
    writegate_leave(&g);
    writegate_leave(&g);
    assert_int_equal(writegate_most(&g), 3);
    writegate_most_from_here(&g);
    assert_int_equal(writegate_most(&g), 1);
    assert_true(writegate_enter(&g, &op[3]));
    assert_int_equal(writegate_most(&g), 2);
    writegate_destroy(&g);
}

/* ---- threads: each carries out what is posted to it or passes by itself ---- */

enum { THREADS = 4, EACH = 5000, LIMIT = 2 };

struct crowd {
    struct writegate g;
    pthread_mutex_t lock;
    struct cache_op *mail;
    _Atomic int inside, beyond;
    _Atomic unsigned ended;
    struct cache_op op[THREADS][EACH];
};
static struct crowd crowd;

static void crowd_post(void *ctx, struct cache_op *o) {
    struct crowd *c = ctx;
    pthread_mutex_lock(&c->lock);
    o->next = c->mail;
    c->mail = o;
    pthread_mutex_unlock(&c->lock);
}

static void carry_out(struct crowd *c) {
    if (atomic_fetch_add(&c->inside, 1) >= LIMIT) atomic_fetch_add(&c->beyond, 1);
    atomic_fetch_sub(&c->inside, 1);
    atomic_fetch_add(&c->ended, 1);
    writegate_leave(&c->g);
}

static struct cache_op *mail_take(struct crowd *c) {
    pthread_mutex_lock(&c->lock);
    struct cache_op *o = c->mail;
    if (o) c->mail = o->next;
    pthread_mutex_unlock(&c->lock);
    return o;
}

static void *crowd_main(void *arg) {
    struct cache_op *mine = arg;
    for (int i = 0; i < EACH; i++) {
        if (writegate_enter(&crowd.g, &mine[i])) carry_out(&crowd);
        while (mail_take(&crowd)) carry_out(&crowd);
    }
    return NULL;
}

static void threads_keep_the_limit_and_lose_nothing(void **state) {
    (void)state;
    pthread_t thread[THREADS];
    pthread_mutex_init(&crowd.lock, NULL);
    writegate_init(&crowd.g, LIMIT, crowd_post, &crowd);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, crowd_main, crowd.op[i]), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    while (mail_take(&crowd)) carry_out(&crowd);
    assert_int_equal(crowd.ended, THREADS * EACH);
    assert_int_equal(crowd.beyond, 0);
    assert_true(writegate_most(&crowd.g) <= LIMIT);
    writegate_destroy(&crowd.g);
    pthread_mutex_destroy(&crowd.lock);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(so_many_pass_and_the_rest_stands_in_line, begin),
        cmocka_unit_test_setup(first_come_first_served, begin),
        cmocka_unit_test_setup(at_the_end_of_a_run_nobody_waits, begin),
        cmocka_unit_test_setup(the_most_is_counted_from_a_moment_on, begin),
        cmocka_unit_test(threads_keep_the_limit_and_lose_nothing),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("writegate", tests, NULL, NULL);
}
