#include "tier/resp/resp.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

/* A tier on a server that speaks RESP. */

static void resp_free(struct resp_tier *t) {
    remote_close(&t->remote);
    resp_cluster_free(t->cluster);
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

/* Memory of all servers of a cluster together, for the description. */
struct memory {
    unsigned servers;
    uint64_t max_bytes; /* 0: one at least has no limit */
};

static void describe(struct resp_tier *t, const struct scenario *s, const char *info, struct memory m) {
    char version[40] = "", policy[40] = "unknown", value[32], most[32] = "unlimited", kind[16] = "Redis",
         several[48] = "";
    if (resp_info_text(info, "valkey_version", version, sizeof version))
        (void)snprintf(kind, sizeof kind, "Valkey");
    else
        (void)resp_info_text(info, "redis_version", version, sizeof version);
    (void)resp_info_text(info, "maxmemory_policy", policy, sizeof policy);
    if (m.max_bytes > 0) units_size_human((double)m.max_bytes, most, sizeof most);
    struct remote_tier *r = &t->remote;
    if (t->cluster) (void)snprintf(several, sizeof several, " (a cluster of %u with slots)", m.servers);
    (void)snprintf(
        r->description, sizeof r->description,
        "resp: %s %s%s at %s, values of %s at most, %" PRIu32 " connections; maxmemory %s, policy %s%s", kind,
        version, several, r->name, units_size_human((double)r->value_bytes, value, sizeof value),
        r->connections, most, policy, remote_tls_words(r, t->server.tls, s->remote.insecure));
    bool small = m.max_bytes > 0 && m.max_bytes < s->tier[KVF_TIER_REMOTE].capacity_bytes;
    size_t at = strlen(r->notice);
    if (!small || !r->deletes) return;
    char capacity[32];
    (void)snprintf(
        r->notice + at, sizeof r->notice - at,
        "%sthe %s %s%s a maxmemory of %s, less than tiers.remote.capacity %s; writes will be refused, or "
        "values lost",
        at ? "; " : "", t->cluster ? "servers of the cluster of" : "server at", r->name,
        t->cluster ? " have together" : " has", most,
        units_size_human((double)s->tier[KVF_TIER_REMOTE].capacity_bytes, capacity, sizeof capacity));
}

static int info_ask(struct resp_client *c, struct buf *info, struct err *e) {
    struct buf commands = {0};
    resp_command(&commands, (const char *const[]){"INFO", NULL});
    int rc = resp_client_call(c, &commands, 1, info, e);
    buf_free(&commands);
    return rc;
}

static uint64_t max_memory(const char *info) {
    uint64_t bytes = resp_info_number(info, "maxmemory");
    return bytes == UINT64_MAX ? 0 : bytes;
}

/* Every server with slots must be there before a run begins. */
static int members_ask(struct resp_tier *t, struct memory *m, struct err *e) {
    uint8_t node[RESP_NODES];
    int rc = 0;
    *m = (struct memory){.servers = resp_cluster_masters(t->cluster, node)};
    bool limited = true;
    for (unsigned i = 0; i < m->servers && rc == 0; i++) {
        struct buf info = {0};
        struct resp_client *c = resp_client_open(resp_cluster_server(t->cluster, node[i]), e);
        rc = c ? info_ask(c, &info, e) : -(int)e->code;
        m->max_bytes += max_memory(buf_text(&info));
        limited &= max_memory(buf_text(&info)) > 0;
        resp_client_close(c);
        buf_free(&info);
    }
    if (!limited) m->max_bytes = 0;
    return rc;
}

static int cluster_ask(struct resp_tier *t, const struct scenario *s, struct resp_client *c, struct memory *m,
                       struct err *e) {
    if (s->remote.layout == KVF_REMOTE_LAYOUT_LMCACHE_REDIS)
        return err_set(
            e, KVF_ERR_USAGE,
            "the server at %s is a member of a cluster, which would put the two values of the layout "
            "lmcache-redis on different servers; use lmcache-resp",
            t->server.name);
    t->cluster = resp_cluster_new(&t->server);
    if (!resp_cluster_ask(t->cluster, &t->server, c, e)) return -KVF_ERR_UNAVAILABLE;
    t->remote.servers = resp_cluster_servers(t->cluster);
    return members_ask(t, m, e);
}

/* Asks the server who it is, which also tells whether it is there at all. */
static int server_ask(struct resp_tier *t, const struct scenario *s, struct err *e) {
    struct buf info = {0};
    struct resp_client *c = resp_client_open(&t->server, e);
    if (!c) return -(int)e->code;
    int rc = info_ask(c, &info, e);
    struct memory m = {.servers = 1, .max_bytes = max_memory(buf_text(&info))};
    if (rc == 0 && resp_info_number(buf_text(&info), "cluster_enabled") == 1)
        rc = cluster_ask(t, s, c, &m, e);
    if (rc == 0) describe(t, s, buf_text(&info), m);
    resp_client_close(c);
    buf_free(&info);
    return rc;
}

static int resp_check(const struct scenario *s, struct err *e) {
    struct resp_server server;
    struct err why = {0};
    int rc = resp_server_find(&server, s, "tiers.remote.url", s->remote.url, &why);
    struct resp_client *c = rc == 0 ? resp_client_open(&server, &why) : NULL;
    resp_client_close(c);
    resp_server_forget(&server);
    return c ? 0 : remote_refuse(e, &why);
}

static int resp_open(struct tier **out, const struct tier_setup *setup, struct err *e) {
    const struct scenario *s = setup->scenario;
    struct resp_tier *t = calloc(1, sizeof *t);
    if (!t) return err_set(e, KVF_ERR_NOMEM, "not enough memory for the remote tier");
    t->remote.base.ops = &tier_resp_ops;
    t->remote.wire = &resp_conn_wire;
    remote_open(&t->remote, setup);
    t->ttl_ms = (s->remote.ttl_ns + KVF_NS_PER_MS - 1) / KVF_NS_PER_MS;
    resp_names_open(t, s);
    /* a device has the pages of buffers that are pinned for it */
    atomic_init(&t->splices, !(setup->gpu && setup->gpu->ops->pin));
    t->remote.claims = s->remote.layout == KVF_REMOTE_LAYOUT_PLAIN; /* LMCache's commands are what they are */
    struct err why = {0};
    int rc = resp_server_find(&t->server, s, "tiers.remote.url", s->remote.url, &why);
    (void)snprintf(t->remote.name, sizeof t->remote.name, "%s", t->server.name);
    if (rc == 0) rc = server_ask(t, s, &why);
    if (rc != 0) {
        resp_free(t);
        return remote_refuse(e, &why);
    }
    t->watch = resp_watch_open(&t->server, t->cluster);
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
    .check = resp_check,
    .open = resp_open,
    .close = resp_close,
    REMOTE_OPS,
    .server = resp_figures,
};
