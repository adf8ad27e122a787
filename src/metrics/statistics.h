/* Statistics of repeated measurements: median, mean, spread, and how far the mean may be off. Pure;
 * any thread. */
#ifndef KVF_METRICS_STATISTICS_H
#define KVF_METRICS_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

struct statistics { /* in the unit of the values; NaN: not defined for so few */
    uint64_t n;     /* values that are there */
    double median;  /* of two in the middle their mean */
    double mean;    /* arithmetic */
    double sd;      /* of the sample, over n - 1; from two values on */
    double cv;      /* coefficient of variation, sd / |mean|; NaN for a mean of 0 */
    /* 95 % confidence interval of the mean, for values that scatter normally and independently of each
     * other: mean -+ t(0.975, n - 1) x sd / sqrt(n); from two values on */
    double ci95_low, ci95_high;
};
/* For qsort: doubles, or structs that begin with one, the least first. */
int statistics_order(const void *a, const void *b);
/* Missing values (NaN) are left out and not counted. Two passes, so that a large mean does not swallow a
 * small spread. */
void statistics_of(const double *values, size_t count, struct statistics *out);

/* The t for which a part `share` (0.95) of Student's distribution lies between -t and t; beyond 10,000
 * degrees of freedom that of 10,000. NaN for 0. */
double statistics_student_t(double share, uint64_t df);
/* The 97.5 % quantile of Student's t for `df` degrees of freedom, by bisection of the closed forms of its
 * distribution for whole df (Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and
 * 26.7.4), good to 1e-9; above 10,000 the normal quantile, which is less than 3e-4 below. NaN for 0. */
double statistics_student_t975(uint64_t df);

/* The standard error of b->mean - a->mean for samples of at least two values whose spreads may differ, and
 * the degrees of freedom of its Student's t, rounded down (Welch, The generalization of "Student's" problem,
 * 1947); NaN and 0 for fewer values. */
double statistics_welch(const struct statistics *a, const struct statistics *b, uint64_t *freedom);

#endif
