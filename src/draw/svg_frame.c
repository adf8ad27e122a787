#include "draw/svg_frame.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "draw/escape.h"

double svg_text_width(const char *text, size_t most_chars) {
    double width = 0;
    for (size_t n = 0; *text && n < most_chars; n++) {
        int32_t ch = utf8_next(&text);
        bool narrow = ch < 0x80 && strchr(" .,:;'|iljt", (int)ch), wide = ch == 'm' || ch == 'w' || ch == '%';
        width += ch >= 0x1100 ? 14 : narrow ? 4.5 : wide || (ch >= 'A' && ch <= 'Z') ? 10.5 : 8;
    }
    return width;
}

void svg_text(struct buf *out, double x, double y, const char *attributes, const char *text,
              size_t most_chars) {
    buf_addf(out, "<text x=\"%.4g\" y=\"%.4g\"%s%s>", x, y, *attributes ? " " : "", attributes);
    escape_xml_cut(text, most_chars, out);
    buf_add(out, "</text>");
}

void svg_swatch(struct buf *out, const struct plot_line *l, double x, double y) {
    if (l->dots) {
        buf_addf(out, "<path class=\"q k%u\" d=\"M%.1f %.1fh.01\"/>", l->colour % PLOT_COLOURS, x + 10, y);
        return;
    }
    buf_addf(out, "<path class=\"l k%u d%u\" d=\"M%.1f %.1fh20\"/>", l->colour % PLOT_COLOURS,
             l->dash % PLOT_DASHES, x, y);
}

double svg_legend(const struct plot *p, double left, double right, double top, struct buf *out) {
    double x = left, y = top;
    for (size_t k = 0; k < p->lines; k++) {
        const struct plot_line *l = &p->line[k];
        double width = 14 + 5 + svg_text_width(l->name, SVG_NAME_CHARS) + 16;
        if (x > left && x + width > right) {
            x = left;
            y += SVG_LINE;
        }
        if (out) {
            buf_addf(out, "<rect class=\"f k%u\" x=\"%.1f\" y=\"%.1f\" width=\"12\" height=\"10\"/>",
                     l->colour % PLOT_COLOURS, x, y - 9);
            svg_text(out, x + 17, y, "", l->name, SVG_NAME_CHARS);
        }
        x += width;
    }
    return y + SVG_LINE;
}

void svg_frame_open(const struct svg_frame *f, const char *id) {
    const struct plot *p = f->plot;
    buf_addf(
        f->out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" "
        "aria-labelledby=\"%s-t %s-d\"",
        f->width, f->height, id, id);
    /* Where the axes are, for a page that moves them; how wide it is without the names, for a narrow one. */
    if (p->kind == PLOT_LINES || p->kind == PLOT_STACK)
        buf_addf(f->out,
                 " data-x=\"%.9g %.9g %.1f %.1f %.1f %.1f %s %s %.9g\" data-y=\"%.9g %.9g %s %s\" "
                 "style=\"--wide:%.0f%%\"",
                 f->x.low, f->x.high, f->left, f->right, f->top, f->bottom, f->x.log ? "log" : "linear",
                 p->x.unit, *f->x.unit ? f->x.unit_size : 0, f->y.low, f->y.high, f->y.log ? "log" : "linear",
                 p->y.unit, 100 * f->width / (f->right + 16));
    buf_addf(f->out, "><title id=\"%s-t\">", id);
    escape_xml(p->title, f->out);
    buf_addf(f->out, "</title><desc id=\"%s-d\">", id);
    for (size_t k = 0; k < p->lines; k++) {
        if (!*p->line[k].name) continue;
        if (k) buf_add(f->out, ", ");
        escape_xml(p->line[k].name, f->out);
    }
    if (*p->y.label) {
        buf_add(f->out, p->kind == PLOT_BARS ? ": " : " in ");
        escape_xml(p->y.label, f->out);
    }
    if (*p->x.label) {
        buf_add(f->out, " over ");
        escape_xml(p->x.label, f->out);
    }
    if (*p->caption) {
        buf_add(f->out, ". ");
        escape_xml(p->caption, f->out);
    }
    buf_add(f->out, "</desc>");
}

void svg_frame_data(const struct svg_frame *f) {
    enum { STROKE = 3 };
    buf_addf(f->out,
             "<clipPath id=\"%s-c\"><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/></clipPath>"
             "<g clip-path=\"url(#%s-c)\"><g class=\"d\">",
             f->id, f->left - STROKE, f->top - STROKE, f->right - f->left + 2 * STROKE,
             f->bottom - f->top + 2 * STROKE, f->id);
}

void svg_frame_close(const struct svg_frame *f) {
    buf_add(f->out, "</svg>");
}

double svg_frame_x(const struct svg_frame *f, double v) {
    return f->left + axis_part(&f->x, v) * (f->right - f->left);
}

double svg_frame_y(const struct svg_frame *f, double v) {
    return f->bottom - axis_part(&f->y, v) * (f->bottom - f->top);
}

/* "used, GiB": what the numbers beside it count. */
static void axis_name(const struct plot_axis *a, const struct axis *scale, struct buf *out) {
    buf_add(out, a->label);
    if (!*scale->unit) return;
    if (*a->label) buf_add(out, ", ");
    buf_add(out, scale->unit);
}

