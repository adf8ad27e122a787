#include "metrics/rank_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

enum { EXACT_MOST = 50 }; /* deals of 50 are counted in a double without rounding */

struct ranked {
    double value;
    size_t rank2; /* twice its rank, a whole number also for ties of two */
    int first;    /* 1: of the first sample */
};

static int by_value(const void *x, const void *y) {
    double a = ((const struct ranked *)x)->value, b = ((const struct ranked *)y)->value;
    return (a > b) - (a < b);
}

/* Ranks from 1; values tied at places i to j share (i + j) / 2. *ties is the sum of t^3 - t. */
static struct ranked *rank_all(const double *a, size_t n, const double *b, size_t m, double *ties) {
    size_t count = n + m;
    struct ranked *all = mem_zalloc(count, sizeof *all);
    for (size_t i = 0; i < count; i++) all[i] = (struct ranked){i < n ? a[i] : b[i - n], 0, i < n};
    qsort(all, count, sizeof *all, by_value);
    *ties = 0;
    for (size_t i = 0, j; i < count; i = j) {
        for (j = i + 1; j < count && all[j].value == all[i].value;) j++;
        for (size_t k = i; k < j; k++) all[k].rank2 = i + 1 + j;
        double t = (double)(j - i);
        *ties += t * t * t - t;
    }
    return all;
}

/* ways[k][s]: how many choices of k values have ranks that sum up to s / 2; one value after the other is
 * left out or taken. */
static double exact(const struct ranked *all, size_t n, size_t count, size_t sum2) {
    size_t most = count * (count + 1) + 1;
    double *ways = mem_zalloc((n + 1) * most, sizeof *ways), far = 0, whole = 0;
    ways[0] = 1;
    for (size_t i = 0; i < count; i++)
        for (size_t k = (i < n ? i + 1 : n); k > 0; k--)
            for (size_t s = all[i].rank2; s < most; s++)
                ways[k * most + s] += ways[(k - 1) * most + s - all[i].rank2];
    double mean2 = (double)n * (double)(count + 1), off = fabs((double)sum2 - mean2);
    for (size_t s = 0; s < most; s++) {
        whole += ways[n * most + s];
        if (fabs((double)s - mean2) >= off) far += ways[n * most + s];
    }
    free(ways);
    return far / whole;
}

static double approximate(size_t n, size_t m, double sum2, double ties) {
    double a = (double)n, b = (double)m, all = a + b;
    double off = fabs(sum2 / 2 - a * (all + 1) / 2) - 0.5;
    double variance = a * b / 12 * (all + 1 - ties / (all * (all - 1)));
    if (off <= 0 || !(variance > 0)) return 1;
    return erfc(off / sqrt(2 * variance));
}

double rank_test_p(const double *a, size_t n, const double *b, size_t m) {
    double ties;
    size_t sum2 = 0;
    if (n == 0 || m == 0) return (double)NAN;
    struct ranked *all = rank_all(a, n, b, m, &ties);
    for (size_t i = 0; i < n + m; i++)
        if (all[i].first) sum2 += all[i].rank2;
    double p = n + m <= EXACT_MOST ? exact(all, n, n + m, sum2) : approximate(n, m, (double)sum2, ties);
    free(all);
    return p;
}

double rank_test_least(size_t n, size_t m) {
    double deals = 1; /* n + m over n */
    for (size_t i = 1; i <= n; i++) deals *= (double)(m + i) / (double)i;
    return fmin(1, 2 / deals);
}
