/* Two stored runs on one screen: their metrics in columns side by side, their curves in one graph. Knows only
 * what it is given. Screen thread only. */
#ifndef KVF_UI_PAIR_H
#define KVF_UI_PAIR_H

#include "draw/canvas.h"
#include "draw/number.h"

struct pair_row {
    char label[64], value[2][40], change[48]; /* "+5.6 %" */
    enum tone tone;                           /* of the change: good, bad, or neither */
};
enum { PAIR_CURVES = 4, PAIR_POINTS = 600 };
struct pair_curve {
    const char *title, *unit; /* of the axis, as axis_wish takes it */
    number_fn *axis;
    float values[2][PAIR_POINTS]; /* over run time from 0 to to_s; NaN: a gap */
};
struct pair {
    char title[2][160], verdict[2][300];
    struct pair_row *row; /* the caller's */
    size_t rows;
    struct pair_curve curve[PAIR_CURVES];
    double to_s; /* the longer of the two */
};

/* The whole picture; `first` is the first row of the table, cut to what there is. */
void pair_draw(const struct pair *p, struct canvas *c, int *first);

#endif
