/* The parts that all charts share: the sheet, axes with grid and ticks, names. All lengths are in the
 * picture's own coordinates, from its upper left corner. One thread at a time for each buffer. */
#ifndef KVF_DRAW_SVG_FRAME_H
#define KVF_DRAW_SVG_FRAME_H

#include <stdbool.h>

#include "base/buf.h"
#include "draw/axis.h"
#include "draw/plot.h"

enum {
    SVG_WIDTH = 640,
    SVG_HEIGHT = 260,
    SVG_SMALL_WIDTH = 420,
    SVG_SMALL_HEIGHT = 220,
    SVG_LINE = 15,
    SVG_NAME_CHARS = 26
};

struct svg_frame {
    const struct plot *plot;
    const char *id; /* of the element */
    bool zooms;     /* the page can */
    struct buf *out;
    double width, height;            /* of the picture */
    double left, top, right, bottom; /* edges of the area that the axes enclose */
    struct axis x, y;
};

/* Opens the element with title and description, and closes it. */
void svg_frame_open(const struct svg_frame *f, const char *id);
void svg_frame_close(const struct svg_frame *f);
double svg_frame_x(const struct svg_frame *f, double v); /* the coordinate of a value */
double svg_frame_y(const struct svg_frame *f, double v);
/* Draws grid, ticks and labels of both axes. Spans (phases) come before the data, marks after it. */
void svg_frame_axes(const struct svg_frame *f);
/* Opens two nested groups for the data: one that is clipped at the axes, and inside it one that a zoom moves
 * and stretches along x. */
void svg_frame_data(const struct svg_frame *f);
void svg_frame_spans(const struct svg_frame *f);
void svg_frame_marks(const struct svg_frame *f);

/* The approximate width of a text in the charts' font. */
double svg_text_width(const char *text, size_t most_chars);
/* Draws a text of at most `most_chars` characters; `attributes` are SVG's: "text-anchor='end'". */
void svg_text(struct buf *out, double x, double y, const char *attributes, const char *text,
              size_t most_chars);
/* Draws a short line in the colour and dash of a line of the plot, for legends. */
void svg_swatch(struct buf *out, const struct plot_line *l, double x, double y);
/* Draws the names of all lines in rows from `top` on, between `left` and `right`. Returns the place of the
 * next row. `out` NULL: only measures. */
double svg_legend(const struct plot *p, double left, double right, double top, struct buf *out);

#endif
