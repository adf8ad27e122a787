#include "engine/calibrate.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/rng.h"
#include "base/units.h"
#include "metrics/histogram.h"
#include "tier/tier.h"

#define PAGE_BYTES   UINT64_C(4096)
#define MOST_DEPTH   UINT64_C(64)
#define DEVICE_DEPTH UINT64_C(16)
#define DEVICE_CHUNK (4 * KVF_MIB)   /* of a copy */
#define KERNEL_CHUNK (256 * KVF_MIB) /* far longer than a launch takes */
#define NOISE_BYTES  (16 * KVF_MIB)

enum { REAPED = 64, WAIT_MS = 100 };

struct calibration;

/* A worker: a queue, its part of the tier as one entry, and its chunks with their buffers. */
struct streamer {
    struct calibration *c;
    pthread_t thread;
    uint32_t index;
    uint64_t place, bytes;
    uint64_t filled; /* from the beginning of the part */
    uint64_t moved;  /* in the last stream */
    double rate;     /* of it, bytes/s */
    uint64_t stamp;
    uint8_t *buffers;
    bool pinned;
    struct tier_chunk *chunk;
    struct histogram *latency;
    struct err err;
};

struct calibration {
    const struct calibrate_setup *setup;
    struct tier *tier;
    struct run_clock clock;
    uint32_t workers;
    uint64_t depth, chunk_bytes;
    enum kvf_dir dir;
    bool within; /* chunks without a buffer, of a tier that makes and reads entries itself */
    bool filling;
    uint64_t until_ns;
    struct streamer *streamer;
    atomic_bool failed;
};

/* However late it is, something is to be measured. */
static bool over(const struct calibration *c, bool some) {
    return atomic_load(&c->failed) || (c->setup->stop && atomic_load(c->setup->stop)) ||
           (some && clock_now_ns() >= c->until_ns);
}

static void fail(struct streamer *s, const struct tier_queue *q, int errnum) {
    const struct tier *t = s->c->tier;
    if (errnum == EREMOTEIO && t->ops->why)
        err_set(&s->err, KVF_ERR_IO, "the %s tier cannot be measured: %s", tier_name(t->tier),
                t->ops->why(q));
    err_set_errno(&s->err, KVF_ERR_IO, errnum, "the %s tier cannot be measured: %s of a chunk failed",
                  tier_name(t->tier), dir_name(s->c->dir));
    atomic_store(&s->c->failed, true);
}

/* Blocks that repeat could be stored once, so each gets a number of its own. */
static void stamp(struct streamer *s, const struct tier_chunk *chunk) {
    for (uint64_t at = 0; at < chunk->len; at += PAGE_BYTES, s->stamp++) {
        uint64_t words[2] = {s->stamp, s->index};
        memcpy((uint8_t *)chunk->buf + at, words, sizeof words);
    }
}

/* The chunk at an offset onto its way; false when the queue takes no more for now. */
static bool send(struct streamer *s, struct tier_queue *q, struct tier_chunk *chunk, uint64_t offset,
                 uint64_t len) {
    void *buf = s->c->within ? NULL : s->buffers + (uint64_t)(chunk - s->chunk) * s->c->chunk_bytes;
    *chunk = (struct tier_chunk){.dir = s->c->dir,
                                 .place = s->place,
                                 .entry_bytes = s->bytes,
                                 .offset = offset,
                                 .len = len,
                                 .buf = buf,
                                 .owner = s};
    if (chunk->dir == KVF_DIR_WRITE && buf) stamp(s, chunk);
    return s->c->tier->ops->submit(q, &chunk, 1) == 1;
}

/* Takes back what has completed; waits a moment when nothing has. */
static unsigned take(struct streamer *s, struct tier_queue *q, struct tier_chunk **done) {
    const struct tier_ops *ops = s->c->tier->ops;
    unsigned n = ops->reap(q, done, REAPED);
    if (n == 0 && ops->fd(q) >= 0) {
        struct pollfd p = {.fd = ops->fd(q), .events = POLLIN};
        (void)poll(&p, 1, WAIT_MS);
        n = ops->reap(q, done, REAPED);
    }
    for (unsigned i = 0; i < n; i++) {
        s->moved += done[i]->len;
        if (done[i]->error) fail(s, q, done[i]->error);
    }
    return n;
}

/* Chunk after chunk, as many under way as the depth allows, round and round over the part, or once when it
 * is filled. */
