#include "metrics/words.h"

#include <stdbool.h>

void words_add(void *to, const void *more, size_t bytes) {
    uint64_t *a = to;
    const uint64_t *b = more;
    for (size_t i = 0; i < bytes / sizeof *a; i++) a[i] += b[i];
}

void words_subtract(void *from, const void *less, size_t bytes) {
    uint64_t *a = from;
    const uint64_t *b = less;
    for (size_t i = 0; i < bytes / sizeof *a; i++) a[i] -= b[i];
}

static void varint_add(struct buf *out, uint64_t v) {
    unsigned char bytes[10];
    size_t n = 0;
    for (; v >= 0x80; v >>= 7) bytes[n++] = (unsigned char)(v | 0x80);
    bytes[n++] = (unsigned char)v;
    buf_bytes(out, bytes, n);
}

static bool varint_take(const unsigned char **at, const unsigned char *end, uint64_t *v) {
    *v = 0;
    for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
        unsigned char byte = *(*at)++;
        *v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return true;
    }
    return false;
}

void words_pack(const uint64_t *words, size_t count, struct buf *out) {
    size_t from = 0;
    for (size_t i = 0; i < count; i++) {
        if (words[i] == 0) continue;
        varint_add(out, i - from);
        varint_add(out, words[i]);
        from = i + 1;
    }
    varint_add(out, count - from);
}

const unsigned char *words_unpack(uint64_t *words, size_t count, const unsigned char *at,
                                  const unsigned char *end, size_t *set) {
    uint64_t gap;
    size_t taken = 0;
    for (size_t i = 0; varint_take(&at, end, &gap); i++) {
        if (gap > count - i) break;
        i += gap;
        if (i == count) {
            if (set) *set = taken;
            return at;
        }
        if (!varint_take(&at, end, &words[i]) || words[i] == 0) break;
        taken++;
    }
    return NULL;
}
