#include "study/calibrate/calibrate_stalls.h"

#include <math.h>

void calibrate_stalls(const struct usage_sums *use, struct calibrate_stalls *out) {
    const uint64_t *stalls = use->stalls, *ns = use->stall_ns;
    double count = 0, all_ns = 0, sum_ns = 0, before = 0;
    int length = 0;
    *out = (struct calibrate_stalls){.count = 0};
    for (int i = 0; i < USAGE_STALL_LENGTHS; i++) {
        count += (double)stalls[i];
        all_ns += (double)ns[i];
    }
    if (!(count > 0)) return;
    out->every_ns = fmax((double)use->any_ns - all_ns, 1) / count;
    out->count = (uint32_t)fmin(count, CALIBRATE_STALLS);
    for (uint32_t i = 0; i < out->count; i++) {
        while (before + (double)stalls[length] <= (i + 0.5) * count / out->count)
            before += (double)stalls[length++];
        out->ns[i] = (double)ns[length] / (double)stalls[length];
        sum_ns += out->ns[i];
    }
    for (uint32_t i = 0; i < out->count; i++) out->ns[i] *= all_ns / count * out->count / sum_ns;
}
