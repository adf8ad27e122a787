/* A mover over the cuda backend on played devices, the real memory tier, and a disk that is memory. */
#include "tests/unit/cuda_fixture.h"

#include <errno.h>
#include <stdio.h>

#include "engine/move/transfer.h"
#include "tier/cuda/cuda.h"

enum { IO = 64 * 1024, TOKEN = 4096, MOST = 40 * TOKEN, DISK = 16 };
enum {
    GPU = KVF_TIER_GPU,
    CPU = KVF_TIER_CPU,
    NVME = KVF_TIER_NVME,
    READ = KVF_DIR_READ,
    WRITE = KVF_DIR_WRITE
};

/* A disk that has done what it was given when it is asked. */
struct disk {
    struct tier base;
    uint8_t *bytes; /* DISK places of MOST */
    uint64_t next;
    unsigned most; /* that it has done when it is asked; 0: all */
    struct tier_queue *queue;
};
struct tier_queue {
    struct disk *disk;
    struct tier_chunk *at[64];
    unsigned n;
};

static struct run_clock run_time;
static struct scenario scenario;
static struct payload *payload;
static struct tier *tier[KVF_TIERS];
static struct disk disk;
static struct counters *counters;
static struct mover *mover;
static unsigned ends, abandoned_ends;
static int last_error;
static char last_what[600];

/* ---- the disk ---- */

static uint32_t disk_caps(const struct tier *t) {
    (void)t;
    return TIER_HOLDS_BYTES;
}
static uint64_t disk_alloc(struct tier *t, uint64_t bytes) {
    (void)bytes;
    return ((struct disk *)t)->next++ % DISK;
}
static int disk_queue_open(struct tier *t, struct tier_queue **out, uint32_t worker, uint32_t depth,
                           struct err *e) {
    (void)worker;
    (void)depth;
    (void)e;
    *out = calloc(1, sizeof **out);
    (*out)->disk = (struct disk *)t;
    (*out)->disk->queue = *out;
    return 0;
}
static void disk_queue_close(struct tier_queue *q) {
    free(q);
}
static unsigned disk_submit(struct tier_queue *q, struct tier_chunk **chunks, unsigned n) {
    unsigned taken = 0;
    for (; taken < n && q->n < 64; taken++) {
        chunks[taken]->submit_ns = run_clock_now(&run_time);
        q->at[q->n++] = chunks[taken];
    }
    return taken;
}
static unsigned disk_reap(struct tier_queue *q, struct tier_chunk **done, unsigned max) {
    unsigned n = 0;
    if (q->disk->most && q->disk->most < max) max = q->disk->most;
    for (; n < max && q->n > 0; n++) {
        struct tier_chunk *c = q->at[--q->n];
        uint8_t *at = q->disk->bytes + c->place * MOST + c->offset;
        if (c->dir == KVF_DIR_WRITE)
            memcpy(at, c->buf, c->len);
        else
            memcpy(c->buf, at, c->len);
        c->complete_ns = run_clock_now(&run_time);
        done[n] = c;
    }
    return n;
}
static const struct tier_ops disk_ops = {.name = "disk",
                                         .caps = disk_caps,
                                         .alloc = disk_alloc,
                                         .queue_open = disk_queue_open,
                                         .queue_close = disk_queue_close,
                                         .submit = disk_submit,
                                         .reap = disk_reap};

/* ---- opening ---- */

static void op_ended(void *ctx, const struct transfer *t, bool abandoned, const char *what) {
    (void)ctx;
    ends++;
    abandoned_ends += abandoned;
    last_error = t->error;
    snprintf(last_what, sizeof last_what, "%s", what);
}

