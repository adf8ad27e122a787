/* Books an ended request in the counters of the executor that served it. */
#ifndef KVF_ENGINE_PIPELINE_ACCOUNT_H
#define KVF_ENGINE_PIPELINE_ACCOUNT_H

#include "engine/pipeline/pipeline.h"

/* Now is its end. Executor thread. */
void account_flight(struct pipeline *p, struct executor *x, struct flight *f);

#endif
