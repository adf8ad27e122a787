/* What a calibration found, as the part of a scenario that says so. Any thread. */
#ifndef KVF_REPORT_CALIBRATION_H
#define KVF_REPORT_CALIBRATION_H

#include "base/buf.h"
#include "engine/calibrate.h"

/* Adds the keys of one tier, below "tiers:". Its peaks are those of the tier where it is; the bandwidths,
 * which an emulated tier has instead, those of its link. */
void calibration_yaml(enum kvf_tier tier, const struct calibrate_result *r, struct buf *out);

#endif
