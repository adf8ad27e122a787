/* Shared by all kinds of charts: the sheet they are drawn on, axes with grid and ticks, names. All
 * figures are units of the picture's own coordinates, from its upper left corner. */
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
double svg_frame_x(const struct svg_frame *f, double v); /* where a value stands */
double svg_frame_y(const struct svg_frame *f, double v);
/* Grid, ticks and labels of both axes; phases below and marks above what is drawn. */
void svg_frame_axes(const struct svg_frame *f);
/* Opens two groups for what is drawn of the data: cut at the edges of the axes, and below that the one that
 * may be moved and stretched along x. */
void svg_frame_data(const struct svg_frame *f);
void svg_frame_spans(const struct svg_frame *f);
void svg_frame_marks(const struct svg_frame *f);

/* About how wide a text is in the font of the charts. */
double svg_text_width(const char *text, size_t most_chars);
/* A text at a place, `attributes` in front of it: "text-anchor='end'" and such; cut at so many characters. */
void svg_text(struct buf *out, double x, double y, const char *attributes, const char *text,
              size_t most_chars);
/* A short line in the colour and dash of a line of the plot, for legends. */
void svg_swatch(struct buf *out, const struct plot_line *l, double x, double y);
/* Names of all lines in rows from `top` on, between `left` and `right`; returns where the next row would be.
 * Without `out` nothing is drawn. */
double svg_legend(const struct plot *p, double left, double right, double top, struct buf *out);

#endif
