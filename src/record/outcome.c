#include "record/outcome.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "record/judge/judge.h"
#include "record/metric.h"

const char *outcome_state_name(enum outcome_state s) {
    static const char *const names[] = {[OUTCOME_WAITS] = "not run",
                                        [OUTCOME_RUNS] = "running",
                                        [OUTCOME_DONE] = "done",
                                        [OUTCOME_FAILED] = "failed",
                                        [OUTCOME_STOPPED] = "stopped"};
    return names[s];
}

enum outcome_state outcome_state_of(enum run_status status) {
    return status == RUN_COMPLETED                         ? OUTCOME_DONE
           : status == RUN_RUNNING                         ? OUTCOME_RUNS
           : status == RUN_FAILED || status == RUN_CRASHED ? OUTCOME_FAILED
                                                           : OUTCOME_STOPPED;
}

void outcome_init(struct outcome *o) {
    *o = (struct outcome){.base_group = SIZE_MAX, .target = NAN};
}

void outcome_free(struct outcome *o) {
    for (unsigned d = 0; d < o->dimensions; d++) {
        for (size_t v = 0; v < o->dimension[d].values; v++) free(o->dimension[d].value[v].text);
        free(o->dimension[d].value);
    }
    for (size_t i = 0; i < o->points; i++) {
        free(o->point[i].settings);
        free(o->point[i].value);
    }
    free(o->record.scenario_yaml);
    free(o->record.effective_json);
    free(o->measure);
    free(o->point);
    free(o->curve);
    free(o->warnings);
    outcome_init(o);
}

struct outcome_dimension *outcome_add_dimension(struct outcome *o, enum outcome_role role, const char *key,
                                                const char *unit) {
    struct outcome_dimension *d = &o->dimension[o->dimensions++];
    d->role = role;
    snprintf(d->key, sizeof d->key, "%s", key);
    snprintf(d->unit, sizeof d->unit, "%s", unit);
    if (role == OUTCOME_VARIANT) o->groups = o->dimensions;
    return d;
}

static const char *last_part(const char *key) {
    const char *dot = strrchr(key, '.');
    return dot ? dot + 1 : key;
}

void outcome_make_titles(struct outcome *o) {
    for (unsigned i = 0; i < o->dimensions; i++) {
        struct outcome_dimension *d = &o->dimension[i];
        const char *title = d->role == OUTCOME_SOUGHT ? d->key : last_part(d->key);
        for (unsigned k = 0; k < o->dimensions; k++)
            if (k != i && strcmp(last_part(o->dimension[k].key), title) == 0) title = d->key;
        snprintf(d->title, sizeof d->title, "%s", title);
    }
}

/* Neighbours in the plan have the same value or the next: the search begins with the last one. */
size_t outcome_place(struct outcome_dimension *d, const char *text, double number) {
    size_t len = strlen(text);
    if (len >= 2 && text[0] == '"') {
        text++;
        len -= 2;
    }
    for (size_t n = 0; n < d->values; n++) {
        const char *there = d->value[d->values - 1 - n].text;
        if (strncmp(there, text, len) == 0 && !there[len]) return d->values - 1 - n;
    }
    mem_room(d->value, d->values, d->cap);
    char *copy = mem_zalloc(len + 1, 1);
    memcpy(copy, text, len);
    d->value[d->values] = (struct outcome_value){copy, number};
    return d->values++;
}

struct outcome_point *outcome_add_point(struct outcome *o) {
    mem_room(o->point, o->points, o->point_cap);
    o->point[o->points] = (struct outcome_point){
        .number = o->points + 1, .against = SIZE_MAX, .reuse_hits = NAN, .chunk_hits = NAN};
    return &o->point[o->points++];
}

size_t outcome_measure_find(const struct outcome *o, const char *name) {
    for (size_t m = 0; m < o->measures; m++)
        if (strcmp(o->measure[m].name, name) == 0) return m;
    return SIZE_MAX;
}

size_t outcome_measure(struct outcome *o, const char *name, const char *unit) {
    size_t m = outcome_measure_find(o, name);
    if (m == SIZE_MAX) {
        m = o->measures;
        mem_room(o->measure, m, o->measure_cap);
        o->measure[o->measures++] = (struct outcome_measure){0};
        snprintf(o->measure[m].name, sizeof o->measure[m].name, "%s", name);
    }
    if (!o->measure[m].unit[0]) snprintf(o->measure[m].unit, sizeof o->measure[m].unit, "%s", unit);
    return m;
}

void outcome_set(struct outcome_point *p, size_t measure, double v) {
    if (measure >= p->values) {
        size_t values = measure + 1 + measure / 2;
        p->value = mem_realloc(p->value, values * sizeof *p->value);
        for (; p->values < values; p->values++) p->value[p->values] = NAN;
    }
    p->value[measure] = v;
}

