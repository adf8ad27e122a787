#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "tier/nvme/nvme.h"
#include "tier/nvme/nvme_rundir.h"

/* Open directories, for an immediate end. */
static struct {
    pthread_mutex_t lock;
    struct nvme_dir *first;
    _Atomic bool abandoned; /* nothing new is made in them */
} dirs = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void dir_listed(struct nvme_dir *d, bool open) {
    pthread_mutex_lock(&dirs.lock);
    struct nvme_dir **link = &dirs.first;
    while (*link && *link != d) link = &(*link)->next;
    if (*link) *link = d->next;
    if (open) {
        d->next = dirs.first;
        dirs.first = d;
    }
    pthread_mutex_unlock(&dirs.lock);
}

void tier_nvme_abandon(void) {
    atomic_store(&dirs.abandoned, true);
    pthread_mutex_lock(&dirs.lock); /* and not let go: who would close one is past that */
    for (struct nvme_dir *d = dirs.first; d; d = d->next) {
        if (d->spare_fd >= 0) close(d->spare_fd);
        d->spare_fd = -1;
        int fd = openat(d->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd >= 0) nvme_rundir_remove(d->path, fd);
    }
}

/* Names the directory, makes and locks it. Whoever looks for leftovers holds the lock for a moment. */
static int dir_make(struct nvme_dir *d) {
    if (mkdir(d->path, 0700) != 0) return errno;
    nvme_last_keep(d->path);
    d->fd = open(d->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (d->fd < 0) return errno;
    while (flock(d->fd, LOCK_EX) != 0 && errno == EINTR) {} /* some file systems lock no directories */
    return 0;
}

/* The marker, the directory's entry for it and the parent's for the directory are on the device before
 * there is any data, so that a power cut takes all or leaves what the next start knows. */
static int dir_mark(struct nvme_dir *d, const char *parent) {
    d->marker_fd = openat(d->fd, RUNDIR_MARKER, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (d->marker_fd < 0) return errno;
    if (flock(d->marker_fd, LOCK_EX | LOCK_NB) != 0 && !nvme_rundir_lockless(errno)) return errno;
    if (nvme_rundir_mark(d->marker_fd) != 0) return errno;
    int error = nvme_rundir_sync(d->fd);
    int fd = error ? -1 : open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (error || fd < 0) return error ? error : errno == EACCES ? 0 : errno; /* writable, not readable */
    error = nvme_rundir_sync(fd);
    close(fd);
    return error;
}

int nvme_dir_open(struct nvme_dir *d, const char *key, const char *path, uint64_t tag, struct err *e) {
    d->fd = d->marker_fd = -1;
    d->path[0] = '\0';
    char real[PATH_MAX]; /* absolute, so that it is found again from wherever the process is then */
    d->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (d->spare_fd < 0) return err_set_errno(e, KVF_ERR_IO, errno, "%s: %s cannot be used", key, path);
    if (!realpath(path, real)) {
        nvme_dir_close(d);
        return err_set_errno(e, KVF_ERR_IO, errno, "%s: %s cannot be used", key, path);
    }
    if (snprintf(d->path, sizeof d->path, "%s/kvfall-%u-%ld-%016" PRIx64, real, (unsigned)geteuid(),
                 (long)getpid(), tag) >= (int)sizeof d->path) {
        d->path[0] = '\0';
        nvme_dir_close(d);
        return err_set(e, KVF_ERR_USAGE, "%s: the name %s is too long", key, path);
    }
    int error = dir_make(d);
    if (error == EEXIST || (error && d->fd < 0 && access(d->path, F_OK) != 0)) d->path[0] = '\0';
    bool made = error == 0;
    if (made) error = dir_mark(d, real);
    if (error == 0) {
        dir_listed(d, true);
        return 0;
    }
    nvme_dir_close(d);
    return err_set_errno(e, KVF_ERR_IO, error, "the run directory in %s cannot be %s", real,
                         made ? "marked" : "made");
}

void nvme_dir_close(struct nvme_dir *d) {
    dir_listed(d, false);
    if (d->spare_fd >= 0) close(d->spare_fd); /* so that there is one to list with */
    if (d->fd >= 0)
        nvme_rundir_remove(d->path, d->fd);
    else if (d->path[0] && rmdir(d->path) != 0 && errno != ENOENT)
        log_line(KVF_LOG_WARNING, "%s is empty and cannot be removed: %s", d->path, strerror(errno));
    if (d->marker_fd >= 0) close(d->marker_fd);
    nvme_last_forget(d->path);
    d->fd = d->marker_fd = d->spare_fd = -1;
    d->path[0] = '\0';
}

void nvme_file_name(uint64_t hash, char out[NVME_FILE_NAME]) {
    static const char digits[] = "0123456789abcdef";
    char *at = out + 3;
    for (int shift = 60; shift >= 0; shift -= 4) *at++ = digits[hash >> shift & 15];
    memcpy(at, ".kv", 4);
    out[0] = out[3];
    out[1] = out[4];
    out[2] = '/';
}

/* cuFile refuses descriptors whose flags it does not know, and O_NOFOLLOW stays among them. The file itself
 * is opened once more, not its name. */
static int reopened(int fd, int flags) {
    char self[32];
    snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    int again = open(self, flags & ~(O_NOFOLLOW | O_CREAT));
    if (again < 0) return fd;
    close(fd);
    return again;
}

int nvme_dir_file(const struct nvme_dir *d, const char *name, bool create) {
    if (create && atomic_load(&dirs.abandoned)) return -ECANCELED;
    int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | (create ? O_CREAT : 0) | (d->direct ? O_DIRECT : 0);
    int fd = openat(d->fd, name, flags, 0600);
    if (fd < 0 && errno == ENOENT && create && name[2] == '/') { /* the first file of its subdirectory */
        char subdir[3] = {name[0], name[1], '\0'};
        if (mkdirat(d->fd, subdir, 0700) == 0 || errno == EEXIST) fd = openat(d->fd, name, flags, 0600);
    }
    if (fd < 0) return -errno;
    if (d->to_gpu) fd = reopened(fd, flags);
    if (!d->direct) posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM); /* else the cache fills ahead of the reads */
    return fd;
}
