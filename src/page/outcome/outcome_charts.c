#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metrics/statistics.h"
#include "page/lead.h"
#include "page/outcome/outcome_doc.h"
#include "page/outcome/outcome_text.h"
#include "record/metric.h"

/* Units of the axes of charts; durations are milliseconds there, bandwidths GiB/s. */
static const char *axis_unit(const char *unit) {
    return strcmp(unit, "ns") == 0      ? "ms"
           : strcmp(unit, "B/s") == 0   ? "GiB/s"
           : strcmp(unit, "req/s") == 0 ? "1/s"
                                        : unit;
}

static double axis_number(const char *unit, double v) {
    return strcmp(unit, "ns") == 0 ? v / 1e6 : strcmp(unit, "B/s") == 0 ? v / 0x1p30 : v;
}

static const char *measure_unit(const struct outcome_measure *m) {
    return metric_percent(m->name) ? "%" : m->unit;
}

/* A point's position along the axis. */
static double x_of(const struct outcome *o, const struct outcome_lines *l, size_t point, size_t across) {
    if (l->x == OUTCOME_DIMENSIONS) return outcome_value(o, point, across);
    const struct outcome_dimension *d = &o->dimension[l->x];
    return axis_number(d->unit, d->value[o->point[point].at[l->x]].number);
}

/* ---- which lines, when there are more than a chart can show ---- */

struct ranked {
    size_t line;
    double best;
};

static int by_best(const void *a, const void *b) {
    const struct ranked *x = a, *y = b;
    if (isnan(x->best) || isnan(y->best)) return isnan(x->best) - isnan(y->best);
    return (x->best > y->best) - (x->best < y->best);
}

/* Whether a line is in the chart of this value of the facet. */
static bool in_facet(const struct outcome *o, const struct outcome_lines *l, size_t line, size_t facet) {
    return l->facet == OUTCOME_DIMENSIONS || o->point[l->example[line]].at[l->facet] == facet;
}

/* Marks those of a chart to be shown: the best by the first measure. How many of how many are left out. */
static size_t lines_shown(const struct outcome *o, const struct outcome_lines *l, size_t facet, bool *shown) {
    size_t judge = outcome_judge(o), count = 0, all = 0;
    struct ranked *r = mem_zalloc(l->count + 1, sizeof *r);
    bool lower = o->measures > 0 && (metric_better(o->measure[judge].name) == METRIC_LOWER);
    for (size_t k = 0; k < l->count; k++) r[k] = (struct ranked){k, NAN};
    for (size_t i = 0; i < o->points; i++) {
        double v = outcome_value(o, i, judge), *best = &r[l->of[i]].best;
        if (!lower) v = -v;
        if (!isnan(v) && (isnan(*best) || v < *best)) *best = v;
    }
    qsort(r, l->count, sizeof *r, by_best);
    for (size_t k = 0; k < l->count; k++) {
        if (!in_facet(o, l, r[k].line, facet)) continue;
        all++;
        if (count < OUTCOME_LINES && !isnan(r[k].best)) shown[r[k].line] = ++count > 0;
    }
    free(r);
    return all - count;
}

/* The same for a configuration in each of the charts side by side. */
static unsigned colour_of(const struct outcome *o, const struct outcome_lines *l, size_t line) {
    size_t n = 0;
    for (unsigned d = 0; d < o->dimensions; d++)
        if (outcome_line_part(o, l, d)) n = n * o->dimension[d].values + o->point[l->example[line]].at[d];
    return (unsigned)(n % (PLOT_COLOURS * PLOT_DASHES));
}

/* ---- a measure over what was swept ---- */

struct place {
    double order, x, y;
};

/* Along the axis, or as the load grows: what is measured may fall again under too much of it. */
static double order_of(const struct outcome *o, const struct outcome_lines *l, size_t point, double x) {
    if (l->x < OUTCOME_DIMENSIONS) return x;
    const struct outcome_value *load =
        &o->dimension[o->dimensions - 1].value[o->point[point].at[o->dimensions - 1]];
    return !isnan(load->number) ? load->number : strcmp(load->text, "throughput") == 0 ? INFINITY : -INFINITY;
}

/* Whether users wait for answers there: no point of a line over rates. */
static bool is_closed(const struct outcome *o, size_t point) {
    const struct outcome_dimension *d = &o->dimension[o->dimensions - 1];
    return outcome_by_load(o) && isnan(d->value[o->point[point].at[o->dimensions - 1]].number);
}

