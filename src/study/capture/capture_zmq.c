#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "probe/library.h"
#include "study/capture/capture_events.h"

/* The part of libzmq's interface that is used, as zmq.h has it since 4.0. It is loaded when events are
 * recorded, so that nothing else needs the library. */
enum {
    ZMQ_SUB = 2,
    ZMQ_DEALER = 5,
    ZMQ_SUBSCRIBE = 6,
    ZMQ_RCVMORE = 13,
    ZMQ_LINGER = 17,
    ZMQ_RCVHWM = 24,
    ZMQ_SNDMORE = 2,
    ZMQ_POLLIN = 1
};
struct zmq_item {
    void *socket;
    int fd;
    short events, revents;
};
struct zmq_part {
    _Alignas(8) unsigned char opaque[64];
};
struct zmq {
    void *(*ctx_new)(void);
    int (*ctx_term)(void *ctx);
    void *(*socket)(void *ctx, int type);
    int (*close)(void *socket);
    int (*setsockopt)(void *socket, int option, const void *value, size_t len);
    int (*getsockopt)(void *socket, int option, void *value, size_t *len);
    int (*connect)(void *socket, const char *endpoint);
    int (*poll)(struct zmq_item *items, int count, long ms);
    int (*send)(void *socket, const void *data, size_t len, int flags);
    int (*msg_init)(struct zmq_part *part);
    int (*msg_recv)(struct zmq_part *part, void *socket, int flags);
    void *(*msg_data)(struct zmq_part *part);
    size_t (*msg_size)(const struct zmq_part *part);
    int (*msg_close)(struct zmq_part *part);
    const char *(*strerror)(int number);
    int (*error)(void);
};

#define CALL(member) LIBRARY_CALL(struct zmq, member, "zmq_" #member)
static const struct library_call zmq_calls[] = {
    CALL(ctx_new),    CALL(ctx_term),   CALL(socket),   CALL(close),
    CALL(setsockopt), CALL(getsockopt), CALL(connect),  CALL(poll),
    CALL(send),       CALL(msg_init),   CALL(msg_recv), CALL(msg_data),
    CALL(msg_size),   CALL(msg_close),  CALL(strerror), LIBRARY_CALL(struct zmq, error, "zmq_errno")};

static int zmq_load(struct zmq *z, struct err *e) {
    static const struct library l = {.file = "libzmq.so.5",
                                     .what = "--events needs ZeroMQ's library, which",
                                     .install = "install libzmq5 (Debian, Ubuntu) or zeromq (Fedora)",
                                     .call = zmq_calls,
                                     .calls = sizeof zmq_calls / sizeof *zmq_calls};
    struct err why = {0};
    void *library; /* it stays */
    return library_load(&l, z, &library, &why) ? err_set(e, KVF_ERR_USAGE, "%s", why.text) : 0;
}

struct pod {
    void *events, *replay; /* replay NULL: none */
    unsigned ends;         /* of replays, that are still to come */
};
struct receiver {
    struct zmq z;
    struct capture_events *ev;
    struct pod pod[EVENTS_PODS];
    uint64_t flushed_ns;
    void (*tell)(const struct capture *c);
};
enum { WAIT_MS = 100 };

/* A message of three parts: what stands before the sequence number, the number, the payload. */
struct message {
    struct zmq_part part[3];
    unsigned parts;
};

static bool message_take(const struct zmq *z, void *socket, struct message *m) {
    int more = 1;
    for (m->parts = 0; more; m->parts++) {
        struct zmq_part spare, *part = m->parts < 3 ? &m->part[m->parts] : &spare;
        size_t len = sizeof more;
        z->msg_init(part);
        if (z->msg_recv(part, socket, 0) < 0 || z->getsockopt(socket, ZMQ_RCVMORE, &more, &len) != 0)
            more = 0;
        if (part == &spare) z->msg_close(part);
    }
    return m->parts == 3 && z->msg_size(&m->part[1]) == 8;
}

static void message_free(const struct zmq *z, struct message *m) {
    for (unsigned i = 0; i < m->parts && i < 3; i++) z->msg_close(&m->part[i]);
}

static uint64_t sequence_of(const struct zmq *z, struct message *m) {
    const unsigned char *at = z->msg_data(&m->part[1]);
    uint64_t n = 0;
    for (int i = 0; i < 8; i++) n = n << 8 | at[i];
    return n;
}

static void batch_take(struct receiver *r, unsigned pod, struct message *m) {
    capture_events_batch(r->ev, pod, r->z.msg_data(&m->part[2]), r->z.msg_size(&m->part[2]));
}

/* In time what is recorded goes to the system, and who looks on is told and may ask for the end. */
static void flush_in_time(struct receiver *r) {
    if (clock_now_ns() - r->flushed_ns < CAPTURE_FLUSH_NS) return;
    capture_runs_settle(r->ev, true);
    capture_runs_flush(r->ev);
    r->tell(r->ev->c);
    r->flushed_ns = clock_now_ns();
}

/* Answers that came too late for the request before are none to the next. */
static void replay_drain(const struct zmq *z, struct pod *p) {
    struct zmq_item item = {.socket = p->replay, .events = ZMQ_POLLIN};
    while (z->poll(&item, 1, 0) > 0) {
        struct message m;
        if (message_take(z, p->replay, &m) && sequence_of(z, &m) == UINT64_MAX && p->ends > 0) p->ends--;
        message_free(z, &m);
    }
}

