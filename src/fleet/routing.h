/* The interface of a routing: one file each, and a row of traits/routings.h. One thread. */
#ifndef KVF_FLEET_ROUTING_H
#define KVF_FLEET_ROUTING_H

#include "base/rng.h"
#include "fleet/fleet.h"
#include "fleet/holders.h"
#include "fleet/loads.h"

struct router {
    const struct scenario *s;
    const struct loads *loads;
    struct extents *index;  /* of all routers, or its own view of it; NULL where it is not asked */
    struct holders *answer; /* of the server that has the index, to this request; NULL: it is in memory */
    struct holders *memory; /* its own; NULL where it keeps none */
    struct rng rng;
    uint64_t turn; /* requests so far */
    uint32_t number;
    bool down;
};

struct routing_ops {
    /* Sets pod, reason and expected. At least one pod is up. */
    void (*choose)(struct router *r, const struct fleet_request *q, struct fleet_choice *out);
};

#define X(id, word, token, ...) extern const struct routing_ops routing_##token;
TRAITS_ROUTING_LIST(X)
#undef X

/* The best pod by prefix and load. prefix: what is known of the request's blocks, as holders_match() and
 * extents_match() return it. */
void routing_by_prefix(const struct router *r, const struct holders_prefix *prefix, uint32_t found,
                       const struct fleet_request *q, struct fleet_choice *out);

#endif
