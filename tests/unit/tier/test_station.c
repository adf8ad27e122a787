#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/rng.h"
#include "tier/station.h"

/* The model of a measured tier by hand, and against queueing theory: the mean wait in a queue with Poisson
 * arrivals is load x E[S^2] / (2 E[S] (1 - load)) (Pollaczek and Khinchine; Kleinrock, Queueing Systems,
 * volume 1, 1975); where all are served at once it takes E[S] / (1 - load), whatever the spread of S (volume
 * 2, 1976). */

static struct scenario s;

/* 1,000 MB/s (a byte a ns) with one chunk under way, 2,000 with four. */
static void tier_set(double one, double four) {
    memset(&s, 0, sizeof s);
    for (int t = 0; t <= KVF_TIER_NVME; t++) {
        struct scenario_service *v = &s.tier[t].service;
        v->depths = (struct scenario_figures){2, {1, 4}};
        for (int d = 0; d < KVF_DIRS; d++) v->rates[d] = (struct scenario_figures){2, {one, four}};
        s.tier[t].emulation.duplex = KVF_DUPLEX_HALF;
    }
    s.seed = 7;
}

static void expect_leave(struct station *t, const void *who, uint64_t at_ns) {
    struct station_end end;
    assert_int_equal(station_next_ns(t), at_ns);
    assert_false(station_leave(t, at_ns - 1, &end));
    assert_true(station_leave(t, at_ns, &end));
    assert_ptr_equal(end.who, who);
}

static void a_link_serves_in_order_at_the_rate_of_their_number(void **state) {
    struct station t;
    int a, b, c;
    (void)state;
    tier_set(1000, 2000);
    station_init(&t, &s, KVF_TIER_GPU, false, 0);
    assert_true(station_next_ns(&t) == KVF_NEVER);
    station_join(&t, &a, KVF_DIR_READ, 1000, 500);
    expect_leave(&t, &a, 1500);
    station_join(&t, &a, KVF_DIR_READ, 1500, 2000); /* two: half way between, by the logarithm */
    station_join(&t, &b, KVF_DIR_READ, 1000, 2000);
    expect_leave(&t, &a, 3000);
    expect_leave(&t, &b, 4000);                      /* alone */
    station_join(&t, &a, KVF_DIR_WRITE, 1000, 5000); /* at half duplex the other direction counts */
    station_join(&t, &b, KVF_DIR_READ, 1000, 5000);
    station_join(&t, &c, KVF_DIR_READ, 1000, 5000);
    station_join(&t, &c, KVF_DIR_READ, 1000, 5000);
    expect_leave(&t, &b, 5667); /* three quarters of 2 bytes a ns */
    station_free(&t);
}

/* Chunks that come together are complete together; a short one does not wait for long ones. */
static void a_drive_serves_all_at_once(void **state) {
    struct station t;
    int who[4], a;
    (void)state;
    tier_set(1000, 1000);
    station_init(&t, &s, KVF_TIER_NVME, false, 0);
    for (int i = 0; i < 4; i++) station_join(&t, &who[i], KVF_DIR_READ, 1000, 500);
    for (int i = 0; i < 4; i++) expect_leave(&t, &who[i], 4500);
    station_join(&t, &who[0], KVF_DIR_READ, 3000, 10000);
    station_join(&t, &a, KVF_DIR_READ, 1000, 11000); /* 2,000 are left of the other */
    expect_leave(&t, &a, 13000);
    expect_leave(&t, &who[0], 14000);
    station_join(&t, &who[1], KVF_DIR_WRITE, 1000, 20000); /* half of each ns for either direction */
    station_join(&t, &who[0], KVF_DIR_READ, 1000, 20000);
    expect_leave(&t, &who[0], 22000);
    assert_int_equal(station_used_ns(&t, KVF_DIR_WRITE, 22000), 1000);
    assert_int_equal(station_used_ns(&t, KVF_DIR_READ, 22000), 4000 + 4000 + 1000);
    station_free(&t);
}

