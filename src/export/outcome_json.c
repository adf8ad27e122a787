#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "export/json_part.h"
#include "export/outcome.h"

static json_t *text(const char *s) {
    return json_part_text(s[0] ? s : NULL);
}

static json_t *number(double v) {
    return isfinite(v) ? json_real(v) : json_null();
}

static json_t *id(int64_t v) {
    return v > 0 ? json_integer(v) : json_null();
}

static json_t *index_of(const struct outcome *o, size_t point) {
    return point != SIZE_MAX ? json_integer((json_int_t)o->point[point].number) : json_null();
}

static json_t *sweep_object(const struct outcome *o) {
    const struct sweep_record *r = &o->record;
    json_t *all = json_object();
    json_object_set_new(all, "sweep_id", id(r->sweep_id));
    json_object_set_new(all, "name", text(r->name));
    json_object_set_new(all, "profile", text(r->profile));
    json_object_set_new(all, "mode", text(r->mode));
    json_object_set_new(all, "model", text(r->model));
    json_object_set_new(all, "status", text(run_status_name(r->status)));
    json_object_set_new(all, "status_reason", text(r->status_reason));
    json_object_set_new(all, "started_at", number(r->started_at));
    json_object_set_new(all, "ended_at", number(r->ended_at));
    json_object_set_new(all, "points", json_integer((json_int_t)r->points));
    json_object_set_new(all, "done", json_integer((json_int_t)r->done));
    json_object_set_new(all, "failed", json_integer((json_int_t)r->failed));
    json_object_set_new(all, "answer", text(r->answer));
    json_object_set_new(all, "best_point",
                        index_of(o, strcmp(r->profile, "keys") == 0 ? outcome_best(o) : SIZE_MAX));
    return all;
}

static json_t *results_object(const struct outcome *o, size_t i) {
    json_t *all = json_object();
    for (size_t m = 0; m < o->chosen; m++) {
        json_t *one = json_object();
        json_object_set_new(one, "value", number(outcome_measured(o, i, m)));
        json_object_set_new(one, "unit", json_string(o->measure[m].unit));
        if (o->compared) json_object_set_new(one, "delta", number(outcome_delta(o, i, m)));
        json_object_set_new(all, o->measure[m].name, one);
    }
    return all;
}

static json_t *point_object(const struct outcome *o, size_t i) {
    const struct outcome_point *p = &o->point[i];
    json_t *all = json_object(), *v = p->settings ? json_loads(p->settings, 0, NULL) : NULL;
    json_object_set_new(all, "point", index_of(o, i));
    json_object_set_new(all, "values", v ? v : json_null());
    json_object_set_new(all, "state", text(outcome_state_name(p->state)));
    json_object_set_new(all, "reason", text(p->why));
    json_object_set_new(all, "run_id", id(p->run_id));
    json_object_set_new(all, "results", results_object(o, i));
    return all;
}

static json_t *peaks_array(const struct outcome *o) {
    json_t *all = json_array();
    size_t count;
    struct outcome_peak *peak = outcome_peaks(o, &count);
    for (size_t i = 0; i < count; i++) {
        json_t *one = json_object(), *variants = json_object(), *results = json_object();
        for (unsigned g = 0; g < o->groups; g++) {
            const struct outcome_dimension *d = &o->dimension[g];
            json_object_set_new(variants, d->key,
                                text(d->value[outcome_variant(o, peak[i].configuration, g)].text));
        }
        for (size_t m = 0; m < o->chosen; m++)
            json_object_set_new(results, o->measure[m].name, number(peak[i].value[m]));
        json_object_set_new(one, "variants", variants);
        json_object_set_new(one, "point", index_of(o, peak[i].point));
        json_object_set_new(one, "delta", number(peak[i].delta));
        json_object_set_new(one, "results", results);
        json_array_append_new(all, one);
    }
    outcome_peaks_free(peak, count);
    return all;
}

static json_t *curve_object(const struct sweep_curve *c) {
    json_t *o = json_object();
    json_object_set_new(o, "policy", text(c->policy));
    json_object_set_new(o, "capacity_bytes", json_integer((json_int_t)c->capacity_bytes));
    json_object_set_new(o, "lookups", json_integer((json_int_t)c->lookups));
    json_object_set_new(o, "misses", json_integer((json_int_t)c->misses));
    json_object_set_new(o, "miss_ratio", number(c->miss_ratio));
    json_object_set_new(o, "sample", number(c->sample));
    json_object_set_new(o, "method", text(c->method));
    return o;
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
    json_t *whole = json_object(), *points = json_array(), *curves = json_array();
    for (size_t i = 0; i < o->points; i++) json_array_append_new(points, point_object(o, i));
    for (size_t i = 0; i < o->curves; i++) json_array_append_new(curves, curve_object(&o->curve[i]));
    json_part_head(whole, OUTCOME_JSON_SCHEMA, OUTCOME_JSON_VERSION);
    json_object_set_new(whole, "sweep", sweep_object(o));
    json_object_set_new(whole, "points", points);
    json_object_set_new(whole, "peaks", peaks_array(o));
    json_object_set_new(whole, "curves", curves);
    json_object_set_new(whole, "warnings", warnings_array(o));
    json_part_print(whole, out);
}
