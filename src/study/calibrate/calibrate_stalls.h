/* The stalls of a drive, of windows or of a run, as a scenario has them. Pure. Any thread. */
#ifndef KVF_STUDY_CALIBRATE_CALIBRATE_STALLS_H
#define KVF_STUDY_CALIBRATE_CALIBRATE_STALLS_H

#include <stdint.h>

#include "metrics/usage.h"

enum { CALIBRATE_STALLS = 40 };

struct calibrate_stalls {
    double every_ns; /* busy time between two; 0: there was none */
    uint32_t count;
    double
        ns[CALIBRATE_STALLS]; /* lengths, ascending; of more stalls than these a sample with the same mean */
};

/* Of the use of a drive. */
void calibrate_stalls(const struct usage_sums *use, struct calibrate_stalls *out);

#endif
