/* Text for Prometheus: of a run that goes on, from its newest snapshot and its sums, and of ended runs, from
 * their results. Two forms: OpenMetrics 1.0 (openmetrics.io/specification), and Prometheus' own text format
 * 0.0.4 (prometheus.io/docs/instrumenting/exposition_formats), which every collector reads. All families
 * stand in one table; missing values are absent. */
#ifndef KVF_EXPORT_OPENMETRICS_H
#define KVF_EXPORT_OPENMETRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "record/run.h"
#include "record/snapshot.h"
#include "record/totals.h"

enum openmetrics_form { OPENMETRICS_TEXT, OPENMETRICS_1_0, OPENMETRICS_FORMS };
const char *openmetrics_content_type(enum openmetrics_form form); /* as HTTP names it */
/* The form that a client wants by its header Accept (RFC 9110, 12.5.1), which may be NULL: OpenMetrics where
 * it is preferred to plain text in a version that there is here. */
enum openmetrics_form openmetrics_choose(const char *accept);

/* A run's labels, as copies, so that no lock on the run is needed. */
struct openmetrics_identity {
    int64_t run_id; /* 0: not stored */
    char uuid[37], name[64], mode[16], model[64], host[72], version[80];
    uint64_t seed;
    uint32_t trial, trials;
    double started_at, ended_at; /* epoch seconds; NaN: missing */
    enum run_status status;
};
void openmetrics_identify(const struct run_record *r, struct openmetrics_identity *out);

/* A run that goes on. snap and totals are NULL as long as there are none. ranks: with the families of each
 * rank alone, of those that the snapshot has. Appends to `out`; any thread. */
void openmetrics_live(const struct openmetrics_identity *identity, const struct snapshot *snap,
                      const struct totals *totals, bool ranks, enum openmetrics_form form, struct buf *out);
/* Results of ended runs, each sample with labels run_id (or uuid where there is none) and name. */
void openmetrics_results(const struct run_record *const *runs, size_t count, enum openmetrics_form form,
                         struct buf *out);

#endif
