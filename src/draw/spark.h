/* Charts as characters: for each line a row of bars with its least and most. One thread at a time. */
#ifndef KVF_DRAW_SPARK_H
#define KVF_DRAW_SPARK_H

#include "base/buf.h"
#include "draw/format.h"
#include "draw/plot.h"

#define SPARK_NOTE "Each column of a chart shows the most of its part."

/* Appends a chart of lines, areas or bars, at most as wide as the style's columns (80 unless told), in ASCII
 * if the style says so. All lines share one scale, from 0 or, if logarithmic, from the least value. Each
 * column shows the most of its part of x, so that no spike is lost (SPARK_NOTE says so). Appends nothing for
 * heat maps, which are printed as tables. */
void spark_plot(const struct plot *p, const struct format_style *style, struct buf *out);

#endif
