/* A pod that is a rank dies and comes back while its process goes on (fleet.outages outside a simulation).
 *
 *   UP: the pod serves requests.
 *   GOING: it gives out no slots, and waiting requests are back at rank 0's routers. The cache has stopped,
 * and each worker finishes the operations that it has begun, as at the end of a run. Then all requests in
 *     service fail, and all tiers are emptied.
 *   GONE: it is empty and waits for rank 0 to call it back. If that call came earlier, it goes straight to
 * UP.
 *
 * Rank 0 removes the pod from routing and tells it so under one hold of queue_lock, and messages from one
 * rank keep their order. So a request arrives before the death or after the return. */
#ifndef KVF_ENGINE_PODS_GONE_H
#define KVF_ENGINE_PODS_GONE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct engine;
struct cache;

/* Of all deaths; queue_lock. */
struct gone_cost {
    uint64_t failed, rerouted; /* requests */
    uint64_t lost, lost_bytes; /* entries, a copy in each tier being one */
};
struct gone {
    enum { POD_UP, POD_GOING, POD_GONE } state; /* queue_lock, as is `back` */
    bool back;                                  /* it was told so while it was going */
    _Atomic uint32_t deaths;                    /* that have begun */
    _Atomic uint32_t stopped;                   /* of these, caches have let everything go */
    pthread_barrier_t at_rest;                  /* of all workers */
    atomic_bool rested;                         /* they have met there */
    struct gone_cost cost;                      /* of this rank; on rank 0 as far as told of all */
};

/* Adds what these tiers of a cache hold, which is about to be lost; with the locks of both. */
void gone_cost_tiers(struct gone_cost *cost, const struct cache *c, int from, int to);
void gone_open(struct engine *e);  /* with the number of workers known */
void gone_close(struct engine *e); /* frees what gone_open() made */
/* Rank 0: takes the pod out of routing, or back, and tells the rank that it is. Control thread. */
void gone_tell(struct engine *e, uint32_t pod, bool gone);
/* Rank 0 has taken this pod out, or called it back. Control thread. */
void gone_set(struct engine *e, bool gone);
/* Rank 0: adds the cost of a death, as the other rank reports it. */
void gone_told(struct engine *e, const void *bytes, size_t len);

/* The end of a death, once all workers are at rest. Control thread. */
void gone_look(struct engine *e);

#endif
