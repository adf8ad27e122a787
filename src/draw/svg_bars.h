/* Charts of categories: bars and heat maps. One thread at a time for each buffer. */
#ifndef KVF_DRAW_SVG_BARS_H
#define KVF_DRAW_SVG_BARS_H

#include "base/buf.h"
#include "draw/plot.h"

/* Append the <svg> element of a plot of kind PLOT_BARS or PLOT_HEAT; `id` as for svg_plot(). */
void svg_bars(const struct plot *p, const char *id, struct buf *out);
void svg_heat(const struct plot *p, const char *id, struct buf *out);

#endif
