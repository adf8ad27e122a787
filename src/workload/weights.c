#include "workload/weights.h"

uint32_t weights_draw(const double *sums, uint32_t n, double u) {
    double at = u * sums[n - 1];
    uint32_t lo = 0, hi = n - 1; /* rounding may bring `at` up to the last sum */
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (at < sums[mid])
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}
