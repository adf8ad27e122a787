#include "tier/mooncake/mooncake_api.h"

#include "probe/library.h"

#define CALL(name) LIBRARY_CALL(struct mooncake_api, name, "mooncake_store_" #name)
static const struct library_call calls[] = {
    CALL(create),   CALL(destroy), CALL(setup),           CALL(put_from),          CALL(get_into),
    CALL(is_exist), CALL(remove),  CALL(register_buffer), CALL(unregister_buffer),
};

int mooncake_api_load(const struct mooncake_api **out, struct err *e) {
    static const struct library l = {.file = "libmooncake_store.so",
                                     .what = "Mooncake, which backend mooncake needs,",
                                     .install = "build Mooncake with its store and name the directory of "
                                                "libmooncake_store.so in LD_LIBRARY_PATH",
                                     .call = calls,
                                     .calls = sizeof calls / sizeof *calls};
    static struct library_kept kept = LIBRARY_KEPT;
    static struct mooncake_api api;
    int rc = library_keep(&kept, &l, &api, NULL, e);
    *out = rc == 0 ? &api : NULL;
    return rc;
}
