#include "tier/nixl/nixl.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/units.h"

/* A tier through NIXL, as engines use it: files of a shared directory, or objects of a bucket. */

static void nixl_free(struct nixl_tier *t) {
    remote_close(&t->remote);
    if (atomic_load(&t->remote.hung)) return; /* a call that has not returned uses the rest */
    nixl_where_forget(&t->where);
    free(t);
}

static void nixl_close(struct tier *base) {
    struct nixl_tier *t = (struct nixl_tier *)base;
    if (!t) return;
    remote_clean(&t->remote);
    nixl_free(t);
}

static void describe(struct nixl_tier *t) {
    const struct nixl_where *w = &t->where;
    struct remote_tier *r = &t->remote;
    char value[32];
    units_size_human((double)r->value_bytes, value, sizeof value);
    if (w->objects)
        (void)snprintf(r->description, sizeof r->description,
                       "nixl: plugin OBJ, bucket %s at %s, objects of %s at most, %" PRIu32 " agents",
                       w->param[0].value, w->name, value, r->connections);
    else
        (void)snprintf(r->description, sizeof r->description,
                       "nixl: plugin POSIX, %s, %s I/O (%s), files of %s at most, %" PRIu32 " agents",
                       w->fs_type, w->direct ? "direct" : "buffered", w->way, value, r->connections);
    if (!w->objects && !w->direct)
        (void)snprintf(r->notice, sizeof r->notice,
                       "the file system of %.200s (%s) has no direct I/O: reads may come from memory of this "
                       "machine, though the cache is dropped",
                       w->dir, w->fs_type);
}

/* Library and store are there, and the plugin takes what it is told. */
static int try_it(struct nixl_tier *t, const struct scenario *s, struct err *e) {
    struct remote_call *call;
    void *access = NULL;
    struct err why = {0};
    int rc = nixl_api_load(&t->api, &why);
    if (rc == 0) rc = nixl_where_find(&t->where, s, &why);
    if (rc == 0 && t->where.objects && s->remote.evicted_by == KVF_EVICTED_BY_CLIENT)
        rc = err_set(&why, KVF_ERR_USAGE,
                     "NIXL has no way to delete objects; set tiers.remote.evicted_by to server, and let a "
                     "lifecycle rule of the bucket remove what is old");
    if (rc != 0) return remote_refuse(e, &why);
    call = calloc(1, sizeof *call);
    void *buf = aligned_alloc(REMOTE_BUFFER_UNIT, REMOTE_BUFFER_UNIT);
    if (!call || !buf) {
        rc = err_set(e, KVF_ERR_NOMEM, "not enough memory for the remote tier");
    } else {
        *call = (struct remote_call){.tier = &t->remote,
                                     .buf = buf,
                                     .room = REMOTE_BUFFER_UNIT,
                                     .timeout_ns = s->remote.timeout_ns,
                                     .names = 1,
                                     .name = {"kvfall-asks-whether-somebody-is-there"}};
        int error = nixl_store_calls.open(call, &access);
        if (error == 0) error = nixl_store_calls.ask(access, call);
        if (access) nixl_store_calls.close(access);
        if (error) rc = err_set(e, KVF_ERR_UNAVAILABLE, "the remote tier cannot be used: %s", call->why);
    }
    free(buf);
    free(call);
    return rc;
}

static int nixl_check(const struct scenario *s, struct err *e) {
    struct nixl_tier *t = calloc(1, sizeof *t);
    if (!t) return err_set(e, KVF_ERR_NOMEM, "not enough memory for the remote tier");
    t->where.dir_fd = -1;
    int rc = try_it(t, s, e);
    nixl_where_forget(&t->where);
    free(t);
    return rc;
}

static int nixl_open(struct tier **out, const struct tier_setup *setup, struct err *e) {
    struct nixl_tier *t = calloc(1, sizeof *t);
    if (!t) return err_set(e, KVF_ERR_NOMEM, "not enough memory for the remote tier");
    t->remote.base.ops = &tier_nixl_ops;
    t->remote.wire = &remote_hand_wire;
    t->remote.calls = &nixl_store_calls;
    t->where.dir_fd = -1;
    remote_open(&t->remote, setup);
    int rc = try_it(t, setup->scenario, e);
    if (rc != 0) {
        nixl_free(t);
        return rc;
    }
    t->remote.keeps = t->where.objects;
    t->remote.claims = !t->where.objects;
    (void)snprintf(t->remote.name, sizeof t->remote.name, "%s", t->where.name);
    describe(t);
    *out = &t->remote.base;
    return 0;
}

const struct tier_ops tier_nixl_ops = {
    .name = "nixl",
    .check = nixl_check,
    .open = nixl_open,
    .close = nixl_close,
    REMOTE_OPS,
    .server = remote_figures,
};
