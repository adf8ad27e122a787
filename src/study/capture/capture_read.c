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

enum { READ_BYTES = 1 << 18, POLL_MS = 100, OLD_MOST = 16 };
#define OLD_KEPT_NS (UINT64_C(600) * KVF_NS_PER_S)

struct log {
    const char *path;
    int fd;
    bool pipe, whole; /* whole: nothing more comes */
    bool skipping;    /* the rest of a line that is too long */
    char *text;       /* [from, len) is to be read */
    size_t from, len, cap;
    uint64_t grew_ns; /* when there was something to read last */
    struct capture_clock own, *clock;
};

struct reader {
    struct capture *c;
    struct log **log; /* with `follow`: the current one, behind those that were rotated away */
    size_t logs, room;
    bool followed;
    struct capture_clock one; /* of a log that is followed, through its rotations */
    uint64_t flushed_ns;
    void (*tell)(const struct capture *c);
};

static void flush_in_time(struct reader *r, bool live) {
    uint64_t now = clock_now_ns();
    if (now - r->flushed_ns < CAPTURE_FLUSH_NS) return;
    r->flushed_ns = now;
    if (live) capture_flush(r->c);
    if (r->tell) r->tell(r->c);
}

/* ---- one log ---- */

/* A pipe is opened without waiting for who writes to it, so that a stop is heard before anybody does. */
static int log_open(struct reader *r, const char *path, struct err *e) {
    struct stat st;
    bool input = strcmp(path, "-") == 0;
    int fd = input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return err_set_errno(e, KVF_ERR_USAGE, errno, "cannot read the log %s", path);
    bool there = fstat(fd, &st) == 0;
    if (there && S_ISDIR(st.st_mode)) {
        close(fd);
        return err_set(e, KVF_ERR_USAGE, "%s is a directory; name the files of the log", path);
    }
    struct log *l = mem_zalloc(1, sizeof *l);
    *l = (struct log){
        .path = path, .fd = fd, .pipe = there && !S_ISREG(st.st_mode), .grew_ns = clock_now_ns()};
    l->clock = r->followed ? &r->one : &l->own;
    mem_room(r->log, r->logs, r->room);
    r->log[r->logs++] = l;
    return 0;
}

/* Lines as long as the log is no later than `until_ns`; `last`: also one without an end. */
static void lines_take(struct reader *r, struct log *l, uint64_t until_ns, bool last) {
    char *end;
    r->c->clock = l->clock;
    while (l->clock->at_ns <= until_ns && l->from < l->len &&
           ((end = memchr(l->text + l->from, '\n', l->len - l->from)) || last)) {
        size_t to = end ? (size_t)(end - l->text) : l->len;
        if (!l->skipping) {
            l->text[to] = '\0';
            capture_line(r->c, l->text + l->from, to - l->from);
        }
        l->skipping = false;
        l->from = end ? to + 1 : to;
    }
}

enum filled { MORE, NOTHING_YET, AT_END, BROKEN };

static enum filled log_fill(struct reader *r, struct log *l, int wait_ms, struct err *e) {
    struct pollfd ready = {.fd = l->fd, .events = POLLIN};
    if (l->pipe && poll(&ready, 1, wait_ms) <= 0) return NOTHING_YET; /* nor any writer, or a signal */
    if (l->from > 0) memmove(l->text, l->text + l->from, l->len - l->from);
    l->len -= l->from;
    l->from = 0;
    if (l->len > LINES_MAX) {
        if (!l->skipping) capture_reject(r->c, CAPTURE_REJECT_LARGE);
        l->skipping = true;
        l->len = 0;
    }
    if (l->cap < l->len + READ_BYTES + 1) l->text = mem_realloc(l->text, l->cap = l->len + 2 * READ_BYTES);
    ssize_t n = read(l->fd, l->text + l->len, READ_BYTES);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return NOTHING_YET;
    if (n < 0) {
        err_set_errno(e, KVF_ERR_IO, errno, "cannot read %s", l->path);
        return BROKEN;
    }
    if (n == 0) return AT_END;
    l->len += (size_t)n;
    l->grew_ns = clock_now_ns();
    return MORE;
}

