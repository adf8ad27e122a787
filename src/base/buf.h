/* A growing byte string for text that is built piece by piece. Not for hot paths: it ends
 * the program when memory is exhausted, see base/mem.h. */
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

void buf_add(struct buf *b, const char *text);
void buf_addf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_vaddf(struct buf *b, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
void buf_bytes(struct buf *b, const void *data, size_t len);
/* The i-th of `count` things that one can choose from: "a", ", b", " or c". */
void buf_choice(struct buf *b, size_t i, size_t count, const char *name);
const char *buf_text(const struct buf *b); /* "" when empty */
/* The end of a path, from where a component begins, that is `most` long or less; its last component, which
 * may be longer, at least. */
const char *buf_path_end(const char *path, size_t most);
bool buf_ends_with(const char *text, const char *end);
void buf_free(struct buf *b); /* takes an empty one; leaves it empty */

#endif
