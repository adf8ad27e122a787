#include "base/incoming.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define SILENCE_NS (5 * KVF_NS_PER_S)
enum { LOOK_MS = 20 };

int incoming_open(const char *path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    return fd < 0 ? -errno : fd;
}

/* Without a writer a pipe is at its end at once, which only a look now and then tells from one that has none
 * yet; with a writer it has nothing yet. */
long incoming_read(int fd, char *buf, size_t len, size_t before) {
    uint64_t until_ns = clock_now_ns() + SILENCE_NS;
    off_t at = lseek(fd, 0, SEEK_CUR);
    bool streams = at < 0 && errno == ESPIPE;
    for (;;) {
        ssize_t n = read(fd, buf, len);
        if (n > 0 || (n == 0 && (!streams || before > 0))) return n;
        if (n < 0 && errno != EAGAIN && errno != EINTR) return -errno;
        if (clock_now_ns() >= until_ns) return -ETIMEDOUT;
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (n == 0)
            (void)nanosleep(&(struct timespec){.tv_nsec = LOOK_MS * 1000000L}, NULL);
        else
            (void)poll(&p, 1, LOOK_MS);
    }
}

const char *incoming_error(long error) {
    return error == -ETIMEDOUT ? "nothing has come through this pipe for 5 s; name a file, or write into it"
                               : strerror((int)-error);
}
