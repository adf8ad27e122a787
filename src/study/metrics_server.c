#include "study/metrics_server.h"

#include <errno.h>
#include <limits.h>
#include <microhttpd.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "export/openmetrics.h"
#include "probe/library.h"
#include "study/metrics_address.h"
#include "base/thread.h"

/* The share of clients: places, of which one address has a part, bytes of a request, and time for all of it,
 * from the connection to the last byte of the answer. */
enum {
    CLIENTS = 32,
    CLIENTS_OF_ADDRESS = 8,
    REQUEST_BYTES = 8192,
    CLIENT_S = 5,
    LOOK_MS = 250,
    NICENESS = 10
};

struct client {
    int fd; /* -1: nobody */
    uint64_t since_ns;
};

struct metrics_server {
    struct metrics_address address;
    char url[340];
    struct MHD_Daemon *daemon;
    int wake; /* eventfd: the thread shall end */
    bool started;
    pthread_t thread;
    struct newest *totals;
    struct slot *slot;

    pthread_mutex_t lock; /* between the main thread and ours; the engine's threads know nothing of it */
    uint64_t changes;     /* of what follows */
    struct openmetrics_identity identity;
    uint64_t snap_before, totals_before; /* versions that another run left behind */

    /* the thread's own from here on */
    struct client client[CLIENTS];
    bool place_free; /* somebody has left */
    struct openmetrics_identity shown;
    uint64_t shown_changes, snap_version, totals_version;
    bool snap_known, totals_known;
    struct snapshot snap;
    struct totals sums;
    /* made of all this, NULL when it has changed; [1]: with each rank alone */
    struct MHD_Response *answer[OPENMETRICS_FORMS][2];
};

/* ---- the library, loaded when metrics are first served ---- */

static struct calls {
    __typeof__(MHD_add_response_header) *add_response_header;
    __typeof__(MHD_create_response_from_buffer) *create_response_from_buffer;
    __typeof__(MHD_destroy_response) *destroy_response;
    __typeof__(MHD_get_connection_info) *get_connection_info;
    __typeof__(MHD_get_daemon_info) *get_daemon_info;
    __typeof__(MHD_get_timeout) *get_timeout;
    __typeof__(MHD_lookup_connection_value) *lookup_connection_value;
    __typeof__(MHD_queue_response) *queue_response;
    __typeof__(MHD_run) *run;
    __typeof__(MHD_start_daemon) *start_daemon;
    __typeof__(MHD_stop_daemon) *stop_daemon;
} mhd;

#define CALL(name) LIBRARY_CALL(struct calls, name, "MHD_" #name)
static int library_open(struct err *e) {
    static const struct library_call calls[] = {
        CALL(add_response_header),
        CALL(create_response_from_buffer),
        CALL(destroy_response),
        CALL(get_connection_info),
        CALL(get_daemon_info),
        CALL(get_timeout),
        CALL(lookup_connection_value),
        CALL(queue_response),
        CALL(run),
        CALL(start_daemon),
        CALL(stop_daemon),
    };
    static const struct library l = {.file = "libmicrohttpd.so.12",
                                     .what = "the library of HTTP servers",
                                     .install =
                                         "install libmicrohttpd12 (Debian, Ubuntu) or libmicrohttpd (Fedora)",
                                     .call = calls,
                                     .calls = sizeof calls / sizeof *calls};
    static struct library_kept kept = LIBRARY_KEPT;
    return library_keep(&kept, &l, &mhd, NULL, e);
}

/* ---- answers ---- */

static void answers_drop(struct metrics_server *m) {
    for (int i = 0; i < 2 * OPENMETRICS_FORMS; i++) {
        struct MHD_Response **answer = &m->answer[i / 2][i % 2];
        if (*answer) mhd.destroy_response(*answer);
        *answer = NULL;
    }
}

/* The run that the values belong to; true when it has changed. Values of an earlier run are dropped. */
static bool identity_take(struct metrics_server *m) {
    pthread_mutex_lock(&m->lock);
    bool changed = m->shown_changes != m->changes;
    if (changed) {
        m->shown = m->identity;
        m->shown_changes = m->changes;
        if (m->snap_version <= m->snap_before) {
            m->snap_version = m->snap_before;
            m->snap_known = false;
        }
        if (m->totals_version <= m->totals_before) {
            m->totals_version = m->totals_before;
            m->totals_known = false;
        }
    }
    pthread_mutex_unlock(&m->lock);
    return changed;
}

