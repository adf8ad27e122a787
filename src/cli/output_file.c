#include "cli/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

int output_file_check(const char *path, struct err *e) {
    struct stat st;
    bool good;
    if (!*path) return err_set(e, KVF_ERR_USAGE, "a file to write has no name; give it one");
    if (stat(path, &st) == 0) {
        good = !S_ISDIR(st.st_mode) && access(path, W_OK) == 0;
        if (S_ISDIR(st.st_mode)) errno = EISDIR;
    } else {
        good = errno == ENOENT && folder_writable(path);
    }
    return good ? 0 : err_set_errno(e, KVF_ERR_USAGE, errno, "cannot write %s", path);
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

static int write_in_place(const char *path, const struct buf *text) {
    FILE *f = fopen(path, "we");
    return f ? stream_write(f, text) : errno;
}

/* Under another name first, so that the file is the old one or the new one at any time. */
static int write_aside(const char *path, const struct buf *text) {
    struct buf temporary = {0};
    mode_t mask = umask(0);
    umask(mask);
    buf_addf(&temporary, "%s.XXXXXX", path);
    int fd = mkstemp(temporary.data), why = fd < 0 ? errno : 0;
    if (fd >= 0) {
        FILE *f = fchmod(fd, 0666 & ~mask) == 0 ? fdopen(fd, "w") : NULL;
        if (f) {
            why = stream_write(f, text);
        } else {
            why = errno;
            close(fd);
        }
        if (!why && rename(temporary.data, path) != 0) why = errno;
        if (why) unlink(temporary.data);
    }
    buf_free(&temporary);
    return why;
}

int output_file_write(const char *path, const struct buf *text, struct err *e) {
    struct stat st;
    bool exists = stat(path, &st) == 0;
    char *real = exists ? realpath(path, NULL) : NULL; /* what a link leads to, not the link */
    const char *to = real ? real : path;
    bool in_place = exists && (!S_ISREG(st.st_mode) || !folder_writable(to));
    int why = in_place ? write_in_place(path, text) : write_aside(to, text);
    free(real);
    return why ? err_set_errno(e, KVF_ERR_IO, why, "cannot write %s", path) : 0;
}
