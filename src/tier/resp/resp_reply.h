/* Parses the head of a reply in RESP, the protocol of Redis and Valkey. The server is not trusted: every
 * number has a bound, and no length leads to an allocation. Any thread. */
#ifndef KVF_TIER_RESP_RESP_REPLY_H
#define KVF_TIER_RESP_RESP_REPLY_H

#include <stddef.h>
#include <stdint.h>

enum resp_kind {
    RESP_MORE,    /* the line is incomplete so far */
    RESP_SIMPLE,  /* +text */
    RESP_ERROR,   /* -text */
    RESP_INTEGER, /* :number */
    RESP_BULK,    /* $number, then as many bytes and a line end */
    RESP_NIL,     /* $-1, *-1 or _ */
    RESP_ARRAY,   /* *number, then as many replies */
    RESP_BAD      /* none of these */
};

enum {
    RESP_LINE = 1024, /* bytes; a longer line is bad */
    RESP_ARRAY_MAX = 65536
};
#define RESP_BULK_MAX (INT64_C(512) << 20)

struct resp_head {
    enum resp_kind kind;
    size_t len;       /* of the line, with its end */
    int64_t number;   /* of INTEGER, BULK and ARRAY */
    const char *text; /* of SIMPLE and ERROR; points into the caller's bytes */
    size_t text_len;
    const char *why; /* of BAD: a static phrase */
};

/* Parses the head of the reply at `at`, of which `len` bytes have been received. */
struct resp_head resp_head_read(const char *at, size_t len);

#endif
