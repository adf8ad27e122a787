/* The gpu tier beside its yardsticks, on the device at hand, in the same run and in turns.
 *
 *   bench_gpu [DEVICE | --look | --small]
 *       --look: says whether it could, by the status, and why not; --small: of little memory, to try the
 * program out
 *
 * A line each: what, its figure, the yardstick's, their ratio and its spread, the least ratio (or the most
 * difference), whether it is met. Figures are medians of pairs. Status 77 without a device.
 *
 * Files of the nvme tier lie under KVF_GPU_BENCH_PATH, the current directory without it; 1 GiB while it runs.
 * Through cuFile's compatibility mode the path to them has no target, and is named so. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/units.h"
#include "tier/cuda/cuda_api.h"
#include "tier/tier.h"

enum { PAIRS = 7, ENTRIES = 8, FILES = 4, MOST_CHUNKS = 4096 };
static const uint64_t io_size = KVF_MIB, page = 2 * KVF_MIB;
static uint64_t arena = 4 * KVF_GIB, large = 256 * KVF_MIB;

struct bench {
    const struct cuda_api *api;
    struct scenario scenario;
    struct run_clock clock;
    struct payload *payload;
    struct tier *tier;
    struct tier_queue *queue;
    uint64_t place[ENTRIES];
    void *host;  /* page-locked, `large` bytes */
    void *a, *b; /* device memory, `large` bytes each */
    void *stream, *other, *event;
    uint64_t cpu_ns, plain_cpu_ns; /* of copies: the tier's, the yardstick's */
    bool met;
};

static void check(const struct bench *x, int error, const char *doing) {
    if (error == 0) return;
    fprintf(stderr, "bench_gpu: %s failed: %s\n", doing, x->api->text(error));
    exit(1);
}

static double seconds_since(uint64_t begin_ns) {
    return (double)(clock_now_ns() - begin_ns) / (double)KVF_NS_PER_S;
}

/* ---- the tier ---- */

static struct tier_chunk chunks[MOST_CHUNKS];

/* Until the queue wants to be asked again, as a worker waits. */
static void wait_turn(const struct tier_ops *ops, const struct tier_queue *queue,
                      const struct run_clock *clock) {
    uint64_t next = ops->next_ns ? ops->next_ns(queue) : 0, now = run_clock_now(clock);
    if (next == KVF_NEVER || next <= now) return;
    struct timespec left = {.tv_nsec = (long)(next - now < KVF_NS_PER_MS ? next - now : KVF_NS_PER_MS)};
    nanosleep(&left, NULL);
}

/* At most `depth` chunks are under way. */
static void carry_out_at(const struct tier_ops *ops, struct tier_queue *queue, const struct run_clock *clock,
                         unsigned n, unsigned depth) {
    struct tier_chunk *list[MOST_CHUNKS], *done[64];
    unsigned given = 0, back = 0;
    for (unsigned i = 0; i < n; i++) list[i] = &chunks[i];
    while (back < n) {
        unsigned room = depth - (given - back), left = n - given;
        if (room > 8) room = 8;
        if (left > 0 && room > 0) given += ops->submit(queue, list + given, left < room ? left : room);
        unsigned got = ops->reap(queue, done, 64);
        for (unsigned i = 0; i < got; i++)
            if (done[i]->error) {
                bool told = done[i]->error == EREMOTEIO;
                fprintf(stderr, "bench_gpu: %s: %s\n", ops->name,
                        told ? ops->why(queue) : strerror(done[i]->error));
                exit(1);
            }
        if (got == 0) wait_turn(ops, queue, clock);
        back += got;
    }
}

static void carry_out(struct bench *x, unsigned n) {
    carry_out_at(&tier_cuda_ops, x->queue, &x->clock, n, MOST_CHUNKS);
}

/* All entries as one chunk each, by kernels: bytes a second. */
static double tier_kernel(struct bench *x, enum kvf_dir dir) {
    for (unsigned i = 0; i < ENTRIES; i++)
        chunks[i] = (struct tier_chunk){
            .dir = dir, .place = x->place[i], .entry_bytes = large, .len = large, .id = {i, 1, 2}};
    uint64_t begin = clock_now_ns();
    carry_out(x, ENTRIES);
    return (double)(ENTRIES * large) / seconds_since(begin);
}

