/* A pull reader of JSON (RFC 8259) over a file of any size or over memory, in constant memory: the
 * caller asks for one token after another, and a string that is longer than a key should be is read
 * in pieces, measured or skipped without ever being held as a whole.
 *
 * It is strict: what is not JSON, is nested deeper than JSON_DEPTH_MAX or has a number of more than
 * JSON_TEXT_MAX bytes ends the reading with one sentence that names the line and the byte. Faults
 * inside strings (bytes that are not UTF-8, control characters, wrong escapes, half a surrogate
 * pair) do the same unless `lenient` is set: then the sentence is kept as a fault, U+FFFD stands for
 * what is wrong, and the reading goes on. Lines count from 1, bytes from 0.
 *
 * Not thread safe; a reader over memory allocates nothing. */
#ifndef KVF_WORKLOAD_FORMAT_JSON_H
#define KVF_WORKLOAD_FORMAT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum {
    JSON_DEPTH_MAX = 64,           /* objects and arrays open at a time */
    JSON_TEXT_MAX = 255,           /* bytes kept of a key, a number or a short string */
    JSON_BUFFER_BYTES = 256 * 1024 /* of a file held at a time */
};

enum json_token {
    JSON_END,    /* nothing but blanks is left */
    JSON_ERROR,  /* json_error() says what; given again at every call */
    JSON_OBJECT, /* its members follow: a key, then a value, ... then JSON_OBJECT_END */
    JSON_OBJECT_END,
    JSON_ARRAY, /* its values follow, then JSON_ARRAY_END */
    JSON_ARRAY_END,
    JSON_KEY,    /* json_text(), json_text_is() */
    JSON_STRING, /* its body is unread: json_piece(), json_text() or nothing, which skips it */
    JSON_NUMBER, /* json_fixed(), or json_text() as written */
    JSON_TRUE,
    JSON_FALSE,
    JSON_NULL
};

/* Reads up to len bytes into buf; 0 at the end, a negative errno when it cannot. */
typedef long json_read(void *ctx, char *buf, size_t len);

struct json {
    const char *begin, *at, *end; /* bytes at hand; `at` is the next */
    uint64_t begin_offset;        /* of `begin` in the input */
    char *buf;                    /* NULL over memory */
    size_t cap;
    json_read *read;
    void *ctx;
    int fd;       /* -1: none of its own */
    bool ended;   /* the input has no more than what is at hand */
    bool lenient; /* set by the caller at any time: faults of strings do not end the reading */
    bool lines;   /* set by the caller: values follow each other (JSON lines), none is an end */
    bool failed, in_string;
    uint8_t state;             /* enum json_state */
    uint8_t depth;             /* objects and arrays that are open */
    uint64_t objects;          /* bit per level: an object, not an array */
    uint64_t line, token_line; /* from 1 */
    uint64_t token_offset;     /* of the token given last */
    uint64_t bytes, chars;     /* of the string being read, decoded, so far */
    char text[JSON_TEXT_MAX + 1];
    uint64_t text_len; /* of the whole, which may be longer than what is kept */
    char piece[4];     /* an escape, decoded */
    char error[240], fault[240];
};

/* Over memory that stays as it is while it is read; needs no close. */
void json_open_memory(struct json *j, const void *data, size_t len);
/* Over anything, through a buffer of at least 16 bytes. */
void json_open_stream(struct json *j, json_read *read, void *ctx, size_t buffer_bytes);
/* Over a regular file; -KVF_ERR_USAGE otherwise. The struct must not be copied. */
int json_open_file(struct json *j, const char *path, struct err *e);
void json_close(struct json *j); /* takes one that is all zero */

/* The next token. What is left of a string that was not read to its end is checked and skipped. */
enum json_token json_next(struct json *j);
/* Skips the rest of the value that `token`, just returned, has begun; for a key, its value. False on an
 * error. */
bool json_skip(struct json *j, enum json_token token);
/* Reads on until only `depth` objects and arrays are open; false on an error or at the end. */
bool json_leave(struct json *j, unsigned depth);
/* The number of open objects and arrays: one more after JSON_OBJECT and JSON_ARRAY, one less after their
 * ends. */
unsigned json_depth(const struct json *j);

/* The next decoded piece of the string just begun, good until the next call; false at its end or on
 * an error. Meanwhile j->bytes and j->chars (code points) count what was given. Pieces end anywhere
 * but inside a code point. */
bool json_piece(struct json *j, const char **piece, size_t *len);
/* Reads the string just begun to its end without returning it; j->bytes and j->chars are then those of the
 * whole. No effect when no string is being read; false on an error. */
bool json_measure(struct json *j);
/* The key, number or string just given, NUL-terminated and cut at JSON_TEXT_MAX bytes; a string is
 * read to its end. *len is the whole length. NULL on an error. */
const char *json_text(struct json *j, uint64_t *len);
/* Whether json_text() is exactly this text. */
bool json_text_is(struct json *j, const char *text);

enum json_number { JSON_NUMBER_OK, JSON_NUMBER_NEGATIVE, JSON_NUMBER_FRACTION, JSON_NUMBER_LARGE };
/* The number just given times 10^decimals, exactly: further decimals are dropped, but with
 * `decimals` 0 they are JSON_NUMBER_FRACTION unless all are 0. LARGE: above `most`. *out is changed
 * by JSON_NUMBER_OK alone. */
enum json_number json_fixed(const struct json *j, unsigned decimals, uint64_t most, uint64_t *out);

/* Ends the reading with the caller's sentence about the last token; returns false. The first error stays. */
bool json_fail(struct json *j, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *json_error(const struct json *j); /* "" when there is none */
/* The first fault of a string since the last clear; "" when there is none. */
const char *json_fault(const struct json *j);
void json_fault_clear(struct json *j);

#endif
