#include "tier/nvme/nvme_rundir.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "probe/filesystem.h"
#include "tier/nvme/nvme.h"

/* ---- who made it ---- */

#define MARKER_FORMAT "kvfall run directory\nuid %u\npid %ld\nboot %s\nstart %" PRIu64 "\nhost %s\n"

enum { BIRTH_SLACK_S = 2 }; /* both clocks are coarse */
enum { LISTED_BYTES = 4096 };

/* The first line of a small file, without its end. No memory is asked for, here and below: what is removed
 * when memory is exhausted has to go as well. */
static bool first_line(const char *path, char *out, size_t cap) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd >= 0 ? read(fd, out, cap - 1) : -1;
    if (fd >= 0) close(fd);
    if (len <= 0) return false;
    out[len] = '\0';
    out[strcspn(out, "\n")] = '\0';
    return true;
}

static void boot_id(char out[RUNDIR_BOOT]) {
    if (!first_line("/proc/sys/kernel/random/boot_id", out, RUNDIR_BOOT) || !out[0])
        snprintf(out, RUNDIR_BOOT, "unknown");
}

/* When the process started; 0 when there is no such process. */
static uint64_t process_start(long pid) {
    char path[64], line[1024];
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    bool ok = first_line(path, line, sizeof line);
    char *at = ok ? strrchr(line, ')') : NULL; /* the name before it may hold anything */
    for (int field = 2; at && field < 22; field++) at = strchr(at + 1, ' ');
    return at ? strtoull(at + 1, NULL, 10) : 0;
}

static void host_name(char out[RUNDIR_HOST]) {
    if (gethostname(out, RUNDIR_HOST) != 0) out[0] = '\0';
    out[RUNDIR_HOST - 1] = '\0';
    if (!out[0]) snprintf(out, RUNDIR_HOST, "unknown");
}

int nvme_rundir_mark(int marker_fd) {
    struct rundir_marker m = {.uid = (unsigned)geteuid(), .pid = (long)getpid()};
    m.start = process_start(m.pid);
    boot_id(m.boot);
    host_name(m.host);
    char text[512];
    int len = snprintf(text, sizeof text, MARKER_FORMAT, m.uid, m.pid, m.boot, m.start, m.host);
    ssize_t written = write(marker_fd, text, (size_t)len);
    if (written >= 0 && written < len) errno = ENOSPC;
    return written == len ? fsync(marker_fd) : -1;
}

bool nvme_rundir_marker_read(int marker_fd, struct rundir_marker *m) {
    char text[512], again[512];
    ssize_t len = pread(marker_fd, text, sizeof text - 1, 0);
    if (len <= 0) return false;
    text[len] = '\0';
    if (sscanf(text, "kvfall run directory\nuid %u\npid %ld\nboot %63s\nstart %" PRIu64 "\nhost %64s\n",
               &m->uid, &m->pid, m->boot, &m->start, m->host) != 5)
        return false;
    snprintf(again, sizeof again, MARKER_FORMAT, m->uid, m->pid, m->boot, m->start, m->host);
    return strcmp(text, again) == 0;
}

bool nvme_rundir_maker_is_gone(const struct rundir_marker *m, int dir_fd) {
    char boot[RUNDIR_BOOT], host[RUNDIR_HOST];
    host_name(host);
    if (strcmp(m->host, host) != 0 && filesystem_is_shared(dir_fd)) return false;
    boot_id(boot);
    if (strcmp(m->boot, boot) != 0) return true;
    return process_start(m->pid) != m->start;
}

bool nvme_rundir_pid_may_be_maker(long pid, int dir_fd) {
    struct timespec wall, since_boot;
    struct statx st;
    uint64_t start = process_start(pid);
    if (start == 0) return false;
    if (statx(dir_fd, "", AT_EMPTY_PATH, STATX_BTIME | STATX_CTIME, &st) != 0) return true;
    clock_gettime(CLOCK_REALTIME, &wall);
    clock_gettime(CLOCK_BOOTTIME, &since_boot);
    int64_t begun = wall.tv_sec - since_boot.tv_sec + (int64_t)start / sysconf(_SC_CLK_TCK);
    int64_t born = st.stx_mask & STATX_BTIME ? st.stx_btime.tv_sec : st.stx_ctime.tv_sec;
    return begun <= born + BIRTH_SLACK_S;
}

/* ---- names of ours ---- */

static bool is_hex(const char *text, size_t len) {
    for (size_t i = 0; i < len; i++)
        if (!isdigit((unsigned char)text[i]) && !(text[i] >= 'a' && text[i] <= 'f')) return false;
    return true;
}

bool nvme_rundir_name(const char *name, long *pid) {
    unsigned uid;
    char tag[20] = "", again[96];
    if (sscanf(name, "kvfall-%u-%ld-%17s", &uid, pid, tag) != 3 || strlen(tag) != 16 || !is_hex(tag, 16))
        return false;
    snprintf(again, sizeof again, "kvfall-%u-%ld-%s", uid, *pid, tag);
    return strcmp(name, again) == 0 && uid == (unsigned)geteuid();
}

static bool is_data_file(const char *name) {
    return strlen(name) == 19 && is_hex(name, 16) && strcmp(name + 16, ".kv") == 0;
}

static bool is_top_file(const char *name) {
    return strcmp(name, NVME_ARENA_NAME) == 0;
}

static bool is_subdir(const char *name) {
    return strlen(name) == 2 && is_hex(name, 2);
}

/* ---- what is inside ---- */

/* The fate of an item in the directory; `below` is the subdirectory that it is in, or "". */
struct visit {
    bool remove;
    uint64_t bytes;           /* of files of ours */
    unsigned foreign, failed; /* things that stay */
    char first_foreign[NAME_MAX + 8], first_failed[NAME_MAX + 8];
    int error; /* of the first that failed */
};

