/* The frame of everything drawn over time: values at the left, run time below, marks and the
 * cursor. Rows of the plot are counted from its top. */
#ifndef KVF_DRAW_AXES_H
#define KVF_DRAW_AXES_H

#include <stdbool.h>

#include "draw/canvas.h"
#include "draw/graph.h"

/* The part of a pane inside the axes; empty when there is no room for them. */
struct pane axes_plot(const struct pane *p);
/* Clears the plot and draws the line at its left. */
void axes_frame(const struct pane *p);
/* A value beside a row of the plot, or that share of a value, in the unit of the whole. */
void axes_value(const struct pane *p, int row, number_fn *fn, double v);
void axes_part(const struct pane *p, int row, number_fn *fn, double whole, double share);
/* The last row: run time at both ends and at round times between. A click on the plot is one on its time. */
void axes_time(const struct pane *p, double from_s, double to_s);
/* The last row: two labels at its ends. */
void axes_ends(const struct pane *p, const char *low, const char *high);
/* The signs of marks in the top row of the plot, each in the column of its time, whatever is drawn there. */
void axes_marks(const struct pane *p, double from_s, double to_s, const struct graph_mark *marks,
                unsigned count);
/* A line down the plot where nothing is drawn, inverse where something is. Last of all. */
void axes_cursor(const struct pane *p, double from_s, double to_s, double cursor_s);
/* Says in the middle of the plot that there is nothing to show. */
void axes_no_data(const struct pane *p);

#endif