/* Each by itself, under the name of its load. */
static void add_closed(const struct outcome *o, const struct outcome_lines *l, size_t line, size_t across,
                       size_t measure, struct plot *p) {
    const struct outcome_dimension *d = &o->dimension[o->dimensions - 1];
    for (size_t i = 0; i < o->points; i++) {
        double x = x_of(o, l, i, across), y = outcome_value(o, i, measure);
        if (l->of[i] != line || !is_closed(o, i) || isnan(x) || isnan(y)) continue;
        struct buf name = {0};
        buf_addf(&name, "closed loop, %s", d->value[o->point[i].at[o->dimensions - 1]].text);
        plot_line(p, buf_text(&name), 1, &x, sizeof x, &y, sizeof y)->marks = true;
        buf_free(&name);
    }
}

static void add_line(const struct outcome *o, const struct outcome_lines *l, size_t line, size_t across,
                     size_t measure, struct plot *p) {
    struct place *at = mem_zalloc(o->points + 1, sizeof *at);
    struct buf name = {0};
    size_t count = 0;
    for (size_t i = 0; i < o->points; i++) {
        if (l->of[i] != line || is_closed(o, i)) continue;
        double x = x_of(o, l, i, across);
        at[count] = (struct place){order_of(o, l, i, x), x, outcome_value(o, i, measure)};
        count += !isnan(at[count].x) && !isnan(at[count].y);
    }
    qsort(at, count, sizeof *at, statistics_order);
    if (l->count > 1)
        outcome_line_name(o, l, line, &name);
    else
        buf_add(&name, p->y.label);
    struct plot_line *to = plot_line(p, buf_text(&name), count, &at->x, sizeof *at, &at->y, sizeof *at);
    to->marks = true;
    if (l->facet < OUTCOME_DIMENSIONS) to->colour = to->dash = colour_of(o, l, line);
    buf_free(&name);
    free(at);
    if (l->count == 1) add_closed(o, l, line, across, measure, p);
}

static void add_bars(const struct outcome *o, const struct outcome_lines *l, size_t line, size_t measure,
                     struct plot *p) {
    struct buf name = {0};
    outcome_line_name(o, l, line, &name);
    struct plot_line *to = plot_line_room(p, buf_text(&name), p->categories, false);
    for (size_t i = 0; i < o->points; i++)
        if (l->of[i] == line) to->y[o->point[i].at[l->x]] = outcome_value(o, i, measure);
    if (l->facet < OUTCOME_DIMENSIONS) to->colour = colour_of(o, l, line);
    buf_free(&name);
}

/* "lru", "lru *": a point of that value is not comparable. */
static void put_value(const struct outcome *o, unsigned dimension, size_t value, struct buf *out) {
    bool comparable = true;
    for (size_t i = 0; i < o->points; i++)
        comparable = comparable && (o->point[i].at[dimension] != value || outcome_comparable(&o->point[i]));
    buf_addf(out, "%s%s", o->dimension[dimension].value[value].text, comparable ? "" : " *");
}

static bool is_marked(const struct plot *p) {
    for (size_t i = 0; i < p->categories; i++)
        if (buf_ends_with(p->category[i], " *")) return true;
    return false;
}

/* The values themselves are the ticks. */
static void put_ticks(const struct outcome_dimension *d, struct plot *p) {
    struct tick {
        double at;
        const char *text;
    } *tick = mem_zalloc(d->values + 1, sizeof *tick);
    for (size_t v = 0; v < d->values; v++)
        tick[v] = (struct tick){axis_number(d->unit, d->value[v].number), d->value[v].text};
    qsort(tick, d->values, sizeof *tick, statistics_order);
    for (size_t v = 0; v < d->values; v++) plot_tick(p, tick[v].at, tick[v].text);
    free(tick);
}

/* The name of an axis: rates have their "/s" in the unit. */
static struct outcome_title axis_words(const char *metric) {
    struct outcome_title t;
    metric_label(metric, t.text, sizeof t.text);
    size_t len = strlen(t.text);
    if (len > 2 && strcmp(t.text + len - 2, "/s") == 0) t.text[len - 2] = '\0';
    return t;
}

/* "Tokens/s over users". */
static void chart_title(const struct outcome *o, const struct outcome_lines *l, size_t across, size_t measure,
                        struct buf *out) {
    struct outcome_title over = {"requests done/s"};
    if (l->x < OUTCOME_DIMENSIONS)
        over = outcome_dimension_words(&o->dimension[l->x]);
    else if (across < o->measures)
        metric_label(o->measure[across].name, over.text, sizeof over.text);
    buf_addf(out, "%s over %s", metric_title(o->measure[measure].name).text, over.text);
}

