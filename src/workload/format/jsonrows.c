#include "workload/format/jsonrows.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/hash.h"

/* One object a line, read by a strict scanner of its own: a row costs no allocation, and what the
 * rest of the object holds is checked and skipped without being built. */

enum { JSONROWS_DEPTH_MAX = 64 };
enum {
    JSONROWS_INPUT,
    JSONROWS_OUTPUT,
    JSONROWS_TIME,
    JSONROWS_IDS,
    JSONROWS_BLOCK,
    JSONROWS_SESSION,
    JSONROWS_MODEL,
    JSONROWS_CLASS,
    JSONROWS_LOST,
    JSONROWS_LOST_IN_ALL,
    JSONROWS_KEYS
};

struct scan {
    const char *at;
    struct trace_row *row;
    struct trace_fault *fault; /* of the values; a fault of the form overrides it */
    enum trace_outcome outcome;
    bool seconds;  /* timestamps are; else milliseconds */
    unsigned seen; /* bit per key of JSONROWS_... */
};

/* Blanks are few and short: a call for each would cost more than the rest of the row. */
static inline void blank_skip(struct scan *s) {
    while (*s->at == ' ' || *s->at == '\t' || *s->at == '\r' || *s->at == '\n') s->at++;
}

static bool form_fault(struct scan *s, const char *why) {
    s->outcome = trace_reject(s->fault, WORKLOAD_REJECT_MALFORMED, "%s", why);
    return false;
}

/* Keeps the first fault of a value and lets the scan go on. */
static bool value_fault(struct scan *s, enum workload_reject reason, const char *what, const char *why) {
    if (s->outcome == TRACE_ROW) s->outcome = trace_reject(s->fault, reason, "%s %s", what, why);
    return true;
}

/* From the opening quote to behind the closing one; [*text, *len) is what is between, escapes as written. */
static bool string_scan(struct scan *s, const char **text, size_t *len) {
    const char *p = s->at + 1;
    *text = p;
    for (; *p != '"'; p++) {
        if ((unsigned char)*p < 0x20)
            return form_fault(s, "a string is cut short or has control bytes in it");
        if (*p != '\\') continue;
        p++;
        if (*p == 'u') {
            if (strspn(p + 1, "0123456789abcdefABCDEF") < 4)
                return form_fault(s, "a string has a wrong escape");
            p += 4;
        } else if (*p == '\0' || !strchr("\"\\/bfnrt", *p)) {
            return form_fault(s, "a string has a wrong escape");
        }
    }
    *len = (size_t)(p - *text);
    s->at = p + 1;
    return true;
}

struct number {
    const char *text;
    size_t whole_len;     /* sign and digits before the point */
    const char *fraction; /* digits behind the point */
    size_t fraction_len;
    bool exponent;
};

static bool number_scan(struct scan *s, struct number *n) {
    const char *p = s->at;
    *n = (struct number){.text = p};
    if (*p == '-') p++;
    size_t digits = 0;
    while (p[digits] >= '0' && p[digits] <= '9') digits++;
    if (digits == 0) return form_fault(s, "a value is neither a number nor anything else of JSON");
    if (*p == '0' && digits > 1) return form_fault(s, "a number starts with 0");
    p += digits;
    n->whole_len = (size_t)(p - n->text);
    if (*p == '.') {
        n->fraction = ++p;
        n->fraction_len = strspn(p, "0123456789");
        if (n->fraction_len == 0) return form_fault(s, "a number ends with its point");
        p += n->fraction_len;
    }
    if (*p == 'e' || *p == 'E') {
        n->exponent = true;
        p++;
        if (*p == '+' || *p == '-') p++;
        digits = strspn(p, "0123456789");
        if (digits == 0) return form_fault(s, "a number ends with its exponent");
        p += digits;
    }
    s->at = p;
    return true;
}

static bool word_scan(struct scan *s) {
    static const char *const words[] = {"true", "false", "null"};
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++) {
        size_t len = strlen(words[i]);
        if (strncmp(s->at, words[i], len) != 0) continue;
        s->at += len;
        return true;
    }
    return form_fault(s, "the line is cut short or is not JSON");
}