/* Asks for the batches from `from` up to `to`, that one left out, which counts what does not come as lost. */
static void replay(struct receiver *r, unsigned pod, uint64_t from, uint64_t to, bool counts) {
    const uint64_t patience_ns = 2 * KVF_NS_PER_S;
    const struct zmq *z = &r->z;
    struct pod *p = &r->pod[pod];
    void *socket = p->replay;
    unsigned char start[8];
    uint64_t next = from, heard_ns = clock_now_ns();
    for (int i = 0; i < 8; i++) start[i] = (unsigned char)(from >> (56 - 8 * i));
    if (socket) replay_drain(z, p);
    bool goes_on =
        socket && z->send(socket, "", 0, ZMQ_SNDMORE) >= 0 && z->send(socket, start, sizeof start, 0) >= 0;
    p->ends += goes_on;
    while (goes_on && !*r->ev->c->stop) {
        struct zmq_item item = {.socket = socket, .events = ZMQ_POLLIN};
        struct message m;
        flush_in_time(r);
        if (z->poll(&item, 1, WAIT_MS) <= 0) {
            goes_on = clock_now_ns() - heard_ns < patience_ns;
            continue;
        }
        heard_ns = clock_now_ns();
        if (message_take(z, socket, &m)) {
            uint64_t n = sequence_of(z, &m);
            if (n == UINT64_MAX)
                goes_on = --p->ends > 0 && next < to; /* a late one is of the request before */
            if (n >= next && n < to) {
                if (counts) capture_events_lost(r->ev, pod, n - next);
                next = n + 1;
                r->ev->replayed++;
                batch_take(r, pod, &m);
            }
        }
        message_free(z, &m);
    }
    if (counts) capture_events_lost(r->ev, pod, to - next);
}

static void event_take(struct receiver *r, unsigned pod) {
    struct capture_events *ev = r->ev;
    struct message m;
    if (message_take(&r->z, r->pod[pod].events, &m)) {
        uint64_t n = sequence_of(&r->z, &m), expected = ev->expected[pod];
        bool first = expected == 0, restart = !first && n < expected;
        if (restart) { /* the engine counts from 0 again, and its cache is empty */
            ev->restarts++;
            capture_held_clear(&ev->held, pod);
        }
        if (first || restart ? n > 0 : n > expected)
            replay(r, pod, first || restart ? 0 : expected, n, !first);
        batch_take(r, pod, &m);
        ev->expected[pod] = n + 1;
    }
    message_free(&r->z, &m);
}

static int pod_open(struct receiver *r, void *ctx, const char *text, struct pod *p, struct err *e) {
    const struct zmq *z = &r->z;
    const char *comma = strchr(text, ',');
    char endpoint[256];
    int many = 100000, none = 0;
    snprintf(endpoint, sizeof endpoint, "%.*s", comma ? (int)(comma - text) : (int)strlen(text), text);
    p->events = z->socket(ctx, ZMQ_SUB);
    z->setsockopt(p->events, ZMQ_SUBSCRIBE, "", 0);
    z->setsockopt(p->events, ZMQ_RCVHWM, &many, sizeof many);
    z->setsockopt(p->events, ZMQ_LINGER, &none, sizeof none);
    if (z->connect(p->events, endpoint) != 0)
        return err_set(
            e, KVF_ERR_USAGE,
            "--events: \"%s\" is not an address to receive from: %s; it looks like tcp://host:5557", endpoint,
            z->strerror(z->error()));
    if (!comma) return 0;
    p->replay = z->socket(ctx, ZMQ_DEALER);
    z->setsockopt(p->replay, ZMQ_RCVHWM, &many, sizeof many);
    z->setsockopt(p->replay, ZMQ_LINGER, &none, sizeof none);
    if (z->connect(p->replay, comma + 1) == 0) return 0;
    return err_set(e, KVF_ERR_USAGE,
                   "--events: \"%s\" is not an address that replays: %s; it looks like tcp://host:5558",
                   comma + 1, z->strerror(z->error()));
}

static void receive(struct receiver *r, unsigned count) {
    struct zmq_item item[EVENTS_PODS] = {{0}};
    for (unsigned i = 0; i < count; i++)
        item[i] = (struct zmq_item){.socket = r->pod[i].events, .events = ZMQ_POLLIN};
    while (!*r->ev->c->stop) {
        int ready = r->z.poll(item, (int)count, WAIT_MS);
        for (unsigned i = 0; i < count && ready > 0; i++)
            if (item[i].revents & ZMQ_POLLIN) event_take(r, i);
        flush_in_time(r);
    }
}

int capture_events_receive(struct capture_events *ev, const char *const *endpoints, unsigned count,
                           void (*tell)(const struct capture *c), struct err *e) {
    struct receiver *r = mem_zalloc(1, sizeof *r);
    int rc = zmq_load(&r->z, e);
    void *ctx = rc ? NULL : r->z.ctx_new();
    r->ev = ev;
    r->tell = tell;
    r->flushed_ns = clock_now_ns();
    for (unsigned i = 0; i < count && !rc; i++) rc = pod_open(r, ctx, endpoints[i], &r->pod[i], e);
    if (!rc) receive(r, count);
    capture_runs_end(ev);
    capture_end(ev->c);
    for (unsigned i = 0; i < count && ctx; i++) {
        if (r->pod[i].events) r->z.close(r->pod[i].events);
        if (r->pod[i].replay) r->z.close(r->pod[i].replay);
    }
    if (ctx) r->z.ctx_term(ctx);
    free(r);
    return rc;
}
