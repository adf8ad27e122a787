#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/utf8.h"
#include "tier/resp/resp.h"

/* A connection of a queue. Values are sent from and received into the chunks' own buffers; only the line
 * ahead of a value and what came with it in the same read pass through a small one.
 *
 *   DOWN ─► CONNECTING ─► BATCH (greeting) ─► IDLE ─► BATCH, SET or GET ─► IDLE
 *   DRAIN: the rest of a value that nobody wants any more
 * Whatever goes wrong on the way leads to DOWN, and what was in flight is begun again elsewhere or fails. A
 * connection whose value waits for a chunk of ours is watched for nothing and has no deadline. */

enum { HEAD_FIRST = 64, DRAIN_MOST = 8 << 20, BACKOFF_MOST = 7, RECEIVES = 8 };
static const uint64_t backoff_ns = 10 * KVF_NS_PER_MS;

enum progress { PROGRESS_DONE, PROGRESS_WAITS, PROGRESS_STALLED, PROGRESS_BROKEN };

static void watch(struct resp_conn *c, uint32_t events) {
    struct epoll_event e = {.events = events, .data.u32 = (uint32_t)(c - c->q->conn)};
    if (c->events == events) return;
    c->events = events;
    (void)epoll_ctl(c->q->epoll_fd, EPOLL_CTL_MOD, c->fd, &e);
}

static void count(_Atomic uint64_t *v, uint64_t n) {
    atomic_fetch_add_explicit(v, n, memory_order_relaxed);
}

/* Waits for the socket; from now on without progress no longer than the timeout. */
static void wait_on(struct resp_conn *c, uint32_t events, uint64_t now_ns) {
    watch(c, events);
    c->deadline_ns = now_ns + c->q->tier->timeout_ns;
}

static void to_idle(struct resp_conn *c) {
    c->state = CONN_IDLE;
    c->deadline_ns = KVF_NEVER;
    c->in_len = c->out_len = c->out_at = 0;
    c->job = NULL;
    watch(c, EPOLLIN);
    c->next_idle = c->q->idle;
    c->q->idle = c;
}

static void idle_remove(struct resp_conn *c) {
    struct resp_conn **at = &c->q->idle;
    while (*at && *at != c) at = &(*at)->next_idle;
    if (*at) *at = c->next_idle;
}

static bool is_up(const struct resp_conn *c) {
    return c->state != CONN_DOWN && c->state != CONN_CONNECTING &&
           !(c->state == CONN_BATCH && c->items > 0 && c->item[0].kind == ITEM_GREETING);
}

static void came_up(struct resp_conn *c) {
    c->q->ready++;
    count(&c->q->tier->up, 1);
    c->q->down_ns = KVF_NEVER;
    c->items = 0;
    to_idle(c);
}

/* Takes the connection down; what was in flight is the caller's business. */
static void shut(struct resp_conn *c, uint64_t now_ns) {
    struct tier_queue *q = c->q;
    unsigned steps = c->failures < BACKOFF_MOST ? c->failures : BACKOFF_MOST;
    if (is_up(c)) {
        count(&q->tier->up, UINT64_MAX);
        if (--q->ready == 0) q->down_ns = now_ns;
    }
    if (c->state == CONN_IDLE) idle_remove(c);
    resp_tls_end(c->tls);
    c->tls = NULL;
    if (c->fd >= 0) close(c->fd);
    c->fd = -1;
    c->events = 0;
    c->state = CONN_DOWN;
    c->deadline_ns = KVF_NEVER;
    c->retry_ns = now_ns + (c->failures ? backoff_ns << steps : 0);
    c->failures++;
    c->job = NULL;
    c->in_len = c->out_len = c->out_at = 0;
}

