/* Measures the wake-up latency of threads on this machine, for timers and for hand-overs from another thread,
 * with the calls that runs use to sleep (engine/arrivals/dispatch.c, engine/service/worker.c). */
#ifndef KVF_STUDY_CALIBRATE_CALIBRATE_WAKES_H
#define KVF_STUDY_CALIBRATE_CALIBRATE_WAKES_H

#include <stdatomic.h>

#include "base/err.h"
#include "study/calibrate/calibrate.h"

struct calibrate_wakes {
    double timer_ns, wake_ns; /* means */
    double timer_spread[CALIBRATE_SLICES],
        wake_spread[CALIBRATE_SLICES]; /* by quantile slice, relative to the mean */
};

/* The median of each figure over rounds taken at different times, which discards interference in single
 * rounds. Reorders the rounds. */
void calibrate_wakes_middle(struct calibrate_wakes *rounds, unsigned count, struct calibrate_wakes *out);
/* Takes about 250 ms; returns -KVF_ERR_CANCELLED as soon as `stop` becomes true. Runs on the caller's thread
 * and one of its own. */
int calibrate_wakes(struct calibrate_wakes *out, const atomic_bool *stop, struct err *e);

#endif