/* An entry of that size between the host and the device, in chunks as the engine makes them, `times`. */
static double tier_copy(struct bench *x, enum kvf_dir dir, uint64_t bytes, unsigned times) {
    unsigned n = 0;
    for (unsigned k = 0; k < times; k++)
        for (uint64_t at = 0; at < bytes; at += io_size)
            chunks[n++] = (struct tier_chunk){.dir = dir,
                                              .place = x->place[k % ENTRIES],
                                              .entry_bytes = large,
                                              .offset = at,
                                              .len = bytes - at < io_size ? bytes - at : io_size,
                                              .buf = (uint8_t *)x->host + at};
    uint64_t begin = clock_now_ns(), cpu = clock_thread_cpu_ns();
    carry_out(x, n);
    x->cpu_ns += clock_thread_cpu_ns() - cpu;
    return (double)(bytes * times) / seconds_since(begin);
}

/* ---- the yardsticks ---- */

static void wait_event(struct bench *x) {
    int error;
    check(x, x->api->event_record(x->event, x->stream), "marking the end");
    while ((error = x->api->event_query(x->event)) == CUDA_NOT_READY) {}
    check(x, error, "waiting");
}

static double plain_copy(struct bench *x, void *to, const void *from, uint64_t bytes, unsigned times) {
    uint64_t begin = clock_now_ns(), cpu = clock_thread_cpu_ns();
    for (unsigned i = 0; i < times; i++) check(x, x->api->copy(to, from, bytes, x->stream), "copying");
    wait_event(x);
    x->plain_cpu_ns += clock_thread_cpu_ns() - cpu;
    return (double)(bytes * times) / seconds_since(begin);
}

/* Up and down at the same time, on a stream each: bytes of both a second. */
static double plain_both(struct bench *x, uint64_t bytes, unsigned times) {
    uint64_t begin = clock_now_ns();
    uint8_t *host = x->host;
    for (unsigned i = 0; i < times; i++) {
        uint64_t at = i * bytes % (large / 2);
        check(x, x->api->copy((uint8_t *)x->a + at, host + at, bytes, x->stream), "copying");
        check(x, x->api->copy(host + large / 2 + at, (uint8_t *)x->b + at, bytes, x->other), "copying");
    }
    check(x, x->api->stream_wait(x->other), "waiting");
    wait_event(x);
    return (double)(2 * bytes * times) / seconds_since(begin);
}

static double plain_clear(struct bench *x) {
    uint64_t begin = clock_now_ns();
    for (unsigned i = 0; i < ENTRIES; i++) check(x, x->api->clear(x->a, large, x->stream), "clearing");
    wait_event(x);
    return (double)(ENTRIES * large) / seconds_since(begin);
}

/* ---- the table ---- */

struct pairs {
    double ours[PAIRS], theirs[PAIRS], ratio[PAIRS];
};

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double middle(double *v) {
    qsort(v, PAIRS, sizeof *v, by_value);
    return v[PAIRS / 2];
}

static void line(struct bench *x, const char *what, struct pairs *p, double least) {
    char ours[32], theirs[32], target[16] = "--";
    double ratio = middle(p->ratio); /* sorts, so the ends are the spread */
    bool met = least == 0 || ratio >= least;
    if (least > 0) snprintf(target, sizeof target, ">= %.2f", least);
    units_size_human(middle(p->ours), ours, sizeof ours);
    units_size_human(middle(p->theirs), theirs, sizeof theirs);
    printf("%-40s %10s/s %10s/s  %5.2f  %.2f .. %.2f  %8s  %s\n", what, ours, theirs, ratio, p->ratio[0],
           p->ratio[PAIRS - 1], target,
           least == 0 ? "--"
           : met      ? "yes"
                      : "no");
    x->met = x->met && met;
}

/* Processor time; `most`: of the yardstick's, 0 for none. */
static void line_cpu(struct bench *x, struct pairs *p, double most) {
    double ratio = middle(p->ratio);
    bool met = most == 0 || ratio <= most;
    char target[16] = "--";
    if (most > 0) snprintf(target, sizeof target, "<= %.2f", most);
    printf("%-40s %9.1f ms %9.1f ms   %5.2f  %.2f .. %.2f  %8s  %s\n", "  processor time a GiB",
           middle(p->ours), middle(p->theirs), ratio, p->ratio[0], p->ratio[PAIRS - 1], target,
           most == 0 ? "--"
           : met     ? "yes"
                     : "no");
    x->met = x->met && met;
}

