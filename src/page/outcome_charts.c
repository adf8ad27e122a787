#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "page/outcome_doc.h"
#include "page/outcome_text.h"
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
    const struct metric *row = metric_find(m->name);
    return row && metric_form_percent(row->form) ? "%" : m->unit;
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

/* Marks those to be shown: the best by the first measure. How many. */
static size_t lines_shown(const struct outcome *o, const struct outcome_lines *l, bool *shown) {
    size_t judge = outcome_judge(o), count = 0;
    struct ranked *r = mem_zalloc(l->count + 1, sizeof *r);
    bool lower = o->measures > 0 && (metric_better(o->measure[judge].name) == METRIC_LOWER);
    for (size_t k = 0; k < l->count; k++) r[k] = (struct ranked){k, NAN};
    for (size_t i = 0; i < o->points; i++) {
        double v = outcome_value(o, i, judge), *best = &r[l->of[i]].best;
        if (!lower) v = -v;
        if (!isnan(v) && (isnan(*best) || v < *best)) *best = v;
    }
    qsort(r, l->count, sizeof *r, by_best);
    for (size_t k = 0; k < l->count && count < OUTCOME_LINES; k++)
        if (!isnan(r[k].best)) shown[r[k].line] = ++count > 0;
    free(r);
    return count;
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

/* Of structs that begin with the number they go by. */
static int by_first(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
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
    qsort(at, count, sizeof *at, by_first);
    if (l->count > 1)
        outcome_line_name(o, l, line, &name);
    else
        buf_add(&name, p->y.label);
    plot_line(p, buf_text(&name), count, &at->x, sizeof *at, &at->y, sizeof *at)->marks = true;
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
    buf_free(&name);
}

/* The values themselves are the ticks. */
static void put_ticks(const struct outcome_dimension *d, struct plot *p) {
    struct tick {
        double at;
        const char *text;
    } *tick = mem_zalloc(d->values + 1, sizeof *tick);
    for (size_t v = 0; v < d->values; v++)
        tick[v] = (struct tick){axis_number(d->unit, d->value[v].number), d->value[v].text};
    qsort(tick, d->values, sizeof *tick, by_first);
    for (size_t v = 0; v < d->values; v++) plot_tick(p, tick[v].at, tick[v].text);
    free(tick);
}

static struct plot *chart_new(const struct outcome *o, const struct outcome_lines *l, size_t across,
                              size_t measure) {
    const struct outcome_measure *m = &o->measure[measure];
    struct outcome_title title = outcome_measure_title(m->name), over = {"requests done"};
    struct buf text = {0};
    const char *unit = across < o->measures ? o->measure[across].unit : "";
    if (l->x < OUTCOME_DIMENSIONS) {
        snprintf(over.text, sizeof over.text, "%s", o->dimension[l->x].title);
        unit = axis_unit(o->dimension[l->x].unit);
    } else if (across < o->measures) {
        over = outcome_measure_title(o->measure[across].name);
    }
    buf_addf(&text, "%s over %s", title.text, over.text);
    struct plot *p = plot_new(l->numbers ? PLOT_LINES : PLOT_BARS, buf_text(&text));
    buf_free(&text);
    plot_axis(&p->x, over.text, unit);
    plot_axis(&p->y, title.text, measure_unit(m));
    p->x.log = l->log;
    if (l->numbers && l->x < OUTCOME_DIMENSIONS) put_ticks(&o->dimension[l->x], p);
    for (size_t v = 0; !l->numbers && v < o->dimension[l->x].values; v++)
        plot_category(p, o->dimension[l->x].value[v].text);
    return p;
}

/* Latencies that differ by two decades or more cannot be told apart on a linear axis. */
static bool spans_decades(const struct plot *p) {
    double low = NAN, high = NAN;
    if (p->kind != PLOT_LINES || strcmp(p->y.unit, "ms") != 0) return false;
    for (size_t k = 0; k < p->lines; k++)
        for (size_t i = 0; i < p->line[k].count; i++) {
            low = fmin(low, p->line[k].y[i]);
            high = fmax(high, p->line[k].y[i]);
        }
    return low > 0 && high / low >= 100;
}

static void put_chart(const struct outcome *o, const struct outcome_lines *l, size_t across, size_t measure,
                      struct doc *d) {
    struct plot *p = chart_new(o, l, across, measure);
    bool *shown = mem_zalloc(l->count + 1, sizeof *shown);
    size_t count = lines_shown(o, l, shown);
    for (size_t k = 0; k < l->count; k++) {
        if (!shown[k]) continue;
        if (l->numbers)
            add_line(o, l, k, across, measure, p);
        else
            add_bars(o, l, k, measure, p);
    }
    p->y.log = spans_decades(p);
    static const char *const verdicts[] = {
        [METRIC_NEUTRAL] = "", [METRIC_HIGHER] = "More is better. ", [METRIC_LOWER] = "Less is better. "};
    const char *verdict = verdicts[metric_better(o->measure[measure].name)];
    if (count < l->count)
        plot_caption(
            p, "%sThe best %zu of %zu configurations are drawn; the table of all points has the others.",
            verdict, count, l->count);
    else
        plot_caption(p, "%.*s", (int)(verdict[0] ? strlen(verdict) - 1 : 0), verdict);
    doc_plot(d, p);
    free(shown);
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
        doc_text(d, DOC_PLAIN, "Fewer than two points are done: there is nothing to draw.");
        return;
    }
    outcome_lines_make(o, &l);
    for (size_t i = 0; i < count && outcome_by_load(o) && tok != SIZE_MAX; i++) {
        const char *name = o->measure[measure[i]].name;
        if (strstr(name, "_ms") && !strstr(name, "tpot")) put_chart(o, &l, tok, measure[i], d);
    }
    for (size_t i = 0; i < count; i++)
        if (!outcome_by_load(o) || (rate != SIZE_MAX && measure[i] != rate))
            put_chart(o, &l, rate, measure[i], d);
    outcome_lines_free(&l);
}