void resp_conn_break(struct resp_conn *c, uint64_t now_ns, const char *fmt, ...) {
    struct tier_queue *q = c->q;
    struct resp_job *job = c->job;
    struct resp_item item[RESP_BATCH];
    unsigned items = c->state == CONN_BATCH ? c->items : 0, answered = c->answered;
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(q->why, sizeof q->why, fmt, ap);
    va_end(ap);
    utf8_clean(q->why, 0);
    memcpy(item, c->item, items * sizeof *item);
    shut(c, now_ns);
    c->items = 0;
    for (unsigned i = answered; i < items; i++) resp_item_lost(q, &item[i]);
    if (!job) return;
    job->conn = NULL;
    resp_job_interrupted(q, job);
}

static void lost(struct resp_conn *c, uint64_t now_ns, int error) {
    resp_conn_break(c, now_ns, "the connection to %s was lost: %s", c->q->tier->server.name,
                    error ? strerror(error) : "the server has closed it");
}

static void absurd(struct resp_conn *c, uint64_t now_ns, const char *why) {
    resp_conn_break(c, now_ns, "the server at %s gave an answer that is none: %s", c->q->tier->server.name,
                    why);
}

/* ---- bytes ---- */

/* Parts of the job's value from where it stands, as far as chunks are there; *whole: up to its end. */
static int job_pieces(const struct resp_job *job, struct iovec *iov, int room, bool *whole) {
    uint64_t at = job->at + job->passed, end = job->at + job->len;
    int n = 0;
    for (const struct tier_chunk *c = job->chunk; c && at < end && n < room;
         c = (const struct tier_chunk *)(uintptr_t)c->internal[CHUNK_BEHIND]) {
        uint64_t stop = c->offset + c->len < end ? c->offset + c->len : end;
        iov[n++] = (struct iovec){(uint8_t *)c->buf + (at - c->offset), stop - at};
        at = stop;
    }
    *whole = at == end;
    return n;
}

static ssize_t pass(struct resp_conn *c, struct iovec *iov, int n, bool send) {
    ssize_t rc = resp_tls_pass(c->fd, c->tls, iov, n, send);
    if (rc > 0) count(send ? &c->q->tier->sent_bytes : &c->q->tier->received_bytes, (uint64_t)rc);
    return rc;
}

static bool is_quiet(struct resp_conn *c) {
    char byte;
    struct iovec iov = {&byte, 1};
    return pass(c, &iov, 1, false) < 0 && errno == EAGAIN;
}

/* The command, with a SET's value and what follows it. */
static enum progress send_all(struct resp_conn *c, uint64_t now_ns) {
    struct resp_job *job = c->state == CONN_SET ? c->job : NULL;
    for (;;) {
        struct iovec iov[RESP_PIECES + 2];
        int n = 0;
        bool whole = true;
        if (c->out_at < c->out_len) iov[n++] = (struct iovec){c->out + c->out_at, c->out_len - c->out_at};
        if (job && job->passed < job->len) {
            int pieces = job_pieces(job, iov + n, RESP_PIECES, &whole);
            if (pieces == 0 && n == 0) return PROGRESS_STALLED;
            n += pieces;
        }
        if (job && whole && c->tail_at < c->tail_len)
            iov[n++] = (struct iovec){c->tail + c->tail_at, c->tail_len - c->tail_at};
        if (n == 0) return PROGRESS_DONE;
        ssize_t rc = pass(c, iov, n, true);
        if (rc < 0 && errno == EAGAIN) return PROGRESS_WAITS;
        if (rc < 0) {
            lost(c, now_ns, errno);
            return PROGRESS_BROKEN;
        }
        size_t sent = (size_t)rc, head = c->out_len - c->out_at;
        if (head > sent) head = sent;
        c->out_at += head;
        sent -= head;
        if (!job || sent == 0) continue;
        uint64_t value = job->len - job->passed < sent ? job->len - job->passed : sent;
        resp_job_pass(c->q, job, value);
        c->tail_at += sent - value;
    }
}

