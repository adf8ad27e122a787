/* How far a metric may be off, judged by its own values: they are drawn again many times, and the metric is
 * computed from each draw (Efron and Tibshirani, An Introduction to the Bootstrap, 1993). Any thread. */
#ifndef KVF_METRICS_RESAMPLE_H
#define KVF_METRICS_RESAMPLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"

/* How many neighbours of a series to draw together, so that correlation in time is kept:
 * Politis and White's rule (Automatic block-length selection for the dependent bootstrap, 2004, corrected by
 * Patton, Politis and White 2009) for blocks of one length, but at least the cube root of n, which is the
 * order that suits weak dependence (Kuensch 1989), and at most a third of n. From 1; 1 for n under 3. */
size_t resample_block_length(const double *series, size_t n);

/* The standard error of sum(num) / sum(den) of n values each, from blocks of `block` neighbours that begin
 * anywhere (Kuensch, The jackknife and the bootstrap for general stationary observations, 1989); the end of
 * the series is followed by its beginning (Politis and Romano 1992). It is what endless draws of such blocks
 * would scatter by, and larger by what blocks of a short series take from each other. n at least 2, block at
 * least 1 and under n. */
struct resample_series {
    const double *num, *den;
    size_t n, block;
};
double resample_error(const struct resample_series *s);

/* The standard error of sum(count), given sum(of) and the course that the run took: a curve of the second
 * degree is taken from what the n intervals are off by. Blocks are a twelfth of n, or the cube root of n
 * where that is more: a burst is chance, while a state that lasts for much of the run is its course. n at
 * least 20, sum(of) above 0. *freedom: of Student's t. */
double resample_count_error(const double *count, const double *of, size_t n, uint64_t *freedom);

/* Fills out[count] with medians of n values that are drawn one by one, with replacement. */
void resample_medians(struct rng *r, const double *values, size_t n, double *out, size_t count);

/* Sorts draws and gives the bounds that 2.5 % of them lie under and over. count at least 1; no NaN. */
void resample_bounds(double *draws, size_t count, double *low, double *high);

#endif
