#include "tier/s3/s3.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/units.h"

/* A tier in a bucket of an object store: an object for each value. */

static void s3_free(struct s3_tier *t) {
    remote_close(&t->remote);
    s3_server_forget(&t->server);
    free(t);
}

static void s3_close(struct tier *base) {
    struct s3_tier *t = (struct s3_tier *)base;
    if (!t) return;
    remote_clean(&t->remote);
    s3_free(t);
}

static void describe(struct s3_tier *t, const char *kind) {
    const struct s3_server *s = &t->server;
    struct remote_tier *r = &t->remote;
    char value[32];
    (void)snprintf(r->description, sizeof r->description,
                   "s3: bucket %s at %s (%s), objects of %s at most, %" PRIu32 " connections, region %s%s",
                   s->bucket, s->name, kind[0] ? kind : "of no name",
                   units_size_human((double)r->value_bytes, value, sizeof value), r->connections, s->region,
                   remote_tls_words(r, s->tls, s->insecure));
}

static int server_open(struct s3_server *server, const struct scenario *s, char *kind, size_t len,
                       struct err *e) {
    struct err why = {0};
    int rc = s3_server_find(server, s, &why);
    if (rc == 0) rc = s3_server_ask(server, kind, len, &why);
    return rc == 0 ? 0 : remote_refuse(e, &why);
}

static int s3_check(const struct scenario *s, struct err *e) {
    struct s3_server server;
    char kind[64];
    int rc = server_open(&server, s, kind, sizeof kind, e);
    s3_server_forget(&server);
    return rc;
}

static int s3_open(struct tier **out, const struct tier_setup *setup, struct err *e) {
    struct s3_tier *t = calloc(1, sizeof *t);
    char kind[64];
    if (!t) return err_set(e, KVF_ERR_NOMEM, "not enough memory for the remote tier");
    t->remote.base.ops = &tier_s3_ops;
    t->remote.wire = &s3_conn_wire;
    remote_open(&t->remote, setup);
    t->remote.claims = true;
    int rc = server_open(&t->server, setup->scenario, kind, sizeof kind, e);
    if (rc != 0) {
        s3_free(t);
        return rc;
    }
    (void)snprintf(t->remote.name, sizeof t->remote.name, "%s", t->server.name);
    describe(t, kind);
    *out = &t->remote.base;
    return 0;
}

const struct tier_ops tier_s3_ops = {
    .name = "s3",
    .check = s3_check,
    .open = s3_open,
    .close = s3_close,
    REMOTE_OPS,
    .server = remote_figures,
};
