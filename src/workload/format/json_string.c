#include "workload/format/json_inside.h"

#include <endian.h>
#include <string.h>

#include "base/utf8.h"

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

#define EACH_BYTE(b) ((uint64_t)(b)*UINT64_C(0x0101010101010101))

/* How many bytes of a string mean themselves: ASCII without quote, backslash and control characters.
 * Eight at a time: in each byte the subtractions set the top bit of what is zero, or below 0x20. A
 * borrow reaches only bytes behind one that is found anyway, so the first one found is right. */
static size_t plain_length(const char *p, size_t len) {
    size_t i = 0;
    for (; i + 8 <= len; i += 8) {
        uint64_t raw;
        memcpy(&raw, p + i, 8);
        uint64_t x = le64toh(raw);
        uint64_t special = ((x ^ EACH_BYTE('"')) - EACH_BYTE(1)) | ((x ^ EACH_BYTE('\\')) - EACH_BYTE(1)) |
                           (x - EACH_BYTE(0x20)) | x;
        special &= EACH_BYTE(0x80);
        if (special) return i + (size_t)__builtin_ctzll(special) / 8;
    }
    for (; i < len; i++) {
        unsigned char c = (unsigned char)p[i];
        if (c < 0x20 || c >= 0x80 || c == '"' || c == '\\') break;
    }
    return i;
}

