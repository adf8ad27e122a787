#include <errno.h>
#include <inttypes.h>
#include <libaio.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tier/cufile.h"
#include "tier/nvme/nvme.h"

/* A worker's queue: a ring of the kernel, an eventfd that says when something completed, and slots.
 *
 * A slot is one iocb. A chunk is one slot in layout files; in an arena it is as many as it has
 * stretches. A chunk whose slots do not suffice is `partial`: the rest follows as slots come back, and
 * until then no further chunk is taken, so there is at most one. A slot that the kernel would not take
 * again (the rest of a short transfer, an fdatasync) waits in `again`. Both are tried at every submit
 * and reap; when nothing is in flight that would wake the worker, the eventfd is set by hand.
 *
 * The eventfd's count and the events taken are kept in balance (`unread`), so that a reap of an empty
 * ring costs no system call. The count is read before the ring is: an event that comes in between sets
 * it again and is never lost.
 *
 * Chunks in device memory take the same way in and out, but cuFile's threads carry them, each as one task;
 * these set the eventfd as the kernel does. Such a chunk keeps a slot by, so that an fdatasync behind it
 * always has one. */

enum { EVENTS = 64, SLOTS_MAX = 4096 };

/* A chunk's internal words while it is in this queue. */
enum { CHUNK_ISSUED, CHUNK_TOTAL, CHUNK_FLYING, CHUNK_OP, CHUNK_SYNCED };

struct nvme_slot {
    struct iocb cb;
    struct tier_chunk *chunk;
    uint64_t left; /* bytes asked for */
    bool retried;  /* this is the rest of a short transfer */
    bool sync;     /* an fdatasync */
    bool flying;   /* the kernel has it */
    struct nvme_slot *next;
};

/* A chunk in device memory on its way. */
struct nvme_task {
    struct gds_task gds;
    struct nvme_slot *slot; /* kept by */
    struct nvme_task *next;
};

/* Head of the kernel's completion ring, which it maps at the context's address. */
struct ring_head {
    unsigned id, nr;
    _Atomic unsigned head, tail;
    unsigned magic, compat_features, incompat_features, header_length;
};
#define RING_MAGIC 0xa10a10a1u

struct tier_queue {
    struct nvme_tier *tier;
    io_context_t ctx;
    const struct ring_head *ring; /* NULL when its layout is not the known one */
    int event_fd;
    int64_t unread;            /* events taken whose count in the eventfd has not been read */
    uint32_t depth, in_flight; /* chunks taken and not handed back */
    uint32_t slots, flying;    /* slots given to the kernel */
    struct nvme_slot *slot, *free, *again;
    struct tier_chunk *partial;
    struct tier_chunk *done_head, *done_tail;
    struct iocb **batch;
    struct nvme_op_table ops;
    struct io_event event[EVENTS];
    struct gds_line *line; /* NULL: no chunks in device memory */
    struct nvme_task *task, *task_free;
    char why[300];
};

static struct nvme_slot *slot_of(struct iocb *cb) {
    return (struct nvme_slot *)cb->data;
}

static void slot_free(struct tier_queue *q, struct nvme_slot *s) {
    s->next = q->free;
    q->free = s;
}

static struct nvme_slot *slot_take(struct tier_queue *q) {
    struct nvme_slot *s = q->free;
    q->free = s->next;
    s->retried = s->sync = s->flying = false;
    return s;
}

static void kick(struct tier_queue *q) {
    uint64_t one = 1;
    if (write(q->event_fd, &one, sizeof one) == (ssize_t)sizeof one) q->unread++;
}

static void chunk_done(struct tier_queue *q, struct tier_chunk *c, uint64_t now) {
    c->complete_ns = now;
    c->next = NULL;
    if (q->done_tail)
        q->done_tail->next = c;
    else
        q->done_head = c;
    q->done_tail = c;
}

int nvme_queue_begin(struct tier_queue *q, uint64_t place, uint64_t bytes, enum kvf_dir dir) {
    return nvme_op_begin(&q->ops, q->tier, place, bytes, dir);
}

void nvme_queue_end(struct tier_queue *q, uint64_t place, enum kvf_dir dir) {
    nvme_op_end(&q->ops, q->tier, place, dir);
}

