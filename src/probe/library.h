/* A shared library that is loaded where it is needed: a program that starts without it starts sooner, and
 * on machines that lack it. */
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

/* Loads the library and writes pointers to its functions to `table`. `handle` is for dlclose(), NULL on
 * failure. 0 or -KVF_ERR_UNAVAILABLE. Any thread. */
int library_load(const struct library *l, void *table, void **handle, struct err *e);

/* A library that stays for good, as one with threads of its own must. */
struct library_kept {
    pthread_mutex_t lock;
    bool there;
};
#define LIBRARY_KEPT                                                                                         \
    { .lock = PTHREAD_MUTEX_INITIALIZER }
/* Loads it once; later calls leave the table as it is. `judge`, which may be NULL, refuses a library that was
 * loaded and is no good: 0 or a negative code. Any thread. */
int library_keep(struct library_kept *kept, const struct library *l, void *table,
                 int (*judge)(void *table, struct err *e), struct err *e);

#endif
