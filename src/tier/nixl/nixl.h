/* Shared by the parts of the nixl backend: values in files of a shared directory, through NIXL's plugin
 * POSIX, or objects of a bucket, through its plugin OBJ. Included by those parts alone. */
#ifndef KVF_TIER_NIXL_NIXL_H
#define KVF_TIER_NIXL_NIXL_H

#include <limits.h>

#include "base/url.h"
#include "tier/nixl/nixl_api.h"
#include "tier/remote/remote_hand.h"

/* ---- nixl_where.c: what tiers.remote.url names ---- */

enum { NIXL_PARAMS = 12, NIXL_NAME = URL_TEXT + 3 * REMOTE_KEY };

struct nixl_where {
    bool objects;  /* in a bucket; otherwise files in a directory */
    bool direct;   /* files: past the page cache */
    char way[160]; /* files: why, or why not */
    char name[REMOTE_SERVER];
    char fs_type[32];      /* files */
    char dir[URL_TEXT];    /* files */
    int dir_fd;            /* files; -1 */
    uint32_t tag;          /* files: of those that are not whole, unlike other machines' */
    char prefix[URL_TEXT]; /* objects: of every name */
    const char *plugin;
    unsigned params; /* for the plugin */
    struct {
        const char *key;
        char value[URL_WORD + 80];
    } param[NIXL_PARAMS];
};
/* Finds it and what it needs; contacts no server. 0 or a negative code. */
int nixl_where_find(struct nixl_where *w, const struct scenario *s, struct err *e);
void nixl_where_forget(struct nixl_where *w); /* also one that was not found */
/* The value of this name: the file in the directory, or the object. */
void nixl_where_name(const struct nixl_where *w, const char *value, char out[NIXL_NAME]);

struct nixl_tier {
    struct remote_tier remote;
    const struct nixl_api *api;
    struct nixl_where where;
};

/* ---- nixl_store.c: a thread's agent, and values through it ---- */

extern const struct remote_calls nixl_store_calls;

/* ---- nixl_files.c: the files behind values in a directory ---- */

/* Of a value that is to be read or written: a descriptor, or -1 with errno. */
int nixl_files_open(const struct nixl_where *w, const char *name, enum nixl_direction dir, uint64_t room);
/* Gives a written file its name and closes it; with `first`, only where there is none. 0 or an errno. */
int nixl_files_keep(const struct nixl_where *w, int fd, const char *name, bool first);
/* Closes a file that was read, or one that is not worth keeping. */
void nixl_files_leave(const struct nixl_where *w, int fd, const char *name, enum nixl_direction dir);
int nixl_files_remove(const struct nixl_where *w, const char *name);

#endif
