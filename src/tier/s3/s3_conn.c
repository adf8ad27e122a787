#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/buf.h"
#include "tier/s3/s3.h"

/* Requests of a queue: a handle of libcurl for each connection that the scenario allows, all of them in one
 * multi handle, which keeps the sockets and uses them again. libcurl copies between its buffer and a
 * callback's; ours are the chunks' own.
 *
 *   DOWN ─► GREETING ─► IDLE ─► ITEM or VALUE ─► IDLE
 * Asked to slow down, a connection keeps its state, is `slowed`, and sends the same request again later.
 * The first object of a shared entry is put only where none of its name is: 412 says that one is, 409 that
 * another is on its way, 501 that this server knows no such condition, and none asks it again.
 * A value that waits for a chunk of ours is paused and has no deadline. libcurl hands what it could not place
 * over once more; `taken` is what the chunks have of it already. */

enum { EVENTS = 32, SLOW_TRIES = 6 };
static const uint64_t slow_ns = 50 * KVF_NS_PER_MS;

enum s3_state { S3_DOWN, S3_IDLE, S3_GREETING, S3_ITEM, S3_VALUE };

struct s3_conn {
    struct remote_conn remote;
    CURL *h;
    enum s3_state state;
    bool runs;      /* the multi handle has it */
    bool waits;     /* it is paused until a chunk comes */
    bool slowed;    /* it waits until it may ask again */
    unsigned slow;  /* times that the server has asked for that */
    bool sized;     /* GET: its length is the value's */
    bool misfit;    /* GET: it is not */
    uint64_t skip;  /* GET: bytes that an earlier try has brought */
    uint64_t taken; /* of what libcurl will hand over again */
    struct s3_answer answer;
};

struct s3_queue {
    CURLM *multi;
    uint64_t timer_ns; /* when it wants to be called */
};

static struct s3_conn *conn_of(struct remote_conn *c) {
    return (struct s3_conn *)(void *)c;
}

static uint64_t now_of(const struct tier_queue *q) {
    return run_clock_now(q->tier->clock);
}

/* ---- bytes ---- */

/* Stops until a chunk comes. */
static void wait_for_chunk(struct s3_conn *c) {
    c->waits = true;
    c->remote.deadline_ns = KVF_NEVER;
}

static void answer_add(struct s3_answer *a, const char *data, size_t len) {
    size_t room = sizeof a->body - 1 - a->len, take = len < room ? len : room;
    memcpy(a->body + a->len, data, take);
    a->len += take;
}

/* Whether the object has as many bytes as were written. */
static bool fits(struct s3_conn *c) {
    curl_off_t size = -1;
    if (c->sized) return true;
    (void)s3_curl.easy_getinfo(c->h, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &size);
    c->sized = size >= 0 && (uint64_t)size == c->remote.job->len;
    c->misfit = !c->sized;
    if (c->misfit)
        remote_why(c->remote.q,
                   "the server at %s has an object of %" PRId64 " bytes where %" PRIu64 " were written",
                   c->remote.q->tier->name, (int64_t)size, c->remote.job->len);
    return c->sized;
}

static size_t body_write(char *data, size_t one, size_t n, void *arg) {
    struct s3_conn *c = arg;
    struct tier_queue *q = c->remote.q;
    struct remote_job *job = c->remote.job;
    size_t len = one * n, at = 0;
    long status = 0;
    (void)s3_curl.easy_getinfo(c->h, CURLINFO_RESPONSE_CODE, &status);
    remote_conn_moves(&c->remote, now_of(q));
    if (c->state != S3_VALUE || job->op->dir == KVF_DIR_WRITE || status / 100 != 2) {
        answer_add(&c->answer, data, len);
        return len;
    }
    if (!fits(c)) return 0;
    at = c->taken < len ? (size_t)c->taken : len;
    c->taken -= at;
    while (at < len) {
        struct iovec iov = {0};
        bool whole;
        size_t left = len - at;
        if (c->skip > 0) {
            size_t over = left < c->skip ? left : (size_t)c->skip;
            c->skip -= over;
            at += over;
            continue;
        }
        if (remote_job_pieces(job, &iov, 1, &whole) == 0) {
            if (job->passed == job->len) return 0;
            c->taken = at;
            wait_for_chunk(c);
            return CURL_WRITEFUNC_PAUSE;
        }
        size_t take = left < iov.iov_len ? left : iov.iov_len;
        memcpy(iov.iov_base, data + at, take);
        remote_job_pass(q, job, take);
        remote_count(&q->tier->received_bytes, take);
        at += take;
    }
    return len;
}