static void stream(struct streamer *s, struct tier_queue *q) {
    struct calibration *c = s->c;
    uint64_t end = c->filling ? s->bytes : s->filled, at = 0, begin_ns = clock_now_ns();
    uint64_t most = c->within ? KERNEL_CHUNK : c->chunk_bytes;
    struct tier_chunk *spare[MOST_DEPTH], *done[REAPED];
    unsigned spares = 0, out = 0;
    bool wanted = true;

    for (uint64_t i = 0; i < c->depth; i++) spare[spares++] = &s->chunk[i];
    while (out || wanted) {
        wanted = wanted && end > 0 && !over(c, at > 0 || out > 0) && (at < end || !c->filling);
        if (wanted && spares) {
            if (at >= end) at = 0;
            uint64_t len = end - at < most ? end - at : most;
            if (send(s, q, spare[spares - 1], at, len)) {
                at += len;
                spares--, out++;
                if (spares && c->tier->ops->fd(q) >= 0) continue;
            }
        }
        if (!out) continue;
        unsigned n = take(s, q, done);
        for (unsigned i = 0; i < n; i++) spare[spares++] = done[i];
        out -= n;
    }
    if (c->filling) s->filled = at;
    s->rate = (double)s->moved * 1e9 / (double)(clock_now_ns() - begin_ns + 1);
}

/* One small read after the other, anywhere in what was filled. */
static void small_reads(struct streamer *s, struct tier_queue *q) {
    struct rng rng;
    struct tier_chunk *done[REAPED];
    uint64_t blocks = s->filled / CALIBRATE_LATENCY_BYTES;

    rng_init(&rng, s->index, KVF_RNG_PAYLOAD, 0);
    for (uint64_t n = 0; !over(s->c, n > 0) && blocks; n++) {
        uint64_t offset = rng_range(&rng, 0, blocks - 1) * CALIBRATE_LATENCY_BYTES;
        uint64_t begin_ns = clock_now_ns();
        if (!send(s, q, &s->chunk[0], offset, CALIBRATE_LATENCY_BYTES)) {
            fail(s, q, EAGAIN);
            return;
        }
        while (take(s, q, done) == 0) {}
        histogram_record(s->latency, clock_now_ns() - begin_ns);
    }
}

static void *streamer_main(void *arg) {
    struct streamer *s = arg;
    struct calibration *c = s->c;
    const struct tier_ops *ops = c->tier->ops;
    struct tier_queue *q = NULL;

    s->moved = 0;
    s->rate = 0;
    if (ops->queue_open(c->tier, &q, s->index, (uint32_t)c->depth, &s->err)) {
        atomic_store(&c->failed, true);
        return NULL;
    }
    int errnum = ops->begin ? ops->begin(q, s->place, s->bytes, c->dir) : 0;
    if (errnum)
        fail(s, q, errnum);
    else if (s->latency)
        small_reads(s, q);
    else
        stream(s, q);
    if (!errnum && ops->end) ops->end(q, s->place, c->dir);
    ops->queue_close(q);
    return NULL;
}

