/* Measuring tiers: the parts that do not depend on how fast this machine is. */
#include "tests/unit/cuda_fixture.h"

#include <math.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "scenario/load.h"
#include "study/calibrate/calibrate.h"
#include "study/calibrate/calibrate_pieces.h"
#include "study/calibrate/calibrate_rig.h"
#include "study/calibrate/calibrate_wakes.h"
#include "study/calibrate/calibration.h"

static struct scenario scenario;
static atomic_bool stop;

static int each_setup(void **state) {
    (void)state;
    fake_reset();
    cuda_api_choose(&fake_api);
    scenario_default(&scenario);
    scenario.tier[KVF_TIER_GPU].on = true;
    scenario.tier[KVF_TIER_GPU].backend = KVF_BACKEND_CUDA;
    scenario.engine.workers = 1; /* the devices of the fixture are one thread's */
    scenario.engine.staging_bytes = 16 << 20;
    scenario.engine.noise_bytes = 1 << 20;
    scenario.nvme.io_depth = 4;
    atomic_store(&stop, false);
    return 0;
}

static struct calibrate_setup setup_of(uint64_t bytes) {
    return (struct calibrate_setup){
        .scenario = &scenario, .bytes = bytes, .time_ns = 400 * KVF_NS_PER_MS, .stop = &stop};
}

/* Lets a call fail once the tier is open. */
static void fail_now(void *ctx, enum kvf_tier tier, const char *doing, double share) {
    (void)tier;
    if (!doing || strcmp(doing, "filling") != 0) return;
    assert_true(share == 0);
    fake.fail_name = ctx;
}

static void expect_curve(const struct calibrate_curve *c, uint64_t most, uint64_t entry_bytes) {
    assert_true(c->points >= 2 && c->depth[0] == 1);
    assert_int_equal(c->depth[c->points - 1], most);
    assert_int_equal(c->entry_bytes, entry_bytes);
    assert_true(c->latency_ns > 0);
    for (uint32_t p = 0; p < c->points; p++) {
        if (p) assert_true(c->depth[p] > c->depth[p - 1]);
        for (int d = 0; d < KVF_DIRS; d++) {
            const struct calibrate_rate *r = &c->rate[d][p];
            assert_true(r->low > 0 && r->low <= r->median && r->median <= r->high);
            assert_true(calibrate_beyond_latency(c, (enum kvf_dir)d, p) >= r->median);
        }
    }
}

static void expect_spread(const double slice[CALIBRATE_SLICES]) {
    double sum = 0;
    for (int i = 0; i < CALIBRATE_SLICES; i++) {
        sum += slice[i];
        if (i) assert_true(slice[i] >= slice[i - 1]);
    }
    assert_true(fabs(sum / CALIBRATE_SLICES - 1) < 1e-9);
}

/* Half of 32 MiB is a whole entry, half chunks of 1 MiB. */
static void a_device_is_measured_inside_and_over_its_link(void **state) {
    struct calibrate_setup setup = setup_of(32 << 20);
    struct calibrate_result r;
    struct err e = {0};
    (void)state;
    if (calibrate_tier(&setup, KVF_TIER_GPU, &r, &e) != 0) fail_msg("%s", e.text);
    expect_curve(&r.link, 4, 1 << 20); /* the depth */
    assert_int_equal(r.own.points, 1);
    assert_true(r.own.entry_bytes < 16 << 20 && r.own.entry_bytes > (16 << 20) - (128 << 10));
    assert_true(r.own.rate[KVF_DIR_READ][0].low > 0 && r.own.latency_ns > 0 && r.own.gap_ns > 0);
    assert_true(r.woken_latency >= 1 && r.woken_gap >= 1);
    expect_spread(r.own_spread);
    expect_spread(r.spread[KVF_DIR_READ]);
    expect_spread(r.spread[KVF_DIR_WRITE]);
    assert_true(r.both.median > 0);
    assert_true(r.first_write == 1);
    assert_non_null(strstr(r.description, "1 x Played GPU"));
    assert_true(fake.kernels > 8 && fake.copies > 8);
    fake_expect_nothing_left();
}

/* A device fast enough to be filled in whole: every chunk has its place in memory too, and comes out. */
static void every_chunk_of_a_device_has_room_beside_it(void **state) {
    struct rig *rig = NULL;
    struct err e = {0};
    uint64_t entry_bytes;
    (void)state;
    if (rig_open(&rig, &scenario, KVF_TIER_GPU, 160 << 20, &stop, &e) != 0) fail_msg("%s", e.text);
    for (int kind = RIG_WRITE; kind <= RIG_OUT; kind += RIG_OUT - RIG_WRITE) {
        struct rig_window w = {.kind = (enum rig_kind)kind,
                               .set = RIG_CHUNKS,
                               .depth = 4,
                               .once = true,
                               .ns = 60 * KVF_NS_PER_S};
        if (rig_run(rig, &w, &e) != 0) fail_msg("%s", e.text);
        assert_int_equal(w.bytes, 79 << 20);
    }
    assert_int_equal(rig_entries(rig, RIG_CHUNKS, &entry_bytes), 79);
    rig_close(rig);
    fake_expect_nothing_left();
}