static size_t body_read(char *to, size_t one, size_t n, void *arg) {
    struct s3_conn *c = arg;
    struct tier_queue *q = c->remote.q;
    struct remote_job *job = c->remote.job;
    size_t room = one * n, sent = 0;
    while (sent < room && job->passed < job->len) {
        struct iovec iov = {0};
        bool whole;
        if (remote_job_pieces(job, &iov, 1, &whole) == 0) break;
        size_t take = room - sent < iov.iov_len ? room - sent : iov.iov_len;
        memcpy(to + sent, iov.iov_base, take);
        remote_job_pass(q, job, take);
        sent += take;
    }
    remote_count(&q->tier->sent_bytes, sent);
    remote_conn_moves(&c->remote, now_of(q));
    if (sent > 0 || job->passed == job->len) return sent;
    wait_for_chunk(c);
    return CURL_READFUNC_PAUSE;
}

/* libcurl begins once more, on another connection. */
static int body_seek(void *arg, curl_off_t offset, int origin) {
    struct s3_conn *c = arg;
    bool can = offset == 0 && origin == SEEK_SET && remote_job_rewind(c->remote.job);
    return can ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL;
}

/* ---- requests ---- */

static void set_value(struct s3_conn *c, const struct remote_job *job) {
    c->skip = job->passed;
    if (job->op->dir == KVF_DIR_READ) return;
    (void)s3_curl.easy_setopt(c->h, CURLOPT_UPLOAD, 1L);
    (void)s3_curl.easy_setopt(c->h, CURLOPT_INFILESIZE_LARGE, (curl_off_t)job->len);
}

static void set_item(struct s3_conn *c, const struct remote_item *item) {
    if (item->kind == ITEM_DELETE)
        (void)s3_curl.easy_setopt(c->h, CURLOPT_CUSTOMREQUEST, "DELETE");
    else
        (void)s3_curl.easy_setopt(c->h, CURLOPT_NOBODY, 1L);
}

/* Sends what the connection is to do: a greeting, its item, its job. */
static void request(struct s3_conn *c, uint64_t now_ns) {
    struct s3_queue *own = c->remote.q->own;
    const struct s3_tier *t = s3_of(c->remote.q);
    const struct remote_job *job = c->remote.job;
    const struct remote_item *item = &c->remote.item[0];
    bool claims = c->state == S3_VALUE && job->first;
    char name[REMOTE_KEY] = "", url[S3_URL];
    int running;
    c->answer = (struct s3_answer){0};
    c->waits = c->slowed = c->sized = c->misfit = false;
    c->taken = c->skip = 0;
    (void)s3_curl.easy_setopt(c->h, CURLOPT_CUSTOMREQUEST, NULL);
    (void)s3_curl.easy_setopt(c->h, CURLOPT_HTTPGET, 1L);
    (void)s3_curl.easy_setopt(c->h, CURLOPT_HTTPHEADER, claims ? t->server.claim : t->server.headers);
    if (c->state == S3_VALUE) {
        (void)remote_name(&t->remote, job->op->place, job->value, name);
        set_value(c, job);
    } else {
        if (c->state == S3_ITEM) (void)remote_name(&t->remote, item->place, item->value, name);
        set_item(c, item);
    }
    s3_server_url(&t->server, name, url);
    (void)s3_curl.easy_setopt(c->h, CURLOPT_URL, url);
    remote_conn_moves(&c->remote, now_ns);
    c->runs = s3_curl.multi_add_handle(own->multi, c->h) == CURLM_OK;
    (void)s3_curl.multi_socket_action(own->multi, CURL_SOCKET_TIMEOUT, 0, &running);
}

static void stop(struct s3_conn *c) {
    struct s3_queue *own = c->remote.q->own;
    if (c->runs) (void)s3_curl.multi_remove_handle(own->multi, c->h);
    c->runs = c->waits = c->slowed = false;
}

static void to_idle(struct s3_conn *c) {
    c->state = S3_IDLE;
    remote_conn_idle(&c->remote);
}

static void lost(struct s3_conn *c, uint64_t now_ns) {
    stop(c);
    c->state = S3_DOWN;
    remote_conn_lost(&c->remote, now_ns);
}

static void refused(struct s3_conn *c) {
    struct tier_queue *q = c->remote.q;
    s3_server_words(&s3_of(q)->server, &c->answer, q->why, sizeof q->why);
}

static void value_ended(struct s3_conn *c, long status) {
    struct tier_queue *q = c->remote.q;
    struct remote_job *job = c->remote.job;
    bool read = job->op->dir == KVF_DIR_READ;
    bool taken = job->first && status == 412;
    bool good = status / 100 == 2 && (!read || (fits(c) && job->passed == job->len));
    if (good || taken) c->remote.failures = 0;
    if (!good && !taken && !c->misfit) refused(c);
    to_idle(c);
    job->conn = NULL;
    if (taken)
        remote_job_forestalled(q, job);
    else if (good)
        remote_job_done(q, job);
    else
        remote_op_fail(q, job->op, read && status == 404 ? ENODATA : EREMOTEIO);
}

