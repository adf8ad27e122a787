#include "tests/unit/history_fixture.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

/* n intervals of a second, i from 1 on: users and tokens i, e2e_p95 and hit ratio as told. */
static struct history *seconds(int n) {
    struct history *h = history_new();

    for (int i = 1; i <= n; i++) {
        struct snapshot *s = interval(i, 1);

        s->interval.users = (uint64_t)i;
        s->interval.throughput_tok_s = i;
        s->interval.e2e_p95_ms = i;
        history_add(h, s);
    }
    return h;
}

static void test_empty(void **state) {
    (void)state;
    struct history *h = history_new();
    uint32_t counts[3 * SNAPSHOT_HEAT_BINS];
    double from, to, t;

    history_span(h, ZOOM_MINUTE, MISSING, &from, &to);
    assert_true(from == -60 && to == 0);
    history_span(h, ZOOM_ALL, MISSING, &from, &to);
    assert_true(from == 0 && to == 0);
    for (int z = 0; z < ZOOMS; z++) {
        series(h, SERIES_USERS, (enum zoom)z, MISSING, 50);
        for (int i = 0; i < 50; i++) assert_true(isnan(got[i]));
        assert_true(history_top(h, SERIES_USERS, (enum zoom)z, MISSING) == 0);
        assert_true(history_top(h, SERIES_USERS, (enum zoom)z, 5) == 0);
        memset(counts, 0xff, sizeof counts);
        history_heat(h, 0, (enum zoom)z, MISSING, 3, counts);
        for (size_t i = 0; i < COUNT(counts); i++) assert_int_equal(counts[i], 0);
    }
    assert_int_equal(history_events(h), 0);
    assert_int_equal(history_decisions(h), 0);
    assert_null(history_event_at(h, 0));
    assert_null(history_decision_at(h, 0, &t));
    history_free(h);
    history_free(NULL);
    assert_string_equal(zoom_name(ZOOM_TEN), "10 min");
}

