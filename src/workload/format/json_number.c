#include "workload/format/json_inside.h"

struct number {
    const char *whole, *fraction; /* digits before and behind the point */
    size_t whole_len, fraction_len;
    long exponent; /* cut at a million */
    bool negative;
};

/* Numbers are short: a call of strspn() or strchr() for each would cost more than they do. */
static inline size_t digits_ahead(const char *p) {
    size_t n = 0;
    while (p[n] >= '0' && p[n] <= '9') n++;
    return n;
}

static inline bool of_number(char c) {
    return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E';
}

/* Takes the text of a number apart; a sentence about what is wrong, or NULL. */
static const char *number_split(const char *p, struct number *n) {
    *n = (struct number){.negative = *p == '-'};
    if (n->negative) p++;
    n->whole = p;
    n->whole_len = digits_ahead(p);
    if (n->whole_len == 0) return "a number has no digits";
    if (*p == '0' && n->whole_len > 1) return "a number starts with 0";
    p += n->whole_len;
    if (*p == '.') {
        n->fraction = ++p;
        n->fraction_len = digits_ahead(p);
        if (n->fraction_len == 0) return "a number ends with its point";
        p += n->fraction_len;
    }
    if (*p == 'e' || *p == 'E') {
        bool minus = *++p == '-';
        if (*p == '+' || *p == '-') p++;
        if (digits_ahead(p) == 0) return "a number ends with its exponent";
        for (; *p >= '0' && *p <= '9'; p++)
            if (n->exponent < 1000000) n->exponent = n->exponent * 10 + (*p - '0');
        if (minus) n->exponent = -n->exponent;
    }
    return *p ? "a number has a sign or a point in the wrong place" : NULL;
}

bool json_number_read(struct json *j) {
    struct number n;
    size_t len = 0;
    while (json_ahead(j, 1) && of_number(*j->at)) {
        if (len == JSON_TEXT_MAX)
            return json_fail_here(j, "a number has more than %d characters", JSON_TEXT_MAX);
        j->text[len++] = *j->at++;
    }
    j->text[len] = '\0';
    j->text_len = len;
    if (j->failed) return false;
    const char *wrong = number_split(j->text, &n);
    return !wrong || json_fail_here(j, "%s", wrong);
}

enum json_number json_fixed(const struct json *j, unsigned decimals, uint64_t most, uint64_t *out) {
    struct number n;
    if (number_split(j->text, &n)) return JSON_NUMBER_LARGE; /* no number was given */
    size_t count = n.whole_len + n.fraction_len;
    long taken = (long)n.whole_len + n.exponent + (long)decimals; /* digits in front of the new point */
    uint64_t value = 0;
    bool large = false, dropped = false, nonzero = false;
    for (size_t i = 0; i < count; i++) {
        char c = i < n.whole_len ? n.whole[i] : n.fraction[i - n.whole_len];
        nonzero = nonzero || c != '0';
        if ((long)i < taken)
            large = large || __builtin_mul_overflow(value, UINT64_C(10), &value) ||
                    __builtin_add_overflow(value, (uint64_t)(c - '0'), &value);
        else
            dropped = dropped || c != '0';
    }
    for (long i = (long)count; value > 0 && i < taken && !large; i++)
        large = __builtin_mul_overflow(value, UINT64_C(10), &value);
    if (n.negative && nonzero) return JSON_NUMBER_NEGATIVE;
    if (large || value > most) return JSON_NUMBER_LARGE;
    if (dropped && decimals == 0) return JSON_NUMBER_FRACTION;
    *out = value;
    return JSON_NUMBER_OK;
}
