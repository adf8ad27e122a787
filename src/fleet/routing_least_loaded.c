#include "fleet/routing.h"

static void least_loaded_choose(struct router *r, const struct fleet_request *q, struct fleet_choice *out) {
    (void)q;
    out->pod = loads_least(r->loads);
    out->reason = FLEET_REASON_LOAD;
}

const struct routing_ops routing_least_loaded = {.choose = least_loaded_choose};
