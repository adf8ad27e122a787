/* Percentiles of counters for snapshots and windows; with too few samples a percentile is missing. Pure; any
 * thread. */
#ifndef KVF_ENGINE_SAMPLING_LEVELS_H
#define KVF_ENGINE_SAMPLING_LEVELS_H

#include "metrics/counters.h"
#include "record/run.h"
#include "record/windows.h"

/* Percentiles and means of requests, but for lateness. */
void levels_interval(struct snapshot_interval *i, const struct counters *d);
void levels_tier(struct snapshot_tier *v, const struct counters *d, int tier);
void levels_class(struct snapshot_qos *v, const struct counters_class *c);
/* The levels that no snapshot has. */
void levels_view(struct windows_view *v, const struct counters *d, uint32_t classes);
/* Quantile in ms, NaN where the samples are too few for it (100 for P99, 1,000, 10,000). */
double levels_ms(const struct histogram *h, double q);

/* Mean, quantiles and the largest of times in ns, as "PREFIX_p95_ms" and so on. */
void levels_results(struct result_list *out, const char *prefix, const struct histogram *h);
/* Adds a histogram that is not empty, coded. */
void levels_keep(struct run_record *run, const char *scope, const struct histogram *h);

#endif
