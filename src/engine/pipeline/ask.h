/* A remote tier that is elsewhere: what it has of a request's entries is asked before the request looks for
 * the first. Executor thread. */
#ifndef KVF_ENGINE_PIPELINE_ASK_H
#define KVF_ENGINE_PIPELINE_ASK_H

#include "engine/pipeline/pipeline.h"

/* Asks for the entries that the tiers of this machine do not have; false: there are none, or none to ask. */
bool ask_begin(struct pipeline *p, struct executor *x, struct flight *f);
/* The cache knows of these from now on, and of the others that they are not there. */
void ask_end(struct pipeline *p, struct executor *x, struct flight *f, const struct cache_note *notes,
             uint32_t count);

#endif