/* A string, number or word. */
static bool scalar_skip(struct scan *s) {
    const char *text;
    size_t len;
    struct number n;
    if (*s->at == '"') return string_scan(s, &text, &len);
    if (*s->at == '-' || (*s->at >= '0' && *s->at <= '9')) return number_scan(s, &n);
    return word_scan(s);
}

static bool key_scan(struct scan *s, const char **text, size_t *len) {
    blank_skip(s);
    if (*s->at != '"') return form_fault(s, "a key is missing or the line is cut short");
    if (!string_scan(s, text, len)) return false;
    blank_skip(s);
    if (*s->at != ':') return form_fault(s, "a key has no value");
    s->at++;
    blank_skip(s);
    return true;
}

/* Any value, without recursion: `open` is the stack of brackets still open. */
static bool value_skip(struct scan *s) {
    char open[JSONROWS_DEPTH_MAX];
    unsigned depth = 0;
    const char *text;
    size_t len;
    for (;;) {
        blank_skip(s);
        if (*s->at == '[' || *s->at == '{') {
            if (depth == JSONROWS_DEPTH_MAX) return form_fault(s, "values are nested deeper than 64");
            char close = *s->at == '[' ? ']' : '}';
            s->at++;
            blank_skip(s);
            if (*s->at != close) {
                open[depth++] = close;
                if (close == '}' && !key_scan(s, &text, &len)) return false;
                continue;
            }
            s->at++;
        } else if (!scalar_skip(s)) {
            return false;
        }
        for (;;) { /* a value has ended: close what ends with it */
            if (depth == 0) return true;
            blank_skip(s);
            if (*s->at == ',') break;
            if (*s->at != open[depth - 1])
                return form_fault(s, "brackets do not match or the line is cut short");
            s->at++;
            depth--;
        }
        s->at++;
        if (open[depth - 1] == '}' && !key_scan(s, &text, &len)) return false;
    }
}

static bool number_begins(const struct scan *s) {
    return *s->at == '-' || (*s->at >= '0' && *s->at <= '9');
}

static bool tokens_scan(struct scan *s, const char *what, uint64_t *out) {
    struct number n;
    struct trace_fault f;
    if (!number_begins(s))
        return value_skip(s) && value_fault(s, WORKLOAD_REJECT_MALFORMED, what, "is not a number");
    if (!number_scan(s, &n)) return false;
    if (n.fraction || n.exponent)
        return value_fault(s, WORKLOAD_REJECT_MALFORMED, what, "is not a whole number");
    if (trace_number(n.text, n.whole_len, what, out, &f) != TRACE_ROW && s->outcome == TRACE_ROW) {
        *s->fault = f;
        s->outcome = TRACE_REJECTED;
    }
    return true;
}

/* A fraction counts down to the nanosecond. */
static bool time_scan(struct scan *s) {
    const char *what = "timestamp";
    struct number n;
    struct trace_fault f;
    uint64_t whole = 0, ns = 0;
    if (!number_begins(s))
        return value_skip(s) && value_fault(s, WORKLOAD_REJECT_MALFORMED, what, "is not a number");
    if (!number_scan(s, &n)) return false;
    if (n.exponent) return value_fault(s, WORKLOAD_REJECT_MALFORMED, what, "has an exponent");
    size_t nonzero = n.fraction_len ? strspn(n.fraction, "0") : 0;
    if (*n.text == '-' && nonzero < n.fraction_len)
        return value_fault(s, WORKLOAD_REJECT_NEGATIVE, what, "is below zero");
    if (trace_number(n.text, n.whole_len, what, &whole, &f) != TRACE_ROW) {
        if (s->outcome == TRACE_ROW) *s->fault = f;
        s->outcome = TRACE_REJECTED;
        return true;
    }
    if (s->seconds && whole > TRACE_SECONDS_MAX)
        return value_fault(s, WORKLOAD_REJECT_ABSURD, what, "is later than the year 2242");
    for (size_t i = 0; i < (s->seconds ? 9 : 6); i++)
        ns = ns * 10 + (i < n.fraction_len ? (uint64_t)(n.fraction[i] - '0') : 0);
    s->row->time_ns = whole * (s->seconds ? KVF_NS_PER_S : KVF_NS_PER_MS) + ns;
    return true;
}

