/* Writes the results of a calibration as part of a scenario. Any thread. */
#ifndef KVF_STUDY_CALIBRATE_CALIBRATION_H
#define KVF_STUDY_CALIBRATE_CALIBRATION_H

#include <stdbool.h>

#include "base/buf.h"
#include "study/calibrate/calibrate.h"
#include "study/calibrate/calibrate_wakes.h"

/* Whether windows of one kind differ by more than normal noise, as when other programs used the CPUs or the
 * device; *apart gets the largest difference. */
bool calibration_uncertain(const struct calibrate_result *r, double *apart);
/* Other programs that use more than that of the CPUs or of the device distort the figures. */
#define CALIBRATION_CPU_MOST   0.1 /* of all processors */
#define CALIBRATION_BYTES_MOST 1.2 /* the kernel's bytes to ours */
/* Appends the keys of the engine: workers and wake-up latencies. */
void calibration_engine_yaml(unsigned workers, const struct calibrate_wakes *w, struct buf *out);
/* Factors that turn the measured figures into those of a run, by direction; 1: no change. */
struct calibration_adjust {
    double times[KVF_DIRS];  /* of service times */
    double spread[KVF_DIRS]; /* exponent on the distribution of service times; above 1: longer tails */
    double lookup;           /* factor of the time of a store's lookups */
    bool stalls_known;       /* the stalls of a drive or a store are these, and not the windows' */
    struct calibrate_stalls stalls;
};
/* Appends the keys of one tier, below "tiers:". Peaks are those of the tier itself; bandwidths, which an
 * emulated tier uses, those of its link. Adjusts service times and bandwidths, but not the peaks. */
void calibration_yaml(enum kvf_tier tier, const struct calibrate_result *r,
                      const struct calibration_adjust *adjust, struct buf *out);

#endif
