#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/hash.h"
#include "tier/remote/remote.h"

/* Entry operations, and the values that these are cut into.
 *
 * Chunks of an operation come in order and may be smaller or larger than its values. A value is begun when
 * the chunk with its first byte is there, and goes on as further chunks come; a connection stays with it
 * meanwhile. A chunk of a read is done when all of it has come. A chunk of a write is done when all of it was
 * sent, but for the last byte of a value (all of a value that one chunk holds): that counts when the server
 * has said yes. */

enum { SLAB = 64, TRIES = 3 };

static uint64_t now_of(const struct tier_queue *q) {
    return run_clock_now(q->tier->clock);
}

static void *slab_new(struct tier_queue *q, size_t size) {
    void *slab = mem_zalloc(SLAB, size);
    q->slabs = mem_realloc(q->slabs, (q->slab_count + 1) * sizeof(void *));
    q->slabs[q->slab_count++] = slab;
    return slab;
}

/* ---- chunks ---- */

static struct tier_chunk *behind(const struct tier_chunk *c) {
    return (struct tier_chunk *)(uintptr_t)c->internal[CHUNK_BEHIND];
}

static struct tier_chunk *before(const struct tier_chunk *c) {
    return (struct tier_chunk *)(uintptr_t)c->internal[CHUNK_BEFORE];
}

void remote_chunk_done(struct tier_queue *q, struct tier_chunk *c) {
    c->complete_ns = now_of(q);
    c->next = NULL;
    *q->done_end = c;
    q->done_end = &c->next;
}

static void chunk_append(struct remote_op *op, struct tier_chunk *c) {
    c->internal[CHUNK_LEFT] = c->len;
    c->internal[CHUNK_BEFORE] = (uintptr_t)op->last;
    c->internal[CHUNK_BEHIND] = 0;
    if (op->last)
        op->last->internal[CHUNK_BEHIND] = (uintptr_t)c;
    else
        op->first = c;
    op->last = c;
}

static void chunk_remove(struct remote_op *op, struct tier_chunk *c) {
    if (before(c))
        before(c)->internal[CHUNK_BEHIND] = c->internal[CHUNK_BEHIND];
    else
        op->first = behind(c);
    if (behind(c))
        behind(c)->internal[CHUNK_BEFORE] = c->internal[CHUNK_BEFORE];
    else
        op->last = before(c);
}

static void chunk_count(struct tier_queue *q, struct remote_op *op, struct tier_chunk *c, uint64_t bytes) {
    c->internal[CHUNK_LEFT] -= bytes;
    if (c->internal[CHUNK_LEFT] > 0) return;
    chunk_remove(op, c);
    remote_chunk_done(q, c);
}

/* ---- operations ---- */

static struct remote_op **bucket_of(struct tier_queue *q, const void *operation) {
    return &q->bucket[hash_mix64((uintptr_t)operation) % (sizeof q->bucket / sizeof *q->bucket)];
}

struct remote_op *remote_op_find(struct tier_queue *q, const void *operation) {
    struct remote_op *op = *bucket_of(q, operation);
    while (op && op->operation != operation) op = op->next;
    return op;
}

void remote_op_ask(struct tier_queue *q, struct remote_op *op) {
    op->asking = true;
    op->next_asking = NULL;
    *q->asking_end = op;
    q->asking_end = &op->next_asking;
}

struct remote_op *remote_op_new(struct tier_queue *q, const struct tier_chunk *c, uint64_t now_ns) {
    if (!q->op_free) {
        struct remote_op *slab = slab_new(q, sizeof *slab);
        for (int i = 0; i < SLAB; i++) {
            slab[i].next = q->op_free;
            q->op_free = &slab[i];
        }
    }
    struct remote_op *op = q->op_free, **bucket = bucket_of(q, c->operation);
    q->op_free = op->next;
    *op = (struct remote_op){.operation = c->operation,
                             .place = (struct remote_place *)(uintptr_t)c->place,
                             .dir = c->dir,
                             .bytes = c->entry_bytes,
                             .values = remote_values(q->tier, c->entry_bytes),
                             .began_ns = now_ns,
                             .next = *bucket};
    *bucket = op;
    if (op->dir == KVF_DIR_WRITE && !op->place->stored) {
        op->place->key_hi = c->id.key_hi;
        op->place->key_lo = c->id.key_lo;
        op->place->generation = c->id.generation;
        op->place->shared = q->tier->shares && c->id.generation == 0;
    }
    bool first = !op->place->stored;
    if (op->dir == KVF_DIR_WRITE ? op->place->shared && first : q->tier->asks || first) {
        op->looking = true;
        op->own = first && remote_is_own(q->tier, op->place);
        remote_op_ask(q, op);
    }
    return op;
}

