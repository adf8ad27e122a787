#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/url.h"
#include "scenario/budget.h"
#include "tier/mooncake/mooncake.h"

/* One client for all threads; each has a buffer of its own registered with it, from and to which values go
 * without a copy. Nothing of this machine's memory is offered to the pool. */

/* The library's own buffer, which is not used. */
static const uint64_t copy_bytes = BUDGET_LIBRARY_BYTES;

static const char *variable(const char *name, const char *otherwise) {
    const char *v = getenv(name);
    return v && v[0] ? v : otherwise;
}

int mooncake_store_open(struct mooncake_tier *t, const struct scenario *s, struct err *e) {
    char *name = t->remote.name;
    struct err why = {0};
    struct url u;
    int rc = mooncake_api_load(&t->api, e);
    if (rc != 0) return rc;
    if (url_parse(s->remote.url, &u, &why) != 0)
        return err_set(e, KVF_ERR_USAGE, "tiers.remote.url is not the address of a server: %s", why.text);
    url_place(u.host, u.port ? u.port : 50051, name, sizeof t->remote.name);
    t->store = t->api->create(0);
    if (!t->store) return err_set(e, KVF_ERR_NOMEM, "not enough memory for a client of Mooncake");
    int answer = t->api->setup(t->store, variable("MOONCAKE_LOCAL_HOSTNAME", "localhost"),
                               variable("MOONCAKE_TE_META_DATA_SERVER", "P2PHANDSHAKE"), 0, copy_bytes,
                               variable("MOONCAKE_PROTOCOL", "tcp"), variable("MOONCAKE_DEVICE", ""), name);
    if (answer == 0) return 0;
    return err_set(e, KVF_ERR_UNAVAILABLE,
                   "no Mooncake master answers at %s (its client says: %d); start `mooncake_master`, or name "
                   "another in tiers.remote.url",
                   name, answer);
}

void mooncake_store_close(struct mooncake_tier *t) {
    if (t->store) t->api->destroy(t->store);
    t->store = NULL;
}

/* ---- a thread ---- */

struct access {
    const struct mooncake_tier *tier;
    void *buf;
};

static int failed(struct remote_call *call, const char *what, int64_t answer) {
    return remote_call_why(call, "the Mooncake store at %s %s (its client says: %" PRId64 ")",
                           call->tier->name, what, answer);
}

static int store_open(struct remote_call *call, void **access) {
    const struct mooncake_tier *t = (const struct mooncake_tier *)(const void *)call->tier;
    struct access *a = calloc(1, sizeof *a);
    if (!a) return remote_call_why(call, "not enough memory for a connection");
    *a = (struct access){.tier = t, .buf = call->buf};
    int answer = t->api->register_buffer(t->store, call->buf, call->room);
    if (answer == 0) {
        *access = a;
        return 0;
    }
    free(a);
    return failed(call, "does not take a buffer", answer);
}

static void store_close(void *access) {
    struct access *a = access;
    (void)a->tier->api->unregister_buffer(a->tier->store, a->buf);
    free(a);
}

static int store_ask(void *access, struct remote_call *call) {
    const struct access *a = access;
    for (unsigned i = 0; i < call->names; call->through = ++i) {
        int answer = a->tier->api->is_exist(a->tier->store, call->name[i]);
        if (answer < 0) return failed(call, "does not say what it has", answer);
        call->there[i] = answer > 0;
    }
    return 0;
}

/* After an error: some versions say -1 to all of them. */
static bool is_absent(const struct access *a, const char *name) {
    return a->tier->api->is_exist(a->tier->store, name) == 0;
}

/* The store keeps the first value of a name and says nothing of a later one. */
static int store_put(void *access, struct remote_call *call) {
    const struct access *a = access;
    if (call->first) {
        int rc = store_ask(access, call);
        if (rc != 0 || call->there[0]) return rc ? rc : EEXIST;
    }
    int answer = a->tier->api->put_from(a->tier->store, call->name[0], call->buf, call->len, NULL);
    return answer == 0 ? 0 : failed(call, "has not taken a value", answer);
}

static int store_get(void *access, struct remote_call *call) {
    const struct access *a = access;
    int64_t answer = a->tier->api->get_into(a->tier->store, call->name[0], call->buf, call->len);
    if (answer == MOONCAKE_NO_OBJECT) return ENODATA;
    if (answer >= 0 && (uint64_t)answer == call->len) return 0;
    if (answer >= 0)
        return remote_call_why(
            call, "the Mooncake store at %s has a value of %" PRId64 " bytes where %" PRIu64 " were written",
            call->tier->name, answer, call->len);
    if (is_absent(a, call->name[0])) return ENODATA;
    return failed(call, "has not given a value", answer);
}

static int store_remove(void *access, struct remote_call *call) {
    const struct access *a = access;
    for (unsigned i = 0; i < call->names; call->through = ++i) {
        int answer = a->tier->api->remove(a->tier->store, call->name[i], 1);
        if (answer < 0 && answer != MOONCAKE_NO_OBJECT && !is_absent(a, call->name[i]))
            return failed(call, "keeps a value that was to be deleted", answer);
    }
    return 0;
}

const struct remote_calls mooncake_store_calls = {.open = store_open,
                                                  .close = store_close,
                                                  .put = store_put,
                                                  .get = store_get,
                                                  .ask = store_ask,
                                                  .remove = store_remove};
