#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "draw/format.h"
#include "metrics/statistics.h"
#include "page/outcome/outcome_doc.h"
#include "page/outcome/outcome_text.h"

static bool is_number(const struct outcome_dimension *d) {
    for (size_t v = 0; v < d->values; v++)
        if (isnan(d->value[v].number)) return false;
    return d->values > 0;
}

/* The dimension that belongs along the axis: a number that takes many values, and seeds last. */
static double worth(const struct outcome_dimension *d) {
    if (d->role == OUTCOME_VARIANT) return d->values > 1 ? 0.5 : 0;
    if (d->values < 2 || strcmp(d->key, "seed") == 0) return 0.25;
    return (double)d->values + (is_number(d) ? 1e6 : 0);
}

/* Growth by factors: the middle of the sorted values lies far below the middle of the ends. */
static bool grows_by_factors(const struct outcome_dimension *d) {
    double *v = mem_zalloc(d->values + 1, sizeof *v);
    for (size_t i = 0; i < d->values; i++) v[i] = d->value[i].number;
    qsort(v, d->values, sizeof *v, statistics_order);
    size_t n = d->values;
    bool log = n >= 3 && v[0] > 0 && v[n - 1] / v[0] >= 4;
    if (log) {
        double middle = n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
        double even = (v[0] + v[n - 1]) / 2, factor = sqrt(v[0] * v[n - 1]);
        log = fabs(log10(middle / factor)) < fabs(log10(middle / even));
    }
    free(v);
    return log;
}

static bool same_line(const struct outcome *o, const struct outcome_lines *l, size_t a, size_t b) {
    for (unsigned d = 0; d < o->dimensions && !o->zip; d++)
        if (d != l->x && o->dimension[d].role != OUTCOME_LOAD && o->point[a].at[d] != o->point[b].at[d])
            return false;
    return true;
}

bool outcome_line_part(const struct outcome *o, const struct outcome_lines *l, unsigned dimension) {
    const struct outcome_dimension *d = &o->dimension[dimension];
    return !o->zip && dimension != l->x && dimension != l->facet && d->role != OUTCOME_LOAD && d->values > 1;
}

/* Where two or more tell lines apart, one of them has a chart for each of its values: the model, else a group
 * of variants, else the one with the fewest. */
static void choose_facet(const struct outcome *o, struct outcome_lines *l) {
    unsigned parts = 0, best = OUTCOME_DIMENSIONS;
    double most = -INFINITY;
    for (unsigned d = 0; d < o->dimensions; d++) {
        const struct outcome_dimension *of = &o->dimension[d];
        if (!outcome_line_part(o, l, d)) continue;
        parts++;
        double fit = strcmp(of->key, "model") == 0 ? 2
                     : of->role == OUTCOME_VARIANT ? 1
                                                   : -(double)of->values;
        if (of->values > OUTCOME_FACETS || strcmp(of->key, "seed") == 0 || fit <= most) continue;
        best = d;
        most = fit;
    }
    if (parts > 1) l->facet = best;
}

void outcome_lines_make(const struct outcome *o, struct outcome_lines *l) {
    *l = (struct outcome_lines){.x = OUTCOME_DIMENSIONS, .facet = OUTCOME_DIMENSIONS};
    for (unsigned d = 0; d < o->dimensions && !outcome_by_load(o); d++)
        if (l->x == OUTCOME_DIMENSIONS || worth(&o->dimension[d]) > worth(&o->dimension[l->x])) l->x = d;
    l->numbers = l->x == OUTCOME_DIMENSIONS || is_number(&o->dimension[l->x]);
    l->log = l->x < OUTCOME_DIMENSIONS && l->numbers && grows_by_factors(&o->dimension[l->x]);
    choose_facet(o, l);
    l->of = mem_zalloc(o->points + 1, sizeof *l->of);
    l->example = mem_zalloc(o->points + 1, sizeof *l->example);
    for (size_t i = 0; i < o->points; i++) {
        size_t line = 0;
        while (line < l->count && !same_line(o, l, l->example[line], i)) line++;
        if (line == l->count) l->example[l->count++] = i;
        l->of[i] = line;
    }
}

