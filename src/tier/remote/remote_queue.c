#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "tier/remote/remote.h"

/* A worker's queue. What waits for a connection is served in this order: names to delete, lookups, values.
 * Lookups and deletes go out several at a time where the backend can. While no connection is up for longer
 * than the timeout, what waits fails, and so does what comes; connections are tried again with a growing
 * pause. */

enum { IDLE_TURNS = 64, TRIES = 3 };
static const uint64_t dead_pause_ns = 100 * KVF_NS_PER_MS; /* one server of several may be gone for long */

static uint64_t now_of(const struct tier_queue *q) {
    return run_clock_now(q->tier->clock);
}

/* ---- lookups ---- */

static void op_ask_again(struct tier_queue *q, struct remote_op *op) {
    op->asked = op->answered = op->missing = 0;
    if (!op->asking) remote_op_ask(q, op);
}

/* Values under shared names are deleted by the run that has written them, so one that is about to delete its
 * own does not count them as there. Where a part of an entry is another's and the rest is gone, the run
 * writes all of it under names of its own. */
static bool shared_is_there(struct tier_queue *q, struct remote_op *op, bool own) {
    struct remote_tier *t = q->tier;
    struct remote_place *p = op->place;
    bool dying = own && t->deletes, there = op->missing == 0 && !dying;
    if (there && !atomic_exchange(&p->found, true) && !own) remote_count(&t->found, 1);
    if (op->dir == KVF_DIR_WRITE && !there && (dying || (!own && op->missing < op->answered))) {
        p->shared = false;
        p->generation = 1 + atomic_fetch_add(&t->alone, 1);
    }
    return there;
}

static void lookup_ended(struct tier_queue *q, struct remote_op *op) {
    struct remote_tier *t = q->tier;
    struct remote_place *p = op->place;
    bool there = op->missing == 0;
    if (!p->stored && p->shared) {
        bool before = op->own;
        op->own = remote_is_own(t, p);
        if (before && !op->own) { /* deleted meanwhile, before or after the answer */
            op_ask_again(q, op);
            return;
        }
        there = shared_is_there(q, op, op->own);
    }
    op->looking = false;
    if (op->dir == KVF_DIR_WRITE && there) {
        op->there = true;
        remote_op_fail(q, op, 0); /* its chunks are done */
        return;
    }
    if (op->dir == KVF_DIR_READ) op->first->lookup_ns = now_of(q) - op->began_ns;
    if (op->dir == KVF_DIR_READ && !there) {
        if (!p->stored && !atomic_load(&p->found)) remote_count(&t->absent, 1);
        remote_op_fail(q, op, ENODATA);
        return;
    }
    remote_op_go(q, op);
}

static void op_looked(struct tier_queue *q, struct remote_op *op, bool there) {
    op->missing += !there;
    op->answered++;
    bool all = there || op->dir == KVF_DIR_WRITE; /* a read needs no more than the first that is missing */
    if (q->tier->one_by_one && all && op->answered < op->values) {
        if (!op->asking) remote_op_ask(q, op);
        return;
    }
    if (op->answered < op->values && !(q->tier->one_by_one && !all)) return;
    lookup_ended(q, op);
}

static bool lookup_counts(const struct remote_item *item) {
    return item->kind == ITEM_LOOKUP && item->op && !item->op->error && item->op->round == item->round;
}

/* One of a place's values is deleted, or not. */
static void delete_ended(struct tier_queue *q, struct remote_place *p, bool deleted) {
    p->remains |= !deleted;
    if (!deleted) q->dead_retry_ns = now_of(q) + dead_pause_ns;
    if (--p->deleting > 0) return;
    q->deleting--;
    q->deleted += !p->remains;
    remote_stored(q->tier, p, p->remains);
    remote_push(p->remains ? &q->tier->dead : &q->tier->buried, p);
}

void remote_item_answered(struct tier_queue *q, const struct remote_item *item, bool there) {
    if (lookup_counts(item)) op_looked(q, item->op, there);
    if (item->kind == ITEM_DELETE) delete_ended(q, item->place, true);
}

void remote_item_lost(struct tier_queue *q, const struct remote_item *item) {
    if (item->kind == ITEM_DELETE) delete_ended(q, item->place, false);
    if (!lookup_counts(item)) return;
    struct remote_op *op = item->op;
    if (++op->round >= TRIES)
        remote_op_fail(q, op, EREMOTEIO);
    else
        op_ask_again(q, op);
}

static void asking_next(struct tier_queue *q) {
    q->asking->asking = false;
    q->asking = q->asking->next_asking;
    if (!q->asking) q->asking_end = &q->asking;
}

