#include "workload/arrivals.h"

#include "base/clock.h"

enum arrival_stream { ARRIVAL_GAPS, ARRIVAL_PICKS };

#define ARRIVAL_MAX ((double)(UINT64_MAX / 4)) /* ns: later than any run lasts */

void arrivals_init(struct arrivals *a, const struct scenario *s) {
    bool poisson = s->workload.arrival.process == KVF_ARRIVAL_POISSON;
    double cv = poisson ? 1 : s->workload.arrival.cv;
    *a = (struct arrivals){.batch = s->workload.arrival.batch ? s->workload.arrival.batch : 1};
    rng_init(&a->gaps, s->seed, KVF_RNG_ARRIVAL, ARRIVAL_GAPS);
    rng_init(&a->picks, s->seed, KVF_RNG_ARRIVAL, ARRIVAL_PICKS);
    a->shape = cv > 0 ? 1 / (cv * cv) : 0;
    a->mean_ns = (double)a->batch / s->workload.arrival.rate * (double)KVF_NS_PER_S;
}

/* Fixed gaps are multiplied rather than added up, so that no rounding piles up. A gamma distribution of
 * shape 1 is the exponential one, for which there is a shorter way. */
static void batch_begin(struct arrivals *a) {
    if (a->batches > 0) {
        if (a->shape == 0)
            a->at_ns = a->mean_ns * (double)a->batches;
        else if (a->shape == 1)
            a->at_ns += rng_exponential(&a->gaps, a->mean_ns);
        else
            a->at_ns += rng_gamma(&a->gaps, a->shape, a->mean_ns / a->shape);
        if (a->at_ns > ARRIVAL_MAX) a->at_ns = ARRIVAL_MAX;
    }
    a->batches++;
    a->together = a->batch;
}

uint64_t arrivals_next_ns(struct arrivals *a) {
    if (a->together == 0) batch_begin(a);
    a->together--;
    return (uint64_t)a->at_ns;
}

uint64_t arrivals_pick(struct arrivals *a, uint64_t n) {
    return rng_range(&a->picks, 0, n - 1);
}
