#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "tier/nvme.h"

/* A run directory is named kvfall-<uid>-<pid>-<tag> and holds a marker file that says which process of
 * which boot made it. The maker keeps the marker locked while it lives. A directory is a leftover, and
 * is removed, only if everything agrees: the name, the owner, the marker, the process is gone, and the
 * lock is free (which also tells processes apart that another container or host numbers). Only files
 * of our own naming are ever unlinked. */

#define MARKER        "kvfall.run"
#define MARKER_FORMAT "kvfall run directory\nuid %u\npid %ld\nboot %s\nstart %llu\nhost %s\n"

enum { BOOT_ID = 64, HOST = 65 };

struct marker {
    unsigned uid;
    long pid;
    unsigned long long start; /* of the process, in clock ticks since boot */
    char boot[BOOT_ID], host[HOST];
};

static void boot_id(char out[BOOT_ID]) {
    snprintf(out, BOOT_ID, "unknown");
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (!f) return;
    if (fscanf(f, "%63s", out) != 1) snprintf(out, BOOT_ID, "unknown");
    fclose(f);
}

/* When the process started; 0 when there is no such process. */
static unsigned long long process_start(long pid) {
    char path[64], line[1024];
    snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
    FILE *f = fopen(path, "re");
    if (!f) return 0;
    bool ok = fgets(line, sizeof(line), f) != NULL;
    fclose(f);
    char *at = ok ? strrchr(line, ')') : NULL; /* the name before it may hold anything */
    for (int field = 2; at && field < 22; field++) at = strchr(at + 1, ' ');
    return at ? strtoull(at + 1, NULL, 10) : 0;
}

static void host_name(char out[HOST]) {
    if (gethostname(out, HOST) != 0) out[0] = '\0';
    out[HOST - 1] = '\0';
    if (!out[0]) snprintf(out, HOST, "unknown");
}

static int marker_write(int fd) {
    struct marker m = {.uid = (unsigned)geteuid(), .pid = (long)getpid()};
    m.start = process_start(m.pid);
    boot_id(m.boot);
    host_name(m.host);
    char text[512];
    int len = snprintf(text, sizeof(text), MARKER_FORMAT, m.uid, m.pid, m.boot, m.start, m.host);
    return write(fd, text, (size_t)len) == len ? 0 : -1;
}

static bool marker_read(int fd, struct marker *m) {
    char text[512], again[512];
    ssize_t len = pread(fd, text, sizeof(text) - 1, 0);
    if (len <= 0) return false;
    text[len] = '\0';
    if (sscanf(text, "kvfall run directory\nuid %u\npid %ld\nboot %63s\nstart %llu\nhost %64s\n", &m->uid,
               &m->pid, m->boot, &m->start, m->host) != 5)
        return false;
    snprintf(again, sizeof(again), MARKER_FORMAT, m->uid, m->pid, m->boot, m->start, m->host);
    return strcmp(text, again) == 0;
}

static bool maker_is_gone(const struct marker *m) {
    char boot[BOOT_ID];
    boot_id(boot);
    if (strcmp(m->boot, boot) != 0) return true;
    return process_start(m->pid) != m->start;
}

static bool is_hex(const char *text, size_t len) {
    for (size_t i = 0; i < len; i++)
        if (!isdigit((unsigned char)text[i]) && !(text[i] >= 'a' && text[i] <= 'f')) return false;
    return true;
}

static bool is_data_file(const char *name) {
    return strlen(name) == 19 && is_hex(name, 16) && strcmp(name + 16, ".kv") == 0;
}

static bool is_subdir(const char *name) {
    return strlen(name) == 2 && is_hex(name, 2);
}

/* kvfall-<uid>-<pid>-<16 hex digits> of this user. */
static bool is_run_name(const char *name) {
    unsigned uid;
    long pid;
    char tag[20] = "", again[96];
    if (sscanf(name, "kvfall-%u-%ld-%17s", &uid, &pid, tag) != 3 || strlen(tag) != 16 || !is_hex(tag, 16))
        return false;
    snprintf(again, sizeof(again), "kvfall-%u-%ld-%s", uid, pid, tag);
    return strcmp(name, again) == 0 && uid == (unsigned)geteuid();
}