/* More of what the server says, up to a number of bytes in all. */
static enum progress receive_line(struct resp_conn *c, size_t most, uint64_t now_ns) {
    struct iovec iov = {c->in + c->in_len, most - c->in_len};
    ssize_t rc = pass(c, &iov, 1, false);
    if (rc < 0 && errno == EAGAIN) return PROGRESS_WAITS;
    if (rc <= 0) {
        lost(c, now_ns, rc < 0 ? errno : 0);
        return PROGRESS_BROKEN;
    }
    c->in_len += (size_t)rc;
    return PROGRESS_DONE;
}

static void line_taken(struct resp_conn *c, size_t n) {
    memmove(c->in, c->in + n, c->in_len - n);
    c->in_len -= n;
}

/* ---- batches ---- */

static void greeting_refused(struct resp_conn *c, const struct resp_head *h, uint64_t now_ns) {
    char words[300];
    resp_error_words(&c->q->tier->server, h->text, h->text_len, words, sizeof words);
    resp_conn_break(c, now_ns, "%s", words);
}

/* An answer of a batch; false: the connection was given up. */
static bool batch_answer(struct resp_conn *c, const struct resp_head *h, uint64_t now_ns) {
    struct resp_item item = c->item[c->answered];
    if (h->kind == RESP_ERROR) { /* also of a lookup: a server that is loading, or has turned us out */
        greeting_refused(c, h, now_ns);
        return false;
    }
    if (h->kind != RESP_INTEGER && !(h->kind == RESP_SIMPLE && item.kind == ITEM_GREETING)) {
        absurd(c, now_ns, h->kind == RESP_BAD ? h->why : "a number was asked for");
        return false;
    }
    c->answered++;
    bool there = h->kind == RESP_INTEGER && h->number > 0;
    line_taken(c, h->len);
    resp_item_answered(c->q, &item, there);
    return true;
}

static void batch_run(struct resp_conn *c, uint64_t now_ns) {
    enum progress p = send_all(c, now_ns);
    if (p == PROGRESS_BROKEN) return;
    bool sent = p == PROGRESS_DONE, greeting = c->item[0].kind == ITEM_GREETING;
    while (c->answered < c->items) {
        struct resp_head h = resp_head_read(c->in, c->in_len);
        if (h.kind != RESP_MORE) {
            if (!batch_answer(c, &h, now_ns)) return;
            continue;
        }
        p = receive_line(c, sizeof c->in, now_ns);
        if (p == PROGRESS_BROKEN) return;
        if (p == PROGRESS_WAITS) {
            wait_on(c, EPOLLIN | (sent ? 0 : EPOLLOUT), now_ns);
            return;
        }
    }
    if (c->in_len > 0) {
        absurd(c, now_ns, "there is more than was asked for");
        return;
    }
    c->failures = 0;
    c->items = 0;
    count(&c->q->tier->trips, !greeting);
    if (greeting)
        came_up(c);
    else
        to_idle(c);
}

/* ---- values ---- */

static void job_ended(struct resp_conn *c) {
    struct resp_job *job = c->job;
    c->failures = 0;
    count(&c->q->tier->trips, 1);
    to_idle(c);
    resp_job_done(c->q, job);
}

/* The server said no to a value: the connection is good, the operation is not. */
static void job_refused(struct resp_conn *c, const struct resp_head *h) {
    struct tier_queue *q = c->q;
    struct resp_job *job = c->job;
    resp_error_words(&q->tier->server, h->text, h->text_len, q->why, sizeof q->why);
    to_idle(c);
    job->conn = NULL;
    resp_op_fail(q, job->op, EREMOTEIO);
}

