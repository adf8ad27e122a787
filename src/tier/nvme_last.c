/* Run directories that go when the process has to end at once. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/exhausted.h"
#include "scenario/scenario.h"
#include "tier/nvme.h"
#include "tier/nvme_rundir.h"

/* A place is free, then being written, then in use: whoever ends the process reads those in use, beside
 * threads that take and leave others. */
enum { FREE, WRITTEN, USED };
enum { PLACES = SCENARIO_PATHS_MAX, LISTED = 4096, TRIES = 200, DEPTH_MAX = 2 };

static struct {
    _Atomic int state;
    char path[PATH_MAX];
} places[PLACES];

/* As the kernel lists a directory. */
struct listed {
    uint64_t inode;
    int64_t next;
    unsigned short length;
    unsigned char type;
    char name[];
};

static bool hex(const char *text, size_t len) {
    for (size_t i = 0; i < len; i++)
        if (!isdigit((unsigned char)text[i]) && !(text[i] >= 'a' && text[i] <= 'f')) return false;
    return true;
}

static bool of_ours(const char *name, int depth) {
    if (depth == DEPTH_MAX) return strlen(name) == 19 && hex(name, 16) && strcmp(name + 16, ".kv") == 0;
    return strcmp(name, RUNDIR_MARKER) == 0 || strcmp(name, NVME_ARENA_NAME) == 0;
}

/* Unlinks what is of our naming, without any memory but the stack. Takes the descriptor. */
static void empty(int fd, int depth) {
    _Alignas(struct listed) char list[LISTED];
    long got;

    while ((got = syscall(SYS_getdents64, fd, list, sizeof list)) > 0) {
        const struct listed *one;
        for (long at = 0; at < got; at += one->length) {
            one = (const struct listed *)(list + at);
            if (of_ours(one->name, depth)) {
                (void)unlinkat(fd, one->name, 0);
            } else if (depth + 1 == DEPTH_MAX && strlen(one->name) == 2 && hex(one->name, 2)) {
                int below = openat(fd, one->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                if (below >= 0) empty(below, depth + 1);
                (void)unlinkat(fd, one->name, AT_REMOVEDIR);
            }
        }
    }
    close(fd);
}

/* Other threads may still be making files: again, until the directory has gone or something foreign keeps it.
 */
static void last_act(void) {
    for (int i = 0; i < PLACES; i++) {
        if (atomic_load(&places[i].state) != USED) continue;
        for (int tries = 0; tries < TRIES; tries++) {
            int fd = open(places[i].path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            if (fd >= 0) empty(fd, 1);
            if (rmdir(places[i].path) == 0 || errno == ENOENT) break;
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        }
    }
}

void nvme_last_keep(const char *path) {
    exhausted_act(last_act);
    for (int i = 0; i < PLACES; i++) {
        int expected = FREE;
        if (!atomic_compare_exchange_strong(&places[i].state, &expected, WRITTEN)) continue;
        (void)snprintf(places[i].path, sizeof places[i].path, "%s", path);
        atomic_store(&places[i].state, USED);
        return;
    }
}

void nvme_last_forget(const char *path) {
    for (int i = 0; i < PLACES; i++)
        if (atomic_load(&places[i].state) == USED && strcmp(places[i].path, path) == 0) {
            atomic_store(&places[i].state, FREE);
            return;
        }
}
