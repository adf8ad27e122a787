/* Open-loop arrivals at a stated rate: the time and the user of each request, drawn from streams of their
 * own, so that neither depends on the requests or on how fast they are served. Not thread safe: one thread or
 * one lock. */
#ifndef KVF_WORKLOAD_ARRIVALS_H
#define KVF_WORKLOAD_ARRIVALS_H

#include <stdint.h>

#include "base/rng.h"
#include "scenario/scenario.h"

/* A batch of requests arrives together. The gaps between batches are exponential (poisson), or gamma
 * distributed with the coefficient of variation cv, that is of shape 1 / cv^2; with cv 0 they are all the
 * same. Their mean is batch / rate, so that `rate` counts requests. */
struct arrivals {
    struct rng gaps, picks;
    double shape;      /* of the gamma distribution; 0: fixed gaps */
    double mean_ns;    /* gap between batches */
    double at_ns;      /* when the present batch arrives */
    uint64_t batches;  /* so far, the present one included */
    uint64_t batch;    /* requests of a batch */
    uint64_t together; /* requests of the present batch that are still to come */
};

/* Begins the arrivals of a scenario whose process is poisson or gamma and whose rate is above 0. */
void arrivals_init(struct arrivals *a, const struct scenario *s);
/* The arrival of the next request in ns after the start; never decreases, and is 0 for the first batch. */
uint64_t arrivals_next_ns(struct arrivals *a);
/* The user of a request: one of n, each equally likely; n is at least 1. */
uint64_t arrivals_pick(struct arrivals *a, uint64_t n);

#endif