static void item_ended(struct s3_conn *c, long status, uint64_t now_ns) {
    struct tier_queue *q = c->remote.q;
    struct remote_item item = c->remote.item[0];
    if (status / 100 != 2 && status != 404) {
        refused(c);
        lost(c, now_ns);
        return;
    }
    c->remote.failures = 0;
    to_idle(c);
    remote_item_answered(q, &item, status != 404);
}

static bool may_ask_again(struct s3_conn *c, long status) {
    struct remote_job *job = c->state == S3_VALUE ? c->remote.job : NULL;
    bool busy = status == 429 || status == 500 || status == 502 || status == 503 || status == 504;
    bool conflict = job && job->first && status == 409, unknown = job && job->first && status == 501;
    if (unknown) atomic_store(&c->remote.q->tier->claims, false);
    bool again = (busy || conflict || unknown) && c->state != S3_GREETING && c->slow + 1 < SLOW_TRIES &&
                 (!job || remote_job_rewind(job));
    if (again && job && !conflict) job->first = false; /* what is there may be ours */
    return again;
}

static void ended(struct s3_conn *c, CURLcode code, uint64_t now_ns) {
    struct tier_queue *q = c->remote.q;
    long status = 0;
    (void)s3_curl.easy_getinfo(c->h, CURLINFO_RESPONSE_CODE, &status);
    c->answer.status = status;
    if (code != CURLE_OK && !c->misfit) {
        s3_server_trouble(&s3_of(q)->server, c->h, code, q->why, sizeof q->why);
        lost(c, now_ns);
        return;
    }
    stop(c);
    if (c->state != S3_GREETING) remote_count(&q->tier->trips, 1);
    if (may_ask_again(c, status)) {
        c->slowed = true;
        c->remote.deadline_ns = now_ns + (slow_ns << c->slow++);
    } else if (c->state == S3_GREETING && status / 100 == 5) {
        refused(c);
        lost(c, now_ns);
    } else if (c->state == S3_GREETING) {
        remote_conn_up(&c->remote);
        to_idle(c);
    } else if (c->state == S3_VALUE) {
        value_ended(c, status);
    } else {
        item_ended(c, status, now_ns);
    }
}

/* ---- libcurl's sockets and timers ---- */

static int socket_watch(CURL *h, curl_socket_t fd, int what, void *arg, void *seen) {
    struct tier_queue *q = arg;
    struct epoll_event e = {.data.fd = fd};
    (void)h;
    (void)seen;
    if (what & CURL_POLL_IN) e.events |= EPOLLIN;
    if (what & CURL_POLL_OUT) e.events |= EPOLLOUT;
    if (what == CURL_POLL_REMOVE)
        (void)epoll_ctl(q->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
    else if (epoll_ctl(q->epoll_fd, EPOLL_CTL_MOD, fd, &e) != 0)
        (void)epoll_ctl(q->epoll_fd, EPOLL_CTL_ADD, fd, &e);
    return 0;
}

static int timer_set(CURLM *multi, long ms, void *arg) {
    struct tier_queue *q = arg;
    struct s3_queue *own = q->own;
    (void)multi;
    own->timer_ns = ms < 0 ? KVF_NEVER : now_of(q) + (uint64_t)ms * KVF_NS_PER_MS;
    return 0;
}

static void conn_look(struct tier_queue *q, uint64_t now_ns) {
    struct s3_queue *own = q->own;
    struct epoll_event event[EVENTS];
    CURLMsg *m;
    int n, left;
    do {
        n = epoll_wait(q->epoll_fd, event, EVENTS, 0);
        for (int i = 0; i < n; i++) {
            uint32_t is = event[i].events;
            int what = (is & EPOLLIN ? CURL_CSELECT_IN : 0) | (is & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                       (is & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
            (void)s3_curl.multi_socket_action(own->multi, event[i].data.fd, what, &left);
        }
    } while (n == EVENTS);
    if (own->timer_ns <= now_ns) {
        own->timer_ns = KVF_NEVER;
        (void)s3_curl.multi_socket_action(own->multi, CURL_SOCKET_TIMEOUT, 0, &left);
    }
    while ((m = s3_curl.multi_info_read(own->multi, &left))) {
        char *c = NULL;
        CURLcode code = m->data.result;
        if (m->msg != CURLMSG_DONE) continue;
        (void)s3_curl.easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &c);
        ended((struct s3_conn *)(void *)c, code, now_ns);
    }
}

static uint64_t conn_next_ns(const struct tier_queue *q) {
    return ((const struct s3_queue *)q->own)->timer_ns;
}

/* ---- what the queue asks of it ---- */

static int conn_queue_open(struct tier_queue *q, struct err *e) {
    CURLM *multi = s3_curl.multi_init();
    struct s3_queue *own;
    if (!multi) return err_set(e, KVF_ERR_NOMEM, "not enough memory for connections of the remote tier");
    q->own = own = mem_zalloc(1, sizeof *own);
    own->multi = multi;
    own->timer_ns = KVF_NEVER;
    (void)s3_curl.multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, socket_watch);
    (void)s3_curl.multi_setopt(multi, CURLMOPT_SOCKETDATA, q);
    (void)s3_curl.multi_setopt(multi, CURLMOPT_TIMERFUNCTION, timer_set);
    (void)s3_curl.multi_setopt(multi, CURLMOPT_TIMERDATA, q);
    (void)s3_curl.multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)q->conns);
    return 0;
}

