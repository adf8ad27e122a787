#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/utf8.h"
#include "tier/resp/resp.h"

/* A worker's queue: entry operations, the values that these are cut into, and connections that carry one
 * value each at a time.
 *
 * Chunks of an operation come in order and may be smaller or larger than its values. A value is begun when
 * the chunk with its first byte is there, and goes on as further chunks come; a connection stays with it
 * meanwhile. A chunk of a read is done when all of it has come. A chunk of a write is done when all of it was
 * sent, but for the last byte of a value (all of a value that one chunk holds): that counts when the server
 * has said yes.
 *
 * What waits for a connection is served in this order: names to delete, lookups, values. Lookups and deletes
 * go out many at a time. While no connection is up for longer than the timeout, what waits fails, and so does
 * what comes; connections are tried again with a growing pause. */

enum { EVENTS = 32, SLAB = 64, IDLE_TURNS = 64, TRIES = 3 };

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

static void chunk_done(struct tier_queue *q, struct tier_chunk *c) {
    c->complete_ns = now_of(q);
    c->next = NULL;
    *q->done_end = c;
    q->done_end = &c->next;
}

static void chunk_append(struct resp_op *op, struct tier_chunk *c) {
    c->internal[CHUNK_LEFT] = c->len;
    c->internal[CHUNK_BEFORE] = (uintptr_t)op->last;
    c->internal[CHUNK_BEHIND] = 0;
    if (op->last)
        op->last->internal[CHUNK_BEHIND] = (uintptr_t)c;
    else
        op->first = c;
    op->last = c;
}

static void chunk_remove(struct resp_op *op, struct tier_chunk *c) {
    if (before(c))
        before(c)->internal[CHUNK_BEHIND] = c->internal[CHUNK_BEHIND];
    else
        op->first = behind(c);
    if (behind(c))
        behind(c)->internal[CHUNK_BEFORE] = c->internal[CHUNK_BEFORE];
    else
        op->last = before(c);
}

static void chunk_count(struct tier_queue *q, struct resp_op *op, struct tier_chunk *c, uint64_t bytes) {
    c->internal[CHUNK_LEFT] -= bytes;
    if (c->internal[CHUNK_LEFT] > 0) return;
    chunk_remove(op, c);
    chunk_done(q, c);
}

/* ---- operations ---- */

static struct resp_op **bucket_of(struct tier_queue *q, const void *operation) {
    return &q->bucket[hash_mix64((uintptr_t)operation) % (sizeof q->bucket / sizeof *q->bucket)];
}

static struct resp_op *op_find(struct tier_queue *q, const void *operation) {
    struct resp_op *op = *bucket_of(q, operation);
    while (op && op->operation != operation) op = op->next;
    return op;
}

static void op_ask(struct tier_queue *q, struct resp_op *op) {
    op->asking = true;
    op->next_asking = NULL;
    *q->asking_end = op;
    q->asking_end = &op->next_asking;
}

static struct resp_op *op_new(struct tier_queue *q, const struct tier_chunk *c, uint64_t now_ns) {
    if (!q->op_free) {
        struct resp_op *slab = slab_new(q, sizeof *slab);
        for (int i = 0; i < SLAB; i++) {
            slab[i].next = q->op_free;
            q->op_free = &slab[i];
        }
    }
    struct resp_op *op = q->op_free, **bucket = bucket_of(q, c->operation);
    q->op_free = op->next;
    *op = (struct resp_op){.operation = c->operation,
                           .place = (struct resp_place *)(uintptr_t)c->place,
                           .dir = c->dir,
                           .bytes = c->entry_bytes,
                           .values = resp_values(q->tier, c->entry_bytes),
                           .began_ns = now_ns,
                           .next = *bucket};
    *bucket = op;
    if (op->dir == KVF_DIR_WRITE) {
        op->place->key_hi = c->id.key_hi;
        op->place->key_lo = c->id.key_lo;
        op->place->generation = c->id.generation;
    } else if (q->tier->asks) {
        op->looking = true;
        op_ask(q, op);
    }
    return op;
}

/* ---- jobs ---- */

