#include "base/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"

enum { LINKS_MAX = 40, FOREIGN_LINK = -1, READER_TRIES = 50, READER_WAIT_MS = 100 };

/* The folder that holds `path`; the caller frees it. */
static char *folder_of(const char *path) {
    char *copy = mem_strdup(path), *slash = strrchr(copy, '/');
    if (!slash) {
        free(copy);
        return mem_strdup(".");
    }
    slash[slash == copy] = '\0';
    return copy;
}

static bool folder_writable(const char *path) {
    char *folder = folder_of(path);
    bool writable = access(folder, W_OK | X_OK) == 0;
    free(folder);
    return writable;
}

static bool output_file_may_follow(const struct stat *folder, const struct stat *link, unsigned user) {
    bool shared = (folder->st_mode & S_ISVTX) && (folder->st_mode & S_IWOTH);
    return !shared || link->st_uid == user || link->st_uid == folder->st_uid;
}

/* Where the link at *path leads, into *path. 0, an errno, or FOREIGN_LINK. */
static int follow(char **path, const struct stat *link) {
    char *folder = folder_of(*path), target[PATH_MAX];
    struct stat st;
    ssize_t len = -1;
    int why = stat(folder, &st) != 0                         ? errno
              : output_file_may_follow(&st, link, geteuid()) ? 0
                                                             : FOREIGN_LINK;
    if (!why && (len = readlink(*path, target, sizeof target - 1)) < 0) why = errno;
    if (!why) {
        struct buf next = {0};
        target[len] = '\0';
        buf_addf(&next, "%s%s%s", target[0] == '/' ? "" : folder, target[0] == '/' ? "" : "/", target);
        free(*path);
        *path = next.data;
    }
    free(folder);
    return why;
}

/* The file that `path` means, behind all links; the caller frees it. A link of /proc may lead to what has no
 * name, as /dev/stdout does: `nameless`, and the path as it is. 0, an errno, or FOREIGN_LINK. */
static int resolve(const char *path, char **real, bool *nameless) {
    struct stat st;
    int why = 0, links = 0;
    *real = mem_strdup(path);
    *nameless = false;
    while (!why && lstat(*real, &st) == 0 && S_ISLNK(st.st_mode))
        why = links++ < LINKS_MAX ? follow(real, &st) : ELOOP;
    if (!why && links > 0 && access(*real, F_OK) != 0 && stat(path, &st) == 0) {
        *nameless = true;
        free(*real);
        *real = mem_strdup(path);
    }
    return why;
}

static int failed(const char *what, const char *path, int why, enum err_code code, struct err *e) {
    if (why == FOREIGN_LINK)
        return err_set(
            e, code,
            "cannot %s%s: a symbolic link there is another user's, in a directory where everybody may write; "
            "name the file itself, or remove the link",
            what, path);
    if (why == ENXIO)
        return err_set(
            e, code,
            "cannot %s%s: no process has read from this pipe for 5 s; name a file, or start a reader first",
            what, path);
    return err_set_errno(e, code, why, "cannot %s%s", what, path);
}

int output_file_links(const char *path, struct err *e) {
    bool nameless;
    char *real;
    int why = resolve(path, &real, &nameless);
    free(real);
    return why ? failed("write ", path, why, KVF_ERR_USAGE, e) : 0;
}

int output_file_check(const char *path, bool overwrite, struct err *e) {
    struct stat st;
    bool nameless;
    char *real;
    if (!*path) return err_set(e, KVF_ERR_USAGE, "a file to write has no name; give it one");
    int why = resolve(path, &real, &nameless);
    bool taken = false;
    if (!why && stat(real, &st) == 0) {
        why = S_ISDIR(st.st_mode) ? EISDIR : access(real, W_OK) == 0 ? 0 : errno;
        taken = S_ISREG(st.st_mode) && !overwrite;
    } else if (!why) {
        why = errno != ENOENT ? errno : folder_writable(real) ? 0 : errno;
    }
    free(real);
    if (why) return failed("write ", path, why, KVF_ERR_USAGE, e);
    if (!taken) return 0;
    return err_set(e, KVF_ERR_USAGE,
                   "%s is there already; choose another name, or write over it with --overwrite", path);
}

/* Where a file that is not there would be made: its folder, and the name in it, which the caller frees. */
static char *place_of(const char *path, struct stat *folder) {
    bool nameless;
    char *real, *name = NULL;
    if (resolve(path, &real, &nameless) == 0) {
        char *in = folder_of(real), *slash = strrchr(real, '/');
        if (stat(in, folder) == 0) name = mem_strdup(slash ? slash + 1 : real);
        free(in);
    }
    free(real);
    return name;
}

bool output_file_same(const char *a, const char *b) {
    struct stat x, y;
    bool here = stat(a, &x) == 0, same;
    if (here != (stat(b, &y) == 0)) return false;
    if (here)
        return (S_ISREG(x.st_mode) || S_ISFIFO(x.st_mode)) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
    char *one = place_of(a, &x), *other = place_of(b, &y);
    same = one && other && strcmp(one, other) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
    free(one);
    free(other);
    return same;
}