static struct tier *tier_open(enum kvf_tier which, const struct tier_ops *ops) {
    struct err e = {0};
    struct tier *t = NULL;
    struct tier_setup setup = {.scenario = &scenario,
                               .tier = which,
                               .usable_bytes = 64 * MOST,
                               .page_bytes = 4096,
                               .min_entry_bytes = TOKEN,
                               .workers = 1,
                               .clock = &run_time,
                               .payload = payload};
    if (ops->open(&t, &setup, &e) != 0) fail_msg("%s", e.text);
    return t;
}

static void open_all(enum scenario_gpu_read read, enum scenario_gpu_write write,
                     enum scenario_gpu_layout layout) {
    struct err e = {0};
    fake_reset();
    cuda_api_choose(&fake_api);
    memset(&scenario, 0, sizeof scenario);
    scenario.tier[KVF_TIER_GPU].backend = KVF_BACKEND_CUDA;
    scenario.gpu.read = read;
    scenario.gpu.write = write;
    scenario.gpu.layout = layout;
    scenario.gpu.device_count = 1;
    scenario.tensor_parallel = 1;
    scenario.model.layers = 8;
    scenario.nvme.io_size = IO;
    scenario.cache.verify = KVF_VERIFY_FULL;
    scenario.cache.read_target = KVF_READ_TARGET_GPU;
    ends = abandoned_ends = 0;
    payload = payload_open(9, 1 << 20, &e);
    disk = (struct disk){.base = {.ops = &disk_ops, .tier = KVF_TIER_NVME}, .bytes = calloc(DISK, MOST)};
    tier[GPU] = tier_open(KVF_TIER_GPU, &tier_cuda_ops);
    tier[CPU] = tier_open(KVF_TIER_CPU, &tier_memory_ops);
    tier[NVME] = &disk.base;
    counters = counters_new(1);
    struct mover_setup setup = {.scenario = &scenario,
                                .clock = &run_time,
                                .payload = payload,
                                .tiers = tier,
                                .counters = counters,
                                .buffers = 4,
                                .done = op_ended};
    assert_int_equal(mover_open(&mover, &setup, &e), 0);
    assert_int_equal(fake.pins, 1); /* the staging buffers */
}

static void close_all(void) {
    mover_close(mover);
    tier[GPU]->ops->close(tier[GPU]);
    tier[CPU]->ops->close(tier[CPU]);
    free(disk.bytes);
    counters_free(counters, 1);
    payload_close(payload);
    fake_expect_nothing_left();
}

/* ---- operations ---- */

static struct cache_op op_of(int from, uint64_t from_place, int to, uint64_t bytes) {
    struct cache_op op = {.kind = from < 0 ? CACHE_OP_WRITE
                                  : to < 0 ? CACHE_OP_READ
                                           : CACHE_OP_MOVE,
                          .cause = from >= 0 && to >= 0 ? KVF_CAUSE_DEMOTION : KVF_CAUSE_PREFILL,
                          .from = from,
                          .to = to,
                          .from_place = from_place,
                          .key = cache_key_make(CACHE_KEY_TURN, 5, 1),
                          .generation = 77,
                          .bytes = bytes};
    if (to >= 0) op.to_place = tier[to]->ops->alloc(tier[to], bytes);
    return op;
}

static int carry_out(struct cache_op *op) {
    unsigned before = ends;
    mover_begin(mover, op);
    for (int turns = 0; ends == before; turns++) {
        assert_true(turns < 10000);
        mover_pump(mover, true);
    }
    return last_error;
}

static uint64_t bytes_of(int t, int dir, enum kvf_cause cause) {
    return counters_get(&counters->io[t][dir][cause].bytes);
}

