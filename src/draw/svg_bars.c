#include "draw/svg_bars.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "draw/axis.h"
#include "draw/escape.h"
#include "draw/svg_frame.h"

enum { BAR = 15, GAP = 9, CATEGORY_CHARS = 24, CELL_WIDTH = 58, CELL_HEIGHT = 26 };

static double widest(char *const *names, size_t count) {
    double width = 0;
    for (size_t i = 0; i < count; i++) width = fmax(width, svg_text_width(names[i], CATEGORY_CHARS));
    return width;
}

/* ---- bars ---- */

static double value_of(const struct plot *p, size_t k, size_t category) {
    return category < p->line[k].count ? p->line[k].y[category] : NAN;
}

static void bar(const struct svg_frame *f, size_t k, double from, double to, double y, const char *title) {
    buf_addf(f->out, "<rect class=\"f c k%u\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"><title>",
             f->plot->line[k].colour % PLOT_COLOURS, from, y, fmax(to - from, 0), BAR);
    escape_xml(title, f->out);
    buf_add(f->out, "</title></rect>");
}

/* A row's bars, its values behind each, or behind all of them when they stand in one. */
static void row_draw(const struct svg_frame *f, size_t category, double y) {
    const struct plot *p = f->plot;
    double sum = 0;
    bool any = false;
    for (size_t k = 0; k < p->lines; k++) {
        double v = value_of(p, k, category);
        struct format_cell value = axis_value(v, p->y.unit);
        struct buf title = {0};
        buf_addf(&title, "%s, %s: %s", p->category[category], p->line[k].name, value.text);
        if (isfinite(v)) {
            any = true;
            bar(f, k, svg_frame_x(f, p->stacked ? sum : 0), svg_frame_x(f, (p->stacked ? sum : 0) + v), y,
                buf_text(&title));
        }
        buf_free(&title);
        sum += isfinite(v) ? v : 0;
        if (p->stacked) continue;
        svg_text(f->out, isfinite(v) ? svg_frame_x(f, v) + 5 : f->left + 5, y + 12, "class=\"v o\"",
                 value.text, 40);
        y += BAR;
    }
    if (p->stacked)
        svg_text(f->out, svg_frame_x(f, sum) + 5, y + 12, "class=\"v o\"",
                 axis_value(any ? sum : NAN, p->y.unit).text, 40);
}

/* Of the values behind the bars: of each, or of all in a row together. */
static double values_width(const struct plot *p) {
    double width = 0;
    for (size_t i = 0; i < p->categories; i++) {
        double sum = 0;
        for (size_t k = 0; k < p->lines; k++) {
            double v = value_of(p, k, i);
            sum += isfinite(v) ? v : 0;
            if (!p->stacked) width = fmax(width, svg_text_width(axis_value(v, p->y.unit).text, 40));
        }
        if (p->stacked) width = fmax(width, svg_text_width(axis_value(sum, p->y.unit).text, 40));
    }
    return width;
}

void svg_bars(const struct plot *p, const char *id, struct buf *out) {
    struct svg_frame f = {.plot = p, .out = out, .width = p->small ? SVG_SMALL_WIDTH : SVG_WIDTH};
    double low, high, per_row = (p->stacked ? 1 : (double)p->lines) * BAR + GAP;
    f.top = p->lines > 1 ? svg_legend(p, 2, f.width, 12, NULL) - 6 : 6;
    f.left = fmax(widest(p->category, p->categories) + 12, 40);
    f.right = f.width - fmax(70, values_width(p) + 8);
    f.bottom = f.top + per_row * (double)p->categories + 2;
    f.height = f.bottom + 40;
    bool any = plot_range_y(p, &low, &high);
    axis_make(&f.x, &(struct axis_wish){any ? low : NAN, any ? high : NAN, p->y.unit, false, false, 6});
    svg_frame_open(&f, id);
    if (p->lines > 1) svg_legend(p, 2, f.width, 12, out);
    for (size_t i = 0; i < f.x.ticks; i++) {
        double at = svg_frame_x(&f, f.x.tick[i]);
        buf_addf(out, "<path class=\"g\" d=\"M%.1f %.1fV%.1f\"/>", at, f.top, f.bottom + 4);
        svg_text(out, at, f.bottom + 17, "text-anchor=\"middle\"", f.x.text[i], AXIS_TEXT);
    }
    struct buf name = {0};
    buf_addf(&name, "%s%s%s", p->y.label, *p->y.label && *f.x.unit ? ", " : "", f.x.unit);
    svg_text(out, (f.left + f.right) / 2, f.bottom + 33, "text-anchor=\"middle\" class=\"n\"",
             buf_text(&name), 60);
    buf_free(&name);
    for (size_t i = 0; i < p->categories; i++) {
        double y = f.top + GAP / 2.0 + per_row * (double)i;
        svg_text(out, f.left - 7, y + (per_row - GAP) / 2 + 4, "text-anchor=\"end\"", p->category[i],
                 CATEGORY_CHARS);
        row_draw(&f, i, y);
    }
    buf_addf(out, "<path class=\"x\" d=\"M%.1f %.1fV%.1f\"/>", f.left, f.top, f.bottom);
    svg_frame_close(&f);
}

