/* Charts as SVG for a page of HTML, which is well-formed XML as well. They need no script: values are in the
 * <title> of narrow strips under the pointer, colours are variables of svg_style(), which also follows a
 * dark screen and paper. Every chart has a title and a description for those who do not see it; lines differ
 * by dash as well as by colour, and have their names at their ends. */
#ifndef KVF_REPORT_SVG_H
#define KVF_REPORT_SVG_H

#include "base/buf.h"
#include "report/plot.h"

/* Rules of CSS for all charts, once a page. */
const char *svg_style(void);
/* Adds the <svg> element. `id` is unique in the page, of letters, digits and dashes. Nothing for a plot that
 * is plot_empty(). */
void svg_plot(const struct plot *p, const char *id, struct buf *out);

/* Lines longer than this many pairs of least and most are thinned out with plot_thin(). */
enum { SVG_PAIRS = 300 };

#endif
