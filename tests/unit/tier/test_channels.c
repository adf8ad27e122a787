#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>

#include "base/clock.h"
#include "base/rng.h"
#include "tier/channels.h"

/* The tier model against queueing theory: mean waits of Poisson arrivals, for which textbooks have closed
 * formulas (Kleinrock, Queueing Systems, volume 1, 1975: M/D/1 by Pollaczek and Khinchine, M/M/c by
 * Erlang's C), Little's law and the utilisation law. */

enum { LONG_RUN = 1000000 };
#define GB      UINT64_C(1000000000)
#define MEAN_NS 1e6 /* of a service */
#define CLOSE   0.03

static struct channels link_of(uint64_t read, uint64_t write, uint64_t latency, uint64_t channels) {
    struct channels c;
    channels_init(&c,
                  &(struct scenario_emulation){read, write, latency, channels, KVF_DUPLEX_HALF, KVF_UNSET});
    return c;
}

/* ---- by hand ---- */

static void one_channel_serves_in_order_of_arrival(void **state) {
    (void)state;
    struct channels c = link_of(GB, GB / 2, 70, 1);
    struct channels_turn t = channels_take(&c, KVF_DIR_READ, 1000, 5000);
    assert_int_equal(t.start_ns, 5000);
    assert_int_equal(t.complete_ns, 6070);
    t = channels_take(&c, KVF_DIR_WRITE, 1000, 5500); /* readers and writers share it; half as fast */
    assert_int_equal(t.start_ns, 6000);               /* the latency of the first passes meanwhile */
    assert_int_equal(t.complete_ns, 8070);
    t = channels_take(&c, KVF_DIR_READ, 10, 9000);
    assert_int_equal(t.start_ns, 9000);
    assert_int_equal(t.complete_ns, 9080);
}

static void both_ways_at_once(void **state) {
    (void)state;
    struct channels c;
    channels_init(&c, &(struct scenario_emulation){GB, GB / 2, 70, 1, KVF_DUPLEX_FULL, KVF_UNSET});
    assert_int_equal(channels_take(&c, KVF_DIR_READ, 1000, 5000).complete_ns, 6070);
    assert_int_equal(channels_take(&c, KVF_DIR_WRITE, 1000, 5500).start_ns, 5500); /* on its own */
    assert_int_equal(channels_take(&c, KVF_DIR_READ, 1000, 5500).start_ns, 6000);
    assert_int_equal(channels_take(&c, KVF_DIR_WRITE, 1000, 5600).complete_ns, 9570); /* behind the other */
}

/* At half duplex both ways have 2,000 ns of the one channel, and a read 3,000 more, until 6,000. */
static void what_was_used_grows_with_time_alone(void **state) {
    (void)state;
    struct channels c = link_of(GB, GB, 70, 1);
    channels_take(&c, KVF_DIR_READ, 2000, 1000);
    assert_int_equal(channels_used_ns(&c, KVF_DIR_READ, 1000), 0);
    assert_int_equal(channels_used_ns(&c, KVF_DIR_READ, 1600), 600);
    channels_take(&c, KVF_DIR_WRITE, 2000, 4000);
    assert_int_equal(channels_used_ns(&c, KVF_DIR_READ, 6000), 2000); /* idle from 3,000 to 4,000 */
    assert_int_equal(channels_used_ns(&c, KVF_DIR_WRITE, 6000), 2000);
    channels_take(&c, KVF_DIR_READ, 3000, 5000);
    uint64_t both = channels_used_ns(&c, KVF_DIR_READ, 7000) + channels_used_ns(&c, KVF_DIR_WRITE, 7000);
    assert_in_range(both, 5000 - 1, 5000 + 1); /* the split is rounded */
    assert_int_equal(channels_used_ns(&c, KVF_DIR_READ, 9000), 5000);

    channels_init(&c, &(struct scenario_emulation){2 * GB, 2 * GB, 70, 2, KVF_DUPLEX_FULL, KVF_UNSET});
    channels_take(&c, KVF_DIR_READ, 4000, 0);
    channels_take(&c, KVF_DIR_WRITE, 1000, 0);
    assert_int_equal(channels_used_ns(&c, KVF_DIR_READ, 3000), 1500); /* one of two */
    assert_int_equal(channels_used_ns(&c, KVF_DIR_WRITE, 3000), 500);
}

