#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "workload/trace.h"

enum trace_outcome trace_reject(struct trace_fault *f, enum workload_reject reason, const char *fmt, ...) {
    va_list ap;
    f->reason = reason;
    va_start(ap, fmt);
    vsnprintf(f->why, sizeof f->why, fmt, ap);
    va_end(ap);
    return TRACE_REJECTED;
}

enum trace_outcome trace_number(const char *text, size_t len, const char *what, uint64_t *out,
                                struct trace_fault *f) {
    bool negative = len > 0 && text[0] == '-';
    size_t i = negative ? 1 : 0;
    uint64_t value = 0;
    if (i == len) return trace_reject(f, WORKLOAD_REJECT_MALFORMED, "%s is not a whole number", what);
    for (; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return trace_reject(f, WORKLOAD_REJECT_MALFORMED, "%s is not a whole number", what);
        if (value <= TRACE_NUMBER_MAX) value = value * 10 + (uint64_t)(text[i] - '0');
    }
    if (negative && value > 0) return trace_reject(f, WORKLOAD_REJECT_NEGATIVE, "%s is below zero", what);
    if (value > TRACE_NUMBER_MAX)
        return trace_reject(f, WORKLOAD_REJECT_ABSURD, "%s is more than 2^40", what);
    *out = value;
    return TRACE_ROW;
}

enum trace_outcome trace_seconds(const char *text, const char *what, uint64_t *ns, struct trace_fault *f) {
    size_t whole = strcspn(text, "."), len = 0;
    uint64_t seconds, part = 0;
    enum trace_outcome outcome = trace_number(text, whole, what, &seconds, f);
    if (outcome != TRACE_ROW) return outcome;
    if (text[whole] == '.') {
        const char *fraction = text + whole + 1;
        len = strspn(fraction, "0123456789");
        if (len == 0 || fraction[len] != '\0')
            return trace_reject(f, WORKLOAD_REJECT_MALFORMED, "%s is not a number of seconds", what);
        for (size_t i = 0; i < 9; i++) part = part * 10 + (i < len ? (uint64_t)(fraction[i] - '0') : 0);
    }
    if (text[0] == '-' && part > 0)
        return trace_reject(f, WORKLOAD_REJECT_NEGATIVE, "%s is below zero", what);
    if (seconds > TRACE_SECONDS_MAX)
        return trace_reject(f, WORKLOAD_REJECT_ABSURD, "%s is more than 2^33 seconds", what);
    *ns = seconds * KVF_NS_PER_S + part;
    return TRACE_ROW;
}

/* Takes the quotes off a field and returns its end; NULL when the last one is missing. */
static char *quoted_end(char *field) {
    char *to = field;
    for (const char *from = field + 1; *from; from++) {
        if (*from == '"' && *++from != '"') {
            memmove(to, from, strlen(from) + 1);
            return to;
        }
        *to++ = *from;
    }
    return NULL;
}

unsigned trace_split(char *text, char **field, unsigned most) {
    for (unsigned n = 0; n < most;) {
        char *end = text;
        field[n++] = text;
        if (*text == '"') end = quoted_end(text);
        if (!end) return 0;
        end = strchr(end, ',');
        if (!end) return n;
        *end = '\0';
        text = end + 1;
    }
    return most + 1;
}

/* Without the blanks around it. */
static char *trimmed(char *text) {
    text += strspn(text, " \t");
    for (size_t len = strlen(text); len > 0 && strchr(" \t", text[len - 1]); len--) text[len - 1] = '\0';
    return text;
}

enum trace_outcome trace_header(char *text, const char *const *names, unsigned n, struct trace_columns *c,
                                struct trace_fault *f) {
    char *field[TRACE_COLUMNS];
    unsigned columns = trace_split(text, field, TRACE_COLUMNS);
    if (columns > TRACE_COLUMNS) columns = 0;
    for (unsigned i = 0; i < columns; i++) field[i] = trimmed(field[i]);
    for (unsigned name = 0; name < n; name++) {
        unsigned at = 0;
        while (at < columns && strcasecmp(field[at], names[name]) != 0) at++;
        if (at == columns) {
            trace_reject(f, WORKLOAD_REJECT_MALFORMED, "its header names no column \"%s\"", names[name]);
            return TRACE_UNUSABLE;
        }
        c->at[name] = (unsigned char)at;
    }
    c->columns = (unsigned char)columns;
    return TRACE_NO_ROW;
}

enum trace_outcome trace_fields(char *text, const struct trace_columns *c, unsigned n, char **field,
                                struct trace_fault *f) {
    char *all[TRACE_COLUMNS];
    unsigned columns = trace_split(text, all, c->columns);
    if (columns == 0) return trace_reject(f, WORKLOAD_REJECT_MALFORMED, "the quotes of the row do not match");
    if (columns != c->columns)
        return trace_reject(f, WORKLOAD_REJECT_MALFORMED, "the row has %s columns than the header",
                            columns > c->columns ? "more" : "fewer");
    for (unsigned i = 0; i < n; i++) field[i] = trimmed(all[c->at[i]]);
    return TRACE_ROW;
}