/* The newest of everything into what is the thread's own, all of one run: again where the next one began
 * meanwhile. */
static void figures_take(struct metrics_server *m) {
    bool changed = identity_take(m), other;
    do {
        bool snap = slot_get(m->slot, &m->snap, &m->snap_version);
        bool sums = newest_get(m->totals, &m->sums, &m->totals_version);
        m->snap_known = m->snap_known || snap;
        m->totals_known = m->totals_known || sums;
        other = identity_take(m);
        changed = changed || snap || sums || other;
    } while (other);
    if (changed) answers_drop(m);
}

/* No figure is older than the interval: nobody on the way shall keep it. One connection serves one request,
 * so that nobody sits on a place. */
static struct MHD_Response *answer_make(struct buf *text, const char *type) {
    struct MHD_Response *r = mhd.create_response_from_buffer(text->len, text->data, MHD_RESPMEM_MUST_FREE);
    if (!r) {
        buf_free(text);
        return NULL;
    }
    (void)mhd.add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    (void)mhd.add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    (void)mhd.add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close");
    return r;
}

static struct MHD_Response *metrics_answer(struct metrics_server *m, enum openmetrics_form form, bool ranks) {
    struct buf text = {0};
    figures_take(m);
    struct MHD_Response **answer = &m->answer[form][ranks];
    if (*answer) return *answer; /* who asks more often than there is news costs little */
    openmetrics_live(&m->shown, m->snap_known ? &m->snap : NULL, m->totals_known ? &m->sums : NULL, ranks,
                     form, &text);
    return *answer = answer_make(&text, openmetrics_content_type(form));
}

static enum MHD_Result say(struct MHD_Connection *connection, unsigned status, const char *sentence) {
    struct buf text = {0};
    buf_addf(&text, "%s\n", sentence);
    struct MHD_Response *r = answer_make(&text, "text/plain; charset=utf-8");
    if (!r) return MHD_NO;
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        (void)mhd.add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    enum MHD_Result result = mhd.queue_response(connection, status, r);
    mhd.destroy_response(r);
    return result;
}

/* A body behind the header is not read. */
static enum MHD_Result request_take(void *ctx, struct MHD_Connection *connection, const char *url,
                                    const char *method, const char *version, const char *body,
                                    size_t *body_len, void **request) {
    struct metrics_server *m = ctx;
    (void)version;
    (void)body;
    (void)body_len;
    (void)request;
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return say(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "GET or HEAD");
    if (strcmp(url, "/") == 0)
        return say(connection, MHD_HTTP_OK, "kvfall: the metrics of the run are at /metrics");
    if (strcmp(url, "/metrics") != 0)
        return say(connection, MHD_HTTP_NOT_FOUND, "the metrics are at /metrics");
    const char *accept = mhd.lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
    const char *ranks = mhd.lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "ranks");
    struct MHD_Response *r = metrics_answer(m, openmetrics_choose(accept), ranks && strcmp(ranks, "1") == 0);
    return r ? mhd.queue_response(connection, MHD_HTTP_OK, r) : MHD_NO;
}

/* ---- clients ---- */

static void client_noted(void *ctx, struct MHD_Connection *connection, void **mine,
                         enum MHD_ConnectionNotificationCode code) {
    struct metrics_server *m = ctx;
    struct client *c = *mine;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        if (c) c->fd = -1;
        m->place_free = true;
        return;
    }
    const union MHD_ConnectionInfo *info =
        mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    for (c = m->client; c < m->client + CLIENTS && info; c++) {
        if (c->fd >= 0) continue;
        *c = (struct client){info->connect_fd, clock_now_ns()};
        *mine = c;
        return;
    }
}

/* The library's own limit is on silence; who sends a byte now and then would stay. Whether there are any. */
static bool clients_hurry(struct metrics_server *m) {
    uint64_t now_ns = clock_now_ns();
    bool any = false;
    for (struct client *c = m->client; c < m->client + CLIENTS; c++) {
        if (c->fd < 0) continue;
        any = true;
        if (now_ns - c->since_ns > CLIENT_S * KVF_NS_PER_S) (void)shutdown(c->fd, SHUT_RDWR);
    }
    return any;
}

/* ---- the thread ---- */

