#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tier/resp/resp.h"

/* A connection of a queue. Values are sent from and received into the chunks' own buffers; only the line
 * ahead of a value and what came with it in the same read pass through a small one.
 *
 *   ready ─► IDLE ─► BATCH, SET or GET ─► IDLE
 *   DRAIN: the rest of a value that nobody wants any more
 * Whatever goes wrong on the way leads to DOWN, and what was in flight is begun again elsewhere or fails. A
 * connection whose value waits for a chunk of ours is watched for nothing and has no deadline. */

enum { HEAD_FIRST = 64, DRAIN_MOST = 8 << 20, EVENTS = 32, RECEIVES = 8, HOPS = 5 };

/* ---- batches ---- */

static void swap(struct resp_conn *c, unsigned i, unsigned k) {
    struct remote_item item = c->remote.item[i];
    struct resp_way way = c->ways[i];
    c->remote.item[i] = c->remote.item[k];
    c->ways[i] = c->ways[k];
    c->remote.item[k] = item;
    c->ways[k] = way;
}

/* Asks one server for those of the items that it has: all, but for a cluster. Items that are answered come
 * first. */
static void batch_run(struct resp_conn *c, uint64_t now_ns);
static void batch_go(struct resp_conn *c, uint64_t now_ns) {
    struct remote_conn *r = &c->remote;
    for (unsigned i = r->answered; i < r->items; i++)
        if (r->item[i].kind == ITEM_LOOKUP && !r->item[i].op) swap(c, i, r->answered++);
    if (r->answered == r->items) {
        if (c->line.fd >= 0)
            resp_line_idle(c);
        else
            resp_line_shut(c, now_ns);
        return;
    }
    for (unsigned i = r->answered; i < r->items;
         i++) /* the server that the line leads to first: it is there */
        if (c->ways[i].node == c->node && !c->ways[i].asking) {
            swap(c, i, r->answered);
            break;
        }
    struct resp_way way = c->ways[r->answered];
    c->reading = r->answered;
    c->until = r->answered + 1;
    for (unsigned i = c->until; i < r->items && !way.asking; i++)
        if (c->ways[i].node == way.node && !c->ways[i].asking) swap(c, i, c->until++);
    if (!resp_line_turn(c, way.node, now_ns)) return;
    c->state = CONN_BATCH;
    c->fore = way.asking;
    resp_ask_items(c);
    c->out_at = c->in_len = 0;
    c->tail_len = c->tail_at = 0;
    batch_run(c, now_ns);
}

/* An answer of a batch; false: the connection was given up. */
static bool batch_answer(struct resp_conn *c, const struct resp_head *h, uint64_t now_ns) {
    struct remote_item item = c->remote.item[c->reading];
    struct resp_way *way = &c->ways[c->reading];
    if (h->kind == RESP_ERROR) {      /* also of a lookup: a server that is loading, or has turned us out */
        bool of_asking = c->fore > 0; /* and the item's own answer follows */
        int node = of_asking ? -1
                             : resp_cluster_redirect(resp_of(c->remote.q)->cluster, c->server, h->text,
                                                     h->text_len, &way->asking);
        if (node < 0 || ++way->hops > HOPS) {
            resp_line_refused(c, h, now_ns);
            return false;
        }
        way->node = (uint8_t)node;
        resp_line_taken(c, h->len);
        c->reading++;
        return true;
    }
    if (h->kind != RESP_INTEGER) {
        resp_line_absurd(c, now_ns, h->kind == RESP_BAD ? h->why : "it must be a number");
        return false;
    }
    swap(c, c->reading++, c->remote.answered++);
    bool there = h->number > 0;
    resp_line_taken(c, h->len);
    remote_item_answered(c->remote.q, &item, there);
    return true;
}

static void batch_run(struct resp_conn *c, uint64_t now_ns) {
    enum resp_progress p = resp_line_send(c, now_ns);
    if (p == PROGRESS_BROKEN) return;
    bool sent = p == PROGRESS_DONE;
    while (c->reading < c->until) {
        struct resp_head h = resp_line_head(c);
        if (h.kind != RESP_MORE) {
            if (!batch_answer(c, &h, now_ns)) return;
            continue;
        }
        p = resp_line_receive(c, sizeof c->in, now_ns);
        if (p == PROGRESS_BROKEN) return;
        if (p == PROGRESS_WAITS) {
            resp_line_wait(c, EPOLLIN | (sent ? 0 : EPOLLOUT), now_ns);
            return;
        }
    }
    if (c->in_len > 0) {
        resp_line_absurd(c, now_ns, "more bytes than were requested");
        return;
    }
    c->remote.failures = 0;
    remote_count(&c->remote.q->tier->trips, 1);
    batch_go(c, now_ns);
}

