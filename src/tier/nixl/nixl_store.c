#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "tier/nixl/nixl.h"

/* An access is an agent of its own with one plugin, as its agents are not for several threads. The buffer is
 * registered once; what is at the other end, a file or an object, for as long as a transfer takes. */

static const uint64_t poll_least_ns = 20 * KVF_NS_PER_US, poll_most_ns = 500 * KVF_NS_PER_US;

struct access {
    const struct nixl_api *api;
    const struct nixl_where *where;
    nixl_thing agent, backend, args, memory; /* the last: the buffer as registered */
    char name[32];                           /* of the agent */
    uint64_t device;                         /* numbers what is registered */
};

static const struct nixl_tier *tier_of(const struct remote_call *call) {
    return (const struct nixl_tier *)(const void *)call->tier;
}

/* ---- an agent ---- */

static void nixl_close(void *arg) {
    struct access *a = arg;
    const struct nixl_api *n = a->api;
    if (a->memory) {
        (void)n->deregister_mem(a->agent, a->memory, a->args);
        (void)n->destroy_reg_dlist(a->memory);
    }
    if (a->args) (void)n->destroy_opt_args(a->args);
    if (a->backend) (void)n->destroy_backend(a->backend);
    if (a->agent) (void)n->destroy_agent(a->agent);
    free(a);
}

static int backend_open(struct access *a) {
    const struct nixl_where *w = a->where;
    const struct nixl_api *n = a->api;
    nixl_thing params = NULL;
    int rc = n->create_params(&params);
    for (unsigned i = 0; rc == 0 && i < w->params; i++)
        rc = n->params_add(params, w->param[i].key, w->param[i].value);
    if (rc == 0) rc = n->create_backend(a->agent, w->plugin, params, &a->backend);
    if (params) (void)n->destroy_params(params);
    return rc;
}

static int memory_open(struct access *a, const struct remote_call *call) {
    const struct nixl_api *n = a->api;
    nixl_thing list;
    int rc = n->create_opt_args(&a->args);
    if (rc == 0) rc = n->opt_args_add_backend(a->args, a->backend);
    if (rc == 0) rc = n->create_reg_dlist(NIXL_DRAM, &list, false);
    if (rc != 0) return rc;
    rc = n->reg_dlist_add_desc(list, (uintptr_t)call->buf, call->room, 0, NULL, 0);
    if (rc == 0) rc = n->register_mem(a->agent, list, a->args);
    if (rc == 0)
        a->memory = list;
    else
        (void)n->destroy_reg_dlist(list);
    return rc;
}

static int nixl_open(struct remote_call *call, void **access) {
    static _Atomic unsigned agents;
    const struct nixl_tier *t = tier_of(call);
    struct access *a = calloc(1, sizeof *a);
    if (!a) return remote_call_why(call, "not enough memory for an agent of NIXL");
    a->api = t->api;
    a->where = &t->where;
    (void)snprintf(a->name, sizeof a->name, "kvfall-%u", atomic_fetch_add(&agents, 1));
    int rc = a->api->create_agent(a->name, &a->agent);
    if (rc == 0) rc = backend_open(a);
    if (rc == 0) rc = memory_open(a, call);
    if (rc == 0) {
        *access = a;
        return 0;
    }
    nixl_close(a);
    return remote_call_why(call, "NIXL cannot use its plugin %s for %s (it says: %d)", t->where.plugin,
                           t->where.name, rc);
}

/* ---- a transfer ---- */

/* Until it has ended, however late, for it moves bytes to or from the buffer as long as it goes on: the
 * plugins have no way to stop it, and release what they still use. The queue counts the connection as lost
 * meanwhile. What makes it go on is that it is asked for. */