/* Writes and closes; 0 or an errno. */
static int stream_write(FILE *f, const struct buf *text) {
    int why = 0;
    errno = 0;
    if (fwrite(buf_text(text), 1, text->len, f) != text->len || fflush(f) != 0) why = errno ? errno : EIO;
    /* a pipe or a terminal has nothing to bring to a disk */
    if (!why && fsync(fileno(f)) != 0 && errno != EINVAL && errno != EROFS) why = errno;
    if (fclose(f) != 0 && !why) why = errno;
    return why;
}

/* A stream of an open file; NULL with errno, and closed. */
static FILE *stream_of(int fd) {
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    if (!f && fd >= 0) {
        int why = errno;
        close(fd);
        errno = why;
    }
    return f;
}

/* Opens the existing file and empties it. Links were resolved before, so a link found now is new and is
 * refused. */
static FILE *reopen(const char *real, bool nameless) {
    int flags = O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOCTTY | (nameless ? 0 : O_NOFOLLOW);
    int fd = open(real, flags | O_NONBLOCK); /* a pipe without a reader would be waited for for ever */
    for (int tries = 0; fd < 0 && errno == ENXIO && tries < READER_TRIES; tries++) {
        nanosleep(&(struct timespec){.tv_nsec = READER_WAIT_MS * 1000000L}, NULL);
        fd = open(real, flags | O_NONBLOCK);
    }
    if (fd >= 0) (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    return stream_of(fd);
}

static int write_in_place(const char *real, bool nameless, const struct buf *text) {
    FILE *f = reopen(real, nameless);
    return f ? stream_write(f, text) : errno;
}

/* Owner and mode of what it replaces, or what a new file gets. Whoever may not give a file away keeps it, and
 * its group may do with it what all may. */
static int take_mode(int fd, const struct stat *before) {
    struct stat now;
    mode_t mask = umask(0);
    umask(mask);
    if (!before) return fchmod(fd, 0666 & ~mask) == 0 ? 0 : errno;
    mode_t mode = before->st_mode & 0777;
    if (fstat(fd, &now) != 0) return errno;
    bool others = now.st_uid != before->st_uid || now.st_gid != before->st_gid;
    if (others && fchown(fd, before->st_uid, before->st_gid) != 0 && now.st_gid != before->st_gid &&
        fchown(fd, (uid_t)-1, before->st_gid) != 0)
        mode = (mode & ~(mode_t)070) | ((mode & 07) << 3);
    return fchmod(fd, mode) == 0 ? 0 : errno;
}

static char *_Atomic unfinished; /* the name of a temporary file while there is one */

void output_file_abandon(void) {
    char *name = atomic_exchange(&unfinished, NULL);
    if (name) (void)unlink(name);
}

/* Makes the file and says so in one step for whoever takes signals. */
static int temporary_make(char *name) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int fd = mkostemp(name, O_CLOEXEC), why = errno;
    if (fd >= 0) atomic_store(&unfinished, name);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = why;
    return fd;
}

/* Under another name first, so that the file is the old one or the new one at any time. */
static int write_aside(const char *path, const struct stat *before, const struct buf *text) {
    struct buf temporary = {0};
    buf_addf(&temporary, "%s.XXXXXX", path);
    int fd = temporary_make(temporary.data), why = fd < 0 ? errno : take_mode(fd, before);
    if (fd >= 0) {
        FILE *f = why ? NULL : stream_of(fd);
        if (why)
            close(fd);
        else
            why = f ? stream_write(f, text) : errno;
        if (!why && rename(temporary.data, path) != 0) why = errno;
        if (why && unlink(temporary.data) != 0 && errno != ENOENT)
            log_line(KVF_LOG_WARNING, "cannot remove the unfinished file %s: %s", temporary.data,
                     strerror(errno));
        atomic_store(&unfinished, NULL);
    }
    buf_free(&temporary);
    return why;
}

int output_file_write(const char *path, const struct buf *text, struct err *e) {
    struct stat st;
    bool nameless;
    char *real;
    int why = resolve(path, &real, &nameless);
    if (!why) {
        bool exists = stat(real, &st) == 0;
        bool in_place = exists && (!S_ISREG(st.st_mode) || !folder_writable(real));
        why = in_place ? write_in_place(real, nameless, text) : write_aside(real, exists ? &st : NULL, text);
    }
    free(real);
    return why ? failed("write ", path, why, KVF_ERR_IO, e) : 0;
}

FILE *output_file_open(const char *path, const char *what, bool *made, enum err_code code, struct err *e) {
    bool nameless;
    char *real;
    FILE *f = NULL;
    *made = false;
    int why = resolve(path, &real, &nameless);
    if (!why) {
        f = stream_of(open(real, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0666));
        *made = f != NULL;
        if (!f) f = reopen(real, nameless);
        if (!f) why = errno;
    }
    free(real);
    if (f) return f;
    struct buf words = {0};
    buf_addf(&words, "create the %s ", what);
    failed(buf_text(&words), path, why, code, e);
    buf_free(&words);
    return NULL;
}
