/* Text in UTF-8, a code point at a time, and how wide it stands on a terminal. Any thread. */
#ifndef KVF_UI_UTF8_H
#define KVF_UI_UTF8_H

#include <stddef.h>
#include <stdint.h>

enum { UTF8_LEN = 4 };

/* The code point at *p, which moves behind it; -1 for a byte that is no UTF-8 (overlong forms and
 * surrogates included), which is stepped over alone. *p must not stand at the NUL. */
int32_t utf8_next(const char **p);
/* Bytes written to `out`; 0 for what is no code point. No NUL is added. */
size_t utf8_put(uint32_t ch, char out[UTF8_LEN]);
/* Columns of a code point in the present locale: 0 (joins the one before), 1 or 2; -1 for a control
 * character and for what the locale cannot show. Blocks and braille are 1 in every locale. */
int utf8_width(uint32_t ch);

#endif