static void slot_prepare(struct tier_queue *q, struct nvme_slot *s, int fd, void *buf, uint64_t len,
                         uint64_t at) {
    s->left = len;
    if (s->sync)
        io_prep_fdsync(&s->cb, fd);
    else if (s->chunk->dir == KVF_DIR_READ)
        io_prep_pread(&s->cb, fd, buf, len, (int64_t)at);
    else
        io_prep_pwrite(&s->cb, fd, buf, len, (int64_t)at);
    io_set_eventfd(&s->cb, q->event_fd);
    s->cb.data = s;
}

/* As io_submit(). A ring that broke takes nothing. */
static int ring_submit(struct tier_queue *q, long n, struct iocb **batch) {
    int rc = q->ctx ? io_submit(q->ctx, n, batch) : -EREMOTEIO;
    for (int i = 0; i < rc; i++) slot_of(batch[i])->flying = true;
    return rc;
}

/* Prepares slots for what of a chunk has none yet, as far as they go; returns how many. */
static unsigned chunk_prepare(struct tier_queue *q, struct tier_chunk *c, struct iocb **batch) {
    struct nvme_op *op = &q->ops.op[c->internal[CHUNK_OP]];
    unsigned n = 0;
    while (q->free && c->internal[CHUNK_ISSUED] < c->internal[CHUNK_TOTAL]) {
        uint64_t issued = c->internal[CHUNK_ISSUED], at;
        int fd;
        uint64_t len = q->tier->layout->piece(q->tier, op, c->offset + issued,
                                              c->internal[CHUNK_TOTAL] - issued, &fd, &at);
        if (len == 0) {
            c->error = EIO;
            c->internal[CHUNK_TOTAL] = issued;
            break;
        }
        struct nvme_slot *s = slot_take(q);
        s->chunk = c;
        slot_prepare(q, s, fd, (uint8_t *)c->buf + issued, len, at);
        c->internal[CHUNK_ISSUED] += len;
        c->internal[CHUNK_FLYING]++;
        batch[n++] = &s->cb;
    }
    return n;
}

static void chunk_settle(struct tier_queue *q, struct tier_chunk *c, uint64_t now);

/* A slot that the kernel refuses for good fails its chunk. */
static void slot_refused(struct tier_queue *q, struct nvme_slot *s, int error) {
    struct tier_chunk *c = s->chunk;
    if (!c->error) c->error = error;
    c->internal[CHUNK_FLYING]--;
    slot_free(q, s);
    chunk_settle(q, c, run_clock_now(q->tier->clock));
}

/* Gives prepared slots to the kernel, several chunks in one call. Returns how many it dealt with: took
 * or refused. The others can be tried again. */
static unsigned batch_submit(struct tier_queue *q, struct iocb **batch, unsigned n) {
    unsigned i = 0;
    while (i < n) {
        int rc = ring_submit(q, (long)(n - i), batch + i);
        if (rc > 0) {
            q->flying += (uint32_t)rc;
            i += (unsigned)rc;
        } else if (rc == 0 || rc == -EAGAIN || rc == -EINTR) {
            break;
        } else {
            slot_refused(q, slot_of(batch[i]), -rc);
            i++;
        }
    }
    return i;
}

/* Takes back what the kernel had no room for, newest first, so that a chunk's pieces are undone from
 * its end. */
static void batch_undo(struct tier_queue *q, struct iocb **batch, unsigned from, unsigned n) {
    for (unsigned i = n; i-- > from;) {
        struct nvme_slot *s = slot_of(batch[i]);
        struct tier_chunk *c = s->chunk;
        c->internal[CHUNK_ISSUED] -= s->left;
        c->internal[CHUNK_FLYING]--;
        slot_free(q, s);
    }
}

/* One slot on its own: the rest of a short transfer, an fdatasync. */
static void slot_submit(struct tier_queue *q, struct nvme_slot *s) {
    struct iocb *cb = &s->cb;
    int rc = ring_submit(q, 1, &cb);
    if (rc == 1) {
        q->flying++;
    } else if (rc == 0 || rc == -EAGAIN || rc == -EINTR) {
        s->next = q->again;
        q->again = s;
    } else if (s->sync && rc == -EINVAL) { /* kernels before 4.18 sync on the caller's time */
        int error = fdatasync(s->cb.aio_fildes) == 0 ? 0 : errno;
        slot_refused(q, s, error);
    } else {
        slot_refused(q, s, -rc);
    }
}