static void memory_has_no_more_chunks_under_way_than_workers(void **state) {
    struct calibrate_setup setup = setup_of(32 << 20);
    struct calibrate_result r;
    struct err e = {0};
    (void)state;
    scenario.engine.workers = 2;
    assert_int_equal(calibrate_tier(&setup, KVF_TIER_CPU, &r, &e), 0);
    expect_curve(&r.link, 2, 1 << 20);
    expect_spread(r.spread[KVF_DIR_READ]);
    assert_int_equal(r.own.points, 0);
    assert_in_range(r.filled_bytes, 2 * ((1 << 20) + 4096),
                    (30 << 20) + 2 * 4096); /* as far as the time went */
}

static struct rig_window window_run(struct rig *rig, struct rig_window w) {
    struct err e = {0};
    w.set = RIG_CHUNKS;
    w.ns = w.once ? 60 * KVF_NS_PER_S : 20 * KVF_NS_PER_MS;
    if (rig_run(rig, &w, &e) != 0) fail_msg("%s", e.text);
    return w;
}

/* Processor time of other programs is no time of the memory: a window takes longer than its copies. */
static void copies_are_timed_by_the_processor(void **state) {
    struct rig *rig = NULL;
    struct err e = {0};
    struct histogram times[KVF_DIRS];
    (void)state;
    for (int d = 0; d < KVF_DIRS; d++) histogram_init(&times[d]);
    assert_int_equal(rig_open(&rig, &scenario, KVF_TIER_CPU, 16 << 20, &stop, &e), 0);
    struct rig_window plain =
        window_run(rig, (struct rig_window){.kind = RIG_WRITE, .depth = 1, .once = true});
    assert_true(fabs(plain.bytes_s * plain.seconds / (double)plain.bytes - 1) < 1e-9);
    struct rig_window own = window_run(
        rig, (struct rig_window){
                 .kind = RIG_WRITE, .depth = 1, .once = true, .by_processor = true, .times = times});
    assert_int_equal(own.bytes, 15 << 20);
    assert_true(own.bytes_s * own.seconds > (double)own.bytes);
    assert_int_equal(histogram_count(&times[KVF_DIR_WRITE]), 15);
    assert_true(histogram_mean(&times[KVF_DIR_WRITE]) * 15 / 1e9 <= own.seconds);
    rig_close(rig);
}

/* As a cache that is full: new entries of many sizes, the oldest go, and never more than there was at first.
 * What is there is what was written. */
static void recycled_entries_have_other_sizes_and_their_bytes(void **state) {
    struct rig *rig = NULL;
    struct err e = {0};
    (void)state;
    scenario.cache.verify = KVF_VERIFY_FULL;
    assert_int_equal(rig_open(&rig, &scenario, KVF_TIER_CPU, 16 << 20, &stop, &e), 0);
    window_run(rig, (struct rig_window){.kind = RIG_WRITE, .depth = 1, .once = true});
    assert_int_equal(rig_filled_bytes(rig), 15 << 20);
    for (int i = 0; i < 12; i++) {
        struct rig_window w = window_run(
            rig, (struct rig_window){.kind = i % 2 ? RIG_MIXED : RIG_WRITE, .depth = 3, .recycle = true});
        assert_true(w.bytes > 0 && w.bytes % 4096 == 0);
        assert_in_range(rig_filled_bytes(rig), 12 << 20, 15 << 20);
    }
    window_run(rig, (struct rig_window){.kind = RIG_READ, .depth = 2});
    rig_close(rig);
}

static int drive_setup(void **state) {
    const char *tmp = getenv("TMPDIR");
    each_setup(state);
    snprintf(scenario.nvme.path[0], SCENARIO_PATH, "%s/kvf-test-XXXXXX",
             tmp && tmp[0] == '/' ? tmp : "/var/tmp");
    scenario.nvme.path_count = 1;
    scenario.nvme.io_size = 64 << 10;
    return mkdtemp(scenario.nvme.path[0]) ? 0 : -1;
}

static int drive_teardown(void **state) {
    (void)state;
    return rmdir(scenario.nvme.path[0]); /* nothing is left in it */
}