static int await(const struct access *a, nixl_thing request) {
    uint64_t waited_ns = 0, pause_ns = poll_least_ns;
    int rc = a->api->post_xfer_req(a->agent, request, a->args);
    while (rc == NIXL_GOES_ON) {
        rc = a->api->get_xfer_status(a->agent, request);
        if (rc != NIXL_GOES_ON) break;
        struct timespec pause = {.tv_nsec = (long)pause_ns};
        (void)nanosleep(&pause, NULL);
        waited_ns += pause_ns;
        if (waited_ns > 4 * pause_ns && pause_ns < poll_most_ns) pause_ns *= 2;
    }
    return rc;
}

/* A file by its descriptor, an object by its name. */
static int transfer(struct access *a, struct remote_call *call, enum nixl_direction dir, uint64_t device,
                    const char *name, uint64_t len) {
    const struct nixl_api *n = a->api;
    enum nixl_memory kind = a->where->objects ? NIXL_OBJECT : NIXL_FILE;
    nixl_thing there = NULL, from = NULL, to = NULL, request = NULL;
    int rc = n->create_reg_dlist(kind, &there, false), known = -1;
    if (rc == 0) rc = n->reg_dlist_add_desc(there, 0, len, device, name, strlen(name));
    if (rc == 0) rc = known = n->register_mem(a->agent, there, a->args);
    if (rc == 0) rc = n->create_xfer_dlist(NIXL_DRAM, &from, false);
    if (rc == 0) rc = n->create_xfer_dlist(kind, &to, false);
    if (rc == 0) rc = n->xfer_dlist_add_desc(from, (uintptr_t)call->buf, len, 0);
    if (rc == 0) rc = n->xfer_dlist_add_desc(to, 0, len, device);
    if (rc == 0) rc = n->create_xfer_req(a->agent, dir, from, to, a->name, &request, a->args);
    if (rc == 0) rc = await(a, request);
    if (request) {
        (void)n->release_xfer_req(a->agent, request);
        (void)n->destroy_xfer_req(request);
    }
    if (to) (void)n->destroy_xfer_dlist(to);
    if (from) (void)n->destroy_xfer_dlist(from);
    if (known == 0) (void)n->deregister_mem(a->agent, there, a->args);
    if (there) (void)n->destroy_reg_dlist(there);
    return rc;
}

static int failed(const struct access *a, struct remote_call *call, enum nixl_direction dir, int rc) {
    return remote_call_why(call, "a value could not be %s %s through NIXL's plugin %s (it says: %d)",
                           dir == NIXL_WRITE ? "written to" : "read from", a->where->name, a->where->plugin,
                           rc);
}

/* ---- values ---- */

/* Direct I/O is of whole blocks, and so are files. */
static uint64_t on_disk(uint64_t len) {
    return (len + REMOTE_BUFFER_UNIT - 1) / REMOTE_BUFFER_UNIT * REMOTE_BUFFER_UNIT;
}

static int put_file(struct access *a, struct remote_call *call, const char *name) {
    const struct nixl_where *w = a->where;
    int fd = nixl_files_open(w, name, NIXL_WRITE, on_disk(call->len));
    if (fd < 0) return remote_call_why(call, "no file can be made in %s: %s", w->dir, strerror(errno));
    memset((char *)call->buf + call->len, 0, on_disk(call->len) - call->len);
    int rc = transfer(a, call, NIXL_WRITE, (uint64_t)fd, "", on_disk(call->len));
    if (rc != 0) {
        nixl_files_leave(w, fd, name, NIXL_WRITE);
        return failed(a, call, NIXL_WRITE, rc);
    }
    int error = nixl_files_keep(w, fd, name, call->first);
    if (error == 0 || (error == EEXIST && call->first)) return error;
    return remote_call_why(call, "a file in %s cannot be given its name: %s", w->dir, strerror(error));
}

