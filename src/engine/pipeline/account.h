/* Books an ended request in the counters of the executor that served it. */
#ifndef KVF_ENGINE_PIPELINE_ACCOUNT_H
#define KVF_ENGINE_PIPELINE_ACCOUNT_H

#include "engine/pipeline/pipeline.h"

/* An operation of a request has ended: the bytes that it moved, and those that need not be moved any more. */
void account_op(struct flight *f, const struct cache_op *op, enum cache_outcome outcome);
/* Now is its end. Executor thread. */
void account_flight(struct pipeline *p, struct executor *x, struct flight *f);

#endif