/* 2 GB/s each way, 3 both ways: alone a direction has all its own, together both end later. */
static void both_ways_have_a_limit_together(void **state) {
    (void)state;
    struct channels c;
    channels_init(&c, &(struct scenario_emulation){2 * GB, 2 * GB, 70, 1, KVF_DUPLEX_FULL, 3 * GB});
    assert_int_equal(channels_take(&c, KVF_DIR_READ, 6000, 0).complete_ns, 3070);
    assert_int_equal(channels_take(&c, KVF_DIR_WRITE, 6000, 0).complete_ns, 4070); /* 12,000 at 3 GB/s */
    assert_int_equal(channels_take(&c, KVF_DIR_READ, 3000, 9000).complete_ns, 10570);
    uint64_t end = 0;
    for (int i = 0; i < 2000; i++)
        end = channels_take(&c, i % 2 ? KVF_DIR_READ : KVF_DIR_WRITE, 3000, 20000).complete_ns;
    assert_int_equal(end, 20000 + 2000 * 1000 + 70);
}

static void channels_share_the_bandwidth(void **state) {
    (void)state;
    struct channels c = link_of(3 * GB, 3 * GB, 0, 3);
    assert_int_equal(channels_busy_ns(&c, KVF_DIR_READ, 3000), 3000);
    for (uint64_t i = 0; i < 3; i++) /* all three at once */
        assert_int_equal(channels_take(&c, KVF_DIR_READ, 3000 + 300 * i, 100).start_ns, 100);
    assert_int_equal(channels_take(&c, KVF_DIR_READ, 3000, 100).start_ns, 3100); /* the one free first */
    assert_int_equal(channels_take(&c, KVF_DIR_READ, 3000, 100).start_ns, 3400);
}

static void large_operations_do_not_overflow(void **state) {
    (void)state;
    struct channels c = link_of(5 * GB, 5 * GB, 0, 64);
    /* 5 TB at 5/64 GB/s: 64,000 s */
    assert_int_equal(channels_busy_ns(&c, KVF_DIR_WRITE, 5000 * GB), UINT64_C(64000) * GB);
}

/* ---- in the long run ---- */

struct observed {
    double wait_ns;     /* mean, before the service */
    double sojourn_ns;  /* mean, with it and the latency */
    double per_ns;      /* arrivals */
    double utilisation; /* mean share of the channels that are busy */
    double inside;      /* mean number waiting and in service, over time */
};

/* Sums the number inside over time from the departures, which it keeps in order by itself. */
struct census {
    double area, last_ns;
    double leaves[1 << 12]; /* of those inside, a heap would be quicker and is not needed */
    unsigned count;
};

static void census_until(struct census *k, double now_ns) {
    for (;;) {
        unsigned first = 0;
        if (k->count == 0) break;
        for (unsigned i = 1; i < k->count; i++)
            if (k->leaves[i] < k->leaves[first]) first = i;
        if (k->leaves[first] > now_ns) break;
        k->area += (double)k->count * (k->leaves[first] - k->last_ns);
        k->last_ns = k->leaves[first];
        k->leaves[first] = k->leaves[--k->count];
    }
    k->area += (double)k->count * (now_ns - k->last_ns);
    k->last_ns = now_ns;
}

/* Poisson arrivals for `channels` servers with services of MEAN_NS, all alike or exponential. */
static struct observed long_run(uint64_t channels, double rho, bool exponential, uint64_t latency_ns) {
    static struct census k;
    struct channels c = link_of(GB * channels, GB * channels, latency_ns, channels);
    struct rng r;
    rng_init(&r, 7, KVF_RNG_TEST, channels);
    double gap_ns = MEAN_NS / (double)channels / rho, at = 1e9, busy = 0, wait = 0, sojourn = 0;
    k = (struct census){.last_ns = at};
    for (int i = 0; i < LONG_RUN; i++) {
        at += rng_exponential(&r, gap_ns);
        uint64_t now = (uint64_t)at, bytes = (uint64_t)MEAN_NS; /* a byte takes a nanosecond of a channel */
        if (exponential) bytes = (uint64_t)rng_exponential(&r, MEAN_NS);
        enum kvf_dir dir = i % 2 ? KVF_DIR_READ : KVF_DIR_WRITE;
        struct channels_turn t = channels_take(&c, dir, bytes, now);
        wait += (double)(t.start_ns - now);
        sojourn += (double)(t.complete_ns - now);
        busy += (double)bytes;
        census_until(&k, (double)now);
        assert_true(k.count < sizeof k.leaves / sizeof k.leaves[0]);
        k.leaves[k.count++] = (double)t.complete_ns;
    }
    double length = at - 1e9;
    return (struct observed){wait / LONG_RUN, sojourn / LONG_RUN, LONG_RUN / length,
                             busy / length / (double)channels, k.area / length};
}

static void close_to(double got, double want) {
    if (!(fabs(got / want - 1) < CLOSE)) fail_msg("%g is not within %g %% of %g", got, 100 * CLOSE, want);
}