/* Each write says how long it held its worker; what falls from memory, how long it was copied. */
static void writes_to_a_drive_are_taken_apart(void **state) {
    struct rig *rig = NULL;
    struct err e = {0};
    struct histogram begins, copies, times[KVF_DIRS];
    (void)state;
    histogram_init(&begins);
    histogram_init(&copies);
    for (int d = 0; d < KVF_DIRS; d++) histogram_init(&times[d]);
    scenario.cache.verify = KVF_VERIFY_FULL;
    if (rig_open(&rig, &scenario, KVF_TIER_NVME, 64 << 20, &stop, &e) != 0) fail_msg("%s", e.text);
    struct rig_window w = {.kind = RIG_WRITE,
                           .set = RIG_WHOLES,
                           .depth = 1,
                           .once = true,
                           .begins = &begins,
                           .times = times,
                           .ns = KVF_NS_PER_MS};
    if (rig_run(rig, &w, &e) != 0) fail_msg("%s", e.text);
    uint64_t alone = histogram_count(&begins);
    assert_true(alone > 0 &&
                w.chunks_beside == 0); /* one at a time: nothing is at the drive when it begins */
    w.on = true;
    w.depth = 4;
    w.ns = 60 * KVF_NS_PER_S;
    if (rig_run(rig, &w, &e) != 0) fail_msg("%s", e.text);
    assert_int_equal(histogram_count(&begins), 31); /* about half of 64 MiB is whole entries, of 16 chunks */
    assert_int_equal(histogram_count(&times[KVF_DIR_WRITE]), 31);
    assert_int_equal(w.bytes, (31 - alone) << 20);
    for (int round = 0; round < 2; round++) {
        struct rig_window out = {.kind = RIG_OUT, .set = RIG_WHOLES, .depth = 2, .once = true, .ns = w.ns};
        struct rig_window in = {.kind = RIG_IN, .set = RIG_WHOLES, .depth = 2, .copies = &copies, .ns = 1};
        struct rig_window over = {.kind = RIG_MIXED, .set = RIG_WHOLES, .depth = 4, .recycle = true, .ns = 1};
        if (rig_run(rig, &out, &e) != 0 || rig_run(rig, &in, &e) != 0) fail_msg("%s", e.text);
        assert_true(out.bytes > 0 && in.bytes > 0);
        assert_true(histogram_count(&copies) > 0 && histogram_min(&copies) > 0);
        if (rig_run(rig, &over, &e) != 0) fail_msg("%s", e.text);
    }
    rig_close(rig);
}

static void a_worker_rests_before_each_operation(void **state) {
    struct rig *rig = NULL;
    struct err e = {0};
    (void)state;
    assert_int_equal(rig_open(&rig, &scenario, KVF_TIER_CPU, 16 << 20, &stop, &e), 0);
    struct rig_window w = window_run(
        rig, (struct rig_window){.kind = RIG_WRITE, .depth = 1, .once = true, .rest_ns = 2 * KVF_NS_PER_MS});
    assert_int_equal(w.bytes, 15 << 20);
    assert_true(w.seconds >= 15 * 0.002);
    rig_close(rig);
}

static void times_init(struct histogram times[KVF_DIRS], struct histogram rested[KVF_DIRS]) {
    for (int d = 0; d < KVF_DIRS; d++) {
        histogram_init(&times[d]);
        histogram_init(&rested[d]);
    }
}

/* Four of 15 in a burst: three rests of one between them. */
static void a_burst_ends_before_the_next_begins(void **state) {
    struct rig *rig = NULL;
    struct err e = {0};
    struct histogram times[KVF_DIRS], rested[KVF_DIRS];
    (void)state;
    times_init(times, rested);
    assert_int_equal(rig_open(&rig, &scenario, KVF_TIER_CPU, 16 << 20, &stop, &e), 0);
    struct rig_window w = window_run(rig, (struct rig_window){.kind = RIG_WRITE,
                                                              .depth = 4,
                                                              .alone = true,
                                                              .bursts = true,
                                                              .once = true,
                                                              .rest_ns = 2 * KVF_NS_PER_MS,
                                                              .slow_ns = UINT64_MAX,
                                                              .times = times,
                                                              .rested = rested});
    assert_int_equal(w.bytes, 15 << 20);
    assert_int_equal(histogram_count(&rested[KVF_DIR_WRITE]), 15); /* the first too: it rests before it */
    assert_true(w.seconds >= 4 * 0.002);
    rig_close(rig);
}

static uint64_t processor_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * KVF_NS_PER_S + (uint64_t)t.tv_nsec;
}

/* A worker that has nothing to do in a window is not in the way of those that have. */
static void workers_without_a_part_sleep(void **state) {
    struct rig *rig = NULL;
    struct err e = {0};
    (void)state;
    scenario.engine.workers = 4;
    assert_int_equal(rig_open(&rig, &scenario, KVF_TIER_CPU, 16 << 20, &stop, &e), 0);
    window_run(rig, (struct rig_window){.kind = RIG_WRITE, .depth = 4, .once = true});
    uint64_t before_ns = processor_ns();
    struct rig_window w = window_run(rig, (struct rig_window){.kind = RIG_READ,
                                                              .depth = 1,
                                                              .alone = true,
                                                              .ns = 100 * KVF_NS_PER_MS,
                                                              .rest_ns = 50 * KVF_NS_PER_MS});
    assert_true(w.bytes > 0);
    /* four that look for work all the time would take as long as there are processors for */
    assert_true(processor_ns() - before_ns < 60 * KVF_NS_PER_MS);
    rig_close(rig);
}

