#include "workload/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/buf.h"
#include "workload/input.h"

enum { LINES_CHUNK = 64 * 1024 };

/* Makes room for at least one more byte behind `end` (and a NUL); false: the line is too long. */
static bool room_make(struct lines *l) {
    if (l->start > 0) {
        memmove(l->buf, l->buf + l->start, l->end - l->start);
        l->end -= l->start;
        l->start = 0;
    }
    if (l->end + 1 < l->cap) return true;
    /* Two bytes more than a line: its "\r\n" must fit too before it can be judged. */
    const size_t most = (size_t)LINES_MAX + 3;
    if (l->cap >= most) return false;
    l->cap = l->cap * 2 < most ? l->cap * 2 : most;
    l->buf = mem_realloc(l->buf, l->cap);
    return true;
}

/* As much as read() gives; 0 at the end of the file or on an error. */
static size_t bytes_read(struct lines *l, char *to, size_t room) {
    ssize_t n;
    do n = read(l->fd, to, room);
    while (n < 0 && errno == EINTR);
    if (n < 0) l->error_number = errno;
    return n > 0 ? (size_t)n : 0;
}

/* The same of what is compressed in it; a frame may follow another. */
static size_t bytes_unpacked(struct lines *l, char *to, size_t room) {
    ZSTD_outBuffer out = {to, room, 0};
    while (out.pos == 0) {
        if (l->packed_start == l->packed_end && !l->more_inside) {
            l->packed_start = 0;
            l->packed_end = bytes_read(l, l->packed, LINES_CHUNK);
            if (l->packed_end == 0) {
                if (l->frame_open && l->error_number == 0) l->error_number = EBADMSG;
                return 0;
            }
        }
        ZSTD_inBuffer in = {l->packed, l->packed_end, l->packed_start};
        size_t left = ZSTD_decompressStream(l->zstd, &out, &in);
        l->packed_start = in.pos;
        if (ZSTD_isError(left)) {
            l->error_number = EBADMSG;
            return 0;
        }
        l->frame_open = left > 0;
        l->more_inside = out.pos == out.size && left > 0; /* the room was too small for it */
    }
    return out.pos;
}

/* Reads once. False at the end of the file or on an error. */
static bool fill(struct lines *l) {
    size_t room = l->cap - 1 - l->end;
    size_t n = l->zstd ? bytes_unpacked(l, l->buf + l->end, room) : bytes_read(l, l->buf + l->end, room);
    l->eof = n == 0;
    l->end += n;
    return n > 0;
}

/* Drops the rest of a line that was too long; true when its end has been found. */
static bool skip_rest(struct lines *l) {
    for (;;) {
        char *nl = memchr(l->buf + l->start, '\n', l->end - l->start);
        size_t gone = nl ? (size_t)(nl + 1 - (l->buf + l->start)) : l->end - l->start;
        l->consumed += gone;
        l->start += gone;
        if (nl) return true;
        l->start = l->end = 0;
        if (l->eof || !fill(l)) return false;
    }
}

static enum lines_result line_judge(struct lines *l, size_t len, char **text, size_t *out_len) {
    char *line = l->buf + l->start;
    if (len > 0 && line[len - 1] == '\r') len--;
    line[len] = '\0';
    if (l->number == 1 && len >= 3 && memcmp(line, "\xef\xbb\xbf", 3) == 0) {
        line += 3;
        len -= 3;
    }
    *text = line;
    *out_len = len;
    if (len > LINES_MAX) return LINES_LONG;
    return memchr(line, '\0', len) ? LINES_NUL : LINES_TEXT;
}

static enum lines_result line_last(struct lines *l, char **text, size_t *len) {
    if (l->error_number != 0 && !l->error_told) {
        /* Half a line read before the error would be taken for a whole one. */
        l->consumed += l->end - l->start;
        l->start = l->end = 0;
        l->error_told = true;
        return LINES_ERROR;
    }
    if (l->start == l->end) return LINES_END;
    l->number++;
    size_t n = l->end - l->start;
    enum lines_result result = line_judge(l, n, text, len);
    l->consumed += n;
    l->start = l->end;
    return result;
}

enum lines_result lines_next(struct lines *l, char **text, size_t *len) {
    *text = NULL;
    *len = 0;
    if (l->skipping) {
        l->skipping = false;
        if (!skip_rest(l)) return line_last(l, text, len);
    }
    size_t seen = 0; /* bytes from start known to hold no line end */
    for (;;) {
        char *from = l->buf + l->start;
        char *nl = memchr(from + seen, '\n', l->end - l->start - seen);
        if (nl) {
            size_t n = (size_t)(nl - from);
            l->number++;
            enum lines_result result = line_judge(l, n, text, len);
            l->consumed += n + 1;
            l->start += n + 1;
            return result;
        }
        seen = l->end - l->start;
        if (l->eof) return line_last(l, text, len);
        if (!room_make(l)) {
            l->number++;
            l->consumed += seen;
            l->start = l->end = 0;
            l->skipping = true;
            return LINES_LONG;
        }
        fill(l);
    }
}

static bool is_packed(int fd) {
    static const unsigned char magic[4] = {0x28, 0xb5, 0x2f, 0xfd}; /* RFC 8878, 3.1.1 */
    unsigned char first[sizeof magic];
    return pread(fd, first, sizeof first, 0) == (ssize_t)sizeof first &&
           memcmp(first, magic, sizeof magic) == 0;
}

int lines_open(struct lines *l, const char *path, struct err *e) {
    memset(l, 0, sizeof *l);
    l->fd = input_open(path, "name a file of rows in workload.path or with --dataset", e);
    if (l->fd < 0) {
        int rc = l->fd;
        l->fd = -1;
        return rc;
    }
    l->cap = LINES_CHUNK;
    l->buf = mem_alloc(l->cap);
    if (!is_packed(l->fd)) return 0;
    l->packed = mem_alloc(LINES_CHUNK);
    if ((l->zstd = ZSTD_createDCtx()) != NULL) return 0;
    lines_close(l);
    return err_set(e, KVF_ERR_NOMEM, "no memory to decompress \"%s\"", path);
}

bool lines_rewind(struct lines *l) {
    if (lseek(l->fd, 0, SEEK_SET) != 0) return false;
    if (l->zstd) ZSTD_DCtx_reset(l->zstd, ZSTD_reset_session_only);
    *l = (struct lines){.fd = l->fd, .zstd = l->zstd, .packed = l->packed, .buf = l->buf, .cap = l->cap};
    return true;
}

const char *lines_error(const struct lines *l) {
    return l->error_number == EBADMSG ? "what is compressed in it is damaged or cut short"
                                      : strerror(l->error_number);
}

void lines_close(struct lines *l) {
    if (!l->buf) return;
    close(l->fd);
    free(l->buf);
    free(l->packed);
    ZSTD_freeDCtx(l->zstd);
    memset(l, 0, sizeof *l);
    l->fd = -1;
}
