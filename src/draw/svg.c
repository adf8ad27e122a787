#include "draw/svg.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draw/escape.h"
#include "draw/svg_bars.h"
#include "draw/svg_frame.h"

enum { STRIPS = 100, NAMES_MOST = 13 };
/* Of many dots those that would cover each other are drawn once. */
enum { DOTS_LARGE = 200, DOT_APART = 2, DOTS_ACROSS = SVG_WIDTH / DOT_APART, DOTS_DOWN = 256 };

/* ---- lines ---- */

/* Long lines have ascending x, as plot_thin() wants it; of others every point is looked at. */
static bool is_long(const struct plot_line *l) {
    return l->count > 2 * SVG_PARTS;
}

/* Dots, of which only the end of the stroke is seen: they keep their form when a chart is stretched. */
static void dot_add(double x, double y, struct buf *out) {
    buf_addf(out, "M%.1f %.1fh.01", x, y);
}

/* A line as a path: a gap where values are missing. What stands alone between two gaps is a dot, in `dots`.
 */
static void path_add(const struct svg_frame *f, const double *x, const double *y, size_t count, bool steps,
                     struct buf *dots) {
    bool down = false, alone = false;
    double before = 0;
    for (size_t i = 0; i < count; i++) {
        bool there =
            isfinite(x[i]) && isfinite(y[i]) && !(f->y.log && !(y[i] > 0)) && !(f->x.log && !(x[i] > 0));
        if (!there) {
            if (alone) dot_add(svg_frame_x(f, x[i - 1]), before, dots);
            down = alone = false;
            continue;
        }
        double px = svg_frame_x(f, x[i]), py = svg_frame_y(f, y[i]);
        if (!down)
            buf_addf(f->out, "M%.1f %.1f", px, py);
        else if (steps)
            buf_addf(f->out, "H%.1f%s", px, "");
        else
            buf_addf(f->out, "L%.1f %.1f", px, py);
        if (down && steps && py != before) buf_addf(f->out, "V%.1f", py);
        alone = !down;
        down = true;
        before = py;
    }
    if (alone) dot_add(svg_frame_x(f, x[count - 1]), before, dots);
}

static void draw_path(const struct svg_frame *f, const struct plot_line *l, const double *x, const double *y,
                      size_t count, bool steps) {
    struct buf dots = {0};
    buf_addf(f->out, "<path class=\"l k%u d%u\" d=\"", l->colour % PLOT_COLOURS, l->dash % PLOT_DASHES);
    path_add(f, x, y, count, steps, &dots);
    buf_add(f->out, "\"/>");
    if (dots.len)
        buf_addf(f->out, "<path class=\"q k%u\" d=\"%s\"/>", l->colour % PLOT_COLOURS, buf_text(&dots));
    buf_free(&dots);
}

/* The area between the line and the axis, a piece for each stretch without gaps. */
static void area_add(const struct svg_frame *f, const struct plot_line *l) {
    size_t i = 0;
    while (i < l->count) {
        while (i < l->count && !isfinite(l->y[i])) i++;
        size_t from = i;
        while (i < l->count && isfinite(l->y[i])) i++;
        if (i - from < 2) continue;
        buf_addf(f->out, "M%.1f %.1f", svg_frame_x(f, l->x[from]), f->bottom);
        for (size_t k = from; k < i; k++)
            buf_addf(f->out, "L%.1f %.1f", svg_frame_x(f, l->x[k]), svg_frame_y(f, l->y[k]));
        buf_addf(f->out, "V%.1fz", f->bottom);
    }
}

/* The band between y and upper. */
static void band_add(const struct svg_frame *f, const struct plot_line *l) {
    size_t i = 0;
    while (i < l->count) {
        while (i < l->count && !(isfinite(l->y[i]) && isfinite(l->upper[i]))) i++;
        size_t from = i;
        while (i < l->count && isfinite(l->y[i]) && isfinite(l->upper[i])) i++;
        for (size_t k = from; k < i; k++)
            buf_addf(f->out, "%c%.1f %.1f", k == from ? 'M' : 'L', svg_frame_x(f, l->x[k]),
                     svg_frame_y(f, l->upper[k]));
        for (size_t k = i; k > from; k--)
            buf_addf(f->out, "L%.1f %.1f", svg_frame_x(f, l->x[k - 1]), svg_frame_y(f, l->y[k - 1]));
        if (i > from) buf_add(f->out, "z");
    }
}