/* ---- jobs ---- */

/* Values begin in their order; one that begins again does so before those behind it. */
static void job_line(struct tier_queue *q, struct remote_job *job) {
    struct remote_job **at = job->order ? &q->line : q->line_end;
    if (job->order == 0) job->order = ++q->jobs_lined;
    while (*at && (*at)->order < job->order) at = &(*at)->next;
    job->lined = true;
    job->conn = NULL;
    job->next = *at;
    *at = job;
    if (!job->next) q->line_end = &job->next;
}

static void job_free(struct tier_queue *q, struct remote_job *job) {
    job->next = q->job_free;
    q->job_free = job;
}

static struct tier_chunk *chunk_at(const struct remote_op *op, uint64_t offset) {
    struct tier_chunk *c = op->first;
    while (c && c->offset + c->len <= offset) c = behind(c);
    return c && c->offset <= offset ? c : NULL;
}

static void job_new(struct tier_queue *q, struct remote_op *op, uint64_t value) {
    if (!q->job_free) {
        struct remote_job *slab = slab_new(q, sizeof *slab);
        for (int i = 0; i < SLAB; i++) job_free(q, &slab[i]);
    }
    struct remote_job *job = q->job_free;
    uint64_t at = value * q->tier->value_bytes, left = op->bytes - at;
    q->job_free = job->next;
    *job = (struct remote_job){.op = op,
                               .value = value,
                               .at = at,
                               .len = left < q->tier->value_bytes ? left : q->tier->value_bytes,
                               .chunk = chunk_at(op, at),
                               .next_of_op = op->jobs};
    op->jobs = job;
    if (op->dir == KVF_DIR_WRITE)
        job->hold = job->at + job->len <= job->chunk->offset + job->chunk->len ? job->len : 1;
    if (!op->looking && !op->claiming) job_line(q, job);
}

static void job_unlink(struct remote_job *job) {
    struct remote_job **link = &job->op->jobs;
    while (*link != job) link = &(*link)->next_of_op;
    *link = job->next_of_op;
}

/* Bytes of the job from its place on that one chunk has. */
static uint64_t in_chunk(const struct remote_job *job) {
    uint64_t at = job->at + job->passed, end = job->chunk->offset + job->chunk->len;
    uint64_t job_end = job->at + job->len;
    return (end < job_end ? end : job_end) - at;
}

void remote_job_pass(struct tier_queue *q, struct remote_job *job, uint64_t bytes) {
    while (bytes > 0) {
        struct tier_chunk *c = job->chunk;
        uint64_t in = in_chunk(job), n = bytes < in ? bytes : in, counted = n;
        uint64_t sure = job->len - job->hold; /* what lies before this counts at once */
        if (job->passed + n > sure) counted = job->passed < sure ? sure - job->passed : 0;
        job->passed += n;
        bytes -= n;
        if (n == in && job->passed < job->len) job->chunk = behind(c);
        if (counted > 0) chunk_count(q, job->op, c, counted);
    }
}

void remote_job_done(struct tier_queue *q, struct remote_job *job) {
    struct remote_op *op = job->op;
    if (job->hold > 0) chunk_count(q, op, job->chunk, job->hold);
    job_unlink(job);
    job_free(q, job);
    if (!op->claiming) return;
    op->claiming = false;
    remote_op_go(q, op);
}

void remote_job_forestalled(struct tier_queue *q, struct remote_job *job) {
    struct remote_op *op = job->op;
    op->claiming = false;
    op->there = true;
    remote_stored(q->tier, op->place, false);
    if (!atomic_exchange(&op->place->found, true)) remote_count(&q->tier->found, 1);
    remote_op_fail(q, op, 0); /* its chunks are done */
}