static void set_run(struct resp_conn *c, uint64_t now_ns) {
    enum progress p = send_all(c, now_ns);
    if (p == PROGRESS_BROKEN) return;
    /* a server that refuses says so before all was sent */
    enum progress r = receive_line(c, sizeof c->in, now_ns);
    if (r == PROGRESS_BROKEN) return;
    struct resp_head h = resp_head_read(c->in, c->in_len);
    if (h.kind == RESP_BAD) {
        absurd(c, now_ns, h.why);
    } else if (h.kind == RESP_MORE && p == PROGRESS_STALLED) {
        watch(c, 0);
        c->deadline_ns = KVF_NEVER;
    } else if (h.kind == RESP_MORE) {
        wait_on(c, EPOLLIN | (p == PROGRESS_WAITS ? EPOLLOUT : 0), now_ns);
    } else if (p != PROGRESS_DONE) {
        absurd(c, now_ns, "it came before the value was sent");
    } else if (h.kind == RESP_ERROR) {
        job_refused(c, &h);
    } else if (h.kind == RESP_SIMPLE && c->q->tier->pairs && !c->about) {
        line_taken(c, h.len);
        count(&c->q->tier->trips, 1);
        resp_ask_set(c, RESP_NAME_ABOUT);
        set_run(c, now_ns);
    } else if (h.kind == RESP_SIMPLE) {
        job_ended(c);
    } else {
        absurd(c, now_ns, "a SET is answered with OK");
    }
}

/* A GET whose answer is not a value of the length that was written. */
static enum progress get_refused(struct resp_conn *c, const struct resp_head *h, uint64_t len,
                                 uint64_t now_ns) {
    struct tier_queue *q = c->q;
    struct resp_job *job = c->job;
    struct resp_op *op = job->op;
    if (h->kind == RESP_ERROR) {
        job_refused(c, h);
    } else if (h->kind == RESP_NIL) {
        to_idle(c);
        job->conn = NULL;
        resp_op_fail(q, op, ENODATA);
    } else if (h->kind == RESP_BULK) {
        job->conn = NULL;
        (void)snprintf(q->why, sizeof q->why,
                       "the server at %s has a value of %" PRId64 " bytes where %" PRIu64 " were written",
                       q->tier->server.name, h->number, len);
        shut(c, now_ns);
        resp_op_fail(q, op, EREMOTEIO);
    } else {
        absurd(c, now_ns, h->kind == RESP_BAD ? h->why : "a GET is answered with a value");
    }
    return PROGRESS_BROKEN;
}

/* The line ahead of a value; bytes of the value that came with it go to their chunk. */
static enum progress get_head(struct resp_conn *c, uint64_t now_ns) {
    struct resp_job *job = c->job;
    struct resp_head h;
    while ((h = resp_head_read(c->in, c->in_len)).kind == RESP_MORE) {
        enum progress p = receive_line(c, c->in_len < HEAD_FIRST ? HEAD_FIRST : sizeof c->in, now_ns);
        if (p != PROGRESS_DONE) return p;
    }
    if (h.kind == RESP_BULK && (uint64_t)h.number == job->len) {
        line_taken(c, h.len);
        c->body = true;
        c->skip = job->passed;
        return PROGRESS_DONE;
    }
    return get_refused(c, &h, job->len, now_ns);
}
/* Reads the value's description, then asks for the value. */
static enum progress get_about(struct resp_conn *c, uint64_t now_ns) {
    struct resp_head h;
    size_t whole;
    while ((h = resp_head_read(c->in, c->in_len)).kind == RESP_MORE ||
           (h.kind == RESP_BULK && h.number == RESP_ABOUT && c->in_len < h.len + RESP_ABOUT + 2)) {
        enum progress p = receive_line(c, sizeof c->in, now_ns);
        if (p != PROGRESS_DONE) return p;
    }
    if (h.kind != RESP_BULK || h.number != RESP_ABOUT) return get_refused(c, &h, RESP_ABOUT, now_ns);
    whole = h.len + RESP_ABOUT + 2;
    line_taken(c, whole);
    count(&c->q->tier->trips, 1);
    resp_ask_get(c, RESP_NAME_VALUE);
    return send_all(c, now_ns);
}