/* ---- values ---- */

static void job_ended(struct resp_conn *c) {
    struct remote_job *job = c->remote.job;
    c->remote.failures = 0;
    remote_count(&c->remote.q->tier->trips, 1);
    resp_line_idle(c);
    remote_job_done(c->remote.q, job);
}

/* SET with NX: there is a value. */
static void job_forestalled(struct resp_conn *c) {
    struct remote_job *job = c->remote.job;
    c->remote.failures = 0;
    remote_count(&c->remote.q->tier->trips, 1);
    resp_line_idle(c);
    job->conn = NULL;
    remote_job_forestalled(c->remote.q, job);
}

static void value_go(struct resp_conn *c, uint64_t now_ns);

/* Another server of the cluster has the value, which is asked for there; false: none, or too many said so. */
static bool job_elsewhere(struct resp_conn *c, const struct resp_head *h, uint64_t now_ns) {
    bool asking;
    int node = resp_cluster_redirect(resp_of(c->remote.q)->cluster, c->server, h->text, h->text_len, &asking);
    if (node < 0 || c->way.hops >= HOPS || !remote_job_rewind(c->remote.job)) return false;
    c->way = (struct resp_way){.node = (uint8_t)node, .hops = (uint8_t)(c->way.hops + 1), .asking = asking};
    remote_count(&c->remote.q->tier->trips, 1);
    value_go(c, now_ns);
    return true;
}

/* The server said no to a value: the connection is good, the operation is not. */
static void job_refused(struct resp_conn *c, const struct resp_head *h, uint64_t now_ns) {
    struct tier_queue *q = c->remote.q;
    struct remote_job *job = c->remote.job;
    if (c->fore > 0) { /* it is ASKING's, and another follows */
        resp_line_refused(c, h, now_ns);
        return;
    }
    if (job_elsewhere(c, h, now_ns)) return;
    resp_error_words(c->server, h->text, h->text_len, q->why, sizeof q->why);
    resp_line_idle(c);
    job->conn = NULL;
    remote_op_fail(q, job->op, EREMOTEIO);
}

static void set_run(struct resp_conn *c, uint64_t now_ns) {
    enum resp_progress p = resp_line_send(c, now_ns);
    if (p == PROGRESS_BROKEN) return;
    /* a server that refuses says so before all was sent */
    enum resp_progress r = resp_line_receive(c, sizeof c->in, now_ns);
    if (r == PROGRESS_BROKEN) return;
    struct resp_head h = resp_line_head(c);
    bool answered = h.kind == RESP_SIMPLE || h.kind == RESP_ERROR || h.kind == RESP_NIL;
    if (answered && p == PROGRESS_DONE && c->fore == 0) resp_splice_read(c);
    if (h.kind == RESP_BAD) {
        resp_line_absurd(c, now_ns, h.why);
    } else if (h.kind == RESP_MORE && p == PROGRESS_STALLED) {
        resp_line_watch(c, 0);
        c->remote.deadline_ns = KVF_NEVER;
    } else if (h.kind == RESP_MORE) {
        resp_line_wait(c, EPOLLIN | (p == PROGRESS_WAITS ? EPOLLOUT : 0), now_ns);
    } else if (p != PROGRESS_DONE) {
        resp_line_absurd(c, now_ns, "it came before the value had been sent");
    } else if (h.kind == RESP_ERROR) {
        job_refused(c, &h, now_ns);
    } else if (h.kind == RESP_SIMPLE && resp_of(c->remote.q)->pairs && !c->about) {
        resp_line_taken(c, h.len);
        remote_count(&c->remote.q->tier->trips, 1);
        resp_ask_set(c, RESP_NAME_ABOUT);
        set_run(c, now_ns);
    } else if (h.kind == RESP_SIMPLE) {
        job_ended(c);
    } else if (h.kind == RESP_NIL && c->remote.job->first) {
        job_forestalled(c);
    } else {
        resp_line_absurd(c, now_ns, "the reply to a SET must be OK");
    }
}

