#include "base/hash.h"
#include "fleet/routing.h"

static void session_choose(struct router *r, const struct fleet_request *q, struct fleet_choice *out) {
    out->pod = loads_up_from(r->loads, (uint32_t)(hash_mix64(q->session) % r->loads->pods));
    out->reason = FLEET_REASON_SESSION;
}

const struct routing_ops routing_session = {.choose = session_choose};
