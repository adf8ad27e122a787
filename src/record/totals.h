/* A run's counts so far: sums over all its intervals from the first request on, with warm-up and without
 * preparation. A reader of the newest-value slot of snapshots may miss intervals; totals miss none. Plain
 * data: the engine's control thread makes them, the metrics server reads copies. */
#ifndef KVF_RECORD_TOTALS_H
#define KVF_RECORD_TOTALS_H

#include <stddef.h>
#include <stdint.h>

#include "base/terms.h"

/* Upper bounds in seconds: ten a decade from 10 us to 100 s, the preferred numbers R10 of ISO 3, so that a
 * quantile interpolated inside a bucket is near the true one; one more counter for the rest. */
enum { TOTALS_BOUNDS = 71 };
static const double totals_bounds_s[TOTALS_BOUNDS] = {
    1e-5,   1.25e-5, 1.6e-5, 2e-5,   2.5e-5, 3.2e-5,  4e-5,   5e-5,    6.3e-5, 8e-5,    1e-4,   1.25e-4,
    1.6e-4, 2e-4,    2.5e-4, 3.2e-4, 4e-4,   5e-4,    6.3e-4, 8e-4,    1e-3,   1.25e-3, 1.6e-3, 2e-3,
    2.5e-3, 3.2e-3,  4e-3,   5e-3,   6.3e-3, 8e-3,    1e-2,   1.25e-2, 1.6e-2, 2e-2,    2.5e-2, 3.2e-2,
    4e-2,   5e-2,    6.3e-2, 8e-2,   1e-1,   1.25e-1, 1.6e-1, 2e-1,    2.5e-1, 3.2e-1,  4e-1,   5e-1,
    6.3e-1, 8e-1,    1e0,    1.25e0, 1.6e0,  2e0,     2.5e0,  3.2e0,   4e0,    5e0,     6.3e0,  8e0,
    1e1,    1.25e1,  1.6e1,  2e1,    2.5e1,  3.2e1,   4e1,    5e1,     6.3e1,  8e1,     1e2};

struct totals_histogram {
    uint64_t count[TOTALS_BOUNDS + 1]; /* values in each, not cumulated */
    double sum_s;                      /* of all of them */
};

struct totals {
    uint64_t intervals;
    double phase_s[KVF_RUN_PHASES]; /* length of the intervals, pauses excluded */
    uint64_t arrived, done, failed, dropped;
    uint64_t tokens, context_tokens; /* generated; of the contexts of requests done */
    uint64_t class_arrived[KVF_CLASSES_MAX], class_done[KVF_CLASSES_MAX];
    uint64_t class_failed[KVF_CLASSES_MAX];   /* or dropped */
    double class_violations[KVF_CLASSES_MAX]; /* NaN: the class has no target */
    uint64_t lookups[KVF_CAUSES], misses[KVF_CAUSES], hits[KVF_TIERS][KVF_CAUSES];
    uint64_t refused, not_admitted; /* writes */
    uint64_t evictions[KVF_TIERS], demotions[KVF_TIERS], promotions[KVF_TIERS];
    uint64_t fell_through[KVF_TIERS]; /* writes */
    uint64_t ops[KVF_TIERS][KVF_DIRS][KVF_CAUSES], bytes[KVF_TIERS][KVF_DIRS][KVF_CAUSES];
    uint64_t errors[KVF_TIERS][KVF_DIRS];
    struct totals_histogram request[REQUEST_LATENCIES];
    struct totals_histogram op[KVF_TIERS][KVF_DIRS];     /* entry operations, issue to completion */
    struct totals_histogram device[KVF_TIERS][KVF_DIRS]; /* the part at the device */
    uint64_t decisions;                                  /* of the autoscaler */
    /* NaN where the machine does not count, or counts for another one than is simulated */
    double cpu_user_s, cpu_sys_s, cpu_workers_s;
    double device_bytes[KVF_DIRS], device_s[KVF_DIRS], device_busy_s;
    double net_rx_bytes, net_tx_bytes, energy_j;
};

#endif