/* A GET whose answer is not a value of the length that was written. */
static enum resp_progress get_refused(struct resp_conn *c, const struct resp_head *h, uint64_t len,
                                      uint64_t now_ns) {
    struct tier_queue *q = c->remote.q;
    struct remote_job *job = c->remote.job;
    struct remote_op *op = job->op;
    if (h->kind == RESP_ERROR) {
        job_refused(c, h, now_ns);
    } else if (h->kind == RESP_NIL) {
        resp_line_idle(c);
        job->conn = NULL;
        remote_op_fail(q, op, ENODATA);
    } else if (h->kind == RESP_BULK) {
        job->conn = NULL;
        (void)snprintf(q->why, sizeof q->why,
                       "the server at %s has a value of %" PRId64 " bytes where %" PRIu64 " were written",
                       c->server->name, h->number, len);
        resp_line_shut(c, now_ns);
        remote_op_fail(q, op, EREMOTEIO);
    } else {
        resp_line_absurd(c, now_ns, h->kind == RESP_BAD ? h->why : "the reply to a GET must be a value");
    }
    return PROGRESS_BROKEN;
}

/* The line ahead of a value; bytes of the value that came with it go to their chunk. */
static enum resp_progress get_head(struct resp_conn *c, uint64_t now_ns) {
    struct remote_job *job = c->remote.job;
    struct resp_head h;
    while ((h = resp_line_head(c)).kind == RESP_MORE) {
        enum resp_progress p =
            resp_line_receive(c, c->in_len < HEAD_FIRST ? HEAD_FIRST : sizeof c->in, now_ns);
        if (p != PROGRESS_DONE) return p;
    }
    if (h.kind == RESP_BULK && (uint64_t)h.number == job->len) {
        resp_line_taken(c, h.len);
        c->body = true;
        c->skip = job->passed;
        return PROGRESS_DONE;
    }
    return get_refused(c, &h, job->len, now_ns);
}
/* Reads the value's description, then asks for the value. */
static enum resp_progress get_about(struct resp_conn *c, uint64_t now_ns) {
    struct resp_head h;
    size_t whole;
    while ((h = resp_line_head(c)).kind == RESP_MORE ||
           (h.kind == RESP_BULK && h.number == RESP_ABOUT && c->in_len < h.len + RESP_ABOUT + 2)) {
        enum resp_progress p = resp_line_receive(c, sizeof c->in, now_ns);
        if (p != PROGRESS_DONE) return p;
    }
    if (h.kind != RESP_BULK || h.number != RESP_ABOUT) return get_refused(c, &h, RESP_ABOUT, now_ns);
    whole = h.len + RESP_ABOUT + 2;
    resp_line_taken(c, whole);
    remote_count(&c->remote.q->tier->trips, 1);
    resp_ask_get(c, RESP_NAME_VALUE);
    return resp_line_send(c, now_ns);
}

/* Bytes of the value in the small buffer. */
static void take_early(struct resp_conn *c) {
    struct remote_job *job = c->remote.job;
    while (c->in_len > 0 && (c->skip > 0 || (job->chunk && job->passed < job->len))) {
        uint64_t n = c->in_len;
        if (c->skip > 0) {
            if (n > c->skip) n = c->skip;
            c->skip -= n;
        } else {
            struct iovec iov = {0};
            bool whole;
            (void)remote_job_pieces(job, &iov, 1, &whole);
            if (n > iov.iov_len) n = iov.iov_len;
            memcpy(iov.iov_base, c->in, n);
            remote_job_pass(c->remote.q, job, n);
        }
        resp_line_taken(c, (size_t)n);
    }
}

static size_t room_of(const struct iovec *iov, int n) {
    size_t room = 0;
    for (int i = 0; i < n; i++) room += iov[i].iov_len;
    return room;
}

