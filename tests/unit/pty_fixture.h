/* A terminal of a test: the master side of a pair, and all that was sent to it. */
#ifndef KVF_TESTS_PTY_FIXTURE_H
#define KVF_TESTS_PTY_FIXTURE_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"

#define PATIENCE (10 * KVF_NS_PER_S) /* within this a thing that is waited for has happened */

struct pty {
    int master, slave;
    struct buf seen; /* what has been read from the master */
};

static void pty_size(const struct pty *p, int rows, int cols) {
    struct winsize w = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)cols};
    assert_int_equal(ioctl(p->master, TIOCSWINSZ, &w), 0);
}

static void pty_open(struct pty *p, int rows, int cols) {
    *p = (struct pty){.master = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)};
    assert_true(p->master >= 0);
    assert_int_equal(grantpt(p->master), 0);
    assert_int_equal(unlockpt(p->master), 0);
    p->slave = open(ptsname(p->master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(p->slave >= 0);
    pty_size(p, rows, cols);
}

static void pty_close(struct pty *p) {
    if (p->master >= 0) close(p->master);
    if (p->slave >= 0) close(p->slave);
    buf_free(&p->seen);
}

/* Reads what is there. */
static void pty_read(struct pty *p) {
    char bytes[4096];
    ssize_t n;

    while ((n = read(p->master, bytes, sizeof bytes)) > 0) buf_bytes(&p->seen, bytes, (size_t)n);
}

static bool pty_has(const struct pty *p, const char *text) {
    return p->seen.len && memmem(p->seen.data, p->seen.len, text, strlen(text));
}

static void pty_type(const struct pty *p, const char *bytes, size_t len) {
    assert_int_equal(write(p->master, bytes, len), len);
}

static void pty_modes(const struct pty *p, struct termios *out) {
    assert_int_equal(tcgetattr(p->slave, out), 0);
}

#endif
