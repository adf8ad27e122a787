/* How many tokens a second a number of users brings, and how well that is known.
 *
 * A conversation that goes on makes its requests larger, so that in a stage of a few conversations tokens a
 * second are as much chance as the system. How long conversations are in the mean is known beforehand
 * (request.usual_tokens), and how much longer they happen to be in a stage is seen. Throughput is corrected
 * for it:
 *
 *     throughput = tokens / s x (1 - slope x (load / usual load - 1))
 *
 * The slope is that of least squares through the blocks of all levels, each relative to the means of its own
 * level, between -1 (everything takes as much longer as conversations are) and 0 (control variates; Lavenberg
 * and Welch, Management Science 27, 322, 1981).
 *
 * Intervals depend on one another for as long as conversations last, which a level alone is too short to
 * show. So the variance of its intervals is taken as many times as the blocks of all levels together show
 * (evidence.h), at least as much as its own do.
 *
 * Pure. One thread. */
#ifndef KVF_ENGINE_SCALE_THROUGHPUT_H
#define KVF_ENGINE_SCALE_THROUGHPUT_H

#include "engine/scale/evidence.h"

struct throughput { /* of one level: tokens, with seconds; load less usual load, with that; both deviations */
    const struct evidence *tokens, *load, *both;
};
struct throughput_rule {
    double slope;
    double times; /* the variance of intervals, 1 or more; 0: not known yet, as 1 */
};
/* That of all levels. */
void throughput_learn(const struct throughput *t, unsigned levels, struct throughput_rule *out);
/* Tokens a second and their standard error; 0 without any evidence. */
void throughput_read(const struct throughput *t, const struct throughput_rule *rule, double *value,
                     double *noise);

#endif
