/* The names of the measures of a run: the catalogue that kvfall-results(7) describes under MEASURES. Any
 * thread. */
#ifndef KVF_RECORD_METRIC_H
#define KVF_RECORD_METRIC_H

#include <stdbool.h>
#include <stddef.h>

/* Patterns: TIER, DIR, CAUSE and STAT stand for the names of these, CLASS for a QoS class of the scenario,
 * REASON for any word. */
extern const char *const metric_names[];
extern const size_t metric_name_count;

enum { METRIC_NAME = 96 };
/* Whether a run with these classes can have a measure of that name. */
bool metric_known(const char *name, const char *const *classes, size_t count);
/* The nearest name that it can have, in `out`; NULL: none is near. */
const char *metric_nearest(const char *name, const char *const *classes, size_t count, char out[METRIC_NAME]);

#endif
