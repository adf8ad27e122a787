#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/clock.h"

static void test_time_goes_on(void **state) {
    (void)state;
    uint64_t a = clock_now_ns(), b = clock_now_ns();
    assert_true(a > 0 && b >= a);
    assert_true(clock_wall_ns() > UINT64_C(1600000000) * KVF_NS_PER_S); /* later than 2020 */
    uint64_t cpu = clock_thread_cpu_ns();
    while (clock_thread_cpu_ns() == cpu) continue;
    assert_true(clock_thread_cpu_ns() > cpu);
}

static void test_a_precise_thread_has_10_us_of_slack_and_gives_it_back(void **state) {
    (void)state;
    clock_thread_slack(70000);
    assert_int_equal(clock_thread_precise(), 70000);
    assert_int_equal(prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0), 10000);
    clock_thread_slack(0);
    assert_int_equal(prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0), 10000);
    clock_thread_slack(70000);
    assert_int_equal(prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0), 70000);
}

/* Waits, by looking, until the monotonic clock has gone on by ns. */
static void pass(uint64_t ns) {
    uint64_t end = clock_now_ns() + ns;
    while (clock_now_ns() < end) continue;
}

static void test_pause_stands_still(void **state) {
    (void)state;
    struct run_clock c = {0};

    assert_false(run_clock_paused(&c));
    run_clock_pause(&c);
    assert_true(run_clock_paused(&c));
    uint64_t held = run_clock_now(&c);
    pass(20 * KVF_NS_PER_MS);
    assert_int_equal(run_clock_now(&c), held);
    run_clock_pause(&c); /* again: nothing */
    assert_int_equal(run_clock_now(&c), held);
    run_clock_resume(&c);
    assert_false(run_clock_paused(&c));
    run_clock_resume(&c); /* again: nothing */

    /* The difference to the monotonic clock is what was paused: 20 ms at least. */
    uint64_t before = clock_now_ns(), t = run_clock_now(&c), after = clock_now_ns();
    assert_true(t >= held);
    assert_true(before - t <= after - t && after - t >= 20 * KVF_NS_PER_MS);

    run_clock_pause(&c);
    uint64_t second = run_clock_now(&c);
    pass(5 * KVF_NS_PER_MS);
    run_clock_resume(&c);
    assert_true(run_clock_now(&c) >= second);
    assert_true(atomic_load(&c.shift_ns) >= 25 * KVF_NS_PER_MS); /* pauses add up */
}

/* Real time does not move it, nor does a pause, which is still to be seen. */
static void test_virtual_is_what_it_was_set_to(void **state) {
    (void)state;
    struct run_clock c = {0};
    assert_false(run_clock_is_virtual(&c));
    run_clock_virtual(&c);
    assert_true(run_clock_is_virtual(&c));
    assert_int_equal(run_clock_now(&c), KVF_NS_PER_S);
    pass(10 * KVF_NS_PER_US);
    assert_int_equal(run_clock_now(&c), KVF_NS_PER_S);
    run_clock_pause(&c);
    assert_true(run_clock_paused(&c));
    run_clock_set(&c, UINT64_C(12345) * KVF_NS_PER_S);
    run_clock_resume(&c);
    assert_false(run_clock_paused(&c));
    assert_int_equal(run_clock_now(&c), UINT64_C(12345) * KVF_NS_PER_S);
}

/* A reader's time never runs backwards while another thread pauses and resumes as fast as it can: a
 * reading that mixes an old word with a new one is a pause too late or too early, and the next right
 * one shows it. */
struct race {
    struct run_clock clock;
    atomic_bool stop;
    uint64_t backwards;
    atomic_uint_fast64_t readings;
};

static void *read_times(void *arg) {
    struct race *r = arg;
    uint64_t last = 0;
    while (!atomic_load(&r->stop)) {
        uint64_t t = run_clock_now(&r->clock);
        if (t < last) r->backwards++;
        atomic_fetch_add(&r->readings, 1);
        last = t;
    }
    return NULL;
}

static void test_race(void **state) {
    (void)state;
    struct race r;
    pthread_t reader;

    memset(&r, 0, sizeof r);
    assert_int_equal(pthread_create(&reader, NULL, read_times, &r), 0);
    while (atomic_load(&r.readings) == 0) (void)sched_yield();
    for (int i = 0; i < 3000; i++) {
        run_clock_pause(&r.clock);
        pass(10 * KVF_NS_PER_US);
        run_clock_resume(&r.clock);
        pass(2 * KVF_NS_PER_US);
    }
    atomic_store(&r.stop, true);
    pthread_join(reader, NULL);
    assert_int_equal(r.backwards, 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_time_goes_on),
    cmocka_unit_test(test_pause_stands_still),
    cmocka_unit_test(test_virtual_is_what_it_was_set_to),
    cmocka_unit_test(test_race),
    cmocka_unit_test(test_a_precise_thread_has_10_us_of_slack_and_gives_it_back),
};

int main(void) {
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
