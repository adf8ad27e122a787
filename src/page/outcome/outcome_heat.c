#include <ctype.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "draw/axis.h"
#include "page/lead.h"
#include "page/outcome/outcome_doc.h"
#include "page/outcome/outcome_text.h"
#include "record/metric.h"

enum { ROWS = 24, COLUMNS = 16, TABLES = 6 };

/* ---- two keys ---- */

/* The two keys that were swept; false where there are fewer or more, or too many values. */
static bool two_keys(const struct outcome *o, unsigned key[2]) {
    unsigned n = 0;
    for (unsigned d = 0; d < o->dimensions; d++) {
        const struct outcome_dimension *of = &o->dimension[d];
        if (of->values < 2) continue;
        if (of->role != OUTCOME_KEY || n == 2) return false;
        key[n++] = d;
    }
    if (n == 2 && o->dimension[key[0]].values < o->dimension[key[1]].values) {
        unsigned first = key[0];
        key[0] = key[1];
        key[1] = first;
    }
    return n == 2 && !o->zip && !outcome_by_load(o) && o->dimension[key[0]].values <= COLUMNS &&
           o->dimension[key[1]].values <= ROWS;
}

__attribute__((format(printf, 3, 4))) static void put_caption(struct plot *p, const char *metric,
                                                              const char *fmt, ...) {
    const char *better = lead_better(metric);
    char colours[120];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(colours, sizeof colours, fmt, ap);
    va_end(ap);
    plot_caption(p, "%s %s%sHatched cells have no finished point.", colours, better, *better ? " " : "");
}

static struct plot *table_new(const struct outcome *o, const unsigned key[2], size_t measure) {
    const struct outcome_dimension *x = &o->dimension[key[0]], *y = &o->dimension[key[1]];
    const struct outcome_measure *m = &o->measure[measure];
    struct plot *p = plot_new(PLOT_HEAT, metric_title(m->name).text);
    plot_axis(&p->x, outcome_dimension_words(x).text, "");
    plot_axis(&p->y, outcome_dimension_words(y).text, metric_percent(m->name) ? "%" : m->unit);
    for (size_t v = 0; v < x->values; v++) plot_category(p, x->value[v].text);
    for (size_t r = 0; r < y->values; r++) {
        struct plot_line *line = plot_line_room(p, y->value[r].text, x->values, false);
        for (size_t i = 0; i < o->points; i++)
            if (o->point[i].at[key[1]] == r) line->y[o->point[i].at[key[0]]] = outcome_value(o, i, measure);
    }
    put_caption(p, m->name, "Rows: %s. Darker is higher.", p->y.label);
    return p;
}

void outcome_put_table(const struct outcome *o, struct doc *d) {
    size_t measure[OUTCOME_CHARTS], count = outcome_charted(o, measure);
    unsigned key[2];
    struct buf title = {0};
    if (!two_keys(o, key)) return;
    struct outcome_title rows = outcome_dimension_words(&o->dimension[key[1]]);
    rows.text[0] = (char)toupper((unsigned char)rows.text[0]);
    buf_addf(&title, "%s by %s", rows.text, outcome_dimension_words(&o->dimension[key[0]]).text);
    doc_section(d, 2, buf_text(&title));
    buf_free(&title);
    for (size_t i = 0; i < count && i < TABLES; i++) doc_plot(d, table_new(o, key, measure[i]));
}

/* ---- peaks ---- */

