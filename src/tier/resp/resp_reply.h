/* The beginning of a reply in RESP, the protocol of Redis and Valkey. It reads what a server has sent, and
 * believes none of it: every number has a bound, and no length makes it take memory. Any thread. */
#ifndef KVF_TIER_RESP_RESP_REPLY_H
#define KVF_TIER_RESP_RESP_REPLY_H

#include <stddef.h>
#include <stdint.h>

enum resp_kind {
    RESP_MORE,    /* its line has not all come yet */
    RESP_SIMPLE,  /* +text */
    RESP_ERROR,   /* -text */
    RESP_INTEGER, /* :number */
    RESP_BULK,    /* $number, then so many bytes and a line's end */
    RESP_NIL,     /* $-1, *-1 or _ */
    RESP_ARRAY,   /* *number, then so many replies */
    RESP_BAD      /* none of these */
};

enum {
    RESP_LINE = 1024, /* a longer one is bad */
    RESP_ARRAY_MAX = 65536
};
#define RESP_BULK_MAX (INT64_C(512) << 20)

struct resp_head {
    enum resp_kind kind;
    size_t len;       /* of the line, its end included */
    int64_t number;   /* of INTEGER, BULK and ARRAY */
    const char *text; /* of SIMPLE and ERROR, in the caller's bytes */
    size_t text_len;
    const char *why; /* of BAD: a phrase, static */
};

/* Reads the head of the reply at `at`, of which `len` bytes have come. */
struct resp_head resp_head_read(const char *at, size_t len);

#endif
