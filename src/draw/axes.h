/* The frame of graphs over time: values at the left, run time below, marks and the cursor. Rows of the plot
 * count from its top. Screen thread only. */
#ifndef KVF_DRAW_AXES_H
#define KVF_DRAW_AXES_H

#include <stdbool.h>

#include "draw/canvas.h"
#include "draw/graph.h"

/* The part of a pane inside the axes; empty when there is no room for them. */
struct pane axes_plot(const struct pane *p);
/* Clears the plot and draws the line at its left. */
void axes_frame(const struct pane *p);
/* Writes a value beside a row of the plot; axes_part() a share of `whole`, in the unit of the whole. */
void axes_value(const struct pane *p, int row, number_fn *fn, double v);
void axes_part(const struct pane *p, int row, number_fn *fn, double whole, double share);
/* Writes run time into the last row: at both ends and at round times between. A click on the plot selects its
 * time. */
void axes_time(const struct pane *p, double from_s, double to_s);
/* Writes a label at either end of the last row. */
void axes_ends(const struct pane *p, const char *low, const char *high);
/* Draws the signs of marks over the top row of the plot, each in the column of its time. */
void axes_marks(const struct pane *p, double from_s, double to_s, const struct graph_mark *marks,
                unsigned count);
/* Draws the cursor down the plot: a line on blanks, inverse elsewhere. Call it last. */
void axes_cursor(const struct pane *p, double from_s, double to_s, double cursor_s);
/* Says in the middle of the plot that there is nothing to show. */
void axes_no_data(const struct pane *p);

#endif