/* Every field goes into its own series and no other. */
static void test_fields(void **state) {
    (void)state;
    struct history *h = history_new();
    struct snapshot *s = interval(4, 4);
    double want[SERIES_NUMBER];

    for (int i = 0; i < SERIES_NUMBER; i++) want[i] = MISSING;
#define RUN(id, field, value)  s->interval.field = (value), want[SERIES_##id] = (value)
#define RATE(id, field, value) s->interval.field = (value)*4, want[SERIES_##id] = (value)
    RUN(USERS, users, 11), RUN(QUEUE, queue_depth, 12), RUN(IN_SERVICE, in_service, 13);
    RUN(TOKENS_PER_S, throughput_tok_s, 15);
    RUN(REQUESTS_PER_S, requests_per_s, 16), RUN(HIT_RATIO, reuse_hit_ratio, 0.17);
    RUN(E2E_P50_MS, e2e_p50_ms, 20), RUN(E2E_P95_MS, e2e_p95_ms, 21), RUN(E2E_P99_MS, e2e_p99_ms, 22);
    RUN(TTFT_P95_MS, ttft_p95_ms, 23), RUN(WAIT_P95_MS, queue_wait_p95_ms, 24);
    RUN(STORAGE_P95_MS, storage_io_p95_ms, 25), RUN(GENERATION_P95_MS, generation_p95_ms, 26);
    RUN(SATURATION, saturation, 0.27), RUN(HOST_CPU, host_cpu_ratio, 0.29);
    RUN(HOST_STEAL, host_steal_ratio, 0.3), RUN(RSS, rss_bytes, 31), RUN(AVAILABLE, host_available_bytes, 32);
    RATE(DISK_READ, device_read_bytes, 33), RATE(DISK_WRITE, device_write_bytes, 34);
    RUN(DISK_BUSY, device_busy_ratio, 0.35), RUN(DISK_QUEUE, device_queue, 36);
    RATE(NET_RX, net_rx_bytes, 37), RATE(NET_TX, net_tx_bytes, 38);
    s->interval.cpu_user_s = 4, s->interval.cpu_sys_s = 2, want[SERIES_PROCESS_CORES] = 1.5;

    s->tier_on[KVF_TIER_GPU] = s->tier_on[KVF_TIER_NVME] = true;
    s->tier[KVF_TIER_NVME] = (struct snapshot_tier){.capacity_bytes = 800,
                                                    .used_bytes = 200,
                                                    .read_bytes = 400,
                                                    .write_bytes = 44,
                                                    .read_p95_ms = 41,
                                                    .write_p95_ms = 42,
                                                    .io_in_flight = 43,
                                                    .evictions = 3,
                                                    .demotions = 5};
    s->tier[KVF_TIER_CPU].io_in_flight = s->tier[KVF_TIER_CPU].capacity_bytes = 1000; /* but it is off */
    s->tier[KVF_TIER_GPU] = (struct snapshot_tier){
        .capacity_bytes = 0, .read_p95_ms = MISSING, .write_p95_ms = MISSING, .io_in_flight = 2};
    want[SERIES_IO_IN_FLIGHT] = 45;
    for (int t = 0; t < KVF_TIERS; t += 2) {
        bool nvme = t == KVF_TIER_NVME;

        want[series_tier(t, SERIES_TIER_USED_RATIO)] = nvme ? 0.25 : MISSING;
        want[series_tier(t, SERIES_TIER_READ)] = nvme ? 100 : 0;
        want[series_tier(t, SERIES_TIER_WRITE)] = nvme ? 11 : 0;
        want[series_tier(t, SERIES_TIER_READ_P95_MS)] = nvme ? 41 : MISSING;
        want[series_tier(t, SERIES_TIER_WRITE_P95_MS)] = nvme ? 42 : MISSING;
        want[series_tier(t, SERIES_TIER_IN_FLIGHT)] = nvme ? 43 : 2;
        want[series_tier(t, SERIES_TIER_FALLS)] = nvme ? 2 : 0;
    }
    s->classes = 2;
    s->qos[2].queued = 5; /* not a class of this run */
    s->qos[1] = (struct snapshot_qos){
        .queued = 51, .in_service = 52, .met_ratio = 0.53, .oldest_wait_ms = 54, .violations = 4 * 55};
    s->qos[0] = (struct snapshot_qos){.met_ratio = MISSING, .oldest_wait_ms = MISSING, .violations = MISSING};
    for (int c = 0; c < 2; c++) {
        want[series_class(c, SERIES_CLASS_QUEUED)] = c ? 51 : 0;
        want[series_class(c, SERIES_CLASS_SERVED)] = c ? 52 : 0;
        want[series_class(c, SERIES_CLASS_MET)] = c ? 0.53 : MISSING;
        want[series_class(c, SERIES_CLASS_OLDEST_MS)] = c ? 54 : MISSING;
        want[series_class(c, SERIES_CLASS_VIOLATIONS)] = c ? 55 : MISSING;
    }
    s->gpus = 2;
    s->gpu[0].utilisation = 0.61;
    s->gpu[1].utilisation = 1;
    s->gpu[0].memory_used_bytes = MISSING;
    s->gpu[1].memory_used_bytes = 62;
    want[series_gpu(0, SERIES_GPU_UTILISATION)] = 0.61;
    want[series_gpu(1, SERIES_GPU_UTILISATION)] = 1;
    want[series_gpu(1, SERIES_GPU_MEMORY)] = 62;

    history_add(h, s);
    for (int i = 0; i < SERIES_NUMBER; i++) {
        series(h, i, ZOOM_ALL, MISSING, 1);
        assert_near(got[0], want[i], "series", (size_t)i);
    }
    series(h, SERIES_NUMBER, ZOOM_ALL, MISSING, 1);
    assert_true(isnan(got[0]));
    history_free(h);
}

/* Without a length there are no rates; the interval then reaches back to the one before. */
static void test_length_missing(void **state) {
    (void)state;
    static const double lengths[] = {0, MISSING, -1, INFINITY};

    for (size_t i = 0; i < COUNT(lengths); i++) {
        struct history *h = history_new();
        struct snapshot *s = interval(2, lengths[i]);

        s->interval.users = 9;
        s->interval.net_rx_bytes = 100;
        s->tier_on[0] = true;
        history_add(h, s);
        s = interval(4, lengths[i]);
        s->interval.users = 10;
        history_add(h, s);
        series(h, SERIES_NET_RX, ZOOM_ALL, MISSING, 1);
        assert_true(isnan(got[0]));
        series(h, SERIES_USERS, ZOOM_ALL, MISSING, 4);
        assert_true(got[0] == 9 && got[1] == 9 && got[2] == 10 && got[3] == 10);
        history_free(h);
    }
}

