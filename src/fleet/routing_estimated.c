#include "fleet/routing.h"

/* It takes for granted that a pod keeps what it was sent, in its fastest tier. The last block goes first, so
 * that the beginning of a request is the most recent. */
static void estimated_choose(struct router *r, const struct fleet_request *q, struct fleet_choice *out) {
    const struct holders_prefix *prefix;
    uint32_t found = holders_match(r->memory, q->block, q->blocks, r->s->fleet.index.tier_weight, &prefix);
    routing_by_prefix(r, prefix, found, q, out);
    for (uint32_t i = q->blocks; i-- > 0;) holders_add(r->memory, q->block[i], out->pod, KVF_TIER_GPU);
}

const struct routing_ops routing_estimated = {.choose = estimated_choose};