static int dir_open_at(int at, const char *name) {
    return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Somebody else may have removed it meanwhile: then it is gone all the same. */
static bool unlinked(int at, const char *name, int flags) {
    return unlinkat(at, name, flags) == 0 || errno == ENOENT;
}

/* Unlinks the files in `dir` whose name is ours; returns how many things stay. Takes the descriptor. */
static unsigned unlink_files(int dir, bool (*ours)(const char *name)) {
    DIR *d = fdopendir(dir);
    if (!d) {
        close(dir);
        return 1;
    }
    unsigned left = 0;
    for (struct dirent *entry; (entry = readdir(d)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        struct stat st;
        if (fstatat(dirfd(d), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            left += errno != ENOENT;
        else if (!S_ISREG(st.st_mode) || !ours(entry->d_name) || !unlinked(dirfd(d), entry->d_name, 0))
            left++;
    }
    closedir(d);
    return left;
}

static bool is_arena(const char *name) {
    return strcmp(name, NVME_ARENA_NAME) == 0;
}

/* Removes everything of ours below a run directory but the marker. Returns how many other things there
 * are besides the marker. */
static unsigned empty_dir(int fd) {
    int copy = dir_open_at(fd, ".");
    DIR *d = copy >= 0 ? fdopendir(copy) : NULL;
    if (!d) {
        if (copy >= 0) close(copy);
        return 1;
    }
    unsigned left = 0;
    for (struct dirent *entry; (entry = readdir(d)) != NULL;) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, MARKER) == 0) continue;
        struct stat st;
        if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0) continue;
        if (S_ISREG(st.st_mode) && is_arena(name)) {
            left += !unlinked(fd, name, 0);
            continue;
        }
        int sub = S_ISDIR(st.st_mode) && is_subdir(name) ? dir_open_at(fd, name) : -1;
        if (sub < 0 || unlink_files(sub, is_data_file) > 0 || !unlinked(fd, name, AT_REMOVEDIR)) left++;
    }
    closedir(d);
    return left;
}

/* Empties and removes a run directory of ours. With foreign things inside it stays, marker and all,
 * so that the next start finds it again. */
static bool remove_dir(const char *path, int fd) {
    unsigned left = empty_dir(fd);
    if (left > 0) {
        log_line(KVF_LOG_WARNING,
                 "%s holds %u thing%s that kvfall did not put there; it stays, remove it by hand", path, left,
                 left == 1 ? "" : "s");
        return false;
    }
    unlinkat(fd, MARKER, 0);
    if (rmdir(path) == 0) return true;
    log_line(KVF_LOG_WARNING, "%s cannot be removed: %s", path, strerror(errno));
    return false;
}

