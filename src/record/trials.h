/* The trials of one scenario as a group: which of them count, and the metrics of those. Plain data from run
 * records, for the summary of the group in text and JSON. One thread at a time. */
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
    char flaw[64];        /* why its figures are not those of its load (standing_run_flaw()); "": they are */
    double left;          /* requests that it had no time for, if it was left to its end */
    double measured_s, throughput_tok_s, e2e_p95_ms;
    size_t criteria, passed, without_data; /* judged; of these; beside them */
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

/* Adds a run that has ended, without keeping the record. A trial is complete if its run completed, did all
 * its requests (result requests_left), and no one changed its users, generation or autoscaler (events).
 * Incomplete trials are left out of the metrics. */
void trials_add(struct trials *t, const struct run_record *r);
/* Why a run that has ended is incomplete, "438 of 549 requests done"; "": it is complete. */
void trials_incomplete(const struct run_record *r, char *out, size_t len);
void trials_free(struct trials *t);             /* what it owns; zeroed, it is empty */
size_t trials_complete(const struct trials *t); /* their number */
/* Whether complete trials have different seeds, and the seed of a complete trial by its index. */
bool trials_seeds_differ(const struct trials *t);
uint64_t trials_seed(const struct trials *t, size_t complete);
/* Appends the results of a complete trial by its index, without their samples. */
void trials_results(const struct trials *t, size_t complete, struct result_list *out);
/* Whether there is a complete trial, every one passed all its criteria, and of the others none failed,
 * crashed or ended before all its requests were done: those that are slow must not drop out. */
bool trials_passed(const struct trials *t);
/* The metrics of the usual selection that have values, in its order, without uninformative zeros. `out` has
 * room for all metrics. Returns their number. */
size_t trials_usual(const struct trials *t, const struct trial_metric **out);
const struct trial_metric *trials_metric(const struct trials *t, const char *metric); /* NULL: none */
/* The statistics of a metric. Intervals are clamped to the possible values: not below zero, ratios not
 * above 1. Simulated trials of one seed are one value, which has no spread. */
void trials_statistics(const struct trials *t, const struct trial_metric *m, struct statistics *out);

#endif