static void log_close(struct log *l) {
    if (l->fd != STDIN_FILENO) close(l->fd);
    free(l->text);
    free(l);
}

/* ---- some logs, to their ends ---- */

/* The log that is behind the others, and in *until_ns how far they are; NULL: all are read. */
static struct log *behind_others(const struct reader *r, uint64_t *until_ns) {
    struct log *least = NULL;
    *until_ns = UINT64_MAX;
    for (size_t i = 0; i < r->logs; i++) {
        struct log *l = r->log[i];
        if (l->whole && l->from == l->len) continue;
        if (least && l->clock->at_ns >= least->clock->at_ns) {
            if (l->clock->at_ns < *until_ns) *until_ns = l->clock->at_ns;
            continue;
        }
        if (least) *until_ns = least->clock->at_ns;
        least = l;
    }
    return least;
}

static int read_to_end(struct reader *r, struct err *e) {
    uint64_t until_ns;
    struct log *l;
    while (!*r->c->stop && (l = behind_others(r, &until_ns))) {
        bool live = l->pipe && r->logs == 1;
        size_t from = l->from;
        flush_in_time(r, live);
        lines_take(r, l, until_ns, l->whole);
        if (l->from == from) {
            enum filled got = log_fill(r, l, POLL_MS, e);
            if (got == BROKEN) return -(int)e->code;
            l->whole = got == AT_END;
        }
        if (l->whole && l->from == l->len) capture_clock_end(r->c, l->clock);
    }
    return 0;
}

/* ---- one log, on and on ---- */

/* Another file has the name of the log. */
static bool rotated(const struct log *l) {
    struct stat ours, named;
    return fstat(l->fd, &ours) == 0 && stat(l->path, &named) == 0 &&
           (ours.st_ino != named.st_ino || ours.st_dev != named.st_dev);
}

/* A file that has been cut is read from its beginning. */
static void cut_follow(struct reader *r, struct log *l) {
    struct stat ours;
    if (l->pipe || fstat(l->fd, &ours) != 0 || ours.st_size >= lseek(l->fd, 0, SEEK_CUR)) return;
    lines_take(r, l, UINT64_MAX, true);
    lseek(l->fd, 0, SEEK_SET);
}

/* The next file; who writes may go on with the old one for a while, so that is read, too. */
static void rotation_follow(struct reader *r) {
    struct log *current = r->log[r->logs - 1], *old = r->log[0];
    cut_follow(r, current);
    if (rotated(current)) (void)log_open(r, current->path, &(struct err){0});
    if (r->logs == 1 || (r->logs <= OLD_MOST && clock_now_ns() - old->grew_ns < OLD_KEPT_NS)) return;
    lines_take(r, old, UINT64_MAX, true);
    log_close(old);
    memmove(r->log, r->log + 1, --r->logs * sizeof(struct log *));
}

static int read_on(struct reader *r, struct err *e) {
    struct timespec pause = {.tv_nsec = POLL_MS * 1000000L};
    while (!*r->c->stop) {
        bool more = false;
        flush_in_time(r, true);
        for (size_t i = 0; i < r->logs; i++) {
            enum filled got = log_fill(r, r->log[i], 0, e);
            if (got == BROKEN) return -(int)e->code;
            if (got == MORE) lines_take(r, r->log[i], UINT64_MAX, false);
            more |= got == MORE;
        }
        if (more) continue;
        rotation_follow(r);
        nanosleep(&pause, NULL);
    }
    for (size_t i = 0; i < r->logs; i++) lines_take(r, r->log[i], UINT64_MAX, true);
    return 0;
}

int capture_read(struct capture *c, const char *const *paths, size_t count, bool follow,
                 void (*tell)(const struct capture *c), struct err *e) {
    struct reader r = {.c = c, .tell = tell, .flushed_ns = clock_now_ns()};
    int rc = 0;
    follow = follow && strcmp(paths[0], "-") != 0;
    r.followed = follow;
    for (size_t i = 0; i < count && !rc; i++) rc = log_open(&r, paths[i], e);
    if (!rc) rc = follow ? read_on(&r, e) : read_to_end(&r, e);
    capture_end(c);
    while (r.logs > 0) log_close(r.log[--r.logs]);
    free(r.log);
    return rc;
}
