/* Shared libraries that are loaded when they are needed, so that the program starts sooner, and also where
 * they are missing. Any thread. */
#ifndef KVF_PROBE_LIBRARY_H
#define KVF_PROBE_LIBRARY_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct library_call {
    const char *name;
    size_t offset;     /* of the pointer in the table of calls */
    bool optional;     /* NULL in the table where the library lacks it */
    const char *older; /* its name in older versions; NULL: the same */
};
/* A row of a table: LIBRARY_CALL(struct calls, init, "nvmlInit_v2", .optional = true). */
#define LIBRARY_CALL(table, member, ...)                                                                     \
    { .offset = offsetof(table, member), .name = __VA_ARGS__ }

struct library {
    const char *file;    /* "libcurl.so.4" */
    const char *what;    /* "the library of HTTP clients" */
    const char *install; /* "install libcurl4" */
    const struct library_call *call;
    size_t calls;
};

/* Loads the library and writes the addresses of its functions to `table`. 0 with *handle for dlclose(), or
 * -KVF_ERR_UNAVAILABLE with *handle NULL. */
int library_load(const struct library *l, void *table, void **handle, struct err *e);

/* A library that is never unloaded, as one with threads of its own must not be. */
struct library_kept {
    pthread_mutex_t lock;
    bool there;
};
#define LIBRARY_KEPT                                                                                         \
    { .lock = PTHREAD_MUTEX_INITIALIZER }
/* Loads it once; later calls leave the table alone. `judge` (may be NULL) can refuse a loaded library. 0, or
 * a negative code. */
int library_keep(struct library_kept *kept, const struct library *l, void *table,
                 int (*judge)(void *table, struct err *e), struct err *e);

#endif
