#include "engine/scale/throughput.h"

#include <math.h>

enum { POOLED_LEAST = 2 * EVIDENCE_BLOCKS }; /* blocks of one size */
#define LONGER_MOST 0.5                      /* than usual: further the line does not go straight on */

/* Deviations of blocks from the mean of their level, squared and summed, in parts of that mean. */
struct squares {
    double tokens, load, product;
    double freedom; /* blocks less one */
};

static double squares_of(const struct evidence_scale *s) {
    return s->blocks > 0 ? fmax(0, s->squares - s->sum * s->sum / s->blocks) : 0;
}

static struct squares squares_at(const struct throughput *t, unsigned scale) {
    double tokens = squares_of(&t->tokens->scale[scale]), load = squares_of(&t->load->scale[scale]),
           both = squares_of(&t->both->scale[scale]);
    double mean = t->tokens->x / t->tokens->intervals, usual = t->load->weight / t->tokens->intervals;
    struct squares q = {.tokens = tokens / (mean * mean), .freedom = t->tokens->scale[scale].blocks - 1.0};
    if (!(usual > 0)) return q;
    q.load = load / (usual * usual);
    q.product = (both - tokens - load) / 2 / (mean * usual);
    return q;
}

static struct squares squares_of_all(const struct throughput *t, unsigned levels, unsigned scale) {
    struct squares sum = {0};
    for (unsigned i = 0; i < levels; i++) {
        if (!(t[i].tokens->x > 0) || t[i].tokens->scale[scale].blocks < 2) continue;
        struct squares q = squares_at(&t[i], scale);
        sum.tokens += q.tokens;
        sum.load += q.load;
        sum.product += q.product;
        sum.freedom += q.freedom;
    }
    return sum;
}

/* Of an interval, about the line of that slope, as blocks of this size show it. */
static double variance_by(const struct squares *q, double slope, unsigned scale) {
    double squares = q->tokens - 2 * slope * q->product + slope * slope * q->load;
    return fmax(0, squares) / q->freedom / (double)(1u << scale);
}

static bool enough(const struct squares *q) {
    return q->freedom >= POOLED_LEAST;
}

void throughput_learn(const struct throughput *t, unsigned levels, struct throughput_rule *out) {
    struct squares q[EVIDENCE_SCALES];
    *out = (struct throughput_rule){.times = 1};
    for (unsigned i = 0; i < EVIDENCE_SCALES; i++) {
        q[i] = squares_of_all(t, levels, i);
        if (enough(&q[i]) && q[i].load > 0) out->slope = fmin(0, fmax(-1, q[i].product / q[i].load));
    }
    if (!enough(&q[0])) return;
    double single = variance_by(&q[0], out->slope, 0);
    for (unsigned i = 1; i < EVIDENCE_SCALES && enough(&q[i]); i++)
        if (single > 0) out->times = fmax(out->times, variance_by(&q[i], out->slope, i) / single);
}

void throughput_read(const struct throughput *t, const struct throughput_rule *rule, double *value,
                     double *noise) {
    double mean = evidence_mean(t->tokens), most = 0;
    double longer = fmax(-LONGER_MOST, fmin(LONGER_MOST, evidence_mean(t->load)));
    *value = fmax(0, mean * (1 - rule->slope * longer));
    *noise = 0;
    if (!(t->tokens->x > 0)) return;
    for (unsigned i = 0; i < EVIDENCE_SCALES; i++) {
        if (t->tokens->scale[i].blocks < (i ? EVIDENCE_BLOCKS : 2)) break;
        struct squares q = squares_at(t, i);
        most = fmax(most, variance_by(&q, rule->slope, i) * (i ? 1 : fmax(1, rule->times)));
    }
    *noise = mean * sqrt(most / t->tokens->intervals);
}