static void draw_x(const struct svg_frame *f) {
    struct buf name = {0};
    axis_name(&f->plot->x, &f->x, &name);
    buf_add(f->out, "<g class=\"ticks\">");
    for (size_t i = 0; i < f->x.ticks; i++) {
        double at = svg_frame_x(f, f->x.tick[i]);
        buf_addf(f->out, "<path class=\"g\" d=\"M%.1f %.1fV%.1f\"/>", at, f->top, f->bottom + 4);
        bool last = at + svg_text_width(f->x.text[i], AXIS_TEXT) / 2 > f->width;
        svg_text(f->out, last ? f->width - 1 : at, f->bottom + 17,
                 last ? "text-anchor=\"end\"" : "text-anchor=\"middle\"", f->x.text[i], AXIS_TEXT);
    }
    buf_add(f->out, "</g>");
    svg_text(f->out, (f->left + f->right) / 2, f->bottom + 33, "text-anchor=\"middle\" class=\"n\"",
             buf_text(&name), 60);
    buf_free(&name);
}

static void draw_y(const struct svg_frame *f) {
    struct buf name = {0};
    axis_name(&f->plot->y, &f->y, &name);
    for (size_t i = 0; i < f->y.ticks; i++) {
        double at = svg_frame_y(f, f->y.tick[i]);
        buf_addf(f->out, "<path class=\"g\" d=\"M%.1f %.1fH%.1f\"/>", f->left - 4, at, f->right);
        svg_text(f->out, f->left - 7, at + 4, "text-anchor=\"end\"", f->y.text[i], AXIS_TEXT);
    }
    svg_text(f->out, 2, 12, "class=\"n\"", buf_text(&name), 60);
    buf_free(&name);
}

void svg_frame_axes(const struct svg_frame *f) {
    draw_x(f);
    draw_y(f);
    buf_addf(f->out, "<path class=\"x\" d=\"M%.1f %.1fV%.1fH%.1f\"/>", f->left, f->top, f->bottom, f->right);
}

void svg_frame_spans(const struct svg_frame *f) {
    double free_from = f->left;
    buf_addf(f->out, "<g class=\"phases\" clip-path=\"url(#%s-c)\"><g class=\"d\">", f->id);
    for (size_t i = 0; i < f->plot->spans; i++) {
        const struct plot_span *s = &f->plot->span[i];
        double from = svg_frame_x(f, s->from), to = svg_frame_x(f, s->to);
        if (to > from)
            buf_addf(f->out, "<rect class=\"s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>", from,
                     f->top, to - from, f->bottom - f->top);
    }
    buf_add(f->out, "</g>");
    for (size_t i = 0; i < f->plot->spans; i++) {
        const struct plot_span *s = &f->plot->span[i];
        double from = svg_frame_x(f, s->from), to = svg_frame_x(f, s->to);
        double width = svg_text_width(s->name, SVG_NAME_CHARS) + 6;
        /* beside a narrow one, where there is room for it before the next */
        double at = fmax(from, free_from);
        double limit = i + 1 < f->plot->spans ? svg_frame_x(f, f->plot->span[i + 1].from) : f->right;
        if (!(to > from) || at + width > fmax(limit, to)) continue;
        svg_text(f->out, at + 3, f->top + 11, "class=\"p\"", s->name, SVG_NAME_CHARS);
        free_from = at + width;
    }
    buf_add(f->out, "</g>");
}

/* Lines across, from the highest down, each with its text above it, or below that of the one above while
 * there is room. */
static void draw_levels(const struct svg_frame *f) {
    double last = -100, below = INFINITY;
    for (;;) {
        const struct plot_mark *next = NULL;
        for (size_t i = 0; i < f->plot->marks; i++) {
            const struct plot_mark *m = &f->plot->mark[i];
            if (m->level && m->at < below && (!next || m->at > next->at)) next = m;
        }
        if (!next) return;
        double y = svg_frame_y(f, next->at), text_y = y - 4 < f->top + 8 ? y + 12 : y - 4;
        buf_addf(f->out, "<path class=\"t\" d=\"M%.1f %.1fH%.1f\"/>", f->left, y, f->right);
        if (text_y - last < 12) text_y = last + 12;
        last = text_y;
        if (text_y < f->bottom)
            svg_text(f->out, f->right - 4, text_y, "text-anchor=\"end\" class=\"p\"", next->text, 40);
        below = next->at;
    }
}

/* Targets as lines across, events as lines down. */
void svg_frame_marks(const struct svg_frame *f) {
    draw_levels(f);
    for (size_t i = 0; i < f->plot->marks; i++) {
        const struct plot_mark *m = &f->plot->mark[i];
        if (!m->level) {
            double x = svg_frame_x(f, m->at);
            if (!(m->at >= f->x.low && m->at <= f->x.high)) continue;
            buf_addf(f->out, "<g class=\"e\" data-at=\"%.9g\"><title>", m->at);
            escape_xml(m->text, f->out);
            buf_addf(
                f->out,
                "</title><path class=\"t\" d=\"M%.1f %.1fV%.1f\"/><path class=\"m\" d=\"M%.1f %.1fl-4 -7h8z\"/></g>",
                x, f->top, f->bottom, x, f->top);
        }
    }
}