/* Starts the sync that a written entry's last chunk waits for; false: there is none (left) to do. */
static bool chunk_sync(struct tier_queue *q, struct tier_chunk *c) {
    struct nvme_tier *t = q->tier;
    struct nvme_op *op = &q->ops.op[c->internal[CHUNK_OP]];
    if (!t->sync_data || c->dir != KVF_DIR_WRITE || op->done < op->bytes || c->error) return false;
    int fd = t->layout->sync_fd(t, op, (unsigned)c->internal[CHUNK_SYNCED]++);
    if (fd < 0) return false;
    struct nvme_slot *s = slot_take(q);
    s->chunk = c;
    s->sync = true;
    slot_prepare(q, s, fd, NULL, 0, 0);
    c->internal[CHUNK_FLYING]++;
    slot_submit(q, s);
    return true;
}

/* After a slot of the chunk has come back: hands the chunk over when nothing is outstanding. */
static void chunk_settle(struct tier_queue *q, struct tier_chunk *c, uint64_t now) {
    if (c->internal[CHUNK_FLYING] > 0) return;
    if (c->error) {
        c->internal[CHUNK_TOTAL] = c->internal[CHUNK_ISSUED]; /* no further pieces */
        if (q->partial == c) q->partial = NULL;
    }
    if (c->internal[CHUNK_ISSUED] < c->internal[CHUNK_TOTAL]) return;
    struct nvme_op *op = &q->ops.op[c->internal[CHUNK_OP]];
    if (!c->error && c->internal[CHUNK_SYNCED] == 0) op->done += c->len;
    if (chunk_sync(q, c)) return;
    chunk_done(q, c, now);
}

/* Goes on with what could not be submitted before; true when nothing of it is left. */
static bool queue_pump(struct tier_queue *q) {
    struct nvme_slot *s = q->again;
    q->again = NULL;
    while (s) {
        struct nvme_slot *next = s->next;
        slot_submit(q, s);
        s = next;
    }
    struct tier_chunk *c = q->partial;
    if (c && !q->again) {
        unsigned n = chunk_prepare(q, c, q->batch);
        unsigned i = batch_submit(q, q->batch, n);
        batch_undo(q, q->batch, i, n);
        if (q->partial && c->error) chunk_settle(q, c, run_clock_now(q->tier->clock));
        if (q->partial && c->internal[CHUNK_ISSUED] == c->internal[CHUNK_TOTAL]) q->partial = NULL;
    }
    bool clear = !q->again && !q->partial;
    if (!clear && q->flying == 0) kick(q);
    return clear;
}

static void chunk_init(struct tier_queue *q, struct tier_chunk *c, uint64_t now) {
    uint32_t op = nvme_op_find(&q->ops, c->place, c->dir);
    c->error = op == NVME_NO_OP ? EBADF : 0;
    c->submit_ns = now;
    c->internal[CHUNK_ISSUED] = 0;
    c->internal[CHUNK_TOTAL] = op == NVME_NO_OP ? 0 : nvme_round(c->len);
    c->internal[CHUNK_FLYING] = 0;
    c->internal[CHUNK_OP] = op;
    c->internal[CHUNK_SYNCED] = 0;
}

/* Prepares a chunk that has just come; 0 slots, with its error, when it cannot be submitted at all. */
static unsigned chunk_start(struct tier_queue *q, struct tier_chunk *c, uint64_t now, struct iocb **batch) {
    chunk_init(q, c, now);
    return c->error ? 0 : chunk_prepare(q, c, batch);
}

/* Chunks of which the kernel has nothing go back to the caller, the first of the others may be partial;
 * the first `settled` are done with. Returns how many stay. */
static unsigned untake(struct tier_queue *q, struct tier_chunk **chunks, unsigned taken, unsigned settled,
                       uint64_t now) {
    for (; taken > settled; taken--) {
        struct tier_chunk *c = chunks[taken - 1];
        if (c->internal[CHUNK_ISSUED] == c->internal[CHUNK_TOTAL]) break;
        if (c->internal[CHUNK_ISSUED] > 0) {
            q->partial = c;
            if (c->error) chunk_settle(q, c, now);
            break;
        }
    }
    return taken;
}

