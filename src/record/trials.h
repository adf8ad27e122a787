/* The trials of one scenario as a group: which count, and every metric of those that do. Plain data from
 * run records, for the summary of the group in text and JSON. */
#ifndef KVF_RECORD_TRIALS_H
#define KVF_RECORD_TRIALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "metrics/statistics.h"
#include "record/run.h"

struct trial {
    int64_t run_id;  /* 0: not stored */
    char uuid[37];   /* "": not stored */
    uint32_t number; /* from 1 */
    uint64_t seed;
    enum run_status status;
    char incomplete[760]; /* why it is left out, "438 of 549 requests done"; "": it counts */
    double measured_s, throughput_tok_s, e2e_p95_ms;
    size_t criteria, passed;
};
struct trial_metric {
    char metric[64], unit[12];
    double *value; /* of the complete trials, in their order; NaN: missing there */
    size_t count, cap;
};
struct trials {
    uint32_t asked; /* as many as the scenario wants */
    bool emulated[KVF_TIERS], compat[KVF_TIERS];
    bool computed; /* of a simulation */
    struct trial *trial;
    size_t count, cap;
    struct trial_metric *metric; /* in the order of the results */
    size_t metrics, metric_cap;
};

/* Adds a run that has ended; the record is not kept. A trial is incomplete, and left out of the metrics,
 * unless it completed, did all requests that it was asked for (result requests_left) and nobody changed its
 * users, generation or autoscaler meanwhile (events). */
void trials_add(struct trials *t, const struct run_record *r);
/* Why a run that has ended is no whole one, "438 of 549 requests done"; "" when it is. */
void trials_incomplete(const struct run_record *r, char *out, size_t len);
void trials_free(struct trials *t); /* what it owns; zeroed, it is empty */

size_t trials_complete(const struct trials *t); /* how many count */
/* Whether complete trials drew from several seeds, and the seed of each of them in their order. */
bool trials_seeds_differ(const struct trials *t);
uint64_t trials_seed(const struct trials *t, size_t complete);
/* Whether every complete trial passed all its criteria, and there is one. */
bool trials_passed(const struct trials *t);
/* The usual selection of what has values, in its order; zeros that say nothing are left out. `out` has room
 * for all metrics. How many. */
size_t trials_usual(const struct trials *t, const struct trial_metric **out);
const struct trial_metric *trials_metric(const struct trials *t, const char *metric); /* NULL: none */
/* Its statistics. No interval reaches below zero where no value could, nor beyond all hits; trials of a
 * simulation that had one seed are one value, which has no spread. */
void trials_statistics(const struct trials *t, const struct trial_metric *m, struct statistics *out);

#endif
