#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "tier/resp/resp.h"

/* A thread that asks the server for its figures once a second, over a connection of its own: whoever wants
 * them never waits for the server, and the workers' connections carry nothing else. */

enum { PERIOD_S = 1 };

struct resp_watch {
    struct resp_server server;
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

static void *watch_main(void *arg) {
    struct resp_watch *w = arg;
    struct resp_client *c = NULL;
    struct buf commands = {0}, info = {0};
    resp_command(&commands, (const char *const[]){"INFO", NULL});
    do {
        if (!c) c = resp_client_open(&w->server, NULL);
        if (!c) continue;
        if (resp_client_call(c, &commands, 1, &info, NULL) != 0) {
            resp_client_close(c);
            c = NULL;
            continue;
        }
        struct tier_server now = {0};
        read_info(buf_text(&info), &now);
        pthread_mutex_lock(&w->lock);
        w->last = now;
        pthread_mutex_unlock(&w->lock);
    } while (sleep_on(w));
    resp_client_close(c);
    buf_free(&commands);
    buf_free(&info);
    return NULL;
}

struct resp_watch *resp_watch_open(const struct resp_server *s) {
    struct resp_watch *w = mem_zalloc(1, sizeof *w);
    pthread_condattr_t monotonic;
    w->server = *s;
    if (w->server.timeout_ns > PERIOD_S * KVF_NS_PER_S) w->server.timeout_ns = PERIOD_S * KVF_NS_PER_S;
    read_info("", &w->last);
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&w->ended, &monotonic);
    pthread_condattr_destroy(&monotonic);
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
    *out = last;
}