/* However long the machine has been up: neither a rest nor an operation after one. */
static void a_worker_rests_only_after_its_work(void **state) {
    struct rig *rig = NULL;
    struct err e = {0};
    struct histogram times[KVF_DIRS], rested[KVF_DIRS];
    (void)state;
    times_init(times, rested);
    assert_int_equal(rig_open(&rig, &scenario, KVF_TIER_CPU, 16 << 20, &stop, &e), 0);
    struct rig_window w = {.kind = RIG_WRITE,
                           .depth = 1,
                           .once = true,
                           .rest_ns = 1000 * KVF_NS_PER_S,
                           .work_ns = clock_now_ns() / 2, /* since the machine began */
                           .slow_ns = 2 * clock_now_ns(),
                           .times = times,
                           .rested = rested};
    assert_int_equal(window_run(rig, w).bytes, 15 << 20);
    assert_int_equal(histogram_count(&times[KVF_DIR_WRITE]), 15);
    assert_int_equal(histogram_count(&rested[KVF_DIR_WRITE]), 0);
    w.work_ns = 0;
    w.rest_ns = 1;
    assert_int_equal(window_run(rig, w).bytes, 15 << 20);
    assert_int_equal(histogram_count(&times[KVF_DIR_WRITE]), 15);
    assert_int_equal(histogram_count(&rested[KVF_DIR_WRITE]), 15);
    rig_close(rig);
}

static void rests_of_a_worker_are_measured_in_memory(void **state) {
    struct calibrate_setup setup = setup_of(24 << 20);
    struct calibrate_result r;
    struct err e = {0};
    (void)state;
    setup.time_ns = 3 * KVF_NS_PER_S; /* so that each window has rests in it */
    if (calibrate_tier(&setup, KVF_TIER_CPU, &r, &e) != 0) fail_msg("%s", e.text);
    for (int d = 0; d < KVF_DIRS; d++) assert_true(r.rested[d] > 0 && r.rested[d] != 1);
    /* a quarter of 24 MiB has room for one distance */
    assert_int_equal(r.distances, 1);
    assert_int_equal(r.distance[0], 4 << 20);
    assert_true(r.reuse[0] > 0 && r.reuse[0] != 1);
}

/* Three of eight in turn, and then all. */
static void a_few_entries_are_taken_again_and_again(void **state) {
    struct piece piece[8] = {{.made = false}};
    struct pieces set = {.piece = piece, .made = 8, .among = 3};
    (void)state;
    for (int i = 0; i < 8; i++) piece[i].made = true;
    for (int i = 0; i < 7; i++) assert_ptr_equal(pieces_take(&set, false), &piece[i % 3]);
    piece[1].busy = true;
    assert_ptr_equal(pieces_take(&set, false), &piece[2]);
    set.among = 0;
    set.next = 3;
    assert_ptr_equal(pieces_take(&set, false), &piece[3]);
}

static void threads_wake_late_but_at_all(void **state) {
    struct calibrate_wakes w;
    atomic_bool at_once = true;
    struct err e = {0};
    (void)state;
    if (calibrate_wakes(&w, &stop, &e) != 0) fail_msg("%s", e.text);
    assert_true(w.timer_ns > 0 && w.wake_ns > 0);
    expect_spread(w.timer_spread);
    expect_spread(w.wake_spread);
    assert_int_equal(calibrate_wakes(&w, &at_once, &e), -KVF_ERR_CANCELLED);
}

/* Each figure is that of its own middle round, and its slices go with it. */
static void of_rounds_the_middle_counts(void **state) {
    struct calibrate_wakes round[3] =
        {{.timer_ns = 50, .wake_ns = 7, .timer_spread = {0.5}, .wake_spread = {0.7}},
         {.timer_ns = 900, .wake_ns = 8, .timer_spread = {0.9}, .wake_spread = {0.8}},
         {.timer_ns = 40, .wake_ns = 600, .timer_spread = {0.4}, .wake_spread = {0.6}}},
                           got;
    (void)state;
    calibrate_wakes_middle(round, 3, &got);
    assert_true(got.timer_ns == 50 && got.timer_spread[0] == 0.5);
    assert_true(got.wake_ns == 8 && got.wake_spread[0] == 0.8);
    calibrate_wakes_middle(round, 1, &got);
    assert_true(got.timer_ns == round[0].timer_ns && got.wake_ns == round[0].wake_ns);
}

