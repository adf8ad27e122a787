#include "cli/output_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int output_file_write(const char *path, const struct buf *text, struct err *e) {
    struct buf temporary = {0};
    mode_t mask = umask(0);
    umask(mask);
    buf_addf(&temporary, "%s.XXXXXX", path);
    int fd = mkstemp(temporary.data), why = 0;
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!f) {
        why = errno;
        if (fd >= 0) close(fd);
    } else {
        bool written = fwrite(buf_text(text), 1, text->len, f) == text->len && fflush(f) == 0 &&
                       fchmod(fd, 0666 & ~mask) == 0 && fsync(fd) == 0;
        if (!written) why = errno ? errno : EIO;
        if (fclose(f) != 0 && !why) why = errno;
        if (!why && rename(temporary.data, path) != 0) why = errno;
    }
    if (why && fd >= 0) unlink(temporary.data);
    buf_free(&temporary);
    return why ? err_set_errno(e, KVF_ERR_IO, why, "cannot write %s", path) : 0;
}
