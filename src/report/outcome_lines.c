#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/outcome_doc.h"

static bool is_number(const struct outcome_dimension *d) {
    for (size_t v = 0; v < d->values; v++)
        if (isnan(d->value[v].number)) return false;
    return d->values > 0;
}

/* What people would put along the axis: a number that takes many values, and seeds last. */
static double worth(const struct outcome_dimension *d) {
    if (d->role == OUTCOME_VARIANT) return d->values > 1 ? 0.5 : 0;
    if (d->values < 2 || strcmp(d->key, "seed") == 0) return 0.25;
    return (double)d->values + (is_number(d) ? 1e6 : 0);
}

/* Growth by factors: the middle of the sorted values lies far below the middle of the ends. */
static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool grows_by_factors(const struct outcome_dimension *d) {
    double *v = mem_zalloc(d->values + 1, sizeof *v);
    for (size_t i = 0; i < d->values; i++) v[i] = d->value[i].number;
    qsort(v, d->values, sizeof *v, ascending);
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

void outcome_lines_make(const struct outcome *o, struct outcome_lines *l) {
    *l = (struct outcome_lines){.x = OUTCOME_DIMENSIONS};
    for (unsigned d = 0; d < o->dimensions && !outcome_by_load(o); d++)
        if (l->x == OUTCOME_DIMENSIONS || worth(&o->dimension[d]) > worth(&o->dimension[l->x])) l->x = d;
    l->numbers = l->x == OUTCOME_DIMENSIONS || is_number(&o->dimension[l->x]);
    l->log = l->x < OUTCOME_DIMENSIONS && l->numbers && grows_by_factors(&o->dimension[l->x]);
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

void outcome_line_name(const struct outcome *o, const struct outcome_lines *l, size_t line, struct buf *out) {
    size_t begin = out->len;
    for (unsigned d = 0; d < o->dimensions && !o->zip; d++) {
        const struct outcome_dimension *of = &o->dimension[d];
        if (d == l->x || of->role == OUTCOME_LOAD || of->values < 2) continue;
        bool named = of->role != OUTCOME_VARIANT && is_number(of); /* a number alone says nothing */
        buf_addf(out, "%s%s%s%s", out->len > begin ? ", " : "", named ? of->title : "", named ? " " : "",
                 of->value[o->point[l->example[line]].at[d]].text);
    }
    if (out->len == begin) buf_add(out, "all points");
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
    if (ttft_mean >= o->chosen) count = add(o, measure, count, ttft_p95);
    return add(o, measure, count, outcome_measure_find(o, "e2e_p95_ms"));
}
