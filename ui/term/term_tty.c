#include "ui/term/term_tty.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "draw/canvas.h"

/* The terminal's number, also behind /dev/tty; 0 when it is none. */
static uint64_t device_of(int fd) {
    unsigned int number;
    struct stat st;

    if (!isatty(fd)) return 0;
    if (ioctl(fd, TIOCGDEV, &number) == 0) return number;
    return fstat(fd, &st) == 0 ? (uint64_t)st.st_rdev : 0;
}

static int open_same(const char *path, uint64_t device) {
    int fd = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);

    if (fd >= 0 && device_of(fd) != device) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* Non-blocking is a property of the open file, which our descriptor shares with the shell: hence a new
 * one. The first way works without a name in /dev (containers), the last without permission (su). */
int term_tty_open(int fd, struct err *e) {
    uint64_t device = device_of(fd);
    char name[64];
    int own;

    (void)snprintf(name, sizeof name, "descriptor %d", fd);
    const char *what = fd == STDOUT_FILENO ? "standard output" : name;
    if (device == 0) return err_set(e, KVF_ERR_UNAVAILABLE, "%s is not a terminal", what);

    char path[64];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if ((own = open_same(path, device)) >= 0) return own;
    if (ttyname_r(fd, path, sizeof path) == 0 && (own = open_same(path, device)) >= 0) return own;
    if ((own = open_same("/dev/tty", device)) >= 0) return own;
    return err_set(e, KVF_ERR_UNAVAILABLE,
                   "the terminal on %s cannot be opened for reading and writing (is it another user's?)",
                   what);
}

bool term_tty_foreground(int fd) {
    pid_t group = tcgetpgrp(fd);

    return group < 0 || group == getpgrp();
}

bool term_tty_hung_up(int fd) {
    struct pollfd p = {.fd = fd};

    return poll(&p, 1, 0) == 1 && (p.revents & (POLLHUP | POLLERR | POLLNVAL));
}

static int inside(unsigned n, int unsaid, int most) {
    if (n == 0) return unsaid;
    return n > (unsigned)most ? most : (int)n;
}

void term_tty_size(int fd, int *rows, int *cols) {
    struct winsize w = {0};

    if (ioctl(fd, TIOCGWINSZ, &w) != 0) w = (struct winsize){0};
    *rows = inside(w.ws_row, 24, CANVAS_ROWS_MAX);
    *cols = inside(w.ws_col, 80, CANVAS_COLS_MAX);
}

struct termios term_tty_raw(const struct termios *found) {
    struct termios m = *found;

    m.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ECHONL | ISIG | IEXTEN);
    m.c_iflag &= ~(tcflag_t)(ICRNL | INLCR | IGNCR | ISTRIP | PARMRK);
    m.c_oflag &= ~(tcflag_t)OPOST;
    /* with one byte at least, reading nothing means the end and not "no key yet" */
    m.c_cc[VMIN] = 1;
    m.c_cc[VTIME] = 0;
    return m;
}

bool term_tty_same_modes(const struct termios *a, const struct termios *b) {
    return a->c_iflag == b->c_iflag && a->c_oflag == b->c_oflag && a->c_lflag == b->c_lflag &&
           a->c_cflag == b->c_cflag && a->c_cc[VMIN] == b->c_cc[VMIN] && a->c_cc[VTIME] == b->c_cc[VTIME];
}

static const int stops[] = {SIGTTOU, SIGTTIN};
enum { STOPS = sizeof stops / sizeof stops[0] };

void term_tty_block_stops(sigset_t *before) {
    sigset_t set;

    sigemptyset(&set);
    for (int i = 0; i < STOPS; i++) sigaddset(&set, stops[i]);
    pthread_sigmask(SIG_BLOCK, &set, before);
}

void term_tty_unblock_stops(const sigset_t *before) {
    sigset_t set;

    sigemptyset(&set);
    for (int i = 0; i < STOPS; i++) {
        if (!sigismember(before, stops[i])) sigaddset(&set, stops[i]);
    }
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}