static void draw_marks(const struct svg_frame *f, const struct plot_line *l) {
    bool many = l->count > DOTS_LARGE;
    unsigned char *taken = mem_zalloc(DOTS_ACROSS * DOTS_DOWN, 1); /* dots of one place are one */
    buf_addf(f->out, "<path class=\"%s k%u\" d=\"", many ? "u" : "q", l->colour % PLOT_COLOURS);
    for (size_t i = 0; i < l->count; i++) {
        if (!isfinite(l->y[i]) || (f->y.log && !(l->y[i] > 0))) continue;
        double x = svg_frame_x(f, l->x[i]), y = svg_frame_y(f, l->y[i]);
        size_t column = (size_t)fmax(x / DOT_APART, 0), row = (size_t)fmax(y / DOT_APART, 0);
        unsigned char *there = &taken[row % DOTS_DOWN * DOTS_ACROSS + column % DOTS_ACROSS];
        if (!many || !*there) dot_add(x, y, f->out);
        *there = 1;
    }
    buf_add(f->out, "\"/>");
    free(taken);
}

/* ---- values for a page that zooms ---- */

/* Parts for a page that zooms into a long line: a part for each point where they are not more. */
static size_t fine_count(size_t points) {
    return points < SVG_FINE ? points : SVG_FINE;
}

/* A part of an axis, from 0 to 1, as three digits to the base of 64. */
static void digits_add(double part, struct buf *out) {
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";
    unsigned n = (unsigned)lround(fmin(fmax(part, 0), 1) * 0x3ffff);
    buf_addf(out, "%c%c%c", digits[n >> 12], digits[n >> 6 & 63], digits[n & 63]);
}

/* From the top of the chart to its bottom. */
static void height_add(const struct svg_frame *f, double v, struct buf *out) {
    digits_add((svg_frame_y(f, v) - f->top) / (f->bottom - f->top), out);
}

static void value_add(const struct svg_frame *f, double x, double y, struct buf *out) {
    if (!isfinite(x) || !isfinite(y)) return;
    digits_add((svg_frame_x(f, x) - f->left) / (f->right - f->left), out);
    height_add(f, y, out);
}

/* The points of a line that has no data-fine: of many dots the least and the most of each part. */
static void values_add(const struct svg_frame *f, const struct plot_line *l) {
    if (!f->zooms || (is_long(l) && !l->dots && !l->upper)) return;
    buf_add(f->out, " data-v=\"");
    if (is_long(l)) {
        struct plot_part *part = mem_zalloc(SVG_FINE, sizeof *part);
        size_t count = plot_thin(l->x, l->y, l->count, fine_count(l->count), part);
        for (size_t i = 0; i < count; i++) {
            value_add(f, part[i].x, part[i].least, f->out);
            if (part[i].most > part[i].least) value_add(f, part[i].x, part[i].most, f->out);
        }
        free(part);
    }
    for (size_t i = 0; !is_long(l) && i < l->count; i++) {
        value_add(f, l->x[i], l->y[i], f->out);
        if (l->upper) value_add(f, l->x[i], l->upper[i], f->out);
    }
    buf_add(f->out, "\"");
}

/* ---- long lines ---- */

/* Each part as three heights, of the least, the mean and the most; "!" where its values are missing, "."
 * where it has no points. */
static void fine_add(const struct svg_frame *f, const struct plot_line *l, const struct plot_part *part,
                     size_t count) {
    double from = l->x[0], to = l->x[l->count - 1];
    size_t parts = fine_count(l->count), at = 0;
    if (!f->zooms) return;
    buf_addf(f->out, " data-fine=\"%.2f %.2f ", svg_frame_x(f, from), svg_frame_x(f, to));
    for (size_t i = 0; i < count; i++) {
        size_t number = to > from ? (size_t)((part[i].x - from) / (to - from) * (double)parts) : at;
        for (; at < number && at + 1 < parts; at++) buf_add(f->out, ".");
        at++;
        if (!isfinite(part[i].mean)) {
            buf_add(f->out, "!");
            continue;
        }
        height_add(f, part[i].least, f->out);
        height_add(f, part[i].mean, f->out);
        height_add(f, part[i].most, f->out);
    }
    buf_add(f->out, "\"");
}

