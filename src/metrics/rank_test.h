/* A test of whether two small samples come from one population of any shape. Pure; any thread. */
#ifndef KVF_METRICS_RANK_TEST_H
#define KVF_METRICS_RANK_TEST_H

#include <stddef.h>

/* Mann and Whitney's U, which is Wilcoxon's rank sum (Mann and Whitney, On a test of whether one of two
 * random variables is stochastically larger than the other, 1947): the probability that the ranks of `a`
 * would be at least as far from their mean, to either side, if all n + m values had been dealt at random.
 * Ties share their middle rank. Up to 50 values together it counts all deals, ties included; beyond that the
 * normal approximation, corrected for ties and continuity. Values are finite; NaN when a sample is empty. */
double rank_test_p(const double *a, size_t n, const double *b, size_t m);
/* The least value of rank_test_p() for samples of these sizes: above 0.05 they cannot show a difference. */
double rank_test_least(size_t n, size_t m);

#endif
