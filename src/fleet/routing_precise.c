#include "fleet/routing.h"

static void precise_choose(struct router *r, const struct fleet_request *q, struct fleet_choice *out) {
    routing_by_prefix(r, r->index, q, out);
}

const struct routing_ops routing_precise = {.choose = precise_choose};
