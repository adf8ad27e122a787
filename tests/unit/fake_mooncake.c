/* A stand-in for Mooncake's client library, built as libmooncake_store.so: the store is the memory of the
 * process. FAKE_MOONCAKE in the environment says how it fares: words between commas.
 *
 *   setup=CODE, register=CODE, put=CODE, get=CODE, exist=CODE, remove=CODE   that call fails with the code
 *   after=N   but the first N of put and get
 *   every=N   each Nth of all calls fails with -800
 *   short     a get brings one byte less
 *   lose      what was put is gone at once
 *   old       a version that says -1 to whatever fails
 *   hang      the first get never returns
 *   hangs     none does
 *
 * FAKE_MOONCAKE_COUNTS names a file that gets a line when a client goes: values put, got, removed, asked for,
 * and left; buffers still registered. A value moves from and to registered memory only. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUCKETS = 4096, BUFFERS = 256, NO_OBJECT = -704, NOT_REGISTERED = -600 };

struct value {
    char *name, *bytes;
    size_t len;
    struct value *next;
};
static struct value *bucket[BUCKETS];
static struct {
    char *at;
    size_t len;
} buffer[BUFFERS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int puts_, gets_, asks, removes, left, buffers;

static int told(const char *word) {
    const char *all = getenv("FAKE_MOONCAKE");
    size_t len = strlen(word);
    for (const char *p = all ? all : ""; *p; p += strcspn(p, ","), p += *p == ',')
        if (strncmp(p, word, len) == 0 && strchr(",=", p[len])) return p[len] == '=' ? atoi(p + len + 1) : 1;
    return 0;
}

/* Of one of the calls: what it says in place of `code`. */
static int says(const char *word, int code) {
    static atomic_int calls;
    int every = told("every"), n = atomic_fetch_add(&calls, 1);
    return told(word) ? told(word) : every && n % every == every - 1 ? -800 : code;
}

static struct value **find(const char *name) {
    unsigned h = 0;
    for (const char *p = name; *p; p++) h = h * 31 + (unsigned char)*p;
    struct value **at = &bucket[h % BUCKETS];
    while (*at && strcmp((*at)->name, name) != 0) at = &(*at)->next;
    return at;
}

static void drop(struct value **at) {
    struct value *v = *at;
    *at = v->next;
    free(v->name);
    free(v->bytes);
    free(v);
    left--;
}

static bool registered(const char *at, size_t len) {
    for (int i = 0; i < BUFFERS; i++)
        if (buffer[i].at && at >= buffer[i].at && at + len <= buffer[i].at + buffer[i].len) return true;
    return false;
}

void *mooncake_store_create(int kind);
void mooncake_store_destroy(void *store);
int mooncake_store_setup(void *store, const char *host, const char *metadata, uint64_t offered,
                         uint64_t copies, const char *protocol, const char *device, const char *master);
int mooncake_store_put_from(void *store, const char *key, void *buf, size_t len, const void *config);
int64_t mooncake_store_get_into(void *store, const char *key, void *buf, size_t len);
int mooncake_store_is_exist(void *store, const char *key);
int64_t mooncake_store_get_size(void *store, const char *key);
int mooncake_store_remove(void *store, const char *key, int force);
int mooncake_store_register_buffer(void *store, void *buf, size_t len);
int mooncake_store_unregister_buffer(void *store, void *buf);

void *mooncake_store_create(int kind) {
    return kind == 0 ? malloc(1) : NULL;
}

void mooncake_store_destroy(void *store) {
    const char *counts = getenv("FAKE_MOONCAKE_COUNTS");
    FILE *f = counts ? fopen(counts, "a") : NULL;
    if (f) {
        fprintf(f, "put=%d got=%d removed=%d asked=%d left=%d buffers=%d\n", puts_, gets_, removes, asks,
                left, buffers);
        fclose(f);
    }
    free(store);
}

int mooncake_store_setup(void *store, const char *host, const char *metadata, uint64_t offered,
                         uint64_t copies, const char *protocol, const char *device, const char *master) {
    (void)store;
    (void)device;
    const char *port = strrchr(master, ':');
    if (offered || !copies || !*host || !*metadata || !*protocol || !port) return -1;
    if (strchr(master, ':') != port && (*master != '[' || port[-1] != ']'))
        return -1; /* of an IPv6 address */
    return told("setup");
}

int mooncake_store_put_from(void *store, const char *key, void *buf, size_t len, const void *config) {
    (void)store;
    pthread_mutex_lock(&lock);
    int code = !config && registered(buf, len) ? 0 : NOT_REGISTERED;
    if (puts_ >= told("after")) code = says("put", code);
    struct value **at = find(key);
    if (code == 0 && !*at && !told("lose")) {
        struct value *v = malloc(sizeof *v);
        *v = (struct value){.name = strdup(key), .bytes = malloc(len), .len = len};
        memcpy(v->bytes, buf, len);
        *at = v;
        left++;
    }
    puts_ += code == 0;
    pthread_mutex_unlock(&lock);
    return code;
}

int64_t mooncake_store_get_into(void *store, const char *key, void *buf, size_t len) {
    (void)store;
    pthread_mutex_lock(&lock);
    struct value *v = *find(key);
    int64_t code = v ? (int64_t)v->len : told("old") ? -1 : NO_OBJECT;
    bool hangs = told("hangs") || (told("hang") && gets_ == 0);
    if (v && (!registered(buf, len) || len < v->len)) code = NOT_REGISTERED;
    if (gets_++ >= told("after") && says("get", 0)) code = says("get", -800);
    if (code > 0 && told("short")) code--;
    if (code > 0) memcpy(buf, v->bytes, (size_t)code);
    pthread_mutex_unlock(&lock);
    while (hangs) pause();
    return code;
}

int mooncake_store_is_exist(void *store, const char *key) {
    (void)store;
    pthread_mutex_lock(&lock);
    int there = *find(key) != NULL;
    asks++;
    pthread_mutex_unlock(&lock);
    return says("exist", there);
}

int64_t mooncake_store_get_size(void *store, const char *key) {
    (void)store;
    pthread_mutex_lock(&lock);
    struct value *v = *find(key);
    int64_t len = v ? (int64_t)v->len : NO_OBJECT;
    pthread_mutex_unlock(&lock);
    return len;
}

int mooncake_store_remove(void *store, const char *key, int force) {
    (void)store;
    if (says("remove", 0)) return says("remove", -800);
    pthread_mutex_lock(&lock);
    struct value **at = find(key);
    int code = force == 1 && *at ? 0 : told("old") ? -1 : NO_OBJECT;
    if (code == 0) drop(at);
    removes += code == 0;
    pthread_mutex_unlock(&lock);
    return code;
}

int mooncake_store_register_buffer(void *store, void *buf, size_t len) {
    (void)store;
    if (told("register")) return told("register");
    pthread_mutex_lock(&lock);
    int i = 0;
    while (i < BUFFERS - 1 && buffer[i].at) i++;
    buffer[i].at = buf;
    buffer[i].len = len;
    buffers++;
    pthread_mutex_unlock(&lock);
    return 0;
}

int mooncake_store_unregister_buffer(void *store, void *buf) {
    (void)store;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < BUFFERS; i++)
        if (buffer[i].at == buf) {
            buffer[i].at = NULL;
            buffers--;
        }
    pthread_mutex_unlock(&lock);
    return 0;
}