/* Four chunks of 1,000 bytes, one byte a ns: half of the work is left half way through. */
static void what_is_under_way_gets_less(void **state) {
    struct station t;
    int who[4];
    (void)state;
    tier_set(1000, 1000);
    station_init(&t, &s, KVF_TIER_NVME, false, 0);
    assert_true(station_chunks(&t, 1000) == 0);
    for (int i = 0; i < 4; i++) station_join(&t, &who[i], KVF_DIR_READ, 1000, 500);
    assert_true(fabs(station_chunks(&t, 500) - 4) < 1e-9);
    assert_true(fabs(station_chunks(&t, 2500) - 2) < 1e-9);
    assert_true(station_chunks(&t, 9000) == 0);
    station_free(&t);
}

/* It has rested as long as the rest was; then it is awake until it has rested again. */
static void a_drive_that_rested_is_slow_for_as_long(void **state) {
    const uint64_t rest = STATION_REST_NS;
    struct station t;
    struct station_end end;
    int a;
    (void)state;
    tier_set(1000, 1000);
    station_init(&t, &s, KVF_TIER_NVME, false, 0);
    assert_true(station_rested(&t, 10)); /* nothing was ever there */
    station_join(&t, &a, KVF_DIR_READ, (double)rest * 2, 10);
    assert_true(station_rested(&t, rest + 9));
    assert_false(station_rested(&t, rest + 10));
    assert_true(station_leave(&t, 2 * rest + 10, &end));
    assert_false(station_rested(&t, 3 * rest + 9));
    station_join(&t, &a, KVF_DIR_WRITE, 1, 3 * rest + 9); /* a shorter pause is no rest */
    assert_false(station_rested(&t, 3 * rest + 9));
    assert_true(station_leave(&t, 3 * rest + 10, &end));
    assert_true(station_rested(&t, 4 * rest + 10));
    station_free(&t);
}

/* Two directions that move 3,000 MB/s together, of 2,000 each alone. */
static void directions_are_in_each_others_way_as_measured(void **state) {
    struct station t;
    struct station_end end;
    int a, b;
    (void)state;
    tier_set(2000, 2000);
    s.tier[KVF_TIER_NVME].emulation.both_bytes_per_s = 3000 * UINT64_C(1000000);
    station_init(&t, &s, KVF_TIER_NVME, false, 0);
    station_join(&t, &a, KVF_DIR_READ, 30000, 0);
    station_join(&t, &b, KVF_DIR_WRITE, 30000, 0);
    assert_int_equal(station_next_ns(&t), 20000); /* 60,000 bytes at 3 bytes a ns */
    assert_true(station_leave(&t, 20000, &end) && station_leave(&t, 20000, &end));
    station_join(&t, &a, KVF_DIR_READ, 30000, 30000);
    expect_leave(&t, &a, 45000);
    station_free(&t);
}

/* A write counts as half a read to reads, and a read as three writes to writes: what both move together says
 * less. */
static void a_direction_may_suffer_more_than_the_other(void **state) {
    struct station t;
    int a, b;
    (void)state;
    tier_set(2000, 2000);
    s.tier[KVF_TIER_NVME].emulation.both_bytes_per_s = 3000 * UINT64_C(1000000);
    s.tier[KVF_TIER_NVME].service.interference = (struct scenario_figures){2, {0.5, 3}};
    station_init(&t, &s, KVF_TIER_NVME, false, 0);
    station_join(&t, &a, KVF_DIR_READ, 40000, 0);
    station_join(&t, &b, KVF_DIR_WRITE, 40000, 0);
    expect_leave(&t, &a, 30000); /* at 2 / 1.5 bytes a ns */
    expect_leave(&t, &b, 42500); /* 15,000 at half a byte, and the rest alone */
    station_free(&t);
}

