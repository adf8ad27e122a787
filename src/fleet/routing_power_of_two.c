#include "fleet/routing.h"

/* M. Mitzenmacher, "The Power of Two Choices in Randomized Load Balancing", IEEE Transactions on Parallel and
 * Distributed Systems 12(10), 2001: nearly as even as the least loaded, and routers that learn of loads late
 * do not all send to one pod. */
static void power_of_two_choose(struct router *r, const struct fleet_request *q, struct fleet_choice *out) {
    const struct loads *l = r->loads;
    uint32_t one = loads_up_from(l, (uint32_t)rng_range(&r->rng, 0, l->pods - 1));
    uint32_t other = loads_up_from(l, (uint32_t)rng_range(&r->rng, 0, l->pods - 1));
    (void)q;
    out->pod = l->load[other] < l->load[one] ? other : one;
    out->reason = FLEET_REASON_LOAD;
}

const struct routing_ops routing_power_of_two = {.choose = power_of_two_choose};