static void id_add(struct trace_row *row, uint64_t id) {
    mem_room(row->ids, row->id_count, row->id_cap);
    row->ids[row->id_count++] = id;
}

/* One id of up to 19 digits, which 64 bits hold, as nearly all are; false, and nothing read, otherwise. */
static inline bool id_usual(struct scan *s) {
    const char *p = s->at;
    uint64_t id = 0;
    for (; *p >= '0' && *p <= '9'; p++) id = id * 10 + (uint64_t)(*p - '0');
    size_t len = (size_t)(p - s->at);
    if (len == 0 || len > 19 || (len > 1 && *s->at == '0') || (*p != ',' && *p != ']')) return false;
    if (s->row->id_count == TRACE_IDS_MAX) return false;
    id_add(s->row, id);
    s->at = p;
    return true;
}

/* One id: any whole number of 64 bits, since an id may be a hash. */
static bool id_scan(struct scan *s) {
    struct number n;
    if (id_usual(s)) return true;
    if (!number_begins(s))
        return value_skip(s) &&
               value_fault(s, WORKLOAD_REJECT_MALFORMED, "hash_ids", "holds something else than numbers");
    if (!number_scan(s, &n)) return false;
    if (n.fraction || n.exponent)
        return value_fault(s, WORKLOAD_REJECT_MALFORMED, "hash_ids",
                           "holds something else than whole numbers");
    if (*n.text == '-')
        return value_fault(s, WORKLOAD_REJECT_NEGATIVE, "hash_ids", "holds a number below zero");
    uint64_t id = 0;
    for (size_t i = 0; i < n.whole_len; i++) {
        if (__builtin_mul_overflow(id, (uint64_t)10, &id) ||
            __builtin_add_overflow(id, (uint64_t)(n.text[i] - '0'), &id))
            return value_fault(s, WORKLOAD_REJECT_ABSURD, "hash_ids", "holds a number of more than 64 bits");
    }
    if (s->row->id_count == TRACE_IDS_MAX)
        return value_fault(s, WORKLOAD_REJECT_ABSURD, "hash_ids", "holds more than 2^20 ids");
    id_add(s->row, id);
    return true;
}

static bool ids_scan(struct scan *s) {
    if (*s->at != '[')
        return value_skip(s) && value_fault(s, WORKLOAD_REJECT_MALFORMED, "hash_ids", "is not a list");
    s->at++;
    blank_skip(s);
    if (*s->at == ']') {
        s->at++;
        return true;
    }
    for (;;) {
        blank_skip(s);
        if (!id_scan(s)) return false;
        blank_skip(s);
        if (*s->at == ']') break;
        if (*s->at != ',') return form_fault(s, "hash_ids is cut short");
        s->at++;
    }
    s->at++;
    return true;
}

/* A string or a number tells sessions apart by its text; anything else names none. */
static bool session_scan(struct scan *s) {
    const char *text = s->at;
    size_t len;
    struct number n;
    if (*text == '"') {
        if (!string_scan(s, &text, &len)) return false;
    } else if (number_begins(s)) {
        if (!number_scan(s, &n)) return false;
        len = (size_t)(s->at - text);
    } else {
        return value_skip(s);
    }
    s->row->session = hash_bytes(text, len, 0) | 1;
    return true;
}

/* A short string without escapes; anything else is no name. */
static bool name_scan(struct scan *s, char name[TRACE_NAME]) {
    const char *text;
    size_t len;
    if (*s->at != '"') return value_skip(s);
    if (!string_scan(s, &text, &len)) return false;
    if (len < TRACE_NAME && !memchr(text, '\\', len)) memcpy(name, text, len);
    return true;
}

