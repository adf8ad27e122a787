/* Throughput of closed networks against the textbook's closed forms. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>

#include "engine/limits/network.h"

static void near_to(double got, double want) {
    if (fabs(got - want) > 1e-6 * fabs(want)) fail_msg("%.9g, expected %.9g", got, want);
}

static struct network one(double demand_s, double servers, double users, double think_s) {
    return (struct network){
        .station = {{demand_s, servers}}, .stations = 1, .queueing = 1, .users = users, .think_s = think_s};
}

/* n users who think for Z and queue for one exponential server: Erlang's loss formula gives the idle share.
 */
static double repairman(unsigned users, double think_s, double demand_s) {
    double term = 1, sum = 1;
    for (unsigned i = 1; i <= users; i++) sum += term *= (users - i + 1) * demand_s / think_s;
    return (1 - 1 / sum) / demand_s;
}

static void one_server_and_thinking_users(void **state) {
    (void)state;
    for (unsigned users = 1; users <= 50; users += 7) {
        struct network n = one(0.1, 1, users, 1);
        near_to(network_throughput(&n), repairman(users, 1, 0.1));
    }
    struct network n = one(0.1, 1, 10000, 1);
    near_to(network_throughput(&n), 10); /* 1 / Dmax */
    near_to(network_bound(&n), 10);
}

/* Balanced stations: X = N / (D (N + K - 1)). */
static void balanced_stations(void **state) {
    (void)state;
    struct network n = {.station = {{0.2, 1}, {0.2, 1}, {0.2, 1}}, .stations = 3, .queueing = 1, .users = 5};
    near_to(network_throughput(&n), 5 / (0.2 * 7));
    n.users = 5.5; /* between two */
    near_to(network_throughput(&n), (5 / (0.2 * 7) + 6 / (0.2 * 8)) / 2);
}

/* A delay of 1 s for two at a time is two a second, however many wait. */
static void slots_bound_what_is_inside(void **state) {
    (void)state;
    struct network n = {.delay_s = 1, .queueing = 1, .slots = 2, .users = 40};
    near_to(network_throughput(&n), 2);
    n.slots = 4;
    near_to(network_throughput(&n), 4);
    n.think_s = 99; /* X <= N / (R + Z) */
    n.slots = 0;
    near_to(network_throughput(&n), 0.4);
}

static void several_servers_carry_as_many_times_as_much(void **state) {
    (void)state;
    struct network n = one(0.4, 4, 1000, 0);
    near_to(network_throughput(&n), 10);
    n.users = 1; /* alone it is as slow as one of them */
    near_to(network_throughput(&n), 2.5);
}

/* The measured throughput comes out again, from below and from above what strangers would get. */
static void a_fit_gives_what_was_measured(void **state) {
    (void)state;
    struct network n = {.station = {{0.2, 1}, {0.2, 1}}, .stations = 2, .users = 4, .think_s = 1};
    for (double x = 1; x < 2.7; x += 0.4) {
        network_fit(&n, x);
        assert_true(fabs(network_throughput(&n) - x) < 0.001 * x);
    }
    network_fit(&n, 1);
    assert_true(n.delay_s > 0 && n.queueing == 1);
    network_fit(&n, 2.7);
    assert_true(n.delay_s == 0 && n.queueing < 1);
    n = (struct network){.station = {{0.1, 1}}, .stations = 1, .users = 4};
    network_fit(&n, 10);
    assert_true(network_throughput(&n) <= 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_server_and_thinking_users),
        cmocka_unit_test(balanced_stations),
        cmocka_unit_test(slots_bound_what_is_inside),
        cmocka_unit_test(several_servers_carry_as_many_times_as_much),
        cmocka_unit_test(a_fit_gives_what_was_measured),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("network", tests, NULL, NULL);
}
