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
#include "metrics/histogram.h"
#include "tier/tier.h"

#define PAGE_BYTES UINT64_C(4096)
#define MOST_DEPTH UINT64_C(64)

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
    bool filling;
    uint64_t until_ns;
    struct streamer *streamer;
    atomic_bool failed;
};

static bool over(const struct calibration *c) {
    return atomic_load(&c->failed) || (c->setup->stop && atomic_load(c->setup->stop)) ||
           clock_now_ns() >= c->until_ns;
}

static void fail(struct streamer *s, int errnum) {
    err_set_errno(&s->err, KVF_ERR_IO, errnum, "the %s tier cannot be measured: %s of a chunk failed",
                  tier_name(s->c->tier->tier), dir_name(s->c->dir));
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
    void *buf = chunk->buf;
    *chunk = (struct tier_chunk){.dir = s->c->dir,
                                 .place = s->place,
                                 .entry_bytes = s->bytes,
                                 .offset = offset,
                                 .len = len,
                                 .buf = buf,
                                 .owner = s};
    if (chunk->dir == KVF_DIR_WRITE) stamp(s, chunk);
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
        if (done[i]->error) fail(s, done[i]->error);
    }
    return n;
}

/* Chunk after chunk, as many under way as the depth allows, round and round over the part, or once when it
 * is filled. */
static void stream(struct streamer *s, struct tier_queue *q) {
    struct calibration *c = s->c;
    uint64_t end = c->filling ? s->bytes : s->filled, at = 0, begin_ns = clock_now_ns();
    struct tier_chunk *spare[MOST_DEPTH], *done[REAPED];
    unsigned spares = 0, out = 0;
    bool wanted = true;

    for (uint64_t i = 0; i < c->depth; i++) spare[spares++] = &s->chunk[i];
    while (out || wanted) {
        wanted = wanted && !over(c) && (at < end || !c->filling);
        if (wanted && spares) {
            if (at >= end) at = 0;
            uint64_t len = end - at < c->chunk_bytes ? end - at : c->chunk_bytes;
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
    while (!over(s->c) && blocks) {
        uint64_t offset = rng_range(&rng, 0, blocks - 1) * CALIBRATE_LATENCY_BYTES;
        uint64_t begin_ns = clock_now_ns();
        if (!send(s, q, &s->chunk[0], offset, CALIBRATE_LATENCY_BYTES)) {
            fail(s, EAGAIN);
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
        fail(s, errnum);
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
        for (uint64_t k = 0; k < c->depth; k++) s->chunk[k].buf = s->buffers + k * c->chunk_bytes;
    }
    return 0;
}

static void streamers_close(struct calibration *c) {
    for (uint32_t i = 0; c->streamer && i < c->workers; i++) {
        free(c->streamer[i].chunk);
        free(c->streamer[i].buffers);
        free(c->streamer[i].latency);
    }
    free(c->streamer);
}

static int measure_all(struct calibration *c, struct calibrate_result *out, struct err *e) {
    uint64_t ns = c->setup->stream_ns;
    double ignored;

    c->filling = true;
    int rc = measure(c, "filling", KVF_DIR_WRITE, c->workers, ns, &ignored, e);
    c->filling = false;
    for (uint32_t i = 0; i < c->workers; i++) out->filled_bytes += c->streamer[i].filled;
    if (rc == 0) rc = measure(c, "writing", KVF_DIR_WRITE, c->workers, ns, &out->write_bytes_s, e);
    if (rc == 0) rc = measure(c, "reading", KVF_DIR_READ, c->workers, ns, &out->read_bytes_s, e);
    if (rc != 0) return rc;
    struct histogram *h = c->streamer[0].latency = mem_zalloc(1, sizeof *h);
    rc = measure(c, "small reads of", KVF_DIR_READ, 1, c->setup->latency_ns, &ignored, e);
    out->latency_ns = histogram_quantile(h, 0.5);
    return rc;
}

int calibrate_tier(const struct calibrate_setup *setup, enum kvf_tier tier, struct calibrate_result *out,
                   struct err *e) {
    const struct scenario *sc = setup->scenario;
    struct calibration c = {.setup = setup,
                            .workers = (uint32_t)sc->engine.workers,
                            .depth = sc->nvme.io_depth < MOST_DEPTH ? sc->nvme.io_depth : MOST_DEPTH,
                            .chunk_bytes = sc->nvme.io_size};
    struct tier_setup ts = {.scenario = sc,
                            .tier = tier,
                            .usable_bytes = setup->bytes,
                            .page_bytes = PAGE_BYTES,
                            .min_entry_bytes = PAGE_BYTES,
                            .workers = c.workers,
                            .clock = &c.clock};

    *out = (struct calibrate_result){0};
    (void)!getrandom(&ts.run_tag, sizeof ts.run_tag, 0);
    const struct tier_ops *ops = tier_backend(&ts, e);
    if (!ops) return -(int)e->code;
    int rc = ops->open(&c.tier, &ts, e);
    if (rc != 0) return rc;
    ops->describe(c.tier, out->description, sizeof out->description);
    if (ops->caps(c.tier) & TIER_EMULATED)
        rc = err_set(e, KVF_ERR_UNAVAILABLE, "the %s tier is emulated here", tier_name(tier));
    else
        rc = streamers_open(&c, e);
    if (rc == 0) rc = measure_all(&c, out, e);
    streamers_close(&c);
    ops->close(c.tier);
    return rc;
}