static unsigned host_submit(struct tier_queue *q, struct tier_chunk **chunks, unsigned n) {
    if (!queue_pump(q)) return 0;
    uint64_t now = run_clock_now(q->tier->clock);
    unsigned taken = 0, built = 0, settled = 0;
    for (; taken < n && q->in_flight + taken < q->depth && q->free; taken++) {
        unsigned pieces = chunk_start(q, chunks[taken], now, q->batch + built);
        built += pieces;
        if (pieces > 0) continue;
        if (built > 0) break; /* its turn comes when those before it are on their way */
        chunk_done(q, chunks[taken], now);
        settled++;
    }
    unsigned dealt = batch_submit(q, q->batch, built);
    batch_undo(q, q->batch, dealt, built);
    taken = untake(q, chunks, taken, settled, now);
    q->in_flight += taken;
    if (q->done_head) kick(q);
    return taken;
}

/* ---- chunks in device memory ---- */

static void task_give(struct tier_queue *q, struct nvme_task *t) {
    slot_free(q, t->slot);
    t->next = q->task_free;
    q->task_free = t;
}

static void task_failed(struct tier_queue *q, struct tier_chunk *c, int code) {
    snprintf(q->why, sizeof q->why, "%s (cuFile error %d)", cufile_words(code), code);
    if (!c->error) c->error = EREMOTEIO;
}

/* Where the chunk is in the tier's files; neighbouring pieces are one. */
static void task_fill(struct tier_queue *q, struct gds_task *g, struct tier_chunk *c) {
    struct nvme_op *op = &q->ops.op[c->internal[CHUNK_OP]];
    g->pieces = 0;
    for (uint64_t done = 0, len; done < c->internal[CHUNK_TOTAL] && !c->error; done += len) {
        struct gds_piece p = {0}, *last = g->pieces ? &g->piece[g->pieces - 1] : NULL;
        int fd;
        len = q->tier->layout->piece(q->tier, op, c->offset + done, c->internal[CHUNK_TOTAL] - done, &fd,
                                     &p.at);
        int code = len ? nvme_gds_file(q->tier, op, fd, &p.file) : 0;
        if (code) task_failed(q, c, code);
        if (len == 0) c->error = EIO;
        if (c->error) return;
        p.bytes = len;
        if (last && last->file == p.file && last->at + last->bytes == p.at) {
            last->bytes += len;
        } else if (g->pieces < q->tier->gds_pieces) {
            g->piece[g->pieces++] = p;
        } else {
            c->error = EIO;
        }
    }
}

static unsigned device_submit(struct tier_queue *q, struct tier_chunk **chunks, unsigned n) {
    uint64_t now = run_clock_now(q->tier->clock);
    unsigned taken = 0;
    for (; taken < n && q->in_flight < q->depth && q->task_free && q->free; taken++, q->in_flight++) {
        struct tier_chunk *c = chunks[taken];
        struct nvme_task *t = q->task_free;
        chunk_init(q, c, now);
        c->internal[CHUNK_ISSUED] = c->internal[CHUNK_TOTAL];
        if (!c->error) task_fill(q, &t->gds, c);
        if (c->error) {
            chunk_done(q, c, now);
            continue;
        }
        q->task_free = t->next;
        t->slot = slot_take(q);
        t->gds.owner = c;
        t->gds.memory = c->buf;
        t->gds.device = c->device;
        t->gds.write = c->dir == KVF_DIR_WRITE;
        c->internal[CHUNK_FLYING] = 1;
        gds_submit(q->line, &t->gds);
    }
    if (q->done_head) kick(q);
    return taken;
}

static void device_drain(struct tier_queue *q) {
    uint64_t now = run_clock_now(q->tier->clock);
    for (struct gds_task *g = gds_take(q->line), *next; g; g = next) {
        struct tier_chunk *c = g->owner;
        next = g->next;
        q->unread++;
        if (g->error == EREMOTEIO)
            task_failed(q, c, g->code);
        else if (g->error && !c->error)
            c->error = g->error;
        c->internal[CHUNK_FLYING]--;
        task_give(q, (struct nvme_task *)(void *)g);
        chunk_settle(q, c, now);
    }
}

