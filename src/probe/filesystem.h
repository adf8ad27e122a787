/* The abilities of a file system, found by trying them. Any thread. */
#ifndef KVF_PROBE_FILESYSTEM_H
#define KVF_PROBE_FILESYSTEM_H

#include <stdbool.h>
#include <stddef.h>

/* id; name; consequence of its absence. */
#define FILESYSTEM_ABILITY_LIST(X)                                                                           \
    X(FSYNC, "fsync", "a power cut may lose what was written")                                               \
    X(FSYNC_DIR, "fsync of a directory", "a power cut may leave a run directory without its marker")         \
    X(RENAME, "rename over a file", "a file cannot be replaced in one step")                                 \
    X(LOCKS, "locks", "other machines cannot tell a run directory that is in use from one that is not")      \
    X(FALLOCATE, "fallocate", "a full file system is met in the middle of a write")

#define FILESYSTEM_ID(id, name, without) FILESYSTEM_##id,
enum filesystem_ability { FILESYSTEM_ABILITY_LIST(FILESYSTEM_ID) FILESYSTEM_ABILITIES };

struct filesystem {
    int error[FILESYSTEM_ABILITIES]; /* 0: it can; else the errno of the refusal */
};

const char *filesystem_ability(enum filesystem_ability a); /* its name: "fsync of a directory" */
const char *filesystem_without(enum filesystem_ability a); /* the consequence of its absence */
/* Tries all abilities on two small files in a directory that it creates under `path` and removes. 0, or the
 * errno of the attempt to create a file there. */
int filesystem_try(const char *path, struct filesystem *out);

/* Whether an f_type is of a file system that other machines may write to; *name (may be NULL) is its usual
 * name. */
bool filesystem_network(long f_type, const char **name);
/* Whether an open file is on such a file system. */
bool filesystem_is_shared(int fd);

/* The file system of a path that keeps its files in memory: "tmpfs"; NULL: another, or none. */
const char *filesystem_in_memory(const char *path);

#endif