static void expect_times(const double slice[CALIBRATE_SLICES], bool ascend) {
    for (int i = 0; i < CALIBRATE_SLICES; i++) {
        assert_true(slice[i] >= 0);
        if (i && ascend) assert_true(slice[i] >= slice[i - 1]);
    }
}

static void a_drive_is_measured_as_a_run_uses_it(void **state) {
    struct calibrate_setup setup = setup_of(64 << 20);
    struct calibrate_result r;
    struct err e = {0};
    (void)state;
    if (calibrate_tier(&setup, KVF_TIER_NVME, &r, &e) != 0) fail_msg("%s", e.text);
    expect_curve(&r.link, 4, 64 << 10);
    for (int room = 0; room < CALIBRATE_ROOMS; room++) {
        expect_times(r.begin_ns[room], true);
        expect_times(r.behind_ns[room], false);
        assert_true(r.begin_ns[room][CALIBRATE_SLICES - 1] > 0);
    }
    assert_true(r.staging_bytes_s > 0 && r.first_write > 0);
    for (int d = 0; d < KVF_DIRS; d++) assert_true(r.rested[d] > 0);
}

static void what_cannot_be_measured_says_why(void **state) {
    static const struct {
        const char *call, *says;
    } cases[] = {{"fake_stream_new", "failed: unknown error (CUDA error 999)"},
                 {"fake_generate", "on device 0 (Played GPU) failed: unknown error"},
                 {"fake_checksum", "on device 0 (Played GPU) failed: unknown error"},
                 {"fake_event_record", "the gpu tier cannot be measured"},
                 {"fake_event_query", "the gpu tier cannot be measured"}};
    struct calibrate_setup setup = setup_of(8 << 20);
    struct calibrate_result r;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = {0};
        each_setup(NULL);
        setup.progress = strcmp(cases[i].call, "fake_stream_new") == 0 ? NULL : fail_now;
        setup.ctx = (void *)(uintptr_t)cases[i].call;
        if (!setup.progress) fake.fail_name = cases[i].call;
        assert_true(calibrate_tier(&setup, KVF_TIER_GPU, &r, &e) < 0);
        if (!strstr(e.text, cases[i].says)) fail_msg("%s: %s", cases[i].call, e.text);
        fake_expect_nothing_left();
    }
    struct err e = {0};
    each_setup(NULL);
    setup.progress = NULL;
    fake.memory_bytes[0] = 256 << 20; /* what is left to the driver */
    assert_int_equal(calibrate_tier(&setup, KVF_TIER_GPU, &r, &e), -KVF_ERR_NOSPACE);
    err_clear(&e);
    each_setup(NULL);
    scenario.tier[KVF_TIER_GPU].backend = KVF_BACKEND_EMULATED;
    assert_int_equal(calibrate_tier(&setup, KVF_TIER_GPU, &r, &e), -KVF_ERR_UNAVAILABLE);
    assert_string_equal(e.text, "the gpu tier is emulated here");
    err_clear(&e);
    atomic_store(&stop, true);
    assert_int_equal(calibrate_tier(&setup, KVF_TIER_CPU, &r, &e), -KVF_ERR_CANCELLED);
}

/* No time at all: one operation of each kind, and figures. */
static void something_is_measured_however_late_it_is(void **state) {
    struct calibrate_setup setup = setup_of(8 << 20);
    struct calibrate_result r;
    struct err e = {0};
    (void)state;
    scenario.engine.workers = 2;
    setup.time_ns = 0;
    assert_int_equal(calibrate_tier(&setup, KVF_TIER_CPU, &r, &e), 0);
    expect_curve(&r.link, 2, 1 << 20);
    assert_int_equal(r.filled_bytes, 2 * ((1 << 20) + 4096)); /* of each worker */
}

static struct calibrate_curve curve_of(double read, double write, double latency_ns) {
    struct calibrate_curve c = {
        .points = 2, .depth = {1, 8}, .entry_bytes = 1000000, .latency_ns = latency_ns};
    for (int p = 0; p < 2; p++) {
        c.rate[KVF_DIR_READ][p] = (struct calibrate_rate){read * (p + 1), read * 0.9, read * 2.1};
        c.rate[KVF_DIR_WRITE][p] = (struct calibrate_rate){write * (p + 1), write, write * 2};
    }
    return c;
}

static const struct calibration_adjust as_measured = {.times = {1, 1}, .spread = {1, 1}, .lookup = 1};