static int get_file(struct access *a, struct remote_call *call, const char *name) {
    const struct nixl_where *w = a->where;
    struct stat st;
    int fd = nixl_files_open(w, name, NIXL_READ, 0), rc = 0;
    if (fd < 0 && errno == ENOENT) return ENODATA;
    if (fd < 0) return remote_call_why(call, "a file in %s cannot be opened: %s", w->dir, strerror(errno));
    bool fits = fstat(fd, &st) == 0 && (uint64_t)st.st_size == on_disk(call->len);
    if (fits) rc = transfer(a, call, NIXL_READ, (uint64_t)fd, "", on_disk(call->len));
    nixl_files_leave(w, fd, name, NIXL_READ);
    if (!fits)
        return remote_call_why(call, "a file in %s has %" PRId64 " bytes where %" PRIu64 " were written",
                               w->dir, (int64_t)st.st_size, on_disk(call->len));
    return rc == 0 ? 0 : failed(a, call, NIXL_READ, rc);
}

static int nixl_ask(void *access, struct remote_call *call) {
    struct access *a = access;
    const struct nixl_api *n = a->api;
    nixl_thing names = NULL, answers = NULL;
    size_t count = 0;
    int rc = n->create_reg_dlist(a->where->objects ? NIXL_OBJECT : NIXL_FILE, &names, false);
    for (unsigned i = 0; rc == 0 && i < call->names; i++) {
        char name[NIXL_NAME], at[2 * NIXL_NAME];
        nixl_where_name(a->where, call->name[i], name);
        size_t len = (size_t)snprintf(at, sizeof at, a->where->objects ? "%s%s" : "%s/%s",
                                      a->where->objects ? "" : a->where->dir, name);
        rc = n->reg_dlist_add_desc(names, 0, 0, i, at, len);
    }
    if (rc == 0) rc = n->create_query_resp_list(&answers);
    if (rc == 0) rc = n->query_mem(a->agent, names, answers, a->args);
    if (rc == 0) rc = n->query_resp_list_size(answers, &count);
    for (unsigned i = 0; rc == 0 && i < call->names && i < count; i++)
        rc = n->query_resp_list_has_value(answers, i, &call->there[i]);
    if (answers) (void)n->destroy_query_resp_list(answers);
    if (names) (void)n->destroy_reg_dlist(names);
    if (rc == 0 && count == call->names) return 0;
    return remote_call_why(call, "%s does not say what it has through NIXL's plugin %s (it says: %d)",
                           a->where->name, a->where->plugin, rc);
}

static int put_object(struct access *a, struct remote_call *call, const char *name) {
    int rc = transfer(a, call, NIXL_WRITE, ++a->device, name, call->len);
    return rc == 0 ? 0 : failed(a, call, NIXL_WRITE, rc);
}

/* The plugin does not say why it has failed; whether the object is there, it does. */
static int get_object(struct access *a, struct remote_call *call, const char *name) {
    int rc = transfer(a, call, NIXL_READ, ++a->device, name, call->len);
    if (rc == 0) return 0;
    if (nixl_ask(a, call) == 0 && !call->there[0]) return ENODATA;
    return failed(a, call, NIXL_READ, rc);
}

static int nixl_put(void *access, struct remote_call *call) {
    struct access *a = access;
    char name[NIXL_NAME];
    nixl_where_name(a->where, call->name[0], name);
    return a->where->objects ? put_object(a, call, name) : put_file(a, call, name);
}

static int nixl_get(void *access, struct remote_call *call) {
    struct access *a = access;
    char name[NIXL_NAME];
    nixl_where_name(a->where, call->name[0], name);
    return a->where->objects ? get_object(a, call, name) : get_file(a, call, name);
}

static int nixl_remove(void *access, struct remote_call *call) {
    struct access *a = access;
    for (unsigned i = 0; i < call->names; call->through = ++i) {
        char name[NIXL_NAME];
        nixl_where_name(a->where, call->name[i], name);
        int error = a->where->objects ? EOPNOTSUPP : nixl_files_remove(a->where, name);
        if (error) return remote_call_why(call, "%s keeps a value: %s", a->where->name, strerror(error));
    }
    return 0;
}

const struct remote_calls nixl_store_calls = {.open = nixl_open,
                                              .close = nixl_close,
                                              .put = nixl_put,
                                              .get = nixl_get,
                                              .ask = nixl_ask,
                                              .remove = nixl_remove};
