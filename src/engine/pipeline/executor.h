/* The pipeline's interface to the executor that carries out its steps. The real executor is a worker thread;
 * a simulated one runs on a virtual clock. The pipeline calls these, and the executor calls the
 * pipeline back; both happen on the one thread that serves the request. */
#ifndef KVF_ENGINE_PIPELINE_EXECUTOR_H
#define KVF_ENGINE_PIPELINE_EXECUTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "cache/cache.h"
#include "engine/pipeline/flight.h"
#include "metrics/counters.h"

struct executor;
struct executor_ops {
    /* Bracket calls of the cache. leave hands out the operations that became ready, to whichever
     * executor planned them. */
    void (*enter)(struct executor *x);
    void (*leave)(struct executor *x);
    /* An operation was made that waits (for room or for another writer): cancel it at
     * op->deadline_ns. Between enter and leave. */
    void (*waits)(struct executor *x, struct cache_op *op);
    void (*timer)(struct executor *x, struct flight *f, uint64_t at_ns); /* then pipeline_timer() */
    void (*done)(struct executor *x, struct flight *f); /* the flight is the executor's again */
    /* The batching server has finished the flight's work, as this executor learned: the executor that serves
     * the flight (f->worker, another) calls pipeline_computed(). NULL where there is one executor. */
    void (*computed)(struct executor *x, struct flight *f);
    /* The flight has what its request is to write, and writes it from now on. */
    void (*writes)(struct executor *x, struct flight *f);
    /* Asks a remote tier that is elsewhere for entries: then pipeline_answered(). NULL: none is. */
    void (*ask)(struct executor *x, struct flight *f, const struct cache_key *keys, uint32_t count);
    /* An operation failed or data was wrong: one sentence. */
    void (*error)(struct executor *x, const char *sentence);
};

struct executor {
    const struct executor_ops *ops;
    const struct run_clock *clock;
    struct cache *alone;       /* which no other thread calls: entered without a call; else NULL */
    struct counters *counters; /* of this executor alone */
    uint32_t worker;
    bool stopping;           /* the run ends: finish operations, begin nothing */
    struct flight *settling; /* requests that wait for their moves */
    struct flight tick;      /* no request: timers for it are the batching server's */
};

static inline uint64_t executor_now(const struct executor *x) { /* run time, ns */
    return run_clock_now(x->clock);
}
static inline void executor_enter(struct executor *x) {
    if (x->alone)
        cache_time(x->alone, executor_now(x));
    else
        x->ops->enter(x);
}
static inline void executor_leave(struct executor *x) {
    if (!x->alone || cache_is_ready(x->alone)) x->ops->leave(x);
}

#endif