/* Half of its speed from the middle of the first on, and the whole of it again in the second. */
static void a_station_may_be_slowed(void **state) {
    struct station t;
    int a;
    (void)state;
    tier_set(2000, 2000);
    station_init(&t, &s, KVF_TIER_NVME, false, 0);
    station_join(&t, &a, KVF_DIR_READ, 40000, 0);
    assert_int_equal(station_next_ns(&t), 20000);
    station_slow(&t, 0.5, 10000);
    expect_leave(&t, &a, 30000);
    station_join(&t, &a, KVF_DIR_READ, 40000, 30000);
    station_slow(&t, 1, 50000);
    expect_leave(&t, &a, 60000);
    station_free(&t);
}

/* Mean wait of operations of one mean time, in such. */
static double mean_wait(enum kvf_tier tier, double load, const struct scenario_figures *spread) {
    enum { COUNT = 200000 };
    static uint64_t since[COUNT];
    struct station t;
    struct station_end end;
    struct rng rng;
    double sum = 0;
    uint64_t now = 0, arrival = 0, begun = 0, ended = 0;
    tier_set(1000, 1000);
    s.tier[tier].service.spread[KVF_DIR_READ] = *spread;
    station_init(&t, &s, tier, false, 0);
    rng_init(&rng, 3, KVF_RNG_TEST, 0);
    while (ended < COUNT) {
        uint64_t next = station_next_ns(&t);
        now = begun < COUNT && arrival < next ? arrival : next;
        if (begun < COUNT && now == arrival) {
            since[begun] = now;
            station_join(&t, &since[begun++], KVF_DIR_READ, 100000 * station_factor(&t, KVF_DIR_READ), now);
            arrival = now + 1 + (uint64_t)rng_exponential(&rng, 100000 / load);
        }
        for (; station_leave(&t, now, &end); ended++) sum += (double)(now - *(uint64_t *)end.who);
    }
    station_free(&t);
    return sum / COUNT / 100000 - 1;
}

static void waits_are_those_of_the_textbook(void **state) {
    const struct scenario_figures same = {0}, wide = {5, {0.1, 0.2, 0.3, 0.4, 4}}; /* E[S^2] 1 and 3.26 */
    (void)state;
    assert_true(fabs(mean_wait(KVF_TIER_GPU, 0.5, &same) - 0.5) < 0.02);
    assert_true(fabs(mean_wait(KVF_TIER_GPU, 0.5, &wide) - 1.63) < 0.06);
    assert_true(fabs(mean_wait(KVF_TIER_GPU, 0.8, &same) - 2) < 0.1);
    assert_true(fabs(mean_wait(KVF_TIER_GPU, 0.8, &wide) - 6.52) < 0.5);
    assert_true(fabs(mean_wait(KVF_TIER_NVME, 0.5, &same) - 1) < 0.04); /* beyond its own service */
    assert_true(fabs(mean_wait(KVF_TIER_NVME, 0.5, &wide) - 1) < 0.04);
    assert_true(fabs(mean_wait(KVF_TIER_NVME, 0.8, &wide) - 4) < 0.3);
}

static void the_seed_decides_what_is_drawn(void **state) {
    struct station t;
    int who;
    uint64_t first[4];
    (void)state;
    for (int i = 0; i < 4; i++) {
        tier_set(1000, 1000);
        s.tier[KVF_TIER_NVME].service.spread[KVF_DIR_READ] =
            (struct scenario_figures){4, {0.4, 0.8, 1.2, 1.6}};
        s.seed = i == 2 ? 12 : 11;
        station_init(&t, &s, KVF_TIER_NVME, false, i == 3 ? 1 : 0); /* of another pod */
        first[i] = 0;
        for (int k = 0; k < 20; k++) {
            struct station_end end;
            station_join(&t, &who, KVF_DIR_READ, 1000 * station_factor(&t, KVF_DIR_READ), first[i]);
            first[i] = station_next_ns(&t);
            assert_true(station_leave(&t, first[i], &end));
        }
        station_free(&t);
    }
    assert_int_equal(first[0], first[1]);
    assert_int_not_equal(first[0], first[2]);
    assert_int_not_equal(first[0], first[3]);
}