bool remote_job_rewind(struct remote_job *job) {
    if (job->op->dir == KVF_DIR_READ || job->passed == 0) return true;
    if (job->hold < job->len) return false;
    job->passed = 0;
    job->chunk = chunk_at(job->op, job->at);
    return true;
}

void remote_job_interrupted(struct tier_queue *q, struct remote_job *job) {
    job->conn = NULL;
    job->first = false; /* what is there may be ours */
    if (++job->tries >= TRIES || !remote_job_rewind(job))
        remote_op_fail(q, job->op, EREMOTEIO);
    else
        job_line(q, job);
}

void remote_op_fail(struct tier_queue *q, struct remote_op *op, int error) {
    uint64_t now_ns = now_of(q);
    if (op->error) return;
    op->error = error;
    op->looking = false;
    for (struct remote_job *job = op->jobs, *next; job; job = next) {
        next = job->next_of_op;
        if (job->conn) {
            if (op->dir == KVF_DIR_WRITE) remote_doubt(q->tier, op->place);
            q->tier->wire->detach(job->conn, now_ns);
            job_free(q, job);
        } else if (job->lined) {
            job->op = NULL; /* whoever takes it from the line frees it */
        } else {
            job_free(q, job);
        }
    }
    op->jobs = NULL;
    for (struct tier_chunk *c = op->first, *next; c; c = next) {
        next = behind(c);
        c->error = error;
        c->kept = op->there;
        remote_chunk_done(q, c);
    }
    op->first = op->last = NULL;
}

void remote_op_go(struct tier_queue *q, struct remote_op *op) {
    struct remote_job *in_order = NULL, *next;
    op->claiming = op->dir == KVF_DIR_WRITE && op->place->shared && !op->place->stored && q->tier->claims;
    for (struct remote_job *job = op->jobs; job; job = job->next_of_op) { /* the newest is first */
        job->next = in_order;
        in_order = job;
    }
    for (struct remote_job *job = in_order; job; job = next) {
        next = job->next;
        job->first = op->claiming;
        if (op->claiming && job->value > 0) break;
        job_line(q, job);
    }
}

void remote_op_chunk(struct tier_queue *q, struct remote_op *op, struct tier_chunk *c, uint64_t now_ns) {
    uint64_t value = q->tier->value_bytes;
    chunk_append(op, c);
    for (struct remote_job *job = op->jobs, *next; job; job = next) {
        next = job->next_of_op;
        if (job->chunk) continue;
        job->chunk = chunk_at(op, job->at + job->passed);
        if (job->chunk && job->conn) q->tier->wire->go_on(job->conn, now_ns);
        if (op->error) return;
    }
    for (; op->known < op->values && op->known * value < c->offset + c->len; op->known++)
        job_new(q, op, op->known);
}

void remote_op_forget(struct tier_queue *q, struct remote_op *op) {
    struct remote_op **link = bucket_of(q, op->operation);
    if (op->asking) {
        struct remote_op **at = &q->asking;
        while (*at != op) at = &(*at)->next_asking;
        *at = op->next_asking;
        for (q->asking_end = &q->asking; *q->asking_end;) q->asking_end = &(*q->asking_end)->next_asking;
    }
    while (*link != op) link = &(*link)->next;
    *link = op->next;
    op->next = q->op_free;
    op->operation = NULL;
    q->op_free = op;
}

struct remote_job *remote_job_take(struct tier_queue *q) {
    while (q->line) {
        struct remote_job *job = q->line;
        q->line = job->next;
        if (!q->line) q->line_end = &q->line;
        job->lined = false;
        if (job->op) return job;
        job_free(q, job);
    }
    return NULL;
}

int remote_job_pieces(const struct remote_job *job, struct iovec *iov, int room, bool *whole) {
    uint64_t at = job->at + job->passed, end = job->at + job->len;
    int n = 0;
    for (const struct tier_chunk *c = job->chunk; c && at < end && n < room; c = behind(c)) {
        uint64_t stop = c->offset + c->len < end ? c->offset + c->len : end;
        iov[n++] = (struct iovec){(uint8_t *)c->buf + (at - c->offset), stop - at};
        at = stop;
    }
    *whole = at == end;
    return n;
}
