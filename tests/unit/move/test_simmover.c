#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "engine/move/crew.h"
#include "engine/move/crew_reuse.h"
#include "engine/move/simmover.h"

/* When operations of a simulated run begin and end, worked out by hand. A byte takes a nanosecond of every
 * tier unless a test says otherwise, the latency is 100 ns, a chunk has 1,000 bytes. */

enum {
    GPU = KVF_TIER_GPU,
    CPU = KVF_TIER_CPU,
    NVME = KVF_TIER_NVME,
    REMOTE = KVF_TIER_REMOTE,
    READ = KVF_DIR_READ,
    WRITE = KVF_DIR_WRITE
};
enum { IO = 1000, LATENCY = 100, OPS = 16 };
#define GB UINT64_C(1000000000)

struct rig {
    struct scenario s;
    struct run_clock clock;
    struct tier *tiers[KVF_TIERS];
    struct counters *counters;
    struct usage usage[USAGES];
    struct simmover *m;
    struct cache_op op[OPS];
    uint64_t zero_ns;
    uint64_t end_ns[OPS]; /* since zero; 0: not yet */
    struct transfer as[OPS];
    bool abandoned[OPS];
    unsigned ops, order[OPS], ends;
};
static struct rig *r;

static void op_ended(void *ctx, const struct transfer *t, bool abandoned, const char *what) {
    (void)ctx;
    assert_string_equal(what, "");
    long i = t->op - r->op;
    assert_true(i >= 0 && i < OPS && r->end_ns[i] == 0);
    r->end_ns[i] = run_clock_now(&r->clock) - r->zero_ns;
    r->as[i] = *t;
    r->abandoned[i] = abandoned;
    r->order[r->ends++] = (unsigned)i;
}

static void speed_set(int tier, uint64_t read, uint64_t write, uint64_t channels) {
    r->s.tier[tier].emulation =
        (struct scenario_emulation){read, write, LATENCY, channels, KVF_DUPLEX_HALF, KVF_UNSET};
}

static struct simmover *mover_of_rig(uint32_t buffers) {
    struct mover_setup setup = {.scenario = &r->s,
                                .clock = &r->clock,
                                .tiers = r->tiers,
                                .counters = r->counters,
                                .usage = r->usage,
                                .buffers = buffers,
                                .done = op_ended};
    return simmover_open(&setup);
}

static void rig_begin(uint64_t workers, uint32_t buffers) {
    struct err e = {0};
    r->s.engine.workers = workers;
    for (int t = 0; t <= (r->s.tier[REMOTE].on ? REMOTE : NVME); t++) {
        struct tier_setup setup = {.scenario = &r->s, .tier = (enum kvf_tier)t, .clock = &r->clock};
        assert_int_equal(tier_emulated_ops.open(&r->tiers[t], &setup, &e), 0);
    }
    r->m = mover_of_rig(buffers);
}

static int set_up(void **state) {
    (void)state;
    r = calloc(1, sizeof *r);
    assert_non_null(r);
    run_clock_virtual(&r->clock);
    r->zero_ns = run_clock_now(&r->clock);
    r->counters = counters_new(1);
    for (int t = 0; t < KVF_TIERS; t++) usage_init(&r->usage[t], true);
    r->s.nvme.io_size = IO;
    for (int t = 0; t < KVF_TIERS; t++) speed_set(t, GB, GB, 1);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    simmover_close(r->m);
    for (int t = 0; t < KVF_TIERS; t++)
        if (r->tiers[t]) tier_emulated_ops.close(r->tiers[t]);
    counters_free(r->counters, 1);
    for (int t = 0; t < KVF_TIERS; t++) usage_destroy(&r->usage[t]);
    free(r);
    return 0;
}

static unsigned op_begin(int from, int to, uint64_t bytes) {
    struct cache_op *op = &r->op[r->ops];
    *op = (struct cache_op){.from = from, .to = to, .bytes = bytes, .cause = KVF_CAUSE_PREFILL};
    op->kind = from < 0 ? CACHE_OP_WRITE : to < 0 ? CACHE_OP_READ : CACHE_OP_MOVE;
    simmover_begin(r->m, op);
    return r->ops++;
}

static unsigned op_begin_by(uint32_t worker, int from, int to, uint64_t bytes) {
    struct cache_op *op = &r->op[r->ops];
    *op = (struct cache_op){
        .from = from, .to = to, .bytes = bytes, .cause = KVF_CAUSE_PREFILL, .worker = worker};
    op->kind = from < 0 ? CACHE_OP_WRITE : to < 0 ? CACHE_OP_READ : CACHE_OP_MOVE;
    simmover_begin(r->m, op);
    return r->ops++;
}

/* Runs all events up to that time and sets the clock to it. */
static void time_to(uint64_t ns) {
    while (simmover_next_ns(r->m) <= r->zero_ns + ns) {
        run_clock_set(&r->clock, simmover_next_ns(r->m));
        assert_true(simmover_pump(r->m));
    }
    run_clock_set(&r->clock, r->zero_ns + ns);
    assert_false(simmover_pump(r->m));
}

static void to_the_end(void) {
    time_to(GB);
    assert_true(simmover_next_ns(r->m) == KVF_NEVER);
    assert_int_equal(r->ends, r->ops);
    for (int t = 0; t < KVF_TIERS; t++) assert_int_equal(counters_get(&r->counters->chunks_in_flight[t]), 0);
}

static uint64_t bytes_of(int tier, int dir) {
    return counters_get(&r->counters->io[tier][dir][KVF_CAUSE_PREFILL].bytes);
}
static uint64_t sum_of(const struct histogram *h) {
    return atomic_load(&h->sum);
}

/* ---- reads and writes ---- */