void outcome_put_heat(const struct outcome *o, struct doc *d) {
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
    buf_addf(&text, "%s against %s", metric_title(metric).text, o->baseline);
    struct plot *p = plot_new(PLOT_HEAT, buf_text(&text));
    plot_axis(&p->x, outcome_dimension_words(x).text, "");
    plot_axis(&p->y, "difference", "%");
    p->diverging = true;
    p->less_better = metric_better(metric) == METRIC_LOWER;
    put_caption(p, metric, "Blue is better than the baseline, orange worse.");
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

/* ---- what goes along with what ---- */

/* Pearson's r of two measures over the finished points that have both; NaN where one of them does not vary.
 */
static double correlation(const struct outcome *o, size_t a, size_t b) {
    double n = 0, mean_a = 0, mean_b = 0, aa = 0, bb = 0, ab = 0;
    for (size_t i = 0; i < o->points; i++) {
        double x = outcome_value(o, i, a), y = outcome_value(o, i, b);
        if (isnan(x) || isnan(y)) continue;
        n++;
        double off_a = x - mean_a, off_b = y - mean_b;
        mean_a += off_a / n;
        mean_b += off_b / n;
        aa += off_a * (x - mean_a);
        bb += off_b * (y - mean_b);
        ab += off_a * (y - mean_b);
    }
    return aa > 0 && bb > 0 ? fmax(-1, fmin(ab / sqrt(aa) / sqrt(bb), 1)) : NAN;
}

void outcome_put_correlations(const struct outcome *o, struct doc *d) {
    enum { MEASURES_LEAST = 3, POINTS_LEAST = 8 };
    size_t done = 0;
    for (size_t i = 0; i < o->points; i++) done += o->point[i].state == OUTCOME_DONE;
    if (o->groups == 0 || o->chosen < MEASURES_LEAST || o->chosen > COLUMNS || done < POINTS_LEAST) return;
    struct plot *p = plot_new(PLOT_HEAT, "Correlations of metrics");
    plot_axis(&p->x, "metric", "");
    plot_axis(&p->y, "r", "");
    p->diverging = true;
    plot_caption(
        p,
        "Pearson's r over the %zu finished points. Blue: they rise together; orange: one falls as the "
        "other rises. Hatched: a metric that does not vary.",
        done);
    for (size_t m = 0; m < o->chosen; m++) plot_category(p, outcome_measure_title(o->measure[m].name).text);
    for (size_t m = 0; m < o->chosen; m++) {
        struct plot_line *line = plot_line_room(p, metric_title(o->measure[m].name).text, o->chosen, false);
        for (size_t k = 0; k < o->chosen; k++) line->y[k] = round(100 * correlation(o, m, k)) / 100;
    }
    doc_plot(d, p);
}

/* ---- targets and knees of latency over throughput ---- */

/* A class has its target where its latency is what the chart shows at P95. */
static void put_targets(const struct outcome *o, const char *metric, struct plot *p) {
    json_t *root = o->record.effective_json ? json_loads(o->record.effective_json, 0, NULL) : NULL, *klass;
    const json_t *qos = json_object_get(root, "qos");
    const char *latency = json_string_value(json_object_get(qos, "latency"));
    size_t n;
    json_array_foreach(json_object_get(qos, "classes"), n, klass) {
        const char *p95 = json_string_value(json_object_get(klass, "p95"));
        const char *name = json_string_value(json_object_get(klass, "name"));
        char of[64], text[96];
        uint64_t ns;
        snprintf(of, sizeof of, "%s_p95_ms", latency ? latency : "");
        if (!p95 || !name || strcmp(of, metric) != 0 || units_parse_duration(p95, &ns) != 0 || ns == 0)
            continue;
        double ms = (double)ns / 1e6;
        snprintf(text, sizeof text, "target %.40s %s", name, format_ms(ms).text);
        plot_level(p, ms, text);
        p->y.high = fmax(p->y.high, ms);
        p->y.low = fmin(p->y.low, ms);
    }
    json_decref(root);
}

/* The point of a line that lies farthest below the straight line between its ends, both axes taken from 0 to
 * 1; SIZE_MAX where it bends too little, or has too few points. */
static size_t knee_of(const struct plot_line *l) {
    enum { LEAST = 4 };
    static const double bend = 0.15;
    double x0 = INFINITY, x1 = -INFINITY, y0 = INFINITY, y1 = -INFINITY, most = bend;
    size_t knee = SIZE_MAX;
    for (size_t i = 0; i < l->count; i++) {
        x0 = fmin(x0, l->x[i]);
        x1 = fmax(x1, l->x[i]);
        y0 = fmin(y0, l->y[i]);
        y1 = fmax(y1, l->y[i]);
    }
    if (l->count < LEAST || !(x1 > x0) || !(y1 > y0)) return SIZE_MAX;
    for (size_t i = 0; i < l->count; i++) {
        double below = (l->x[i] - x0) / (x1 - x0) - (l->y[i] - y0) / (y1 - y0);
        if (below > most) {
            most = below;
            knee = i;
        }
    }
    return knee;
}

void outcome_put_limits(const struct outcome *o, const char *metric, struct plot *p) {
    struct buf knees = {0};
    size_t lines = 0; /* besides single points */
    put_targets(o, metric, p);
    for (size_t k = 0; k < p->lines; k++) lines += p->line[k].count > 1;
    for (size_t k = 0; k < p->lines && outcome_by_load(o); k++) {
        struct buf text = {0};
        size_t at = knee_of(&p->line[k]);
        if (at == SIZE_MAX) continue;
        buf_addf(&text, "%s%s%s", lines > 1 ? p->line[k].name : "", lines > 1 ? " " : "",
                 axis_value(p->line[k].x[at], p->x.unit).text);
        plot_mark(p, p->line[k].x[at], buf_text(&text));
        buf_addf(&knees, "%s%s", knees.len ? ", " : "", buf_text(&text));
        buf_free(&text);
    }
    if (knees.len)
        plot_caption(p, "A triangle marks the knee, from where latency grows faster than throughput: %s.",
                     buf_text(&knees));
    buf_free(&knees);
}
