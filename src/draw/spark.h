/* Charts as characters: a row of bars for each line, with what is the least and the most of it. */
#ifndef KVF_DRAW_SPARK_H
#define KVF_DRAW_SPARK_H

#include "base/buf.h"
#include "draw/format.h"
#include "draw/plot.h"

#define SPARK_NOTE "Each column of a chart shows the most of its part."

/* Adds the lines of a chart of lines, areas or bars, at most so many columns as the style has (80 unless
 * told), in ASCII if it says so. All share one scale, from 0 or, on a logarithmic one, from the least value;
 * each column shows the most of its part of x, so that no spike is lost, as SPARK_NOTE says. Nothing for heat
 * maps, which are tables. */
void spark_plot(const struct plot *p, const struct format_style *style, struct buf *out);

#endif
