/* The configuration of the cache that a scenario describes. Pure; any thread. */
#ifndef KVF_ENGINE_LIMITS_CACHECONFIG_H
#define KVF_ENGINE_LIMITS_CACHECONFIG_H

#include "cache/cache.h"
#include "scenario/scenario.h"

/* All but ctx, alloc and drop; capacities must be resolved. */
void cacheconfig_fill(struct cache_config *c, const struct scenario *s);

#endif