void outcome_lines_free(struct outcome_lines *l) {
    free(l->of);
    free(l->example);
}

/* ---- names of lines ---- */

enum { NAME_ROOM = 20, PART_LEAST = 6 }; /* characters that a chart has for a name, and that a part keeps */

struct parts {
    struct buf text[OUTCOME_DIMENSIONS];
    size_t count;
};

static void parts_make(const struct outcome *o, const struct outcome_lines *l, size_t line, struct parts *p) {
    *p = (struct parts){0};
    for (unsigned d = 0; d < o->dimensions; d++) {
        const struct outcome_dimension *of = &o->dimension[d];
        if (!outcome_line_part(o, l, d)) continue;
        bool named = of->role != OUTCOME_VARIANT && is_number(of); /* a number alone says nothing */
        buf_addf(&p->text[p->count++], "%s%s%s", named ? outcome_dimension_words(of).text : "",
                 named ? " " : "", of->value[o->point[l->example[line]].at[d]].text);
    }
}

static void parts_free(struct parts *p) {
    for (size_t i = 0; i < p->count; i++) buf_free(&p->text[i]);
}

static unsigned parts_width(const struct parts *p, unsigned most) {
    unsigned sum = p->count > 0 ? 2 * (unsigned)(p->count - 1) : 0;
    for (size_t i = 0; i < p->count; i++) {
        unsigned width = format_width(buf_text(&p->text[i]));
        sum += width < most ? width : most;
    }
    return sum;
}

/* At most so many characters, the last two of which say that it was cut. */
static void put_cut(const char *text, unsigned most, struct buf *out) {
    size_t len = 0;
    if (format_width(text) <= most) {
        buf_add(out, text);
        return;
    }
    for (unsigned n = 0; text[len]; len++) {
        n += ((unsigned char)text[len] & 0xc0) != 0x80;
        if (n > most - 2) break;
    }
    buf_addf(out, "%.*s..", (int)len, text);
}

/* A name that does not fit is cut in all its long parts, so that lines can be told apart by each. */
void outcome_line_name(const struct outcome *o, const struct outcome_lines *l, size_t line, struct buf *out) {
    struct parts p;
    unsigned most = 80;
    parts_make(o, l, line, &p);
    while (p.count > 1 && most > PART_LEAST && parts_width(&p, most) > NAME_ROOM) most--;
    for (size_t i = 0; i < p.count; i++) {
        if (i > 0) buf_add(out, ", ");
        put_cut(buf_text(&p.text[i]), p.count > 1 ? most : UINT_MAX, out);
    }
    if (p.count == 0) buf_add(out, "all points");
    parts_free(&p);
}

static size_t add(const struct outcome *o, size_t *measure, size_t count, size_t m) {
    for (size_t i = 0; i < count; i++)
        if (measure[i] == m) return count;
    if (m >= o->measures || count == OUTCOME_CHARTS) return count;
    measure[count] = m;
    return count + 1;
}

size_t outcome_charted(const struct outcome *o, size_t measure[OUTCOME_CHARTS]) {
    size_t count = 0, ttft_p95 = outcome_measure_find(o, "ttft_p95_ms"),
           ttft_mean = outcome_measure_find(o, "ttft_mean_ms");
    for (size_t m = 0; m < o->chosen && count < OUTCOME_CHARTS - 3; m++) count = add(o, measure, count, m);
    count = add(o, measure, count, outcome_measure_find(o, "throughput_tok_s"));
    if (ttft_mean >= o->chosen || outcome_by_load(o)) count = add(o, measure, count, ttft_p95);
    return add(o, measure, count, outcome_measure_find(o, "e2e_p95_ms"));
}