static void job_line(struct tier_queue *q, struct resp_job *job, bool first) {
    job->lined = true;
    job->conn = NULL;
    if (first) {
        job->next = q->line;
        if (!q->line) q->line_end = &job->next;
        q->line = job;
    } else {
        job->next = NULL;
        *q->line_end = job;
        q->line_end = &job->next;
    }
}

static void job_free(struct tier_queue *q, struct resp_job *job) {
    job->next = q->job_free;
    q->job_free = job;
}

static struct tier_chunk *chunk_at(const struct resp_op *op, uint64_t offset) {
    struct tier_chunk *c = op->first;
    while (c && c->offset + c->len <= offset) c = behind(c);
    return c && c->offset <= offset ? c : NULL;
}

static void job_new(struct tier_queue *q, struct resp_op *op, uint64_t value) {
    if (!q->job_free) {
        struct resp_job *slab = slab_new(q, sizeof *slab);
        for (int i = 0; i < SLAB; i++) job_free(q, &slab[i]);
    }
    struct resp_job *job = q->job_free;
    uint64_t at = value * q->tier->value_bytes, left = op->bytes - at;
    q->job_free = job->next;
    *job = (struct resp_job){.op = op,
                             .value = value,
                             .at = at,
                             .len = left < q->tier->value_bytes ? left : q->tier->value_bytes,
                             .chunk = chunk_at(op, at),
                             .next_of_op = op->jobs};
    op->jobs = job;
    if (op->dir == KVF_DIR_WRITE)
        job->hold = job->at + job->len <= job->chunk->offset + job->chunk->len ? job->len : 1;
    if (!op->looking) job_line(q, job, false);
}

static void job_unlink(struct resp_job *job) {
    struct resp_job **link = &job->op->jobs;
    while (*link != job) link = &(*link)->next_of_op;
    *link = job->next_of_op;
}

/* Bytes of the job from its place on that one chunk has. */
static uint64_t in_chunk(const struct resp_job *job) {
    uint64_t at = job->at + job->passed, end = job->chunk->offset + job->chunk->len;
    uint64_t job_end = job->at + job->len;
    return (end < job_end ? end : job_end) - at;
}

