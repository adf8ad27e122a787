#include "study/sweep/chart.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 12, LEFT = 7, RIGHT = 18, LEAST = 20, DOTS_X = 2, DOTS_Y = 4 };

struct chart {
    unsigned columns; /* of the area of the curves */
    double low, high; /* ends of y */
    bool ascii;
    unsigned char *cell; /* by row and column: braille dots, or the letter */
};

/* y at a part of the scale of x, between the points on a straight line. */
static double curve_at(const struct chart_curve *c, const double *x, size_t points, double part) {
    double at = log(x[0]) + part * (log(x[points - 1]) - log(x[0]));
    size_t i = 1;
    while (i + 1 < points && log(x[i]) < at) i++;
    double from = log(x[i - 1]), to = log(x[i]);
    double share = to > from ? (at - from) / (to - from) : 0;
    return c->y[i - 1] + fmin(fmax(share, 0), 1) * (c->y[i] - c->y[i - 1]);
}

static double height(const struct chart *c, double y) { /* 0 at the top, 1 at the bottom */
    double h = (c->high - y) / (c->high - c->low);
    return fmin(fmax(h, 0), 1);
}

/* Bits of the dots of a braille character (U+2800 and on), by row and column. */
static unsigned char dot(unsigned x, unsigned y) {
    static const unsigned char bits[DOTS_Y][DOTS_X] = {
        {0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    return bits[y][x];
}

/* From the height of the step before on, so that steep parts have no gaps. */
static void curve_draw(struct chart *c, const struct chart_curve *curve, const double *x, size_t points) {
    unsigned wide = c->columns * (c->ascii ? 1 : DOTS_X), tall = ROWS * (c->ascii ? 1 : DOTS_Y);
    unsigned before = 0;
    for (unsigned i = 0; i < wide; i++) {
        double y = curve_at(curve, x, points, wide > 1 ? (double)i / (wide - 1) : 0);
        unsigned h = (unsigned)lround(height(c, y) * (tall - 1));
        if (i == 0) before = h;
        unsigned from = h > before ? before + 1 : h, to = h < before ? before - 1 : h;
        if (from > to) from = to = h;
        for (unsigned k = from; k <= to; k++) {
            if (c->ascii)
                c->cell[k * c->columns + i] = (unsigned char)curve->mark;
            else
                c->cell[k / DOTS_Y * c->columns + i / DOTS_X] |= dot(i % DOTS_X, k % DOTS_Y);
        }
        before = h;
    }
}

static void cell_put(const struct chart *c, unsigned char v, struct buf *out) {
    if (c->ascii) {
        buf_addf(out, "%c", v ? v : ' ');
    } else { /* UTF-8 of U+2800 + v */
        char utf8[4] = {(char)0xe2, (char)(0xa0 | v >> 6), (char)(0x80 | (v & 0x3f)), '\0'};
        buf_add(out, utf8);
    }
}

static void scale_choose(struct chart *c, const struct chart_curve *curve, size_t curves, size_t points) {
    c->low = 1;
    c->high = 0;
    for (size_t k = 0; k < curves; k++)
        for (size_t i = 0; i < points; i++) {
            c->low = fmin(c->low, curve[k].y[i]);
            c->high = fmax(c->high, curve[k].y[i]);
        }
    c->low = fmax(floor(c->low * 10) / 10, 0);
    c->high = fmin(ceil(c->high * 10) / 10, 1);
    if (c->high - c->low < 0.05) c->high = c->low + 0.1;
}

/* Names at their curves' ends, each on a row of its own. */
static void names_place(const struct chart *c, const struct chart_curve *curve, size_t curves, size_t points,
                        int row[ROWS]) {
    for (int r = 0; r < ROWS; r++) row[r] = -1;
    for (size_t k = 0; k < curves && k < ROWS; k++) {
        int at = (int)lround(height(c, curve[k].y[points - 1]) * (ROWS - 1)), r = at;
        for (int away = 1; row[r] >= 0; away++) {
            if (at + away < ROWS && row[at + away] < 0)
                r = at + away;
            else if (at - away >= 0 && row[at - away] < 0)
                r = at - away;
        }
        row[r] = (int)k;
    }
}

void chart_put(const struct chart_curve *curve, size_t curves, const double *x, size_t points,
               const char *low, const char *high, const struct format_style *style, struct buf *out) {
    unsigned columns = style->columns ? style->columns : 80;
    struct chart c = {.ascii = style->ascii,
                      .columns = columns > LEFT + RIGHT + LEAST ? columns - LEFT - RIGHT : LEAST};
    int name[ROWS];
    if (c.columns > 100) c.columns = 100;
    c.cell = mem_zalloc((size_t)c.columns * ROWS, 1);
    scale_choose(&c, curve, curves, points);
    for (size_t k = curves; k-- > 0;) curve_draw(&c, &curve[k], x, points);
    names_place(&c, curve, curves, points, name);
    for (int r = 0; r < ROWS; r++) {
        double y = c.high - (c.high - c.low) * r / (ROWS - 1);
        if (r % 3 == 0 || r == ROWS - 1)
            buf_addf(out, "%4.0f %% ", 100 * y);
        else
            buf_addf(out, "%*s", LEFT, "");
        for (unsigned i = 0; i < c.columns; i++) cell_put(&c, c.cell[(unsigned)r * c.columns + i], out);
        if (name[r] >= 0) {
            buf_addf(out, " %s", curve[name[r]].name);
            if (c.ascii) buf_addf(out, " (%c)", curve[name[r]].mark);
        }
        buf_add(out, "\n");
    }
    int gap = (int)c.columns - (int)strlen(low) - (int)strlen(high);
    buf_addf(out, "%*s%s%*s%s\n", LEFT, "", low, gap > 1 ? gap : 1, "", high);
    free(c.cell);
}
