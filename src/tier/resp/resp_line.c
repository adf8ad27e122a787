#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "tier/resp/resp.h"

/* A connection's line to a server: how it comes about, how bytes go over it, and how it ends.
 *
 *   DOWN ─► CONNECTING ─► GREETING ─► ready
 * In a cluster a connection turns from one server to another, with one command in flight as ever; lines that
 * it has turned away from are parked, and not watched. */

void resp_line_watch(struct resp_conn *c, uint32_t events) {
    struct epoll_event e = {.events = events, .data.ptr = c};
    if (c->events == events) return;
    c->events = events;
    (void)epoll_ctl(c->remote.q->epoll_fd, EPOLL_CTL_MOD, c->line.fd, &e);
}

void resp_line_wait(struct resp_conn *c, uint32_t events, uint64_t now_ns) {
    resp_line_watch(c, events);
    remote_conn_moves(&c->remote, now_ns);
}

void resp_line_idle(struct resp_conn *c) {
    c->state = CONN_IDLE;
    c->in_len = c->out_len = c->out_at = 0;
    resp_line_watch(c, EPOLLIN);
    remote_conn_idle(&c->remote);
}

static void line_end(struct resp_line *l) {
    resp_tls_end(l->tls);
    resp_splice_end(l);
    if (l->fd >= 0) close(l->fd);
    *l = (struct resp_line){.fd = -1};
}

/* Ends what the connection has of the system. */
static void hang_up(struct resp_conn *c) {
    resp_splice_part(c);
    line_end(&c->line);
    c->events = 0;
    c->state = CONN_DOWN;
    c->in_len = c->out_len = c->out_at = 0;
}

void resp_line_shut(struct resp_conn *c, uint64_t now_ns) {
    hang_up(c);
    remote_conn_down(&c->remote, now_ns);
}

/* Of a batch in a cluster, what the server that has gone was to answer is lost; the others are asked for the
 * rest. false: there is no rest. */
static bool others_go_on(struct resp_conn *c, uint64_t now_ns) {
    struct remote_conn *r = &c->remote;
    struct remote_item lost[REMOTE_BATCH];
    unsigned n = 0, kept = 0;
    for (unsigned i = r->answered; i < r->items; i++) kept += c->ways[i].node != c->node;
    if (!resp_of(r->q)->cluster || r->job || kept == 0) return false;
    kept = 0;
    for (unsigned i = r->answered; i < r->items; i++) {
        if (c->ways[i].node == c->node) {
            lost[n++] = r->item[i];
        } else {
            r->item[kept] = r->item[i];
            c->ways[kept++] = c->ways[i];
        }
    }
    r->items = kept;
    r->answered = 0;
    for (unsigned i = 0; i < n; i++) remote_item_lost(r->q, &lost[i]);
    resp_conn_ready(c, now_ns);
    return true;
}

void resp_line_break(struct resp_conn *c, uint64_t now_ns, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    remote_vwhy(c->remote.q, fmt, ap);
    va_end(ap);
    hang_up(c);
    if (others_go_on(c, now_ns)) return;
    if (resp_of(c->remote.q)->cluster && c->remote.failures > 1)
        c->remote.failures = 1; /* the next server is no worse for it, and need not wait for long */
    remote_conn_lost(&c->remote, now_ns);
}

void resp_line_lost(struct resp_conn *c, uint64_t now_ns, int error) {
    resp_line_break(c, now_ns, "the connection to %s was lost: %s", c->server->name,
                    error ? strerror(error) : "the server has closed it");
}

void resp_line_absurd(struct resp_conn *c, uint64_t now_ns, const char *why) {
    resp_line_break(c, now_ns, "the server at %s sent an invalid reply: %s", c->server->name, why);
}

void resp_line_refused(struct resp_conn *c, const struct resp_head *h, uint64_t now_ns) {
    char words[300];
    resp_error_words(c->server, h->text, h->text_len, words, sizeof words);
    resp_line_break(c, now_ns, "%s", words);
}

/* ---- bytes ---- */