static void batch_lookups(struct tier_queue *q, struct remote_conn *c) {
    unsigned most = q->tier->one_by_one ? 1 : q->tier->wire->batch;
    while (q->asking && c->items < most) {
        struct remote_op *op = q->asking;
        while (!op->error && op->asked < op->values && c->items < most)
            c->item[c->items++] = (struct remote_item){
                .kind = ITEM_LOOKUP, .op = op, .round = op->round, .place = op->place, .value = op->asked++};
        if (!op->error && op->asked < op->values && !q->tier->one_by_one) return;
        asking_next(q); /* one by one: again when the answer is here */
    }
}

static void batch_deletes(struct tier_queue *q, struct remote_conn *c) {
    while (q->dead && c->items < q->tier->wire->batch) {
        struct remote_place *p = q->dead;
        uint64_t values = remote_values(q->tier, p->bytes);
        if (q->dead_value == 0) {
            p->deleting = values;
            q->deleting++;
            p->remains = false;
        }
        while (q->dead_value < values && c->items < q->tier->wire->batch)
            c->item[c->items++] =
                (struct remote_item){.kind = ITEM_DELETE, .place = p, .value = q->dead_value++};
        if (q->dead_value < values) return;
        q->dead = p->next; /* before it may be given away */
        q->dead_value = 0;
    }
}

/* ---- who gets a connection ---- */

static struct remote_conn *idle_take(struct tier_queue *q) {
    struct remote_conn *c = q->idle;
    q->idle = c->next_idle;
    return c;
}

static bool deletes_wait(const struct tier_queue *q, uint64_t now_ns) {
    return q->dead && now_ns >= q->dead_retry_ns;
}

static void batch_begin(struct tier_queue *q, uint64_t now_ns) {
    struct remote_conn *c = idle_take(q);
    c->items = c->answered = 0;
    if (deletes_wait(q, now_ns))
        batch_deletes(q, c);
    else
        batch_lookups(q, c);
    if (c->items > 0) {
        q->tier->wire->ask(c, now_ns);
    } else { /* they had failed meanwhile */
        c->next_idle = q->idle;
        q->idle = c;
    }
}

/* Gives a waiting connection something to do, as long as there is something. */
static void queue_assign(struct tier_queue *q) {
    uint64_t now_ns = now_of(q);
    if (!q->dead && atomic_load_explicit(&q->tier->dead, memory_order_relaxed)) {
        q->dead = atomic_exchange(&q->tier->dead, NULL);
        q->dead_value = 0;
    }
    while (q->idle && (deletes_wait(q, now_ns) || q->asking)) batch_begin(q, now_ns);
    while (q->idle && q->line) {
        struct remote_job *job = remote_job_take(q);
        if (!job) return;
        if (job->op->dir == KVF_DIR_WRITE) remote_stored(q->tier, job->op->place, true);
        struct remote_conn *c = idle_take(q);
        c->job = job;
        c->items = c->answered = 0;
        job->conn = c;
        q->tier->wire->begin(c, job, now_ns);
    }
}

/* ---- what the mover calls ---- */

static void chunk_take(struct tier_queue *q, struct tier_chunk *c, uint64_t now_ns) {
    struct remote_op *op = remote_op_find(q, c->operation);
    c->submit_ns = now_ns;
    c->error = 0;
    if (!op) op = remote_op_new(q, c, now_ns);
    if (op->error || op->there) {
        c->error = op->error;
        c->kept = op->there;
        remote_chunk_done(q, c);
        return;
    }
    remote_op_chunk(q, op, c, now_ns);
}

static bool hopeless(const struct tier_queue *q, uint64_t now_ns) {
    return q->down_ns != KVF_NEVER && now_ns - q->down_ns >= q->tier->timeout_ns;
}

/* No server for too long: whoever waits has waited in vain. */
static void fail_waiting(struct tier_queue *q) {
    for (size_t i = 0; i < sizeof q->bucket / sizeof *q->bucket; i++)
        for (struct remote_op *op = q->bucket[i]; op; op = op->next) remote_op_fail(q, op, EREMOTEIO);
    while (remote_job_take(q)) {}
}

unsigned remote_queue_submit(struct tier_queue *q, struct tier_chunk **chunks, unsigned n) {
    uint64_t now_ns = now_of(q);
    unsigned taken = 0;
    for (; taken < n && q->in_flight < q->depth; taken++, q->in_flight++)
        chunk_take(q, chunks[taken], now_ns);
    if (hopeless(q, now_ns)) fail_waiting(q);
    queue_assign(q);
    return taken;
}

static void conns_time(struct tier_queue *q, uint64_t now_ns) {
    for (uint32_t i = 0; i < q->conns; i++) {
        struct remote_conn *c = remote_conn_at(q, i);
        if (c->down && c->retry_ns <= now_ns) {
            c->down = false;
            q->tier->wire->open(c, now_ns);
        } else if (!c->down && c->deadline_ns <= now_ns) {
            q->tier->wire->late(c, now_ns);
        }
    }
    if (hopeless(q, now_ns)) fail_waiting(q);
}