static void readers_and_writers_share_a_tier(void **state) {
    (void)state;
    rig_begin(2, 4);
    unsigned a = op_begin(GPU, -1, 5000), b = op_begin(-1, GPU, 700);
    time_to(5099);
    assert_int_equal(r->ends, 0);
    assert_int_equal(counters_get(&r->counters->chunks_in_flight[GPU]), 2);
    assert_int_equal(bytes_of(GPU, READ), 0); /* bytes count when it is complete */
    time_to(5100);
    assert_int_equal(r->end_ns[a], 5100);
    assert_int_equal(bytes_of(GPU, READ), 5000);
    to_the_end();
    assert_int_equal(r->end_ns[b], 5800);
    assert_int_equal(sum_of(&r->counters->op_total[GPU][WRITE]), 5800);
    assert_int_equal(sum_of(&r->counters->op_device[GPU][WRITE]), 5800);
    assert_int_equal(sum_of(&r->counters->op_host[GPU][WRITE]), 0);
    assert_int_equal(counters_get(&r->counters->io[GPU][WRITE][KVF_CAUSE_PREFILL].ops), 1);
}

/* One worker copies one entry at a time, though the memory could serve two. */
static void copies_need_a_worker_each(void **state) {
    (void)state;
    speed_set(CPU, 2 * GB, 2 * GB, 2);
    rig_begin(1, 4);
    unsigned a = op_begin(CPU, -1, 2000), b = op_begin(-1, CPU, 2000);
    to_the_end();
    assert_int_equal(r->end_ns[a], 2100);
    assert_int_equal(r->end_ns[b], 4200);
    assert_int_equal(sum_of(&r->counters->op_host[CPU][WRITE]), 2100); /* in line for the worker */
    assert_int_equal(counters_get(&r->counters->line_ns[CPU][WRITE]), 2100);
}

static void two_workers_copy_two_entries(void **state) {
    (void)state;
    speed_set(CPU, 2 * GB, 2 * GB, 2);
    rig_begin(2, 4);
    unsigned a = op_begin(CPU, -1, 2000), b = op_begin(-1, CPU, 2000);
    to_the_end();
    assert_int_equal(r->end_ns[a], 2100);
    assert_int_equal(r->end_ns[b], 2100);
}

/* Two workers with two buffers each: four chunks in flight. */
static void buffers_are_waited_for_in_line(void **state) {
    (void)state;
    rig_begin(2, 2);
    unsigned a = op_begin(-1, NVME, 2000), b = op_begin(NVME, -1, 1500);
    unsigned c = op_begin(NVME, -1, 2000), d = op_begin(NVME, -1, 10);
    assert_int_equal(counters_get(&r->counters->chunks_in_flight[NVME]), 4);
    to_the_end();
    assert_int_equal(r->end_ns[a], 2100);
    assert_int_equal(r->end_ns[b], 3600);
    assert_int_equal(r->end_ns[c], 5600); /* at 2,100 it has a's buffers, at 3,500 the channel */
    assert_int_equal(r->as[c].line_ns, 2100);
    assert_int_equal(r->end_ns[d], 5610); /* has not overtaken, though there was a buffer for it */
    assert_int_equal(r->as[d].line_ns, 3600);
}

/* Two buffers are in flight for latency and a chunk's time, then the next two. */
static void a_worker_s_depth_paces_a_large_entry(void **state) {
    (void)state;
    r->s.tier[NVME].emulation.latency_ns = 5000;
    rig_begin(1, 2);
    unsigned a = op_begin(-1, NVME, 8000);
    to_the_end();
    assert_int_equal(r->end_ns[a], 4 * (5000 + 1000));
}

/* ---- moves ---- */

/* The drive is the slower side: 0.5 B/ns. It begins with the first chunk, at 1,100. */
static void a_move_takes_as_long_as_its_slower_writer(void **state) {
    (void)state;
    speed_set(NVME, GB, GB / 2, 1);
    rig_begin(1, 8);
    unsigned a = op_begin(GPU, NVME, 4000);
    time_to(1099);
    assert_int_equal(counters_get(&r->counters->chunks_in_flight[NVME]), 0);
    time_to(1100);
    assert_int_equal(counters_get(&r->counters->chunks_in_flight[NVME]), 4);
    to_the_end();
    assert_int_equal(r->end_ns[a], 1100 + 8000 + LATENCY);
    assert_int_equal(r->as[a].leg[READ].device_ns, 4100);
    assert_int_equal(r->as[a].leg[WRITE].device_ns, 8100);
    assert_int_equal(bytes_of(GPU, READ), 4000);
    assert_int_equal(bytes_of(NVME, WRITE), 4000);
    /* the slower tier's write counts from the beginning, the faster one's read is its time at the device */
    assert_int_equal(sum_of(&r->counters->op_total[NVME][WRITE]), 9200);
    assert_int_equal(sum_of(&r->counters->op_total[GPU][READ]), 4100);
}

/* The drive reads 0.25 B/ns: the last chunk is there at 16,100, and a chunk and a latency later it is
 * written. Meanwhile memory serves others. */
static void a_move_ends_a_chunk_after_its_slower_reader(void **state) {
    (void)state;
    speed_set(NVME, GB / 4, GB, 1);
    rig_begin(4, 8);
    unsigned a = op_begin(NVME, CPU, 4000);
    time_to(9000); /* the write has had its 4,000 ns of the channel, from 4,100 on */
    unsigned b = op_begin(CPU, -1, 300);
    to_the_end();
    assert_int_equal(r->end_ns[b], 9400);
    assert_int_equal(r->end_ns[a], 16100 + 1000 + LATENCY);
}

/* ---- use ---- */

static uint64_t used_ns(int tier, int dir) {
    return simmover_used_ns(r->m, tier, (enum kvf_dir)dir);
}

static uint64_t chunk_ns_of(int tier, int dir, uint64_t ns) {
    return usage_read(&r->usage[tier], r->zero_ns + ns).chunk_ns[dir];
}

/* The read of 4,000 bytes is at the gpu until 4,100 and the drive writes from 1,100 to 9,200; a read of 1,000
 * comes to it at 2,000 and has its channel after the write. */
