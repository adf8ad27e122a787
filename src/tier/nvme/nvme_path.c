#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tier/nvme/nvme.h"

/* Which directories the nvme tier works under, and the page cache above them. */

enum { CACHE_UNIT = 2 << 20 }; /* the largest folio of a page cache */

/* Whole trees, and directories that are refused themselves while those below may be used. */
static const char *const system_trees[] = {"/bin",   "/boot",   "/dev",  "/etc",  "/lib", "/lib32",
                                           "/lib64", "/libx32", "/proc", "/sbin", "/sys", "/usr"};
static const char *const system_dirs[] = {"/", "/run", "/var"};
static const char *const allowed_trees[] = {"/dev/shm", "/usr/local"};

static bool is_under(const char *path, const char *dir) {
    size_t len = strlen(dir);
    return strncmp(path, dir, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

static bool is_system(const char *real) {
    for (size_t i = 0; i < sizeof system_dirs / sizeof system_dirs[0]; i++)
        if (strcmp(real, system_dirs[i]) == 0) return true;
    for (size_t i = 0; i < sizeof allowed_trees / sizeof allowed_trees[0]; i++)
        if (is_under(real, allowed_trees[i])) return false;
    for (size_t i = 0; i < sizeof system_trees / sizeof system_trees[0]; i++)
        if (is_under(real, system_trees[i])) return true;
    return false;
}

int nvme_path_check(const char *key, const char *given, struct err *e) {
    char path[SCENARIO_PATH], target[SCENARIO_PATH], real[PATH_MAX];
    snprintf(path, sizeof path, "%s", given);
    for (size_t len = strlen(path); len > 1 && path[len - 1] == '/'; len--) path[len - 1] = '\0';
    struct stat st;
    if (path[0] == '\0') return err_set(e, KVF_ERR_USAGE, "%s is empty; name a directory", key);
    if (lstat(path, &st) != 0) {
        if (errno == ENOENT)
            return err_set(e, KVF_ERR_USAGE, "%s: %s does not exist; make the directory or name another", key,
                           path);
        return err_set(e, KVF_ERR_USAGE, "%s: %s cannot be used: %s", key, path, strerror(errno));
    }
    if (S_ISLNK(st.st_mode)) {
        ssize_t len = readlink(path, target, sizeof target - 1);
        target[len > 0 ? len : 0] = '\0';
        return err_set(e, KVF_ERR_USAGE, "%s: %s is a symbolic link to %s; name the directory itself", key,
                       path, target);
    }
    if (!S_ISDIR(st.st_mode))
        return err_set(e, KVF_ERR_USAGE, "%s: %s is not a directory; name one", key, path);
    if (!realpath(path, real))
        return err_set(e, KVF_ERR_USAGE, "%s: %s cannot be used: %s", key, path, strerror(errno));
    if (is_system(real))
        return err_set(e, KVF_ERR_USAGE, "%s: %s is a system directory; name one of your own", key, real);
    if (faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) != 0)
        return err_set(e, KVF_ERR_USAGE, "%s: %s is not writable (%s); name another directory", key, path,
                       strerror(errno));
    return 0;
}

int tier_nvme_check_paths(const struct scenario *s, struct err *e) {
    for (uint32_t i = 0; i < s->nvme.path_count; i++) {
        int rc = nvme_path_check("tiers.nvme.path", s->nvme.path[i], e);
        if (rc != 0) return rc;
        struct stat a, b;
        for (uint32_t j = 0; j < i; j++)
            if (stat(s->nvme.path[i], &a) == 0 && stat(s->nvme.path[j], &b) == 0 && a.st_dev == b.st_dev &&
                a.st_ino == b.st_ino)
                return err_set(e, KVF_ERR_USAGE, "tiers.nvme.path: %s is named twice", s->nvme.path[i]);
    }
    return 0;
}

void nvme_drop_cache(const struct nvme_dir *d, int fd, enum kvf_dir dir, uint64_t offset, uint64_t len) {
    if (d->direct || d->in_memory) return;
    if (dir == KVF_DIR_WRITE)
        sync_file_range(fd, (off_t)offset, (off_t)len,
                        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
    /* The kernel drops whole folios alone, and one may reach into the neighbours. */
    uint64_t first = offset / CACHE_UNIT * CACHE_UNIT;
    uint64_t behind = len ? (offset + len + CACHE_UNIT - 1) / CACHE_UNIT * CACHE_UNIT : first;
    posix_fadvise(fd, (off_t)first, (off_t)(behind - first), POSIX_FADV_DONTNEED);
}
