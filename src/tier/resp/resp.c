#include "tier/resp/resp.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

/* A tier on a server that speaks RESP. */

static const char *resp_refusal(const struct tier_setup *setup) {
    (void)setup;
    return NULL;
}

static void resp_free(struct resp_tier *t) {
    remote_close(&t->remote);
    resp_server_forget(&t->server);
    free(t);
}

static void resp_close(struct tier *base) {
    struct resp_tier *t = (struct resp_tier *)base;
    if (!t) return;
    resp_watch_close(t->watch);
    remote_clean(&t->remote);
    resp_free(t);
}

static void describe(struct resp_tier *t, const struct scenario *s, const char *info) {
    char version[40] = "", policy[40] = "unknown", value[32], most[32] = "unlimited", kind[16] = "Redis";
    if (resp_info_text(info, "valkey_version", version, sizeof version))
        (void)snprintf(kind, sizeof kind, "Valkey");
    else
        (void)resp_info_text(info, "redis_version", version, sizeof version);
    (void)resp_info_text(info, "maxmemory_policy", policy, sizeof policy);
    uint64_t memory = resp_info_number(info, "maxmemory");
    if (memory > 0 && memory != UINT64_MAX) units_size_human((double)memory, most, sizeof most);
    struct remote_tier *r = &t->remote;
    (void)snprintf(r->description, sizeof r->description,
                   "resp: %s %s at %s, values of %s at most, %" PRIu32
                   " connections; maxmemory %s, policy %s%s",
                   kind, version, r->name, units_size_human((double)r->value_bytes, value, sizeof value),
                   r->connections, most, policy, remote_tls_words(r, t->server.tls, s->remote.insecure));
    bool small = memory > 0 && memory != UINT64_MAX && memory < s->tier[KVF_TIER_REMOTE].capacity_bytes;
    size_t at = strlen(r->notice);
    if (!small || !r->deletes) return;
    char capacity[32];
    (void)snprintf(
        r->notice + at, sizeof r->notice - at,
        "%sthe server at %s has a maxmemory of %s, less than tiers.remote.capacity %s; it will refuse "
        "writes, or lose values",
        at ? "; " : "", r->name, most,
        units_size_human((double)s->tier[KVF_TIER_REMOTE].capacity_bytes, capacity, sizeof capacity));
}

/* Asks the server who it is, which also tells whether it is there at all. */
static int server_ask(struct resp_tier *t, const struct scenario *s, struct err *e) {
    struct buf commands = {0}, info = {0};
    struct resp_client *c = resp_client_open(&t->server, e);
    if (!c) return -(int)e->code;
    resp_command(&commands, (const char *const[]){"INFO", NULL});
    int rc = resp_client_call(c, &commands, 1, &info, e);
    char mode[32] = "";
    if (rc == 0 && resp_info_text(buf_text(&info), "redis_mode", mode, sizeof mode) &&
        strcmp(mode, "cluster") == 0)
        rc = err_set(
            e, KVF_ERR_UNAVAILABLE,
            "the server at %s is a member of a cluster, which this version does not speak to; name one "
            "that stands alone in tiers.remote.url",
            t->server.name);
    if (rc == 0) describe(t, s, buf_text(&info));
    resp_client_close(c);
    buf_free(&commands);
    buf_free(&info);
    return rc;
}

static int resp_check(const struct scenario *s, struct err *e) {
    struct resp_server server;
    struct err why = {0};
    struct resp_client *c = resp_server_find(&server, s, &why) == 0 ? resp_client_open(&server, &why) : NULL;
    resp_client_close(c);
    resp_server_forget(&server);
    return c ? 0 : err_set(e, why.code, "the remote tier cannot be used: %s", why.text);
}

static int resp_open(struct tier **out, const struct tier_setup *setup, struct err *e) {
    const struct scenario *s = setup->scenario;
    struct resp_tier *t = calloc(1, sizeof *t);
    if (!t) return err_set(e, KVF_ERR_NOMEM, "there is no memory for the remote tier");
    t->remote.base.ops = &tier_resp_ops;
    t->remote.wire = &resp_conn_wire;
    remote_open(&t->remote, setup);
    t->ttl_ms = (s->remote.ttl_ns + KVF_NS_PER_MS - 1) / KVF_NS_PER_MS;
    resp_names_open(t, s);
    struct err why = {0};
    int rc = resp_server_find(&t->server, s, &why);
    (void)snprintf(t->remote.name, sizeof t->remote.name, "%s", t->server.name);
    if (rc == 0) rc = server_ask(t, s, &why);
    if (rc != 0) {
        resp_free(t);
        return err_set(e, why.code, "the remote tier cannot be used: %s", why.text);
    }
    t->watch = resp_watch_open(&t->server);
    *out = &t->remote.base;
    return 0;
}

static void resp_figures(const struct tier *base, struct tier_server *out) {
    const struct resp_tier *t = (const struct resp_tier *)base;
    remote_figures(base, out);
    resp_watch_read(t->watch, out);
}

const struct tier_ops tier_resp_ops = {
    .name = "resp",
    .refusal = resp_refusal,
    .check = resp_check,
    .open = resp_open,
    .close = resp_close,
    REMOTE_OPS,
    .server = resp_figures,
};