static void a_tier_is_used_while_its_channel_has_work(void **state) {
    (void)state;
    speed_set(NVME, GB, GB / 2, 1);
    rig_begin(2, 8);
    op_begin(GPU, NVME, 4000);
    time_to(2000);
    assert_int_equal(used_ns(GPU, READ), 2000);
    assert_int_equal(used_ns(NVME, WRITE), 900);
    op_begin(NVME, -1, 1000);
    time_to(5000);
    assert_int_equal(counters_get(&r->counters->chunks_in_flight[GPU]), 0); /* though the move goes on */
    assert_int_equal(chunk_ns_of(GPU, READ, 5000), 4100);
    assert_int_equal(used_ns(GPU, READ), 4000);
    assert_int_equal(used_ns(NVME, WRITE), 3900);
    assert_int_equal(used_ns(NVME, READ), 0);
    time_to(9500);
    assert_int_equal(used_ns(NVME, WRITE), 8000);
    assert_int_equal(used_ns(NVME, READ), 400);
    to_the_end();
    assert_int_equal(chunk_ns_of(NVME, WRITE, GB), 4 * 8100); /* its chunks are there together */
    assert_int_equal(chunk_ns_of(NVME, READ, GB), 10200 - 2000);
    assert_int_equal(used_ns(NVME, READ), 1000);
}

/* ---- the end ---- */

static void a_stop_ends_everything_at_once(void **state) {
    (void)state;
    rig_begin(1, 1);
    unsigned a = op_begin(-1, NVME, 5000), b = op_begin(NVME, -1, 5000), c = op_begin(GPU, -1, 90000);
    time_to(300);
    simmover_stop(r->m);
    assert_int_equal(r->ends, 3);
    assert_true(r->abandoned[a] && r->abandoned[b] && r->abandoned[c]);
    assert_true(simmover_next_ns(r->m) == KVF_NEVER);
    for (int t = 0; t < KVF_TIERS; t++) {
        assert_int_equal(counters_get(&r->counters->chunks_in_flight[t]), 0);
        assert_int_equal(bytes_of(t, READ) + bytes_of(t, WRITE), 0);
    }
}

/* ---- measured tiers ---- */

/* MB/s with one chunk under way and with two; of a device's own memory the same, ten times as fast. */
static void measured_set(int tier, double one, double two) {
    struct scenario_service *v = &r->s.tier[tier].service;
    v->depths = (struct scenario_figures){2, {1, 2}};
    for (int d = 0; d < KVF_DIRS; d++) {
        v->rates[d] = (struct scenario_figures){2, {one, two}};
        if (tier == GPU) v->own_rates[d] = (struct scenario_figures){2, {10 * one, 10 * two}};
    }
    v->first_write = 1;
    for (int d = 0; d < KVF_DIRS; d++) v->rested[d] = 1;
    r->s.tier[KVF_TIER_GPU].on = r->s.tier[KVF_TIER_CPU].on = r->s.tier[KVF_TIER_NVME].on = true;
    r->s.tier[KVF_TIER_NVME].capacity_bytes = 1000000;
    if (tier == CPU) r->s.tier[tier].emulation.latency_ns = 0;
}

/* A byte a ns: three chunks one after the other, then the latency. */
static void a_measured_drive_serves_chunk_by_chunk(void **state) {
    (void)state;
    measured_set(NVME, 1000, 1000);
    r->s.tier[NVME].service.first_write = 2;
    rig_begin(1, 4);
    unsigned a = op_begin(NVME, -1, 3000);
    time_to(3099);
    assert_int_equal(r->ends, 0);
    time_to(3100);
    assert_int_equal(r->end_ns[a], 3100);
    assert_int_equal(bytes_of(NVME, READ), 3000);
    assert_int_equal(r->as[a].leg[READ].device_ns, 3100);
    unsigned b = op_begin(-1, NVME, 2000); /* to new room */
    time_to(9000);
    assert_int_equal(r->end_ns[b], 3100 + 4100);
    assert_in_range(simmover_used_ns(r->m, NVME, KVF_DIR_READ), 2999, 3001);
    to_the_end();
}

/* Two buffers for two chunks, which share the drive and are complete together. */
static void a_measured_drive_has_as_many_chunks_as_there_are_buffers(void **state) {
    (void)state;
    measured_set(NVME, 1000, 2000);
    rig_begin(1, 2);
    unsigned a = op_begin(NVME, -1, 2000);
    time_to(10000);
    assert_int_equal(r->end_ns[a], 1000 + 100);
    unsigned b = op_begin(NVME, -1, 3000); /* the third goes when a buffer is back, and is alone */
    time_to(100000);
    assert_int_equal(r->end_ns[b], 10000 + 1100 + 1100);
    to_the_end();
}

static void a_worker_copies_one_after_the_other(void **state) {
    (void)state;
    measured_set(CPU, 1000, 1500);
    rig_begin(2, 4);
    unsigned a = op_begin_by(0, CPU, -1, 2000), b = op_begin_by(0, -1, CPU, 1000);
    time_to(10000);
    assert_int_equal(r->end_ns[a], 2000);
    assert_int_equal(r->end_ns[b], 4000); /* its buffer was read into, and is filled again before */
    unsigned c = op_begin_by(0, CPU, -1, 3000), d = op_begin_by(1, CPU, -1, 3000);
    to_the_end();
    assert_int_equal(r->end_ns[c], 13000);       /* it began alone */
    assert_in_range(r->end_ns[d], 13999, 14000); /* half of 1.5 bytes a ns */
}

/* A demoted entry is copied to its buffers, all of them, and only then handed to the drive. */
static void a_fall_is_copied_before_it_is_written(void **state) {
    (void)state;
    measured_set(CPU, 1000, 1000);
    measured_set(NVME, 1000, 1000);
    rig_begin(1, 4);
    unsigned a = op_begin(CPU, NVME, 3000);
    to_the_end();
    assert_int_equal(r->end_ns[a], 3000 + 3000 + 100);
    assert_int_equal(bytes_of(CPU, READ), 3000);
    assert_int_equal(bytes_of(NVME, WRITE), 3000);
}

/* A write is made in a buffer full of noise; one that was read into has to be filled again. */
static void a_write_fills_a_buffer_that_was_read_into(void **state) {
    (void)state;
    measured_set(CPU, 1000, 1000);
    measured_set(NVME, 1000, 1000);
    rig_begin(1, 2);
    unsigned a = op_begin(-1, NVME, 1000);
    time_to(10000);
    assert_int_equal(r->end_ns[a], 1100); /* as it was filled at first */
    unsigned b = op_begin(NVME, -1, 2000);
    time_to(20000);
    assert_int_equal(r->end_ns[b], 12100);
    unsigned c = op_begin(-1, NVME, 1000);
    time_to(30000);
    assert_int_equal(r->end_ns[c], 20000 + 1000 + 1100);
    unsigned d = op_begin(-1, NVME, 1000);
    to_the_end();
    assert_int_equal(r->end_ns[d], 31100); /* in the one that the last write left */
}

