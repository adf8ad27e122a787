#include "workload/format/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "workload/input.h"
#include "workload/format/json_inside.h"

/* The tokens that may come next. */
enum json_state {
    STATE_START,       /* a byte-order mark, then STATE_VALUE */
    STATE_VALUE,       /* a value */
    STATE_FIRST_VALUE, /* a value or the end of the array */
    STATE_FIRST_KEY,   /* a key or the end of the object */
    STATE_AFTER        /* a comma, the end of what is open, or of the input */
};

/* ---- errors ---- */

static uint64_t here(const struct json *j) {
    return j->begin_offset + (uint64_t)(j->at - j->begin);
}

__attribute__((format(printf, 5, 0))) static void sentence(char *out, size_t len, uint64_t line,
                                                           uint64_t offset, const char *fmt, va_list ap) {
    int n = snprintf(out, len, "line %" PRIu64 ", byte %" PRIu64 ": ", line, offset);
    vsnprintf(out + n, len - (size_t)n, fmt, ap);
}

/* About the byte at hand. */
bool json_fail_here(struct json *j, const char *fmt, ...) {
    va_list ap;
    if (j->failed) return false;
    j->failed = true;
    va_start(ap, fmt);
    sentence(j->error, sizeof j->error, j->line, here(j), fmt, ap);
    va_end(ap);
    return false;
}

bool json_fail(struct json *j, const char *fmt, ...) {
    va_list ap;
    if (j->failed) return false;
    j->failed = true;
    va_start(ap, fmt);
    sentence(j->error, sizeof j->error, j->token_line, j->token_offset, fmt, ap);
    va_end(ap);
    return false;
}

bool json_fault_here(struct json *j, const char *fmt, ...) {
    char *to = j->lenient ? j->fault : j->error;
    va_list ap;
    if (!j->lenient) j->failed = true;
    if (to[0] != '\0') return j->lenient;
    va_start(ap, fmt);
    sentence(to, sizeof j->error, j->line, here(j), fmt, ap);
    va_end(ap);
    return j->lenient;
}

bool json_cut_short(struct json *j) {
    return json_fail_here(j, "the text is cut short, with %u objects and arrays open", j->depth);
}

/* ---- bytes ---- */

bool json_ahead(struct json *j, size_t need) {
    while ((size_t)(j->end - j->at) < need) {
        if (j->ended) return false;
        size_t kept = (size_t)(j->end - j->at);
        j->begin_offset += (uint64_t)(j->at - j->begin);
        memmove(j->buf, j->at, kept);
        j->begin = j->at = j->buf;
        j->end = j->buf + kept;
        long n = j->read(j->ctx, j->buf + kept, j->cap - kept);
        if (n > 0) {
            j->end += n;
            continue;
        }
        j->ended = true;
        if (n < 0) json_fail_here(j, "the file cannot be read on: %s", strerror((int)-n));
    }
    return true;
}

/* The next byte that is no blank, not taken; -1 at the end of the input. */
static int blank_skip(struct json *j) {
    do {
        for (; j->at < j->end; j->at++) {
            char c = *j->at;
            if (c == '\n')
                j->line++;
            else if (c != ' ' && c != '\t' && c != '\r')
                return (unsigned char)c;
        }
    } while (json_ahead(j, 1));
    return -1;
}

/* ---- tokens ---- */

static bool in_object(const struct json *j) {
    return j->depth > 0 && (j->objects >> (j->depth - 1) & 1);
}

static enum json_token error(struct json *j, const char *what) {
    json_fail_here(j, "%s", what);
    return JSON_ERROR;
}

static enum json_token container_open(struct json *j, bool object) {
    if (j->depth == JSON_DEPTH_MAX) {
        json_fail_here(j, "values are nested deeper than %d", JSON_DEPTH_MAX);
        return JSON_ERROR;
    }
    uint64_t bit = UINT64_C(1) << j->depth++;
    j->objects = object ? j->objects | bit : j->objects & ~bit;
    j->at++;
    j->state = object ? STATE_FIRST_KEY : STATE_FIRST_VALUE;
    return object ? JSON_OBJECT : JSON_ARRAY;
}

static enum json_token container_close(struct json *j) {
    bool object = in_object(j);
    j->at++;
    j->depth--;
    j->state = STATE_AFTER;
    return object ? JSON_OBJECT_END : JSON_ARRAY_END;
}

static enum json_token word_take(struct json *j, const char *word, enum json_token token) {
    size_t len = strlen(word);
    if (!json_ahead(j, len) || memcmp(j->at, word, len) != 0)
        return error(j, "here stands neither a value of JSON nor the end of one");
    j->at += len;
    j->state = STATE_AFTER;
    return token;
}

