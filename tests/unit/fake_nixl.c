/* A stand-in for NIXL's interface for C, built as libnixl_capi.so, with its plugins POSIX, on the files that
 * it is given, and OBJ, on the memory of the process. FAKE_NIXL in the environment says how it fares: words
 * between commas.
 *
 *   stub                                                   it says of itself that it does nothing
 *   open=CODE, register=CODE, post=CODE, query=CODE        that call fails with the code
 *   status=CODE   a transfer ends with the code, half of its bytes moved
 *   after=N       but the first N transfers
 *   every=N       each Nth of the transfers alone
 *   slow=MS       the first read takes so long
 *   hang          it never ends
 *
 * FAKE_NIXL_COUNTS names a file that gets a line at the end of the process: transfers written and read,
 * things that were not destroyed, and transfers that were released while they went on, whose bytes still
 * come. */
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { DONE = 0, GOES_ON = 1, INVALID = -4, READ = 0, OBJECT = 3, NAMES = 64, OBJECTS = 4096 };

struct thing {
    int kind, descs; /* of memory; descriptors of a list */
    uintptr_t at;
    size_t len;
    uint64_t device;
    char name[NAMES][2048]; /* of descriptors; of an agent, by device */
    bool there[NAMES];
    /* a request */
    int way, outcome;
    struct thing *agent, *local, *remote;
    uint64_t ends_ns;
    bool posted;
};
typedef struct thing *thing;