static void bench_memory(struct bench *x) {
    struct pairs read, made;
    (void)tier_kernel(x, KVF_DIR_WRITE);
    (void)tier_kernel(x, KVF_DIR_READ);
    (void)plain_copy(x, x->a, x->b, large, 1);
    for (int i = 0; i < PAIRS; i++) {
        read.ours[i] = tier_kernel(x, KVF_DIR_READ);
        read.theirs[i] = plain_copy(x, x->a, x->b, large, ENTRIES);
        read.ratio[i] = read.ours[i] / read.theirs[i];
        made.ours[i] = tier_kernel(x, KVF_DIR_WRITE);
        made.theirs[i] = plain_clear(x);
        made.ratio[i] = made.ours[i] / made.theirs[i];
    }
    line(x, "read in device memory : copy there", &read, 0.85);
    line(x, "made on the device : memset", &made, 0.8);
}

/* `piece`: what the yardstick copies at a time; entries by layer are copied in such pieces too. */
static void bench_copies(struct bench *x, enum kvf_dir dir, uint64_t bytes, uint64_t piece, double least) {
    unsigned times = (unsigned)(large / bytes); /* chunks for all of it: at most MOST_CHUNKS */
    bool up = dir == KVF_DIR_WRITE;
    struct pairs p, cpu;
    char what[64], size[32], each[32];
    for (int i = -1; i < PAIRS; i++) {
        x->cpu_ns = x->plain_cpu_ns = 0;
        double ours = tier_copy(x, dir, bytes, times);
        double theirs =
            plain_copy(x, up ? x->a : x->host, up ? x->host : x->a, piece, (unsigned)(large / piece));
        if (i < 0) continue;
        p.ours[i] = ours;
        p.theirs[i] = theirs;
        p.ratio[i] = ours / theirs;
        cpu.ours[i] = (double)x->cpu_ns / 1e6 / ((double)large / (double)KVF_GIB);
        cpu.theirs[i] = (double)x->plain_cpu_ns / 1e6 / ((double)large / (double)KVF_GIB);
        cpu.ratio[i] = cpu.ours[i] / cpu.theirs[i];
    }
    units_size_human((double)bytes, size, sizeof size);
    units_size_human((double)piece, each, sizeof each);
    snprintf(what, sizeof what, piece == bytes ? "%s device, %s : one copy" : "%s device, %s by layer : %s",
             up ? "to" : "from", size, each);
    line(x, what, &p, least);
    line_cpu(x, &cpu, least > 0 ? 1 : 0);
}

/* Entries on their way up while others come down: chunks of both in one queue. */
static double tier_both(struct bench *x, uint64_t bytes, unsigned times) {
    unsigned n = 0;
    for (unsigned k = 0; k < times; k++)
        for (uint64_t at = 0; at < bytes; at += io_size)
            for (int dir = 0; dir < KVF_DIRS; dir++)
                chunks[n++] =
                    (struct tier_chunk){.dir = (enum kvf_dir)dir,
                                        .place = x->place[2 * (k % (ENTRIES / 2)) + (unsigned)dir],
                                        .entry_bytes = large,
                                        .offset = at,
                                        .len = bytes - at < io_size ? bytes - at : io_size,
                                        .buf = (uint8_t *)x->host + (unsigned)dir * (large / 2) + at};
    uint64_t begin = clock_now_ns();
    carry_out(x, n);
    return (double)(2 * bytes * times) / seconds_since(begin);
}

static void bench_both(struct bench *x, uint64_t bytes) {
    unsigned times = (unsigned)(2 * large / bytes);
    struct pairs p;
    char what[64], size[32];
    for (int i = -1; i < PAIRS; i++) {
        double ours = tier_both(x, bytes, times), theirs = plain_both(x, bytes, times);
        if (i < 0) continue;
        p.ours[i] = ours;
        p.theirs[i] = theirs;
        p.ratio[i] = ours / theirs;
    }
    snprintf(what, sizeof what, "both ways, %s : two streams",
             units_size_human((double)bytes, size, sizeof size));
    line(x, what, &p, 0.95);
}

/* The cost of an operation beyond its transfer, one at a time, in microseconds. */
static void bench_overhead(struct bench *x) {
    enum { TIMES = 1000 };
    const uint64_t bytes = 64 * KVF_KIB;
    double beyond[PAIRS];
    for (int i = 0; i < PAIRS; i++) {
        double ours = 0, theirs = 0;
        for (int k = 0; k < TIMES; k++) {
            ours += (double)bytes / tier_copy(x, KVF_DIR_READ, bytes, 1);
            theirs += (double)bytes / plain_copy(x, x->host, x->a, bytes, 1);
        }
        beyond[i] = (ours - theirs) / TIMES * 1e6;
    }
    double us = middle(beyond);
    printf("%-40s %10.2f us, %.2f .. %.2f, target < 10 us  %s\n", "an operation beyond its transfer", us,
           beyond[0], beyond[PAIRS - 1], us < 10 ? "yes" : "no");
    x->met = x->met && us < 10;
}

