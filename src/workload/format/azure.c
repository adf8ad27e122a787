#include "workload/source.h"

#include <string.h>
#include <strings.h>

#include "base/clock.h"

enum { AZURE_YEAR_MIN = 1970, AZURE_YEAR_MAX = 2199 };

/* Days since 1970-01-01 in the proleptic Gregorian calendar. Years are counted from March, so that
 * the leap day is the last of its year and month lengths follow (153 m + 2) / 5. */
static uint64_t days_from_date(unsigned year, unsigned month, unsigned day) {
    unsigned y = month > 2 ? year : year - 1;
    unsigned m = month > 2 ? month - 3 : month + 9;
    uint64_t days = (uint64_t)y * 365 + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1;
    return days - 719468;
}

static bool date_valid(unsigned year, unsigned month, unsigned day) {
    static const unsigned char length[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (month < 1 || month > 12 || day < 1) return false;
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return day <= length[month - 1] + (month == 2 && leap ? 1u : 0u);
}

/* Reads `pattern`: each 0 is a digit of the next number, anything else stands for itself. */
static bool digits_match(const char *text, const char *pattern, unsigned *numbers) {
    for (; *pattern; pattern++, text++) {
        if (*pattern != '0') {
            if (*text != *pattern) return false;
            numbers++;
            *numbers = 0;
            continue;
        }
        if (*text < '0' || *text > '9') return false;
        *numbers = *numbers * 10 + (unsigned)(*text - '0');
    }
    return true;
}

static enum trace_outcome time_parse(const char *text, uint64_t *ns, struct trace_fault *f) {
    static const char pattern[] = "0000-00-00 00:00:00";
    unsigned n[6] = {0};
    if (!digits_match(text, pattern, n))
        return trace_reject(f, WORKLOAD_REJECT_MALFORMED,
                            "TIMESTAMP is not of the form YYYY-MM-DD HH:MM:SS.fffffff");
    const char *fraction = text + sizeof pattern - 1;
    uint64_t part = 0;
    if (*fraction != '\0') {
        size_t len = *fraction == '.' ? strspn(fraction + 1, "0123456789") : 0;
        if (len == 0 || len > 9 || fraction[1 + len] != '\0')
            return trace_reject(f, WORKLOAD_REJECT_MALFORMED,
                                "TIMESTAMP has something else than a fraction behind its seconds");
        for (size_t i = 0; i < 9; i++) part = part * 10 + (i < len ? (uint64_t)(fraction[1 + i] - '0') : 0);
    }
    if (!date_valid(n[0], n[1], n[2]) || n[3] > 23 || n[4] > 59 || n[5] > 60)
        return trace_reject(f, WORKLOAD_REJECT_MALFORMED, "TIMESTAMP names a time that does not exist");
    if (n[0] < AZURE_YEAR_MIN || n[0] > AZURE_YEAR_MAX)
        return trace_reject(f, WORKLOAD_REJECT_ABSURD, "TIMESTAMP is not between the years 1970 and 2199");
    uint64_t seconds = days_from_date(n[0], n[1], n[2]) * 86400 + n[3] * 3600u + n[4] * 60u + n[5];
    *ns = seconds * KVF_NS_PER_S + part;
    return TRACE_ROW;
}

static enum trace_outcome azure_parse(const struct trace_line *line, struct trace_row *row,
                                      struct trace_fault *f) {
    char *field[3];
    if (line->first && strcasecmp(line->text, "TIMESTAMP,ContextTokens,GeneratedTokens") == 0)
        return TRACE_NO_ROW;
    if (trace_split(line->text, field, 3) != 3)
        return trace_reject(f, WORKLOAD_REJECT_MALFORMED, "the row does not have three columns");
    row->kind = REQUEST_INFERENCE;
    enum trace_outcome outcome = time_parse(field[0], &row->time_ns, f);
    if (outcome == TRACE_ROW)
        outcome = trace_number(field[1], strlen(field[1]), "ContextTokens", &row->context_tokens, f);
    if (outcome == TRACE_ROW)
        outcome = trace_number(field[2], strlen(field[2]), "GeneratedTokens", &row->generate_tokens, f);
    return outcome;
}

const struct source source_azure = {.ops = &trace_ops, .parse = azure_parse};
