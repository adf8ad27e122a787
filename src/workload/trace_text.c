#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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
