/* Queries a remote tier on another rank for the entries of a request, before the request's first lookup.
 * Executor thread. */
#ifndef KVF_ENGINE_PIPELINE_ASK_H
#define KVF_ENGINE_PIPELINE_ASK_H

#include "engine/pipeline/pipeline.h"

/* Asks for the entries that the tiers of this machine do not have; false: there are none, or none to ask. */
bool ask_begin(struct pipeline *p, struct executor *x, struct flight *f);
/* The cache knows of these from now on, and of the others that they are not there. */
void ask_end(struct pipeline *p, struct executor *x, struct flight *f, const struct cache_note *notes,
             uint32_t count);

#endif