/* An interval that says it began before the end of the last one begins there. */
static void test_overlap(void **state) {
    (void)state;
    static const double want[] = {MISSING, MISSING, 1, 1, 5};
    struct history *h = history_new();
    struct snapshot *s = interval(2, 1);

    s->interval.throughput_tok_s = 1;
    history_add(h, s);
    s = interval(2.5, 1);
    s->interval.throughput_tok_s = 5;
    history_add(h, s);
    series(h, SERIES_TOKENS_PER_S, ZOOM_ALL, MISSING, 5);
    for (size_t i = 0; i < 5; i++) assert_near(got[i], want[i], "half seconds", i);
    history_free(h);
}

static void test_left_out(void **state) {
    (void)state;
    static const double later[] = {3, 2, MISSING, INFINITY, 1e300};
    struct history *h = history_new();
    struct snapshot *s;

    history_add(h, interval(3, 1));
    for (size_t i = 0; i < COUNT(later); i++) {
        s = interval(later[i], 1);
        s->interval.users = 99;
        s->decisions = 1;
        history_add(h, s);
    }
    s = interval(4, 1);
    s->peek = true;
    s->interval.users = 99;
    history_add(h, s);
    assert_true(history_newest(h) == 3);
    assert_int_equal(history_decisions(h), 0);
    series(h, SERIES_USERS, ZOOM_ALL, MISSING, 3);
    assert_true(isnan(got[0]) && isnan(got[1]) && got[2] == 0);
    history_free(h);
}

/* The minute and the ten minutes end at the newest interval and have their length from the start. */
static void test_spans(void **state) {
    (void)state;
    struct history *h = seconds(30);
    double from, to;

    history_span(h, ZOOM_MINUTE, MISSING, &from, &to);
    assert_true(from == -30 && to == 30);
    history_span(h, ZOOM_TEN, 10, &from, &to);
    assert_true(from == -590 && to == 10);
    history_span(h, ZOOM_ALL, 10, &from, &to);
    assert_true(from == 0 && to == 30);
    history_span(h, ZOOM_ALL, 40, &from, &to);
    assert_true(from == 0 && to == 40);

    series(h, SERIES_USERS, ZOOM_MINUTE, MISSING, 60);
    for (int i = 0; i < 60; i++) assert_near(got[i], i < 30 ? MISSING : i - 29, "a point a slot", (size_t)i);
    series(h, SERIES_TOKENS_PER_S, ZOOM_MINUTE, MISSING, 240); /* shorter than a slot: it repeats */
    for (int i = 0; i < 240; i++)
        assert_near(got[i], i < 120 ? MISSING : (i - 120) / 4 + 1, "four points a slot", (size_t)i);
    series(h, SERIES_TOKENS_PER_S, ZOOM_MINUTE, MISSING, 20); /* (1 + 2 + 3) / 3, ... */
    for (int i = 0; i < 20; i++)
        assert_near(got[i], i < 10 ? MISSING : 3 * (i - 10) + 2, "three slots a point", (size_t)i);
    series(h, SERIES_E2E_P95_MS, ZOOM_MINUTE, MISSING, 20);
    for (int i = 10; i < 20; i++) assert_near(got[i], 3 * (i - 10) + 3, "largest of three", (size_t)i);
    series(h, SERIES_TOKENS_PER_S, ZOOM_MINUTE, MISSING, 40); /* 1.5 slots: 1 and half of 2, ... */
    assert_near(got[20], (1 + 0.5 * 2) / 1.5, "one and a half", 20);
    assert_near(got[21], (0.5 * 2 + 3) / 1.5, "one and a half", 21);
    series(h, SERIES_USERS, ZOOM_ALL, 40, 40); /* what is not yet known is missing */
    for (int i = 0; i < 40; i++) assert_near(got[i], i < 30 ? i + 1 : MISSING, "ahead", (size_t)i);
    history_free(h);
}

