/* Requests that must not end before the moves that they caused. Each on its executor's thread. */
#ifndef KVF_ENGINE_PIPELINE_SETTLE_H
#define KVF_ENGINE_PIPELINE_SETTLE_H

#include "engine/pipeline/pipeline.h"

/* Whether the request, which has nothing else to do, has to wait: it is listed then. */
bool settle_begin(struct pipeline *p, struct executor *x, struct flight *f);
/* An operation has ended: those that waited and need not any more, linked by `next`; NULL: none. */
struct flight *settle_end(struct pipeline *p, struct executor *x);

#endif
