#include "base/utf8.h"

#include <string.h>
#include <wchar.h>

int32_t utf8_next(const char **p) {
    static const uint32_t least[UTF8_LEN] = {0, 0x80, 0x800, 0x10000}; /* by continuation bytes */
    const unsigned char *s = (const unsigned char *)*p;
    unsigned char head = *s;

    (*p)++;
    if (head < 0x80) return head;
    int more = head >= 0xf0 ? 3 : head >= 0xe0 ? 2 : 1;
    if (head < 0xc2 || head > 0xf4) return -1;
    uint32_t ch = head & (0x3fu >> more);
    for (int i = 1; i <= more; i++) {
        if ((s[i] & 0xc0) != 0x80) return -1; /* the NUL ends here as well */
        ch = ch << 6 | (s[i] & 0x3fu);
    }
    if (ch < least[more] || ch > 0x10ffff || (ch >= 0xd800 && ch <= 0xdfff)) return -1;
    *p += more;
    return (int32_t)ch;
}

size_t utf8_put(uint32_t ch, char out[UTF8_LEN]) {
    if (ch < 0x80) {
        out[0] = (char)ch;
        return 1;
    }
    if (ch > 0x10ffff || (ch >= 0xd800 && ch <= 0xdfff)) return 0;
    size_t len = ch < 0x800 ? 2 : ch < 0x10000 ? 3 : 4;
    for (size_t i = len - 1; i > 0; i--, ch >>= 6) out[i] = (char)(0x80u | (ch & 0x3fu));
    out[0] = (char)((0xf00u >> len & 0xffu) | ch);
    return len;
}

bool utf8_is_plain(const char *text) {
    while (*text) {
        int32_t ch = utf8_next(&text);
        if (utf8_is_harmful(ch)) return false;
    }
    return true;
}

static bool is_line_end(const char *at) {
    return *at == '\n' || *at == '\t' || (at[0] == '\r' && at[1] == '\n');
}

size_t utf8_clean(char *text, unsigned how) {
    char *to = text;
    for (const char *from = text; *from;) {
        const char *at = from;
        int32_t ch = utf8_next(&from);
        bool kept = (how & UTF8_LINES) && is_line_end(at);
        bool wrong = !kept && (utf8_is_harmful(ch) || ((how & UTF8_ASCII) && ch >= 0x80));
        size_t len = wrong ? 1 : (size_t)(from - at);
        memmove(to, wrong ? "?" : at, len);
        to += len;
    }
    *to = '\0';
    return (size_t)(to - text);
}

int utf8_width(uint32_t ch) {
    if (ch < 0x20 || (ch >= 0x7f && ch < 0xa0)) return -1;
    if (ch < 0x7f) return 1;
    /* Box drawing, blocks and braille fill most of a screen: no look into the locale for each. */
    if ((ch >= 0x2500 && ch < 0x25a0) || (ch >= 0x2800 && ch < 0x2900)) return 1;
    if (ch > 0x10ffff) return -1;
    int cols = wcwidth((wchar_t)ch);
    return cols > 2 ? 2 : cols;
}
