/* The pipeline: a request's life as a state machine. It asks the cache for decisions, hands the work to its
 * executor and continues when the executor reports completion. It never blocks, has no thread and no clock of
 * its own, and is the same in real and in simulated time. */
#ifndef KVF_ENGINE_PIPELINE_PIPELINE_H
#define KVF_ENGINE_PIPELINE_PIPELINE_H

#include "cache/cache.h"
#include "engine/pipeline/executor.h"
#include "scenario/scenario.h"
#include "workload/rag.h"

struct pipeline {
    const struct scenario *scenario;
    struct cache *cache;
    _Atomic uint64_t ns_per_token;     /* generation; a command may change it */
    _Atomic uint64_t measured_from_ns; /* 0: no earlier part was left out */
    const struct rag *rag;             /* NULL: no request retrieves */
    _Atomic uint64_t documents;        /* that are in, as one word: first << 32 | next */
    const struct oracle *oracle;       /* the next accesses of the trace; NULL: not needed */
    struct sample *sample;             /* of what requests ask of the cache; NULL: not wanted */
    bool far;                          /* the remote tier is elsewhere: requests ask it first */
    bool settles; /* a request ends with the moves that it has caused: the next finds all in its place */
    struct compute *compute; /* modelled GPU: prefill and generation are its; NULL: ns_per_token */
};

/* Which documents requests that come to their retrieval from now on choose from. Any thread. */
static inline void pipeline_documents_set(struct pipeline *p, struct rag_window in) {
    atomic_store_explicit(&p->documents, (uint64_t)in.first << 32 | in.next, memory_order_relaxed);
}
static inline struct rag_window pipeline_documents(const struct pipeline *p) {
    uint64_t in = atomic_load_explicit(&p->documents, memory_order_relaxed);
    return (struct rag_window){(uint32_t)(in >> 32), (uint32_t)in};
}

/* The request got its slot on executor x (its arrival, its class and slot_ns are set). */
void pipeline_start(struct pipeline *p, struct executor *x, struct flight *f);
/* An operation that x got from the ready list is about to move bytes: one that waited for room knows its
 * tier only now. Executor thread of op->worker only. */
void pipeline_op_begins(const struct cache_op *op);
/* It has the room that it waited for, though perhaps not its turn. Before that, the same thread. */
void pipeline_op_ready(struct executor *x, struct cache_op *op);
/* An operation that x got from the ready list has ended; finishes it with the cache. Moves (owner
 * NULL) included. Executor thread of op->worker only. */
void pipeline_op_done(struct pipeline *p, struct executor *x, struct cache_op *op,
                      enum cache_outcome outcome);
void pipeline_timer(struct pipeline *p, struct executor *x, struct flight *f);
/* The remote tier has answered what it has of the keys that it was asked for. */
void pipeline_answered(struct pipeline *p, struct executor *x, struct flight *f,
                       const struct cache_note *notes, uint32_t count);
/* See executor_ops.computed. Executor thread of f->worker only. */
void pipeline_computed(struct pipeline *p, struct executor *x, struct flight *f);
/* The machine that serves the request is gone, with all that was outstanding for it: it fails. */
void pipeline_abort(struct pipeline *p, struct executor *x, struct flight *f);

#endif
