#include "base/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Room for `more` bytes and the NUL; doubling keeps building linear. */
static void buf_reserve(struct buf *b, size_t more) {
    if (more >= SIZE_MAX / 2 - b->len) mem_exhausted(more);
    size_t need = b->len + more + 1;
    if (need <= b->cap) return;
    size_t cap = b->cap ? b->cap : 64;
    while (cap < need) cap *= 2;
    b->data = mem_realloc(b->data, cap);
    b->cap = cap;
}

void buf_bytes(struct buf *b, const void *data, size_t len) {
    buf_reserve(b, len);
    if (len) memcpy(b->data + b->len, data, len);
    b->len += len;
    b->data[b->len] = '\0';
}

void buf_add(struct buf *b, const char *text) {
    buf_bytes(b, text, strlen(text));
}

void buf_vaddf(struct buf *b, const char *fmt, va_list ap) {
    va_list again;

    va_copy(again, ap);
    int len = vsnprintf(NULL, 0, fmt, ap);
    if (len >= 0) {
        buf_reserve(b, (size_t)len);
        (void)vsnprintf(b->data + b->len, (size_t)len + 1, fmt, again);
        b->len += (size_t)len;
    }
    va_end(again);
}

void buf_addf(struct buf *b, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    buf_vaddf(b, fmt, ap);
    va_end(ap);
}

void buf_choice(struct buf *b, size_t i, size_t count, const char *name) {
    buf_add(b, i == 0 ? "" : i + 1 < count ? ", " : " or ");
    buf_add(b, name);
}

const char *buf_text(const struct buf *b) {
    return b->data ? b->data : "";
}

bool buf_ends_with(const char *text, const char *end) {
    size_t len = strlen(text), tail = strlen(end);
    return len >= tail && strcmp(text + len - tail, end) == 0;
}

const char *buf_path_end(const char *path, size_t most) {
    for (const char *next; strlen(path) > most && (next = strchr(path, '/')) != NULL;) path = next + 1;
    return path;
}

bool buf_write(int fd, const void *data, size_t len) {
    for (size_t done = 0; done < len;) {
        ssize_t n = write(fd, (const char *)data + done, len - done);
        if (n == 0 || (n < 0 && errno != EINTR)) return false;
        if (n > 0) done += (size_t)n;
    }
    return true;
}

void buf_free(struct buf *b) {
    free(b->data);
    *b = (struct buf){0};
}
