/* A growing byte string for text that is built piece by piece. Not for hot paths: it ends the program when
 * memory is exhausted (base/mem.h). Zeroed, it is empty. One thread at a time. */
#ifndef KVF_BASE_BUF_H
#define KVF_BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

struct buf {
    char *data; /* NUL-terminated once anything was added, else NULL */
    size_t len; /* without the NUL */
    size_t cap;
};

/* Append a copy: a text, a formatted text, bytes. Formatted text that printf refuses adds nothing. */
void buf_add(struct buf *b, const char *text);
void buf_addf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_vaddf(struct buf *b, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
void buf_bytes(struct buf *b, const void *data, size_t len);
/* Writes bytes to a pipe or terminal, which may take only part of them at a time. False with errno. Any
 * thread. */
bool buf_write(int fd, const void *data, size_t len);
/* Appends choice i of `count` with what stands before it in a list: "a", ", b", " or c". */
void buf_choice(struct buf *b, size_t i, size_t count, const char *name);
const char *buf_text(const struct buf *b); /* "" when empty */
/* The longest end of a path, from the beginning of a component, of at most `most` bytes; the last component
 * is never cut. Points into `path`. Any thread. */
const char *buf_path_end(const char *path, size_t most);
bool buf_ends_with(const char *text, const char *end); /* any thread */
void buf_free(struct buf *b);                          /* takes an empty one; leaves it empty */

#endif