int nvme_dir_open(struct nvme_dir *d, const char *path, uint64_t tag, struct err *e) {
    d->fd = d->marker_fd = -1;
    char real[PATH_MAX]; /* absolute, so that it is found again from wherever the process is then */
    if (!realpath(path, real))
        return err_set_errno(e, KVF_ERR_IO, errno, "tiers.nvme.path: %s cannot be used", path);
    if (snprintf(d->path, sizeof(d->path), "%s/kvfall-%u-%ld-%016" PRIx64, real, (unsigned)geteuid(),
                 (long)getpid(), tag) >= (int)sizeof(d->path)) {
        d->path[0] = '\0';
        return err_set(e, KVF_ERR_USAGE, "tiers.nvme.path: the name %s is too long", path);
    }
    if (mkdir(d->path, 0700) != 0)
        return err_set_errno(e, KVF_ERR_IO, errno, "the run directory %s cannot be made", d->path);
    d->fd = open(d->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (d->fd >= 0)
        d->marker_fd = openat(d->fd, MARKER, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (d->marker_fd < 0 || flock(d->marker_fd, LOCK_EX | LOCK_NB) != 0 || marker_write(d->marker_fd) != 0) {
        int error = errno;
        nvme_dir_close(d);
        return err_set_errno(e, KVF_ERR_IO, error, "the run directory in %s cannot be marked", real);
    }
    return 0;
}

void nvme_dir_close(struct nvme_dir *d) {
    if (d->fd >= 0) {
        remove_dir(d->path, d->fd);
        close(d->fd);
    } else if (d->path[0]) {
        rmdir(d->path);
    }
    if (d->marker_fd >= 0) close(d->marker_fd);
    d->fd = d->marker_fd = -1;
    d->path[0] = '\0';
}

void nvme_file_name(uint64_t hash, char out[NVME_FILE_NAME]) {
    static const char digits[] = "0123456789abcdef";
    char *at = out + 3;
    for (int shift = 60; shift >= 0; shift -= 4) *at++ = digits[hash >> shift & 15];
    memcpy(at, ".kv", 4);
    out[0] = out[3];
    out[1] = out[4];
    out[2] = '/';
}

/* cuFile refuses descriptors whose flags it does not know, and O_NOFOLLOW stays among them. The file itself
 * is opened once more, not its name. */
static int reopened(int fd, int flags) {
    char self[32];
    snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    int again = open(self, flags & ~(O_NOFOLLOW | O_CREAT));
    if (again < 0) return fd;
    close(fd);
    return again;
}

int nvme_dir_file(const struct nvme_dir *d, const char *name, bool create) {
    int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | (create ? O_CREAT : 0) | (d->direct ? O_DIRECT : 0);
    int fd = openat(d->fd, name, flags, 0600);
    if (fd < 0 && errno == ENOENT && create && name[2] == '/') { /* the first file of its subdirectory */
        char subdir[3] = {name[0], name[1], '\0'};
        if (mkdirat(d->fd, subdir, 0700) == 0 || errno == EEXIST) fd = openat(d->fd, name, flags, 0600);
    }
    if (fd < 0) return -errno;
    if (d->to_gpu) fd = reopened(fd, flags);
    if (!d->direct) posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM); /* else the cache fills ahead of the reads */
    return fd;
}

/* Removes a directory below `at` if it is a leftover; see above for what makes one. */
static bool clean_one(int at, const char *parent, const char *name) {
    struct stat st;
    if (!is_run_name(name) || fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(st.st_mode) ||
        st.st_uid != geteuid())
        return false;
    int fd = dir_open_at(at, name);
    if (fd < 0) return false;
    int marker = openat(fd, MARKER, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    struct marker m;
    bool leftover = marker >= 0 && fstat(marker, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
                    marker_read(marker, &m) && m.uid == (unsigned)geteuid() && maker_is_gone(&m) &&
                    flock(marker, LOCK_EX | LOCK_NB) == 0;
    bool removed = false;
    char path[PATH_MAX];
    if (leftover && snprintf(path, sizeof(path), "%s/%s", parent, name) < (int)sizeof(path)) {
        removed = remove_dir(path, fd);
        if (removed) log_line(KVF_LOG_INFO, "removed %s, left behind by process %ld", path, m.pid);
    }
    if (marker >= 0) close(marker);
    close(fd);
    return removed;
}

unsigned tier_nvme_clean_leftovers(const struct scenario *s) {
    unsigned removed = 0;
    for (uint32_t i = 0; i < s->nvme.path_count; i++) {
        DIR *d = opendir(s->nvme.path[i]);
        if (!d) continue;
        for (struct dirent *entry; (entry = readdir(d)) != NULL;)
            removed += clean_one(dirfd(d), s->nvme.path[i], entry->d_name);
        closedir(d);
    }
    return removed;
}

/* Whole trees, and directories that are refused themselves while those below may be used. */
static const char *const system_trees[] = {"/bin",   "/boot",   "/dev",  "/etc",  "/lib", "/lib32",
                                           "/lib64", "/libx32", "/proc", "/sbin", "/sys", "/usr"};
static const char *const system_dirs[] = {"/", "/run", "/var"};
static const char *const allowed_trees[] = {"/dev/shm", "/usr/local"};

static bool is_under(const char *path, const char *dir) {
    size_t len = strlen(dir);
    return strncmp(path, dir, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

static bool is_system(const char *real) {
    for (size_t i = 0; i < sizeof(system_dirs) / sizeof(system_dirs[0]); i++)
        if (strcmp(real, system_dirs[i]) == 0) return true;
    for (size_t i = 0; i < sizeof(allowed_trees) / sizeof(allowed_trees[0]); i++)
        if (is_under(real, allowed_trees[i])) return false;
    for (size_t i = 0; i < sizeof(system_trees) / sizeof(system_trees[0]); i++)
        if (is_under(real, system_trees[i])) return true;
    return false;
}

static int check_path(const char *given, struct err *e) {
    char path[SCENARIO_PATH], target[SCENARIO_PATH], real[PATH_MAX];
    snprintf(path, sizeof(path), "%s", given);
    for (size_t len = strlen(path); len > 1 && path[len - 1] == '/'; len--) path[len - 1] = '\0';
    struct stat st;
    if (path[0] == '\0') return err_set(e, KVF_ERR_USAGE, "tiers.nvme.path is empty; name a directory");
    if (lstat(path, &st) != 0) {
        if (errno == ENOENT)
            return err_set(e, KVF_ERR_USAGE,
                           "tiers.nvme.path: %s does not exist; make the directory or name another", path);
        return err_set(e, KVF_ERR_USAGE, "tiers.nvme.path: %s cannot be used: %s", path, strerror(errno));
    }
    if (S_ISLNK(st.st_mode)) {
        ssize_t len = readlink(path, target, sizeof(target) - 1);
        target[len > 0 ? len : 0] = '\0';
        return err_set(e, KVF_ERR_USAGE,
                       "tiers.nvme.path: %s is a symbolic link to %s; name the directory itself", path,
                       target);
    }
    if (!S_ISDIR(st.st_mode))
        return err_set(e, KVF_ERR_USAGE, "tiers.nvme.path: %s is not a directory; name one", path);
    if (!realpath(path, real))
        return err_set(e, KVF_ERR_USAGE, "tiers.nvme.path: %s cannot be used: %s", path, strerror(errno));
    if (is_system(real))
        return err_set(e, KVF_ERR_USAGE, "tiers.nvme.path: %s is a system directory; name one of your own",
                       real);
    if (faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) != 0)
        return err_set(e, KVF_ERR_USAGE, "tiers.nvme.path: %s is not writable (%s); name another directory",
                       path, strerror(errno));
    return 0;
}

int tier_nvme_check_paths(const struct scenario *s, struct err *e) {
    for (uint32_t i = 0; i < s->nvme.path_count; i++) {
        int rc = check_path(s->nvme.path[i], e);
        if (rc != 0) return rc;
        struct stat a, b;
        for (uint32_t j = 0; j < i; j++)
            if (stat(s->nvme.path[i], &a) == 0 && stat(s->nvme.path[j], &b) == 0 && a.st_dev == b.st_dev &&
                a.st_ino == b.st_ino)
                return err_set(e, KVF_ERR_USAGE, "tiers.nvme.path: %s is named twice", s->nvme.path[i]);
    }
    return 0;
}
