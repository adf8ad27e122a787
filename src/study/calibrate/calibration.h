/* The results of a calibration as part of a scenario. Any thread. */
#ifndef KVF_STUDY_CALIBRATE_CALIBRATION_H
#define KVF_STUDY_CALIBRATE_CALIBRATION_H

#include <stdbool.h>

#include "base/buf.h"
#include "study/calibrate/calibrate.h"
#include "study/calibrate/calibrate_wakes.h"

/* Whether windows of a kind lay further apart than that, as when something else used the processors or the
 * device; how far the worst did. */
bool calibration_disturbed(const struct calibrate_result *r, double *apart);
/* Whether other programs had more of the processors, or of the device, than leaves a figure what it is. */
#define CALIBRATION_CPU_MOST   0.1 /* of all processors */
#define CALIBRATION_BYTES_MOST 1.2 /* the kernel's bytes to ours */
bool calibration_shared(const struct calibrate_result *r);
/* Adds the keys of the engine: its workers, and how late threads wake. */
void calibration_engine_yaml(unsigned workers, const struct calibrate_wakes *w, struct buf *out);
/* Changes of the figures that windows measured, by direction, so that they are those of a run; 1: none. */
struct calibration_adjust {
    double times[KVF_DIRS];  /* longer that operations take */
    double spread[KVF_DIRS]; /* power of the service times' spread: above 1 the tails are longer */
};
/* Adds the keys of one tier, below "tiers:". Its peaks are those of the tier where it is; the bandwidths,
 * which an emulated tier has instead, those of its link. Service times and bandwidths are adjusted, the peaks
 * are not. */
void calibration_yaml(enum kvf_tier tier, const struct calibrate_result *r,
                      const struct calibration_adjust *adjust, struct buf *out);

#endif