static void conn_queue_close(struct tier_queue *q) {
    struct s3_queue *own = q->own;
    (void)s3_curl.multi_cleanup(own->multi);
    free(own);
}

static bool handle_open(struct s3_conn *c) {
    c->h = s3_server_handle(&s3_of(c->remote.q)->server);
    if (!c->h) return false;
    (void)s3_curl.easy_setopt(c->h, CURLOPT_PRIVATE, (char *)c);
    (void)s3_curl.easy_setopt(c->h, CURLOPT_WRITEFUNCTION, body_write);
    (void)s3_curl.easy_setopt(c->h, CURLOPT_WRITEDATA, c);
    (void)s3_curl.easy_setopt(c->h, CURLOPT_READFUNCTION, body_read);
    (void)s3_curl.easy_setopt(c->h, CURLOPT_READDATA, c);
    (void)s3_curl.easy_setopt(c->h, CURLOPT_SEEKFUNCTION, body_seek);
    (void)s3_curl.easy_setopt(c->h, CURLOPT_SEEKDATA, c);
    return true;
}

static void conn_open(struct remote_conn *base, uint64_t now_ns) {
    struct s3_conn *c = conn_of(base);
    base->item[0] = (struct remote_item){.kind = ITEM_GREETING};
    c->slow = 0;
    if (!c->h && !handle_open(c)) {
        remote_why(base->q, "not enough memory for a connection to %s", base->q->tier->name);
        lost(c, now_ns);
        return;
    }
    c->state = S3_GREETING;
    request(c, now_ns);
}

static void conn_close(struct remote_conn *base) {
    struct s3_conn *c = conn_of(base);
    stop(c);
    s3_curl.easy_cleanup(c->h);
}

static void conn_late(struct remote_conn *base, uint64_t now_ns) {
    struct s3_conn *c = conn_of(base);
    if (c->slowed) {
        request(c, now_ns);
        return;
    }
    remote_why(base->q, "the server at %s has not answered within tiers.remote.timeout", base->q->tier->name);
    lost(c, now_ns);
}

static void conn_begin(struct remote_conn *base, struct remote_job *job, uint64_t now_ns) {
    struct s3_conn *c = conn_of(base);
    (void)job;
    c->state = S3_VALUE;
    c->slow = 0;
    request(c, now_ns);
}

static void conn_ask(struct remote_conn *base, uint64_t now_ns) {
    struct s3_conn *c = conn_of(base);
    c->state = S3_ITEM;
    c->slow = 0;
    request(c, now_ns);
}

static void conn_go_on(struct remote_conn *base, uint64_t now_ns) {
    struct s3_conn *c = conn_of(base);
    struct s3_queue *own = base->q->own;
    int running;
    if (!c->waits) return;
    c->waits = false;
    remote_conn_moves(base, now_ns);
    (void)s3_curl.easy_pause(c->h, CURLPAUSE_CONT);
    (void)s3_curl.multi_socket_action(own->multi, CURL_SOCKET_TIMEOUT, 0, &running);
}

/* The connection to the server goes, too, when something is under way on it. */
static void conn_detach(struct remote_conn *base, uint64_t now_ns) {
    struct s3_conn *c = conn_of(base);
    (void)now_ns;
    stop(c);
    to_idle(c);
}

static void conn_value_name(const struct remote_tier *t, const struct remote_place *p, uint64_t value,
                            char out[REMOTE_KEY]) {
    (void)remote_name(t, p, value, out);
}

const struct remote_wire s3_conn_wire = {.conn_size = sizeof(struct s3_conn),
                                         .batch = 1,
                                         .queue_open = conn_queue_open,
                                         .queue_close = conn_queue_close,
                                         .look = conn_look,
                                         .next_ns = conn_next_ns,
                                         .open = conn_open,
                                         .close = conn_close,
                                         .late = conn_late,
                                         .begin = conn_begin,
                                         .ask = conn_ask,
                                         .go_on = conn_go_on,
                                         .detach = conn_detach,
                                         .value_name = conn_value_name};