/* The means as a line, in a band of all that there is. */
static void draw_long(const struct svg_frame *f, const struct plot_line *l) {
    struct plot_part *parts = mem_zalloc(SVG_PARTS, sizeof *parts);
    size_t count = plot_thin(l->x, l->y, l->count, SVG_PARTS, parts);
    double *x = mem_zalloc(count + 1, sizeof *x), *mean = mem_zalloc(count + 1, sizeof *mean);
    double *least = mem_zalloc(count + 1, sizeof *least), *most = mem_zalloc(count + 1, sizeof *most);
    for (size_t i = 0; i < count; i++) {
        x[i] = parts[i].x;
        least[i] = parts[i].least;
        mean[i] = parts[i].mean;
        most[i] = parts[i].most;
    }
    struct plot_part *fine = mem_zalloc(SVG_FINE, sizeof *fine);
    buf_addf(f->out, "<path class=\"w k%u\"", l->colour % PLOT_COLOURS);
    fine_add(f, l, fine, plot_thin(l->x, l->y, l->count, fine_count(l->count), fine));
    buf_add(f->out, " d=\"");
    band_add(f, &(struct plot_line){.x = x, .y = least, .upper = most, .count = count});
    buf_add(f->out, "\"/>");
    draw_path(f, l, x, mean, count, false);
    free(fine);
    free(x);
    free(mean);
    free(least);
    free(most);
    free(parts);
}

static void draw_line(const struct svg_frame *f, const struct plot_line *l) {
    unsigned colour = l->colour % PLOT_COLOURS;
    if (l->upper) {
        buf_addf(f->out, "<path class=\"a k%u\" d=\"", colour);
        band_add(f, l);
        buf_add(f->out, "\"/>");
        return;
    }
    if (is_long(l) && !l->dots) {
        draw_long(f, l);
        return;
    }
    if (l->area) {
        buf_addf(f->out, "<path class=\"a k%u\" d=\"", colour);
        area_add(f, l);
        buf_add(f->out, "\"/>");
    }
    if (!l->dots) draw_path(f, l, l->x, l->y, l->count, l->steps);
    if (l->marks || l->dots) draw_marks(f, l);
}

/* ---- stacks ---- */

/* Of a long stack the means of its parts, which stay means when they are put on top of each other. */
static size_t stack_values(const struct plot_line *l, double *x, double *y) {
    if (l->count <= 2 * SVG_PARTS) {
        memcpy(x, l->x, l->count * sizeof *x);
        memcpy(y, l->y, l->count * sizeof *y);
        return l->count;
    }
    struct plot_part *parts = mem_zalloc(SVG_PARTS, sizeof *parts);
    size_t count = plot_thin(l->x, l->y, l->count, SVG_PARTS, parts);
    for (size_t i = 0; i < count; i++) {
        x[i] = parts[i].x;
        y[i] = parts[i].mean;
    }
    free(parts);
    return count;
}

/* The same of a line of a long stack, from the sum of those below, which grows by its means. */
static void fine_stack(const struct svg_frame *f, const struct plot_line *l, double *sum) {
    struct plot_part *part = mem_zalloc(SVG_FINE, sizeof *part);
    size_t count = plot_thin(l->x, l->y, l->count, fine_count(l->count), part);
    for (size_t i = 0; i < count; i++) {
        part[i].least = sum[i];
        part[i].mean = part[i].most = sum[i] + part[i].mean;
        if (isfinite(part[i].mean)) sum[i] = part[i].mean;
    }
    fine_add(f, l, part, count);
    free(part);
}

static void draw_stack(const struct svg_frame *f) {
    const struct plot *p = f->plot;
    enum { MOST = 2 * SVG_PARTS };
    double *room = mem_zalloc(4 * MOST, sizeof *room), *fine = mem_zalloc(SVG_FINE, sizeof *fine);
    double *x = room, *own = room + MOST, *below = room + 2 * MOST, *above = room + 3 * MOST;
    for (size_t k = 0; k < p->lines; k++) {
        const struct plot_line *l = &p->line[k];
        struct plot_line band = {.x = x, .y = below, .upper = above};
        band.count = stack_values(l, x, own);
        for (size_t i = 0; i < band.count; i++) {
            below[i] = isfinite(above[i]) ? above[i] : 0;
            above[i] = below[i] + own[i];
        }
        buf_addf(f->out, "<g data-k=\"%zu\"", k);
        values_add(f, l);
        buf_addf(f->out, "><path class=\"b k%u\"", l->colour % PLOT_COLOURS);
        if (is_long(l)) fine_stack(f, l, fine);
        buf_add(f->out, " d=\"");
        band_add(f, &band);
        buf_add(f->out, "\"/>");
        draw_path(f, l, x, above, band.count, false);
        buf_add(f->out, "</g>");
        for (size_t i = 0; i < band.count; i++) /* what is missing has no height */
            if (!isfinite(above[i])) above[i] = below[i];
    }
    free(fine);
    free(room);
}

