#include "ui/utf8.h"

#include <wchar.h>

int utf8_width(uint32_t ch) {
    if (ch < 0x20 || (ch >= 0x7f && ch < 0xa0)) return -1;
    if (ch < 0x7f) return 1;
    /* Box drawing, blocks and braille fill most of a screen: no look into the locale for each. */
    if ((ch >= 0x2500 && ch < 0x25a0) || (ch >= 0x2800 && ch < 0x2900)) return 1;
    if (ch > 0x10ffff) return -1;
    int cols = wcwidth((wchar_t)ch);
    return cols > 2 ? 2 : cols;
}
