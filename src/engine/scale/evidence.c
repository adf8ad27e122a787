#include "engine/scale/evidence.h"

#include <math.h>

void evidence_add(struct evidence *e, double x, double weight, double floor) {
    e->x += x;
    e->weight += weight;
    e->floor += floor;
    e->intervals++;
    for (unsigned i = 0; i < EVIDENCE_SCALES; i++) {
        struct evidence_scale *s = &e->scale[i];
        s->sum += x;
        s->squares += x * x;
        s->blocks++;
        s->half = !s->half;
        if (s->half) {
            s->open = x;
            return;
        }
        x += s->open;
    }
}

static void join(struct evidence *e, const struct evidence *more, int sign) {
    e->x += sign * more->x;
    e->weight += sign * more->weight;
    e->floor += sign * more->floor;
    e->intervals += (unsigned)sign * more->intervals;
    for (unsigned i = 0; i < EVIDENCE_SCALES; i++) {
        e->scale[i].sum += sign * more->scale[i].sum;
        e->scale[i].squares += sign * more->scale[i].squares;
        e->scale[i].blocks += (unsigned)sign * more->scale[i].blocks;
        e->scale[i].half = false;
    }
}

void evidence_join(struct evidence *e, const struct evidence *more) {
    join(e, more, 1);
}

void evidence_leave(struct evidence *e, const struct evidence *part) {
    join(e, part, -1);
}

double evidence_mean(const struct evidence *e) {
    return e->weight > 0 ? e->x / e->weight : 0;
}

/* Of the sum of all intervals, by the scatter of the blocks of one size. */
static double variance_by(const struct evidence *e, unsigned scale) {
    const struct evidence_scale *s = &e->scale[scale];
    double n = s->blocks, squares = s->squares - s->sum * s->sum / n;
    return fmax(0, squares / (n - 1)) * e->intervals / (double)(1u << scale);
}

double evidence_variance(const struct evidence *e) {
    double most = e->floor;
    for (unsigned i = 0; i < EVIDENCE_SCALES && e->scale[i].blocks >= (i ? EVIDENCE_BLOCKS : 2); i++)
        most = fmax(most, variance_by(e, i));
    return most;
}

static double errors_of(double x, double variance) {
    if (!(fabs(x) > 0)) return 0;
    double z = x / sqrt(variance);
    return fmax(-EVIDENCE_MOST, fmin(EVIDENCE_MOST, z));
}

double evidence_z(const struct evidence *e) {
    return errors_of(e->x, evidence_variance(e));
}

bool evidence_contradicts(const struct evidence *before, const struct evidence *later, double errors) {
    if (!(before->weight > 0) || !(later->weight > 0)) return false;
    double per_weight = evidence_variance(before) / before->weight;
    double apart = evidence_mean(later) - evidence_mean(before);
    return fabs(apart) > errors * sqrt(per_weight / later->weight + per_weight / before->weight);
}

/* ---- order ---- */

static double mean_of(const struct evidence_point *p) {
    return p->weight > 0 ? p->x / p->weight : 0;
}

void evidence_isotonic(struct evidence_point *p, unsigned n) {
    unsigned first[EVIDENCE_POINTS], pools = 0;
    struct evidence_point pool[EVIDENCE_POINTS];
    for (unsigned i = 0; i < n; i++) {
        first[pools] = i;
        pool[pools++] = p[i];
        while (pools > 1) {
            struct evidence_point *a = &pool[pools - 2], *b = &pool[pools - 1];
            if (b->weight > 0 && (!(a->weight > 0) || mean_of(a) <= mean_of(b))) break;
            a->x += b->x;
            a->weight += b->weight;
            a->variance += b->variance;
            pools--;
        }
    }
    for (unsigned k = 0; k < pools; k++)
        for (unsigned i = first[k]; i < (k + 1 < pools ? first[k + 1] : n); i++) p[i] = pool[k];
}

double evidence_point_z(const struct evidence_point *p) {
    return errors_of(p->x, p->variance);
}