static bool block_scan(struct scan *s, const char *what) {
    uint64_t block = 0;
    if (!tokens_scan(s, what, &block)) return false;
    if (block != s->row->block_tokens && s->outcome == TRACE_ROW)
        s->outcome = trace_reject(s->fault, WORKLOAD_REJECT_ID_COUNT,
                                  "%s is not cache.block_tokens, %" PRIu64, what, s->row->block_tokens);
    return true;
}

/* The value of a key, at its first byte; keys not known are checked for form and skipped. */
static bool member_scan(struct scan *s, const char *key, size_t len) {
    static const char *const names[] = {"input_length", "output_length", "timestamp", "hash_ids",
                                        "block_size",   "session_id",    "model",     "class",
                                        "lost",         "lost_in_all"};
    static const unsigned char lengths[] = {12, 13, 9, 8, 10, 10, 5, 5, 4, 11};
    unsigned which = 0;
    while (which < JSONROWS_KEYS && (lengths[which] != len || memcmp(names[which], key, len) != 0)) which++;
    if (which == JSONROWS_KEYS) return value_skip(s);
    if (s->seen & 1u << which) return form_fault(s, "a key is there twice");
    s->seen |= 1u << which;
    switch (which) {
    case JSONROWS_INPUT:
        return tokens_scan(s, names[which], &s->row->context_tokens);
    case JSONROWS_OUTPUT:
        return tokens_scan(s, names[which], &s->row->generate_tokens);
    case JSONROWS_TIME:
        return time_scan(s);
    case JSONROWS_IDS:
        return ids_scan(s);
    case JSONROWS_SESSION:
        return session_scan(s);
    case JSONROWS_MODEL:
        return name_scan(s, s->row->model);
    case JSONROWS_CLASS:
        return name_scan(s, s->row->klass);
    case JSONROWS_LOST:
        return tokens_scan(s, names[which], &s->row->lost);
    case JSONROWS_LOST_IN_ALL:
        return tokens_scan(s, names[which], &s->row->lost_in_all);
    default:
        return block_scan(s, names[which]);
    }
}

static bool object_scan(struct scan *s) {
    const char *key;
    size_t len;
    blank_skip(s);
    if (*s->at != '{') return form_fault(s, "the line is not a JSON object");
    do {
        s->at++;
        if (!key_scan(s, &key, &len) || !member_scan(s, key, len)) return false;
        blank_skip(s);
    } while (*s->at == ',');
    if (*s->at != '}') return form_fault(s, "the line is cut short");
    s->at++;
    blank_skip(s);
    if (*s->at != '\0') return form_fault(s, "there is more text behind the object");
    const unsigned needed =
        1u << JSONROWS_INPUT | 1u << JSONROWS_OUTPUT | 1u << JSONROWS_TIME | 1u << JSONROWS_IDS;
    if ((s->seen & needed) != needed)
        return form_fault(s, "one of timestamp, input_length, output_length and hash_ids is missing");
    return true;
}

enum trace_outcome jsonrows_parse(const struct trace_line *line, bool seconds, struct trace_row *row,
                                  struct trace_fault *f) {
    struct scan s = {.at = line->text, .row = row, .fault = f, .outcome = TRACE_ROW, .seconds = seconds};
    row->kind = REQUEST_INFERENCE;
    row->id_count = 0;
    row->session = row->lost = row->lost_in_all = 0;
    memset(row->model, 0, sizeof row->model);
    memset(row->klass, 0, sizeof row->klass);
    if (!object_scan(&s) || s.outcome != TRACE_ROW) return s.outcome;
    if (row->context_tokens == 0) return TRACE_ROW; /* has its own reason, whatever its ids */
    uint64_t block = row->block_tokens, blocks = (row->context_tokens + block - 1) / block;
    if (blocks != row->id_count)
        return trace_reject(f, WORKLOAD_REJECT_ID_COUNT,
                            "%u hash_ids for %" PRIu64 " tokens, %" PRIu64
                            " blocks of cache.block_tokens %" PRIu64,
                            row->id_count, row->context_tokens, blocks, block);
    return TRACE_ROW;
}
