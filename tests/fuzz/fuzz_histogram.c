/* A histogram as the database stores it: what is taken is coded again to the same, and its figures lie
 * where they must. */
#include <math.h>

#include "fuzz.h"
#include "metrics/histogram.h"

static void figures_check(const struct histogram *h) {
    static const double q[] = {1e-9, 0.5, 0.95, 0.99, 0.9999, 1};
    double below = histogram_min(h), mean = histogram_mean(h);
    uint32_t bins[16] = {0};
    uint64_t spread = 0;
    fuzz_require(isnan(mean) == (histogram_count(h) == 0));
    for (size_t i = 0; i < sizeof q / sizeof *q; i++) {
        double value = histogram_quantile(h, q[i]);
        fuzz_require(isnan(value) == isnan(mean) && !(value < below));
        below = value;
    }
    fuzz_require(!(histogram_max(h) < below));
    histogram_spread(h, 1000, bins, sizeof bins / sizeof *bins);
    for (size_t i = 0; i < sizeof bins / sizeof *bins; i++) spread += bins[i];
    fuzz_require((spread > 0) == (histogram_count(h) > 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct histogram h, again;
    static uint8_t coded[HISTOGRAM_ENCODED_MAX], twice[HISTOGRAM_ENCODED_MAX];
    bool taken = histogram_decode(&h, data, size) == 0;
    figures_check(&h);
    if (!taken) {
        fuzz_require(histogram_count(&h) == 0);
        return 0;
    }
    size_t len = histogram_encode(&h, coded, sizeof coded);
    fuzz_require(len <= sizeof coded && histogram_decode(&again, coded, len) == 0);
    fuzz_require(histogram_encode(&again, twice, sizeof twice) == len && memcmp(coded, twice, len) == 0);
    fuzz_require(histogram_count(&again) == histogram_count(&h));
    return 0;
}
