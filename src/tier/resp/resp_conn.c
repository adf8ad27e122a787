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
 *   DOWN ─► CONNECTING ─► BATCH (greeting) ─► IDLE ─► BATCH, SET or GET ─► IDLE
 *   DRAIN: the rest of a value that nobody wants any more
 * Whatever goes wrong on the way leads to DOWN, and what was in flight is begun again elsewhere or fails. A
 * connection whose value waits for a chunk of ours is watched for nothing and has no deadline. */

enum { HEAD_FIRST = 64, DRAIN_MOST = 8 << 20, EVENTS = 32, RECEIVES = 8 };

enum progress { PROGRESS_DONE, PROGRESS_WAITS, PROGRESS_STALLED, PROGRESS_BROKEN };

static void watch(struct resp_conn *c, uint32_t events) {
    struct epoll_event e = {.events = events, .data.ptr = c};
    if (c->events == events) return;
    c->events = events;
    (void)epoll_ctl(c->remote.q->epoll_fd, EPOLL_CTL_MOD, c->fd, &e);
}

/* Waits for the socket; from now on without progress no longer than the timeout. */
static void wait_on(struct resp_conn *c, uint32_t events, uint64_t now_ns) {
    watch(c, events);
    remote_conn_moves(&c->remote, now_ns);
}

static void to_idle(struct resp_conn *c) {
    c->state = CONN_IDLE;
    c->in_len = c->out_len = c->out_at = 0;
    watch(c, EPOLLIN);
    remote_conn_idle(&c->remote);
}

static void came_up(struct resp_conn *c) {
    remote_conn_up(&c->remote);
    to_idle(c);
}

/* Ends what the connection has of the system. */
static void hang_up(struct resp_conn *c) {
    resp_tls_end(c->tls);
    c->tls = NULL;
    if (c->fd >= 0) close(c->fd);
    c->fd = -1;
    c->events = 0;
    c->state = CONN_DOWN;
    c->in_len = c->out_len = c->out_at = 0;
}

/* Takes the connection down; what was in flight is the caller's business. */
static void shut(struct resp_conn *c, uint64_t now_ns) {
    hang_up(c);
    remote_conn_down(&c->remote, now_ns);
}

__attribute__((format(printf, 3, 4))) static void conn_break(struct resp_conn *c, uint64_t now_ns,
                                                             const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    remote_why(c->remote.q, fmt, ap);
    va_end(ap);
    hang_up(c);
    remote_conn_lost(&c->remote, now_ns);
}

static void lost(struct resp_conn *c, uint64_t now_ns, int error) {
    conn_break(c, now_ns, "the connection to %s was lost: %s", c->remote.q->tier->name,
               error ? strerror(error) : "the server has closed it");
}

static void absurd(struct resp_conn *c, uint64_t now_ns, const char *why) {
    conn_break(c, now_ns, "the server at %s gave an answer that is none: %s", c->remote.q->tier->name, why);
}

/* ---- bytes ---- */

static ssize_t pass(struct resp_conn *c, struct iovec *iov, int n, bool send) {
    ssize_t rc = resp_tls_pass(c->fd, c->tls, iov, n, send);
    if (rc > 0)
        remote_count(send ? &c->remote.q->tier->sent_bytes : &c->remote.q->tier->received_bytes,
                     (uint64_t)rc);
    return rc;
}

static bool is_quiet(struct resp_conn *c) {
    char byte;
    struct iovec iov = {&byte, 1};
    return pass(c, &iov, 1, false) < 0 && errno == EAGAIN;
}