/* Chunks of a kind together, in order. */
unsigned nvme_queue_submit(struct tier_queue *q, struct tier_chunk **chunks, unsigned n) {
    unsigned taken = 0;
    while (taken < n) {
        unsigned run = 1, got;
        bool device = chunks[taken]->on_device;
        while (taken + run < n && chunks[taken + run]->on_device == device) run++;
        got = device ? device_submit(q, chunks + taken, run) : host_submit(q, chunks + taken, run);
        taken += got;
        if (got < run) break;
    }
    return taken;
}

/* ---- completions ---- */

/* The outcome of a slot. A transfer cut short goes on once if it made progress. */
static void slot_complete(struct tier_queue *q, struct nvme_slot *s, int64_t result, uint64_t now) {
    struct tier_chunk *c = s->chunk;
    q->flying--;
    s->flying = false;
    if (!s->sync && result >= 0 && (uint64_t)result < s->left) {
        uint64_t got = (uint64_t)result / NVME_UNIT * NVME_UNIT;
        if (got > 0 && !s->retried) {
            struct iocb before = s->cb;
            s->retried = true;
            slot_prepare(q, s, before.aio_fildes, (uint8_t *)before.u.c.buf + got, s->left - got,
                         (uint64_t)before.u.c.offset + got);
            slot_submit(q, s);
            return;
        }
        result = -EIO;
    }
    if (result < 0 && !c->error) c->error = (int)-result;
    c->internal[CHUNK_FLYING]--;
    slot_free(q, s);
    chunk_settle(q, c, now);
}

static bool ring_is_empty(const struct tier_queue *q) {
    if (!q->ring) return false;
    return atomic_load_explicit(&q->ring->head, memory_order_relaxed) ==
           atomic_load_explicit(&q->ring->tail, memory_order_acquire);
}

/* Completions cannot be had any more: what the kernel has comes back first, since its buffers are in use,
 * and is given up then; what follows is refused. */
static void ring_break(struct tier_queue *q, int error) {
    snprintf(
        q->why, sizeof q->why,
        "the kernel gives out no completions (io_getevents: %s), so the operations under way were given up",
        strerror(error));
    io_destroy(q->ctx);
    q->ctx = NULL;
    q->ring = NULL;
    uint64_t now = run_clock_now(q->tier->clock);
    for (uint32_t i = 0; i < q->slots; i++)
        if (q->slot[i].flying) slot_complete(q, &q->slot[i], -EREMOTEIO, now);
}

static void ring_drain(struct tier_queue *q) {
    while (q->ctx) {
        struct timespec at_once = {0, 0};
        int n = io_getevents(q->ctx, 0, EVENTS, q->event, &at_once);
        if (n == -EINTR) continue;
        if (n < 0) ring_break(q, -n);
        if (n <= 0) return;
        uint64_t now = run_clock_now(q->tier->clock);
        q->unread += n;
        for (int i = 0; i < n; i++)
            slot_complete(q, (struct nvme_slot *)q->event[i].data, (int64_t)q->event[i].res, now);
        if (n < EVENTS) return;
    }
}

unsigned nvme_queue_reap(struct tier_queue *q, struct tier_chunk **done, unsigned max) {
    bool empty = ring_is_empty(q), device = q->line && gds_ready(q->line);
    if (!empty || device || q->unread > 0) {
        uint64_t count;
        if (read(q->event_fd, &count, sizeof count) == (ssize_t)sizeof count) q->unread -= (int64_t)count;
        if (!empty || !ring_is_empty(q)) ring_drain(q);
        if (q->line) device_drain(q);
    }
    if (q->again || q->partial) queue_pump(q);
    unsigned n = 0;
    while (n < max && q->done_head) {
        struct tier_chunk *c = q->done_head;
        q->done_head = c->next;
        if (!q->done_head) q->done_tail = NULL;
        c->next = NULL;
        q->in_flight--;
        done[n++] = c;
    }
    if (q->done_head) kick(q);
    return n;
}

int nvme_queue_fd(const struct tier_queue *q) {
    return q->event_fd;
}

