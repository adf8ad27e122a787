#include "draw/plot.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

struct plot *plot_new(enum plot_kind kind, const char *title) {
    struct plot *p = mem_zalloc(1, sizeof *p);
    p->kind = kind;
    p->title = mem_strdup(title);
    p->caption = mem_strdup("");
    p->x.label = mem_strdup("");
    p->y.label = mem_strdup("");
    p->x.low = p->x.high = p->y.low = p->y.high = NAN;
    return p;
}

void plot_free(struct plot *p) {
    if (!p) return;
    for (size_t i = 0; i < p->lines; i++) {
        free(p->line[i].name);
        free(p->line[i].x);
        free(p->line[i].y);
        free(p->line[i].upper);
    }
    for (size_t i = 0; i < p->categories; i++) free(p->category[i]);
    for (size_t i = 0; i < p->spans; i++) free(p->span[i].name);
    for (size_t i = 0; i < p->marks; i++) free(p->mark[i].text);
    for (size_t i = 0; i < p->x.ticks; i++) free(p->x.tick[i].text);
    free(p->x.tick);
    free(p->line);
    free(p->category);
    free(p->span);
    free(p->mark);
    free(p->x.label);
    free(p->y.label);
    free(p->title);
    free(p->caption);
    free(p);
}

void plot_caption(struct plot *p, const char *fmt, ...) {
    char text[1000];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    free(p->caption);
    p->caption = mem_strdup(text);
}

void plot_axis(struct plot_axis *a, const char *label, const char *unit) {
    free(a->label);
    a->label = mem_strdup(label);
    snprintf(a->unit, sizeof a->unit, "%s", unit);
}

void plot_tick(struct plot *p, double at, const char *text) {
    p->x.tick = mem_realloc(p->x.tick, (p->x.ticks + 1) * sizeof *p->x.tick);
    p->x.tick[p->x.ticks++] = (struct plot_tick){at, mem_strdup(text)};
}

struct plot_line *plot_line_room(struct plot *p, const char *name, size_t count, bool with_x) {
    mem_room(p->line, p->lines, p->line_cap);
    struct plot_line *l = &p->line[p->lines];
    *l = (struct plot_line){.name = mem_strdup(name),
                            .y = mem_zalloc(count + 1, sizeof *l->y),
                            .count = count,
                            .colour = (unsigned)(p->lines % PLOT_COLOURS),
                            .dash = (unsigned)(p->lines % PLOT_DASHES)};
    if (with_x) l->x = mem_zalloc(count + 1, sizeof *l->x);
    for (size_t i = 0; i < count; i++) l->y[i] = NAN;
    p->lines++;
    return l;
}

struct plot_line *plot_line(struct plot *p, const char *name, size_t count, const double *x, size_t x_stride,
                            const double *y, size_t y_stride) {
    struct plot_line *l = plot_line_room(p, name, count, x != NULL);
    for (size_t i = 0; i < count; i++) {
        if (x) memcpy(&l->x[i], (const char *)x + i * x_stride, sizeof *x);
        memcpy(&l->y[i], (const char *)y + i * y_stride, sizeof *y);
    }
    return l;
}

void plot_category(struct plot *p, const char *name) {
    p->category = mem_realloc(p->category, (p->categories + 1) * sizeof *p->category);
    p->category[p->categories++] = mem_strdup(name);
}

void plot_span(struct plot *p, double from, double to, const char *name) {
    p->span = mem_realloc(p->span, (p->spans + 1) * sizeof *p->span);
    p->span[p->spans++] = (struct plot_span){from, to, mem_strdup(name)};
}

static void mark_add(struct plot *p, double at, bool level, const char *text) {
    p->mark = mem_realloc(p->mark, (p->marks + 1) * sizeof *p->mark);
    p->mark[p->marks++] = (struct plot_mark){at, level, mem_strdup(text)};
}

void plot_mark(struct plot *p, double at, const char *text) {
    mark_add(p, at, false, text);
}

void plot_level(struct plot *p, double at, const char *text) {
    mark_add(p, at, true, text);
}

