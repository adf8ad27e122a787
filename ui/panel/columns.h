/* Tables that show as many columns as there is room for, the important ones first. Screen thread only. */
#ifndef KVF_UI_PANEL_COLUMNS_H
#define KVF_UI_PANEL_COLUMNS_H

#include <stdbool.h>

#include "draw/canvas.h"

struct column {
    const char *heading;
    int cols;  /* of its figures or text */
    int rank;  /* 1 appears first; of two with the same rank the one on the left */
    int most;  /* takes what is left over up to this width; 0: keeps `cols` */
    bool left; /* text, begins at the left; figures end at the right */
};
struct column_place {
    int col, cols; /* cols 0: no room for it */
};

/* Places columns in `room`, with one blank between two. The first by rank that does not fit ends the placing,
 * so that more room never takes a column away. */
void columns_place(const struct column *c, int count, int room, struct column_place *out);
/* Draws a text in a column's place, cut to it; nothing for a column without a place. */
void columns_cell(const struct pane *p, int row, const struct column *c, struct column_place at,
                  enum tone tone, const char *text);
void columns_headings(const struct pane *p, int row, const struct column *c, int count,
                      const struct column_place *at);

#endif