static bool continues(char c) {
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* Length of the UTF-8 sequence at p, whose first byte is above 0x7f: 2 to 4; 0 when it goes on behind
 * `len`, -1 when it is none (overlong forms, surrogates and what is above U+10FFFF are none). */
static int utf8_length(const char *p, size_t len) {
    unsigned char lead = (unsigned char)p[0], lo = 0x80, hi = 0xbf;
    int n = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (lead < 0xc2 || lead > 0xf4) return -1;
    if (lead == 0xe0) lo = 0xa0;
    if (lead == 0xed) hi = 0x9f;
    if (lead == 0xf0) lo = 0x90;
    if (lead == 0xf4) hi = 0x8f;
    if (len < 2) return 0;
    if ((unsigned char)p[1] < lo || (unsigned char)p[1] > hi) return -1;
    for (int i = 2; i < n; i++) {
        if ((size_t)i >= len) return 0;
        if (!continues(p[i])) return -1;
    }
    return n;
}

/* The end of the whole code points above 0x7f that begin at p; adds them to *chars. */
static const char *wide_end(const char *p, const char *end, uint64_t *chars) {
    for (; p < end && (unsigned char)*p >= 0x80; (*chars)++) {
        unsigned char lead = (unsigned char)*p;
        int n = 3; /* most of them, so that they get a shorter way */
        if (end - p < 3 || lead <= 0xe0 || lead >= 0xed || !continues(p[1]) || !continues(p[2]))
            n = utf8_length(p, (size_t)(end - p));
        if (n <= 0) break;
        p += n;
    }
    return p;
}

/* Bytes at hand that mean themselves, whole code points only; counts them. */
static size_t run_take(struct json *j) {
    const char *p = j->at, *wide = NULL;
    while (p < j->end && p != wide) {
        size_t plain = plain_length(p, (size_t)(j->end - p));
        j->chars += plain;
        wide = p + plain;
        p = wide_end(wide, j->end, &j->chars);
    }
    size_t len = (size_t)(p - j->at);
    j->at = p;
    j->bytes += len;
    return len;
}

static bool piece_give(struct json *j, const char **piece, size_t *len, const char *bytes, size_t count) {
    memcpy(j->piece, bytes, count);
    *piece = j->piece;
    *len = count;
    j->bytes += count;
    j->chars++;
    return true;
}

static bool piece_replace(struct json *j, size_t taken, const char **piece, size_t *len) {
    j->at += taken;
    return piece_give(j, piece, len, replacement, 3);
}

/* Four hex digits at p; -1 when they are not. */
static long hex4(const char *p) {
    long value = 0;
    for (int i = 0; i < 4; i++) {
        char c = p[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0) return -1;
        value = value * 16 + digit;
    }
    return value;
}

/* A \u escape at hand: one code point from one escape or from two. */
static bool unicode_escape(struct json *j, const char **piece, size_t *len) {
    if (!json_ahead(j, 6)) return json_cut_short(j);
    long c = hex4(j->at + 2);
    size_t taken = 6;
    if (c < 0) {
        if (!json_fault_here(j, "\\u is not followed by four hexadecimal digits")) return false;
        return piece_replace(j, 2, piece, len);
    }
    if (c >= 0xd800 && c < 0xdc00 && json_ahead(j, 12) && j->at[6] == '\\' && j->at[7] == 'u') {
        long low = hex4(j->at + 8);
        if (low >= 0xdc00 && low < 0xe000) {
            c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
            taken = 12;
        }
    }
    if (c >= 0xd800 && c < 0xe000) {
        if (!json_fault_here(j, "\\u%04lx is half of a surrogate pair", (unsigned long)c)) return false;
        return piece_replace(j, taken, piece, len);
    }
    char out[UTF8_LEN];
    size_t n = utf8_put((uint32_t)c, out);
    j->at += taken;
    return piece_give(j, piece, len, out, n);
}

static bool escape_take(struct json *j, const char **piece, size_t *len) {
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    if (!json_ahead(j, 2)) return json_cut_short(j);
    if (j->at[1] == 'u') return unicode_escape(j, piece, len);
    const char *name = j->at[1] ? strchr(names, j->at[1]) : NULL;
    if (!name) {
        if (!json_fault_here(j, "a backslash is followed by something that is no escape")) return false;
        return piece_replace(j, 1, piece, len);
    }
    j->at += 2;
    return piece_give(j, piece, len, &values[name - names], 1);
}

/* The reason why the run stopped: the closing quote, an escape, the end of the buffer or a fault. */
static bool special_take(struct json *j, const char **piece, size_t *len) {
    unsigned char c = (unsigned char)*j->at;
    if (c == '"') {
        j->at++;
        j->in_string = false;
        return false;
    }
    if (c == '\\') return escape_take(j, piece, len);
    if (c < 0x20) {
        if (!json_fault_here(
                j, c ? "a string has a control character in it (0x%02x)" : "a string has a NUL byte in it",
                c))
            return false;
        j->line += c == '\n';
        return piece_replace(j, 1, piece, len);
    }
    json_ahead(j, 4);
    if (j->failed) return false;
    int n = utf8_length(j->at, (size_t)(j->end - j->at));
    if (n > 0) {
        j->at += n;
        return piece_give(j, piece, len, j->at - n, (size_t)n);
    }
    if (n == 0) return json_cut_short(j);
    if (!json_fault_here(j, "a string has a byte in it that is not UTF-8 (0x%02x)", c)) return false;
    return piece_replace(j, 1, piece, len);
}

bool json_piece(struct json *j, const char **piece, size_t *len) {
    if (!j->in_string || j->failed) return false;
    if (j->at == j->end && !json_ahead(j, 1)) return json_cut_short(j);
    const char *from = j->at;
    *len = run_take(j);
    if (*len == 0) return special_take(j, piece, len);
    *piece = from;
    return true;
}

/* Bytes that the escape at p decodes to, *taken its own; 0 for one that needs a closer look. */
static unsigned escape_bytes(const char *p, size_t len, size_t *taken) {
    static const bool simple[256] = {['"'] = true, ['\\'] = true, ['/'] = true, ['b'] = true,
                                     ['f'] = true, ['n'] = true,  ['r'] = true, ['t'] = true};
    *taken = 2;
    if (len < 6) return 0;
    if (simple[(unsigned char)p[1]]) return 1;
    long c = p[1] == 'u' ? hex4(p + 2) : -1;
    if (c < 0 || (c >= 0xd800 && c < 0xe000)) return 0;
    *taken = 6;
    return c < 0x80 ? 1 : c < 0x800 ? 2 : 3;
}

/* Counts the bytes that json_piece() would return from the buffer, without copying them. */
static void run_count(struct json *j) {
    const char *p = j->at, *end = j->end;
    uint64_t chars = 0, bytes = 0;
    while (p < end) {
        size_t plain = plain_length(p, (size_t)(end - p)), taken = 0;
        chars += plain;
        bytes += plain;
        p += plain;
        if (p == end) break;
        if (*p == '\\') {
            unsigned n = escape_bytes(p, (size_t)(end - p), &taken);
            if (n == 0) break;
            p += taken;
            bytes += n;
            chars++;
            continue;
        }
        const char *wide = wide_end(p, end, &chars);
        if (wide == p) break;
        bytes += (uint64_t)(wide - p);
        p = wide;
    }
    j->at = p;
    j->chars += chars;
    j->bytes += bytes;
}

bool json_measure(struct json *j) {
    const char *piece;
    size_t len;
    do {
        if (j->in_string && !j->failed) run_count(j);
    } while (json_piece(j, &piece, &len));
    return !j->failed;
}

bool json_text_read(struct json *j) {
    const char *piece;
    size_t len, kept = 0;
    bool full = false;
    while (json_piece(j, &piece, &len)) {
        size_t n = len;
        if (n > JSON_TEXT_MAX - kept) {
            n = JSON_TEXT_MAX - kept;
            while (n > 0 && continues(piece[n])) n--;
        }
        if (full) continue;
        memcpy(j->text + kept, piece, n);
        kept += n;
        full = n < len;
    }
    j->text[kept] = '\0';
    j->text_len = j->bytes;
    return !j->failed;
}

void json_string_begin(struct json *j) {
    j->at++;
    j->in_string = true;
    j->bytes = j->chars = j->text_len = 0;
    j->text[0] = '\0';
}

const char *json_text(struct json *j, uint64_t *len) {
    if (j->in_string) json_text_read(j);
    if (j->failed) return NULL;
    if (len) *len = j->text_len;
    return j->text;
}

bool json_text_is(struct json *j, const char *text) {
    uint64_t len;
    const char *have = json_text(j, &len);
    return have && len == strlen(text) && len <= JSON_TEXT_MAX && memcmp(have, text, len) == 0;
}