static int wait_ms(struct metrics_server *m) {
    MHD_UNSIGNED_LONG_LONG left_ms;
    int most_ms = clients_hurry(m) ? LOOK_MS : -1;
    if (mhd.get_timeout(m->daemon, &left_ms) != MHD_YES) return most_ms;
    if (most_ms < 0) most_ms = INT_MAX;
    return left_ms < (unsigned)most_ms ? (int)left_ms : most_ms;
}

static void *server_main(void *arg) {
    struct metrics_server *m = arg;
    const union MHD_DaemonInfo *info = mhd.get_daemon_info(m->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    struct pollfd at[] = {{.fd = m->wake, .events = POLLIN}, {.fd = info->epoll_fd, .events = POLLIN}};
    pthread_setname_np(pthread_self(), "kvfall-metrics");
    /* of this thread alone, on Linux: where processors are short, the run has them */
    (void)setpriority(PRIO_PROCESS, 0, NICENESS);
    while (!at[0].revents) {
        if (poll(at, sizeof at / sizeof at[0], wait_ms(m)) < 0 && errno != EINTR) break;
        do { /* who waits for a place is looked at by the next turn only */
            m->place_free = false;
            (void)mhd.run(m->daemon);
        } while (m->place_free);
    }
    return NULL;
}

static int server_start(struct metrics_server *m, struct err *e) {
    int rc = thread_start(&m->thread, server_main, m);
    if (rc != 0) return err_set_errno(e, KVF_ERR_IO, rc, "cannot start the thread that serves metrics");
    m->started = true;
    return 0;
}

/* ---- public ---- */

int metrics_server_open(const char *address, struct metrics_server **out, struct err *e) {
    struct metrics_server *m = mem_zalloc(1, sizeof *m);
    pthread_mutex_init(&m->lock, NULL);
    m->totals = newest_new(sizeof(struct totals));
    m->wake = -1;
    for (int i = 0; i < CLIENTS; i++) m->client[i].fd = -1;
    m->address.fd = -1;
    int rc = library_open(e);
    if (rc == 0) rc = metrics_address_listen(address, &m->address, e);
    if (rc == 0 && (m->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0)
        rc = err_set_errno(e, KVF_ERR_IO, errno, "--metrics: cannot create an event descriptor");
    if (rc == 0) {
        m->daemon = mhd.start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, request_take, m, MHD_OPTION_LISTEN_SOCKET,
                                     m->address.fd, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CLIENTS,
                                     MHD_OPTION_PER_IP_CONNECTION_LIMIT, (unsigned)CLIENTS_OF_ADDRESS,
                                     MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)REQUEST_BYTES,
                                     MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)CLIENT_S,
                                     MHD_OPTION_NOTIFY_CONNECTION, client_noted, m, MHD_OPTION_END);
        if (!m->daemon) rc = err_set(e, KVF_ERR_IO, "--metrics: the HTTP server does not start");
    }
    if (rc != 0) {
        metrics_server_close(m);
        return rc;
    }
    snprintf(m->url, sizeof m->url, "http://%s/metrics", m->address.text);
    *out = m;
    return 0;
}

void metrics_server_close(struct metrics_server *m) {
    const uint64_t one = 1;
    if (!m) return;
    if (m->started && write(m->wake, &one, sizeof one) == sizeof one) pthread_join(m->thread, NULL);
    if (m->daemon)
        mhd.stop_daemon(m->daemon); /* closes what listens, too */
    else if (m->address.fd >= 0)
        close(m->address.fd);
    answers_drop(m);
    if (m->wake >= 0) close(m->wake);
    newest_free(m->totals);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

const char *metrics_server_url(const struct metrics_server *m) {
    return m->url;
}

bool metrics_server_public(const struct metrics_server *m) {
    return !m->address.loopback;
}

struct newest *metrics_server_totals(struct metrics_server *m) {
    return m->totals;
}

int metrics_server_begin(struct metrics_server *m, struct slot *slot, const struct run_record *run,
                         struct err *e) {
    pthread_mutex_lock(&m->lock);
    if (!m->started) m->slot = slot;
    m->snap_before = slot_version(slot);
    m->totals_before = newest_version(m->totals);
    openmetrics_identify(run, &m->identity);
    m->identity.status = RUN_RUNNING;
    m->changes++;
    pthread_mutex_unlock(&m->lock);
    return m->started ? 0 : server_start(m, e);
}

void metrics_server_end(struct metrics_server *m, const struct run_record *run) {
    pthread_mutex_lock(&m->lock);
    openmetrics_identify(run, &m->identity);
    m->changes++;
    pthread_mutex_unlock(&m->lock);
}
