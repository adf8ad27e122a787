/* Charts of categories: bars and heat maps. */
#ifndef KVF_REPORT_SVG_BARS_H
#define KVF_REPORT_SVG_BARS_H

#include "base/buf.h"
#include "report/plot.h"

void svg_bars(const struct plot *p, const char *id, struct buf *out);
void svg_heat(const struct plot *p, const char *id, struct buf *out);

#endif
