#include "workload/format/listing.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"

const char *listing_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void listing_add(struct listing *l, const char *folder, const char *name) {
    struct buf b = {0};
    if (folder)
        buf_addf(&b, "%s%s%s", folder, buf_ends_with(folder, "/") ? "" : "/", name);
    else
        buf_add(&b, name);
    if ((l->count & (l->count - 1)) == 0)
        l->path = mem_realloc(l->path, (l->count ? 2 * l->count : 1) * sizeof *l->path);
    l->path[l->count++] = b.data;
}

static int path_compare(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int directory_list(struct listing *l, const char *path, const char *suffix, struct err *e) {
    struct dirent *entry;
    DIR *d = opendir(path);
    if (!d) return err_set_errno(e, KVF_ERR_USAGE, errno, "cannot list \"%s\"", path);
    while ((errno = 0, entry = readdir(d)) != NULL)
        if (entry->d_name[0] != '.' && buf_ends_with(entry->d_name, suffix))
            listing_add(l, path, entry->d_name);
    int error = errno;
    closedir(d);
    if (error) return err_set_errno(e, KVF_ERR_USAGE, error, "cannot list \"%s\"", path);
    if (l->count == 0)
        return err_set(e, KVF_ERR_USAGE, "\"%s\" has no files that end in %s; name the right directory", path,
                       suffix);
    qsort(l->path, l->count, sizeof *l->path, path_compare);
    return 0;
}

int listing_open(struct listing *l, const char *path, const char *suffix, uint64_t most, struct err *e) {
    struct stat st;
    *l = (struct listing){0};
    if (stat(path, &st) != 0)
        return err_set(e, KVF_ERR_USAGE,
                       "cannot open \"%s\": %s; name a file or directory in workload.path or with "
                       "--dataset",
                       path, strerror(errno));
    l->directory = S_ISDIR(st.st_mode);
    if (!l->directory) {
        listing_add(l, NULL, path);
        return 0;
    }
    int rc = directory_list(l, path, suffix, e);
    if (rc != 0) listing_close(l);
    while (most > 0 && l->count > most) free(l->path[--l->count]);
    return rc;
}

void listing_close(struct listing *l) {
    while (l->count > 0) free(l->path[--l->count]);
    free(l->path);
    *l = (struct listing){0};
}

int listing_sha256(const char *path, const char *suffix, uint64_t most, char out[KVF_SHA256_TEXT],
                   struct err *e) {
    struct listing l;
    struct buf lines = {0};
    int rc = listing_open(&l, path, suffix, most, e);
    if (rc == 0 && !l.directory) {
        rc = hash_sha256_file(path, out, e);
    } else if (rc == 0) {
        for (size_t i = 0; i < l.count && rc == 0; i++) {
            rc = hash_sha256_file(l.path[i], out, e);
            buf_addf(&lines, "%s  %s\n", out, listing_name(l.path[i]));
        }
        if (rc == 0) rc = hash_sha256_bytes(lines.data, lines.len, out, e);
    }
    buf_free(&lines);
    listing_close(&l);
    return rc;
}
