/* Bars, sparklines, graphs over time and heat maps, in block and braille characters or ASCII as the
 * canvas' style says. Pure drawing: they know neither snapshots nor histories. Screen thread only. */
#ifndef KVF_DRAW_GRAPH_H
#define KVF_DRAW_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#include "draw/canvas.h"
#include "draw/number.h"

/* A bar of `cols` columns filled to `share` (0 to 1, NaN draws the track alone) in eighths of a column
 * (whole columns in ASCII: "#" on "."). Never full before 1, never empty above 0. */
void graph_bar(const struct pane *p, int row, int col, int cols, double share, enum tone tone);

/* A bar with graded cells: red from the share `limit` on, where the resource is saturated, amber from 0.7 of
 * it on, green below. */
void graph_bar_graded(const struct pane *p, int row, int col, int cols, double share, double limit);

/* One row, a value a column in blocks of eight levels (seven signs in ASCII), the newest at the right; values
 * are those of history_series with graph_spark_points(). NaN is a gap. top 0 means nothing to show. */
void graph_spark(const struct pane *p, int row, int col, int cols, const float *values, double top,
                 enum tone tone);
size_t graph_spark_points(int cols); /* values that graph_spark() takes for so many columns */

enum { GRAPH_LINES = 8, GRAPH_MARKS = 64, GRAPH_AXIS = 8 };
struct graph_line {
    const char *name;    /* in the legend */
    const float *values; /* graph_points() of them; NaN is a gap */
    enum tone tone;
    bool broken; /* in dashes: the direction that is written, and series beyond the third hue */
    bool whole;  /* the name is shown whole or not at all */
};
struct graph_mark {
    double t_s;
    char sign;      /* what stands at the top of the plot: 'm', '!', '^' */
    enum tone tone; /* MARK, BAD */
};
struct graph {
    const char *title;   /* with its unit where the axis does not say it */
    number_fn *axis;     /* how values are written at the axis */
    double top;          /* the axis ends here; <= 0: the graph says that there is no data yet */
    double from_s, to_s; /* run time at both ends */
    const char *ends[2]; /* labels at both ends; NULL: the times */
    double cursor_s;     /* a moment to point out; NaN: none */
    unsigned lines;
    struct graph_line line[GRAPH_LINES];
    unsigned marks;
    struct graph_mark mark[GRAPH_MARKS];
};
/* Title and legend in the first row, values at the left in GRAPH_AXIS columns (top, middle when there
 * are five rows of plot, 0; all in the unit of the top), run time in the last row, marks over the top row of
 * the plot. Lines are drawn in braille, each dot joined to the one before; without colours each has letters
 * of its own on it (the first of its name, upper case when taken), and in ASCII it consists of them. Where
 * two lines meet in a cell the later one gives the tone. Below 3 rows or 16 columns only the title is drawn.
 */
void graph_draw(const struct pane *p, const struct graph *g);
size_t graph_points(const struct pane *p); /* values a line needs for this pane */

struct graph_heat {
    const char *title;
    double from_s, to_s, cursor_s;
    unsigned marks;
    struct graph_mark mark[GRAPH_MARKS];
    size_t bins;            /* of a part, lowest first */
    const uint32_t *counts; /* graph_heat_points(p) x bins */
    number_fn *axis;
    double (*edge)(size_t bin); /* lower edge of a bin, for the axis */
};
/* Draws time to the right and bins upwards: those between the lowest and the highest in use, joined where
 * they outnumber the rows. Sign and tone follow the logarithm of the count; the legend names the densest
 * cell. */
void graph_heat_draw(const struct pane *p, const struct graph_heat *h);
size_t graph_heat_points(const struct pane *p); /* parts of time for this pane */

#endif