static struct {
    char *name, *bytes;
    size_t len;
} object[OBJECTS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int things, transfers, reads, written, objects, let_go;

static int told(const char *word) {
    const char *all = getenv("FAKE_NIXL");
    size_t len = strlen(word);
    for (const char *p = all ? all : ""; *p; p += strcspn(p, ","), p += *p == ',')
        if (strncmp(p, word, len) == 0 && strchr(",=", p[len])) return p[len] == '=' ? atoi(p + len + 1) : 1;
    return 0;
}

__attribute__((destructor)) static void counts_write(void) {
    const char *counts = getenv("FAKE_NIXL_COUNTS");
    FILE *f = counts ? fopen(counts, "a") : NULL;
    if (!f) return;
    fprintf(f, "written=%d read=%d things=%d let_go=%d\n", written, reads, things, let_go);
    fclose(f);
}

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int make(thing *out) {
    *out = calloc(1, sizeof **out);
    pthread_mutex_lock(&lock);
    things += *out != NULL;
    pthread_mutex_unlock(&lock);
    return *out ? DONE : INVALID;
}

static int unmake(thing t) {
    if (!t) return INVALID;
    pthread_mutex_lock(&lock);
    things--;
    pthread_mutex_unlock(&lock);
    free(t);
    return DONE;
}

static int describe(thing list, uintptr_t at, size_t len, uint64_t device, const char *name,
                    size_t name_len) {
    if (list->descs == NAMES || name_len >= sizeof list->name[0]) return INVALID;
    list->at = at;
    list->len = len;
    list->device = device;
    if (name_len) memcpy(list->name[list->descs], name, name_len);
    list->descs++;
    return DONE;
}

int nixl_capi_is_stub(void);
int nixl_capi_create_agent(const char *name, thing *agent);
int nixl_capi_destroy_agent(thing agent);
int nixl_capi_create_params(thing *params);
int nixl_capi_params_add(thing params, const char *key, const char *value);
int nixl_capi_destroy_params(thing params);
int nixl_capi_create_backend(thing agent, const char *plugin, thing params, thing *backend);
int nixl_capi_destroy_backend(thing backend);
int nixl_capi_create_opt_args(thing *args);
int nixl_capi_opt_args_add_backend(thing args, thing backend);
int nixl_capi_destroy_opt_args(thing args);
int nixl_capi_create_reg_dlist(int kind, thing *list, bool sorted);
int nixl_capi_reg_dlist_add_desc(thing list, uintptr_t at, size_t len, uint64_t device, const void *name,
                                 size_t name_len);
int nixl_capi_destroy_reg_dlist(thing list);
int nixl_capi_create_xfer_dlist(int kind, thing *list, bool sorted);
int nixl_capi_xfer_dlist_add_desc(thing list, uintptr_t at, size_t len, uint64_t device);
int nixl_capi_destroy_xfer_dlist(thing list);
int nixl_capi_register_mem(thing agent, thing list, thing args);
int nixl_capi_deregister_mem(thing agent, thing list, thing args);
int nixl_capi_create_xfer_req(thing agent, int way, thing local, thing remote, const char *remote_agent,
                              thing *request, thing args);
int nixl_capi_post_xfer_req(thing agent, thing request, thing args);
int nixl_capi_get_xfer_status(thing agent, thing request);
int nixl_capi_release_xfer_req(thing agent, thing request);
int nixl_capi_destroy_xfer_req(thing request);
int nixl_capi_create_query_resp_list(thing *list);
int nixl_capi_query_mem(thing agent, thing names, thing answers, thing args);
int nixl_capi_query_resp_list_size(thing list, size_t *size);
int nixl_capi_query_resp_list_has_value(thing list, size_t index, bool *there);
int nixl_capi_destroy_query_resp_list(thing list);

int nixl_capi_is_stub(void) {
    return told("stub");
}

/* ---- agents, and what they are given ---- */

int nixl_capi_create_agent(const char *name, thing *agent) {
    return *name ? make(agent) : INVALID;
}
int nixl_capi_destroy_agent(thing agent) {
    return unmake(agent);
}
int nixl_capi_create_params(thing *params) {
    return make(params);
}
int nixl_capi_params_add(thing params, const char *key, const char *value) {
    return params && *key && value ? DONE : INVALID;
}
int nixl_capi_destroy_params(thing params) {
    return unmake(params);
}
int nixl_capi_create_backend(thing agent, const char *plugin, thing params, thing *backend) {
    if (!agent || !params || (strcmp(plugin, "POSIX") != 0 && strcmp(plugin, "OBJ") != 0)) return INVALID;
    return told("open") ? told("open") : make(backend);
}
int nixl_capi_destroy_backend(thing backend) {
    return unmake(backend);
}
int nixl_capi_create_opt_args(thing *args) {
    return make(args);
}
int nixl_capi_opt_args_add_backend(thing args, thing backend) {
    return args && backend ? DONE : INVALID;
}
int nixl_capi_destroy_opt_args(thing args) {
    return unmake(args);
}

/* ---- lists ---- */

int nixl_capi_create_reg_dlist(int kind, thing *list, bool sorted) {
    if (sorted || make(list) != DONE) return INVALID;
    (*list)->kind = kind;
    return DONE;
}
int nixl_capi_reg_dlist_add_desc(thing list, uintptr_t at, size_t len, uint64_t device, const void *name,
                                 size_t name_len) {
    return describe(list, at, len, device, name, name_len);
}
int nixl_capi_destroy_reg_dlist(thing list) {
    return unmake(list);
}
int nixl_capi_create_xfer_dlist(int kind, thing *list, bool sorted) {
    return nixl_capi_create_reg_dlist(kind, list, sorted);
}
int nixl_capi_xfer_dlist_add_desc(thing list, uintptr_t at, size_t len, uint64_t device) {
    return describe(list, at, len, device, NULL, 0);
}
int nixl_capi_destroy_xfer_dlist(thing list) {
    return unmake(list);
}

/* ---- objects, by name; for its agent a device stands for one ---- */

static int object_find(const char *name) {
    int i = 0;
    while (i < objects && strcmp(object[i].name, name) != 0) i++;
    return i;
}

int nixl_capi_register_mem(thing agent, thing list, thing args) {
    if (!agent || !list || !args) return INVALID;
    if (list->kind != OBJECT) return told("register");
    memcpy(agent->name[list->device % NAMES], list->name[0], sizeof list->name[0]);
    return DONE;
}

int nixl_capi_deregister_mem(thing agent, thing list, thing args) {
    return agent && list && args ? DONE : INVALID;
}

int nixl_capi_create_query_resp_list(thing *list) {
    return make(list);
}

int nixl_capi_query_mem(thing agent, thing names, thing answers, thing args) {
    if (!agent || !args) return INVALID;
    if (told("query")) return told("query");
    pthread_mutex_lock(&lock);
    for (int i = 0; i < names->descs; i++)
        answers->there[i] =
            names->kind == OBJECT ? object_find(names->name[i]) < objects : access(names->name[i], F_OK) == 0;
    answers->descs = names->descs;
    pthread_mutex_unlock(&lock);
    return DONE;
}

int nixl_capi_query_resp_list_size(thing list, size_t *size) {
    *size = (size_t)list->descs;
    return DONE;
}
int nixl_capi_query_resp_list_has_value(thing list, size_t index, bool *there) {
    *there = list->there[index];
    return DONE;
}
int nixl_capi_destroy_query_resp_list(thing list) {
    return unmake(list);
}

/* ---- transfers ---- */

static int object_move(const struct thing *r, size_t len) {
    const char *name = r->agent->name[r->remote->device % NAMES];
    int i = object_find(name);
    if (r->way == READ) {
        if (i == objects || object[i].len < len) return INVALID;
        memcpy((void *)r->local->at, object[i].bytes, len);
        return DONE;
    }
    if (i == OBJECTS) return INVALID;
    if (i == objects) object[objects++].name = strdup(name);
    free(object[i].bytes);
    object[i].bytes = malloc(len);
    object[i].len = len;
    memcpy(object[i].bytes, (const void *)r->local->at, len);
    return DONE;
}

static int file_move(const struct thing *r, size_t len) {
    int fd = (int)r->remote->device;
    void *at = (void *)r->local->at;
    ssize_t n = r->way == READ ? pread(fd, at, len, 0) : pwrite(fd, at, len, 0);
    return n == (ssize_t)len ? DONE : INVALID;
}

int nixl_capi_create_xfer_req(thing agent, int way, thing local, thing remote, const char *remote_agent,
                              thing *request, thing args) {
    if (!agent || !args || !*remote_agent || local->len != remote->len || make(request) != DONE)
        return INVALID;
    (*request)->way = way;
    (*request)->agent = agent;
    (*request)->local = local;
    (*request)->remote = remote;
    return DONE;
}

int nixl_capi_post_xfer_req(thing agent, thing request, thing args) {
    if (!agent || !args) return INVALID;
    pthread_mutex_lock(&lock);
    int n = transfers++, every = told("every");
    bool spared = n < told("after") || (every && n % every != every - 1),
         first = request->way == READ && reads == 0;
    if (request->way == READ)
        reads++;
    else
        written++;
    request->outcome = spared ? 0 : told("status");
    request->ends_ns = now_ns();
    if (first && told("slow")) request->ends_ns += (uint64_t)told("slow") * 1000000;
    if (first && told("hang")) request->ends_ns = UINT64_MAX;
    int rc = spared || !told("post") ? GOES_ON : told("post");
    request->posted = rc == GOES_ON;
    pthread_mutex_unlock(&lock);
    return rc;
}

int nixl_capi_get_xfer_status(thing agent, thing request) {
    if (!agent || !request->posted) return INVALID;
    if (now_ns() < request->ends_ns) return GOES_ON;
    pthread_mutex_lock(&lock);
    size_t len = request->outcome ? request->local->len / 8192 * 4096 : request->local->len;
    int rc = request->remote->kind == OBJECT ? object_move(request, len) : file_move(request, len);
    request->posted = false;
    pthread_mutex_unlock(&lock);
    return request->outcome ? request->outcome : rc;
}

int nixl_capi_release_xfer_req(thing agent, thing request) {
    if (!agent || !request) return INVALID;
    pthread_mutex_lock(&lock);
    let_go += request->posted;
    pthread_mutex_unlock(&lock);
    return DONE;
}

int nixl_capi_destroy_xfer_req(thing request) {
    return unmake(request);
}
