#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "compare/comparison_parts.h"
#include "export/json_part.h"

static json_t *texts(char *const *list, size_t count) {
    json_t *a = json_array();
    for (size_t i = 0; i < count; i++) json_array_append_new(a, json_part_text(list[i]));
    return a;
}

static json_t *neighbour_objects(const struct comparison_side *s) {
    json_t *a = json_array();
    for (size_t n = 0; n < s->neighbours; n++) {
        const struct snapshot_neighbour *one = &s->neighbour[n];
        json_array_append_new(a, JSON_OBJECT({"process", json_part_text(one->process)},
                                             {"cgroup", json_part_text(one->cgroup)},
                                             {"read_bytes", json_integer((json_int_t)one->read_bytes)},
                                             {"write_bytes", json_integer((json_int_t)one->write_bytes)},
                                             {"requests", json_integer((json_int_t)one->requests)}));
    }
    return a;
}

static json_t *store_object(const struct comparison_store *s) {
    if (!s->name[0]) return json_null();
    json_t *load = json_object(), *again = json_object();
    for (int i = 0; i < METRIC_SIZES; i++) {
        json_object_set_new(load, metric_sizes[i], json_part_number(s->load_ms[i]));
        json_object_set_new(again, metric_sizes[i], json_part_number(s->again_ms[i]));
    }
    return JSON_OBJECT(
        {"tier", json_part_text(s->name)}, {"description", json_part_text(s->about)},
        {"read_gib_s", json_part_number(s->read_gib_s)}, {"write_gib_s", json_part_number(s->write_gib_s)},
        {"read_p95_ms", json_part_number(s->read_p95_ms)}, {"cpu_s_gib", json_part_number(s->cpu_s_gib)},
        {"break_even_tokens", json_part_number(s->break_even.tokens)},
        {"loads_from_tokens", json_part_number(s->break_even.from_tokens)},
        {"loads_to_tokens", json_part_number(s->break_even.to_tokens)}, {"load_ms", load},
        {"recompute_ms", again});
}

static json_t *side_object(const struct comparison_side *s) {
    return JSON_OBJECT({"run_id", json_integer(s->run_id)}, {"label", json_part_text(s->label)},
                       {"name", json_part_text(s->name)}, {"started_at", json_part_moment(s->started_at, 0)},
                       {"status", json_part_text(run_status_name(s->status))},
                       {"trials", s->trials ? json_integer((json_int_t)s->trials) : json_null()},
                       {"complete_trials", s->trials ? json_integer((json_int_t)s->complete) : json_null()},
                       {"undone", json_part_some(s->undone)}, {"neighbours", neighbour_objects(s)},
                       {"store", store_object(&s->store)});
}

static json_t *change_object(const struct comparison_change *c, bool baseline) {
    if (baseline) return JSON_OBJECT({"value", json_part_number(c->value)});
    json_t *interval = json_array();
    json_array_append_new(interval, json_part_number(c->low));
    json_array_append_new(interval, json_part_number(c->high));
    return JSON_OBJECT({"value", json_part_number(c->value)}, {"change", json_part_number(c->absolute)},
                       {"relative", json_part_number(c->relative)}, {"relative_interval95", interval},
                       {"p", json_part_number(c->p)},
                       {"direction", json_part_text(c->direction ? comparison_direction_word(c) : NULL)},
                       {"noise", json_part_text(c->noise ? comparison_noise_word(c->noise) : NULL)},
                       {"untold", json_part_text(c->reason ? comparison_reason_name(c->reason) : NULL)},
                       {"method", json_part_text(c->method ? comparison_method_name(c->method) : NULL)});
}

static json_t *metric_object(const struct comparison_metric *m, size_t sides) {
    json_t *values = json_array();
    for (size_t s = 0; s < sides; s++) json_array_append_new(values, change_object(&m->change[s], s == 0));
    return JSON_OBJECT({"metric", json_part_text(m->metric)}, {"unit", json_part_text(m->unit)},
                       {"better", json_part_some(metric_better_word(m->better))}, {"values", values});
}

static json_t *check_object(const struct comparison *c) {
    if (!c->checked) return json_null();
    json_t *limits = json_object();
    for (size_t i = 0; i < c->limits; i++)
        json_object_set_new(limits, c->limit[i].metric, json_part_number(c->limit[i].most));
    return JSON_OBJECT({"passed", json_boolean(c->failures == 0)}, {"limits", limits},
                       {"failures", texts(c->failure, c->failures)});
}

void comparison_json(const struct comparison *c, struct buf *out) {
    json_t *sides = json_array(), *differences = json_array(), *metrics = json_array();
    for (size_t s = 0; s < c->sides; s++) json_array_append_new(sides, side_object(&c->side[s]));
    for (size_t i = 0; i < c->differences; i++) {
        json_array_append_new(differences, JSON_OBJECT({"key", json_part_text(c->difference[i].key)},
                                                       {"values", texts(c->difference[i].value, c->sides)}));
    }
    for (size_t i = 0; i < c->metrics; i++)
        json_array_append_new(metrics, metric_object(&c->metric[i], c->sides));
    json_part_print(JSON_OBJECT(JSON_HEAD(COMPARISON_JSON), {"verdicts", texts(c->verdict + 1, c->sides - 1)},
                                {"sides", sides}, {"warnings", texts(c->warning, c->warnings)},
                                {"differences", differences}, {"metrics", metrics},
                                {"notes", texts(c->note, c->notes)}, {"check", check_object(c)}),
                    2, out);
}