/* The first stall begins after 1,000 ns in use, and each lasts 5,000 and 3,000 ns in turn. */
static void stalls_set(struct station *t) {
    tier_set(1000, 1000);
    s.tier[KVF_TIER_NVME].service.stalls_ms = (struct scenario_figures){2, {0.003, 0.005}};
    s.tier[KVF_TIER_NVME].service.stall_every_ns = 4000;
    station_init(t, &s, KVF_TIER_NVME, false, 0);
    t->before_ns = 1000;
    t->stall = 1; /* 0.618 of two: the second */
}

static void nothing_is_served_in_a_stall(void **state) {
    struct station t;
    int a, b;
    (void)state;
    stalls_set(&t);
    station_join(&t, &a, KVF_DIR_READ, 1000, 500);
    expect_leave(&t, &a, 1500);                     /* as it begins */
    station_join(&t, &a, KVF_DIR_READ, 1000, 9000); /* 5,000 later it serves again: idle time is no use */
    station_join(&t, &b, KVF_DIR_WRITE, 500, 10000);
    expect_leave(&t, &b, 9000 + 5000 + 1000);
    expect_leave(&t, &a, 9000 + 5000 + 1500);
    assert_int_equal(station_used_ns(&t, KVF_DIR_READ, 16000) + station_used_ns(&t, KVF_DIR_WRITE, 16000),
                     1000 + 5000 + 1500); /* stalled or not, it is not free */
    station_free(&t);
}

/* Whatever joins meanwhile, stalls come after equal times in use, and have their lengths in turn. */
static void stalls_come_after_equal_times_in_use(void **state) {
    struct station t;
    struct station_end end;
    int a;
    (void)state;
    stalls_set(&t);
    station_join(&t, &a, KVF_DIR_READ, 100000, 0);
    uint64_t alone_ns = station_next_ns(&t); /* 25 stalls in 100,000 ns, from 1,000 on each 4,000 */
    station_free(&t);
    uint64_t stalls_ns = 0;
    for (uint64_t n = 1; n <= 25; n++)
        stalls_ns += fmod((double)n * 0.6180339887498949, 1) < 0.5 ? 3000 : 5000;
    assert_int_equal(alone_ns, 100000 + stalls_ns);
    stalls_set(&t);
    uint64_t now_ns = 0;
    station_join(&t, &a, KVF_DIR_READ, 90000, 0);
    for (int i = 0; i < 10; i++) station_join(&t, &a, KVF_DIR_WRITE, 1000, now_ns += 700);
    for (int left = 11; left > 0; left -= station_leave(&t, now_ns, &end)) now_ns = station_next_ns(&t);
    assert_in_range(now_ns, alone_ns - 11, alone_ns + 11); /* each end is a whole ns */
    station_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_link_serves_in_order_at_the_rate_of_their_number),
        cmocka_unit_test(a_drive_serves_all_at_once),
        cmocka_unit_test(what_is_under_way_gets_less),
        cmocka_unit_test(a_drive_that_rested_is_slow_for_as_long),
        cmocka_unit_test(directions_are_in_each_others_way_as_measured),
        cmocka_unit_test(a_direction_may_suffer_more_than_the_other),
        cmocka_unit_test(a_station_may_be_slowed),
        cmocka_unit_test(waits_are_those_of_the_textbook),
        cmocka_unit_test(the_seed_decides_what_is_drawn),
        cmocka_unit_test(nothing_is_served_in_a_stall),
        cmocka_unit_test(stalls_come_after_equal_times_in_use),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("station", tests, NULL, NULL);
}
