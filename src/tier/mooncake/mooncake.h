/* Shared by the parts of the mooncake backend: values in a Mooncake store. Included by those parts alone. */
#ifndef KVF_TIER_MOONCAKE_MOONCAKE_H
#define KVF_TIER_MOONCAKE_MOONCAKE_H

#include "tier/mooncake/mooncake_api.h"
#include "tier/remote/remote_hand.h"

struct mooncake_tier {
    struct remote_tier remote;
    const struct mooncake_api *api;
    void *store; /* the client, of all threads */
};

/* ---- mooncake_store.c ---- */

/* A client of the store that tiers.remote.url names; how it is reached, Mooncake's own variables say. 0 or a
 * negative code. */
int mooncake_store_open(struct mooncake_tier *t, const struct scenario *s, struct err *e);
void mooncake_store_close(struct mooncake_tier *t); /* also one that was not opened */

extern const struct remote_calls mooncake_store_calls;

#endif