/* An operation's drawn time at a drive holds for all its chunks. */
static void chunks_of_an_operation_are_fast_or_slow_together(void **state) {
    (void)state;
    bool seen[2] = {false, false};
    measured_set(NVME, 1000, 1000);
    for (int d = 0; d < KVF_DIRS; d++)
        r->s.tier[NVME].service.spread[d] = (struct scenario_figures){2, {0.5, 1.5}};
    rig_begin(1, 4);
    for (uint64_t i = 0, at = 0; i < OPS; i++, at += 100000) {
        unsigned a = op_begin(NVME, -1, 8000);
        time_to(at + 50000);
        uint64_t took = r->end_ns[a] - at;
        if (took < 4000 || (took > 4300 && took < 12000) || took > 12300) fail_msg("%" PRIu64, took);
        seen[took > 8000] = true;
        time_to(at + 100000);
    }
    assert_true(seen[0] && seen[1]);
    to_the_end();
}

static void a_worker_that_copies_does_not_see_its_drive(void **state) {
    (void)state;
    measured_set(CPU, 1000, 1000);
    measured_set(NVME, 1000, 1000);
    rig_begin(1, 4);
    unsigned a = op_begin(NVME, -1, 1000); /* complete at 1,100 */
    time_to(500);
    unsigned b = op_begin(CPU, -1, 6000); /* four chunks, then the drive's turn */
    to_the_end();
    assert_int_equal(r->end_ns[a], 4500);
    assert_int_equal(r->end_ns[b], 6500);
}

/* 2 us, and 1 us for each chunk that is at the drive. */
static void begins_set(bool first) {
    measured_set(NVME, 1000, 1000);
    r->s.tier[NVME].service.begins[first] = (struct scenario_begins){.us = {1, {2}}, .behind_us = {1, {1}}};
}

static void a_write_that_begins_holds_its_worker(void **state) {
    (void)state;
    begins_set(true);
    rig_begin(2, 4);
    unsigned a = op_begin_by(0, -1, NVME, 1000); /* handed over at 2,000 */
    time_to(500);
    unsigned b = op_begin_by(0, NVME, -1, 1000); /* its worker sees it then */
    time_to(600);
    unsigned c = op_begin_by(1, NVME, -1, 1000);
    to_the_end();
    assert_int_equal(r->end_ns[c], 600 + 1100);
    assert_int_equal(r->end_ns[a], 2000 + 2000 + 100); /* both share the drive */
    assert_int_equal(r->end_ns[b], 2000 + 2000 + 100);
}

/* Half of what was at the drive is through when it begins. */
static void a_write_begins_behind_what_is_at_the_drive(void **state) {
    (void)state;
    begins_set(true);
    rig_begin(2, 4);
    op_begin_by(0, NVME, -1, 4000);
    time_to(2000);
    unsigned a = op_begin_by(1, -1, NVME, 1000); /* two chunks' worth: 2,000 + 2 x 1,000 */
    to_the_end();
    assert_in_range(r->end_ns[a], 2000 + 4000 + 1100, 2000 + 4000 + 1101);
}

/* Two chunks, of which one adds to it. */
static void more_chunks_than_were_measured_add_nothing(void **state) {
    (void)state;
    begins_set(true);
    r->s.tier[NVME].service.begins[1].depth = 1;
    rig_begin(2, 4);
    op_begin_by(0, NVME, -1, 4000);
    time_to(2000);
    unsigned a = op_begin_by(1, -1, NVME, 1000);
    to_the_end();
    assert_in_range(r->end_ns[a], 2000 + 3000 + 1100, 2000 + 3000 + 1101);
}

/* The next in line prepares its file already, as long as it takes, and only then hands its worker anything
 * over. */
static void a_write_begins_before_it_has_a_buffer(void **state) {
    (void)state;
    begins_set(true);
    rig_begin(1, 1);
    unsigned a = op_begin(-1, NVME, 1000), b = op_begin(-1, NVME, 1000);
    to_the_end();
    assert_int_equal(r->end_ns[a], 4000 + 1100);
    assert_int_equal(r->end_ns[b], 5100 + 1100);
}

static void room_written_before_has_beginnings_of_its_own(void **state) {
    (void)state;
    begins_set(false);
    rig_begin(1, 4);
    unsigned a = op_begin(-1, NVME, 1000); /* to new room: nothing was measured of that */
    to_the_end();
    assert_int_equal(r->end_ns[a], 1100);
    r->s.tier[NVME].capacity_bytes = 0;
    unsigned b = op_begin(-1, NVME, 1000);
    time_to(2 * GB);
    assert_int_equal(r->end_ns[b], GB + 2000 + 1100);
}

/* Buffers for the drive are many; what goes through them does not stay in the processor's caches. */
static void copies_to_buffers_for_the_drive_take_longer(void **state) {
    (void)state;
    measured_set(CPU, 1000, 1000);
    measured_set(NVME, 1000, 1000);
    r->s.tier[NVME].service.staging_mb_per_s = 500;
    rig_begin(1, 4);
    unsigned a = op_begin(CPU, NVME, 3000);
    time_to(20000);
    assert_int_equal(r->end_ns[a], 6000 + 3000 + 100);
    unsigned b = op_begin(CPU, -1, 3000), c = op_begin(NVME, CPU, 1000);
    to_the_end();
    assert_int_equal(r->end_ns[b], 20000 + 3000);
    assert_in_range(r->end_ns[c], 20000 + 3000 + 1100 + 1000, 20000 + 3000 + 1100 + 1000);
}

static void a_drive_that_rested_takes_longer(void **state) {
    (void)state;
    measured_set(NVME, 1000, 1000);
    r->s.tier[NVME].service.rested[READ] = 2;
    rig_begin(1, 4);
    unsigned a = op_begin(NVME, -1, 2000);
    time_to(40 * KVF_NS_PER_MS);
    assert_int_equal(r->end_ns[a], 4000 + 100);
    op_begin(NVME, -1, 2000);
    time_to(80 * KVF_NS_PER_MS);
    unsigned b = op_begin(NVME, -1, 2000); /* awake by now */
    time_to(200 * KVF_NS_PER_MS);
    assert_int_equal(r->end_ns[b], 80 * KVF_NS_PER_MS + 2000 + 100);
    unsigned c = op_begin(NVME, -1, 2000), d = op_begin(-1, NVME, 2000);
    to_the_end();
    assert_true(r->end_ns[c] > r->end_ns[d]); /* writes are not slower here */
}