static struct plot *chart_new(const struct outcome *o, const struct outcome_lines *l, size_t across,
                              size_t measure) {
    const struct outcome_measure *m = &o->measure[measure];
    struct outcome_title over = {"requests done"};
    struct buf text = {0};
    const char *unit = across < o->measures ? o->measure[across].unit : "";
    if (l->x < OUTCOME_DIMENSIONS) {
        over = outcome_dimension_words(&o->dimension[l->x]);
        unit = axis_unit(o->dimension[l->x].unit);
    } else if (across < o->measures) {
        over = axis_words(o->measure[across].name);
    }
    chart_title(o, l, across, measure, &text);
    struct plot *p = plot_new(l->numbers ? PLOT_LINES : PLOT_BARS, buf_text(&text));
    buf_free(&text);
    plot_axis(&p->x, over.text, unit);
    plot_axis(&p->y, axis_words(m->name).text, measure_unit(m));
    p->x.log = l->log;
    if (l->numbers && l->x < OUTCOME_DIMENSIONS) put_ticks(&o->dimension[l->x], p);
    for (size_t v = 0; !l->numbers && v < o->dimension[l->x].values; v++) {
        struct buf name = {0};
        put_value(o, l->x, v, &name);
        plot_category(p, buf_text(&name));
        buf_free(&name);
    }
    return p;
}

/* Latencies that differ by two decades or more cannot be told apart on a linear axis. */
static bool spans_decades(const struct plot *p) {
    double low, high;
    if (p->kind != PLOT_LINES || strcmp(p->y.unit, "ms") != 0) return false;
    return plot_range_y(p, &low, &high) && low > 0 && high / low >= 100;
}

/* A chart, or that of one value of the facet; how many lines are left out. */
static struct plot *chart_fill(const struct outcome *o, const struct outcome_lines *l, size_t across,
                               size_t measure, size_t facet, size_t *left) {
    struct plot *p = chart_new(o, l, across, measure);
    bool *shown = mem_zalloc(l->count + 1, sizeof *shown);
    *left = lines_shown(o, l, facet, shown);
    for (size_t k = 0; k < l->count; k++) {
        if (!shown[k]) continue;
        if (l->numbers)
            add_line(o, l, k, across, measure, p);
        else
            add_bars(o, l, k, measure, p);
    }
    free(shown);
    if (!l->numbers && is_marked(p)) plot_caption(p, "* not comparable: the table of points says why.");
    if (l->numbers && strcmp(o->measure[measure].unit, "ms") == 0)
        outcome_put_limits(o, o->measure[measure].name, p);
    return p;
}

/* The value that a small chart is of: "llama3.1-8b", "users 10". */
static void facet_title(const struct outcome_dimension *d, size_t value, struct plot *p) {
    struct buf text = {0};
    bool number = d->role != OUTCOME_VARIANT && !isnan(d->value[value].number);
    buf_addf(&text, "%s%s%s", number ? outcome_dimension_words(d).text : "", number ? " " : "",
             d->value[value].text);
    free(p->title);
    p->title = mem_strdup(buf_text(&text));
    p->small = true;
    buf_free(&text);
}

/* A chart for each value of the facet, under one heading and with one scale. */
static void put_facets(const struct outcome *o, const struct outcome_lines *l, size_t across, size_t measure,
                       struct doc *d) {
    const struct outcome_dimension *facet = &o->dimension[l->facet];
    struct plot *p[OUTCOME_FACETS];
    struct buf title = {0};
    size_t left = 0, some;
    chart_title(o, l, across, measure, &title);
    buf_addf(&title, ", by %s", outcome_dimension_words(facet).text);
    doc_section(d, 2, buf_text(&title));
    buf_free(&title);
    for (size_t v = 0; v < facet->values; v++) {
        p[v] = chart_fill(o, l, across, measure, v, &some);
        facet_title(facet, v, p[v]);
        left += some;
    }
    plot_one_scale(p, facet->values);
    bool decades = spans_decades(p[0]);
    for (size_t v = 0; v < facet->values; v++) p[v]->y.log = decades;
    const char *better = lead_better(o->measure[measure].name);
    doc_text(d, DOC_PLAIN, "%s%sAll charts share one scale.", better, *better ? " " : "");
    if (left > 0)
        doc_text(d, DOC_PLAIN, "Each chart shows its best %d configurations; the table has all points.",
                 OUTCOME_LINES);
    for (size_t v = 0; v < facet->values; v++) doc_plot(d, p[v]);
}

