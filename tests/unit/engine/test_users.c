#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/clock.h"
#include "engine/arrivals/users.h"
#include "record/snapshot.h"

static void expect_due(struct users *s, uint64_t now, uint64_t user, uint64_t at) {
    uint64_t got_user, got_at;
    assert_true(users_due(s, now, &got_user, &got_at));
    assert_int_equal(got_user, user);
    assert_int_equal(got_at, at);
}

static void expect_none(struct users *s, uint64_t now) {
    uint64_t user, at;
    assert_false(users_due(s, now, &user, &at));
}

static void nobody_waits_at_first(void **state) {
    (void)state;
    struct users s;
    users_init(&s);
    assert_true(users_next_ns(&s) == KVF_NEVER);
    expect_none(&s, UINT64_MAX - 1);
    users_grow(&s, 3);
    assert_int_equal(s.known, 3);
    for (int u = 0; u < 3; u++) assert_int_equal(s.state[u], USERS_IDLE);
    assert_true(users_next_ns(&s) == KVF_NEVER);
    users_destroy(&s);
}

static void users_are_due_in_the_order_of_their_times(void **state) {
    (void)state;
    struct users s;
    users_init(&s);
    users_grow(&s, 4);
    users_schedule(&s, 0, 400);
    users_schedule(&s, 1, 100);
    users_schedule(&s, 2, 300);
    assert_int_equal(s.state[1], USERS_WAITING);
    assert_int_equal(s.state[3], USERS_IDLE);
    assert_int_equal(users_next_ns(&s), 100);
    expect_none(&s, 99);
    expect_due(&s, 100, 1, 100);
    expect_none(&s, 299);
    expect_due(&s, 1000, 2, 300); /* late, and it says when it was due */
    expect_due(&s, 1000, 0, 400);
    expect_none(&s, 1000);
    users_destroy(&s);
}

static void users_due_at_the_same_time_go_by_number(void **state) {
    (void)state;
    struct users s;
    users_init(&s);
    users_grow(&s, 5);
    users_schedule(&s, 4, 7);
    users_schedule(&s, 1, 7);
    users_schedule(&s, 3, 7);
    expect_due(&s, 7, 1, 7);
    expect_due(&s, 7, 3, 7);
    expect_due(&s, 7, 4, 7);
    users_destroy(&s);
}

static void growing_keeps_the_states_of_who_is_there(void **state) {
    (void)state;
    struct users s;
    users_init(&s);
    users_grow(&s, 2);
    users_schedule(&s, 1, 10);
    s.state[0] = USERS_ENDED;
    users_grow(&s, 1); /* never fewer */
    assert_int_equal(s.known, 2);
    users_grow(&s, 1000);
    assert_int_equal(s.known, 1000);
    assert_int_equal(s.state[0], USERS_ENDED);
    assert_int_equal(s.state[1], USERS_WAITING);
    for (int u = 2; u < 1000; u++) assert_int_equal(s.state[u], USERS_IDLE);
    expect_due(&s, 10, 1, 10);
    users_destroy(&s);
}

static void a_hundred_thousand_users_are_timers(void **state) {
    (void)state;
    enum { USERS = 100000 };
    struct users s;
    users_init(&s);
    users_grow(&s, USERS);
    for (uint64_t u = 0; u < USERS; u++) users_schedule(&s, u, (u * 7919) % USERS);
    uint64_t last = 0;
    for (uint64_t u = 0; u < USERS; u++) {
        uint64_t user, at;
        assert_true(users_due(&s, USERS, &user, &at));
        assert_true(at >= last && at == (user * 7919) % USERS);
        last = at;
    }
    expect_none(&s, UINT64_MAX - 1);
    users_destroy(&s);
}

static void ended_requests_are_told_by_user(void **state) {
    (void)state;
    struct users s;
    users_init(&s);
    assert_int_equal(users_told(&s, 500).done, 0);
    users_count(&s, 500, false, 30);
    users_count(&s, 500, false, 90);
    users_count(&s, 500, false, 60);
    users_count(&s, 500, true, 1e6);
    users_count(&s, UINT64_MAX, false, 1); /* of a recording */
    users_count(&s, SNAPSHOT_USERS_COUNTED, false, 1);
    assert_int_equal(users_told(&s, SNAPSHOT_USERS_COUNTED).done, 0);
    struct users_tally t = users_told(&s, 500);
    assert_true(t.done == 3 && t.failed == 1 && t.sum_ms == 180 && t.last_ms == 60 && t.worst_ms == 90);
    assert_int_equal(users_told(&s, 499).done + users_told(&s, UINT64_MAX).done, 0);
    users_destroy(&s);
}

/* 4 users for 10 s, 6 for 5 s; one has nothing at all, another nothing left after 2 s, and one beyond them
 * either. */
static void time_with_nothing_left_to_ask_is_added_up(void **state) {
    (void)state;
    struct users s;
    users_init(&s);
    users_grow(&s, 6);
    users_activate(&s, 4, 0);
    users_end(&s, 3, false, 0);
    users_end(&s, 0, true, 2 * KVF_NS_PER_S);
    users_end(&s, 5, true, 2 * KVF_NS_PER_S);
    users_count_time(&s, 10 * KVF_NS_PER_S);
    assert_true(s.time.active_s == 40 && s.time.exhausted_s == 18 && s.ended == 2 && s.unasked == 1);
    users_count_time(&s, 9 * KVF_NS_PER_S); /* never back */
    assert_true(s.time.active_s == 40);
    users_activate(&s, 6, 10 * KVF_NS_PER_S);
    users_activate(&s, 2, 15 * KVF_NS_PER_S); /* without the one that had nothing */
    assert_true(s.time.active_s == 70 && s.time.exhausted_s == 33 && s.ended == 1 && s.unasked == 0);
    users_destroy(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_waits_at_first),
        cmocka_unit_test(users_are_due_in_the_order_of_their_times),
        cmocka_unit_test(users_due_at_the_same_time_go_by_number),
        cmocka_unit_test(growing_keeps_the_states_of_who_is_there),
        cmocka_unit_test(a_hundred_thousand_users_are_timers),
        cmocka_unit_test(time_with_nothing_left_to_ask_is_added_up),
        cmocka_unit_test(ended_requests_are_told_by_user),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("session", tests, NULL, NULL);
}
