#include "workload/input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int input_open(const char *path, const char *remedy, struct err *e) {
    /* Without O_NONBLOCK the open of a pipe would wait for somebody to write into it. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return err_set(e, KVF_ERR_USAGE, "cannot open \"%s\": %s; %s", path, strerror(errno), remedy);
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return err_set(e, KVF_ERR_USAGE, "\"%s\" is not a regular file; %s", path, remedy);
    }
    posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    return fd;
}
