#include "rank/plugin.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "rank/link.h"

#define PLUGIN "kvfall-mpi.so"
extern const char rank_place[]; /* where it is installed; of the Makefile */

/* Beside the program while it lies in a build tree, else where it was installed. */
void *plugin_open(const struct rank_link **link, char *why, size_t len) {
    char path[PATH_MAX + sizeof PLUGIN];
    ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
    if (n < 0) n = 0;
    path[n] = '\0';
    char *slash = strrchr(path, '/');
    if (slash) memcpy(slash + 1, PLUGIN, sizeof PLUGIN);
    if (!slash || access(path, R_OK) != 0) snprintf(path, sizeof path, "%s/%s", rank_place, PLUGIN);
    if (access(path, R_OK) != 0) {
        snprintf(why, len, "this build of kvfall has no plugin for MPI; configure it with --with-mpi");
        return NULL;
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL); /* Open MPI's own plugins look for its symbols */
    *link = library ? dlsym(library, RANK_LINK_SYMBOL) : NULL;
    if (*link && (*link)->abi == RANK_LINK_ABI) return library;
    const char *said = library ? "it is of another version of kvfall" : dlerror();
    snprintf(why, len, "the plugin for MPI cannot be used: %s", said ? said : "it could not be loaded");
    if (library) dlclose(library);
    return NULL;
}
