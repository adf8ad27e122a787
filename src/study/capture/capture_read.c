#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "study/capture/capture.h"
#include "workload/lines.h"

enum { READ_BYTES = 1 << 18, POLL_MS = 100 };

struct reader {
    struct capture *c;
    const char *path;
    int fd;
    char *text;
    size_t len, cap;
    bool skipping; /* the rest of a line that is too long */
    uint64_t flushed_ns;
    void (*tell)(const struct capture *c);
};

static void lines_take(struct reader *r, bool last) {
    size_t from = 0;
    char *end;
    while ((end = memchr(r->text + from, '\n', r->len - from)) || (last && from < r->len)) {
        size_t to = end ? (size_t)(end - r->text) : r->len;
        if (!r->skipping) {
            r->text[to] = '\0';
            capture_line(r->c, r->text + from, to - from);
        }
        r->skipping = false;
        from = end ? to + 1 : to;
    }
    memmove(r->text, r->text + from, r->len - from);
    r->len -= from;
    if (r->len <= LINES_MAX) return;
    if (!r->skipping) capture_reject(r->c, CAPTURE_REJECT_LARGE);
    r->skipping = true;
    r->len = 0;
}

/* Every second what is recorded goes to the system, so that a kill loses no more. */
static void flush_in_time(struct reader *r, bool live) {
    uint64_t now = clock_now_ns();
    if (now - r->flushed_ns < KVF_NS_PER_S) return;
    r->flushed_ns = now;
    if (live) capture_flush(r->c, 0);
    if (r->tell) r->tell(r->c);
}

/* Another file has the name, or this one has been cut: the log was rotated, and all of the old one is read.
 */
static bool rotated(const struct reader *r) {
    struct stat ours, named;
    if (fstat(r->fd, &ours) != 0 || stat(r->path, &named) != 0) return false;
    return ours.st_ino != named.st_ino || ours.st_dev != named.st_dev ||
           ours.st_size < lseek(r->fd, 0, SEEK_CUR);
}

/* A pipe is opened without waiting for who writes to it, so that a stop is heard before anybody does. */
static int log_open(const char *path) {
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

static void reopen_rotated(struct reader *r) {
    int fd = rotated(r) ? log_open(r->path) : -1;
    if (fd < 0) return;
    lines_take(r, true);
    close(r->fd);
    r->fd = fd;
}

static int read_on(struct reader *r, bool live, bool follow, struct err *e) {
    struct timespec pause = {.tv_nsec = POLL_MS * 1000000L};
    while (!*r->c->stop) {
        struct pollfd ready = {.fd = r->fd, .events = POLLIN};
        flush_in_time(r, live);
        if (live && poll(&ready, 1, POLL_MS) <= 0) { /* nothing yet, or no writer yet, or a signal */
            if (follow) reopen_rotated(r);
            continue;
        }
        if (r->cap < r->len + READ_BYTES + 1)
            r->text = mem_realloc(r->text, r->cap = r->len + 2 * READ_BYTES);
        ssize_t n = read(r->fd, r->text + r->len, READ_BYTES);
        if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (n < 0) return err_set_errno(e, KVF_ERR_IO, errno, "cannot read %s", r->path);
        if (n == 0 && !follow) break;
        if (n == 0) { /* there may be more to come, also from a pipe's next writer */
            reopen_rotated(r);
            nanosleep(&pause, NULL);
            continue;
        }
        r->len += (size_t)n;
        lines_take(r, false);
    }
    lines_take(r, true);
    return 0;
}

int capture_read(struct capture *c, const char *path, bool follow, void (*tell)(const struct capture *c),
                 struct err *e) {
    bool input = strcmp(path, "-") == 0;
    struct stat st;
    struct reader r = {.c = c, .path = path, .tell = tell, .flushed_ns = clock_now_ns()};
    r.fd = input ? STDIN_FILENO : log_open(path);
    if (r.fd < 0) return err_set_errno(e, KVF_ERR_USAGE, errno, "cannot read the log %s", path);
    bool live = fstat(r.fd, &st) == 0 && !S_ISREG(st.st_mode);
    int rc = S_ISDIR(st.st_mode)
                 ? err_set(e, KVF_ERR_USAGE, "%s is a directory; name the files of the log", path)
                 : 0;
    if (!rc) rc = read_on(&r, live || follow, follow && !input, e);
    if (!input) close(r.fd);
    free(r.text);
    return rc;
}
