#include "fleet/routing.h"

/* Routers begin at different pods, so that they do not all send to one at a time. */
static void round_robin_choose(struct router *r, const struct fleet_request *q, struct fleet_choice *out) {
    (void)q;
    uint32_t pods = r->loads->pods;
    uint64_t first = (uint64_t)r->number * pods / r->s->fleet.routers;
    out->pod = loads_up_from(r->loads, (uint32_t)((first + r->turn) % pods));
    out->reason = FLEET_REASON_TURN;
}

const struct routing_ops routing_round_robin = {.choose = round_robin_choose};
