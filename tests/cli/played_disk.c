/* Loaded before libaio: while the file that PLAYED_HANG names is there, operations go nowhere; they are
 * handed to the kernel when it is gone. And fsync() of a file whose path begins with PLAYED_SYNC never
 * returns. */
#define _GNU_SOURCE
#include <errno.h>
#include <libaio.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { HELD = 65536 };

static struct {
    io_context_t ctx;
    struct iocb *cb;
} held[HELD];
static unsigned count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int kernel_submit(io_context_t ctx, long nr, struct iocb **ios) {
    long rc = syscall(SYS_io_submit, ctx, nr, ios);
    return rc < 0 ? -errno : (int)rc;
}

static int hangs(void) {
    const char *path = getenv("PLAYED_HANG");
    return path && access(path, F_OK) == 0;
}

static void *release(void *arg) {
    for (;;) {
        usleep(20000);
        if (hangs()) continue;
        pthread_mutex_lock(&lock);
        for (unsigned i = 0; i < count; i++)
            while (kernel_submit(held[i].ctx, 1, &held[i].cb) != 1) usleep(1000);
        count = 0;
        pthread_mutex_unlock(&lock);
    }
    return arg;
}

int io_submit(io_context_t ctx, long nr, struct iocb *ios[]) {
    static pthread_t thread;
    int taken = 0;
    if (!hangs()) return kernel_submit(ctx, nr, ios);
    pthread_mutex_lock(&lock);
    if (!thread) pthread_create(&thread, NULL, release, NULL);
    for (; taken < nr && count < HELD; taken++, count++) {
        held[count].ctx = ctx;
        held[count].cb = ios[taken];
    }
    pthread_mutex_unlock(&lock);
    return taken;
}

int fsync(int fd) {
    const char *held_path = getenv("PLAYED_SYNC");
    char link[40], path[4096] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (held_path && readlink(link, path, sizeof path - 1) > 0 &&
        strncmp(path, held_path, strlen(held_path)) == 0)
        for (;;) pause();
    return (int)syscall(SYS_fsync, fd);
}
