/* The pipeline: a request's life as a state machine (DESIGN section 4). It asks the cache what to
 * do, hands the work to its executor and goes on when the work is reported. It never blocks, knows
 * no thread and no clock of its own, and is the same in real and in simulated time. */
#ifndef KVF_ENGINE_PIPELINE_H
#define KVF_ENGINE_PIPELINE_H

#include "cache/cache.h"
#include "engine/executor.h"
#include "scenario/scenario.h"

struct pipeline {
    const struct scenario *scenario;
    struct cache *cache;
    _Atomic uint64_t ns_per_token; /* generation; a command may change it */
};

/* The request got its slot on executor x (its arrival, its class and slot_ns are set). */
void pipeline_start(struct pipeline *p, struct executor *x, struct flight *f);
/* An operation that x got from the ready list is about to move bytes: one that waited for room knows its
 * tier only now. Executor thread of op->worker only. */
void pipeline_op_begins(const struct cache_op *op);
/* An operation that x got from the ready list has ended; finishes it with the cache. Moves (owner
 * NULL) included. Executor thread of op->worker only. */
void pipeline_op_done(struct pipeline *p, struct executor *x, struct cache_op *op,
                      enum cache_outcome outcome);
void pipeline_timer(struct pipeline *p, struct executor *x, struct flight *f);

#endif
