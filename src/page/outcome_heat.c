#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "page/outcome_doc.h"
#include "page/outcome_text.h"
#include "record/metric.h"

enum { HEAT_ROWS = 24, HEAT_COLUMNS = 16, HEAT_MAPS = 4 };

static struct plot *heat_new(const char *metric, const char *against, const char *across) {
    struct buf text = {0};
    buf_addf(&text, "%s against %s", outcome_measure_title(metric).text, against);
    struct plot *p = plot_new(PLOT_HEAT, buf_text(&text));
    buf_free(&text);
    plot_axis(&p->x, across, "");
    plot_axis(&p->y, "difference", "%");
    p->diverging = true;
    enum metric_better better = metric_better(metric);
    p->less_better = better == METRIC_LOWER;
    if (better == METRIC_NEUTRAL)
        plot_caption(
            p, "Blue is more than the baseline, orange less, neither better by itself. Hatched cells have "
               "no point that is done.");
    else
        plot_caption(
            p,
            "Blue is better than the baseline, orange worse: %s is better. Hatched cells have no point "
            "that is done.",
            p->less_better ? "less" : "more");
    return p;
}

static void put_baseline_name(const struct outcome *o, char out[120]) {
    snprintf(out, 120, "%s%.100s", o->base_group == SIZE_MAX ? "point " : "", o->baseline);
}

/* Rows are configurations, columns the values of what is swept. */
static void put_points(const struct outcome *o, const struct outcome_lines *l, size_t measure,
                       struct doc *d) {
    const struct outcome_dimension *x = &o->dimension[l->x];
    char against[120];
    put_baseline_name(o, against);
    struct plot *p = heat_new(o->measure[measure].name, against, x->title);
    for (size_t v = 0; v < x->values; v++) plot_category(p, x->value[v].text);
    for (size_t k = 0; k < l->count; k++) {
        struct buf name = {0};
        outcome_line_name(o, l, k, &name);
        struct plot_line *line = plot_line_room(p, buf_text(&name), x->values, false);
        for (size_t i = 0; i < o->points; i++)
            if (l->of[i] == k) line->y[o->point[i].at[l->x]] = outcome_delta(o, i, measure);
        buf_free(&name);
    }
    doc_plot(d, p);
}

/* Of the peaks: the last group across, the others in rows. */
static void put_peaks(const struct outcome *o, struct doc *d) {
    size_t count, judge = outcome_judge(o);
    struct outcome_peak *peak = outcome_peaks(o, &count);
    const struct outcome_dimension *x = &o->dimension[o->groups - 1];
    if (count / x->values > HEAT_ROWS || x->values > HEAT_COLUMNS) count = 0;
    if (count > 0) {
        char against[120];
        put_baseline_name(o, against);
        struct plot *p = heat_new(o->measure[judge].name, against, x->title);
        for (size_t v = 0; v < x->values; v++) plot_category(p, x->value[v].text);
        for (size_t row = 0; row < count; row += x->values) {
            struct buf name = {0};
            for (unsigned g = 0; g + 1 < o->groups; g++)
                buf_addf(&name, "%s%s", g ? ", " : "",
                         o->dimension[g].value[outcome_variant(o, row, g)].text);
            struct plot_line *line = plot_line_room(p, name.len ? buf_text(&name) : "peak", x->values, false);
            for (size_t v = 0; v < x->values; v++) line->y[v] = peak[row + v].delta;
            buf_free(&name);
        }
        doc_plot(d, p);
    }
    outcome_peaks_free(peak, count ? count : 0);
}

void outcome_put_heat(const struct outcome *o, struct doc *d) {
    size_t measure[OUTCOME_CHARTS], count = outcome_charted(o, measure);
    struct outcome_lines l;
    if (o->base_group != SIZE_MAX && o->groups > 0 && !o->compared) {
        put_peaks(o, d);
        return;
    }
    if (!o->compared) {
        doc_text(d, DOC_PLAIN,
                 "No point or variant of this sweep is its baseline, so there are no differences to show; "
                 "sweep.baseline names one.");
        return;
    }
    outcome_lines_make(o, &l);
    if (l.count > HEAT_ROWS || o->dimension[l.x].values > HEAT_COLUMNS)
        doc_text(d, DOC_PLAIN,
                 "%zu configurations at %zu values are too many for a map; the table of all points has the "
                 "differences.",
                 l.count, o->dimension[l.x].values);
    else
        for (size_t i = 0; i < count && i < HEAT_MAPS; i++) put_points(o, &l, measure[i], d);
    outcome_lines_free(&l);
}
