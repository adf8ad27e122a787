/* Loaded before the C library: the file system of a network as some are mounted, without locks, fallocate and
 * fsync of a directory. */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/vfs.h>
#include <unistd.h>

static int refused(int error) {
    errno = error;
    return -1;
}

int flock(int fd, int operation) {
    (void)fd;
    (void)operation;
    return refused(ENOLCK);
}

int fallocate(int fd, int mode, off_t offset, off_t len) {
    (void)fd;
    (void)mode;
    (void)offset;
    (void)len;
    return refused(EOPNOTSUPP);
}

int fsync(int fd) {
    struct stat st;
    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) return refused(EINVAL);
    return (int)syscall(SYS_fsync, fd);
}

int fstatfs(int fd, struct statfs *out) {
    int rc = (int)syscall(SYS_fstatfs, fd, out);
    out->f_type = 0x6969;
    return rc;
}