/* Bytes of the value in the small buffer. */
static void take_early(struct resp_conn *c) {
    struct resp_job *job = c->job;
    while (c->in_len > 0 && (c->skip > 0 || (job->chunk && job->passed < job->len))) {
        uint64_t n = c->in_len;
        if (c->skip > 0) {
            if (n > c->skip) n = c->skip;
            c->skip -= n;
        } else {
            struct iovec iov = {0};
            bool whole;
            (void)job_pieces(job, &iov, 1, &whole);
            if (n > iov.iov_len) n = iov.iov_len;
            memcpy(iov.iov_base, c->in, n);
            resp_job_pass(c->q, job, n);
        }
        line_taken(c, (size_t)n);
    }
}

static enum progress get_body(struct resp_conn *c, uint64_t now_ns) {
    struct resp_job *job = c->job;
    for (int i = 0; i < RECEIVES || resp_tls_holds(c->tls); i++) {
        struct iovec iov[RESP_PIECES + 1];
        bool whole = false;
        int n = 0;
        take_early(c);
        if (c->skip > 0) {
            uint64_t len = c->skip < RESP_SCRATCH ? c->skip : RESP_SCRATCH;
            iov[n++] = (struct iovec){c->q->scratch, len};
        } else {
            n = job_pieces(job, iov, RESP_PIECES, &whole);
            if (whole && c->in_len >= 2) return PROGRESS_DONE;
            if (n == 0 && !whole) return PROGRESS_STALLED;
            if (whole) iov[n++] = (struct iovec){c->in + c->in_len, 2 - c->in_len};
        }
        ssize_t rc = pass(c, iov, n, false);
        if (rc < 0 && errno == EAGAIN) return PROGRESS_WAITS;
        if (rc <= 0) {
            lost(c, now_ns, rc < 0 ? errno : 0);
            return PROGRESS_BROKEN;
        }
        uint64_t got = (uint64_t)rc, left = job->len - job->passed;
        if (c->skip > 0) {
            c->skip -= got;
            continue;
        }
        resp_job_pass(c->q, job, got < left ? got : left);
        if (got > left) c->in_len += (size_t)(got - left);
    }
    return PROGRESS_WAITS;
}

static void get_run(struct resp_conn *c, uint64_t now_ns) {
    enum progress p = c->out_at < c->out_len ? send_all(c, now_ns) : PROGRESS_DONE;
    if (p == PROGRESS_WAITS) {
        wait_on(c, EPOLLIN | EPOLLOUT, now_ns);
        return;
    }
    if (p == PROGRESS_DONE && c->about) p = get_about(c, now_ns);
    if (p == PROGRESS_DONE && !c->body) p = get_head(c, now_ns);
    if (p == PROGRESS_DONE) p = get_body(c, now_ns);
    if (p == PROGRESS_STALLED) {
        watch(c, 0);
        c->deadline_ns = KVF_NEVER;
    } else if (p == PROGRESS_WAITS) {
        wait_on(c, EPOLLIN | (c->out_at < c->out_len ? EPOLLOUT : 0), now_ns);
    } else if (p == PROGRESS_DONE && (c->in_len != 2 || memcmp(c->in, "\r\n", 2) != 0)) {
        absurd(c, now_ns, "a value does not end where it should");
    } else if (p == PROGRESS_DONE) {
        job_ended(c);
    }
}

static void drain_run(struct resp_conn *c, uint64_t now_ns) {
    while (c->drain > 0) {
        uint64_t len = c->drain < RESP_SCRATCH ? c->drain : RESP_SCRATCH;
        struct iovec iov = {c->q->scratch, len};
        ssize_t rc = pass(c, &iov, 1, false);
        if (rc < 0 && errno == EAGAIN) {
            wait_on(c, EPOLLIN, now_ns);
            return;
        }
        if (rc <= 0) {
            lost(c, now_ns, rc < 0 ? errno : 0);
            return;
        }
        c->drain -= (uint64_t)rc;
    }
    to_idle(c);
}

/* ---- what the queue asks of it ---- */

void resp_conn_batch(struct resp_conn *c, uint64_t now_ns) {
    c->state = CONN_BATCH;
    c->out_at = c->in_len = 0;
    c->answered = 0;
    c->tail_len = c->tail_at = 0;
    batch_run(c, now_ns);
}

