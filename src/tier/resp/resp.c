#include "tier/resp/resp.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/units.h"

/* A tier on a server that speaks RESP. The cache's index decides what is there; places are names of values,
 * and no I/O is done under the cache lock: what the cache drops is put on a stack, and whichever worker comes
 * next deletes it. What is left at the end goes with the tier. */

enum { PLACES = 512, DELETES = 64 };

/* ---- places ---- */

void resp_push(_Atomic(struct resp_place *) *stack, struct resp_place *p) {
    struct resp_place *head = atomic_load(stack);
    do p->next = head;
    while (!atomic_compare_exchange_weak(stack, &head, p));
}

static void places_more(struct resp_tier *t) {
    t->free = atomic_exchange(&t->buried, NULL);
    if (t->free) return;
    struct resp_place *slab = mem_zalloc(PLACES, sizeof *slab);
    t->slabs = mem_realloc(t->slabs, (t->slab_count + 1) * sizeof(struct resp_place *));
    t->slabs[t->slab_count++] = slab;
    for (int i = 0; i < PLACES; i++) {
        slab[i].next = t->free;
        t->free = &slab[i];
    }
}

static uint64_t resp_alloc(struct tier *base, uint64_t bytes) {
    struct resp_tier *t = (struct resp_tier *)base;
    if (!t->free) places_more(t);
    struct resp_place *p = t->free;
    t->free = p->next;
    *p = (struct resp_place){.bytes = bytes};
    return (uint64_t)(uintptr_t)p;
}

static void resp_drop(struct tier *base, uint64_t place, uint64_t bytes) {
    struct resp_tier *t = (struct resp_tier *)base;
    struct resp_place *p = (struct resp_place *)(uintptr_t)place;
    (void)bytes;
    if (!p->stored) {
        p->next = t->free;
        t->free = p;
    } else if (t->deletes) {
        resp_push(&t->dead, p);
    }
}

/* ---- opening and closing ---- */

static const char *resp_refusal(const struct tier_setup *setup) {
    (void)setup;
    return NULL;
}

/* All that is still there, a batch of names at a time; the number of values that stay. */
static uint64_t places_delete(struct resp_tier *t, struct resp_client *c) {
    struct buf commands = {0};
    uint64_t left = 0;
    unsigned n = 0;
    int rc = c ? 0 : -1;
    for (size_t s = 0; s < t->slab_count; s++)
        for (int i = 0; i < PLACES; i++) {
            const struct resp_place *p = &t->slabs[s][i];
            for (uint64_t v = 0; p->stored && v < resp_values(t, p->bytes); v++) {
                left++;
                resp_delete(t, p, v, &commands);
                if (++n < DELETES) continue;
                if (rc == 0 && (rc = resp_client_call(c, &commands, n, NULL, NULL)) == 0) left -= n;
                buf_free(&commands);
                n = 0;
            }
        }
    if (n > 0 && rc == 0 && resp_client_call(c, &commands, n, NULL, NULL) == 0) left -= n;
    buf_free(&commands);
    return left;
}

static bool places_stored(const struct resp_tier *t) {
    for (size_t s = 0; s < t->slab_count; s++)
        for (int i = 0; i < PLACES; i++)
            if (t->slabs[s][i].stored) return true;
    return false;
}

