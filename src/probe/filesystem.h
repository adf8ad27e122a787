/* The abilities of a file system, found by trying them. Any thread. */
#ifndef KVF_PROBE_FILESYSTEM_H
#define KVF_PROBE_FILESYSTEM_H

#include <stdbool.h>
#include <stddef.h>

/* id; name; consequence of its absence. */
#define FILESYSTEM_ABILITY_LIST(X)                                                                           \
    X(FSYNC, "fsync", "a power cut may take what was written")                                               \
    X(FSYNC_DIR, "fsync of a directory", "a power cut may leave a run directory without its marker")         \
    X(RENAME, "rename over a file", "a file cannot be replaced in one step")                                 \
    X(LOCKS, "locks", "other machines cannot tell a run directory that is in use from one that is not")      \
    X(FALLOCATE, "fallocate", "a full file system is met in the middle of a write")

#define FILESYSTEM_ID(id, name, without) FILESYSTEM_##id,
enum filesystem_ability { FILESYSTEM_ABILITY_LIST(FILESYSTEM_ID) FILESYSTEM_ABILITIES };

struct filesystem {
    int error[FILESYSTEM_ABILITIES]; /* 0: it can; else the errno of the refusal */
};

const char *filesystem_ability(enum filesystem_ability a);
const char *filesystem_without(enum filesystem_ability a);

/* Tries all of them on two small files in a directory that it makes under `path` and removes. 0, or the errno
 * with which no file could be made there. */
int filesystem_try(const char *path, struct filesystem *out);

/* True for the f_type of a file system whose files other machines may write too; *name (may be NULL) is what
 * people call it. */
bool filesystem_network(long f_type, const char **name);
/* Whether an open file is on one. */
bool filesystem_is_shared(int fd);

#endif
