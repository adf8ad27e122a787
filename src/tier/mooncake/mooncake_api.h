/* The client library of a Mooncake store, looked up at run time, and everything that is called of it, as one
 * table. The few declarations of its ABI that are needed here are our own; their source is Mooncake's
 * store_c.h. A client may be used by several threads. */
#ifndef KVF_TIER_MOONCAKE_MOONCAKE_API_H
#define KVF_TIER_MOONCAKE_MOONCAKE_API_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum mooncake_answer { MOONCAKE_NO_OBJECT = -704 }; /* of get_into and remove */

struct mooncake_api {
    void *(*create)(int kind); /* 0: a client of its own; older versions take nothing */
    void (*destroy)(void *store);
    /* 0, or an error of the library. What is offered to the pool and the buffer for copies, in bytes. */
    int (*setup)(void *store, const char *host, const char *metadata, uint64_t offered, uint64_t buffer,
                 const char *protocol, const char *device, const char *master);
    int (*put_from)(void *store, const char *key, void *buf, size_t len, const void *config);
    int64_t (*get_into)(void *store, const char *key, void *buf, size_t len); /* its length, or an error */
    int (*is_exist)(void *store, const char *key);                            /* 1, 0, or an error */
    int (*remove)(void *store, const char *key, int force); /* older versions have no `force` */
    int (*register_buffer)(void *store, void *buf, size_t len);
    int (*unregister_buffer)(void *store, void *buf);
};

/* Loads the library, once and for good: it has threads of its own. The table lives as long as the process.
 * 0, or -KVF_ERR_UNAVAILABLE with a sentence. Any thread. */
int mooncake_api_load(const struct mooncake_api **out, struct err *e);

#endif