/* Back in time every ring answers as long as it remembers, then the next coarser one does. */
static void test_travel(void **state) {
    (void)state;
    struct history *h = seconds(1000);

    series(h, SERIES_USERS, ZOOM_MINUTE, 100, 60);
    for (int i = 0; i < 60; i++) assert_near(got[i], 41 + i, "minute in the past", (size_t)i);
    series(h, SERIES_USERS, ZOOM_MINUTE, 20, 60);
    for (int i = 0; i < 60; i++)
        assert_near(got[i], i < 40 ? MISSING : i - 39, "before the start", (size_t)i);
    series(h, SERIES_USERS, ZOOM_TEN, 700, 600);
    for (int i = 0; i < 600; i++) assert_near(got[i], 101 + i, "ten minutes in the past", (size_t)i);
    history_free(h);

    h = seconds(1800); /* 1200 intervals back the seconds are forgotten, pairs are left */
    series(h, SERIES_E2E_P95_MS, ZOOM_MINUTE, 100, 60);
    for (int i = 0; i < 60; i++) assert_near(got[i], 42 + i / 2 * 2, "pairs", (size_t)i);
    series(h, SERIES_TOKENS_PER_S, ZOOM_MINUTE, 100, 60);
    for (int i = 0; i < 60; i++) assert_near(got[i], 41.5 + i / 2 * 2, "means of pairs", (size_t)i);
    series(h, SERIES_E2E_P95_MS, ZOOM_MINUTE, MISSING, 60);
    for (int i = 0; i < 60; i++) assert_near(got[i], 1741 + i, "newest minute", (size_t)i);
    history_free(h);
}

static void test_long_intervals(void **state) {
    (void)state;
    struct history *h = history_new();

    for (int i = 1; i <= 8; i++) {
        struct snapshot *s = interval(90 * i, 90);

        s->interval.users = (uint64_t)i;
        s->interval.throughput_tok_s = i;
        history_add(h, s);
    }
    series(h, SERIES_USERS, ZOOM_MINUTE, MISSING, 240);
    for (int i = 0; i < 240; i++) assert_near(got[i], 8, "minute", (size_t)i);
    series(h, SERIES_USERS, ZOOM_TEN, MISSING, 600); /* from 120 on */
    for (int i = 0; i < 600; i++) assert_near(got[i], (120 + i) / 90 + 1, "ten", (size_t)i);
    series(h, SERIES_TOKENS_PER_S, ZOOM_ALL, MISSING, 4); /* 180 s each */
    for (int i = 0; i < 4; i++) assert_near(got[i], 2 * i + 1.5, "means", (size_t)i);
    history_free(h);
}

/* Ten milliseconds: five or so share a slot of the minute, and a straight line stays one. */
static void test_short_intervals(void **state) {
    (void)state;
    struct history *h = history_new();

    for (int i = 1; i <= 12000; i++) {
        struct snapshot *s = interval(i / 100.0, 0.01);

        s->interval.throughput_tok_s = i / 100.0;
        history_add(h, s);
    }
    series(h, SERIES_TOKENS_PER_S, ZOOM_MINUTE, MISSING, 300);
    for (int i = 0; i < 300; i++) assert_true(fabs((double)got[i] - (60.1 + 0.2 * i)) < 0.06);
    series(h, SERIES_TOKENS_PER_S, ZOOM_ALL, MISSING, 480);
    for (int i = 0; i < 480; i++) assert_true(fabs((double)got[i] - (0.125 + 0.25 * i)) < 0.13);
    history_free(h);

    h = history_new(); /* from 60 ms on each has a slot of its own in the minute */
    for (int i = 1; i <= 1500; i++) {
        struct snapshot *s = interval(i * 0.06, 0.06);

        s->interval.users = (uint64_t)i;
        history_add(h, s);
    }
    series(h, SERIES_USERS, ZOOM_MINUTE, MISSING, 1000);
    for (int i = 0; i < 1000; i++) assert_near(got[i], 501 + i, "60 ms", (size_t)i);
    history_free(h);
}

/* The ring for all against a model that keeps every sample. With 4800 s of one-second intervals it has
 * doubled to slots of 4 s (1200 slots), so parts of 16 s hold whole slots. */
static void test_doubling(void **state) {
    (void)state;
    enum { N = 4800, PARTS = 300, EACH = N / PARTS };
    static const int which[] = {SERIES_HIT_RATIO, SERIES_E2E_P95_MS, SERIES_QUEUE, SERIES_AVAILABLE};
    static double all[COUNT(which)][N];
    struct history *h = history_new();

    srand(4711);
    for (int i = 0; i < N; i++) {
        struct snapshot *s = interval(i + 1, 1);
        /* Now and then one is missing, and for a while most are, a whole part among them. */
        bool missing = rand() % 5 == 0 || (i >= 1600 && i < 1700 && i != 1650);

        all[0][i] = s->interval.reuse_hit_ratio = missing ? MISSING : rand() % 1000 / 1000.0;
        all[1][i] = s->interval.e2e_p95_ms = missing ? MISSING : rand() % 1000;
        all[2][i] = (double)(s->interval.queue_depth = (uint64_t)rand() % 40);
        all[3][i] = s->interval.host_available_bytes = missing ? MISSING : rand() % 1000;
        history_add(h, s);
    }
    for (size_t k = 0; k < COUNT(which); k++) {
        series(h, which[k], ZOOM_ALL, MISSING, PARTS);
        for (size_t p = 0; p < PARTS; p++) {
            double sum = 0, most = MISSING, last = MISSING;
            int count = 0;

            for (size_t i = p * EACH; i < (p + 1) * EACH; i++) {
                if (isnan(all[k][i])) continue;
                count++;
                sum += all[k][i];
                most = fmax(most, all[k][i]);
                last = all[k][i];
            }
            assert_near(got[p], k == 0 ? (count ? sum / count : MISSING) : k < 3 ? most : last, "part", p);
        }
    }
    history_free(h);
}