void resp_job_pass(struct tier_queue *q, struct resp_job *job, uint64_t bytes) {
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

void resp_job_done(struct tier_queue *q, struct resp_job *job) {
    if (job->hold > 0) chunk_count(q, job->op, job->chunk, job->hold);
    job_unlink(job);
    job_free(q, job);
}

void resp_job_interrupted(struct tier_queue *q, struct resp_job *job) {
    bool all_here = job->op->dir == KVF_DIR_READ || job->hold == job->len || job->passed == 0;
    if (++job->tries >= TRIES || !all_here) {
        resp_op_fail(q, job->op, EREMOTEIO);
        return;
    }
    if (job->op->dir == KVF_DIR_WRITE) {
        job->passed = 0;
        job->chunk = chunk_at(job->op, job->at);
    }
    job_line(q, job, true);
}

void resp_op_fail(struct tier_queue *q, struct resp_op *op, int error) {
    uint64_t now_ns = now_of(q);
    if (op->error) return;
    op->error = error;
    op->looking = false;
    for (struct resp_job *job = op->jobs, *next; job; job = next) {
        next = job->next_of_op;
        if (job->conn) {
            resp_conn_detach(job->conn, now_ns);
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
        chunk_done(q, c);
    }
    op->first = op->last = NULL;
}

/* ---- lookups ---- */

static void op_looked(struct tier_queue *q, struct resp_op *op, bool there) {
    op->missing += !there;
    op->answered++;
    if (q->tier->one_by_one && there && op->answered < op->values) {
        if (!op->asking) op_ask(q, op);
        return;
    }
    if (op->answered < op->values && !(q->tier->one_by_one && !there)) return;
    op->first->lookup_ns = now_of(q) - op->began_ns;
    op->looking = false;
    if (op->missing > 0) {
        resp_op_fail(q, op, ENODATA);
        return;
    }
    struct resp_job *in_order = NULL, *next;
    for (struct resp_job *job = op->jobs; job; job = job->next_of_op) { /* the newest is first */
        job->next = in_order;
        in_order = job;
    }
    for (struct resp_job *job = in_order; job; job = next) {
        next = job->next;
        job_line(q, job, false);
    }
}

static bool lookup_counts(const struct resp_item *item) {
    return item->kind == ITEM_LOOKUP && item->op && !item->op->error && item->op->round == item->round;
}

void resp_item_answered(struct tier_queue *q, const struct resp_item *item, bool there) {
    if (lookup_counts(item)) op_looked(q, item->op, there);
    if (item->kind != ITEM_DELETE || !item->place) return;
    item->place->stored = false;
    resp_push(&q->tier->buried, item->place);
}

void resp_item_lost(struct tier_queue *q, const struct resp_item *item) {
    if (item->kind == ITEM_DELETE && item->place) resp_push(&q->tier->dead, item->place);
    if (!lookup_counts(item)) return;
    struct resp_op *op = item->op;
    op->asked = op->answered = op->missing = 0;
    if (++op->round >= TRIES)
        resp_op_fail(q, op, EREMOTEIO);
    else if (!op->asking)
        op_ask(q, op);
}

static void batch_lookups(struct tier_queue *q, struct resp_conn *c, struct buf *out) {
    char key[RESP_KEY];
    unsigned most = q->tier->one_by_one ? 1 : RESP_BATCH;
    while (q->asking && c->items < most) {
        struct resp_op *op = q->asking;
        while (!op->error && op->asked < op->values && c->items < most) {
            (void)resp_key(q->tier, op->place, op->asked++, resp_asked(q->tier), key);
            resp_command(out, (const char *const[]){"EXISTS", key, NULL});
            c->item[c->items++] = (struct resp_item){.kind = ITEM_LOOKUP, .op = op, .round = op->round};
        }
        if (most == 1 && !op->error && c->items > 0) { /* the next one when the answer is here */
            q->asking = op->next_asking;
            if (!q->asking) q->asking_end = &q->asking;
            op->asking = false;
            return;
        }
        if (!op->error && op->asked < op->values) return;
        q->asking = op->next_asking;
        if (!q->asking) q->asking_end = &q->asking;
        op->asking = false;
    }
}

/* ---- deletes ---- */

static void batch_deletes(struct tier_queue *q, struct resp_conn *c, struct buf *out) {
    while (q->dead && c->items < RESP_BATCH) {
        struct resp_place *p = q->dead;
        uint64_t values = resp_values(q->tier, p->bytes);
        while (q->dead == p && c->items < RESP_BATCH) {
            resp_delete(q->tier, p, q->dead_value++, out);
            bool last = q->dead_value >= values;
            if (last) q->dead = p->next; /* before it may be given away */
            c->item[c->items++] = (struct resp_item){.kind = ITEM_DELETE, .place = last ? p : NULL};
        }
        if (q->dead != p) q->dead_value = 0;
    }
}

/* ---- who gets a connection ---- */

static struct resp_conn *idle_take(struct tier_queue *q) {
    struct resp_conn *c = q->idle;
    q->idle = c->next_idle;
    return c;
}

static bool batch_begin(struct tier_queue *q, uint64_t now_ns) {
    struct buf out = {0};
    struct resp_conn *c = idle_take(q);
    c->items = 0;
    if (q->dead)
        batch_deletes(q, c, &out);
    else
        batch_lookups(q, c, &out);
    if (c->items == 0) { /* they had failed meanwhile */
        c->next_idle = q->idle;
        q->idle = c;
        buf_free(&out);
        return false;
    }
    memcpy(c->out, out.data, out.len);
    c->out_len = out.len;
    buf_free(&out);
    resp_conn_batch(c, now_ns);
    return true;
}

static struct resp_job *line_take(struct tier_queue *q) {
    while (q->line) {
        struct resp_job *job = q->line;
        q->line = job->next;
        if (!q->line) q->line_end = &q->line;
        job->lined = false;
        if (job->op) return job;
        job_free(q, job);
    }
    return NULL;
}

void resp_queue_assign(struct tier_queue *q) {
    uint64_t now_ns = now_of(q);
    if (!q->dead && atomic_load_explicit(&q->tier->dead, memory_order_relaxed)) {
        q->dead = atomic_exchange(&q->tier->dead, NULL);
        q->dead_value = 0;
    }
    while (q->idle && (q->dead || q->asking)) (void)batch_begin(q, now_ns);
    while (q->idle && q->line) {
        struct resp_job *job = line_take(q);
        if (!job) return;
        if (job->op->dir == KVF_DIR_WRITE) job->op->place->stored = true;
        resp_conn_begin(idle_take(q), job, now_ns);
    }
}

/* ---- what the mover calls ---- */

/* Values that begin in the chunk, and those that waited for it. */
static void chunk_take(struct tier_queue *q, struct tier_chunk *c, uint64_t now_ns) {
    struct resp_op *op = op_find(q, c->operation);
    uint64_t value = q->tier->value_bytes;
    c->submit_ns = now_ns;
    c->error = 0;
    if (!op) op = op_new(q, c, now_ns);
    if (op->error) {
        c->error = op->error;
        chunk_done(q, c);
        return;
    }
    chunk_append(op, c);
    for (struct resp_job *job = op->jobs, *next; job; job = next) {
        next = job->next_of_op;
        if (job->chunk) continue;
        job->chunk = chunk_at(op, job->at + job->passed);
        if (job->chunk && job->conn) resp_conn_run(job->conn, now_ns);
        if (op->error) return;
    }
    for (; op->known < op->values && op->known * value < c->offset + c->len; op->known++)
        job_new(q, op, op->known);
}

static bool hopeless(const struct tier_queue *q, uint64_t now_ns) {
    return q->down_ns != KVF_NEVER && now_ns - q->down_ns >= q->tier->timeout_ns;
}

/* No server for too long: whoever waits has waited in vain. */
static void fail_waiting(struct tier_queue *q) {
    for (size_t i = 0; i < sizeof q->bucket / sizeof *q->bucket; i++)
        for (struct resp_op *op = q->bucket[i]; op; op = op->next) resp_op_fail(q, op, EREMOTEIO);
    while (line_take(q)) {}
}

unsigned resp_queue_submit(struct tier_queue *q, struct tier_chunk **chunks, unsigned n) {
    uint64_t now_ns = now_of(q);
    unsigned taken = 0;
    for (; taken < n && q->in_flight < q->depth; taken++, q->in_flight++)
        chunk_take(q, chunks[taken], now_ns);
    if (hopeless(q, now_ns)) fail_waiting(q);
    resp_queue_assign(q);
    return taken;
}

static void conns_look(struct tier_queue *q, uint64_t now_ns) {
    struct epoll_event event[EVENTS];
    int n;
    do {
        n = epoll_wait(q->epoll_fd, event, EVENTS, 0);
        for (int i = 0; i < n; i++) {
            struct resp_conn *c = &q->conn[event[i].data.u32];
            if (c->state != CONN_DOWN) resp_conn_run(c, now_ns);
        }
    } while (n == EVENTS);
}

static void conns_time(struct tier_queue *q, uint64_t now_ns) {
    for (uint32_t i = 0; i < q->conns; i++) {
        struct resp_conn *c = &q->conn[i];
        if (c->state == CONN_DOWN && c->retry_ns <= now_ns)
            resp_conn_open(c, now_ns);
        else if (c->state != CONN_DOWN && c->deadline_ns <= now_ns)
            resp_conn_break(c, now_ns, "the server at %s has not answered within tiers.remote.timeout",
                            q->tier->server.name);
    }
    if (hopeless(q, now_ns)) fail_waiting(q);
}

unsigned resp_queue_reap(struct tier_queue *q, struct tier_chunk **done, unsigned max) {
    bool quiet = q->in_flight == 0 && !q->dead && !atomic_load_explicit(&q->tier->dead, memory_order_relaxed);
    if (!quiet || ++q->idle_turns >= IDLE_TURNS) {
        uint64_t now_ns = now_of(q);
        q->idle_turns = 0;
        conns_look(q, now_ns);
        conns_time(q, now_ns);
        resp_queue_assign(q);
    }
    unsigned n = 0;
    while (n < max && q->done_head) {
        struct tier_chunk *c = q->done_head;
        q->done_head = c->next;
        if (!q->done_head) q->done_end = &q->done_head;
        c->next = NULL;
        q->in_flight--;
        done[n++] = c;
    }
    return n;
}

void resp_queue_forget(struct tier_queue *q, const void *operation) {
    struct resp_op *op = op_find(q, operation), **link = bucket_of(q, operation);
    if (!op) return;
    resp_op_fail(q, op, ECANCELED); /* what is under way of it */
    for (uint32_t i = 0; i < q->conns; i++)
        for (unsigned k = 0; q->conn[i].state == CONN_BATCH && k < q->conn[i].items; k++)
            if (q->conn[i].item[k].op == op) q->conn[i].item[k].op = NULL;
    if (op->asking) {
        struct resp_op **at = &q->asking;
        while (*at != op) at = &(*at)->next_asking;
        *at = op->next_asking;
        for (q->asking_end = &q->asking; *q->asking_end;) q->asking_end = &(*q->asking_end)->next_asking;
    }
    while (*link != op) link = &(*link)->next;
    *link = op->next;
    op->next = q->op_free;
    op->operation = NULL;
    q->op_free = op;
    resp_queue_assign(q);
}

int resp_queue_fd(const struct tier_queue *q) {
    return q->epoll_fd;
}

uint64_t resp_queue_next_ns(const struct tier_queue *q) {
    uint64_t next = q->done_head ? q->done_head->complete_ns : KVF_NEVER;
    bool waits = q->in_flight > 0;
    for (uint32_t i = 0; i < q->conns; i++) {
        const struct resp_conn *c = &q->conn[i];
        uint64_t at = c->state == CONN_DOWN ? c->retry_ns : c->deadline_ns;
        if (at < next) next = at;
    }
    if (waits && q->down_ns != KVF_NEVER && q->down_ns + q->tier->timeout_ns < next)
        next = q->down_ns + q->tier->timeout_ns;
    return next;
}

const char *resp_queue_why(const struct tier_queue *q) {
    return q->why;
}

void resp_queue_where(struct tier_queue *q, uint64_t place, uint64_t offset, char *out, size_t len) {
    char key[RESP_KEY];
    uint64_t value = offset / q->tier->value_bytes;
    (void)resp_key(q->tier, (const struct resp_place *)(uintptr_t)place, value, RESP_NAME_VALUE, key);
    (void)snprintf(out, len, "byte %" PRIu64 " of the value %s", offset - value * q->tier->value_bytes, key);
    utf8_clean(out, 0);
}

/* ---- opening and closing ---- */

void resp_queue_close(struct tier_queue *q) {
    if (!q) return;
    for (uint32_t i = 0; q->conn && i < q->conns; i++) {
        if (q->conn[i].fd >= 0) close(q->conn[i].fd);
        free(q->conn[i].out);
    }
    if (q->epoll_fd >= 0) close(q->epoll_fd);
    for (size_t i = 0; i < q->slab_count; i++) free(q->slabs[i]);
    free(q->slabs);
    free(q->conn);
    free(q->scratch);
    free(q);
}

int resp_queue_open(struct tier *base, struct tier_queue **out, uint32_t worker, uint32_t depth,
                    struct err *e) {
    struct resp_tier *t = (struct resp_tier *)base;
    struct tier_queue *q = mem_zalloc(1, sizeof *q);
    uint64_t now_ns = run_clock_now(t->clock);
    q->tier = t;
    q->depth = depth;
    q->conns = t->connections / t->workers + (worker < t->connections % t->workers);
    q->line_end = &q->line;
    q->asking_end = &q->asking;
    q->done_end = &q->done_head;
    q->down_ns = now_ns;
    q->conn = mem_zalloc(q->conns, sizeof *q->conn);
    q->scratch = mem_alloc(RESP_SCRATCH);
    q->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (q->epoll_fd < 0) {
        int error = errno;
        resp_queue_close(q);
        return err_set_errno(e, KVF_ERR_IO, error, "no epoll descriptor for worker %" PRIu32, worker);
    }
    for (uint32_t i = 0; i < q->conns; i++) {
        q->conn[i] =
            (struct resp_conn){.q = q, .fd = -1, .out = mem_alloc(RESP_OUT), .deadline_ns = KVF_NEVER};
        resp_conn_open(&q->conn[i], now_ns);
    }
    *out = q;
    return 0;
}