/* The command, with a SET's value and what follows it. */
static enum progress send_all(struct resp_conn *c, uint64_t now_ns) {
    struct remote_job *job = c->state == CONN_SET ? c->remote.job : NULL;
    for (;;) {
        struct iovec iov[REMOTE_PIECES + 2];
        int n = 0;
        bool whole = true;
        if (c->out_at < c->out_len) iov[n++] = (struct iovec){c->out + c->out_at, c->out_len - c->out_at};
        if (job && job->passed < job->len) {
            int pieces = remote_job_pieces(job, iov + n, REMOTE_PIECES, &whole);
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
        remote_job_pass(c->remote.q, job, value);
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
    resp_error_words(&resp_of(c->remote.q)->server, h->text, h->text_len, words, sizeof words);
    conn_break(c, now_ns, "%s", words);
}

/* An answer of a batch; false: the connection was given up. */
static bool batch_answer(struct resp_conn *c, const struct resp_head *h, uint64_t now_ns) {
    struct remote_item item = c->remote.item[c->remote.answered];
    if (h->kind == RESP_ERROR) { /* also of a lookup: a server that is loading, or has turned us out */
        greeting_refused(c, h, now_ns);
        return false;
    }
    if (h->kind != RESP_INTEGER && !(h->kind == RESP_SIMPLE && item.kind == ITEM_GREETING)) {
        absurd(c, now_ns, h->kind == RESP_BAD ? h->why : "a number was asked for");
        return false;
    }
    c->remote.answered++;
    bool there = h->kind == RESP_INTEGER && h->number > 0;
    line_taken(c, h->len);
    remote_item_answered(c->remote.q, &item, there);
    return true;
}

static void batch_run(struct resp_conn *c, uint64_t now_ns) {
    enum progress p = send_all(c, now_ns);
    if (p == PROGRESS_BROKEN) return;
    bool sent = p == PROGRESS_DONE, greeting = c->remote.item[0].kind == ITEM_GREETING;
    while (c->remote.answered < c->remote.items) {
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
    c->remote.failures = 0;
    c->remote.items = 0;
    remote_count(&c->remote.q->tier->trips, !greeting);
    if (greeting)
        came_up(c);
    else
        to_idle(c);
}

/* ---- values ---- */

static void job_ended(struct resp_conn *c) {
    struct remote_job *job = c->remote.job;
    c->remote.failures = 0;
    remote_count(&c->remote.q->tier->trips, 1);
    to_idle(c);
    remote_job_done(c->remote.q, job);
}

/* The server said no to a value: the connection is good, the operation is not. */
static void job_refused(struct resp_conn *c, const struct resp_head *h) {
    struct tier_queue *q = c->remote.q;
    struct remote_job *job = c->remote.job;
    resp_error_words(&resp_of(q)->server, h->text, h->text_len, q->why, sizeof q->why);
    to_idle(c);
    job->conn = NULL;
    remote_op_fail(q, job->op, EREMOTEIO);
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
        c->remote.deadline_ns = KVF_NEVER;
    } else if (h.kind == RESP_MORE) {
        wait_on(c, EPOLLIN | (p == PROGRESS_WAITS ? EPOLLOUT : 0), now_ns);
    } else if (p != PROGRESS_DONE) {
        absurd(c, now_ns, "it came before the value was sent");
    } else if (h.kind == RESP_ERROR) {
        job_refused(c, &h);
    } else if (h.kind == RESP_SIMPLE && resp_of(c->remote.q)->pairs && !c->about) {
        line_taken(c, h.len);
        remote_count(&c->remote.q->tier->trips, 1);
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
    struct tier_queue *q = c->remote.q;
    struct remote_job *job = c->remote.job;
    struct remote_op *op = job->op;
    if (h->kind == RESP_ERROR) {
        job_refused(c, h);
    } else if (h->kind == RESP_NIL) {
        to_idle(c);
        job->conn = NULL;
        remote_op_fail(q, op, ENODATA);
    } else if (h->kind == RESP_BULK) {
        job->conn = NULL;
        (void)snprintf(q->why, sizeof q->why,
                       "the server at %s has a value of %" PRId64 " bytes where %" PRIu64 " were written",
                       q->tier->name, h->number, len);
        shut(c, now_ns);
        remote_op_fail(q, op, EREMOTEIO);
    } else {
        absurd(c, now_ns, h->kind == RESP_BAD ? h->why : "a GET is answered with a value");
    }
    return PROGRESS_BROKEN;
}

/* The line ahead of a value; bytes of the value that came with it go to their chunk. */
static enum progress get_head(struct resp_conn *c, uint64_t now_ns) {
    struct remote_job *job = c->remote.job;
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
    remote_count(&c->remote.q->tier->trips, 1);
    resp_ask_get(c, RESP_NAME_VALUE);
    return send_all(c, now_ns);
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
        line_taken(c, (size_t)n);
    }
}

static enum progress get_body(struct resp_conn *c, uint64_t now_ns) {
    struct remote_job *job = c->remote.job;
    for (int i = 0; i < RECEIVES || resp_tls_holds(c->tls); i++) {
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
        remote_job_pass(c->remote.q, job, got < left ? got : left);
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
        c->remote.deadline_ns = KVF_NEVER;
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
        struct iovec iov = {(uint8_t *)c->remote.q->own, len};
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

static struct resp_conn *conn_of(struct remote_conn *c) {
    return (struct resp_conn *)(void *)c;
}

static void conn_batch(struct resp_conn *c, uint64_t now_ns) {
    c->state = CONN_BATCH;
    c->out_at = c->in_len = 0;
    c->remote.answered = 0;
    c->tail_len = c->tail_at = 0;
    batch_run(c, now_ns);
}

static void conn_ask(struct remote_conn *base, uint64_t now_ns) {
    resp_ask_items(conn_of(base));
    conn_batch(conn_of(base), now_ns);
}

static void conn_begin(struct remote_conn *base, struct remote_job *job, uint64_t now_ns) {
    struct resp_conn *c = conn_of(base);
    c->in_len = 0;
    c->body = false;
    if (job->op->dir == KVF_DIR_WRITE) {
        c->state = CONN_SET;
        resp_ask_set(c, RESP_NAME_VALUE);
        set_run(c, now_ns);
    } else {
        c->state = CONN_GET;
        resp_ask_get(c, resp_asked(resp_of(base->q)));
        get_run(c, now_ns);
    }
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
    c->remote.items = resp_server_greeting(&resp_of(c->remote.q)->server, &out);
    if (c->remote.items == 0) {
        came_up(c);
        return;
    }
    for (unsigned i = 0; i < c->remote.items; i++)
        c->remote.item[i] = (struct remote_item){.kind = ITEM_GREETING};
    memcpy(c->out, out.data, out.len);
    c->out_len = out.len;
    buf_free(&out);
    conn_batch(c, now_ns);
}

static void shake_run(struct resp_conn *c, uint64_t now_ns) {
    const struct resp_server *s = &resp_of(c->remote.q)->server;
    char why[400] = "there is no memory for a connection";
    if (!c->tls) c->tls = resp_tls_begin(s->tls, c->fd, s->host);
    enum resp_tls_wants wants = c->tls ? resp_tls_shake(c->tls, s->name, why, sizeof why) : TLS_REFUSED;
    if (wants == TLS_DONE)
        greet(c, now_ns);
    else if (wants == TLS_REFUSED)
        conn_break(c, now_ns, "%s", why);
    else
        watch(c, wants == TLS_READ ? EPOLLIN : EPOLLOUT); /* the deadline is that of connecting */
}

static void no_answer(struct resp_conn *c, uint64_t now_ns, int error) {
    conn_break(c, now_ns, "no server answers at %s: %s", c->remote.q->tier->name, strerror(error));
}

static void connect_run(struct resp_conn *c, uint64_t now_ns) {
    int error = 0;
    socklen_t len = sizeof error;
    if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0) error = errno;
    if (error)
        no_answer(c, now_ns, error);
    else if (resp_of(c->remote.q)->server.tls)
        shake_run(c, now_ns);
    else
        greet(c, now_ns);
}

static void conn_open(struct remote_conn *base, uint64_t now_ns) {
    struct resp_conn *c = conn_of(base);
    struct epoll_event e = {.events = EPOLLOUT, .data.ptr = c};
    if (!c->out) c->out = mem_alloc(RESP_OUT);
    c->fd = resp_server_socket(&resp_of(base->q)->server);
    c->state = CONN_CONNECTING;
    if (c->fd < 0 || epoll_ctl(base->q->epoll_fd, EPOLL_CTL_ADD, c->fd, &e) != 0) {
        no_answer(c, now_ns, c->fd < 0 ? -c->fd : errno);
        return;
    }
    c->events = EPOLLOUT;
    remote_conn_moves(base, now_ns);
}

static void conn_close(struct remote_conn *base) {
    struct resp_conn *c = conn_of(base);
    if (c->fd >= 0) close(c->fd);
    free(c->out);
}

/* Goes on with what it does as far as it can. */
static void conn_run(struct remote_conn *base, uint64_t now_ns) {
    struct resp_conn *c = conn_of(base);
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

static void conn_late(struct remote_conn *base, uint64_t now_ns) {
    conn_break(conn_of(base), now_ns, "the server at %s has not answered within tiers.remote.timeout",
               base->q->tier->name);
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