/* ---- names at the ends ---- */

struct name {
    const struct plot_line *line;
    double y;
};

static int name_order(const void *a, const void *b) {
    double one = ((const struct name *)a)->y, two = ((const struct name *)b)->y;
    return (one > two) - (one < two);
}

static double last_value(const struct plot_line *l) {
    for (size_t i = l->count; i > 0; i--)
        if (isfinite(l->y[i - 1])) return l->upper ? l->upper[i - 1] : l->y[i - 1];
    return NAN;
}

/* As near to the ends of their lines as they can be without touching each other. */
static size_t names_place(const struct svg_frame *f, struct name *names) {
    const struct plot *p = f->plot;
    double sum = 0;
    size_t n = 0;
    for (size_t k = 0; k < p->lines; k++) {
        double v = last_value(&p->line[k]), at = v;
        if (!isfinite(v) || !*p->line[k].name) continue;
        if (p->kind == PLOT_STACK) { /* in the middle of its part */
            at = sum + v / 2;
            sum += v;
        }
        names[n++] = (struct name){&p->line[k], svg_frame_y(f, at)};
    }
    qsort(names, n, sizeof *names, name_order);
    double lowest = f->bottom + 2;
    for (size_t i = 1; i < n; i++) names[i].y = fmax(names[i].y, names[i - 1].y + SVG_LINE);
    for (size_t i = n; i > 0; i--) {
        names[i - 1].y = fmin(names[i - 1].y, lowest);
        lowest = names[i - 1].y - SVG_LINE;
    }
    return n;
}

static void draw_names(const struct svg_frame *f) {
    struct name *names = mem_zalloc(f->plot->lines + 1, sizeof *names);
    size_t n = names_place(f, names);
    buf_add(f->out, "<g class=\"names\">");
    for (size_t i = 0; i < n; i++) {
        buf_addf(f->out, "<g data-k=\"%td\">", names[i].line - f->plot->line);
        if (names[i].line->upper)
            buf_addf(f->out, "<rect class=\"a k%u\" x=\"%.1f\" y=\"%.1f\" width=\"20\" height=\"8\"/>",
                     names[i].line->colour % PLOT_COLOURS, f->right + 6, names[i].y - 4);
        else
            svg_swatch(f->out, names[i].line, f->right + 6, names[i].y);
        svg_text(f->out, f->right + 31, names[i].y + 4, "", names[i].line->name, SVG_NAME_CHARS);
        buf_add(f->out, "</g>");
    }
    buf_add(f->out, "</g>");
    free(names);
}

/* ---- values under the pointer ---- */

