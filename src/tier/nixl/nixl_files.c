#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "tier/nixl/nixl.h"

/* A value is written under a name of its own and gets the one that others look for when it is whole: what can
 * be found can be read. Each connection writes one value at a time; several machines, whose threads may have
 * the same number, may write a shared one at once. */

#define UNFINISHED "~"

static void unfinished(const struct nixl_where *w, const char *name, char out[NIXL_NAME]) {
    (void)snprintf(out, NIXL_NAME, "%s." UNFINISHED "%08" PRIx32 "-%d", name, w->tag, (int)gettid());
}

int nixl_files_open(const struct nixl_where *w, const char *name, enum nixl_direction dir, uint64_t room) {
    char at[NIXL_NAME];
    int direct = w->direct ? O_DIRECT : 0;
    if (dir == NIXL_READ) return openat(w->dir_fd, name, O_RDONLY | O_CLOEXEC | direct);
    unfinished(w, name, at);
    int fd = openat(w->dir_fd, at, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | direct, 0600);
    if (fd < 0) return fd;
    int error = posix_fallocate(fd, 0, (off_t)room); /* a full file system is met here */
    if (error == 0 || error == EOPNOTSUPP || error == EINVAL) return fd;
    close(fd);
    (void)unlinkat(w->dir_fd, at, 0);
    errno = error;
    return -1;
}

static void drop_cache(const struct nixl_where *w, int fd, enum nixl_direction dir) {
    if (w->direct) return;
    if (dir == NIXL_WRITE)
        (void)sync_file_range(
            fd, 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

/* The first value of a name stays, by the call that its file system has: a rename that replaces nothing, as
 * on local ones, or a hard link, as on NFS. Where it has neither, of two that are written in one moment the
 * later one stays; their bytes are the same. */
static int give_name_once(const struct nixl_where *w, const char *at, const char *name) {
    if (renameat2(w->dir_fd, at, w->dir_fd, name, RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return errno;
    if (linkat(w->dir_fd, at, w->dir_fd, name, 0) == 0) return 0;
    if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS) return errno;
    if (faccessat(w->dir_fd, name, F_OK, 0) == 0) return EEXIST;
    return renameat(w->dir_fd, at, w->dir_fd, name) == 0 ? 0 : errno;
}

static int give_name(const struct nixl_where *w, const char *at, const char *name, bool first) {
    if (first) return give_name_once(w, at, name);
    return renameat(w->dir_fd, at, w->dir_fd, name) == 0 ? 0 : errno;
}

int nixl_files_keep(const struct nixl_where *w, int fd, const char *name, bool first) {
    char at[NIXL_NAME];
    unfinished(w, name, at);
    drop_cache(w, fd, NIXL_WRITE);
    int error = close(fd) == 0 ? give_name(w, at, name, first) : errno;
    if (first || error) (void)unlinkat(w->dir_fd, at, 0);
    return error;
}

void nixl_files_leave(const struct nixl_where *w, int fd, const char *name, enum nixl_direction dir) {
    char at[NIXL_NAME];
    drop_cache(w, fd, dir);
    close(fd);
    if (dir == NIXL_READ) return;
    unfinished(w, name, at);
    (void)unlinkat(w->dir_fd, at, 0);
}

int nixl_files_remove(const struct nixl_where *w, const char *name) {
    return unlinkat(w->dir_fd, name, 0) == 0 || errno == ENOENT ? 0 : errno;
}