/* One that has had nothing to do for 10 ms, for 3 ms. */
static void a_worker_that_rested_copies_slower(void **state) {
    (void)state;
    measured_set(CPU, 1000, 1000);
    r->s.tier[CPU].service.rested[READ] = 2;
    r->s.tier[CPU].service.rested[WRITE] = 3;
    rig_begin(2, 4);
    unsigned a = op_begin(CPU, -1, 2000);
    time_to(CREW_SLOW_NS);
    assert_int_equal(r->end_ns[a], 4000);
    unsigned b = op_begin(CPU, -1, 2000); /* awake by now: it has not rested for that long */
    time_to(CREW_REST_NS);
    assert_int_equal(r->end_ns[b], CREW_SLOW_NS + 2000);
    unsigned c = op_begin_by(1, -1, CPU, 2000); /* the other worker has */
    time_to(3 * CREW_REST_NS);
    assert_int_equal(r->end_ns[c], CREW_REST_NS + 6000);
    unsigned d = op_begin(CPU, -1, 2000); /* and this one has again */
    to_the_end();
    assert_int_equal(r->end_ns[d], 3 * CREW_REST_NS + 4000);
}

/* Of an entry that was copied 2,000 bytes ago; far away it takes 1,000 ns. */
static void what_was_just_copied_is_read_faster(void **state) {
    (void)state;
    struct scenario_service *v = &r->s.tier[CPU].service;
    measured_set(CPU, 1000, 1000);
    const double kilobytes = 1024, first = 1500 / kilobytes / kilobytes, last = 6000 / kilobytes / kilobytes;
    v->reuse_distances = (struct scenario_figures){2, {first, last}};
    v->reuse_rates = (struct scenario_figures){2, {4, 2}};
    rig_begin(1, 4);
    uint64_t was = 0;
    const uint64_t bytes[] = {1000, 1000, 1000, 6000}, took[] = {1000, 250, 250, 1500};
    for (int i = 0; i < 4; i++) {
        unsigned op = op_begin(CPU, -1, bytes[i]); /* all of one entry */
        time_to(was + took[i]);
        assert_int_equal(r->end_ns[op], was + took[i]);
        was += took[i];
    }
    unsigned between = op_begin(CPU, -1, 1000); /* 6,000 bytes later */
    time_to(was + 500);
    assert_int_equal(r->end_ns[between], was + 500);
    to_the_end();
}

/* The distance is what all copied meanwhile; of two entries in one slot the later is known. */
static void distances_are_of_all_that_was_copied(void **state) {
    (void)state;
    static struct crew_reuse seen;
    const struct cache_key a = {1, 2}, b = {1, 3};
    assert_true(crew_reuse_begin(&seen, a) == UINT64_MAX);
    crew_reuse_copied(&seen, 100);
    assert_true(crew_reuse_begin(&seen, b) == UINT64_MAX);
    crew_reuse_copied(&seen, 50);
    assert_int_equal(crew_reuse_begin(&seen, a), 150);
    assert_int_equal(crew_reuse_begin(&seen, b), 50);
    assert_int_equal(crew_reuse_begin(&seen, b), 0);
    struct cache_key other = {1, 4};
    while (cache_key_hash(other) % CREW_REUSE_SLOTS != cache_key_hash(a) % CREW_REUSE_SLOTS) other.lo++;
    assert_true(crew_reuse_begin(&seen, other) == UINT64_MAX);
    assert_true(crew_reuse_begin(&seen, a) == UINT64_MAX);

    struct scenario_service v = {.reuse_distances = {3, {4, 16, 64}}, .reuse_rates = {3, {3, 2, 1}}};
    const double mib[] = {0, 1, 4, 8, 16, 32, 64, 65}, speed[] = {3, 3, 3, 2.5, 2, 1.5, 1, 1};
    for (int i = 0; i < 8; i++)
        assert_true(fabs(crew_reuse_speed(&v, (uint64_t)(mib[i] * KVF_MIB)) - speed[i]) < 1e-9);
    assert_true(crew_reuse_speed(&v, UINT64_MAX) == 1);
    v.reuse_rates.count = 0;
    assert_true(crew_reuse_speed(&v, 0) == 1);
}

static void a_device_copies_over_its_link_alone(void **state) {
    (void)state;
    for (int t = 0; t <= NVME; t++) measured_set(t, 1000, 1000);
    rig_begin(1, 4);
    unsigned a = op_begin(GPU, CPU, 2000);
    time_to(10000);
    assert_int_equal(r->end_ns[a], 2100); /* and none of the worker's time */
    assert_int_equal(bytes_of(CPU, WRITE), 2000);
    unsigned b = op_begin(GPU, -1, 2000); /* in its own memory, as a whole */
    to_the_end();
    assert_int_equal(r->end_ns[b], 10200);
}

/* Each 200 ns of bytes, 30 after the one before it, and 50 in all beside its bytes until its worker sees it.
 */
static void a_device_takes_up_what_a_worker_has_one_after_the_other(void **state) {
    (void)state;
    measured_set(GPU, 1000, 1000);
    r->s.tier[GPU].service.own_latency_ns = 50;
    r->s.tier[GPU].service.own_gap_ns = 30;
    rig_begin(2, 4);
    unsigned a = op_begin_by(0, GPU, -1, 2000), b = op_begin_by(0, GPU, -1, 2000);
    time_to(10000);
    assert_int_equal(r->end_ns[a], 30 + 200 + 20);
    assert_int_equal(r->end_ns[b], 230 + 30 + 200 + 20);
    unsigned c = op_begin_by(1, GPU, -1, 2000), d = op_begin_by(0, -1, GPU, 2000);
    to_the_end();
    assert_true(r->end_ns[c] < 10000 + 30 + 400 + 21 &&
                r->end_ns[d] < 10000 + 30 + 400 + 21); /* side by side */
}

