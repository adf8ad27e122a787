#include "study/live.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "store/watch.h"

enum { EVENTS_KEPT = 1000 };

#define X(id, name) name,
static const char *const compute_names[] = {SCENARIO_COMPUTE_LIST(X)};
static const char *const autoscaler_names[] = {SCENARIO_AUTOSCALER_LIST(X)};
#undef X

struct live {
    struct provider provider;
    struct slot *slot;
    uint64_t before; /* version of the newest snapshot of a run before this one */
    struct windows *windows;
    struct fifo *events;
    pthread_mutex_t lock; /* guards status; held for its copy */
    struct provider_status status;

    /* the screen's own */
    const char *db;
    struct store_watch *past; /* opened by the first look back */
    struct provider stored;
};

static bool live_next(void *ctx, struct snapshot *out, uint64_t *version) {
    struct live *l = ctx;
    if (*version < l->before) *version = l->before;
    return slot_get(l->slot, out, version);
}

/* The database takes an interval a little after the screen: a failure is no reason not to try again. */
static const struct provider *past_of(struct live *l) {
    struct err e = {0};
    if (l->past) return &l->stored;
    if (store_watch_open(&l->past, l->db, l->provider.run->run_id, &e) != 0) return NULL;
    store_watch_provider(l->past, &l->stored);
    return &l->stored;
}

static bool live_at(void *ctx, double t_s, struct snapshot *out) {
    const struct provider *p = past_of(ctx);
    return p && p->at(p->ctx, t_s, out);
}

static bool live_step(void *ctx, double t_s, int steps, struct snapshot *out) {
    const struct provider *p = past_of(ctx);
    return p && p->step(p->ctx, t_s, steps, out);
}

static bool live_window(void *ctx, enum windows_span span, double end_s, struct windows_view *out,
                        uint64_t *version) {
    struct live *l = ctx;
    if (isnan(end_s)) return windows_get(l->windows, span, out, version);
    const struct provider *p = l->db ? past_of(l) : NULL;
    return p && p->window && p->window(p->ctx, span, end_s, out, version);
}

static bool live_next_event(void *ctx, struct record_event *out) {
    struct live *l = ctx;
    struct record *r = fifo_take(l->events, 0);
    if (!r) return false;
    *out = r->event;
    record_free(r);
    return true;
}

static void live_status(void *ctx, struct provider_status *out) {
    struct live *l = ctx;
    pthread_mutex_lock(&l->lock);
    *out = l->status;
    pthread_mutex_unlock(&l->lock);
    out->reading = l->past && store_watch_reading(l->past);
}

void live_prepare(struct live *l, const char *what, double share) {
    pthread_mutex_lock(&l->lock);
    snprintf(l->status.preparing, sizeof l->status.preparing, "%s", what);
    l->status.prepared = share;
    pthread_mutex_unlock(&l->lock);
}

void live_event(struct live *l, const struct record_event *e) {
    struct record *r = record_new(RECORD_EVENT);
    r->event = *e;
    fifo_put(l->events, r);
}

void live_storing(struct live *l) {
    pthread_mutex_lock(&l->lock);
    l->status.storing = true;
    l->status.preparing[0] = '\0';
    pthread_mutex_unlock(&l->lock);
}

void live_ended(struct live *l) {
    pthread_mutex_lock(&l->lock);
    l->status.ended = true;
    l->status.storing = false;
    l->status.preparing[0] = '\0';
    pthread_mutex_unlock(&l->lock);
}

struct live *live_new(const struct scenario *s, const struct run_record *run, struct slot *slot,
                      const char *db) {
    struct live *l = mem_zalloc(1, sizeof *l);
    l->slot = slot;
    l->before = slot_version(slot);
    l->db = db;
    l->windows = windows_new();
    l->events = fifo_new(EVENTS_KEPT, false);
    pthread_mutex_init(&l->lock, NULL);
    l->provider = (struct provider){.ctx = l,
                                    .run = run,
                                    .planned_s = (double)(s->run.warmup_ns + s->run.duration_ns) / 1e9,
                                    .interval_s = (double)s->run.interval_ns / 1e9,
                                    .next = live_next,
                                    .at = db ? live_at : NULL,
                                    .step = db ? live_step : NULL,
                                    .window = live_window,
                                    .event = live_next_event,
                                    .status = live_status};
    snprintf(l->provider.autoscaler, sizeof l->provider.autoscaler, "%s",
             autoscaler_names[s->autoscaler.mode]);
    snprintf(l->provider.generation, sizeof l->provider.generation, "%s", compute_names[s->compute.mode]);
    return l;
}

void live_free(struct live *l) {
    if (!l) return;
    store_watch_close(l->past);
    fifo_free(l->events);
    windows_free(l->windows);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

struct windows *live_windows(struct live *l) {
    return l->windows;
}

const struct provider *live_provider(struct live *l) {
    return &l->provider;
}
