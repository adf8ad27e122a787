#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/sweep.h"

static json_t *text(const char *s) {
    json_t *v = s[0] ? json_string(s) : json_null();
    return v ? v : json_string("?");
}

static json_t *number(double v) {
    return isfinite(v) ? json_real(v) : json_null();
}

static json_t *id(int64_t v) {
    return v > 0 ? json_integer(v) : json_null();
}

static json_t *sweep_object(const struct sweep *s) {
    const struct sweep_record *r = &s->record;
    json_t *o = json_object();
    json_object_set_new(o, "sweep_id", id(r->sweep_id));
    json_object_set_new(o, "name", text(r->name));
    json_object_set_new(o, "profile", text(r->profile));
    json_object_set_new(o, "mode", text(r->mode));
    json_object_set_new(o, "model", text(r->model));
    json_object_set_new(o, "status", text(run_status_name(r->status)));
    json_object_set_new(o, "status_reason", text(r->status_reason));
    json_object_set_new(o, "started_at", number(r->started_at));
    json_object_set_new(o, "ended_at", number(r->ended_at));
    json_object_set_new(o, "points", json_integer((json_int_t)r->points));
    json_object_set_new(o, "done", json_integer((json_int_t)r->done));
    json_object_set_new(o, "failed", json_integer((json_int_t)r->failed));
    json_object_set_new(o, "answer", text(r->answer));
    size_t best = r->profile[0] == 'k' ? sweep_best(s) : SIZE_MAX;
    json_object_set_new(o, "best_point", best != SIZE_MAX ? json_integer((json_int_t)best + 1) : json_null());
    return o;
}

static json_t *results_object(const struct sweep *s, size_t i) {
    const struct sweep_point *p = &s->point[i];
    size_t against = sweep_baseline_of(s, i);
    json_t *o = json_object();
    for (unsigned m = 0; m < s->metrics; m++) {
        json_t *one = json_object();
        json_object_set_new(one, "value", number(p->value[m]));
        json_object_set_new(one, "unit", json_string(s->unit[m]));
        double base = against != SIZE_MAX ? s->point[against].value[m] : NAN;
        if (sweep_has_baseline(s)) json_object_set_new(one, "delta", number(p->value[m] / base - 1));
        json_object_set_new(o, s->metric[m], one);
    }
    return o;
}

static json_t *point_object(const struct sweep *s, size_t i) {
    static const char *const states[] = {"not run", "running", "done", "failed", "stopped"};
    const struct sweep_point *p = &s->point[i];
    struct buf values = {0};
    json_t *o = json_object();
    sweep_values_json(s, i, &values);
    json_t *v = json_loads(buf_text(&values), 0, NULL);
    buf_free(&values);
    json_object_set_new(o, "point", json_integer((json_int_t)i + 1));
    json_object_set_new(o, "values", v ? v : json_null());
    json_object_set_new(o, "state", text(states[p->state]));
    json_object_set_new(o, "reason", text(p->why));
    json_object_set_new(o, "run_id", id(p->run_id));
    json_object_set_new(o, "results", results_object(s, i));
    return o;
}

static json_t *peaks_array(const struct sweep *s) {
    const struct sweep_plan *plan = &s->base.plan;
    json_t *all = json_array();
    size_t count;
    struct sweep_peak *peak = sweep_peaks(s, &count);
    for (size_t i = 0; i < count; i++) {
        struct scenario_setting setting[SWEEP_AXES_MAX];
        struct buf values = {0};
        sweep_plan_point(plan, peak[i].planned, setting);
        sweep_point_json(setting, plan->groups, &values);
        json_t *o = json_object(), *v = json_loads(buf_text(&values), 0, NULL), *results = json_object();
        json_object_set_new(o, "variants", v ? v : json_null());
        json_object_set_new(o, "point",
                            peak[i].point == SIZE_MAX ? json_null()
                                                      : json_integer((json_int_t)peak[i].point + 1));
        json_object_set_new(o, "delta", number(peak[i].delta));
        for (unsigned m = 0; m < s->metrics; m++)
            json_object_set_new(results, s->metric[m], number(peak[i].value[m]));
        json_object_set_new(o, "results", results);
        json_array_append_new(all, o);
        buf_free(&values);
    }
    free(peak);
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

static json_t *warnings_array(const struct sweep *s) {
    json_t *all = json_array();
    for (const char *p = buf_text(&s->warnings); *p;) {
        size_t len = strcspn(p, "\n");
        if (len > 0) json_array_append_new(all, json_stringn(p, len));
        p += len + (p[len] == '\n');
    }
    return all;
}

void sweep_json(const struct sweep *s, struct buf *out) {
    json_t *whole = json_object(), *points = json_array(), *curves = json_array();
    for (size_t i = 0; i < s->points; i++) json_array_append_new(points, point_object(s, i));
    for (size_t i = 0; i < s->curves.points; i++)
        json_array_append_new(curves, curve_object(&s->curves.point[i]));
    json_object_set_new(whole, "sweep", sweep_object(s));
    json_object_set_new(whole, "points", points);
    json_object_set_new(whole, "peaks", peaks_array(s));
    json_object_set_new(whole, "curves", curves);
    json_object_set_new(whole, "warnings", warnings_array(s));
    char *dump = json_dumps(whole, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    if (dump) buf_addf(out, "%s\n", dump);
    free(dump);
    json_decref(whole);
}