static void what_is_written_is_what_a_scenario_reads(void **state) {
    struct calibrate_result gpu = {.link = curve_of(27.7e9, 27.3e9, 8432),
                                   .own = curve_of(2.0617e12, 1.95e12, 5000),
                                   .both = {83e9, 80e9, 84e9},
                                   .first_write = 1,
                                   .rested = {1, 1},
                                   .description = "cuda: 1 x Played\nGPU"};
    struct calibrate_result nvme = {.link = curve_of(1e9, 5e8, 200e3),
                                    .both = {1.2e9, 1e9, 1.3e9},
                                    .drive = true,
                                    .first_write = 1.25,
                                    .rested = {1.5, 2},
                                    .stalls = {.every_ns = 2.5e9, .count = 2, .ns = {120.5e6, 1.5e9}},
                                    .begin_depth = {14.5, 9.25},
                                    .staging_bytes_s = 8.5e9};
    struct calibrate_result cpu = {.link = curve_of(1e10, 8e9, 500),
                                   .both = {1e10, 1e10, 1e10},
                                   .rested = {1, 1},
                                   .distances = 2,
                                   .distance = {6 << 20, 12 << 20},
                                   .reuse = {2.5, 1.125}};
    struct calibrate_result remote = {
        .link = curve_of(2e9, 1e9, 200e3), .both = {1e9, 1e9, 1e9}, .rested = {1, 1}};
    struct scenario_report report = {0};
    struct buf yaml = {0};
    (void)state;
    remote.link.lookup_ns = 90e3;
    remote.link.lookup_behind_ns = 12.3;
    remote.worker_ns[KVF_DIR_READ] = 210e3;
    remote.worker_ns[KVF_DIR_WRITE] = 65e3;
    remote.serving = 0.75;
    remote.processors = 4;
    gpu.own.gap_ns = 2500;
    gpu.woken_latency = 2.5;
    gpu.woken_gap = 1.25;
    for (int i = 0; i < CALIBRATE_SLICES; i++)
        gpu.own_spread[i] = gpu.spread[0][i] = gpu.spread[1][i] = nvme.spread[0][i] = nvme.spread[1][i] =
            cpu.spread[0][i] = cpu.spread[1][i] = remote.spread[0][i] = remote.spread[1][i] = 0.5 + i / 39.0;
    for (int i = 0; i < CALIBRATE_SLICES; i++) {
        nvme.begin_ns[CALIBRATE_AGAIN][i] = 1e3 * (i + 1);
        nvme.behind_ns[CALIBRATE_AGAIN][i] = 500;
        nvme.begin_ns[CALIBRATE_FIRST][i] = 2e6;
    }
    buf_add(&yaml, "model: tiny-1b\nmode: simulate\ntiers:\n");
    calibration_yaml(KVF_TIER_GPU, &gpu, &as_measured, &yaml);
    assert_non_null(strstr(yaml.data, "of device memory itself"));
    size_t len = yaml.len;
    calibration_yaml(KVF_TIER_CPU, &cpu, &as_measured, &yaml);
    calibration_yaml(KVF_TIER_NVME, &nvme, &as_measured, &yaml);
    assert_null(strstr(yaml.data + len, "device memory"));
    calibration_yaml(KVF_TIER_REMOTE, &remote, &as_measured, &yaml);
    int rc = scenario_load(NULL, yaml.data, NULL, 0, &scenario, NULL, &report);
    if (rc) fail_msg("%s\n%s", yaml.data, buf_text(&report.errors));
    assert_int_equal(scenario.tier[KVF_TIER_GPU].peak_bytes_per_s[KVF_DIR_READ], 4123400 * UINT64_C(1000000));
    const struct scenario_emulation *link = &scenario.tier[KVF_TIER_GPU].emulation;
    assert_int_equal(link->read_bytes_per_s, 55400 * UINT64_C(1000000));
    assert_int_equal(link->write_bytes_per_s, 54600 * UINT64_C(1000000));
    assert_int_equal(link->both_bytes_per_s, 83000 * UINT64_C(1000000));
    assert_int_equal(link->latency_ns, 8430);
    assert_int_equal(link->channels, 2);
    assert_int_equal(link->duplex, KVF_DUPLEX_FULL);
    assert_int_equal(scenario.tier[KVF_TIER_NVME].emulation.duplex, KVF_DUPLEX_HALF);
    const struct scenario_service *service = &scenario.tier[KVF_TIER_NVME].service;
    assert_int_equal(service->depths.count, 2);
    assert_true(service->depths.v[1] == 8);
    assert_true(service->rates[KVF_DIR_READ].v[0] == 1250);    /* 1 MB in 1 ms, 0.2 ms of it latency */
    assert_true(service->rates[KVF_DIR_WRITE].v[0] == 555.56); /* in 2 ms */
    assert_int_equal(service->spread[KVF_DIR_READ].count, CALIBRATE_SLICES);
    assert_true(service->first_write == 1.25);
    assert_true(service->rested[KVF_DIR_READ] == 1.5 && service->rested[KVF_DIR_WRITE] == 2);
    assert_true(service->staging_mb_per_s == 8500);
    for (int room = 0; room < CALIBRATE_ROOMS; room++) {
        assert_int_equal(service->begins[room].us.count, CALIBRATE_SLICES);
        assert_int_equal(service->begins[room].behind_us.count, CALIBRATE_SLICES);
    }
    assert_true(service->begins[0].depth == 14.5 && service->begins[1].depth == 9.25);
    assert_int_equal(service->stalls_ms.count, 2);
    assert_true(service->stalls_ms.v[0] == 120.5 && service->stalls_ms.v[1] == 1500);
    assert_int_equal(service->stall_every_ns, 2500 * KVF_NS_PER_MS);
    assert_true(service->begins[0].us.v[7] == 8 && service->begins[0].behind_us.v[7] == 0.5);
    assert_true(service->begins[1].us.v[7] == 2000 && service->begins[1].behind_us.v[7] == 0);
    assert_true(fabs(service->windows_apart - 1.2) < 1e-9); /* of one chunk's reads */
    assert_int_equal(service->own_rates[KVF_DIR_READ].count, 0);
    service = &scenario.tier[KVF_TIER_GPU].service;
    assert_int_equal(service->own_rates[KVF_DIR_READ].count, 2);
    assert_int_equal(service->own_latency_ns, 5000);
    assert_int_equal(service->own_gap_ns, 2500);
    assert_int_equal(service->own_latency_spread.count, CALIBRATE_SLICES);
    assert_true(service->own_latency_spread.v[39] == 1.5);
    assert_true(service->woken_latency == 2.5 && service->woken_gap == 1.25);
    service = &scenario.tier[KVF_TIER_REMOTE].service;
    assert_int_equal(service->depths.count, 2);
    assert_int_equal(service->lookup_ns, 90000);
    assert_int_equal(service->lookup_behind_ns, 12);
    assert_int_equal(service->worker_us.count, KVF_DIRS);
    assert_true(service->processors.count == 2 && service->processors.v[0] == 0.75 &&
                service->processors.v[1] == 4);
    assert_true(service->worker_us.v[KVF_DIR_READ] == 210 && service->worker_us.v[KVF_DIR_WRITE] == 65);
    assert_int_equal(service->spread[KVF_DIR_WRITE].count, CALIBRATE_SLICES);
    service = &scenario.tier[KVF_TIER_CPU].service;
    assert_int_equal(service->reuse_distances.count, 2);
    assert_true(service->reuse_distances.v[0] == 6 && service->reuse_distances.v[1] == 12);
    assert_true(service->reuse_rates.v[0] == 2.5 && service->reuse_rates.v[1] == 1.12);
    scenario_load_free(&report);
    buf_free(&yaml);
}