void outcome_add_curve(struct outcome *o, const struct sweep_curve *c) {
    mem_room(o->curve, o->curves, o->curve_cap);
    o->curve[o->curves++] = *c;
}

/* ---- asking ---- */

double outcome_measured(const struct outcome *o, size_t point, size_t measure) {
    const struct outcome_point *p = &o->point[point];
    return measure < p->values ? p->value[measure] : NAN;
}

double outcome_value(const struct outcome *o, size_t point, size_t measure) {
    return o->point[point].state == OUTCOME_DONE ? outcome_measured(o, point, measure) : NAN;
}

static double delta(double v, double base) {
    return base == 0 ? NAN : v / base - 1;
}

double outcome_delta(const struct outcome *o, size_t point, size_t measure) {
    size_t against = o->point[point].against; /* of a file that was tampered with it may be anything */
    double base = against < o->points ? outcome_value(o, against, measure) : NAN;
    return delta(outcome_value(o, point, measure), base);
}

/* The number of a point's combination of variants; 0 without groups. */
static size_t configuration_of(const struct outcome *o, size_t point) {
    size_t n = 0;
    for (unsigned g = 0; g < o->groups; g++) n = n * o->dimension[g].values + o->point[point].at[g];
    return n;
}

bool outcome_comparable(const struct outcome_point *p) {
    return standing_comparable(p->undone, p->flaw);
}

/* Of the points of a configuration, SIZE_MAX for all. */
static size_t best_of(const struct outcome *o, size_t measure, size_t configuration) {
    if (measure >= o->measures) return SIZE_MAX;
    bool lower = metric_better(o->measure[measure].name) == METRIC_LOWER;
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < o->points; i++) {
        double v = outcome_value(o, i, measure),
               most = best == SIZE_MAX ? NAN : outcome_value(o, best, measure);
        if (isnan(v) || !outcome_comparable(&o->point[i])) continue;
        if (configuration != SIZE_MAX && configuration_of(o, i) != configuration) continue;
        if (best == SIZE_MAX || (lower ? v < most : v > most)) best = i;
    }
    return best;
}

size_t outcome_best(const struct outcome *o, size_t measure) {
    return best_of(o, measure, SIZE_MAX);
}

const char *outcome_undone(const struct outcome_point *p, char out[STANDING_TEXT]) {
    return standing_why(p->undone, p->flaw, out);
}

bool outcome_by_load(const struct outcome *o) {
    return strcmp(o->record.profile, "rates") == 0;
}

size_t outcome_judge(const struct outcome *o) {
    size_t m = outcome_by_load(o) ? outcome_measure_find(o, "throughput_tok_s") : 0;
    return m < o->chosen ? m : 0;
}

size_t outcome_configurations(const struct outcome *o) {
    size_t n = 1;
    for (unsigned g = 0; g < o->groups; g++) n *= o->dimension[g].values;
    return n;
}

/* The number of combinations of the groups behind it. */
static size_t stride_of(const struct outcome *o, unsigned group) {
    size_t stride = 1;
    for (unsigned g = group + 1; g < o->groups; g++) stride *= o->dimension[g].values;
    return stride;
}

size_t outcome_variant(const struct outcome *o, size_t configuration, unsigned group) {
    return configuration / stride_of(o, group) % o->dimension[group].values;
}

/* ---- peaks ---- */

static void peak_find(const struct outcome *o, size_t configuration, struct outcome_peak *p) {
    size_t judge = outcome_judge(o);
    *p = (struct outcome_peak){configuration, best_of(o, judge, configuration),
                               mem_zalloc(o->chosen, sizeof *p->value), NAN};
    for (size_t m = 0; m < o->chosen; m++)
        p->value[m] = p->point != SIZE_MAX ? outcome_value(o, p->point, m) : NAN;
}

struct outcome_peak *outcome_peaks(const struct outcome *o, size_t *count) {
    size_t all = outcome_configurations(o), judge = outcome_judge(o);
    *count = 0;
    if (o->groups == 0 || o->zip || o->chosen == 0 || (o->points <= all && !outcome_by_load(o))) return NULL;
    struct outcome_peak *peak = mem_zalloc(all, sizeof *peak);
    for (; *count < all; ++*count) peak_find(o, *count, &peak[*count]);
    for (size_t i = 0; i < all && o->base_group < o->groups; i++) {
        size_t stride = stride_of(o, (unsigned)o->base_group);
        size_t base = i - outcome_variant(o, i, (unsigned)o->base_group) * stride + o->base_variant * stride;
        peak[i].delta = delta(peak[i].value[judge], peak[base].value[judge]);
    }
    return peak;
}

void outcome_peaks_free(struct outcome_peak *peak, size_t count) {
    for (size_t i = 0; i < count; i++) free(peak[i].value);
    free(peak);
}