static void an_entry_goes_every_way_and_stays_what_it_is(void **state) {
    (void)state;
    static const int path[] = {GPU, CPU, GPU, NVME, GPU, CPU, NVME, CPU, GPU};
    for (int shape = 0; shape < 8; shape++) {
        open_all(shape & 1 ? KVF_GPU_READ_D2H : KVF_GPU_READ_HBM,
                 shape & 2 ? KVF_GPU_WRITE_H2D : KVF_GPU_WRITE_GENERATE,
                 shape & 4 ? KVF_GPU_LAYOUT_LAYERS : KVF_GPU_LAYOUT_CONTIGUOUS);
        uint64_t bytes = 37 * TOKEN;
        struct cache_op op = op_of(-1, 0, GPU, bytes);
        assert_int_equal(carry_out(&op), 0);
        uint64_t place = op.to_place;
        for (size_t i = 0; i + 1 < sizeof path / sizeof path[0]; i++) {
            struct cache_op read = op_of(path[i], place, -1, bytes),
                            move = op_of(path[i], place, path[i + 1], bytes);
            assert_int_equal(carry_out(&read), 0);
            assert_int_equal(carry_out(&move), 0);
            if (path[i] != NVME) tier[path[i]]->ops->drop(tier[path[i]], place, bytes);
            place = move.to_place;
        }
        for (int t = 0; t < KVF_TIERS; t++) {
            assert_int_equal(counters_get(&counters->mismatched[t]), 0);
            assert_int_equal(counters_get(&counters->unverified[t]), 0);
        }
        /* three reads of it there and three moves from there, all checked */
        assert_int_equal(counters_get(&counters->verified[GPU]), 6 * 37);
        assert_int_equal(bytes_of(GPU, READ, KVF_CAUSE_DEMOTION), 3 * bytes);
        assert_int_equal(bytes_of(CPU, WRITE, KVF_CAUSE_DEMOTION), 3 * bytes);
        close_all();
    }
}

/* From memory to the device and back nothing passes the staging buffers: one copy has both legs' time. */
static void between_memory_and_device_there_is_one_copy(void **state) {
    (void)state;
    open_all(KVF_GPU_READ_HBM, KVF_GPU_WRITE_GENERATE, KVF_GPU_LAYOUT_CONTIGUOUS);
    scenario.cache.verify = KVF_VERIFY_NONE;
    uint64_t bytes = 32 * TOKEN, arena_bytes;
    const uint8_t *arena = tier[CPU]->ops->arena(tier[CPU], &arena_bytes);
    struct cache_op write = op_of(-1, 0, GPU, bytes);
    assert_int_equal(carry_out(&write), 0);
    struct cache_op down = op_of(GPU, write.to_place, CPU, bytes);
    fake.held = true;
    fake.copies = 0;
    fake.longest_copy = 0;
    mover_begin(mover, &down);
    for (int i = 0; i < 20; i++) mover_pump(mover, true);
    assert_int_equal(fake.copies, 1); /* two chunks that lie one behind the other on both sides */
    assert_int_equal(fake.longest_copy, bytes);
    for (unsigned i = 0; i < 256; i++) {
        struct fake_stream *s = fake.stream[i];
        for (unsigned k = 0; s && k < s->tasks; k++)
            if (s->task[k].kind == FAKE_COPY)
                assert_in_range((uintptr_t)s->task[k].to, (uintptr_t)arena,
                                (uintptr_t)arena + arena_bytes - 1);
    }
    assert_false(mover_idle(mover));
    fake_let_go();
    unsigned before = ends;
    for (int turns = 0; ends == before && turns < 100; turns++) mover_pump(mover, true);
    assert_int_equal(ends, before + 1);
    assert_int_equal(histogram_count(&counters->op_device[GPU][READ]), 1);
    assert_int_equal(atomic_load(&counters->op_device[GPU][READ].sum),
                     atomic_load(&counters->op_device[CPU][WRITE].sum));
    close_all();
}

