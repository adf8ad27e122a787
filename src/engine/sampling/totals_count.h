/* The sums over a run's intervals, for occasional readers. Control thread only. */
#ifndef KVF_ENGINE_SAMPLING_TOTALS_COUNT_H
#define KVF_ENGINE_SAMPLING_TOTALS_COUNT_H

#include "cache/cache.h"
#include "metrics/counters.h"
#include "record/snapshot.h"
#include "record/totals.h"

void totals_begin(struct totals *t); /* nothing counted yet */
/* Adds an interval: its snapshot, no peek, and what its counters and its cache have counted in it. */
void totals_add(struct totals *t, const struct snapshot *snap, const struct counters *delta,
                const struct cache_stats *cache);

#endif