/* ---- peaks ---- */

void outcome_put_heat(const struct outcome *o, struct doc *d) {
    enum { ROWS = 24, COLUMNS = 16 };
    if (o->groups == 0 || o->base_group == SIZE_MAX) return;
    size_t count;
    struct outcome_peak *peak = outcome_peaks(o, &count);
    const struct outcome_dimension *x = &o->dimension[o->groups - 1];
    if (count == 0 || count / x->values > ROWS || x->values > COLUMNS) {
        outcome_peaks_free(peak, count);
        return;
    }
    const char *metric = o->measure[outcome_judge(o)].name;
    struct buf text = {0};
    buf_addf(&text, "%s against %s", outcome_measure_title(metric).text, o->baseline);
    struct plot *p = plot_new(PLOT_HEAT, buf_text(&text));
    plot_axis(&p->x, x->title, "");
    plot_axis(&p->y, "difference", "%");
    p->diverging = true;
    p->less_better = metric_better(metric) == METRIC_LOWER;
    plot_caption(
        p,
        "Blue is better than the baseline, orange worse: %s is better. Hatched cells have no finished point.",
        p->less_better ? "less" : "more");
    for (size_t v = 0; v < x->values; v++) plot_category(p, x->value[v].text);
    for (size_t row = 0; row < count; row += x->values) {
        text.len = 0;
        for (unsigned g = 0; g + 1 < o->groups; g++)
            buf_addf(&text, "%s%s", g ? ", " : "", o->dimension[g].value[outcome_variant(o, row, g)].text);
        struct plot_line *line = plot_line_room(p, text.len ? buf_text(&text) : "peak", x->values, false);
        for (size_t v = 0; v < x->values; v++) line->y[v] = peak[row + v].delta;
    }
    buf_free(&text);
    outcome_peaks_free(peak, count);
    doc_plot(d, p);
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
    struct plot *p = plot_new(PLOT_LINES, "miss ratio over capacity");
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
    plot_caption(p, "Less is better. belady knows what comes: no policy is below it.");
    doc_plot(d, p);
}