/* Erlang's C: the probability that an arrival waits, a erlangs offered to c servers. */
static double erlang_c(unsigned c, double a) {
    double term = 1, sum = 0;
    for (unsigned i = 0; i < c; i++) {
        sum += term;
        term *= a / (i + 1);
    }
    double all_busy = term / (1 - a / c);
    return all_busy / (sum + all_busy);
}

static void one_channel_and_one_size_are_m_d_1(void **state) {
    (void)state;
    static const double rho[] = {0.3, 0.5, 0.8};
    for (int i = 0; i < 3; i++) {
        struct observed o = long_run(1, rho[i], false, 50000);
        close_to(o.wait_ns, rho[i] * MEAN_NS / (2 * (1 - rho[i])));
        close_to(o.utilisation, rho[i]);
        close_to(o.sojourn_ns, o.wait_ns + MEAN_NS + 50000);
        close_to(o.inside, o.per_ns * o.sojourn_ns); /* Little */
    }
}

static void channels_and_exponential_sizes_are_m_m_c(void **state) {
    (void)state;
    /* M/M/2 at 0.75: rho^2 / (1 - rho^2) services; M/M/1 at 0.5: one */
    close_to(long_run(2, 0.75, true, 0).wait_ns, 9.0 / 7 * MEAN_NS);
    close_to(long_run(1, 0.5, true, 0).wait_ns, MEAN_NS);
    static const struct {
        unsigned c;
        double rho;
    } all[] = {{1, 0.7}, {3, 0.8}, {8, 0.9}};
    for (int i = 0; i < 3; i++) {
        double offered = all[i].c * all[i].rho;
        struct observed o = long_run(all[i].c, all[i].rho, true, 0);
        close_to(o.wait_ns, erlang_c(all[i].c, offered) * MEAN_NS / (all[i].c * (1 - all[i].rho)));
        close_to(o.utilisation, all[i].rho);
        close_to(o.inside, o.per_ns * o.sojourn_ns);
    }
}

/* However much is asked for, a channel carries its bandwidth and no more. */
static void bandwidth_is_the_limit(void **state) {
    (void)state;
    struct channels c = link_of(4 * GB, 2 * GB, 1000, 4);
    struct rng r;
    rng_init(&r, 3, KVF_RNG_TEST, 0);
    uint64_t last = 0, busy = 0;
    for (int i = 0; i < 100000; i++) {
        enum kvf_dir dir = i % 3 ? KVF_DIR_READ : KVF_DIR_WRITE;
        uint64_t bytes = rng_range(&r, 1, 100000);
        uint64_t end = channels_take(&c, dir, bytes, 0).complete_ns;
        if (end > last) last = end;
        busy += bytes * (dir == KVF_DIR_READ ? 1 : 2); /* ns of a channel of 1 and 0.5 B/ns */
    }
    /* all four are busy to the end, but for the last operation of each */
    assert_true(last >= 1000 + busy / 4 && last < 1000 + busy / 4 + 200000);
}

/* Without the atomic steps that threads need, the periods are the same. */
static void alone(void **state) {
    (void)state;
    struct channels among, one;
    const struct scenario_emulation speed = {2 * GB, GB, 70, 3, KVF_DUPLEX_FULL, 3 * GB};
    channels_init(&among, &speed);
    channels_init(&one, &speed);
    one.alone = true;
    for (uint64_t i = 0; i < 1000; i++) {
        enum kvf_dir dir = i % 3 ? KVF_DIR_READ : KVF_DIR_WRITE;
        struct channels_turn a = channels_take(&among, dir, 1000 + i * i % 777, 300 * i);
        struct channels_turn b = channels_take(&one, dir, 1000 + i * i % 777, 300 * i);
        assert_int_equal(a.start_ns, b.start_ns);
        assert_int_equal(a.complete_ns, b.complete_ns);
        assert_int_equal(b.busy_ns, channels_busy_ns(&one, dir, 1000 + i * i % 777));
    }
    for (int d = 0; d < KVF_DIRS; d++)
        assert_int_equal(channels_used_ns(&among, (enum kvf_dir)d, 100000),
                         channels_used_ns(&one, (enum kvf_dir)d, 100000));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alone),
        cmocka_unit_test(one_channel_serves_in_order_of_arrival),
        cmocka_unit_test(both_ways_at_once),
        cmocka_unit_test(what_was_used_grows_with_time_alone),
        cmocka_unit_test(both_ways_have_a_limit_together),
        cmocka_unit_test(channels_share_the_bandwidth),
        cmocka_unit_test(large_operations_do_not_overflow),
        cmocka_unit_test(one_channel_and_one_size_are_m_d_1),
        cmocka_unit_test(channels_and_exponential_sizes_are_m_m_c),
        cmocka_unit_test(bandwidth_is_the_limit),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("channels", tests, NULL, NULL);
}
