#include "tier/mooncake/mooncake.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/units.h"

/* A tier in a Mooncake store, the memory of other machines put together. */

static void mooncake_free(struct mooncake_tier *t) {
    remote_close(&t->remote);
    if (atomic_load(&t->remote.hung)) return; /* a call that has not returned uses the rest */
    mooncake_store_close(t);
    free(t);
}

static void mooncake_close(struct tier *base) {
    struct mooncake_tier *t = (struct mooncake_tier *)base;
    if (!t) return;
    remote_clean(&t->remote);
    mooncake_free(t);
}

static int mooncake_check(const struct scenario *s, struct err *e) {
    struct mooncake_tier *t = calloc(1, sizeof *t);
    struct err why = {0};
    if (!t) return err_set(e, KVF_ERR_NOMEM, "not enough memory for the remote tier");
    int rc = mooncake_store_open(t, s, &why);
    mooncake_store_close(t);
    free(t);
    return rc == 0 ? 0 : remote_refuse(e, &why);
}

static int mooncake_open(struct tier **out, const struct tier_setup *setup, struct err *e) {
    struct mooncake_tier *t = calloc(1, sizeof *t);
    struct err why = {0};
    char value[32];
    if (!t) return err_set(e, KVF_ERR_NOMEM, "not enough memory for the remote tier");
    t->remote.base.ops = &tier_mooncake_ops;
    t->remote.wire = &remote_hand_wire;
    t->remote.calls = &mooncake_store_calls;
    remote_open(&t->remote, setup);
    t->remote.claims = true;
    if (mooncake_store_open(t, setup->scenario, &why) != 0) {
        mooncake_free(t);
        return remote_refuse(e, &why);
    }
    struct remote_tier *r = &t->remote;
    (void)snprintf(r->description, sizeof r->description,
                   "mooncake: master at %s, values of %s at most, %" PRIu32 " connections", r->name,
                   units_size_human((double)r->value_bytes, value, sizeof value), r->connections);
    *out = &r->base;
    return 0;
}

const struct tier_ops tier_mooncake_ops = {
    .name = "mooncake",
    .check = mooncake_check,
    .open = mooncake_open,
    .close = mooncake_close,
    REMOTE_OPS,
    .server = remote_figures,
};