unsigned remote_queue_reap(struct tier_queue *q, struct tier_chunk **done, unsigned max) {
    bool quiet = q->in_flight == 0 && !q->deleting && !q->dead &&
                 !atomic_load_explicit(&q->tier->dead, memory_order_relaxed);
    if (!quiet || ++q->idle_turns >= IDLE_TURNS) {
        uint64_t now_ns = now_of(q);
        q->idle_turns = 0;
        q->tier->wire->look(q, now_ns);
        conns_time(q, now_ns);
        queue_assign(q);
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

void remote_queue_forget(struct tier_queue *q, const void *operation) {
    struct remote_op *op = remote_op_find(q, operation);
    if (!op) return;
    remote_op_fail(q, op, ECANCELED); /* what is under way of it */
    for (uint32_t i = 0; i < q->conns; i++) {
        struct remote_conn *c = remote_conn_at(q, i);
        for (unsigned k = 0; k < c->items; k++)
            if (c->item[k].op == op) c->item[k].op = NULL;
    }
    remote_op_forget(q, op);
    queue_assign(q);
}

int remote_queue_fd(const struct tier_queue *q) {
    return q->epoll_fd;
}

uint64_t remote_queue_next_ns(const struct tier_queue *q) {
    uint64_t next = q->done_head ? q->done_head->complete_ns : KVF_NEVER;
    uint64_t own = q->tier->wire->next_ns ? q->tier->wire->next_ns(q) : KVF_NEVER;
    if (own < next) next = own;
    bool waits = q->in_flight > 0;
    if (q->dead && q->idle && q->dead_retry_ns < next) next = q->dead_retry_ns;
    for (uint32_t i = 0; i < q->conns; i++) {
        const struct remote_conn *c = remote_conn_at(q, i);
        uint64_t at = c->down ? c->retry_ns : c->deadline_ns;
        if (at < next) next = at;
    }
    if (waits && q->down_ns != KVF_NEVER && q->down_ns + q->tier->timeout_ns < next)
        next = q->down_ns + q->tier->timeout_ns;
    return next;
}

const char *remote_queue_why(const struct tier_queue *q) {
    return q->why;
}

void remote_queue_where(struct tier_queue *q, uint64_t place, uint64_t offset, char *out, size_t len) {
    char key[REMOTE_KEY];
    uint64_t value = offset / q->tier->value_bytes;
    q->tier->wire->value_name(q->tier, (const struct remote_place *)(uintptr_t)place, value, key);
    (void)snprintf(out, len, "byte %" PRIu64 " of the value %s", offset - value * q->tier->value_bytes, key);
    utf8_clean(out, 0);
}

/* ---- opening and closing ---- */

void remote_queue_close(struct tier_queue *q) {
    if (!q) return;
    for (uint32_t i = 0; q->own && i < q->conns; i++) q->tier->wire->close(remote_conn_at(q, i));
    if (q->own) q->tier->wire->queue_close(q);
    if (q->epoll_fd >= 0) close(q->epoll_fd);
    for (size_t i = 0; i < q->slab_count; i++) free(q->slabs[i]);
    free(q->slabs);
    free(q->conn);
    free(q);
}

int remote_queue_open(struct tier *base, struct tier_queue **out, uint32_t worker, uint32_t depth,
                      struct err *e) {
    struct remote_tier *t = (struct remote_tier *)base;
    struct tier_queue *q = mem_zalloc(1, sizeof *q);
    uint64_t now_ns = run_clock_now(t->clock);
    q->tier = t;
    q->depth = depth;
    q->conns = t->connections / t->workers + (worker < t->connections % t->workers);
    q->line_end = &q->line;
    q->asking_end = &q->asking;
    q->done_end = &q->done_head;
    q->down_ns = now_ns;
    q->conn = mem_zalloc(q->conns, t->wire->conn_size);
    q->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (q->epoll_fd < 0) {
        int error = errno;
        remote_queue_close(q);
        return err_set_errno(e, KVF_ERR_IO, error, "cannot create an epoll descriptor for worker %" PRIu32,
                             worker);
    }
    int rc = t->wire->queue_open(q, e);
    if (rc != 0) {
        remote_queue_close(q);
        return rc;
    }
    for (uint32_t i = 0; i < q->conns; i++) {
        struct remote_conn *c = remote_conn_at(q, i);
        c->q = q;
        c->deadline_ns = KVF_NEVER;
        t->wire->open(c, now_ns);
    }
    *out = q;
    return 0;
}
