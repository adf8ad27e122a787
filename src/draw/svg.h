/* Charts as SVG for a page of HTML, which is well-formed XML as well. They need no script: values are in the
 * <title> of narrow strips under the pointer, colours are variables of svg_style(), which also follows a
 * dark screen and paper. Every chart has a title and a description for screen readers; lines differ
 * by dash as well as by colour, and have their names at their ends. */
#ifndef KVF_DRAW_SVG_H
#define KVF_DRAW_SVG_H

#include "base/buf.h"
#include "draw/plot.h"

/* Rules of CSS for all charts, once a page. */
const char *svg_style(void);
/* Adds the <svg> element. `id` is unique in the page, of letters, digits and dashes. Nothing for a plot that
 * is plot_empty(). */
void svg_plot(const struct plot *p, const char *id, bool zooms, struct buf *out);

/* A sample of a line, for a legend of the page's own. */
void svg_key(const struct plot_line *l, struct buf *out);

/* Lines with more than twice as many points are drawn by plot_thin() into so many parts, about one for each
 * pixel of the picture: a band from the least to the most with the mean in it. */
enum { SVG_PARTS = 560 };
/* Where `zooms` they have data-fine besides, up to so many parts. */
enum { SVG_FINE = 3600 };

#endif