static void resp_close(struct tier *base) {
    struct resp_tier *t = (struct resp_tier *)base;
    if (!t) return;
    resp_watch_close(t->watch);
    if (places_stored(t)) {
        struct resp_client *c = resp_client_open(&t->server, NULL);
        uint64_t left = places_delete(t, c);
        if (left > 0)
            log_line(KVF_LOG_WARNING,
                     "%" PRIu64
                     " values stay on the server at %s: they could not be deleted; their names begin with %s",
                     left, t->server.name, t->head);
        resp_client_close(c);
    }
    for (size_t s = 0; s < t->slab_count; s++) free(t->slabs[s]);
    free(t->slabs);
    resp_server_forget(&t->server);
    free(t);
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
    (void)snprintf(
        t->description, sizeof t->description,
        "resp: %s %s at %s, values of %s at most, %" PRIu32 " connections; maxmemory %s, policy %s%s", kind,
        version, t->server.name, units_size_human((double)t->value_bytes, value, sizeof value),
        t->connections, most, policy,
        !t->server.tls       ? ""
        : s->remote.insecure ? "; TLS without a check of its certificate (--insecure)"
                             : "; TLS");
    size_t at = 0;
    if (t->server.tls && s->remote.insecure)
        at = (size_t)snprintf(
            t->notice, sizeof t->notice,
            "--insecure: whoever answers at %s is taken for the server; its certificate is not "
            "checked",
            t->server.name);
    bool small = memory > 0 && memory != UINT64_MAX && memory < s->tier[KVF_TIER_REMOTE].capacity_bytes;
    if (!small || !t->deletes || at >= sizeof t->notice) return;
    char capacity[32];
    (void)snprintf(
        t->notice + at, sizeof t->notice - at,
        "%sthe server at %s has a maxmemory of %s, less than tiers.remote.capacity %s; it will refuse "
        "writes, or lose values",
        at ? "; " : "", t->server.name, most,
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
    t->base.ops = &tier_resp_ops;
    t->base.tier = setup->tier;
    t->clock = setup->clock;
    t->value_bytes = scenario_value_bytes(s);
    t->run_tag = setup->run_tag;
    t->ttl_ms = (s->remote.ttl_ns + KVF_NS_PER_MS - 1) / KVF_NS_PER_MS;
    t->timeout_ns = s->remote.timeout_ns;
    t->workers = setup->workers ? setup->workers : 1;
    t->connections = s->remote.connections < t->workers ? t->workers : (uint32_t)s->remote.connections;
    t->asks = s->remote.lookup == KVF_LOOKUP_EXISTS;
    t->deletes = s->remote.evicted_by == KVF_EVICTED_BY_CLIENT;
    resp_names_open(t, s);
    struct err why = {0};
    int rc = resp_server_find(&t->server, s, &why);
    if (rc == 0) rc = server_ask(t, s, &why);
    if (rc != 0) {
        resp_server_forget(&t->server);
        free(t);
        return err_set(e, why.code, "the remote tier cannot be used: %s", why.text);
    }
    t->watch = resp_watch_open(&t->server);
    *out = &t->base;
    return 0;
}

static void resp_figures(const struct tier *base, struct tier_server *out) {
    const struct resp_tier *t = (const struct resp_tier *)base;
    resp_watch_read(t->watch, out);
    out->connections = (double)atomic_load_explicit(&t->up, memory_order_relaxed);
    out->round_trips = (double)atomic_load_explicit(&t->trips, memory_order_relaxed);
    out->sent_bytes = (double)atomic_load_explicit(&t->sent_bytes, memory_order_relaxed);
    out->received_bytes = (double)atomic_load_explicit(&t->received_bytes, memory_order_relaxed);
}

static void resp_describe(const struct tier *base, char *out, size_t len) {
    (void)snprintf(out, len, "%s", ((const struct resp_tier *)base)->description);
}

static const char *resp_notice(const struct tier *base) {
    return ((const struct resp_tier *)base)->notice;
}

static uint32_t resp_caps(const struct tier *base) {
    (void)base;
    return TIER_HOLDS_BYTES | TIER_IN_ORDER;
}

const struct tier_ops tier_resp_ops = {
    .name = "resp",
    .refusal = resp_refusal,
    .check = resp_check,
    .open = resp_open,
    .close = resp_close,
    .describe = resp_describe,
    .caps = resp_caps,
    .alloc = resp_alloc,
    .drop = resp_drop,
    .queue_open = resp_queue_open,
    .queue_close = resp_queue_close,
    .submit = resp_queue_submit,
    .reap = resp_queue_reap,
    .fd = resp_queue_fd,
    .next_ns = resp_queue_next_ns,
    .why = resp_queue_why,
    .forget = resp_queue_forget,
    .where = resp_queue_where,
    .notice = resp_notice,
    .server = resp_figures,
};
