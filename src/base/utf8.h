/* Text in UTF-8, a code point at a time. Any thread. */
#ifndef KVF_BASE_UTF8_H
#define KVF_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { UTF8_LEN = 4 };

/* Returns the code point at *p and moves *p past it; -1 for a byte that is not UTF-8 (overlong forms and
 * surrogates included), of which it skips one. The text ends with a NUL, at which *p must not stand; earlier
 * NULs are characters. */
int32_t utf8_next(const char **p);
/* Writes a code point: the number of bytes in `out`, 0 for a number that is none. Adds no NUL. */
size_t utf8_put(uint32_t ch, char out[UTF8_LEN]);
/* A control character of ASCII or of ISO 6429 (U+0080 to U+009F), which a terminal may obey. */
static inline bool utf8_is_control(int32_t ch) {
    return (ch >= 0 && ch < 0x20) || (ch >= 0x7f && ch < 0xa0);
}
/* A mark, embedding, override or isolate of the bidirectional algorithm (UAX #9), by which a text can look
 * like another. */
static inline bool utf8_turns_direction(int32_t ch) {
    return ch == 0x061c || ch == 0x200e || ch == 0x200f || (ch >= 0x202a && ch <= 0x202e) ||
           (ch >= 0x2066 && ch <= 0x2069);
}
/* Whether a character may not reach a terminal or a document: invalid UTF-8 (-1 from utf8_next()), control
 * characters, line and paragraph separators, direction marks, the byte order mark and noncharacters. */
static inline bool utf8_is_harmful(int32_t ch) {
    return ch < 0 || utf8_is_control(ch) || utf8_turns_direction(ch) || ch == 0x2028 || ch == 0x2029 ||
           ch == 0xfeff || (ch >= 0xfdd0 && ch <= 0xfdef) || (ch & 0xfffe) == 0xfffe;
}
/* Whether a text has no harmful character. */
bool utf8_is_plain(const char *text);

/* Cleans a text for a terminal, in place: replaces each harmful character by a question mark. UTF8_LINES
 * keeps tabs and newlines, UTF8_ASCII also replaces everything that is not ASCII. Returns the new length,
 * which is never longer. Every text from outside passes through here on its way to a terminal. */
enum { UTF8_LINES = 1, UTF8_ASCII = 2 };
size_t utf8_clean(char *text, unsigned how);

/* Columns of a code point on a terminal in the current locale: 0 (combines with the one before), 1 or 2; -1
 * for a control character or one that the locale cannot show. Blocks and braille are 1 in every locale. */
int utf8_width(uint32_t ch);

#endif
