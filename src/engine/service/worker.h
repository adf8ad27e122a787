/* A worker: the event loop of one thread over requests in service and their operations; on a virtual clock,
 * without a thread, all workers of one pod. */
#ifndef KVF_ENGINE_SERVICE_WORKER_H
#define KVF_ENGINE_SERVICE_WORKER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/heap.h"
#include "base/rng.h"
#include "engine/pipeline/executor.h"

struct service;
struct mover;
struct pod;
struct simmover;

struct wait_list { /* by deadline */
    struct cache_op *first, *last;
};

struct worker {
    struct executor x; /* first: the pipeline's view of a worker */
    struct service *service;
    struct pod *pod; /* that it serves */
    pthread_t thread;
    bool started;
    int wake_fd;
    _Atomic int sleeping;
    _Atomic(struct flight *) flights_in; /* mailbox: requests that got a slot, or whose computing has ended */
    _Atomic(struct cache_op *) ops_in;   /* mailbox: operations that became ready elsewhere */
    struct cache_op *run, **run_tail;    /* ready operations to begin */
    struct wait_list waits[2];           /* operations that wait: begun with this wait, going on */
    struct heap timers;                  /* flights that generate, by time */
    struct mover *mover;
    struct simmover *simulated; /* in its place on a virtual clock; else NULL */
    int open_rc;                /* what became of its opening, once workers_open was posted */
    struct err open_err;
    struct rng wake_rng; /* virtual clock: how late it sees requests */
    uint32_t deaths;     /* of its pod, that it has seen */
    uint32_t in_service; /* queue_lock */
};

/* Workers: event loops over flights and operations. */
int worker_start(struct service *v, struct worker *w, uint32_t index, struct err *err);
void worker_join(struct worker *w);
void worker_close(struct worker *w); /* when all are joined: a late one may have woken it */
void worker_wake(struct worker *w);
void worker_post_flight(struct worker *w, struct flight *f);
void worker_post_op(struct worker *w, struct cache_op *op);
void worker_mail_op(struct worker *w, struct cache_op *op); /* without waking it */

/* Virtual clock: the worker of a pod, without a thread, on the control thread. worker_turn() begins and ends
 * what can be now and says whether there was any, worker_next_ns() says when there will be, apart from the
 * work that worker_has_work() tells of. */
void worker_simulate(struct service *v, struct worker *w);
bool worker_turn(struct worker *w, bool paused);
uint64_t worker_next_ns(const struct worker *w);
bool worker_has_work(const struct worker *w);             /* in its mail, or to begin */
bool worker_due(const struct worker *w, uint64_t now_ns); /* whether a turn would do anything */
/* The worker of a pod that is gone: its operations end abandoned, its cache having stopped; its requests are
 * forgotten, and the caller's. */
void worker_abandon(struct worker *w);

#endif