static bool drawable(const struct plot *p, const struct plot_line *l, size_t i) {
    if (!isfinite(l->y[i]) || (p->y.log && !(l->y[i] > 0))) return false;
    return !l->x || (isfinite(l->x[i]) && (!p->x.log || l->x[i] > 0));
}

bool plot_empty(const struct plot *p) {
    for (size_t k = 0; k < p->lines; k++)
        for (size_t i = 0; i < p->line[k].count; i++)
            if (drawable(p, &p->line[k], i)) return false;
    return true;
}

static void take(double v, double *low, double *high) {
    if (!isfinite(v)) return;
    *low = fmin(*low, v);
    *high = fmax(*high, v);
}

bool plot_range_x(const struct plot *p, double *low, double *high) {
    *low = INFINITY;
    *high = -INFINITY;
    for (size_t k = 0; k < p->lines; k++)
        for (size_t i = 0; p->line[k].x && i < p->line[k].count; i++)
            if (drawable(p, &p->line[k], i)) take(p->line[k].x[i], low, high);
    take(p->x.low, low, high);
    take(p->x.high, low, high);
    return *low <= *high;
}

/* Sums over the lines, of what stands on top of each other. */
static void range_of_sums(const struct plot *p, double *low, double *high) {
    size_t count = p->lines ? p->line[0].count : 0;
    for (size_t i = 0; i < count; i++) {
        double sum = 0;
        for (size_t k = 0; k < p->lines; k++)
            if (i < p->line[k].count && isfinite(p->line[k].y[i])) sum += p->line[k].y[i];
        take(sum, low, high);
    }
    take(0, low, high);
}

bool plot_range_y(const struct plot *p, double *low, double *high) {
    *low = INFINITY;
    *high = -INFINITY;
    if (p->kind == PLOT_STACK || (p->kind == PLOT_BARS && p->stacked)) {
        range_of_sums(p, low, high);
    } else {
        for (size_t k = 0; k < p->lines; k++)
            for (size_t i = 0; i < p->line[k].count; i++) {
                if (!drawable(p, &p->line[k], i)) continue;
                take(p->line[k].y[i], low, high);
                if (p->line[k].upper) take(p->line[k].upper[i], low, high);
            }
    }
    take(p->y.low, low, high);
    take(p->y.high, low, high);
    return *low <= *high;
}

void plot_one_scale(struct plot *const *p, size_t count) {
    double low, high, x[2] = {NAN, NAN}, y[2] = {NAN, NAN};
    for (size_t i = 0; i < count; i++) {
        if (plot_range_x(p[i], &low, &high)) {
            x[0] = fmin(x[0], low);
            x[1] = fmax(x[1], high);
        }
        if (plot_range_y(p[i], &low, &high)) {
            y[0] = fmin(y[0], low);
            y[1] = fmax(y[1], high);
        }
    }
    for (size_t i = 0; i < count; i++) {
        p[i]->x.low = x[0];
        p[i]->x.high = x[1];
        p[i]->y.low = y[0];
        p[i]->y.high = y[1];
    }
}

static void thin_part(const double *x, const double *y, size_t from, size_t to, struct plot_part *out) {
    double sum = 0;
    size_t there = 0;
    *out = (struct plot_part){(x[from] + x[to - 1]) / 2, NAN, NAN, NAN};
    for (size_t i = from; i < to; i++) {
        if (!isfinite(y[i])) continue;
        out->least = fmin(out->least, y[i]);
        out->most = fmax(out->most, y[i]);
        sum += y[i];
        there++;
    }
    if (there) out->mean = sum / (double)there;
}

size_t plot_thin(const double *x, const double *y, size_t count, size_t parts, struct plot_part *out) {
    size_t used = 0;
    double width = count ? (x[count - 1] - x[0]) / (double)parts : 0;
    for (size_t part = 0, from = 0; part < parts && from < count; part++) {
        size_t to = from;
        double end = x[0] + (double)(part + 1) * width;
        while (to < count && (part + 1 == parts || x[to] < end)) to++;
        if (to > from) thin_part(x, y, from, to, &out[used++]);
        from = to;
    }
    return used;
}