void resp_conn_begin(struct resp_conn *c, struct resp_job *job, uint64_t now_ns) {
    c->job = job;
    job->conn = c;
    c->in_len = 0;
    c->body = false;
    c->items = 0;
    if (job->op->dir == KVF_DIR_WRITE) {
        c->state = CONN_SET;
        resp_ask_set(c, RESP_NAME_VALUE);
        set_run(c, now_ns);
    } else {
        c->state = CONN_GET;
        resp_ask_get(c, resp_asked(c->q->tier));
        get_run(c, now_ns);
    }
}

/* A short remainder of a value is read and discarded; for a long one a new connection is cheaper. */
void resp_conn_detach(struct resp_conn *c, uint64_t now_ns) {
    struct resp_job *job = c->job;
    uint64_t left = job->len - job->passed + c->skip + 2;
    bool reads = c->state == CONN_GET && c->body && left <= DRAIN_MOST;
    c->job = NULL;
    if (!reads) {
        c->failures = 0; /* it is not the server's fault */
        shut(c, now_ns);
        return;
    }
    c->state = CONN_DRAIN;
    c->drain = left > c->in_len ? left - c->in_len : 0;
    c->in_len = 0;
    drain_run(c, now_ns);
}

static void greet(struct resp_conn *c, uint64_t now_ns) {
    struct buf out = {0};
    c->items = resp_server_greeting(&c->q->tier->server, &out);
    if (c->items == 0) {
        came_up(c);
        return;
    }
    for (unsigned i = 0; i < c->items; i++) c->item[i] = (struct resp_item){.kind = ITEM_GREETING};
    memcpy(c->out, out.data, out.len);
    c->out_len = out.len;
    buf_free(&out);
    resp_conn_batch(c, now_ns);
}

static void shake_run(struct resp_conn *c, uint64_t now_ns) {
    const struct resp_server *s = &c->q->tier->server;
    char why[400] = "there is no memory for a connection";
    if (!c->tls) c->tls = resp_tls_begin(s->tls, c->fd, s->host);
    enum resp_tls_wants wants = c->tls ? resp_tls_shake(c->tls, s->name, why, sizeof why) : TLS_REFUSED;
    if (wants == TLS_DONE)
        greet(c, now_ns);
    else if (wants == TLS_REFUSED)
        resp_conn_break(c, now_ns, "%s", why);
    else
        watch(c, wants == TLS_READ ? EPOLLIN : EPOLLOUT); /* the deadline is that of connecting */
}

static void connect_run(struct resp_conn *c, uint64_t now_ns) {
    int error = 0;
    socklen_t len = sizeof error;
    if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0) error = errno;
    if (error)
        resp_conn_break(c, now_ns, "no server answers at %s: %s", c->q->tier->server.name, strerror(error));
    else if (c->q->tier->server.tls)
        shake_run(c, now_ns);
    else
        greet(c, now_ns);
}

void resp_conn_open(struct resp_conn *c, uint64_t now_ns) {
    struct epoll_event e = {.events = EPOLLOUT, .data.u32 = (uint32_t)(c - c->q->conn)};
    c->fd = resp_server_socket(&c->q->tier->server);
    c->state = CONN_CONNECTING;
    c->items = 0;
    if (c->fd < 0 || epoll_ctl(c->q->epoll_fd, EPOLL_CTL_ADD, c->fd, &e) != 0) {
        int error = c->fd < 0 ? -c->fd : errno;
        resp_conn_break(c, now_ns, "no server answers at %s: %s", c->q->tier->server.name, strerror(error));
        return;
    }
    c->events = EPOLLOUT;
    c->deadline_ns = now_ns + c->q->tier->timeout_ns;
}

void resp_conn_run(struct resp_conn *c, uint64_t now_ns) {
    switch (c->state) {
    case CONN_CONNECTING:
        connect_run(c, now_ns);
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
        if (!is_quiet(c)) lost(c, now_ns, 0);
        break;
    case CONN_DOWN:
        break;
    }
}
