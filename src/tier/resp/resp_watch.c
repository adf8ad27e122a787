#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/thread.h"
#include "tier/resp/resp.h"

/* A thread that asks the server for its figures once a second, over a connection of its own: whoever wants
 * them never waits for the server, and the workers' connections carry nothing else. Of a cluster it asks
 * every server that has slots, and one of them who has which. */

enum { PERIOD_S = 1 };

struct watched {
    struct resp_server server;
    struct resp_client *client;
    struct tier_server then; /* its counters when it was asked last */
    bool told;               /* it was */
};

struct resp_watch {
    struct watched *one[RESP_NODES]; /* those that were asked, by their number; the thread's */
    const struct resp_server *server;
    struct resp_cluster *cluster;
    struct tier_server counted; /* what the counters of all have grown by, each since its first reading */
    pthread_t thread;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t ended;
    bool end;
    struct tier_server last;
};

static double number(const char *info, const char *name) {
    uint64_t v = resp_info_number(info, name);
    return v == UINT64_MAX ? (double)NAN : (double)v;
}

static void read_info(const char *info, struct tier_server *out) {
    out->used_bytes = number(info, "used_memory");
    out->max_bytes = number(info, "maxmemory");
    if (!(out->max_bytes > 0)) out->max_bytes = (double)NAN;
    out->evicted_keys = number(info, "evicted_keys");
    out->expired_keys = number(info, "expired_keys");
    out->ops_per_s = number(info, "instantaneous_ops_per_sec");
    out->hits = number(info, "keyspace_hits");
    out->misses = number(info, "keyspace_misses");
}

/* Whether the watch goes on, after its period. */
static bool sleep_on(struct resp_watch *w) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += PERIOD_S;
    pthread_mutex_lock(&w->lock);
    while (!w->end && pthread_cond_timedwait(&w->ended, &w->lock, &until) != ETIMEDOUT) {}
    bool goes_on = !w->end;
    pthread_mutex_unlock(&w->lock);
    return goes_on;
}

static const struct resp_server *server_of(const struct resp_watch *w, unsigned node) {
    return w->cluster ? resp_cluster_server(w->cluster, node) : w->server;
}

/* Growth of a counter; a server that was started again counts from 0. */
static double growth(double now, double then) {
    return now < then ? now : now - then;
}

/* Servers come and go: what one had counted before is not the run's. */
static void count(struct resp_watch *w, struct watched *one, const struct tier_server *now) {
    const struct tier_server *then = one->told ? &one->then : now;
    w->counted.evicted_keys += growth(now->evicted_keys, then->evicted_keys);
    w->counted.expired_keys += growth(now->expired_keys, then->expired_keys);
    w->counted.hits += growth(now->hits, then->hits);
    w->counted.misses += growth(now->misses, then->misses);
    one->then = *now;
    one->told = true;
}

/* Asks one server and adds its figures; false: it does not answer now. */
static bool ask(struct resp_watch *w, unsigned node, const struct buf *commands, struct tier_server *sum,
                bool first) {
    struct watched *one = w->one[node];
    struct buf info = {0};
    if (!one) {
        one = w->one[node] = mem_zalloc(1, sizeof *one);
        one->server = *server_of(w, node);
        if (one->server.timeout_ns > PERIOD_S * KVF_NS_PER_S)
            one->server.timeout_ns = PERIOD_S * KVF_NS_PER_S;
    }
    if (!one->client) one->client = resp_client_open(&one->server, NULL);
    if (!one->client) return false;
    bool told = resp_client_call(one->client, commands, 1, &info, NULL) == 0;
    bool in_step =
        told && (!w->cluster || !first || resp_cluster_ask(w->cluster, &one->server, one->client, NULL));
    if (told) {
        struct tier_server now = {0};
        read_info(buf_text(&info), &now);
        sum->used_bytes += now.used_bytes;
        sum->max_bytes += now.max_bytes;
        sum->ops_per_s += now.ops_per_s;
        count(w, one, &now);
    }
    if (!in_step) { /* an answer may still come, and would be taken for the next one */
        resp_client_close(one->client);
        one->client = NULL;
    }
    buf_free(&info);
    return told;
}

static void ask_all(struct resp_watch *w, const struct buf *commands) {
    uint8_t node[RESP_NODES] = {0};
    unsigned n = w->cluster ? resp_cluster_masters(w->cluster, node) : 1, told = 0;
    struct tier_server now = {0};
    for (unsigned i = 0; i < n; i++) told += ask(w, node[i], commands, &now, told == 0);
    if (told < n) return; /* a sum without one of them is none */
    now.evicted_keys = w->counted.evicted_keys;
    now.expired_keys = w->counted.expired_keys;
    now.hits = w->counted.hits;
    now.misses = w->counted.misses;
    pthread_mutex_lock(&w->lock);
    w->last = now;
    pthread_mutex_unlock(&w->lock);
}

static void *watch_main(void *arg) {
    struct resp_watch *w = arg;
    struct buf commands = {0};
    resp_command(&commands, (const char *const[]){"INFO", NULL});
    do ask_all(w, &commands);
    while (sleep_on(w));
    for (unsigned i = 0; i < RESP_NODES; i++) {
        if (w->one[i]) resp_client_close(w->one[i]->client);
        free(w->one[i]);
    }
    buf_free(&commands);
    return NULL;
}

struct resp_watch *resp_watch_open(const struct resp_server *s, struct resp_cluster *cluster) {
    struct resp_watch *w = mem_zalloc(1, sizeof *w);
    w->server = s;
    w->cluster = cluster;
    read_info("", &w->last);
    pthread_mutex_init(&w->lock, NULL);
    thread_cond_init(&w->ended);
    if (pthread_create(&w->thread, NULL, watch_main, w) == 0) return w;
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->ended);
    free(w);
    return NULL;
}

void resp_watch_close(struct resp_watch *w) {
    if (!w) return;
    pthread_mutex_lock(&w->lock);
    w->end = true;
    pthread_cond_signal(&w->ended);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->ended);
    free(w);
}

void resp_watch_read(struct resp_watch *w, struct tier_server *out) {
    struct tier_server last;
    if (!w) return;
    pthread_mutex_lock(&w->lock);
    last = w->last;
    pthread_mutex_unlock(&w->lock);
    last.connections = out->connections;
    last.round_trips = out->round_trips;
    last.sent_bytes = out->sent_bytes;
    last.received_bytes = out->received_bytes;
    last.found = out->found;
    last.absent = out->absent;
    *out = last;
}