/* ---- heat maps ---- */

/* Strokes across a cell that has no figure. */
static void cell_hatch(struct buf *out, double x, double y, double width) {
    enum { APART = 9 };
    buf_add(out, "<path class=\"g\" pointer-events=\"none\" d=\"");
    for (double k = APART - CELL_HEIGHT; k < width; k += APART) {
        double from = fmax(k, 0), to = fmin(k + CELL_HEIGHT, width);
        buf_addf(out, "M%.1f %.1fL%.1f %.1f", x + from, y + CELL_HEIGHT - (from - k), x + to,
                 y + CELL_HEIGHT - (to - k));
    }
    buf_add(out, "\"/>");
}

enum { FULL_PERCENT = 5 };

/* Weak to strong for 0 to 1, light enough for the text on it. */
static void cell_draw(struct buf *out, double x, double y, double width, double v, const struct plot *p,
                      double low, double high, const char *title) {
    unsigned colour = 0;
    double strength = high > low ? (v - low) / (high - low) : 0.5;
    if (p->diverging) {
        bool good = p->less_better ? v < 0 : v > 0;
        /* tenths of a percent have no strong colour, though they be the largest there are */
        double reach = fmax(fmax(fabs(low), fabs(high)), strcmp(p->y.unit, "%") == 0 ? FULL_PERCENT : 0);
        colour = good ? 0 : 1;
        strength = reach > 0 ? fabs(v) / reach : 0;
    }
    if (isfinite(v))
        buf_addf(
            out,
            "<rect class=\"f c k%u\" fill-opacity=\"%.2f\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\">",
            colour, 0.04 + 0.56 * fmin(fmax(strength, 0), 1), x, y, width, CELL_HEIGHT);
    else
        buf_addf(out, "<rect class=\"s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\">", x, y, width,
                 CELL_HEIGHT);
    buf_add(out, "<title>");
    escape_xml(title, out);
    buf_add(out, "</title></rect>");
    if (!isfinite(v)) cell_hatch(out, x, y, width);
}

/* Differences have their sign, which says what the colour does. */
static struct format_cell cell_text(const struct plot *p, double v) {
    if (p->diverging && fabs(v) < 5e-4) v = 0; /* no sign */
    struct format_cell value = axis_value(v, p->y.unit), c = value;
    if (p->diverging && fabs(v) >= 10 && strcmp(p->y.unit, "%") == 0)
        snprintf(value.text, sizeof value.text, "%.0f %%", fmax(-1e9, fmin(100 * v, 1e9)));
    if (p->diverging) snprintf(c.text, sizeof c.text, "%s%.30s", v > 0 ? "+" : "", value.text);
    return c;
}

void svg_heat(const struct plot *p, const char *id, struct buf *out) {
    struct svg_frame f = {.plot = p, .out = out, .top = 24};
    double low = NAN, high = NAN, names = 0;
    for (size_t k = 0; k < p->lines; k++)
        names = fmax(names, svg_text_width(p->line[k].name, CATEGORY_CHARS));
    f.left = fmax(names + 14, 40);
    double width = fmax(CELL_WIDTH, (SVG_WIDTH - f.left - 4) / fmax((double)p->categories, 1));
    size_t chars = (size_t)(width / 7.5);
    f.right = f.left + width * (double)p->categories;
    f.width = f.right + 4;
    f.bottom = f.top + CELL_HEIGHT * (double)p->lines;
    f.height = f.bottom + (*p->x.label ? 22 : 6);
    (void)plot_range_y(p, &low, &high);
    if (!p->diverging && strcmp(p->y.unit, "%") == 0) low = fmin(low, high - FULL_PERCENT / 100.0);
    svg_frame_open(&f, id);
    for (size_t i = 0; i < p->categories; i++)
        svg_text(out, f.left + width * ((double)i + 0.5), f.top - 7, "text-anchor=\"middle\"", p->category[i],
                 chars);
    for (size_t k = 0; k < p->lines; k++) {
        double y = f.top + CELL_HEIGHT * (double)k;
        svg_text(out, f.left - 7, y + CELL_HEIGHT / 2.0 + 4, "text-anchor=\"end\"", p->line[k].name,
                 CATEGORY_CHARS);
        for (size_t i = 0; i < p->categories; i++) {
            double v = value_of(p, k, i), x = f.left + width * (double)i;
            struct format_cell c = cell_text(p, v);
            struct buf title = {0};
            buf_addf(&title, "%s, %s: %s", p->line[k].name, p->category[i], c.text);
            cell_draw(out, x, y, width, v, p, low, high, buf_text(&title));
            buf_free(&title);
            svg_text(out, x + width / 2, y + CELL_HEIGHT / 2.0 + 4,
                     "text-anchor=\"middle\" class=\"v\" pointer-events=\"none\"", c.text, chars + 2);
        }
    }
    if (*p->x.label)
        svg_text(out, (f.left + f.right) / 2, f.bottom + 16, "text-anchor=\"middle\" class=\"n\"", p->x.label,
                 60);
    svg_frame_close(&f);
}