/* A run's stalls stand in the place of those of windows, also where it had none. */
static void the_stalls_of_a_run_are_taken(void **state) {
    struct calibrate_result nvme = {.link = curve_of(1e9, 5e8, 200e3),
                                    .both = {1.2e9, 1e9, 1.3e9},
                                    .drive = true,
                                    .first_write = 1,
                                    .rested = {1, 1},
                                    .stalls = {.every_ns = 2.5e9, .count = 1, .ns = {120e6}}};
    struct calibration_adjust adjust = as_measured;
    (void)state;
    for (int run = 0; run < 2; run++) {
        struct buf yaml = {0};
        adjust.stalls_known = true;
        if (run == 1) adjust.stalls = (struct calibrate_stalls){7e9, 1, {250e6}};
        calibration_yaml(KVF_TIER_NVME, &nvme, &adjust, &yaml);
        assert_null(strstr(yaml.data, "stalls: [120]"));
        assert_true((strstr(yaml.data, "stalls: [250]\n    stall_every: 7000000us\n") != NULL) == (run == 1));
        assert_true((strstr(yaml.data, "stall") != NULL) == (run == 1));
        buf_free(&yaml);
    }
}

/* Of a few stalls each, of many a sample: with the number and the time of all of them. */
static void stalls_keep_their_number_and_their_time(void **state) {
    static const struct usage_sums none = {.any_ns = 1}, uses[] = {{.stalls = {1}},
                                                                   {.stalls = {0, 0, 1}},
                                                                   {.stalls = {3, 0, 2, 1}},
                                                                   {.stalls = {39, 1}},
                                                                   {.stalls = {400, 20, 3, 0, 0, 0, 1}}};
    struct calibrate_stalls out;
    (void)state;
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        struct usage_sums use = uses[i];
        double count = 0, sum_ns = 0;
        for (int k = 0; k < USAGE_STALL_LENGTHS; k++) {
            use.stall_ns[k] = use.stalls[k] * (150 * KVF_NS_PER_MS << k);
            count += (double)use.stalls[k];
        }
        double all_ns = (double)usage_stall_ns(&use);
        use.any_ns = usage_stall_ns(&use) + 600 * KVF_NS_PER_S;
        calibrate_stalls(&use, &out);
        assert_true(out.count == fmin(count, CALIBRATE_STALLS));
        assert_true(fabs(out.every_ns * count / 600e9 - 1) < 1e-9);
        for (uint32_t k = 0; k < out.count; k++) {
            sum_ns += out.ns[k];
            assert_true(k == 0 || out.ns[k] >= out.ns[k - 1]);
        }
        assert_true(fabs(sum_ns / out.count / (all_ns / count) - 1) < 1e-9);
        if (count <= CALIBRATE_STALLS) assert_true(fabs(out.ns[0] / 150e6 - (use.stalls[0] ? 1 : 4)) < 1e-9);
    }
    calibrate_stalls(&none, &out);
    assert_int_equal(out.count, 0);
    assert_true(out.every_ns == 0);
}