/* Lets the first `count` workers do it for ns; the sum of their rates. */
static int measure(struct calibration *c, const char *doing, enum kvf_dir dir, uint32_t count, uint64_t ns,
                   double *rate, struct err *e) {
    uint32_t started = 0;
    sigset_t all, before;

    if (c->setup->progress) c->setup->progress(c->setup->ctx, c->tier->tier, doing);
    c->dir = dir;
    c->until_ns = clock_now_ns() + ns;
    sigfillset(&all); /* signals are the caller's */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (; started < count; started++) {
        int errnum = pthread_create(&c->streamer[started].thread, NULL, streamer_main, &c->streamer[started]);
        if (!errnum) continue;
        err_set_errno(e, KVF_ERR_INTERNAL, errnum, "cannot start a thread to measure with");
        atomic_store(&c->failed, true);
        break;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    *rate = 0;
    for (uint32_t i = 0; i < started; i++) {
        struct streamer *s = &c->streamer[i];
        pthread_join(s->thread, NULL);
        *rate += s->rate;
        if (err_is(&s->err)) err_set(e, s->err.code, "%s", s->err.text);
    }
    if (e->code) return -(int)e->code;
    if (c->setup->stop && atomic_load(c->setup->stop))
        return err_set(e, KVF_ERR_CANCELLED, "stopped while the %s tier was measured",
                       tier_name(c->tier->tier));
    return 0;
}

static int streamers_open(struct calibration *c, struct err *e) {
    uint64_t part = c->setup->bytes / c->workers / PAGE_BYTES * PAGE_BYTES;

    c->streamer = mem_zalloc(c->workers, sizeof *c->streamer);
    for (uint32_t i = 0; i < c->workers; i++) {
        struct streamer *s = &c->streamer[i];
        struct rng rng;
        s->c = c;
        s->index = i;
        s->bytes = part;
        s->place = c->tier->ops->alloc(c->tier, part);
        s->chunk = mem_zalloc(c->depth, sizeof *s->chunk);
        s->buffers = aligned_alloc(PAGE_BYTES, c->depth * c->chunk_bytes);
        if (!s->buffers)
            return err_set(e, KVF_ERR_NOMEM, "there is no memory for the buffers to measure with");
        rng_init(&rng, i, KVF_RNG_PAYLOAD, 1);
        rng_fill(&rng, s->buffers, c->depth * c->chunk_bytes);
        if (!c->tier->ops->pin) continue;
        int rc = c->tier->ops->pin(c->tier, s->buffers, c->depth * c->chunk_bytes, NULL, e);
        if (rc != 0) return rc;
        s->pinned = true;
    }
    return 0;
}

static void streamers_close(struct calibration *c) {
    for (uint32_t i = 0; c->streamer && i < c->workers; i++) {
        if (c->streamer[i].pinned) c->tier->ops->unpin(c->tier, c->streamer[i].buffers);
        free(c->streamer[i].chunk);
        free(c->streamer[i].buffers);
        free(c->streamer[i].latency);
    }
    free(c->streamer);
}

static int measure_all(struct calibration *c, struct calibrate_result *out, struct err *e) {
    uint64_t ns = c->setup->stream_ns;
    bool device = c->within;
    double ignored;

    c->filling = true;
    int rc = measure(c, "filling", KVF_DIR_WRITE, c->workers, ns, &ignored, e);
    c->filling = false;
    for (uint32_t i = 0; i < c->workers; i++) out->filled_bytes += c->streamer[i].filled;
    if (rc == 0) rc = measure(c, "writing", KVF_DIR_WRITE, c->workers, ns, &out->write_bytes_s, e);
    if (rc == 0) rc = measure(c, "reading", KVF_DIR_READ, c->workers, ns, &out->read_bytes_s, e);
    c->within = false;
    out->link_write_bytes_s = out->write_bytes_s;
    out->link_read_bytes_s = out->read_bytes_s;
    if (rc == 0 && device)
        rc = measure(c, "copies to", KVF_DIR_WRITE, c->workers, ns, &out->link_write_bytes_s, e);
    if (rc == 0 && device)
        rc = measure(c, "copies from", KVF_DIR_READ, c->workers, ns, &out->link_read_bytes_s, e);
    if (rc != 0) return rc;
    struct histogram *h = c->streamer[0].latency = mem_zalloc(1, sizeof *h);
    rc = measure(c, "small reads of", KVF_DIR_READ, 1, c->setup->latency_ns, &ignored, e);
    out->latency_ns = histogram_quantile(h, 0.5);
    return rc;
}

/* The tier is open. */
static int measure_tier(struct calibration *c, struct calibrate_result *out, struct err *e) {
    const uint32_t both = TIER_MAKES | TIER_READS;
    uint32_t caps = c->tier->ops->caps(c->tier);
    int rc;

    c->tier->ops->describe(c->tier, out->description, sizeof out->description);
    c->within = (caps & both) == both;
    if (caps & TIER_EMULATED)
        return err_set(e, KVF_ERR_UNAVAILABLE, "the %s tier is emulated here", tier_name(c->tier->tier));
    rc = streamers_open(c, e);
    if (rc == 0) rc = measure_all(c, out, e);
    streamers_close(c);
    return rc;
}

int calibrate_tier(const struct calibrate_setup *setup, enum kvf_tier tier, struct calibrate_result *out,
                   struct err *e) {
    const struct scenario *sc = setup->scenario;
    bool device = tier == KVF_TIER_GPU && sc->gpu.backend == KVF_BACKEND_CUDA;
    struct calibration c = {.setup = setup,
                            .workers = device ? 1 : (uint32_t)sc->engine.workers,
                            .depth = sc->nvme.io_depth < MOST_DEPTH ? sc->nvme.io_depth : MOST_DEPTH,
                            .chunk_bytes = device ? DEVICE_CHUNK : sc->nvme.io_size};
    if (device && c.depth > DEVICE_DEPTH) c.depth = DEVICE_DEPTH;
    struct tier_setup ts = {.scenario = sc,
                            .tier = tier,
                            .usable_bytes = setup->bytes,
                            .page_bytes = PAGE_BYTES,
                            .min_entry_bytes = PAGE_BYTES,
                            .workers = c.workers,
                            .clock = &c.clock};
    struct payload *payload = NULL;
    int rc = 0;

    *out = (struct calibrate_result){0};
    (void)!getrandom(&ts.run_tag, sizeof ts.run_tag, 0);
    const struct tier_ops *ops = tier_backend(&ts, e);
    if (!ops) return -(int)e->code;
    if (device && !(payload = payload_open(ts.run_tag, NOISE_BYTES, e))) return -(int)e->code;
    ts.payload = payload;
    rc = ops->open(&c.tier, &ts, e);
    if (rc == 0) rc = measure_tier(&c, out, e);
    ops->close(c.tier);
    payload_close(payload);
    return rc;
}
