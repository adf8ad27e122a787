/* How wide a code point stands on a terminal. Any thread. */
#ifndef KVF_UI_UTF8_H
#define KVF_UI_UTF8_H

#include <stdint.h>

#include "base/utf8.h"

/* Columns of a code point in the present locale: 0 (joins the one before), 1 or 2; -1 for a control
 * character and for what the locale cannot show. Blocks and braille are 1 in every locale. */
int utf8_width(uint32_t ch);

#endif
