/* The files of a workload's path. Any thread. */
#ifndef KVF_WORKLOAD_FORMAT_LISTING_H
#define KVF_WORKLOAD_FORMAT_LISTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/hash.h"

struct listing {
    char **path; /* in the order of their names, byte by byte; owned */
    size_t count;
    bool directory; /* they are in it; else the one is the path itself */
};

/* Lists a file itself, or the files of a directory whose names end in `suffix` and do not begin with a dot;
 * at most `most` of them (0: all). 0, or -KVF_ERR_USAGE for a path that cannot be listed or a directory
 * without such a file. */
int listing_open(struct listing *l, const char *path, const char *suffix, uint64_t most, struct err *e);
void listing_close(struct listing *l); /* takes one that is all zero */
/* The SHA-256 of a file; for a directory that of the lines which sha256sum(1) prints in it for its files. 0
 * or a negative code. */
int listing_sha256(const char *path, const char *suffix, uint64_t most, char out[KVF_SHA256_TEXT],
                   struct err *e);
/* The part of a path after its last slash. */
const char *listing_name(const char *path);

#endif