static void figures_that_do_not_belong_together_are_refused(void **state) {
    static const char *const bad[][2] = {
        {"cpu: {capacity: 1GiB, depths: [1, 8], read_rates: [5, 6], write_rates: [7]}",
         "tiers.cpu.write_rates: needs a figure for each of 2 depths, and has 1"},
        {"cpu: {capacity: 1GiB, depths: [8, 8], read_rates: [5, 6], write_rates: [7, 7]}",
         "tiers.cpu.depths: must ascend, and 8 follows 8"},
        {"cpu: {capacity: 1GiB, reuse_distances: [4, 2], reuse_rates: [2, 1]}",
         "tiers.cpu.reuse_distances: must ascend, and 2 follows 4"},
        {"cpu: {capacity: 1GiB, reuse_distances: [4, 8], reuse_rates: [2]}",
         "tiers.cpu.reuse_rates: needs a figure for each of 2 distances, and has 1"},
        {"nvme: {capacity: 1GiB, interference: [1]}",
         "tiers.nvme.interference: needs two figures, for reads and for writes, and has 1"},
        {"nvme: {capacity: 1GiB, stalls: [150, 300]}",
         "tiers.nvme.stalls: and stall_every belong together; set both, or neither"},
        {"remote: {capacity: 1GiB, worker_time: [1, 2, 3]}",
         "tiers.remote.worker_time: needs two figures, for reads and for writes, and has 3"},
        {"remote: {capacity: 1GiB, processors: [1, 0.5]}",
         "tiers.remote.processors: needs two figures, how many the tier keeps busy and how many there are, at least 1"},
        {"cpu: {capacity: 1GiB, reuse_rates: [2]}",
         "tiers.cpu.reuse_rates: needs a figure for each of 0 distances, and has 1"}};
    char yaml[256];
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct scenario_report report = {0};
        snprintf(yaml, sizeof yaml, "model: tiny-1b\nmode: simulate\ntiers: {%s}\n", bad[i][0]);
        assert_int_not_equal(scenario_load(NULL, yaml, NULL, 0, &scenario, NULL, &report), 0);
        if (!strstr(buf_text(&report.errors), bad[i][1]))
            fail_msg("%s: %s", bad[i][0], buf_text(&report.errors));
        scenario_load_free(&report);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_device_is_measured_inside_and_over_its_link, each_setup),
        cmocka_unit_test_setup(every_chunk_of_a_device_has_room_beside_it, each_setup),
        cmocka_unit_test_setup(memory_has_no_more_chunks_under_way_than_workers, each_setup),
        cmocka_unit_test_setup(copies_are_timed_by_the_processor, each_setup),
        cmocka_unit_test_setup(recycled_entries_have_other_sizes_and_their_bytes, each_setup),
        cmocka_unit_test_setup_teardown(writes_to_a_drive_are_taken_apart, drive_setup, drive_teardown),
        cmocka_unit_test_setup(a_worker_rests_before_each_operation, each_setup),
        cmocka_unit_test_setup(a_worker_rests_only_after_its_work, each_setup),
        cmocka_unit_test_setup(a_burst_ends_before_the_next_begins, each_setup),
        cmocka_unit_test_setup(workers_without_a_part_sleep, each_setup),
        cmocka_unit_test_setup(rests_of_a_worker_are_measured_in_memory, each_setup),
        cmocka_unit_test_setup(a_few_entries_are_taken_again_and_again, each_setup),
        cmocka_unit_test_setup(threads_wake_late_but_at_all, each_setup),
        cmocka_unit_test(of_rounds_the_middle_counts),
        cmocka_unit_test_setup_teardown(a_drive_is_measured_as_a_run_uses_it, drive_setup, drive_teardown),
        cmocka_unit_test_setup(what_cannot_be_measured_says_why, each_setup),
        cmocka_unit_test_setup(something_is_measured_however_late_it_is, each_setup),
        cmocka_unit_test_setup(what_is_written_is_what_a_scenario_reads, each_setup),
        cmocka_unit_test(the_stalls_of_a_run_are_taken),
        cmocka_unit_test(stalls_keep_their_number_and_their_time),
        cmocka_unit_test_setup(figures_that_do_not_belong_together_are_refused, each_setup),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("calibrate", tests, NULL, NULL);
}
