/* How late threads of this machine see what they sleep for: the end of a time, and what another thread hands
 * them, both as those of a run sleep (engine/dispatch.c, engine/worker.c). */
#ifndef KVF_STUDY_CALIBRATE_CALIBRATE_WAKES_H
#define KVF_STUDY_CALIBRATE_CALIBRATE_WAKES_H

#include <stdatomic.h>

#include "base/err.h"

struct calibrate_wakes {
    double timer_ns, wake_ns; /* medians */
};

/* Takes about half a second, less when `stop` becomes true, then -KVF_ERR_CANCELLED. Caller's thread, and one
 * of its own. */
int calibrate_wakes(struct calibrate_wakes *out, const atomic_bool *stop, struct err *e);

#endif