/* After a whole rest 4 times the latency and twice the gap; after a quarter of one half as much more. */
static void a_device_is_late_for_a_worker_that_rested(void **state) {
    (void)state;
    measured_set(GPU, 1000, 1000);
    measured_set(CPU, 1000, 1000);
    r->s.tier[GPU].service.own_latency_ns = 50;
    r->s.tier[GPU].service.own_gap_ns = 30;
    r->s.tier[GPU].service.woken_latency = 4;
    r->s.tier[GPU].service.woken_gap = 2;
    rig_begin(1, 4);
    time_to(2 * CREW_REST_NS);
    unsigned a = op_begin_by(0, GPU, -1, 2000), b = op_begin_by(0, GPU, -1, 2000);
    time_to(3 * CREW_REST_NS);
    assert_int_equal(r->end_ns[a], 2 * CREW_REST_NS + 60 + 200 + 170);
    assert_int_equal(r->end_ns[b], 2 * CREW_REST_NS + 260 + 60 + 200 + 170);
    uint64_t began_ns = 3 * CREW_REST_NS;
    unsigned c = op_begin_by(0, GPU, -1, 2000); /* it has rested again, all but 740 ns */
    time_to(began_ns + 5000);
    uint64_t late_ns = r->end_ns[c] - began_ns;
    assert_true(late_ns <= 60 + 200 + 170 && late_ns >= 59 + 200 + 169);
    began_ns = r->end_ns[c] + CREW_REST_NS / 4;
    time_to(began_ns);
    unsigned d = op_begin_by(0, GPU, -1, 2000);
    to_the_end();
    assert_int_equal(r->end_ns[d], began_ns + 45 + 200 + 95);
}

/* All that a worker hands over together has one latency, drawn from the slices. */
static void latencies_of_a_device_are_spread(void **state) {
    (void)state;
    measured_set(GPU, 1000, 1000);
    r->s.tier[GPU].service.own_latency_ns = 100;
    r->s.tier[GPU].service.own_latency_spread = (struct scenario_figures){2, {0.5, 1.5}};
    rig_begin(1, 4);
    unsigned seen[2] = {0, 0};
    for (unsigned i = 0; i < OPS / 2; i++) {
        uint64_t began_ns = 10000 * (i + 1);
        time_to(began_ns);
        unsigned a = op_begin_by(0, GPU, -1, 2000), b = op_begin_by(0, GPU, -1, 2000);
        time_to(began_ns + 5000);
        uint64_t took_ns = r->end_ns[a] - began_ns - 200;
        assert_true(took_ns == 50 || took_ns == 150);
        assert_int_equal(r->end_ns[b] - r->end_ns[a], 200);
        seen[took_ns == 150]++;
    }
    assert_true(seen[0] > 0 && seen[1] > 0);
}

/* A tier that was not calibrated has its channel: the entry whole, before its bytes pass. */
static void an_emulated_tier_passes_whole_entries(void **state) {
    (void)state;
    measured_set(CPU, 1000, 1000);
    rig_begin(1, 4);
    unsigned a = op_begin(GPU, CPU, 2000);
    time_to(10000);
    assert_int_equal(r->end_ns[a], 2100 + 2000);
    unsigned b = op_begin(CPU, GPU, 2000);
    to_the_end();
    assert_int_equal(r->end_ns[b], 10000 + 2000 + 2100);
}

/* Also beside operations that have nothing to do with a measured tier. */
static void an_emulated_tier_has_one_channel_for_all(void **state) {
    (void)state;
    measured_set(CPU, 1000, 1000);
    rig_begin(1, 4);
    unsigned a = op_begin(GPU, -1, 2000), b = op_begin(GPU, CPU, 2000);
    time_to(3000);
    assert_int_equal(simmover_used_ns(r->m, GPU, KVF_DIR_READ), 3000);
    to_the_end();
    assert_int_equal(r->end_ns[a], 2100);
    assert_int_equal(r->end_ns[b], 2000 + 2100 + 2000);
}

/* ---- a measured store: values of 1,000 bytes; a command takes 60 ns besides, a lookup 40 ---- */

static void store_set(uint64_t connections, enum scenario_lookup lookup) {
    measured_set(REMOTE, 1000, 1000);
    r->s.tier[REMOTE].on = true;
    r->s.tier[REMOTE].service.lookup_ns = 40;
    r->s.model = (struct model){.layers = 1, .kv_heads = 1, .head_dim = 250, .dtype = MODEL_DTYPE_BF16};
    r->s.tensor_parallel = 1;
    r->s.remote.chunk_tokens = 1;
    assert_int_equal(scenario_value_bytes(&r->s), 1000);
    r->s.remote.connections = connections;
    r->s.remote.lookup = lookup;
    r->s.cache.read_target = KVF_READ_TARGET_HOST;
}

/* One lookup for both values, which the store then serves at once, each at half its speed. */
static void a_store_is_asked_before_it_is_read(void **state) {
    (void)state;
    store_set(2, KVF_LOOKUP_EXISTS);
    rig_begin(1, 4);
    unsigned a = op_begin(REMOTE, -1, 2000);
    to_the_end();
    assert_int_equal(r->end_ns[a], 40 + 2000 + 60);
    assert_int_equal(histogram_count(&r->counters->lookup), 1);
    assert_in_range(histogram_quantile(&r->counters->lookup, 0.5), 39, 41);
    assert_int_equal(bytes_of(REMOTE, READ), 2000);
    assert_int_equal(r->as[a].leg[READ].device_ns, 2100);
    assert_int_equal(counters_get(&r->counters->chunks_in_flight[REMOTE]), 0);
}

static void a_store_is_written_and_read_without_a_lookup(void **state) {
    (void)state;
    store_set(2, KVF_LOOKUP_GET);
    rig_begin(1, 4);
    unsigned a = op_begin(REMOTE, -1, 1000);
    time_to(5000);
    unsigned b = op_begin(-1, REMOTE, 1000);
    to_the_end();
    assert_int_equal(r->end_ns[a], 1060);
    assert_int_equal(r->end_ns[b], 5000 + 1060);
    assert_int_equal(histogram_count(&r->counters->lookup), 0);
}

