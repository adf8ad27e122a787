/* The files that a path of a workload stands for. */
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

/* A file stands for itself, a directory for what is in it with a name that ends in `suffix` and begins
 * with no dot. More than `most` names are cut off behind it; 0: none is. A path that cannot be listed, or
 * a directory without such a file, is -KVF_ERR_USAGE. Any thread. */
int listing_open(struct listing *l, const char *path, const char *suffix, uint64_t most, struct err *e);
void listing_close(struct listing *l); /* takes one that is all zero */
/* SHA-256 of a file; of a directory, that of the lines that sha256sum(1) prints in it for its files. */
int listing_sha256(const char *path, const char *suffix, uint64_t most, char out[KVF_SHA256_TEXT],
                   struct err *e);
/* The part of a path behind its last slash. */
const char *listing_name(const char *path);

#endif