/* A read whose target is the gpu is a read of its tier and a write that lands on the device. */
static void a_cold_read_ends_on_the_device(void **state) {
    (void)state;
    static const int tiers[] = {CPU, NVME};
    for (int i = 0; i < 2; i++) {
        open_all(KVF_GPU_READ_HBM, KVF_GPU_WRITE_GENERATE, KVF_GPU_LAYOUT_CONTIGUOUS);
        uint64_t bytes = 37 * TOKEN;
        struct cache_op write = op_of(-1, 0, tiers[i], bytes);
        assert_int_equal(carry_out(&write), 0);
        struct cache_op read = op_of(tiers[i], write.to_place, -1, bytes);
        assert_int_equal(carry_out(&read), 0);
        assert_int_equal(bytes_of(tiers[i], READ, KVF_CAUSE_PREFILL), bytes);
        assert_int_equal(bytes_of(GPU, WRITE, KVF_CAUSE_PREFILL), bytes);
        assert_int_equal(histogram_count(&counters->op_device[GPU][WRITE]), 1);
        assert_int_equal(counters_get(&counters->verified[tiers[i]]), 37);
        scenario.cache.read_target = KVF_READ_TARGET_HOST;
        assert_int_equal(carry_out(&read), 0);
        assert_int_equal(bytes_of(GPU, WRITE, KVF_CAUSE_PREFILL), bytes);
        close_all();
    }
}

/* Delivered chunks are on their way to the device while the rest is still being read. */
static void disk_and_copy_overlap(void **state) {
    (void)state;
    open_all(KVF_GPU_READ_HBM, KVF_GPU_WRITE_GENERATE, KVF_GPU_LAYOUT_CONTIGUOUS);
    struct cache_op write = op_of(-1, 0, NVME, 37 * TOKEN);
    assert_int_equal(carry_out(&write), 0);
    struct cache_op read = op_of(NVME, write.to_place, -1, 37 * TOKEN),
                    move = op_of(NVME, write.to_place, GPU, 37 * TOKEN), *ops[] = {&read, &move};
    disk.most = 1;
    for (int i = 0; i < 2; i++) {
        unsigned before = ends, copies = fake.copies;
        mover_begin(mover, ops[i]);
        for (int turns = 0; fake.copies == copies; turns++) {
            assert_true(turns < 100);
            mover_pump(mover, true);
        }
        assert_true(disk.queue->n > 0);
        for (int turns = 0; ends == before && turns < 1000; turns++) mover_pump(mover, true);
        assert_int_equal(ends, before + 1);
        assert_int_equal(last_error, 0);
    }
    close_all();
}

/* The read is as long as its parts: it ends when the last copy does, and the disk has its own time in it. */
static void a_cold_read_lasts_until_it_has_landed(void **state) {
    (void)state;
    open_all(KVF_GPU_READ_HBM, KVF_GPU_WRITE_GENERATE, KVF_GPU_LAYOUT_CONTIGUOUS);
    struct cache_op write = op_of(-1, 0, NVME, 8 * TOKEN);
    assert_int_equal(carry_out(&write), 0);
    struct cache_op read = op_of(NVME, write.to_place, -1, 8 * TOKEN);
    unsigned before = ends;
    fake.held = true;
    mover_begin(mover, &read);
    for (int turns = 0; turns < 50; turns++) mover_pump(mover, true);
    assert_int_equal(ends, before);
    assert_int_equal(bytes_of(NVME, READ, KVF_CAUSE_PREFILL), 8 * TOKEN); /* off the disk, not landed */
    uint64_t from = run_clock_now(&run_time);
    while (run_clock_now(&run_time) - from < 2 * KVF_NS_PER_MS) {}
    fake_let_go();
    for (int turns = 0; ends == before && turns < 100; turns++) mover_pump(mover, true);
    assert_int_equal(ends, before + 1);
    uint64_t total = atomic_load(&counters->op_total[NVME][READ].sum),
             disk_ns = atomic_load(&counters->op_device[NVME][READ].sum),
             copy_ns = atomic_load(&counters->op_device[GPU][WRITE].sum);
    assert_true(copy_ns >= 2 * KVF_NS_PER_MS);
    assert_true(total >= disk_ns + copy_ns);
    assert_true(atomic_load(&counters->op_host[NVME][READ].sum) >= copy_ns);
    close_all();
}

