/* Charts of categories: bars and heat maps. */
#ifndef KVF_DRAW_SVG_BARS_H
#define KVF_DRAW_SVG_BARS_H

#include "base/buf.h"
#include "draw/plot.h"

void svg_bars(const struct plot *p, const char *id, struct buf *out);
void svg_heat(const struct plot *p, const char *id, struct buf *out);

#endif