static enum json_token value_take(struct json *j, int c) {
    switch (c) {
    case -1:
        json_cut_short(j);
        return JSON_ERROR;
    case '{':
        return container_open(j, true);
    case '[':
        return container_open(j, false);
    case '"':
        json_string_begin(j);
        j->state = STATE_AFTER;
        return JSON_STRING;
    case 't':
        return word_take(j, "true", JSON_TRUE);
    case 'f':
        return word_take(j, "false", JSON_FALSE);
    case 'n':
        return word_take(j, "null", JSON_NULL);
    default:
        if (c != '-' && (c < '0' || c > '9'))
            return error(j, c ? "here stands neither a value of JSON nor the end of one"
                              : "here stands a NUL byte; this is no text");
        j->state = STATE_AFTER;
        return json_number_read(j) ? JSON_NUMBER : JSON_ERROR;
    }
}

static enum json_token key_take(struct json *j, int c) {
    if (c < 0) {
        json_cut_short(j);
        return JSON_ERROR;
    }
    if (c != '"') return error(j, "a key in quotes is missing");
    json_string_begin(j);
    if (!json_text_read(j)) return JSON_ERROR;
    c = blank_skip(j);
    if (c < 0) json_cut_short(j);
    if (c != ':') return error(j, "a key is not followed by a colon");
    j->at++;
    j->state = STATE_VALUE;
    return JSON_KEY;
}

static void token_mark(struct json *j) {
    j->token_line = j->line;
    j->token_offset = here(j);
}

static enum json_token after_take(struct json *j, int c) {
    if (j->depth == 0) {
        if (c < 0) return JSON_END;
        return j->lines ? value_take(j, c) : error(j, "there is more text behind the value");
    }
    if (c == (in_object(j) ? '}' : ']')) return container_close(j);
    if (c < 0) {
        json_cut_short(j);
        return JSON_ERROR;
    }
    if (c != ',')
        return error(j, in_object(j) ? "a comma or the end of the object is missing"
                                     : "a comma or the end of the array is missing");
    j->at++;
    c = blank_skip(j);
    token_mark(j);
    return in_object(j) ? key_take(j, c) : value_take(j, c);
}

enum json_token json_next(struct json *j) {
    if (!json_measure(j)) return JSON_ERROR;
    if (j->state == STATE_START) {
        if (json_ahead(j, 3) && memcmp(j->at, "\xef\xbb\xbf", 3) == 0) j->at += 3;
        j->state = STATE_VALUE;
    }
    int c = blank_skip(j);
    if (j->failed) return JSON_ERROR;
    token_mark(j);
    switch (j->state) {
    case STATE_FIRST_VALUE:
        return c == ']' ? container_close(j) : value_take(j, c);
    case STATE_FIRST_KEY:
        return c == '}' ? container_close(j) : key_take(j, c);
    case STATE_AFTER:
        return after_take(j, c);
    default:
        if (c >= 0 || j->depth > 0) return value_take(j, c);
        return j->lines ? JSON_END : error(j, "there is nothing in it");
    }
}

unsigned json_depth(const struct json *j) {
    return j->depth;
}

bool json_leave(struct json *j, unsigned depth) {
    while (j->depth > depth) {
        enum json_token t = json_next(j);
        if (t == JSON_ERROR || t == JSON_END) return false;
    }
    return !j->failed;
}

bool json_skip(struct json *j, enum json_token token) {
    if (token == JSON_KEY) token = json_next(j);
    if (token == JSON_OBJECT || token == JSON_ARRAY) return json_leave(j, j->depth - 1U);
    return json_measure(j) && token != JSON_END;
}

const char *json_error(const struct json *j) {
    return j->error;
}

const char *json_fault(const struct json *j) {
    return j->fault;
}

void json_fault_clear(struct json *j) {
    j->fault[0] = '\0';
}

/* ---- opening ---- */

static long descriptor_read(void *ctx, char *buf, size_t len) {
    const struct json *j = ctx;
    ssize_t n;
    do n = read(j->fd, buf, len);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -(long)errno : (long)n;
}

void json_open_memory(struct json *j, const void *data, size_t len) {
    *j = (struct json){.begin = data, .at = data, .fd = -1, .ended = true, .line = 1, .token_line = 1};
    j->end = j->at + len;
}

void json_open_stream(struct json *j, json_read *read_bytes, void *ctx, size_t buffer_bytes) {
    json_open_memory(j, "", 0);
    j->ended = false;
    j->cap = buffer_bytes < 16 ? 16 : buffer_bytes;
    j->buf = mem_alloc(j->cap);
    j->begin = j->at = j->end = j->buf;
    j->read = read_bytes;
    j->ctx = ctx;
}

int json_open_file(struct json *j, const char *path, struct err *e) {
    json_open_memory(j, "", 0);
    int fd = input_open(path, "name a file of JSON in workload.path or with --dataset", e);
    if (fd < 0) return fd;
    json_open_stream(j, descriptor_read, j, JSON_BUFFER_BYTES);
    j->fd = fd;
    return 0;
}

void json_close(struct json *j) {
    if (!j->buf) return;
    if (j->fd >= 0) close(j->fd);
    free(j->buf);
    json_open_memory(j, "", 0);
}
