/* How late threads of this machine see what they sleep for: the end of a time, and what another thread hands
 * them, both as those of a run sleep (engine/arrivals/dispatch.c, engine/service/worker.c). */
#ifndef KVF_STUDY_CALIBRATE_CALIBRATE_WAKES_H
#define KVF_STUDY_CALIBRATE_CALIBRATE_WAKES_H

#include <stdatomic.h>

#include "base/err.h"
#include "study/calibrate/calibrate.h"

struct calibrate_wakes {
    double timer_ns, wake_ns;                                             /* means */
    double timer_spread[CALIBRATE_SLICES], wake_spread[CALIBRATE_SLICES]; /* by slices, in parts of them */
};

/* Of rounds taken at several times the middle one of each figure: who else used the machine at one time
 * counts for nothing. Sorts them. */
void calibrate_wakes_middle(struct calibrate_wakes *rounds, unsigned count, struct calibrate_wakes *out);
/* Takes about a quarter of a second, less when `stop` becomes true, then -KVF_ERR_CANCELLED. Caller's thread,
 * and one of its own. */
int calibrate_wakes(struct calibrate_wakes *out, const atomic_bool *stop, struct err *e);

#endif
