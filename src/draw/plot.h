/* A chart as plain data: svg_plot() draws it for a page, spark_plot() for plain text. A plot copies all that
 * it is given; texts may come from outside. One thread at a time. */
#ifndef KVF_DRAW_PLOT_H
#define KVF_DRAW_PLOT_H

#include <stdbool.h>
#include <stddef.h>

enum plot_kind {
    PLOT_LINES, /* y over x, a line for each */
    PLOT_STACK, /* areas on top of each other; all lines have the same x */
    PLOT_BARS,  /* horizontal bars: a row for each category, in it a bar for each line */
    PLOT_HEAT   /* categories across, a row for each line; y is written in the cells */
};

struct plot_axis {
    char *label;       /* the quantity; "": none */
    char unit[12];     /* of struct axis_wish */
    bool log;          /* values of 0 and less are left out */
    double low, high;  /* ends that the axis reaches at least; NaN: those of the values */
    struct plot_tick { /* x only: the possible values, instead of round numbers */
        double at;
        char *text;
    } * tick;
    size_t ticks;
};

/* Colours are a palette of PLOT_COLOURS that people with colour-blindness can tell apart, dashes the patterns
 * that tell lines apart in black and white. */
enum { PLOT_COLOURS = 8, PLOT_DASHES = 6 };
struct plot_line {
    char *name;
    double *x, *y; /* y NaN: missing, a gap in the line; of bars and heat x is NULL and y is by category */
    size_t count;
    unsigned colour, dash; /* by number, from 0 */
    bool area;             /* LINES: filled down to the axis, lightly */
    bool steps;            /* LINES: holds each value to the next one */
    bool marks;            /* LINES: a mark at each point, for measured points that are few */
    bool dots;             /* LINES: marks alone, no line */
    double *upper;         /* LINES: with y the band from y to upper, no line; NULL: a line */
};
struct plot_span { /* another phase along x */
    double from, to;
    char *name;
};
struct plot_mark { /* a line at a value of x, or of y with `level` */
    double at;
    bool level;
    char *text;
};

struct plot {
    enum plot_kind kind;
    char *title;   /* short, with neither unit nor run */
    char *caption; /* a sentence or two for under it: how to read it, what was left out; "" */
    struct plot_axis x, y;
    bool small;       /* one of many side by side, with one scale */
    bool stacked;     /* BARS: those of a row in one bar */
    bool diverging;   /* HEAT: colours to either side of 0, else from the least to the most */
    bool less_better; /* HEAT, diverging: below 0 is the good side */
    struct plot_line *line;
    size_t lines, line_cap;
    char **category;
    size_t categories;
    struct plot_span *span;
    size_t spans;
    struct plot_mark *mark;
    size_t marks;
};

struct plot *plot_new(enum plot_kind kind, const char *title); /* empty; ends the program without memory */
void plot_free(struct plot *p);                                /* takes NULL */
/* Sets the caption, a sentence or two. */
void plot_caption(struct plot *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Sets label and unit of an axis: &p->x or &p->y. */
void plot_axis(struct plot_axis *a, const char *label, const char *unit);
/* Adds a tick of x after those before it; ticks without room are left out of the picture. */
void plot_tick(struct plot *p, double at, const char *text);
/* Adds a line of `count` points, copied. Colour and dash are its number; the caller may change them. The
 * pointer is valid until the next line. x NULL: y by category. A stride is the distance of two values in
 * bytes, so that a field of an array of structs can be given. */
struct plot_line *plot_line(struct plot *p, const char *name, size_t count, const double *x, size_t x_stride,
                            const double *y, size_t y_stride);
/* Adds a line with room for `count` points, all missing, for the caller to fill. */
struct plot_line *plot_line_room(struct plot *p, const char *name, size_t count, bool with_x);
void plot_category(struct plot *p, const char *name);                     /* the next one */
void plot_span(struct plot *p, double from, double to, const char *name); /* a phase along x */
void plot_mark(struct plot *p, double at, const char *text);              /* a vertical line */
void plot_level(struct plot *p, double at, const char *text);             /* a horizontal one: a target */

/* Whether nothing can be drawn: every value is missing, or not above 0 on a logarithmic axis. */
bool plot_empty(const struct plot *p);
/* The range of the values drawn; false: none. Stacks: from 0 to the highest sum. */
bool plot_range_x(const struct plot *p, double *low, double *high);
bool plot_range_y(const struct plot *p, double *low, double *high);

/* Gives charts side by side the same axes, which span the values of all of them. */
void plot_one_scale(struct plot *const *p, size_t count);

/* A part of a long line. */
struct plot_part {
    double x;                 /* its middle, of the points in it */
    double least, mean, most; /* of y; NaN where all is missing */
};
/* Thins a line out: cuts its ascending x into `parts` equal parts and fills one element of `out` for each
 * part with points. Least and most keep every spike; parts without a value stay gaps. Returns the number of
 * elements, at most `parts`. */
size_t plot_thin(const double *x, const double *y, size_t count, size_t parts, struct plot_part *out);

#endif
