/* The combined evidence of all windows at one number of users, and its certainty.
 *
 * An interval, or a stretch of them, adds a deviation from the line and its weight: missed requests less 5 %
 * of those that ended, with their number; or a mean less its limit, with seconds. The sum of deviations is
 * held against its standard error: Wilson's score test of a binomial share, on an effective number of
 * requests. Intervals depend on one another (a queue does not empty at the end of a second), so the variance
 * is the largest that blocks of 1, 2, 4 .. 32 intervals show (blocking after Flyvbjerg and Petersen, J. Chem.
 * Phys. 91, 461, 1989), and never less than the binomial one.
 *
 * More users never miss less: evidence_isotonic() pools neighbours that say otherwise (pool adjacent
 * violators; Barlow and others, Statistical Inference under Order Restrictions, 1972).
 *
 * Pure, fixed memory. */
#ifndef KVF_ENGINE_SCALE_EVIDENCE_H
#define KVF_ENGINE_SCALE_EVIDENCE_H

#include <stdbool.h>

enum { EVIDENCE_SCALES = 6, EVIDENCE_BLOCKS = 8 }; /* sizes of blocks; least of a size that count */
#define EVIDENCE_MOST 99.0                         /* standard errors: certain */

struct evidence_scale {
    double open; /* first half of the next block */
    bool half;   /* there is one */
    double sum, squares;
    unsigned blocks;
};
struct evidence {
    double x, weight; /* sums of deviations and of weights */
    double floor;     /* least variance of x */
    unsigned intervals;
    struct evidence_scale scale[EVIDENCE_SCALES];
};

/* Adds an interval: its deviation x, its weight, and the least variance of the deviation. */
void evidence_add(struct evidence *e, double x, double weight, double floor);
void evidence_join(struct evidence *e, const struct evidence *more);  /* adds all of it */
void evidence_leave(struct evidence *e, const struct evidence *part); /* takes a part away that was joined */
double evidence_mean(const struct evidence *e);                       /* x / weight; 0 without any */
double evidence_variance(const struct evidence *e);                   /* of x */
/* Standard errors from the line: above it positive, at most EVIDENCE_MOST. */
double evidence_z(const struct evidence *e);
/* Whether `later` differs from `before` by more than `errors` standard errors, by the scatter of before. */
bool evidence_contradicts(const struct evidence *before, const struct evidence *later, double errors);

/* One class at one number of users. */
struct evidence_point {
    double x, weight, variance;
};
/* Pools neighbours, in order of users, until means do not fall: each gets the sums of its pool. A point
 * without weight joins the one before it; with none before, it stays unknown, as more users tell nothing of
 * fewer. At most EVIDENCE_POINTS. */
enum { EVIDENCE_POINTS = 128 };
void evidence_isotonic(struct evidence_point *p, unsigned n);
double evidence_point_z(const struct evidence_point *p);

#endif