ssize_t resp_line_pass(struct resp_conn *c, struct iovec *iov, int n, bool send) {
    ssize_t rc = resp_tls_pass(c->line.fd, c->line.tls, iov, n, send);
    if (rc > 0)
        remote_count(send ? &c->remote.q->tier->sent_bytes : &c->remote.q->tier->received_bytes,
                     (uint64_t)rc);
    return rc;
}

bool resp_line_quiet(struct resp_conn *c) {
    char byte;
    struct iovec iov = {&byte, 1};
    return resp_line_pass(c, &iov, 1, false) < 0 && errno == EAGAIN;
}

enum resp_progress resp_line_send(struct resp_conn *c, uint64_t now_ns) {
    struct remote_job *job = c->state == CONN_SET ? c->remote.job : NULL;
    bool splices = job && resp_splice_can(c);
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
        ssize_t rc =
            splices ? resp_splice_pass(c, iov) : resp_tls_pass(c->line.fd, c->line.tls, iov, n, true);
        if (rc < 0 && errno == EAGAIN) return PROGRESS_WAITS;
        if (rc < 0) {
            resp_line_lost(c, now_ns, errno);
            return PROGRESS_BROKEN;
        }
        remote_count(&c->remote.q->tier->sent_bytes, (uint64_t)rc);
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

enum resp_progress resp_line_receive(struct resp_conn *c, size_t most, uint64_t now_ns) {
    struct iovec iov = {c->in + c->in_len, most - c->in_len};
    ssize_t rc = resp_line_pass(c, &iov, 1, false);
    if (rc < 0 && errno == EAGAIN) return PROGRESS_WAITS;
    if (rc <= 0) {
        resp_line_lost(c, now_ns, rc < 0 ? errno : 0);
        return PROGRESS_BROKEN;
    }
    c->in_len += (size_t)rc;
    return PROGRESS_DONE;
}

void resp_line_taken(struct resp_conn *c, size_t n) {
    memmove(c->in, c->in + n, c->in_len - n);
    c->in_len -= n;
}

struct resp_head resp_line_head(struct resp_conn *c) {
    struct resp_head h = resp_head_read(c->in, c->in_len);
    for (; c->fore > 0 && h.kind == RESP_SIMPLE; h = resp_head_read(c->in, c->in_len)) {
        resp_line_taken(c, h.len);
        c->fore--;
    }
    return h;
}

/* ---- the way to a server ---- */

static void up(struct resp_conn *c, uint64_t now_ns) {
    remote_conn_up(&c->remote);
    resp_conn_ready(c, now_ns);
}

static void greeting_run(struct resp_conn *c, uint64_t now_ns) {
    enum resp_progress p = resp_line_send(c, now_ns);
    bool sent = p == PROGRESS_DONE;
    while (p != PROGRESS_BROKEN) {
        struct resp_head h = resp_line_head(c);
        if (c->fore == 0) break;
        if (h.kind == RESP_ERROR) {
            resp_line_refused(c, &h, now_ns);
            return;
        }
        if (h.kind != RESP_MORE) {
            resp_line_absurd(c, now_ns,
                             h.kind == RESP_BAD ? h.why : "the reply to the first commands must be OK");
            return;
        }
        p = resp_line_receive(c, sizeof c->in, now_ns);
        if (p != PROGRESS_WAITS) continue;
        resp_line_wait(c, EPOLLIN | (sent ? 0 : EPOLLOUT), now_ns);
        return;
    }
    if (p == PROGRESS_BROKEN) return;
    if (c->in_len > 0) {
        resp_line_absurd(c, now_ns, "more bytes than were requested");
        return;
    }
    c->remote.failures = 0;
    up(c, now_ns);
}

static void greet(struct resp_conn *c, uint64_t now_ns) {
    struct buf out = {0};
    c->fore = resp_server_greeting(c->server, &out);
    if (c->fore == 0) {
        up(c, now_ns);
        return;
    }
    memcpy(c->out, out.data, out.len);
    c->out_len = out.len;
    c->out_at = c->in_len = c->tail_at = c->tail_len = 0;
    buf_free(&out);
    c->state = CONN_GREETING;
    greeting_run(c, now_ns);
}

static void shake_run(struct resp_conn *c, uint64_t now_ns) {
    const struct resp_server *s = c->server;
    char why[400] = "not enough memory for a connection";
    if (!c->line.tls) c->line.tls = resp_tls_begin(s->tls, c->line.fd, s->host);
    enum resp_tls_wants wants =
        c->line.tls ? resp_tls_shake(c->line.tls, s->name, why, sizeof why) : TLS_REFUSED;
    if (wants == TLS_DONE)
        greet(c, now_ns);
    else if (wants == TLS_REFUSED)
        resp_line_break(c, now_ns, "%s", why);
    else
        resp_line_watch(c, wants == TLS_READ ? EPOLLIN : EPOLLOUT); /* the deadline is that of connecting */
}

static void no_answer(struct resp_conn *c, uint64_t now_ns, int error) {
    resp_line_break(c, now_ns, "no server answers at %s: %s", c->server->name, strerror(error));
}

void resp_line_run(struct resp_conn *c, uint64_t now_ns) {
    int error = 0;
    socklen_t len = sizeof error;
    if (c->state == CONN_GREETING) {
        greeting_run(c, now_ns);
        return;
    }
    if (getsockopt(c->line.fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0) error = errno;
    if (error)
        no_answer(c, now_ns, error);
    else if (c->server->tls)
        shake_run(c, now_ns);
    else
        greet(c, now_ns);
}

static void dial(struct resp_conn *c, uint64_t now_ns) {
    struct epoll_event e = {.events = EPOLLOUT, .data.ptr = c};
    c->line.fd = resp_server_socket(c->server);
    c->state = CONN_CONNECTING;
    if (c->line.fd < 0 || epoll_ctl(c->remote.q->epoll_fd, EPOLL_CTL_ADD, c->line.fd, &e) != 0) {
        no_answer(c, now_ns, c->line.fd < 0 ? -c->line.fd : errno);
        return;
    }
    c->events = EPOLLOUT;
    remote_conn_moves(&c->remote, now_ns);
}

static void lead_to(struct resp_conn *c, unsigned node) {
    const struct resp_tier *t = resp_of(c->remote.q);
    c->node = (uint8_t)node;
    c->server = t->cluster ? resp_cluster_server(t->cluster, node) : &t->server;
}

void resp_line_open(struct resp_conn *c, uint64_t now_ns) {
    const struct resp_cluster *k = resp_of(c->remote.q)->cluster;
    if (!c->out) c->out = mem_alloc(RESP_OUT);
    /* another one each time: this one may have gone */
    lead_to(c, k && c->server ? (c->node + 1) % resp_cluster_servers(k) : 0);
    if (c->parked) line_end(&c->parked[c->node]);
    dial(c, now_ns);
}

static void park(struct resp_conn *c) {
    if (!c->parked) {
        c->parked = mem_alloc(RESP_NODES * sizeof *c->parked);
        for (unsigned i = 0; i < RESP_NODES; i++) c->parked[i] = (struct resp_line){.fd = -1};
    }
    (void)epoll_ctl(c->remote.q->epoll_fd, EPOLL_CTL_DEL, c->line.fd, NULL);
    c->parked[c->node] = c->line;
    c->line = (struct resp_line){.fd = -1};
    c->events = 0;
}

bool resp_line_turn(struct resp_conn *c, unsigned node, uint64_t now_ns) {
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
    if (node == c->node && c->line.fd >= 0) return true;
    park(c);
    lead_to(c, node);
    c->line = c->parked[node];
    c->parked[node] = (struct resp_line){.fd = -1};
    if (c->line.fd >= 0 && resp_line_quiet(c) &&
        epoll_ctl(c->remote.q->epoll_fd, EPOLL_CTL_ADD, c->line.fd, &e) == 0) {
        c->events = EPOLLIN;
        return true;
    }
    line_end(&c->line);
    dial(c, now_ns);
    return false;
}

void resp_line_close(struct resp_conn *c) {
    line_end(&c->line);
    for (unsigned i = 0; c->parked && i < RESP_NODES; i++) line_end(&c->parked[i]);
    free(c->parked);
    free(c->out);
}
