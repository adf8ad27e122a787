#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

static const struct {
    int status;
    const char *meaning;
} codes[] = {
#define X(id, status, text) {status, text},
    ERR_CODE_LIST(X)
#undef X
};

/* A sentence that had to be cut must not end inside a UTF-8 sequence. */
static void text_trim(char *text, size_t cap) {
    size_t len = strnlen(text, cap);
    size_t i = len, back = 0;

    if (len + 1 < cap) return;
    while (i > 0 && back < 4 && ((unsigned char)text[i - 1] & 0xc0) == 0x80) i--, back++;
    if (i == 0) return;
    unsigned char lead = (unsigned char)text[i - 1];
    size_t want = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc0 ? 1 : 0;
    if (want > back) text[i - 1] = '\0';
}

__attribute__((format(printf, 3, 0))) static void err_vset(struct err *e, enum err_code code, const char *fmt,
                                                           va_list ap) {
    e->code = code;
    (void)vsnprintf(e->text, sizeof e->text, fmt, ap);
    text_trim(e->text, sizeof e->text);
    utf8_clean(e->text, UTF8_LINES); /* it may quote anything */
}

int err_set(struct err *e, enum err_code code, const char *fmt, ...) {
    if (e && !err_is(e) && code != KVF_ERR_OK) {
        va_list ap;
        va_start(ap, fmt);
        err_vset(e, code, fmt, ap);
        va_end(ap);
    }
    return -(int)code;
}

static enum err_code code_of_errno(enum err_code code, int errnum) {
    if (code != KVF_ERR_IO) return code;
    switch (errnum) {
    case ENOMEM:
        return KVF_ERR_NOMEM;
    case ENOSPC:
    case EDQUOT:
        return KVF_ERR_NOSPACE;
    default:
        return code;
    }
}

int err_set_errno(struct err *e, enum err_code code, int errnum, const char *fmt, ...) {
    code = code_of_errno(code, errnum);
    if (e && !err_is(e) && code != KVF_ERR_OK) {
        char reason[128];
        const char *text = strerror_r(errnum, reason, sizeof reason);
        size_t tail = strlen(text) + 2;
        va_list ap;

        va_start(ap, fmt);
        err_vset(e, code, fmt, ap);
        va_end(ap);
        /* A long object name must not push the reason out. */
        size_t len = strlen(e->text);
        if (len > sizeof e->text - 1 - tail) len = sizeof e->text - 1 - tail;
        (void)snprintf(e->text + len, sizeof e->text - len, ": %s", text);
        utf8_clean(e->text, UTF8_LINES); /* where a character was cut */
    }
    return -(int)code;
}

bool err_is(const struct err *e) {
    return e && e->code != KVF_ERR_OK;
}

void err_clear(struct err *e) {
    if (!e) return;
    e->code = KVF_ERR_OK;
    e->text[0] = '\0';
}

int err_exit_status(enum err_code code) {
    return (unsigned)code < KVF_ERR_CODES ? codes[code].status : 1;
}