static void what_the_device_finds_wrong_fails_the_read(void **state) {
    (void)state;
    open_all(KVF_GPU_READ_HBM, KVF_GPU_WRITE_GENERATE, KVF_GPU_LAYOUT_CONTIGUOUS);
    struct cache_op write = op_of(-1, 0, GPU, 8 * TOKEN);
    assert_int_equal(carry_out(&write), 0);
    ((uint8_t *)((struct cuda_tier *)tier[GPU])->device[0].memory)[2 * 4096 + 99] ^= 4;
    struct cache_op read = op_of(GPU, write.to_place, -1, 8 * TOKEN);
    assert_int_equal(carry_out(&read), EBADMSG);
    assert_non_null(strstr(last_what, "gpu read of entry"));
    assert_non_null(strstr(last_what, "the data is not what was written"));
    assert_int_equal(counters_get(&counters->mismatched[GPU]), 1);
    assert_int_equal(counters_get(&counters->verified[GPU]), 8);
    assert_int_equal(counters_get(&counters->errors[GPU][READ]), 1);
    close_all();
}

static void a_device_that_fails_is_named(void **state) {
    (void)state;
    open_all(KVF_GPU_READ_HBM, KVF_GPU_WRITE_GENERATE, KVF_GPU_LAYOUT_CONTIGUOUS);
    fake.fail_name = "fake_generate";
    fake.error = CUDA_ECC_ERROR;
    struct cache_op write = op_of(-1, 0, GPU, 8 * TOKEN);
    assert_int_equal(carry_out(&write), EREMOTEIO);
    assert_non_null(strstr(last_what,
                           "(32.0 KiB) failed: making an entry on device 0 (Played GPU) failed: its memory "
                           "has an error that ECC cannot correct"));
    fake.fail_name = NULL;
    close_all();
}

/* A stop issues nothing more, and waits for what a device is at: its buffers are in use until then. */
static void a_stop_waits_for_the_device(void **state) {
    (void)state;
    open_all(KVF_GPU_READ_HBM, KVF_GPU_WRITE_GENERATE, KVF_GPU_LAYOUT_CONTIGUOUS);
    struct cache_op write = op_of(-1, 0, GPU, 37 * TOKEN);
    assert_int_equal(carry_out(&write), 0);
    struct cache_op read = op_of(GPU, write.to_place, -1, 37 * TOKEN),
                    down = op_of(GPU, write.to_place, CPU, 37 * TOKEN),
                    out = op_of(GPU, write.to_place, NVME, 37 * TOKEN);
    fake.held = true;
    unsigned before = ends;
    mover_begin(mover, &read);
    mover_begin(mover, &down);
    mover_begin(mover, &out);
    for (int i = 0; i < 5; i++) mover_pump(mover, true);
    mover_stop(mover);
    for (int i = 0; i < 5; i++) mover_pump(mover, false);
    assert_int_equal(ends, before);
    assert_false(mover_idle(mover));
    fake_let_go();
    for (int turns = 0; !mover_idle(mover); turns++) {
        assert_true(turns < 1000);
        mover_pump(mover, false);
    }
    assert_int_equal(ends, before + 3);
    assert_int_equal(abandoned_ends, 1); /* the one that had still to be written */
    close_all();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_entry_goes_every_way_and_stays_what_it_is),
        cmocka_unit_test(between_memory_and_device_there_is_one_copy),
        cmocka_unit_test(a_cold_read_ends_on_the_device),
        cmocka_unit_test(disk_and_copy_overlap),
        cmocka_unit_test(a_cold_read_lasts_until_it_has_landed),
        cmocka_unit_test(what_the_device_finds_wrong_fails_the_read),
        cmocka_unit_test(a_device_that_fails_is_named),
        cmocka_unit_test(a_stop_waits_for_the_device),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("transfer_cuda", tests, NULL, NULL);
}
