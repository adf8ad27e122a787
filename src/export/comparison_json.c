#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "base/moment.h"
#include "compare/comparison_parts.h"
#include "export/json_part.h"

static json_t *number(double v) {
    return isfinite(v) ? json_real(v) : json_null();
}

static json_t *texts(char *const *list, size_t count) {
    json_t *a = json_array();
    for (size_t i = 0; i < count; i++) json_array_append_new(a, json_part_text(list[i]));
    return a;
}

/* Programs read UTC. */
static json_t *time_text(double epoch_s) {
    char out[MOMENT_TEXT];
    return moment_iso(epoch_s, 0, out) ? json_string(out) : json_null();
}

static json_t *side_object(const struct comparison_side *s) {
    json_t *o = json_object();
    json_object_set_new(o, "run_id", json_integer(s->run_id));
    json_object_set_new(o, "label", json_part_text(s->label));
    json_object_set_new(o, "name", json_part_text(s->name));
    json_object_set_new(o, "started_at", time_text(s->started_at));
    json_object_set_new(o, "status", json_part_text(run_status_name(s->status)));
    json_object_set_new(o, "trials", s->trials ? json_integer((json_int_t)s->trials) : json_null());
    json_object_set_new(o, "complete_trials",
                        s->trials ? json_integer((json_int_t)s->complete) : json_null());
    json_object_set_new(o, "undone", s->undone[0] ? json_part_text(s->undone) : json_null());
    return o;
}

static json_t *change_object(const struct comparison_change *c, bool baseline) {
    json_t *o = json_object(), *interval = json_array();
    json_object_set_new(o, "value", number(c->value));
    if (baseline) {
        json_decref(interval);
        return o;
    }
    const char *direction = comparison_direction_word(c->direction),
               *method = comparison_method_name(c->method);
    json_array_append_new(interval, number(c->low));
    json_array_append_new(interval, number(c->high));
    json_object_set_new(o, "change", number(c->absolute));
    json_object_set_new(o, "relative", number(c->relative));
    json_object_set_new(o, "relative_interval95", interval);
    json_object_set_new(o, "p", number(c->p));
    json_object_set_new(o, "direction", c->direction ? json_part_text(direction) : json_null());
    json_object_set_new(o, "noise", c->noise ? json_part_text(comparison_noise_word(c->noise)) : json_null());
    json_object_set_new(o, "untold",
                        c->reason ? json_part_text(comparison_reason_name(c->reason)) : json_null());
    json_object_set_new(o, "method", c->method ? json_part_text(method) : json_null());
    return o;
}

static json_t *metric_object(const struct comparison_metric *m, size_t sides) {
    json_t *o = json_object(), *values = json_array();
    json_object_set_new(o, "metric", json_part_text(m->metric));
    json_object_set_new(o, "unit", json_part_text(m->unit));
    json_object_set_new(o, "better", m->better ? json_part_text(metric_better_word(m->better)) : json_null());
    for (size_t s = 0; s < sides; s++) json_array_append_new(values, change_object(&m->change[s], s == 0));
    json_object_set_new(o, "values", values);
    return o;
}

static json_t *check_object(const struct comparison *c) {
    json_t *o = json_object(), *limits = json_object();
    if (!c->checked) {
        json_decref(o);
        json_decref(limits);
        return json_null();
    }
    for (size_t i = 0; i < c->limits; i++)
        json_object_set_new(limits, c->limit[i].metric, number(c->limit[i].most));
    json_object_set_new(o, "passed", json_boolean(c->failures == 0));
    json_object_set_new(o, "limits", limits);
    json_object_set_new(o, "failures", texts(c->failure, c->failures));
    return o;
}

void comparison_json(const struct comparison *c, struct buf *out) {
    json_t *o = json_object(), *sides = json_array(), *differences = json_array(), *metrics = json_array();
    for (size_t s = 0; s < c->sides; s++) json_array_append_new(sides, side_object(&c->side[s]));
    for (size_t i = 0; i < c->differences; i++) {
        json_t *d = json_object();
        json_object_set_new(d, "key", json_part_text(c->difference[i].key));
        json_object_set_new(d, "values", texts(c->difference[i].value, c->sides));
        json_array_append_new(differences, d);
    }
    for (size_t i = 0; i < c->metrics; i++)
        json_array_append_new(metrics, metric_object(&c->metric[i], c->sides));
    json_part_head(o, COMPARISON_JSON_SCHEMA, COMPARISON_JSON_VERSION);
    json_object_set_new(o, "verdicts", texts(c->verdict + 1, c->sides - 1));
    json_object_set_new(o, "sides", sides);
    json_object_set_new(o, "warnings", texts(c->warning, c->warnings));
    json_object_set_new(o, "differences", differences);
    json_object_set_new(o, "metrics", metrics);
    json_object_set_new(o, "notes", texts(c->note, c->notes));
    json_object_set_new(o, "check", check_object(c));
    json_part_print(o, out);
}