static size_t first_from(const struct plot_line *l, double from) {
    size_t low = 0, high = is_long(l) ? l->count : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (l->x[middle] < from)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* "1:30", then for each line "nvme read: 1.20 to 3.40 GiB/s", of the points in this part of x. */
static bool strip_text(const struct plot *p, double from, double to, bool last, struct buf *text) {
    struct buf lines = {0};
    double low_x = NAN, high_x = NAN;
    for (size_t k = 0; k < p->lines; k++) {
        const struct plot_line *l = &p->line[k];
        double low = NAN, high = NAN;
        for (size_t i = first_from(l, from); i < l->count; i++) {
            bool here = l->x[i] >= from && (l->x[i] < to || (last && l->x[i] <= to));
            if (is_long(l) && l->x[i] > to) break;
            if (!here || !isfinite(l->y[i])) continue;
            low = fmin(low, l->y[i]);
            high = fmax(high, l->upper ? l->upper[i] : l->y[i]);
            low_x = fmin(low_x, l->x[i]);
            high_x = fmax(high_x, l->x[i]);
        }
        if (isnan(low)) continue;
        buf_addf(&lines, "\n%s%s", l->name, *l->name ? ": " : "");
        axis_range(low, high, p->y.unit, &lines);
    }
    bool any = lines.len > 0;
    if (any) {
        axis_range(low_x, high_x, p->x.unit, text);
        buf_add(text, buf_text(&lines));
    }
    buf_free(&lines);
    return any;
}

/* The value of x at a part of its axis. */
static double value_at(const struct axis *a, double part) {
    return a->log ? a->low * pow(a->high / a->low, part) : a->low + part * (a->high - a->low);
}

/* As many strips as points, and no more than fit a finger; the middle of a strip is where its point is. */
static void draw_strips(const struct svg_frame *f) {
    const struct plot *p = f->plot;
    size_t most = 1;
    for (size_t k = 0; k < p->lines; k++)
        if (p->line[k].count > most) most = p->line[k].count;
    size_t strips = most > STRIPS ? STRIPS : most;
    double edge = strips > 1 ? 0.5 / (double)(strips - 1) : 0.5;
    buf_add(f->out, "<g class=\"h\">");
    for (size_t i = 0; i < strips; i++) {
        double middle = strips > 1 ? (double)i / (double)(strips - 1) : 0.5;
        double from = fmax(middle - edge, 0), to = fmin(middle + edge, 1);
        struct buf text = {0};
        if (strip_text(p, i ? value_at(&f->x, from) : -INFINITY, value_at(&f->x, to), i + 1 == strips,
                       &text)) {
            double left = f->left + from * (f->right - f->left);
            buf_addf(f->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"><title>", left,
                     f->top, (to - from) * (f->right - f->left), f->bottom - f->top);
            escape_xml(buf_text(&text), f->out);
            buf_add(f->out, "</title></rect>");
        }
        buf_free(&text);
    }
    buf_add(f->out, "</g>");
}

/* ---- the chart ---- */

/* The ticks that the plot has itself, as far as their texts have room beside each other. */
static void own_ticks(struct svg_frame *f) {
    const struct plot_axis *a = &f->plot->x;
    double free_from = -INFINITY;
    if (a->ticks == 0) return;
    f->x.ticks = 0;
    f->x.unit[0] = '\0';
    for (size_t i = 0; i < a->ticks && f->x.ticks < AXIS_TICKS; i++) {
        double at = svg_frame_x(f, a->tick[i].at), half = svg_text_width(a->tick[i].text, AXIS_TEXT) / 2;
        if (a->tick[i].at < f->x.low || a->tick[i].at > f->x.high || at - half < free_from) continue;
        f->x.tick[f->x.ticks] = a->tick[i].at;
        snprintf(f->x.text[f->x.ticks++], AXIS_TEXT, "%.*s", AXIS_TEXT - 1, a->tick[i].text);
        free_from = at + half + 6;
    }
}

/* Room for the names on the right and the ticks on the left. */
static void frame_make(struct svg_frame *f) {
    const struct plot *p = f->plot;
    double low = 0, high = 0, names = 0, ticks = 0;
    for (size_t k = 0; k < p->lines; k++)
        if (*p->line[k].name) names = fmax(names, 34 + svg_text_width(p->line[k].name, SVG_NAME_CHARS));
    bool any_y = plot_range_y(p, &low, &high);
    struct axis_wish y = {any_y ? low : NAN, any_y ? high : NAN, p->y.unit, p->y.log, false, 6};
    axis_make(&f->y, &y);
    for (size_t i = 0; i < f->y.ticks; i++) ticks = fmax(ticks, svg_text_width(f->y.text[i], AXIS_TEXT));
    f->width = p->small ? SVG_SMALL_WIDTH : SVG_WIDTH;
    f->height = p->small ? SVG_SMALL_HEIGHT : SVG_HEIGHT;
    if (p->lines > NAMES_MOST) f->height += (double)(p->lines - NAMES_MOST) * SVG_LINE;
    f->left = fmax(ticks + 12, 30);
    f->right = f->width - fmax(names, 14);
    f->top = 22;
    f->bottom = f->height - 40;
    bool any_x = plot_range_x(p, &low, &high);
    struct axis_wish x = {any_x ? low : NAN,
                          any_x ? high : NAN,
                          p->x.unit,
                          p->x.log,
                          true,
                          (size_t)((f->right - f->left) / 62)};
    axis_make(&f->x, &x);
    own_ticks(f);
}

static void chart_draw(const struct plot *p, const char *id, bool zooms, struct buf *out) {
    struct svg_frame f = {.plot = p, .id = id, .zooms = zooms, .out = out};
    frame_make(&f);
    svg_frame_open(&f, id);
    svg_frame_spans(&f);
    svg_frame_axes(&f);
    svg_frame_data(&f);
    if (p->kind == PLOT_STACK) draw_stack(&f);
    for (size_t k = 0; p->kind != PLOT_STACK && k < p->lines; k++) {
        buf_addf(out, "<g data-k=\"%zu\"", k);
        values_add(&f, &p->line[k]);
        buf_add(out, ">");
        draw_line(&f, &p->line[k]);
        buf_add(out, "</g>");
    }
    buf_add(out, "</g></g>");
    draw_names(&f);
    draw_strips(&f);
    svg_frame_marks(&f);
    svg_frame_close(&f);
}

void svg_plot(const struct plot *p, const char *id, bool zooms, struct buf *out) {
    if (plot_empty(p)) return;
    if (p->kind == PLOT_BARS)
        svg_bars(p, id, out);
    else if (p->kind == PLOT_HEAT)
        svg_heat(p, id, out);
    else
        chart_draw(p, id, zooms, out);
}

void svg_key(const struct plot_line *l, struct buf *out) {
    buf_add(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" viewBox=\"0 0 26 10\">");
    svg_swatch(out, l, 2, 5);
    buf_add(out, "</svg>");
}

/* Okabe and Ito's palette, by which people with any common colour-blindness can tell lines apart, in order of
 * contrast; lighter on a dark page. */
const char *svg_style(void) {
    return ":root{--ink:#1b1f24;--soft:#57606a;--rule:#d5dae0;--page:#fff;--box:#f6f8fa;--shade:#eceff3;"
           "--k0:#0072b2;--k1:#d55e00;--k2:#00805f;--k3:#a8568a;--k4:#b07d00;--k5:#2f9bd8;--k6:#444b54;"
           "--k7:#8a6d3b}\n"
           "@media (prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#a4adb8;--rule:#343b44;--page:#0f1318;"
           "--box:#171c23;--shade:#20262e;--k0:#4aa8e8;--k1:#ff8b3d;--k2:#2fc59b;--k3:#e39ac8;--k4:#e9b949;"
           "--k5:#8fd0f7;--k6:#c2cad3;--k7:#cdb38b}}\n"
           "@media print{:root{--ink:#000;--soft:#333;--rule:#bbb;--page:#fff;--box:#fff;--shade:#eee;--k0:#0072b2;"
           "--k1:#d55e00;--k2:#00805f;--k3:#a8568a;--k4:#b07d00;--k5:#2f9bd8;--k6:#444b54;--k7:#8a6d3b}}\n"
           ".plot{display:block;width:100%;height:auto;font:12.5px system-ui,sans-serif;color:var(--soft)}"
           ".plot text{fill:var(--soft)}.plot .n{fill:var(--soft);font-size:12px}"
           ".plot .p{font-size:11px;paint-order:stroke;stroke:var(--page);stroke-width:3px}"
           ".plot .g{stroke:var(--rule);stroke-width:1}.plot .x{fill:none;stroke:var(--soft);stroke-width:1}"
           ".plot .s{fill:var(--shade)}.plot .t{stroke:var(--ink);stroke-width:1.2;stroke-dasharray:2 3}"
           ".plot .m{fill:var(--ink)}"
           ".plot .l{fill:none;stroke:currentColor;stroke-width:1.8;stroke-linejoin:round;stroke-linecap:round}"
           ".plot .q{fill:none;stroke:currentColor;stroke-width:6;stroke-linecap:round}"
           ".plot .u{fill:none;stroke:currentColor;stroke-opacity:.6;stroke-width:3;stroke-linecap:round}"
           ".plot .d path{vector-effect:non-scaling-stroke}"
           ".plot .f{fill:currentColor}.plot .a{fill:currentColor;fill-opacity:.18}"
           ".plot .w{fill:currentColor;fill-opacity:.22;stroke:currentColor;stroke-opacity:.35;stroke-width:.5}"
           ".plot .b{fill:currentColor;fill-opacity:.45}.plot .c{stroke:var(--page);stroke-width:1}"
           ".plot .v{fill:var(--ink)}.plot .o{paint-order:stroke;stroke:var(--page);stroke-width:3px}"
           ".plot .h rect{fill:transparent}.plot .h rect:hover{fill:var(--ink);fill-opacity:.12}\n"
           ".k0{color:var(--k0)}.k1{color:var(--k1)}.k2{color:var(--k2)}.k3{color:var(--k3)}.k4{color:var(--k4)}"
           ".k5{color:var(--k5)}.k6{color:var(--k6)}.k7{color:var(--k7)}"
           ".d1{stroke-dasharray:7 4}.d2{stroke-dasharray:2.5 3.5}.d3{stroke-dasharray:9 3 1 3}"
           ".d4{stroke-dasharray:4 4}.d5{stroke-dasharray:12 4 1 4 1 4}\n";
}
