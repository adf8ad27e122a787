/* Curves over a logarithmic scale as characters: braille dots, or in ASCII a letter for each curve. */
#ifndef KVF_STUDY_SWEEP_CHART_H
#define KVF_STUDY_SWEEP_CHART_H

#include <stddef.h>

#include "base/buf.h"
#include "draw/format.h"

struct chart_curve {
    const char *name;
    char mark;       /* in ASCII */
    const double *y; /* shares, 0 to 1, by x */
};
/* x ascending, above 0, at least two; names stand at the right ends of their curves. `low` and `high` are
 * the labels of the ends of x. */
void chart_put(const struct chart_curve *curve, size_t curves, const double *x, size_t points,
               const char *low, const char *high, const struct format_style *style, struct buf *out);

#endif