/* The second value begins when the connection of the first is free; a lookup goes before values in line. */
static void values_wait_for_a_connection(void **state) {
    (void)state;
    store_set(1, KVF_LOOKUP_EXISTS);
    rig_begin(1, 8);
    unsigned a = op_begin(-1, REMOTE, 2000);
    time_to(500);
    unsigned b = op_begin(REMOTE, -1, 1000);
    to_the_end();
    assert_int_equal(r->end_ns[a], 1060 + 40 + 1060);
    assert_int_equal(r->end_ns[b], 1060 + 40 + 1060 + 1060);
}

static void a_worker_has_its_part_of_the_connections(void **state) {
    (void)state;
    store_set(3, KVF_LOOKUP_GET);
    rig_begin(2, 8);
    unsigned a = op_begin_by(1, REMOTE, -1, 2000); /* one connection of three */
    time_to(10000);
    unsigned b = op_begin_by(0, REMOTE, -1, 2000);
    to_the_end();
    assert_int_equal(r->end_ns[a], 1060 + 1060);
    assert_int_equal(r->end_ns[b], 10000 + 2000 + 60);
}

/* Among two values under way. */
static void a_busy_store_answers_lookups_later(void **state) {
    (void)state;
    store_set(3, KVF_LOOKUP_EXISTS);
    r->s.tier[REMOTE].service.lookup_behind_ns = 100;
    rig_begin(1, 8);
    op_begin(-1, REMOTE, 2000);
    time_to(500);
    op_begin(REMOTE, -1, 1000);
    to_the_end();
    assert_in_range(histogram_quantile(&r->counters->lookup, 0.5), 238, 242);
}

/* The chunks of a value come one after the other over its connection, after one latency. A buffer is free for
 * the next value as soon as its chunk has come, and the store serves both. */
static void a_value_takes_its_buffers_one_by_one(void **state) {
    (void)state;
    store_set(4, KVF_LOOKUP_GET);
    r->s.nvme.io_size = 500;
    rig_begin(1, 2);
    unsigned a = op_begin(REMOTE, -1, 2000);
    to_the_end();
    assert_int_equal(r->end_ns[a], 560 + 1000 + 60 + 500);
}

/* Of a write likewise: one connection has one value at a time, whole. */
static void a_connection_is_free_after_the_last_chunk(void **state) {
    (void)state;
    store_set(1, KVF_LOOKUP_GET);
    r->s.nvme.io_size = 400;
    rig_begin(1, 8);
    unsigned a = op_begin(-1, REMOTE, 2000), b = op_begin(REMOTE, -1, 900);
    to_the_end();
    assert_int_equal(r->end_ns[a], 2 * 1060);
    assert_int_equal(r->end_ns[b], 2 * 1060 + 960);
}

/* 1 ns for each byte that it reads and 2 for each that it writes, in which the worker sees nothing else. */
static void a_worker_works_for_what_it_receives_and_sends(void **state) {
    (void)state;
    store_set(2, KVF_LOOKUP_GET);
    r->s.tier[REMOTE].service.worker_us = (struct scenario_figures){2, {KVF_MIB / 1e3, KVF_MIB / 500.0}};
    rig_begin(1, 4);
    unsigned a = op_begin(REMOTE, -1, 1000);
    time_to(5000);
    unsigned b = op_begin(-1, REMOTE, 1000);
    to_the_end();
    assert_int_equal(r->end_ns[a], 1060 + 1000);
    assert_int_equal(r->end_ns[b], 5000 + 1060 + 2000);
}

/* The same as a drive with the same figures, to the nanosecond: reads, and writes that begin in new room. */
static void a_directory_is_served_as_a_drive_is(void **state) {
    (void)state;
    begins_set(true);
    measured_set(NVME, 1000, 1500);
    r->s.tier[NVME].service.first_write = 2;
    r->s.tier[REMOTE] = r->s.tier[NVME];
    r->s.tier[REMOTE].backend = KVF_REMOTE_FILE;
    rig_begin(1, 4);
    unsigned op[2][3];
    uint64_t begin_ns[2];
    for (int k = 0; k < 2; k++) {
        int tier = k == 0 ? NVME : REMOTE;
        begin_ns[k] = (uint64_t)k * 100000;
        time_to(begin_ns[k]);
        op[k][0] = op_begin(tier, -1, 5000);
        op[k][1] = op_begin(-1, tier, 3000);
        op[k][2] = op_begin(tier, -1, 500);
        time_to(begin_ns[k] + 90000);
    }
    for (int i = 0; i < 3; i++) {
        assert_true(r->end_ns[op[0][i]] > begin_ns[0]);
        assert_int_equal(r->end_ns[op[1][i]] - begin_ns[1], r->end_ns[op[0][i]] - begin_ns[0]);
    }
    to_the_end();
}

/* While the store serves one value worker 0 copies, and so does worker 1. */
static void both_copy_while_the_store_serves(const struct scenario_figures *processors, uint64_t served_ns,
                                             uint64_t copied_ns) {
    store_set(2, KVF_LOOKUP_GET);
    measured_set(CPU, 1000, 2000);
    r->s.tier[REMOTE].service.worker_us = (struct scenario_figures){2, {KVF_MIB / 1e3, KVF_MIB / 500.0}};
    r->s.tier[REMOTE].service.processors = *processors;
    rig_begin(2, 4);
    unsigned a = op_begin_by(0, REMOTE, -1, 1000);
    time_to(100);
    unsigned b = op_begin_by(0, CPU, -1, 600), c = op_begin_by(1, CPU, -1, 600);
    to_the_end();
    assert_int_equal(r->end_ns[b], 100 + 600); /* it began while there were two for two processors */
    assert_int_equal(r->end_ns[c], 100 + copied_ns);
    assert_int_equal(r->end_ns[a], served_ns + 60 + 1000);
}

/* Three for two processors take half as long again while they are three: 400 of the value's bytes in 600 ns.
 */
static void a_store_shares_the_processors_with_the_workers(void **state) {
    (void)state;
    both_copy_while_the_store_serves(&(struct scenario_figures){2, {1, 2}}, 1200, 900);
}