/* ---- between files and the device ---- */

struct files {
    struct tier *tier;
    struct tier_queue *queue;
    uint64_t place[FILES];
};

/* 0, or why not in `e`. */
static int files_open(struct bench *x, struct files *f, struct err *e) {
    const char *path = getenv("KVF_GPU_BENCH_PATH");
    struct scenario *s = &x->scenario;
    struct tier_setup setup = {.scenario = s,
                               .tier = KVF_TIER_NVME,
                               .usable_bytes = FILES * large,
                               .page_bytes = 2 * KVF_MIB,
                               .min_entry_bytes = large,
                               .workers = 1,
                               .run_tag = clock_now_ns(),
                               .clock = &x->clock,
                               .payload = x->payload,
                               .gpu = x->tier};
    s->tier[KVF_TIER_NVME].on = true;
    s->nvme.layout = KVF_NVME_LAYOUT_ARENA;
    s->nvme.direct_to_gpu = KVF_DIRECT_TO_GPU_ON;
    s->nvme.path_count = 1;
    snprintf(s->nvme.path[0], sizeof s->nvme.path[0], "%s", path ? path : ".");
    int rc = tier_nvme_ops.open(&f->tier, &setup, e);
    if (rc == 0) rc = tier_nvme_ops.queue_open(f->tier, &f->queue, 0, 32, e);
    for (unsigned i = 0; i < FILES && rc == 0; i++) f->place[i] = tier_nvme_ops.alloc(f->tier, large);
    return rc;
}

/* All of the files one after the other, to and from device memory or the host's: bytes a second. */
static double files_pass(struct bench *x, struct files *f, enum kvf_dir dir, bool device) {
    unsigned n = 0;
    uint64_t begin = clock_now_ns();
    for (unsigned i = 0; i < FILES; i++) {
        (void)tier_nvme_ops.begin(f->queue, f->place[i], large, dir);
        for (uint64_t at = 0; at < large; at += io_size) {
            struct tier_chunk *c = &chunks[n++];
            *c = (struct tier_chunk){.dir = dir,
                                     .place = f->place[i],
                                     .entry_bytes = large,
                                     .offset = at,
                                     .len = io_size,
                                     .buf = (uint8_t *)x->host + at,
                                     .on_device = device};
            if (device)
                (void)tier_cuda_ops.reach_device(x->queue, x->place[i], at, io_size, &c->buf, &c->device);
        }
    }
    carry_out_at(&tier_nvme_ops, f->queue, &x->clock, n, 32);
    for (unsigned i = 0; i < FILES; i++) tier_nvme_ops.end(f->queue, f->place[i], dir);
    return (double)(FILES * large) / seconds_since(begin);
}

/* The device alone takes many times what a disk gives, so the slower leg is the files'. */
static void bench_files(struct bench *x) {
    struct files f = {0};
    struct err e = {0};
    if (files_open(x, &f, &e) != 0) {
        printf("%-40s skipped: %s\n", "files and device, directly", e.text);
    } else {
        bool compat = (tier_nvme_ops.caps(f.tier) & TIER_COMPAT) != 0;
        printf("%s\n", tier_nvme_ops.notice(f.tier));
        for (int dir = KVF_DIRS - 1; dir >= 0; dir--) { /* there is something to read once it is written */
            struct pairs p;
            char what[64];
            (void)files_pass(x, &f, (enum kvf_dir)dir, true);
            for (int i = 0; i < PAIRS; i++) {
                p.ours[i] = files_pass(x, &f, (enum kvf_dir)dir, true);
                p.theirs[i] = files_pass(x, &f, (enum kvf_dir)dir, false);
                p.ratio[i] = p.ours[i] / p.theirs[i];
            }
            snprintf(what, sizeof what, "%s%s : host alone",
                     dir == KVF_DIR_READ ? "nvme to gpu" : "gpu to nvme", compat ? " (compat)" : ", direct");
            line(x, what, &p, compat ? 0 : 0.9);
        }
    }
    tier_nvme_ops.queue_close(f.queue);
    if (f.tier) tier_nvme_ops.close(f.tier);
}

/* ---- opening ---- */