static void visit_failed(struct visit *v, const char *below, const char *name, int error) {
    if (v->failed++ > 0) return;
    snprintf(v->first_failed, sizeof v->first_failed, "%s%s%s", below, below[0] ? "/" : "", name);
    v->error = error;
}

static void visit_foreign(struct visit *v, const char *below, const char *name) {
    if (v->foreign++ == 0)
        snprintf(v->first_foreign, sizeof v->first_foreign, "%s%s%s", below, below[0] ? "/" : "", name);
}

/* Somebody else may have removed it meanwhile: then it is gone all the same. */
static void visit_unlink(struct visit *v, int at, const char *below, const char *name, int flags) {
    if (v->remove && unlinkat(at, name, flags) != 0 && errno != ENOENT) visit_failed(v, below, name, errno);
}

static void visit_file(struct visit *v, int at, const char *below, const char *name, const struct stat *st) {
    v->bytes += (uint64_t)st->st_blocks * 512;
    visit_unlink(v, at, below, name, 0);
}

static void visit_dir(struct visit *v, int dir, const char *below);

/* The directory goes unless something in it stays. */
static void visit_subdir(struct visit *v, int at, const char *name) {
    unsigned before = v->foreign + v->failed;
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        if (errno != ENOENT) visit_failed(v, "", name, errno);
        return;
    }
    visit_dir(v, fd, name);
    close(fd);
    if (v->foreign + v->failed == before) visit_unlink(v, at, "", name, AT_REMOVEDIR);
}

static void visit_one(struct visit *v, int dir, const char *below, const char *name) {
    bool top = below[0] == '\0';
    struct stat st;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) return;
    if (top && strcmp(name, RUNDIR_MARKER) == 0) return;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno != ENOENT) visit_failed(v, below, name, errno);
    } else if (S_ISREG(st.st_mode) && (top ? is_top_file(name) : is_data_file(name))) {
        visit_file(v, dir, below, name, &st);
    } else if (top && S_ISDIR(st.st_mode) && is_subdir(name)) {
        visit_subdir(v, dir, name);
    } else {
        visit_foreign(v, below, name);
    }
}

/* Through the kernel's own list: readdir() would ask for memory. */
static void visit_dir(struct visit *v, int dir, const char *below) {
    _Alignas(struct dirent64) char list[LISTED_BYTES];
    ssize_t got = lseek(dir, 0, SEEK_SET) < 0 ? -1 : getdents64(dir, list, sizeof list);
    for (; got > 0; got = getdents64(dir, list, sizeof list)) {
        for (ssize_t at = 0; at < got;) {
            const struct dirent64 *entry = (const struct dirent64 *)(list + at);
            visit_one(v, dir, below, entry->d_name);
            at += entry->d_reclen;
        }
    }
    if (got < 0) visit_failed(v, below, "", errno);
}

uint64_t nvme_rundir_bytes(int dir_fd) {
    struct visit v = {0};
    visit_dir(&v, dir_fd, "");
    return v.bytes;
}

bool nvme_rundir_remove_now(const char *path) {
    struct visit v = {.remove = true};
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return errno == ENOENT;
    visit_dir(&v, fd, "");
    bool empty = v.failed == 0 && v.foreign == 0 && (unlinkat(fd, RUNDIR_MARKER, 0) == 0 || errno == ENOENT);
    close(fd);
    return empty && (rmdir(path) == 0 || errno == ENOENT);
}

bool nvme_rundir_lockless(int error) {
    return error == ENOSYS || error == ENOLCK || error == EOPNOTSUPP || error == EINVAL;
}

int nvme_rundir_sync(int dir_fd) {
    return fsync(dir_fd) == 0 || errno == EINVAL || errno == EROFS ? 0 : errno;
}

/* A directory that stays without its marker would not be found again. */
static void mark_again(int dir_fd) {
    int fd = openat(dir_fd, RUNDIR_MARKER, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return;
    (void)nvme_rundir_mark(fd);
    close(fd);
}

static bool remove_itself(const char *path, int fd) {
    if (unlinkat(fd, RUNDIR_MARKER, 0) != 0 && errno != ENOENT) {
        log_line(KVF_LOG_WARNING, "%s stays: its file " RUNDIR_MARKER " cannot be removed: %s", path,
                 strerror(errno));
        return false;
    }
    if (rmdir(path) == 0 || errno == ENOENT) return true;
    log_line(KVF_LOG_WARNING, "%s is empty and cannot be removed: %s", path, strerror(errno));
    mark_again(fd);
    return false;
}

bool nvme_rundir_remove(const char *path, int dir_fd) {
    struct visit v = {.remove = true};
    visit_dir(&v, dir_fd, ""); /* not by another descriptor: there may be none */
    bool gone = false;
    if (v.failed > 0) {
        char more[40] = "";
        if (v.failed > 1) snprintf(more, sizeof more, ", and %u more", v.failed - 1);
        log_line(KVF_LOG_WARNING, "%s stays: %s cannot be removed: %s%s; the next start tries again", path,
                 v.first_failed[0] ? v.first_failed : "what is in it", strerror(v.error), more);
    } else if (v.foreign > 0) {
        log_line(KVF_LOG_WARNING,
                 "%s holds %u thing%s that kvfall did not put there, such as %s; it stays, remove it by hand",
                 path, v.foreign, v.foreign == 1 ? "" : "s", v.first_foreign);
    } else {
        gone = remove_itself(path, dir_fd);
    }
    close(dir_fd);
    return gone;
}