static enum resp_progress get_body(struct resp_conn *c, uint64_t now_ns) {
    struct remote_job *job = c->remote.job;
    bool emptied = false;
    for (int i = 0;; i++) {
        struct iovec iov[REMOTE_PIECES + 1];
        bool whole = false;
        int n = 0;
        take_early(c);
        if (c->skip > 0) {
            uint64_t len = c->skip < RESP_SCRATCH ? c->skip : RESP_SCRATCH;
            iov[n++] = (struct iovec){(uint8_t *)c->remote.q->own, len};
        } else {
            n = remote_job_pieces(job, iov, REMOTE_PIECES, &whole);
            if (whole && c->in_len >= 2) return PROGRESS_DONE;
            if (n == 0 && !whole) return PROGRESS_STALLED;
            if (whole) iov[n++] = (struct iovec){c->in + c->in_len, 2 - c->in_len};
        }
        /* only after a look at what has come: nothing wakes us for that again */
        if ((i >= RECEIVES || emptied) && !resp_tls_holds(c->line.tls)) return PROGRESS_WAITS;
        ssize_t rc = resp_line_pass(c, iov, n, false);
        if (rc < 0 && errno == EAGAIN) return PROGRESS_WAITS;
        if (rc <= 0) {
            resp_line_lost(c, now_ns, rc < 0 ? errno : 0);
            return PROGRESS_BROKEN;
        }
        uint64_t got = (uint64_t)rc, left = job->len - job->passed;
        emptied = !c->line.tls && got < room_of(iov, n);
        if (c->skip > 0) {
            c->skip -= got;
            continue;
        }
        remote_job_pass(c->remote.q, job, got < left ? got : left);
        if (got > left) c->in_len += (size_t)(got - left);
    }
}

static void get_run(struct resp_conn *c, uint64_t now_ns) {
    bool asks = c->out_at < c->out_len;
    enum resp_progress p = asks ? resp_line_send(c, now_ns) : PROGRESS_DONE;
    if (p == PROGRESS_WAITS || (asks && p == PROGRESS_DONE)) { /* what is asked now has no answer yet */
        resp_line_wait(c, EPOLLIN | (p == PROGRESS_WAITS ? EPOLLOUT : 0), now_ns);
        return;
    }
    if (p == PROGRESS_DONE && c->about) p = get_about(c, now_ns);
    if (p == PROGRESS_DONE && !c->body) p = get_head(c, now_ns);
    if (p == PROGRESS_DONE) p = get_body(c, now_ns);
    if (p == PROGRESS_STALLED) {
        resp_line_watch(c, 0);
        c->remote.deadline_ns = KVF_NEVER;
    } else if (p == PROGRESS_WAITS) {
        resp_line_wait(c, EPOLLIN | (c->out_at < c->out_len ? EPOLLOUT : 0), now_ns);
    } else if (p == PROGRESS_DONE && (c->in_len != 2 || memcmp(c->in, "\r\n", 2) != 0)) {
        resp_line_absurd(c, now_ns, "the value has no end");
    } else if (p == PROGRESS_DONE) {
        job_ended(c);
    }
}

static void drain_run(struct resp_conn *c, uint64_t now_ns) {
    while (c->drain > 0) {
        uint64_t len = c->drain < RESP_SCRATCH ? c->drain : RESP_SCRATCH;
        struct iovec iov = {(uint8_t *)c->remote.q->own, len};
        ssize_t rc = resp_line_pass(c, &iov, 1, false);
        if (rc < 0 && errno == EAGAIN) {
            resp_line_wait(c, EPOLLIN, now_ns);
            return;
        }
        if (rc <= 0) {
            resp_line_lost(c, now_ns, rc < 0 ? errno : 0);
            return;
        }
        c->drain -= (uint64_t)rc;
    }
    resp_line_idle(c);
}

/* ---- what the queue asks of it ---- */

static struct resp_conn *conn_of(struct remote_conn *c) {
    return (struct resp_conn *)(void *)c;
}

static void conn_ask(struct remote_conn *base, uint64_t now_ns) {
    struct resp_conn *c = conn_of(base);
    for (unsigned i = 0; i < base->items; i++)
        c->ways[i] = resp_ask_way(c, base->item[i].place, base->item[i].value);
    base->answered = 0;
    batch_go(c, now_ns);
}

static void value_go(struct resp_conn *c, uint64_t now_ns) {
    if (!resp_line_turn(c, c->way.node, now_ns)) return;
    c->in_len = 0;
    c->body = false;
    c->fore = c->way.asking;
    if (c->remote.job->op->dir == KVF_DIR_WRITE) {
        c->state = CONN_SET;
        resp_ask_set(c, RESP_NAME_VALUE);
        set_run(c, now_ns);
    } else {
        c->state = CONN_GET;
        resp_ask_get(c, resp_asked(resp_of(c->remote.q)));
        get_run(c, now_ns);
    }
}

