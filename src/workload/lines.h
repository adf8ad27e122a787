/* Text files line by line in constant memory: one buffer, which holds the longest line seen but never more
 * than LINES_MAX bytes. Longer lines are reported once and skipped. A file compressed with zstd, which its
 * first bytes tell, is decompressed. One thread for each file. */
#ifndef KVF_WORKLOAD_LINES_H
#define KVF_WORKLOAD_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { LINES_MAX = 16 * 1024 * 1024 }; /* bytes of a line, its end not counted */

enum lines_result {
    LINES_TEXT,  /* a line */
    LINES_LONG,  /* a line of more than LINES_MAX bytes; its text is not given */
    LINES_NUL,   /* a line with a NUL byte in it */
    LINES_END,   /* no more lines */
    LINES_ERROR, /* read failed: lines_error(); given once, then LINES_END */
};

struct ZSTD_DCtx_s;

struct lines {
    int fd;
    int error_number;         /* EBADMSG: what is compressed is damaged or cut short */
    struct ZSTD_DCtx_s *zstd; /* NULL: plain text */
    char *packed;             /* read and not decompressed: [packed_start, packed_end) */
    size_t packed_start, packed_end;
    bool frame_open;  /* the file must not end here */
    bool more_inside; /* zstd has text that it could not give yet */
    char *buf;
    size_t cap, start, end; /* unread bytes are buf[start, end) */
    uint64_t number;        /* of the line given last, from 1 */
    uint64_t consumed;      /* bytes of text behind us, skipped ones included */
    bool eof, skipping, error_told;
};

/* Opens a regular file: 0, or -KVF_ERR_USAGE for anything else and for a file that cannot be read. */
int lines_open(struct lines *l, const char *path, struct err *e);
void lines_close(struct lines *l); /* takes one that is closed or all zero */
/* Goes back to the first line; false when the file cannot be rewound. */
bool lines_rewind(struct lines *l);
/* The next line, NUL-terminated, without "\n" or "\r\n", good until the next call. A byte-order mark
 * at the start of the file is dropped; the last line needs no end. */
enum lines_result lines_next(struct lines *l, char **text, size_t *len);
const char *lines_error(const struct lines *l); /* why it could not be read on */

#endif
