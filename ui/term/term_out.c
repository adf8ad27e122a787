#include "ui/term/term_out.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"

void term_out_free(struct term_out *q) {
    free(q->bytes);
    *q = (struct term_out){0};
}

void term_out_clear(struct term_out *q) {
    q->len = q->sent = 0;
}

bool term_out_waits(const struct term_out *q) {
    return q->sent < q->len;
}

bool term_out_cut(const struct term_out *q) {
    return q->sent > 0 && q->sent < q->len;
}

static char *room(struct term_out *q, size_t len) {
    if (q->len + len > q->cap) {
        q->cap = (q->len + len) * 2;
        q->bytes = mem_realloc(q->bytes, q->cap);
    }
    return q->bytes + q->len;
}

void term_out_reserve(struct term_out *q, size_t len) {
    (void)room(q, len > q->len ? len - q->len : 0);
}

void term_out_add(struct term_out *q, const char *bytes, size_t len) {
    if (len == 0) return;
    memcpy(room(q, len), bytes, len);
    q->len += len;
}

/* The file keeps its pages for the next time: its position alone says how much is new. */
void term_out_take(struct term_out *q, int memory) {
    off_t end = lseek(memory, 0, SEEK_CUR);

    if (end <= 0) return;
    char *to = room(q, (size_t)end);
    for (off_t at = 0; at < end;) {
        ssize_t n = pread(memory, to + at, (size_t)(end - at), at);
        if (n <= 0) break;
        at += n;
        q->len += (size_t)n;
    }
    (void)lseek(memory, 0, SEEK_SET);
}

int term_out_send(struct term_out *q, int fd, bool *any) {
    while (q->sent < q->len) {
        ssize_t n = write(fd, q->bytes + q->sent, q->len - q->sent);
        if (n > 0) {
            q->sent += (size_t)n;
            *any = true;
        } else if (n == 0 || errno == EAGAIN) {
            return 0;
        } else if (errno != EINTR) {
            return errno;
        }
    }
    term_out_clear(q);
    return 0;
}