static void conn_begin(struct remote_conn *base, struct remote_job *job, uint64_t now_ns) {
    struct resp_conn *c = conn_of(base);
    c->way = resp_ask_way(c, job->op->place, job->value);
    c->body = false;
    value_go(c, now_ns);
}

void resp_conn_ready(struct resp_conn *c, uint64_t now_ns) {
    if (c->remote.job)
        value_go(c, now_ns);
    else if (c->remote.items > 0)
        batch_go(c, now_ns);
    else
        resp_line_idle(c);
}

/* A short remainder of a value is read and discarded; for a long one a new connection is cheaper. */
static void conn_detach(struct remote_conn *base, uint64_t now_ns) {
    struct resp_conn *c = conn_of(base);
    struct remote_job *job = base->job;
    uint64_t left = job->len - job->passed + c->skip + 2;
    bool reads = c->state == CONN_GET && c->body && left <= DRAIN_MOST;
    base->job = NULL;
    if (!reads) {
        base->failures = 0; /* it is not the server's fault */
        resp_line_shut(c, now_ns);
        return;
    }
    c->state = CONN_DRAIN;
    c->drain = left > c->in_len ? left - c->in_len : 0;
    c->in_len = 0;
    drain_run(c, now_ns);
}

static void conn_open(struct remote_conn *base, uint64_t now_ns) {
    resp_line_open(conn_of(base), now_ns);
}

static void conn_close(struct remote_conn *base) {
    resp_line_close(conn_of(base));
}

/* Goes on with what it does as far as it can. */
static void conn_run(struct remote_conn *base, uint64_t now_ns) {
    struct resp_conn *c = conn_of(base);
    switch (c->state) {
    case CONN_CONNECTING:
    case CONN_GREETING:
        resp_line_run(c, now_ns);
        break;
    case CONN_BATCH:
        batch_run(c, now_ns);
        break;
    case CONN_SET:
        set_run(c, now_ns);
        break;
    case CONN_GET:
        get_run(c, now_ns);
        break;
    case CONN_DRAIN:
        drain_run(c, now_ns);
        break;
    case CONN_IDLE: /* nothing was asked, so this is its end, nonsense, or what TLS says for itself */
        if (!resp_line_quiet(c)) resp_line_lost(c, now_ns, 0);
        break;
    case CONN_DOWN:
        break;
    }
}

static void conn_late(struct remote_conn *base, uint64_t now_ns) {
    resp_line_break(conn_of(base), now_ns, "the server at %s has not answered within tiers.remote.timeout",
                    conn_of(base)->server->name);
}

static void conn_look(struct tier_queue *q, uint64_t now_ns) {
    struct epoll_event event[EVENTS];
    int n;
    do {
        n = epoll_wait(q->epoll_fd, event, EVENTS, 0);
        for (int i = 0; i < n; i++) conn_run(event[i].data.ptr, now_ns);
    } while (n == EVENTS);
}

/* Bytes that nobody reads go there. */
static int conn_queue_open(struct tier_queue *q, struct err *e) {
    (void)e;
    q->own = mem_alloc(RESP_SCRATCH);
    return 0;
}

static void conn_queue_close(struct tier_queue *q) {
    free(q->own);
}

static void conn_value_name(const struct remote_tier *t, const struct remote_place *p, uint64_t value,
                            char out[REMOTE_KEY]) {
    (void)resp_key((const struct resp_tier *)t, p, value, RESP_NAME_VALUE, out);
}

const struct remote_wire resp_conn_wire = {.conn_size = sizeof(struct resp_conn),
                                           .batch = REMOTE_BATCH,
                                           .queue_open = conn_queue_open,
                                           .queue_close = conn_queue_close,
                                           .look = conn_look,
                                           .open = conn_open,
                                           .close = conn_close,
                                           .late = conn_late,
                                           .begin = conn_begin,
                                           .ask = conn_ask,
                                           .go_on = conn_run,
                                           .detach = conn_detach,
                                           .value_name = conn_value_name};
