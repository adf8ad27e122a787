#include "metrics/statistics.h"

#include <math.h>
#include <stdlib.h>

#include "base/buf.h"

enum { CLOSED_FORM_DF = 10000 };
static const double normal_975 = 1.959963984540054;

/* P(-t < T < t). With x = arctan(t / sqrt(df)) it is a finite sum of even (df even) or odd powers of
 * cos x, each term a known multiple of the one before. */
static double inside(double t, uint64_t df) {
    double x = atan(t / sqrt((double)df)), square = cos(x) * cos(x);
    double term = df % 2 ? cos(x) : 1, sum = 0;
    for (uint64_t power = df % 2; power + 2 <= df; power += 2) {
        sum += term;
        term *= square * (double)(power + 1) / (double)(power + 2);
    }
    return df % 2 ? 2 / M_PI * (x + sin(x) * sum) : sin(x) * sum;
}

double statistics_student_t(double share, uint64_t df) {
    double low = 0, high = 2;
    if (df == 0 || !(share > 0 && share < 1)) return (double)NAN;
    if (df > CLOSED_FORM_DF) df = CLOSED_FORM_DF;
    while (inside(high, df) < share) high *= 2;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        *(inside(middle, df) < share ? &low : &high) = middle;
    }
    return (low + high) / 2;
}

double statistics_student_t975(uint64_t df) {
    return df > CLOSED_FORM_DF ? normal_975 : statistics_student_t(0.95, df);
}

static double median_of(const double *sorted, size_t n) {
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

int statistics_order(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void statistics_of(const double *values, size_t count, struct statistics *out) {
    const double none = (double)NAN;
    double *there = mem_zalloc(count + 1, sizeof *there), sum = 0, squares = 0, rest = 0;
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        if (!isnan(values[i])) there[n++] = values[i];
    *out = (struct statistics){n, none, none, none, none, none, none};
    if (n > 0) {
        qsort(there, n, sizeof *there, statistics_order);
        out->median = median_of(there, n);
        for (size_t i = 0; i < n; i++) sum += there[i];
        out->mean = sum / (double)n;
        for (size_t i = 0; i < n; i++) rest += there[i] - out->mean;
        out->mean += rest / (double)n; /* what rounding has left */
    }
    if (n > 1) {
        for (size_t i = 0; i < n; i++) squares += (there[i] - out->mean) * (there[i] - out->mean);
        out->sd = sqrt(squares / (double)(n - 1));
        double half = statistics_student_t975(n - 1) * out->sd / sqrt((double)n);
        out->ci95_low = out->mean - half;
        out->ci95_high = out->mean + half;
        if (out->mean != 0) out->cv = out->sd / fabs(out->mean);
    }
    free(there);
}

double statistics_welch(const struct statistics *a, const struct statistics *b, uint64_t *freedom) {
    *freedom = 0;
    if (a->n < 2 || b->n < 2) return (double)NAN;
    double va = a->sd * a->sd / (double)a->n, vb = b->sd * b->sd / (double)b->n, both = va + vb;
    double df = both * both / (va * va / (double)(a->n - 1) + vb * vb / (double)(b->n - 1));
    *freedom = both > 0 ? (uint64_t)df : a->n + b->n - 2;
    return sqrt(both);
}
