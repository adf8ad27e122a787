/* Requests that may not end before the moves that they have caused. One executor's thread each. */
#ifndef KVF_ENGINE_PIPELINE_SETTLE_H
#define KVF_ENGINE_PIPELINE_SETTLE_H

#include "engine/pipeline/pipeline.h"

/* Whether the request, which has nothing else to do, has to wait: it is listed then. */
bool settle_begin(struct pipeline *p, struct executor *x, struct flight *f);
/* An operation has ended: those that waited and need not any more, linked by `next`; NULL: none. */
struct flight *settle_end(struct pipeline *p, struct executor *x);

#endif