/* Any lengths, gaps and missing values: over the whole run the mean weighs by time, and nothing is lost
 * or counted twice. */
static void test_any_lengths(void **state) {
    (void)state;
    for (unsigned seed = 1; seed <= 12; seed++) {
        struct history *h = history_new();
        double t = 0, time = 0, area = 0, most = MISSING, last = MISSING;
        int n = 100 + 700 * (int)(seed % 6);

        srand(seed);
        for (int i = 0; i < n; i++) {
            double length = 0.01 * pow(seed % 3 == 0 ? 10 : 3000, rand() % 1000 / 1000.0);
            struct snapshot *s;

            if (rand() % 20 == 0) t += length; /* nobody looked */
            t += length;
            s = interval(t, length);
            if (rand() % 4) {
                last = s->interval.rss_bytes = s->interval.reuse_hit_ratio = s->interval.e2e_p95_ms =
                    rand() % 1000;
                time += length;
                area += length * last;
                most = fmax(most, last);
            }
            history_add(h, s);
        }
        series(h, SERIES_HIT_RATIO, ZOOM_ALL, MISSING, 1);
        assert_near(got[0], area / time, "mean", seed);
        series(h, SERIES_E2E_P95_MS, ZOOM_ALL, MISSING, 1);
        assert_near(got[0], most, "largest", seed);
        series(h, SERIES_RSS, ZOOM_ALL, MISSING, 1);
        assert_near(got[0], last, "last", seed);
        history_free(h);
    }
}

/* A day: in bounded memory, shown in full, and the newest minute still to the second. */
static void test_day(void **state) {
    (void)state;
    struct history *h = seconds(86400);

    assert_true(malloc_usable_size(h) < 8000000);    /* a few megabytes, as the manual says */
    series(h, SERIES_USERS, ZOOM_ALL, MISSING, 240); /* 360 s each */
    for (int i = 0; i < 240; i++) assert_true(fabs((double)got[i] - 360 * (i + 1)) <= 128);
    series(h, SERIES_TOKENS_PER_S, ZOOM_ALL, MISSING, 1);
    assert_near(got[0], 43200.5, "mean of the day", 0);
    series(h, SERIES_USERS, ZOOM_MINUTE, MISSING, 60);
    for (int i = 0; i < 60; i++) assert_near(got[i], 86341 + i, "minute", (size_t)i);
    series(h, SERIES_USERS, ZOOM_TEN, MISSING, 600);
    for (int i = 0; i < 600; i++) assert_near(got[i], 85801 + i, "ten", (size_t)i);
    history_free(h);
}