static void tier_open(struct bench *x, uint64_t bytes, uint64_t entry) {
    struct err e = {0};
    struct tier_setup setup = {.scenario = &x->scenario,
                               .tier = KVF_TIER_GPU,
                               .usable_bytes = bytes,
                               .page_bytes = page,
                               .min_entry_bytes = page,
                               .workers = 1,
                               .clock = &x->clock,
                               .payload = x->payload};
    if (tier_cuda_ops.open(&x->tier, &setup, &e) != 0 ||
        tier_cuda_ops.queue_open(x->tier, &x->queue, 0, 32, &e) != 0) {
        fprintf(stderr, "bench_gpu: %s\n", e.text);
        exit(1);
    }
    for (unsigned i = 0; i < ENTRIES; i++) x->place[i] = tier_cuda_ops.alloc(x->tier, entry);
}

static void tier_close(struct bench *x) {
    tier_cuda_ops.queue_close(x->queue);
    tier_cuda_ops.close(x->tier);
}

/* The cost of a block of 16 tokens in 64 pieces of 32 KiB, as engines did. */
static void bench_layers(struct bench *x) {
    tier_close(x);
    x->scenario.nvme.direct_to_gpu = KVF_DIRECT_TO_GPU_OFF;
    x->scenario.gpu.layout = KVF_GPU_LAYOUT_LAYERS;
    x->scenario.model.layers = 32;
    x->scenario.model.kv_lora_rank = 0;
    tier_open(x, 2 * ENTRIES * page, page);
    bench_copies(x, KVF_DIR_READ, page, page / 64, 0.95);
    bench_copies(x, KVF_DIR_WRITE, page, page / 64, 0.95);
}

static void bench_open(struct bench *x, uint32_t device) {
    struct err e = {0};
    char why[400];
    x->api = cuda_api_real();
    scenario_default(&x->scenario);
    x->scenario.gpu.devices[0] = device;
    x->scenario.gpu.device_count = 1;
    x->scenario.tensor_parallel = 1;
    if (!tier_cuda_ready(&x->scenario, why, sizeof why)) {
        fprintf(stderr, "bench_gpu: %s\n", why);
        exit(77);
    }
    x->payload = payload_open(1, 64 * KVF_MIB, &e);
    if (!x->payload) {
        fprintf(stderr, "bench_gpu: %s\n", e.text);
        exit(1);
    }
    tier_open(x, arena, large);
    check(x, x->api->host_alloc(&x->host, large), "page-locking memory");
    memset(x->host, 1, large);
    check(x, x->api->alloc(&x->a, large), "taking device memory");
    check(x, x->api->alloc(&x->b, large), "taking device memory");
    check(x, x->api->stream_new(&x->stream), "opening a stream");
    check(x, x->api->stream_new(&x->other), "opening a stream");
    check(x, x->api->event_new(&x->event), "making an event");
    tier_cuda_ops.describe(x->tier, why, sizeof why);
    printf("%s\n", why);
    tier_cuda_versions(why, sizeof why);
    printf("%s; medians of %d pairs in turn\n\n", why, PAIRS);
}

int main(int argc, char **argv) {
    static struct bench x = {.met = true};
    clock_thread_precise(); /* as workers do */
    static const uint64_t sizes[] = {64 * KVF_KIB, KVF_MIB, 16 * KVF_MIB, 256 * KVF_MIB};
    if (!cuda_api_real()) {
        fprintf(stderr, "bench_gpu: this build has no CUDA\n");
        return 77;
    }
    if (argc > 1 && strcmp(argv[1], "--look") == 0) {
        scenario_default(&x.scenario);
        char why[400];
        if (tier_cuda_ready(&x.scenario, why, sizeof why)) return 0;
        printf("%s\n", why);
        return 77;
    }
    bool small = argc > 1 && strcmp(argv[1], "--small") == 0;
    if (small) {
        arena = 64 * KVF_MIB;
        large = 4 * KVF_MIB;
    }
    bench_open(&x, argc > 1 && !small ? (uint32_t)strtoul(argv[1], NULL, 10) : 0);
    printf("%-40s %12s %12s  ratio  spread          target  met\n", "figure : yardstick", "kvfall",
           "yardstick");
    bench_memory(&x);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] && sizes[i] <= large; i++) {
        double least = 0.95;
        bench_copies(&x, KVF_DIR_READ, sizes[i], sizes[i], least);
        bench_copies(&x, KVF_DIR_WRITE, sizes[i], sizes[i], least);
    }
    bench_both(&x, KVF_MIB);
    bench_both(&x, large / 16);
    bench_overhead(&x);
    bench_files(&x);
    bench_layers(&x);
    (void)x.api->event_free(x.event);
    (void)x.api->stream_free(x.stream);
    (void)x.api->stream_free(x.other);
    (void)x.api->release(x.a);
    (void)x.api->release(x.b);
    (void)x.api->host_release(x.host);
    tier_close(&x);
    payload_close(x.payload);
    return x.met ? 0 : 1;
}
