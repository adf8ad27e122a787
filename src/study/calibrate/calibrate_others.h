/* The rest of the machine while a tier is measured. Any thread, between windows. */
#ifndef KVF_STUDY_CALIBRATE_CALIBRATE_OTHERS_H
#define KVF_STUDY_CALIBRATE_CALIBRATE_OTHERS_H

#include "probe/host.h"
#include "study/calibrate/calibrate.h"
#include "study/calibrate/calibrate_rig.h"

/* The kernel's counts of processors and drives, and those of the rig, so far. */
struct calibrate_counts {
    struct host_counts host;
    double device_bytes; /* NaN: no drive, or one that is not counted */
    double moved_bytes, workers_s;
    double at_s;
};

/* Reads them. `tier` is the one that is measured: drives are looked at for nvme only. */
void calibrate_count(const struct scenario *s, enum kvf_tier tier, const struct rig *rig,
                     struct calibrate_counts *out);
/* Sets cpu_others, device_times, serving and processors of a result from two counts of one measurement; what
 * is not known stays as it is. */
void calibrate_others(const struct calibrate_counts *from, const struct calibrate_counts *to,
                      struct calibrate_result *out);

#endif
