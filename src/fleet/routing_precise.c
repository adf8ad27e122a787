#include "fleet/routing.h"

static void precise_choose(struct router *r, const struct fleet_request *q, struct fleet_choice *out) {
    const double *weight = r->s->fleet.index.tier_weight;
    const struct holders_prefix *prefix;
    uint32_t found = r->answer ? holders_match(r->answer, q->block, q->blocks, weight, &prefix)
                               : extents_match(r->index, q->part, q->parts, weight, &prefix);
    routing_by_prefix(r, prefix, found, q, out);
}

const struct routing_ops routing_precise = {.choose = precise_choose};