static void test_heat(void **state) {
    (void)state;
    struct history *h = history_new();
    static uint32_t counts[120 * SNAPSHOT_HEAT_BINS];
    uint64_t total = 0;

    for (int i = 0; i < 6; i++) {
        struct snapshot *s = interval(i + 1, 1);

        s->heat[0][10 + i] = 5;
        s->heat[1][0] = (uint32_t)i;
        s->heat[2][63] = 2000000000;
        history_add(h, s);
    }
    history_heat(h, 0, ZOOM_ALL, MISSING, 3, counts);
    for (size_t i = 0; i < 3 * SNAPSHOT_HEAT_BINS; i++) {
        size_t part = i / SNAPSHOT_HEAT_BINS, bin = i % SNAPSHOT_HEAT_BINS;

        assert_int_equal(counts[i], bin == 10 + 2 * part || bin == 11 + 2 * part ? 5 : 0);
    }
    history_heat(h, 1, ZOOM_ALL, MISSING, 2, counts);
    assert_int_equal(counts[0], 0 + 1 + 2);
    assert_int_equal(counts[SNAPSHOT_HEAT_BINS], 3 + 4 + 5);
    history_heat(h, 2, ZOOM_ALL, MISSING, 1, counts); /* more than fits stays at the most there is */
    assert_true(counts[63] == UINT32_MAX);
    history_heat(h, 0, ZOOM_MINUTE, 2, 120, counts); /* half seconds: the last four repeat, nothing before */
    for (size_t i = 0; i < COUNT(counts); i++) {
        size_t part = i / SNAPSHOT_HEAT_BINS, bin = i % SNAPSHOT_HEAT_BINS;

        assert_int_equal(counts[i], part >= 116 && bin == 10 + (part - 116) / 2 ? 5 : 0);
    }
    history_heat(h, SNAPSHOT_HEATS, ZOOM_ALL, MISSING, 1, counts);
    assert_int_equal(counts[63], 0);
    for (int i = 6; i < 5000; i++) { /* joined again and again, and nothing is lost */
        struct snapshot *s = interval(i + 1, 1);

        s->heat[0][i % 64] = 5;
        history_add(h, s);
    }
    history_heat(h, 0, ZOOM_ALL, MISSING, 100, counts);
    for (size_t i = 0; i < 100 * SNAPSHOT_HEAT_BINS; i++) total += counts[i];
    assert_int_equal(total, 5 * 5000);
    history_free(h);

    h = history_new(); /* nor moved: slots of 4 s, parts of 40 s, 75 s to a bin */
    for (int i = 0; i < 4800; i++) {
        struct snapshot *s = interval(i + 1, 1);

        s->heat[1][i / 75] = 1;
        history_add(h, s);
    }
    history_heat(h, 1, ZOOM_ALL, MISSING, 120, counts);
    for (size_t i = 0; i < 4800; i++) counts[i / 40 * SNAPSHOT_HEAT_BINS + i / 75]--;
    for (size_t i = 0; i < COUNT(counts); i++) assert_int_equal(counts[i], 0);
    history_free(h);
}

static void test_events_and_decisions(void **state) {
    (void)state;
    struct history *h = history_new();
    double t;

    for (int i = 0; i < 2500; i++) {
        struct record_event e = {.t_s = i};

        snprintf(e.message, sizeof e.message, "event %d", i);
        history_event(h, &e);
        if (i == 2) {
            assert_int_equal(history_events(h), 3);
            assert_string_equal(history_event_at(h, 0)->message, "event 0");
        }
    }
    assert_int_equal(history_events(h), HISTORY_EVENTS);
    assert_string_equal(history_event_at(h, 0)->message, "event 1500");
    assert_string_equal(history_event_at(h, 999)->message, "event 2499");
    assert_true(history_event_at(h, 999)->t_s == 2499);
    assert_null(history_event_at(h, 1000));
    for (int i = 0; i < 400; i++) {
        struct snapshot *s = interval(i + 1, 1);

        s->decisions = i % 2 ? 3 : 0;
        for (int k = 0; k < 3; k++) s->decision[k].users_after = (uint64_t)(i * 10 + k);
        history_add(h, s);
        if (i == 1) {
            assert_int_equal(history_decisions(h), 3);
            assert_int_equal(history_decision_at(h, 1, &t)->users_after, 11);
            assert_true(t == 2);
            assert_null(history_decision_at(h, 3, &t));
        }
    }
    assert_int_equal(history_decisions(h), HISTORY_DECISIONS); /* the newest of 600: from the 101st on */
    assert_int_equal(history_decision_at(h, 0, &t)->users_after, 67 * 10 + 1);
    assert_true(t == 68);
    assert_int_equal(history_decision_at(h, HISTORY_DECISIONS - 1, NULL)->users_after, 399 * 10 + 2);
    history_free(h);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_empty),
    cmocka_unit_test(test_fields),
    cmocka_unit_test(test_length_missing),
    cmocka_unit_test(test_overlap),
    cmocka_unit_test(test_left_out),
    cmocka_unit_test(test_spans),
    cmocka_unit_test(test_travel),
    cmocka_unit_test(test_long_intervals),
    cmocka_unit_test(test_short_intervals),
    cmocka_unit_test(test_doubling),
    cmocka_unit_test(test_any_lengths),
    cmocka_unit_test(test_day),
    cmocka_unit_test(test_heat),
    cmocka_unit_test(test_events_and_decisions),
};

int main(void) {
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("history", tests, NULL, NULL);
}
