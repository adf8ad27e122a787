/* Charts as SVG inside an HTML page that is also well-formed XML. They need no script: values are in the
 * <title> of narrow strips under the pointer, colours are variables of svg_style(), which also serves dark
 * screens and paper. Every chart has a title and a description for screen readers; lines differ by dash as
 * well as by colour and carry their names at their ends. One thread at a time for each buffer. */
#ifndef KVF_DRAW_SVG_H
#define KVF_DRAW_SVG_H

#include "base/buf.h"
#include "draw/plot.h"

/* CSS for all charts, once a page. Constant. */
const char *svg_style(void);
/* Appends the <svg> element; nothing for an empty plot. `id` is unique in the page and consists of letters,
 * digits and dashes. `zooms`: the page's script can zoom the chart. */
void svg_plot(const struct plot *p, const char *id, bool zooms, struct buf *out);

/* Appends a sample of a line, for a legend elsewhere on the page. */
void svg_key(const struct plot_line *l, struct buf *out);

/* A line with more than twice as many points is cut by plot_thin() into so many parts, about one a pixel, and
 * drawn as a band from least to most around the mean. */
enum { SVG_PARTS = 560 };
/* With `zooms` such a line also has data-fine, of up to so many parts. */
enum { SVG_FINE = 3600 };

#endif