static void a_drive_that_takes_processors_shares_them_too(void **state) {
    (void)state;
    measured_set(NVME, 1000, 1000);
    measured_set(CPU, 1000, 2000);
    r->s.tier[NVME].service.processors = (struct scenario_figures){2, {1, 2}};
    rig_begin(2, 4);
    unsigned a = op_begin_by(0, NVME, -1, 1000);
    time_to(100);
    unsigned b = op_begin_by(0, CPU, -1, 600), c = op_begin_by(1, CPU, -1, 600);
    to_the_end();
    assert_int_equal(r->end_ns[b], 100 + 600);
    assert_int_equal(r->end_ns[c], 100 + 900);
    assert_int_equal(r->end_ns[a], 1200 + 100);
}

static void a_store_elsewhere_shares_none(void **state) {
    (void)state;
    both_copy_while_the_store_serves(&(struct scenario_figures){0, {0}}, 1000, 600);
}

static void a_stop_ends_what_is_measured_too(void **state) {
    (void)state;
    for (int t = 0; t <= NVME; t++) measured_set(t, 1000, 1000);
    rig_begin(2, 2);
    op_begin_by(0, NVME, CPU, 50000);
    op_begin_by(1, CPU, -1, 50000);
    op_begin_by(1, GPU, -1, 50000);
    time_to(2500);
    simmover_stop(r->m);
    assert_int_equal(r->ends, 3);
    assert_true(simmover_next_ns(r->m) == KVF_NEVER);
    for (int t = 0; t < KVF_TIERS; t++) assert_int_equal(counters_get(&r->counters->chunks_in_flight[t]), 0);
}

static uint64_t in_flight(int tier) {
    assert_true(r->usage[tier].at[READ] + r->usage[tier].at[WRITE] ==
                counters_get(&r->counters->chunks_in_flight[tier]));
    return counters_get(&r->counters->chunks_in_flight[tier]);
}

static void reads_and_moves(void) {
    op_begin_by(0, NVME, CPU, 50000);
    op_begin_by(1, CPU, -1, 50000);
    op_begin_by(1, GPU, -1, 50000);
}

/* Two pods count in the same counters, and one of them is gone while both have chunks everywhere. */
static void a_stop_takes_out_what_it_has_brought(void **state) {
    (void)state;
    uint64_t before[KVF_TIERS], most = 0;
    for (int t = 0; t <= NVME; t++) measured_set(t, 1000, 1000);
    rig_begin(2, 2);
    struct simmover *gone = mover_of_rig(2), *stays = r->m;
    reads_and_moves();
    r->m = gone;
    reads_and_moves();
    for (uint64_t ns = 0; ns <= 2500; ns += 100) {
        run_clock_set(&r->clock, r->zero_ns + ns);
        while (simmover_pump(stays)) {}
        while (simmover_pump(gone)) {}
    }
    for (int t = 0; t <= NVME; t++) before[t] = in_flight(t);
    simmover_stop(gone);
    for (int t = 0; t <= NVME; t++) {
        assert_int_equal(2 * in_flight(t), before[t]);
        most += before[t];
    }
    assert_true(most >= 4);
    assert_int_equal(r->ends, 3);
    uint64_t again_ns = r->zero_ns + 2500;
    unsigned back = op_begin_by(1, CPU, -1, 50000); /* it is back, with free workers */
    assert_true(simmover_next_ns(gone) == again_ns);
    time_to(GB);
    assert_int_equal(r->end_ns[back], 2500 + 50000);
    r->m = stays;
    to_the_end();
    for (int t = 0; t <= NVME; t++) assert_int_equal(in_flight(t), 0);
    simmover_close(gone);
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(readers_and_writers_share_a_tier),
        TEST(copies_need_a_worker_each),
        TEST(two_workers_copy_two_entries),
        TEST(buffers_are_waited_for_in_line),
        TEST(a_worker_s_depth_paces_a_large_entry),
        TEST(a_move_takes_as_long_as_its_slower_writer),
        TEST(a_move_ends_a_chunk_after_its_slower_reader),
        TEST(a_tier_is_used_while_its_channel_has_work),
        TEST(a_stop_ends_everything_at_once),
        TEST(a_measured_drive_serves_chunk_by_chunk),
        TEST(a_measured_drive_has_as_many_chunks_as_there_are_buffers),
        TEST(a_worker_copies_one_after_the_other),
        TEST(a_fall_is_copied_before_it_is_written),
        TEST(a_write_fills_a_buffer_that_was_read_into),
        TEST(chunks_of_an_operation_are_fast_or_slow_together),
        TEST(a_worker_that_copies_does_not_see_its_drive),
        TEST(a_write_that_begins_holds_its_worker),
        TEST(a_write_begins_behind_what_is_at_the_drive),
        TEST(more_chunks_than_were_measured_add_nothing),
        TEST(a_write_begins_before_it_has_a_buffer),
        TEST(room_written_before_has_beginnings_of_its_own),
        TEST(copies_to_buffers_for_the_drive_take_longer),
        TEST(a_drive_that_rested_takes_longer),
        TEST(a_worker_that_rested_copies_slower),
        TEST(what_was_just_copied_is_read_faster),
        TEST(distances_are_of_all_that_was_copied),
        TEST(a_device_copies_over_its_link_alone),
        TEST(a_device_takes_up_what_a_worker_has_one_after_the_other),
        TEST(a_device_is_late_for_a_worker_that_rested),
        TEST(latencies_of_a_device_are_spread),
        TEST(an_emulated_tier_passes_whole_entries),
        TEST(an_emulated_tier_has_one_channel_for_all),
        TEST(a_store_is_asked_before_it_is_read),
        TEST(a_store_is_written_and_read_without_a_lookup),
        TEST(values_wait_for_a_connection),
        TEST(a_worker_has_its_part_of_the_connections),
        TEST(a_busy_store_answers_lookups_later),
        TEST(a_value_takes_its_buffers_one_by_one),
        TEST(a_connection_is_free_after_the_last_chunk),
        TEST(a_worker_works_for_what_it_receives_and_sends),
        TEST(a_directory_is_served_as_a_drive_is),
        TEST(a_store_shares_the_processors_with_the_workers),
        TEST(a_drive_that_takes_processors_shares_them_too),
        TEST(a_store_elsewhere_shares_none),
        TEST(a_stop_ends_what_is_measured_too),
        TEST(a_stop_takes_out_what_it_has_brought),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("simmover", tests, NULL, NULL);
}
