#include "tier/resp/resp_reply.h"

#include <stdbool.h>
#include <string.h>

static struct resp_head bad(const char *why) {
    return (struct resp_head){.kind = RESP_BAD, .why = why};
}

/* A whole number in its shortest form or with leading zeros, of at most 19 digits that fit. */
static bool number_read(const char *at, size_t len, int64_t *out) {
    bool minus = len > 0 && *at == '-';
    uint64_t v = 0;
    size_t i = minus;
    if (i == len || len - i > 19) return false;
    for (; i < len; i++) {
        if (at[i] < '0' || at[i] > '9') return false;
        v = v * 10 + (uint64_t)(at[i] - '0');
    }
    if (v > INT64_MAX) return false;
    *out = minus ? -(int64_t)v : (int64_t)v;
    return true;
}

/* -1 is nothing; no other length is below zero. */
static struct resp_head counted(struct resp_head h, enum resp_kind kind, int64_t most, const char *why) {
    if (h.number == -1) {
        h.kind = RESP_NIL;
        return h;
    }
    if (h.number < 0 || h.number > most) return bad(why);
    h.kind = kind;
    return h;
}

struct resp_head resp_head_read(const char *at, size_t len) {
    struct resp_head h = {.kind = RESP_MORE};
    if (len == 0) return h;
    if (!memchr("+-:$*_", *at, 6)) return bad("a reply does not begin with a type of the protocol");
    const char *end = memchr(at, '\n', len < RESP_LINE ? len : RESP_LINE);
    if (!end) return len < RESP_LINE ? h : bad("a line of a reply has no end");
    if (end == at || end[-1] != '\r' || end - at < 2)
        return bad("a line of a reply ends without a carriage return");
    h.len = (size_t)(end - at) + 1;
    h.text = at + 1;
    h.text_len = h.len - 3;
    switch (*at) {
    case '+':
        h.kind = RESP_SIMPLE;
        return h;
    case '-':
        h.kind = RESP_ERROR;
        return h;
    case '_':
        h.kind = RESP_NIL;
        return h;
    default:
        break;
    }
    if (!number_read(h.text, h.text_len, &h.number)) return bad("a number in a reply cannot be read");
    if (*at == '$')
        return counted(h, RESP_BULK, RESP_BULK_MAX, "a reply announces a value of impossible length");
    if (*at == '*') return counted(h, RESP_ARRAY, RESP_ARRAY_MAX, "a reply announces too many parts");
    h.kind = RESP_INTEGER;
    return h;
}
