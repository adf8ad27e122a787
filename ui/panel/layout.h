/* The layout of the screen: pure functions from sizes to rectangles. Any thread. */
#ifndef KVF_UI_PANEL_LAYOUT_H
#define KVF_UI_PANEL_LAYOUT_H

#include <stddef.h>

#include "draw/canvas.h"

enum { LAYOUT_LEAST_ROWS = 10, LAYOUT_LEAST_COLS = 40, LAYOUT_SECTIONS = 14, LAYOUT_STEPS = 4 };

/* A part of a view. Sections of the same line (numbers rise from the top) stand side by side when the
 * sum of their least columns and a column between them fits, else one below the other.
 * Heights are handed out in steps: step i brings the section to rows[i] (0: no such step) and is taken
 * in the order of urgency[i] (1 first) over all sections of the view. The first step that does not fit
 * ends it, so that more rows never take anything away. When all steps are taken, what is left goes
 * row by row to the sections with `grow`, in proportion, up to most_rows (0: no limit). */
struct layout_section {
    const char *name;
    int line;
    int least_cols;
    int rows[LAYOUT_STEPS];
    int urgency[LAYOUT_STEPS];
    int fourth[LAYOUT_STEPS]; /* rows that a fourth tier adds to each step */
    int grow;
    int most_rows;
    int col_weight; /* share of the columns among its line; 0 is 1 */
};

/* The rectangles of n sections inside `body`; those without room are empty. */
void layout_sections(const struct layout_section *s, size_t n, struct rect body, struct rect *out);

struct layout_screen {
    bool too_small;     /* below 40x10: one line only, in `body` */
    struct rect header; /* first row */
    struct rect body;   /* the view */
    struct rect footer; /* last row: keys, questions, messages */
};
struct layout_screen layout_screen(int rows, int cols);

#endif