uint64_t nvme_queue_next_ns(const struct tier_queue *q) {
    (void)q;
    return KVF_NEVER;
}

void nvme_queue_where(struct tier_queue *q, uint64_t place, uint64_t offset, char *out, size_t len) {
    nvme_op_where(&q->ops, q->tier, place, offset, out, len);
}

const char *nvme_queue_why(const struct tier_queue *q) {
    return q->why;
}

void nvme_queue_close(struct tier_queue *q) {
    if (!q) return;
    gds_line_close(q->line);
    if (q->task) free(q->task->gds.piece);
    free(q->task);
    if (q->ctx) io_destroy(q->ctx);
    if (q->event_fd >= 0) close(q->event_fd);
    nvme_ops_close(&q->ops);
    free(q->batch);
    free(q->slot);
    free(q);
}

static int ring_open(struct tier_queue *q, uint32_t worker, struct err *e) {
    int rc = io_setup((int)q->slots, &q->ctx);
    if (rc == -EAGAIN)
        return err_set(e, KVF_ERR_UNAVAILABLE,
                       "worker %" PRIu32 " gets no ring of %" PRIu32
                       " operations: the system's limit of asynchronous I/O is "
                       "used up; raise /proc/sys/fs/aio-max-nr or lower tiers.nvme.io_depth",
                       worker, q->slots);
    if (rc != 0)
        return err_set_errno(e, KVF_ERR_IO, -rc, "io_setup for %" PRIu32 " operations failed", q->slots);
    q->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (q->event_fd < 0) return err_set_errno(e, KVF_ERR_IO, errno, "no eventfd can be made");
    const struct ring_head *ring = (const struct ring_head *)q->ctx;
    if (ring->magic == RING_MAGIC && ring->incompat_features == 0) q->ring = ring;
    return 0;
}

/* Tasks for as many chunks as may be on their way to and from device memory. */
static int tasks_open(struct tier_queue *q, struct err *e) {
    uint32_t tasks = q->depth < TIER_LANDINGS_MAX ? q->depth : TIER_LANDINGS_MAX;
    unsigned pieces = q->tier->gds_pieces;
    if (!q->tier->gds) return 0;
    q->line = gds_line_open(q->tier->gds, q->event_fd);
    q->task = calloc(tasks, sizeof *q->task);
    struct gds_piece *piece = q->task ? calloc((size_t)tasks * pieces, sizeof *piece) : NULL;
    if (!q->line || !piece)
        return err_set(e, KVF_ERR_NOMEM, "not enough memory for %" PRIu32 " transfers to the gpu tier",
                       tasks);
    for (uint32_t i = 0; i < tasks; i++) {
        q->task[i].gds.piece = piece + (size_t)i * pieces;
        q->task[i].next = q->task_free;
        q->task_free = &q->task[i];
    }
    return 0;
}

int nvme_queue_open(struct tier *t, struct tier_queue **out, uint32_t worker, uint32_t depth, struct err *e) {
    struct tier_queue *q = calloc(1, sizeof *q);
    if (!q) return err_set(e, KVF_ERR_NOMEM, "not enough memory for a queue of the nvme tier");
    q->tier = (struct nvme_tier *)t;
    q->event_fd = -1;
    q->depth = depth;
    uint64_t slots = (uint64_t)depth * q->tier->pieces_max;
    q->slots = slots > SLOTS_MAX ? (depth > SLOTS_MAX ? depth : SLOTS_MAX) : (uint32_t)slots;
    q->slot = calloc(q->slots, sizeof *q->slot);
    q->batch = calloc(q->slots, sizeof(struct iocb *));
    int rc = 0;
    if (!q->slot || !q->batch || nvme_ops_open(&q->ops) != 0)
        rc = err_set(e, KVF_ERR_NOMEM, "not enough memory for a queue of %" PRIu32 " chunks of the nvme tier",
                     depth);
    if (rc == 0) rc = ring_open(q, worker, e);
    if (rc == 0) rc = tasks_open(q, e);
    if (rc != 0) {
        nvme_queue_close(q);
        return rc;
    }
    for (uint32_t i = q->slots; i-- > 0;) slot_free(q, &q->slot[i]);
    *out = q;
    return 0;
}
