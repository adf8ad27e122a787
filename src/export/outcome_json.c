#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "export/json_part.h"
#include "export/outcome_format.h"

static json_t *index_of(const struct outcome *o, size_t point) {
    return point != SIZE_MAX ? json_integer((json_int_t)o->point[point].number) : json_null();
}

static json_t *sweep_object(const struct outcome *o) {
    const struct sweep_record *r = &o->record;
    return JSON_OBJECT(
        {"sweep_id", json_part_id(r->sweep_id)}, {"name", json_part_some(r->name)},
        {"profile", json_part_some(r->profile)}, {"mode", json_part_some(r->mode)},
        {"model", json_part_some(r->model)}, {"status", json_part_some(run_status_name(r->status))},
        {"status_reason", json_part_some(r->status_reason)}, {"started_at", json_part_number(r->started_at)},
        {"ended_at", json_part_number(r->ended_at)}, {"points", json_integer((json_int_t)r->points)},
        {"done", json_integer((json_int_t)r->done)}, {"failed", json_integer((json_int_t)r->failed)},
        {"answer", json_part_some(r->answer)},
        {"best_point", index_of(o, strcmp(r->profile, "keys") == 0 ? outcome_best(o, 0) : SIZE_MAX)});
}

static json_t *results_object(const struct outcome *o, size_t i) {
    json_t *all = json_object();
    for (size_t m = 0; m < o->chosen; m++) {
        json_t *one = JSON_OBJECT({"value", json_part_number(outcome_measured(o, i, m))},
                                  {"unit", json_string(o->measure[m].unit)});
        if (o->compared) json_object_set_new(one, "delta", json_part_number(outcome_delta(o, i, m)));
        json_object_set_new(all, o->measure[m].name, one);
    }
    return all;
}

static json_t *point_object(const struct outcome *o, size_t i) {
    const struct outcome_point *p = &o->point[i];
    json_t *values = p->settings ? json_loads(p->settings, 0, NULL) : NULL;
    char undone[STANDING_TEXT];
    return JSON_OBJECT({"point", index_of(o, i)}, {"undone", json_part_some(outcome_undone(p, undone))},
                       {"values", values ? values : json_null()},
                       {"state", json_part_some(outcome_state_name(p->state))},
                       {"reason", json_part_some(p->why)}, {"run_id", json_part_id(p->run_id)},
                       {"results", results_object(o, i)});
}

static json_t *peaks_array(const struct outcome *o) {
    json_t *all = json_array();
    size_t count;
    struct outcome_peak *peak = outcome_peaks(o, &count);
    for (size_t i = 0; i < count; i++) {
        json_t *variants = json_object(), *results = json_object();
        for (unsigned g = 0; g < o->groups; g++) {
            const struct outcome_dimension *d = &o->dimension[g];
            json_object_set_new(variants, d->key,
                                json_part_some(d->value[outcome_variant(o, peak[i].configuration, g)].text));
        }
        for (size_t m = 0; m < o->chosen; m++)
            json_object_set_new(results, o->measure[m].name, json_part_number(peak[i].value[m]));
        json_array_append_new(all,
                              JSON_OBJECT({"variants", variants}, {"point", index_of(o, peak[i].point)},
                                          {"delta", json_part_number(peak[i].delta)}, {"results", results}));
    }
    outcome_peaks_free(peak, count);
    return all;
}

static json_t *curve_object(const struct sweep_curve *c) {
    return JSON_OBJECT({"policy", json_part_some(c->policy)},
                       {"capacity_bytes", json_integer((json_int_t)c->capacity_bytes)},
                       {"lookups", json_integer((json_int_t)c->lookups)},
                       {"misses", json_integer((json_int_t)c->misses)},
                       {"miss_ratio", json_part_number(c->miss_ratio)},
                       {"sample", json_part_number(c->sample)}, {"method", json_part_some(c->method)});
}

static json_t *warnings_array(const struct outcome *o) {
    json_t *all = json_array();
    for (const char *p = o->warnings ? o->warnings : ""; *p;) {
        size_t len = strcspn(p, "\n");
        if (len > 0) json_array_append_new(all, json_stringn(p, len));
        p += len + (p[len] == '\n');
    }
    return all;
}

void outcome_json(const struct outcome *o, struct buf *out) {
    json_t *points = json_array(), *curves = json_array();
    for (size_t i = 0; i < o->points; i++) json_array_append_new(points, point_object(o, i));
    for (size_t i = 0; i < o->curves; i++) json_array_append_new(curves, curve_object(&o->curve[i]));
    json_part_print(JSON_OBJECT(JSON_HEAD(OUTCOME_JSON), {"sweep", sweep_object(o)}, {"points", points},
                                {"peaks", peaks_array(o)}, {"curves", curves},
                                {"warnings", warnings_array(o)}),
                    2, out);
}
