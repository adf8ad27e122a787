/* The serving side of a run: pods with their queues and caches, workers, tiers, and the counts of requests
 * queued and in service. */
#ifndef KVF_ENGINE_SERVICE_SERVICE_H
#define KVF_ENGINE_SERVICE_SERVICE_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/terms.h"
#include "engine/events.h"
#include "engine/move/verify.h"
#include "engine/pipeline/flights.h"
#include "engine/pods/gone.h"
#include "engine/pods/pods.h"
#include "engine/service/hang.h"
#include "engine/service/worker.h"
#include "fleet/lineup.h"
#include "metrics/counters.h"
#include "metrics/usage.h"

struct channels;
struct engine;
struct engine_setup;
struct oracle;
struct payload;
struct tier;
struct tracelog;

/* Requests of one class, queue_lock. */
struct class_counts {
    uint64_t arrived, dropped, queued, in_service;
    /* integrals over time, complete to counted_ns; a request waits from its scheduled arrival on */
    uint64_t waiting_ns, service_ns, counted_ns;
};

struct service {
    const struct scenario *s;
    struct run_clock *clock;
    struct events *events;
    struct engine *engine;                                              /* for done() and writes() alone */
    void (*done)(struct engine *e, struct worker *w, struct flight *f); /* a flight has ended */

    pthread_mutex_t queue_lock;
    pthread_mutex_t cache_lock; /* of all caches */

    struct payload *payload;
    struct tier *tiers[KVF_TIERS];
    struct verify_dump dump; /* of all workers */

    struct pod *pods;
    uint32_t pod_first, pod_count; /* number of the first that is here; of these */
    struct pod store; /* the remote tier of several pods: no more than a cache; without: they have none */
    struct channels *store_link; /* to it; NULL likewise */
    struct oracle *oracle;       /* of policy belady, else NULL */
    struct gone gone;            /* of a pod that is a rank */

    struct worker *workers;
    uint32_t worker_count; /* threads; on a virtual clock one for each pod, without a thread */
    struct lineup lineup;  /* of these */
    sem_t workers_open;    /* posted by every worker when its opening has ended */
    struct counters *counters;
    uint32_t counter_count; /* of them: one for each thread that serves requests */
    struct usage usage[USAGES];
    struct tracelog *log;
    struct hang hang;      /* control thread */
    _Atomic bool stopping; /* nothing new is issued */
    _Atomic bool drained;  /* the cache has let everything go; workers may leave */

    /* queue_lock */
    uint64_t queued, in_service; /* of all */
    struct pod *touched;         /* pods whose slots are to be filled */
    struct class_counts klass[KVF_CLASSES_MAX];
    /* of each class, queue_lock: the newest arrival of another class that got a slot before a request of it,
     * and when it gave a slot back last; 0: never */
    uint64_t passed_ns[KVF_CLASSES_MAX], left_ns[KVF_CLASSES_MAX];
    /* in service, by when they got their slot; those of the preparation are not here */
    struct flight *first, *last;
    struct flights flights;
};

/* Opens the tiers that are on, with progress, and fills their part of the run's record. Control thread. */
int tiers_open(struct service *v, const struct engine_setup *setup, struct err *err);
void tiers_close(struct service *v); /* those that there are */

static inline bool service_is_virtual(const struct service *v) {
    return run_clock_is_virtual(v->clock);
}
static inline uint64_t service_now(const struct service *v) {
    return run_clock_now(v->clock);
}
/* On a real clock the one that is here; its number may be another. */
static inline struct pod *pod_of(const struct service *v, const struct flight *f) {
    return &v->pods[service_is_virtual(v) ? f->pod - v->pod_first : 0];
}
/* Of a virtual clock. */
static inline struct worker *pod_worker(const struct pod *p) {
    return &p->service->workers[p->number - p->service->pod_first];
}

#endif
