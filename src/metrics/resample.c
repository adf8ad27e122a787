#include "metrics/resample.h"

#include <math.h>
#include <stdlib.h>

#include "base/buf.h"
#include "metrics/statistics.h"

/* ---- the length of a block ---- */

enum { QUIET_LAGS = 5 }; /* so many in a row without correlation end the search */

/* Autocovariances of lags 0 to most, over n. */
static double *covariances(const double *x, size_t n, size_t most) {
    double *r = mem_zalloc(most + 1, sizeof *r), *off = mem_alloc(n * sizeof *off), mean = 0;
    for (size_t i = 0; i < n; i++) mean += x[i];
    for (size_t i = 0; i < n; i++) off[i] = x[i] - mean / (double)n;
    for (size_t k = 0; k <= most; k++) {
        double sum = 0;
        for (size_t i = k; i < n; i++) sum += off[i] * off[i - k];
        r[k] = sum / (double)n;
    }
    free(off);
    return r;
}

/* The last lag before QUIET_LAGS of them in a row lie within +-2 sqrt(log10(n) / n). */
static size_t last_loud(const double *r, size_t n, size_t most) {
    double limit = 2 * sqrt(log10((double)n) / (double)n) * r[0];
    size_t quiet = 0;
    for (size_t k = 1; k <= most; k++) {
        quiet = fabs(r[k]) < limit ? quiet + 1 : 0;
        if (quiet == QUIET_LAGS) return k - QUIET_LAGS;
    }
    return most;
}

/* (2 G^2 / D)^(1/3) n^(1/3), where G = sum |k| R(k) and D = 4/3 (sum R(k))^2, both over a flat-top window of
 * twice the last correlated lag. */
static double politis_white(const double *r, size_t n, size_t window) {
    double g = 0, spectrum = r[0];
    for (size_t k = 1; k <= window; k++) {
        double t = (double)k / (double)window, weight = t <= 0.5 ? 1 : 2 * (1 - t);
        spectrum += 2 * weight * r[k];
        g += 2 * weight * (double)k * r[k];
    }
    if (!(spectrum > 0)) return 1;
    return cbrt(1.5 * g * g / (spectrum * spectrum) * (double)n);
}

size_t resample_block_length(const double *series, size_t n) {
    if (n < 3) return 1;
    size_t root = (size_t)ceil(sqrt((double)n)), most = root + QUIET_LAGS < n ? root + QUIET_LAGS : n - 1;
    double *r = covariances(series, n, most), least = ceil(cbrt((double)n)), third = floor((double)n / 3);
    double length = 1;
    if (r[0] > 0) {
        size_t loud = last_loud(r, n, most), window = 2 * (loud ? loud : 1);
        length = ceil(politis_white(r, n, window < most ? window : most));
    }
    free(r);
    return (size_t)fmin(fmax(length, least), fmax(third, 1));
}

/* ---- blocks, and draws ---- */

double resample_error(const struct resample_series *s) {
    size_t n = s->n, block = s->block < n ? s->block : n - 1;
    double above = 0, below = 0, sum = 0, squares = 0;
    if (n < 2) return (double)NAN;
    for (size_t i = 0; i < n; i++) {
        above += s->num[i];
        below += s->den[i];
    }
    double *off = mem_alloc(n * sizeof *off);
    for (size_t i = 0; i < n; i++) off[i] = s->num[i] - above / below * s->den[i];
    for (size_t i = 0; i < block; i++) sum += off[i];
    for (size_t i = 0; i < n; i++) { /* the block that begins at i */
        squares += sum * sum;
        sum += off[(i + block) % n] - off[i];
    }
    free(off);
    return sqrt(squares / (double)block / (1 - (double)block / (double)n)) / below;
}

/* Takes a curve of the second degree, over the index, from a series whose sum is 0. */
static void without_curve(double *off, size_t n) {
    double middle = ((double)n - 1) / 2, square = 0;
    for (size_t i = 0; i < n; i++) square += ((double)i - middle) * ((double)i - middle) / (double)n;
    for (int degree = 1; degree <= 2; degree++) {
        double with = 0, norm = 0;
        for (int taken = 0; taken < 2; taken++)
            for (size_t i = 0; i < n; i++) {
                double x = (double)i - middle, p = degree == 1 ? x : x * x - square;
                if (taken) off[i] -= with / norm * p;
                with += taken ? 0 : off[i] * p;
                norm += taken ? 0 : p * p;
            }
    }
}

enum { COUNT_BLOCKS = 12, CURVE = 3 }; /* blocks at most; coefficients, one of them the mean */

double resample_count_error(const double *count, const double *of, size_t n, uint64_t *freedom) {
    double above = 0, below = 0;
    double *off = mem_alloc(n * sizeof *off), *ones = mem_alloc(n * sizeof *ones);
    for (size_t i = 0; i < n; i++) {
        above += count[i];
        below += of[i];
        ones[i] = 1;
    }
    for (size_t i = 0; i < n; i++) off[i] = count[i] - above / below * of[i];
    without_curve(off, n);
    size_t least = (size_t)ceil(cbrt((double)n)), block = n / COUNT_BLOCKS;
    const struct resample_series v = {off, ones, n, block < least ? least : block};
    double blocks = (double)n / (double)v.block;
    double error = resample_error(&v) * (double)n * sqrt((1 - 1 / blocks) / (1 - CURVE / blocks));
    *freedom = (uint64_t)fmax(blocks - CURVE, 1);
    free(off);
    free(ones);
    return error;
}

void resample_medians(struct rng *r, const double *values, size_t n, double *out, size_t count) {
    double *drawn = mem_alloc(n * sizeof *drawn);
    for (size_t c = 0; c < count; c++) {
        for (size_t i = 0; i < n; i++) drawn[i] = values[rng_range(r, 0, n - 1)];
        qsort(drawn, n, sizeof *drawn, statistics_order);
        out[c] = (drawn[(n - 1) / 2] + drawn[n / 2]) / 2;
    }
    free(drawn);
}

void resample_bounds(double *draws, size_t count, double *low, double *high) {
    size_t tail = (size_t)((double)count * 0.025);
    qsort(draws, count, sizeof *draws, statistics_order);
    *low = draws[tail];
    *high = draws[count - 1 - tail];
}