static void put_chart(const struct outcome *o, const struct outcome_lines *l, size_t across, size_t measure,
                      struct doc *d) {
    const char *better = lead_better(o->measure[measure].name);
    size_t left;
    if (l->facet < OUTCOME_DIMENSIONS) {
        put_facets(o, l, across, measure, d);
        return;
    }
    struct plot *p = chart_fill(o, l, across, measure, 0, &left);
    struct buf caption = {0};
    p->y.log = spans_decades(p);
    buf_addf(&caption, "%s%s%s", better, *better && *p->caption ? " " : "", p->caption);
    if (left > 0)
        buf_addf(&caption, "%sThe chart shows the best %zu of %zu configurations; the table has all points.",
                 caption.len ? " " : "", l->count - left, l->count);
    plot_caption(p, "%s", buf_text(&caption));
    buf_free(&caption);
    doc_plot(d, p);
}

/* How many points a chart could show: with one there is nothing to draw a line through. */
static size_t points_done(const struct outcome *o) {
    size_t done = 0;
    for (size_t i = 0; i < o->points; i++) done += o->point[i].state == OUTCOME_DONE;
    return done;
}

void outcome_put_charts(const struct outcome *o, struct doc *d) {
    size_t measure[OUTCOME_CHARTS], count = outcome_charted(o, measure);
    size_t rate = outcome_measure_find(o, "requests_per_s"),
           tok = outcome_measure_find(o, "throughput_tok_s");
    struct outcome_lines l;
    if (points_done(o) < 2) {
        doc_text(d, DOC_PLAIN, "Fewer than two points are done, so there is nothing to draw.");
        return;
    }
    outcome_lines_make(o, &l);
    for (size_t i = 0; i < count && outcome_by_load(o) && tok != SIZE_MAX; i++) {
        const struct outcome_measure *m = &o->measure[measure[i]];
        if (strcmp(m->unit, "ms") == 0 && !strstr(m->name, "tpot")) put_chart(o, &l, tok, measure[i], d);
    }
    for (size_t i = 0; i < count; i++)
        if (!outcome_by_load(o) || (rate != SIZE_MAX && measure[i] != rate))
            put_chart(o, &l, rate, measure[i], d);
    outcome_lines_free(&l);
    outcome_put_table(o, d);
}

/* ---- a search ---- */

void outcome_put_search(const struct outcome *o, struct doc *d) {
    struct outcome_lines l;
    if (o->measures == 0 || points_done(o) == 0) return;
    outcome_lines_make(o, &l);
    struct plot *p = chart_new(o, &l, SIZE_MAX, 0);
    add_line(o, &l, 0, SIZE_MAX, 0, p);
    if (!isnan(o->target)) {
        struct buf text = {0};
        buf_addf(&text, "target %s %s", o->target_op, outcome_cell(o, o->target, 0).text);
        plot_level(p, o->target, buf_text(&text));
        buf_free(&text);
    }
    for (size_t i = 0; i < o->points; i++) {
        struct buf text = {0};
        buf_addf(&text, "%zu", o->point[i].number);
        if (!isnan(outcome_value(o, i, 0))) plot_mark(p, x_of(o, &l, i, SIZE_MAX), buf_text(&text));
        buf_free(&text);
    }
    plot_caption(p, "Vertical lines are the steps of the search, in their order: both bounds, then halves.");
    doc_plot(d, p);
    outcome_lines_free(&l);
}

/* ---- curves ---- */

void outcome_put_curves(const struct outcome *o, struct doc *d) {
    struct plot *p = plot_new(PLOT_LINES, "Miss ratio over capacity");
    plot_axis(&p->x, "capacity", "B");
    plot_axis(&p->y, "miss ratio", "%");
    p->x.log = true;
    for (size_t i = 0; i < o->curves && strcmp(o->curve[i].policy, o->curve[0].policy) == 0; i++)
        plot_tick(p, (double)o->curve[i].capacity_bytes,
                  format_bytes((double)o->curve[i].capacity_bytes).text);
    for (size_t from = 0, to; from < o->curves; from = to) { /* in the order of policy, then capacity */
        for (to = from; to < o->curves && strcmp(o->curve[to].policy, o->curve[from].policy) == 0;) to++;
        struct plot_line *line = plot_line_room(p, o->curve[from].policy, to - from, true);
        line->marks = true;
        for (size_t i = from; i < to; i++) {
            line->x[i - from] = (double)o->curve[i].capacity_bytes;
            line->y[i - from] = o->curve[i].miss_ratio;
        }
    }
    plot_caption(p, "%s belady knows the future: no policy misses less.", lead_better("miss_ratio"));
    doc_plot(d, p);
}
