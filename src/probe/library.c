#include "probe/library.h"

#include <dlfcn.h>
#include <string.h>

static void *find(void *handle, const struct library_call *call) {
    void *at = dlsym(handle, call->name);
    return !at && call->older ? dlsym(handle, call->older) : at;
}

int library_load(const struct library *l, void *table, void **handle, struct err *e) {
    *handle = dlopen(l->file, RTLD_NOW | RTLD_LOCAL);
    if (!*handle)
        return err_set(e, KVF_ERR_UNAVAILABLE, "%s cannot be loaded: %s; %s", l->what, dlerror(), l->install);
    for (const struct library_call *call = l->call; call < l->call + l->calls; call++) {
        void *at = find(*handle, call);
        if (!at && !call->optional) {
            (void)dlclose(*handle);
            *handle = NULL;
            return err_set(e, KVF_ERR_UNAVAILABLE, "%s lacks %s; %s", l->file, call->name, l->install);
        }
        memcpy((char *)table + call->offset, &at, sizeof at);
    }
    return 0;
}

int library_keep(struct library_kept *kept, const struct library *l, void *table,
                 int (*judge)(void *table, struct err *e), struct err *e) {
    void *handle = NULL;
    pthread_mutex_lock(&kept->lock);
    int rc = kept->there ? 0 : library_load(l, table, &handle, e);
    if (rc == 0 && !kept->there && judge) rc = judge(table, e);
    if (rc != 0 && handle) (void)dlclose(handle);
    kept->there |= rc == 0;
    pthread_mutex_unlock(&kept->lock);
    return rc;
}
