#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/units.h"
#include "tier/nvme/nvme.h"
#include "tier/nvme/nvme_rundir.h"

/* Run directories that nobody removed: what a killed run or a power cut left. */

enum { NAMED = 3 };

/* A directory of our pattern while it is looked at: with its locks, if nobody else has them. */
struct look {
    int fd, marker_fd;
    enum tier_leftover_state state;
    int error; /* why it cannot be looked into */
    long pid;
};

static void look_end(struct look *l) {
    if (l->marker_fd >= 0) close(l->marker_fd);
    if (l->fd >= 0) close(l->fd);
    l->fd = l->marker_fd = -1;
}

/* Of one whose marker may say anything, or that has none. */
static enum tier_leftover_state state_by_marker(struct look *l) {
    struct rundir_marker m;
    struct stat st;
    l->marker_fd = openat(l->fd, RUNDIR_MARKER, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    bool file =
        l->marker_fd >= 0 && fstat(l->marker_fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid();
    if (file && flock(l->marker_fd, LOCK_EX | LOCK_NB) != 0 && !nvme_rundir_lockless(errno))
        return TIER_LEFTOVER_IN_USE;
    if (file && nvme_rundir_marker_read(l->marker_fd, &m) && m.uid == (unsigned)geteuid()) {
        l->pid = m.pid;
        return nvme_rundir_maker_is_gone(&m, l->fd) ? TIER_LEFTOVER_ENDED : TIER_LEFTOVER_IN_USE;
    }
    return nvme_rundir_pid_may_be_maker(l->pid, l->fd) ? TIER_LEFTOVER_IN_USE : TIER_LEFTOVER_UNMARKED;
}

/* false: it is no directory of our pattern that belongs to us. */
static bool look_at(int at, const char *name, struct look *l) {
    struct stat st;
    *l = (struct look){.fd = -1, .marker_fd = -1};
    if (!nvme_rundir_name(name, &l->pid) || fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
        return false;
    l->fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (l->fd < 0) {
        l->error = errno;
        l->state = TIER_LEFTOVER_CLOSED;
        return l->error != ENOENT;
    }
    if (flock(l->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        l->state = TIER_LEFTOVER_IN_USE;
    else
        l->state = state_by_marker(l);
    return true;
}

static bool path_of(char out[PATH_MAX], const char *parent, const char *name) {
    size_t len = strlen(parent);
    const char *slash = len > 0 && parent[len - 1] == '/' ? "" : "/";
    return snprintf(out, PATH_MAX, "%s%s%s", parent, slash, name) < PATH_MAX;
}

int tier_nvme_leftovers_find(const char *parent, struct tier_leftover **out, size_t *count, struct err *e) {
    int fd = open(parent, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), error = errno;
    struct stat st;
    *out = NULL;
    *count = 0;
    if (fd < 0 && lstat(parent, &st) == 0 && S_ISLNK(st.st_mode))
        return err_set(e, KVF_ERR_USAGE, "%s is a symbolic link; name the directory itself", parent);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    if (!d) {
        if (fd >= 0) close(fd);
        return err_set_errno(e, KVF_ERR_USAGE, error, "%s cannot be looked through", parent);
    }
    for (struct dirent *entry; (entry = readdir(d)) != NULL;) {
        struct tier_leftover one = {0};
        struct look l;
        if (!look_at(dirfd(d), entry->d_name, &l)) continue;
        if (path_of(one.path, parent, entry->d_name)) {
            one.state = l.state;
            one.pid = l.pid;
            one.error = l.error;
            if (l.marker_fd >= 0) close(l.marker_fd); /* its maker may be waiting for the locks */
            l.marker_fd = -1;
            if (l.fd >= 0) {
                flock(l.fd, LOCK_UN);
                one.bytes = nvme_rundir_bytes(l.fd);
            }
            *out = mem_realloc(*out, (*count + 1) * sizeof **out);
            (*out)[(*count)++] = one;
        }
        look_end(&l);
    }
    closedir(d);
    return 0;
}

bool tier_nvme_leftover_remove(const struct tier_leftover *leftover) {
    const char *name = strrchr(leftover->path, '/') + 1;
    char parent[PATH_MAX];
    struct look l;
    bool gone = false;
    snprintf(parent, sizeof parent, "%.*s", (int)(name - leftover->path), leftover->path);
    int at = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (at < 0 || !look_at(at, name, &l)) {
        log_line(KVF_LOG_WARNING, "%s is not there any more", leftover->path);
    } else if (l.state == TIER_LEFTOVER_ENDED || l.state == TIER_LEFTOVER_UNMARKED) {
        gone = nvme_rundir_remove(leftover->path, l.fd);
        l.fd = -1;
        look_end(&l);
    } else {
        log_line(KVF_LOG_WARNING, "%s is in use now; it stays", leftover->path);
        look_end(&l);
    }
    if (at >= 0) close(at);
    return gone;
}

/* Of one path, at the start of a run: what has a marker goes, the rest is named. */
unsigned nvme_path_clean(const char *path) {
    struct tier_leftover *found;
    size_t count;
    unsigned removed = 0, unmarked = 0;
    if (tier_nvme_leftovers_find(path, &found, &count, NULL) != 0) return 0;
    for (size_t i = 0; i < count; i++) {
        char size[32];
        if (found[i].state == TIER_LEFTOVER_ENDED && tier_nvme_leftover_remove(&found[i])) {
            log_line(KVF_LOG_INFO, "removed %s, left behind by process %ld", found[i].path, found[i].pid);
            removed++;
        }
        if (found[i].state == TIER_LEFTOVER_UNMARKED && unmarked++ < NAMED)
            log_line(
                KVF_LOG_WARNING,
                "%s (%s) has the name of a run directory and no valid marker, so it stays; `kvfall clean "
                "%s` removes it",
                found[i].path, units_size_human((double)found[i].bytes, size, sizeof size), path);
    }
    if (unmarked > NAMED)
        log_line(KVF_LOG_WARNING, "%u more such directories are under %s", unmarked - NAMED, path);
    free(found);
    return removed;
}

unsigned tier_nvme_clean_leftovers(const struct scenario *s) {
    unsigned removed = 0;
    for (uint32_t i = 0; i < s->nvme.path_count; i++) removed += nvme_path_clean(s->nvme.path[i]);
    return removed;
}

/* "./kvfall-0-12-0123456789abcdef (1.20 GiB) and 2 more" */
uint64_t tier_nvme_unmarked(const struct scenario *s, char *out, size_t len) {
    uint64_t bytes = 0;
    size_t named = 0, at = 0;
    if (len) out[0] = '\0';
    for (uint32_t i = 0; i < s->nvme.path_count; i++) {
        struct tier_leftover *found;
        size_t count;
        char size[32];
        if (tier_nvme_leftovers_find(s->nvme.path[i], &found, &count, NULL) != 0) continue;
        for (size_t k = 0; k < count; k++) {
            if (found[k].state != TIER_LEFTOVER_UNMARKED) continue;
            bytes += found[k].bytes;
            if (named++ < NAMED && at < len)
                at += (size_t)snprintf(out + at, len - at, "%s%s (%s)", named > 1 ? ", " : "", found[k].path,
                                       units_size_human((double)found[k].bytes, size, sizeof size));
        }
        free(found);
    }
    if (named > NAMED && at < len) snprintf(out + at, len - at, " and %zu more", named - NAMED);
    return bytes;
}
