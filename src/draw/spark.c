#include "draw/spark.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "draw/axis.h"
#include "draw/escape.h"
#include "draw/format.h"

enum { NAME = 18, NAME_MOST = 36, RANGE = 24, LEAST = 16, LEVELS = 8 };

struct spark {
    const struct plot *plot;
    bool ascii;
    unsigned name, columns; /* of a name, and of what stands behind it */
    double low_x, high_x;
    struct axis y;
    struct buf *out;
};

/* A height of 0 to 1 as a character; the lowest one is not empty. */
static void level_put(const struct spark *s, double part) {
    static const char *const blocks[LEVELS] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char letters[LEVELS + 1] = "_.-:=+*#";
    int level = (int)fmin(floor(part * LEVELS), LEVELS - 1);
    if (s->ascii)
        buf_addf(s->out, "%c", letters[level]);
    else
        buf_add(s->out, blocks[level]);
}

static void name_put(const struct spark *s, const char *name) {
    struct buf clean = {0};
    char fit[NAME_MOST * 5];
    escape_plain(name, false, s->ascii, &clean);
    buf_addf(s->out, "  %s ", format_fit(buf_text(&clean), s->name, s->ascii, fit, sizeof fit));
    buf_free(&clean);
}

/* The most of the values in one column, NaN when there are none. */
static double column_most(const struct spark *s, const struct plot_line *l, unsigned column) {
    double width = (s->high_x - s->low_x) / s->columns, most = NAN;
    double from = s->low_x + column * width, to = from + width;
    for (size_t i = 0; i < l->count; i++)
        if (isfinite(l->y[i]) && l->x[i] >= from && (l->x[i] < to || column + 1 == s->columns))
            most = fmax(most, l->upper ? l->upper[i] : l->y[i]);
    return most;
}

/* Fewer points than columns stand in as many columns as they last. */
static void line_put(const struct spark *s, const struct plot_line *l) {
    double low = NAN, high = NAN, before = NAN;
    bool sparse = l->count < s->columns;
    for (size_t i = 0; i < l->count; i++)
        if (isfinite(l->y[i])) {
            low = fmin(low, l->y[i]);
            high = fmax(high, l->upper ? l->upper[i] : l->y[i]);
        }
    if (isnan(low)) return;
    name_put(s, *l->name ? l->name : s->plot->y.label);
    for (unsigned c = 0; c < s->columns; c++) {
        double v = column_most(s, l, c);
        if (isnan(v) && sparse) v = before;
        before = v;
        if (isnan(v))
            buf_add(s->out, " ");
        else
            level_put(s, axis_part(&s->y, v));
    }
    buf_add(s->out, " ");
    axis_range(low, high, s->plot->y.unit, s->out);
    buf_add(s->out, "\n");
}

static void bar_put(const struct spark *s, const char *name, double v) {
    unsigned length = isfinite(v) ? (unsigned)lround(axis_part(&s->y, v) * s->columns) : 0;
    name_put(s, name);
    for (unsigned i = 0; i < length; i++) buf_add(s->out, s->ascii ? "#" : "█");
    buf_addf(s->out, "%s%s\n", length ? " " : "", axis_value(v, s->plot->y.unit).text);
}

static void bar_name(const struct plot *p, size_t category, size_t line, struct buf *out) {
    buf_addf(out, "%s%s%s", p->category[category], p->lines > 1 ? ", " : "",
             p->lines > 1 ? p->line[line].name : "");
}

/* The columns of the longest name, within bounds. */
static unsigned bars_name(const struct plot *p) {
    unsigned most = NAME;
    for (size_t i = 0; i < p->categories; i++)
        for (size_t k = 0; k < p->lines; k++) {
            struct buf name = {0};
            bar_name(p, i, k, &name);
            unsigned width = format_width(buf_text(&name));
            if (width > most) most = width;
            buf_free(&name);
        }
    return most < NAME_MOST ? most : NAME_MOST;
}

static void bars_put(const struct spark *s) {
    const struct plot *p = s->plot;
    for (size_t i = 0; i < p->categories; i++)
        for (size_t k = 0; k < p->lines; k++) {
            struct buf name = {0};
            bar_name(p, i, k, &name);
            bar_put(s, buf_text(&name), i < p->line[k].count ? p->line[k].y[i] : NAN);
            buf_free(&name);
        }
}

static void ends_put(const struct spark *s) {
    const struct plot *p = s->plot;
    struct format_cell low = axis_value(s->low_x, p->x.unit), high = axis_value(s->high_x, p->x.unit);
    int gap = (int)s->columns - (int)format_width(low.text) - (int)format_width(high.text);
    struct buf name = {0};
    escape_plain(p->x.label, false, s->ascii, &name);
    buf_addf(s->out, "  %*s %s%*s%s %s\n", NAME, "", low.text, gap > 1 ? gap : 1, "", high.text,
             buf_text(&name));
    buf_free(&name);
}

void spark_plot(const struct plot *p, const struct format_style *style, struct buf *out) {
    unsigned columns = style->columns ? style->columns : 80,
             name = p->kind == PLOT_BARS ? bars_name(p) : NAME;
    struct spark s = {.plot = p,
                      .ascii = style->ascii,
                      .name = name,
                      .columns = columns > name + RANGE + LEAST + 4 ? columns - name - RANGE - 4 : LEAST,
                      .out = out};
    double low, high;
    if (p->kind == PLOT_HEAT || plot_empty(p) || !plot_range_y(p, &low, &high)) return;
    if (p->kind == PLOT_STACK) { /* each for itself, so that it can be read off */
        struct plot alone = *p;
        alone.kind = PLOT_LINES;
        (void)plot_range_y(&alone, &low, &high);
    }
    axis_make(&s.y, &(struct axis_wish){p->y.log ? low : fmin(low, 0), high, p->y.unit, p->y.log, true, 2});
    if (p->kind == PLOT_BARS) {
        bars_put(&s);
        return;
    }
    if (!plot_range_x(p, &s.low_x, &s.high_x)) return;
    for (size_t k = 0; k < p->lines; k++) line_put(&s, &p->line[k]);
    ends_put(&s);
}
