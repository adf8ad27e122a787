#include "fleet/routing.h"

static void random_choose(struct router *r, const struct fleet_request *q, struct fleet_choice *out) {
    (void)q;
    out->pod = loads_up_from(r->loads, (uint32_t)rng_range(&r->rng, 0, r->loads->pods - 1));
    out->reason = FLEET_REASON_DRAWN;
}

const struct routing_ops routing_random = {.choose = random_choose};
