#include "tier/nixl/nixl_api.h"

#include <stdlib.h>

#include "probe/library.h"

#define CALL(name, ...) LIBRARY_CALL(struct nixl_api, name, "nixl_capi_" #name, ##__VA_ARGS__)
static const struct library_call calls[] = {
    CALL(is_stub, .optional = true),
    CALL(create_agent),
    CALL(destroy_agent),
    CALL(create_params),
    CALL(params_add),
    CALL(destroy_params),
    CALL(create_backend),
    CALL(destroy_backend),
    CALL(create_opt_args),
    CALL(opt_args_add_backend),
    CALL(destroy_opt_args),
    CALL(create_reg_dlist),
    CALL(reg_dlist_add_desc),
    CALL(destroy_reg_dlist),
    CALL(create_xfer_dlist),
    CALL(xfer_dlist_add_desc),
    CALL(destroy_xfer_dlist),
    CALL(register_mem),
    CALL(deregister_mem),
    CALL(create_xfer_req),
    CALL(post_xfer_req),
    CALL(get_xfer_status),
    CALL(release_xfer_req),
    CALL(destroy_xfer_req),
    CALL(create_query_resp_list),
    CALL(query_mem),
    CALL(query_resp_list_size),
    CALL(query_resp_list_has_value),
    CALL(destroy_query_resp_list),
};

static int judge(void *table, struct err *e) {
    const struct nixl_api *n = table;
    if (!n->is_stub || !n->is_stub()) return 0;
    return err_set(
        e, KVF_ERR_UNAVAILABLE,
        "the libnixl_capi.so that was found does nothing; it is for builds alone: name the directory "
        "of the real one in LD_LIBRARY_PATH");
}

int nixl_api_load(const struct nixl_api **out, struct err *e) {
    static const struct library l = {.file = "libnixl_capi.so",
                                     .what = "NIXL, which backend nixl needs,",
                                     .install = "install it (`pip install nixl-cu12`) and name the directory "
                                                "of libnixl_capi.so in LD_LIBRARY_PATH",
                                     .call = calls,
                                     .calls = sizeof calls / sizeof *calls};
    static struct library_kept kept = LIBRARY_KEPT;
    static struct nixl_api api;
    setenv("NIXL_LOG_LEVEL", "FATAL", 0); /* what goes wrong is said by us, once, with a number */
    int rc = library_keep(&kept, &l, &api, judge, e);
    *out = rc == 0 ? &api : NULL;
    return rc;
}
