/* NVIDIA's library for moving bytes between memories and stores (NIXL), by its interface for C, looked up at
 * run time, and everything that is called of it, as one table. The few declarations of its ABI that are
 * needed here are our own; their source is NIXL's nixl_capi.h. */
#ifndef KVF_TIER_NIXL_NIXL_API_H
#define KVF_TIER_NIXL_NIXL_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum nixl_status { NIXL_DONE = 0, NIXL_GOES_ON = 1 }; /* errors are negative */
enum nixl_memory { NIXL_DRAM = 0, NIXL_OBJECT = 3, NIXL_FILE = 4 };
enum nixl_direction { NIXL_READ, NIXL_WRITE };

/* Opaque; each kind of thing is created and destroyed by its own calls. */
typedef struct nixl_thing *nixl_thing;

struct nixl_api {
    int (*is_stub)(void); /* may be NULL */
    int (*create_agent)(const char *name, nixl_thing *agent);
    int (*destroy_agent)(nixl_thing agent);
    int (*create_params)(nixl_thing *params);
    int (*params_add)(nixl_thing params, const char *key, const char *value);
    int (*destroy_params)(nixl_thing params);
    int (*create_backend)(nixl_thing agent, const char *plugin, nixl_thing params, nixl_thing *backend);
    int (*destroy_backend)(nixl_thing backend); /* the handle alone: a backend lives as long as its agent */
    int (*create_opt_args)(nixl_thing *args);
    int (*opt_args_add_backend)(nixl_thing args, nixl_thing backend);
    int (*destroy_opt_args)(nixl_thing args);
    /* Older versions have one more argument here, which is false where it matters. */
    int (*create_reg_dlist)(enum nixl_memory kind, nixl_thing *list, bool sorted);
    int (*reg_dlist_add_desc)(nixl_thing list, uintptr_t at, size_t len, uint64_t device, const void *name,
                              size_t name_len);
    int (*destroy_reg_dlist)(nixl_thing list);
    int (*create_xfer_dlist)(enum nixl_memory kind, nixl_thing *list, bool sorted);
    int (*xfer_dlist_add_desc)(nixl_thing list, uintptr_t at, size_t len, uint64_t device);
    int (*destroy_xfer_dlist)(nixl_thing list);
    int (*register_mem)(nixl_thing agent, nixl_thing list, nixl_thing args);
    int (*deregister_mem)(nixl_thing agent, nixl_thing list, nixl_thing args);
    int (*create_xfer_req)(nixl_thing agent, enum nixl_direction dir, nixl_thing local, nixl_thing remote,
                           const char *remote_agent, nixl_thing *request, nixl_thing args);
    int (*post_xfer_req)(nixl_thing agent, nixl_thing request, nixl_thing args);
    int (*get_xfer_status)(nixl_thing agent, nixl_thing request);  /* calls are what makes it go on */
    int (*release_xfer_req)(nixl_thing agent, nixl_thing request); /* one that has ended */
    int (*destroy_xfer_req)(nixl_thing request);
    int (*create_query_resp_list)(nixl_thing *list);
    int (*query_mem)(nixl_thing agent, nixl_thing names, nixl_thing answers, nixl_thing args);
    int (*query_resp_list_size)(nixl_thing list, size_t *size);
    int (*query_resp_list_has_value)(nixl_thing list, size_t index, bool *there);
    int (*destroy_query_resp_list)(nixl_thing list);
};

/* Loads the library, once and for good: it has threads of its own. The table lives as long as the process.
 * 0, or -KVF_ERR_UNAVAILABLE with a sentence. Any thread. */
int nixl_api_load(const struct nixl_api **out, struct err *e);

#endif
