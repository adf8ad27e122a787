#include <math.h>

#include "base/clock.h"
#include "export/json_part.h"
#include "study/trace/trace_doc.h"

static json_t *numbers(const double *v, size_t count, double scale) {
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) json_array_append_new(list, json_part_number(v[i] * scale));
    return list;
}

static json_t *lengths(const struct histogram *h, double scale) {
    return JSON_OBJECT({"count", json_part_count(histogram_count(h))},
                       {"mean", json_part_number(histogram_mean(h) * scale)},
                       {"p50", json_part_number(histogram_quantile(h, 0.5) * scale)},
                       {"p90", json_part_number(histogram_quantile(h, 0.9) * scale)},
                       {"p99", json_part_number(histogram_quantile(h, 0.99) * scale)},
                       {"max", json_part_number(histogram_max(h) * scale)});
}

static json_t *names(const struct trace_name *of) {
    json_t *list = json_object();
    for (size_t i = 0; i < TRACE_NAMES && of[i].text[0]; i++)
        json_object_set_new(list, of[i].text, json_part_count(of[i].requests));
    return list;
}

static json_t *arrivals(const struct trace_stats *t) {
    const struct trace_series *s = &t->series;
    double width = (double)s->width_ns / (double)KVF_NS_PER_S;
    json_t *scales = json_array();
    if (!t->in->timed) return json_null();
    for (int i = 0; i < TRACE_SCALES; i++)
        json_array_append_new(
            scales,
            JSON_OBJECT({"window_s", json_part_number((double)t->scale[i].width_ns / (double)KVF_NS_PER_S)},
                        {"dispersion", json_part_number(trace_dispersion(&t->scale[i]))},
                        {"busiest", json_part_count(t->scale[i].peak)}));
    return JSON_OBJECT(
        {"requests_per_s", json_part_number((double)t->requests * (double)KVF_NS_PER_S / (double)t->span_ns)},
        {"scales", scales}, {"bin_s", json_part_number(width)},
        {"requests", numbers(s->requests, s->bins, 1)}, {"input_tokens", numbers(s->input, s->bins, 1)},
        {"output_tokens", numbers(s->output, s->bins, 1)});
}

static json_t *sharing(const struct trace_stats *t) {
    if (!t->in->blocks) return json_null();
    return JSON_OBJECT(
        {"block_tokens", json_part_count(t->in->s.cache.block_tokens)},
        {"seen_ratio", json_part_number(t->seen_tokens / t->input_tokens)},
        {"bounded", json_boolean(t->forgot)}, {"blocks", json_part_number(t->nodes)},
        {"branch_ratio", json_part_number(t->inner > 0 ? t->branches / t->inner : (double)NAN)},
        {"most_children", json_part_number(t->most_children)}, {"depth", lengths(t->depth, 1)},
        {"seen_blocks", lengths(t->shared, 1)});
}

static json_t *reuse(const struct trace_stats *t) {
    json_t *curves = json_object();
    double first, all;
    if (t->points == 0) return json_null();
    sample_firsts(t->sample, &first, &all);
    for (unsigned c = 0; c < t->curves; c++)
        json_object_set_new(curves, t->curve[c].policy, numbers(t->curve[c].miss_ratio, t->points, 1));
    return JSON_OBJECT({"reused_ratio", json_part_number(1 - first / all)},
                       {"distance_part", numbers(trace_distance_part, TRACE_DISTANCES, 1)},
                       {"distance_bytes", numbers(t->distance_bytes, TRACE_DISTANCES, 1)},
                       {"sample", json_part_number(sample_part(t->sample))},
                       {"capacity_bytes", numbers(t->capacity, t->points, 1)},
                       {"error", numbers(t->error, t->points, 1)}, {"miss_ratio", curves},
                       {"part_end_s", numbers(t->part_s, t->parts, 1)},
                       {"active_bytes", numbers(t->active_bytes, t->parts, 1)},
                       {"working_set_bytes", numbers(t->so_far_bytes, t->parts, 1)});
}

void trace_json(const struct trace_stats *t, const char *name, struct buf *out) {
    json_part_print(
        JSON_OBJECT(JSON_HEAD(TRACE_JSON), {"trace", json_part_text(name)},
                    {"source", json_string(t->in->source->word)},
                    {"model", json_part_text(t->in->s.model.preset)},
                    {"requests", json_part_count(t->requests)}, {"rejected", json_part_count(t->rejected)},
                    {"lost", json_part_count(t->lost)},
                    {"span_s", json_part_number(t->in->timed ? (double)t->span_ns / (double)KVF_NS_PER_S
                                                             : (double)NAN)},
                    {"input_tokens", json_part_number(t->input_tokens)},
                    {"output_tokens", json_part_number(t->output_tokens)}, {"input", lengths(t->input, 1)},
                    {"output", lengths(t->output, 1)},
                    {"sessions", json_part_number(t->session_count ? trace_sessions(t) : (double)NAN)},
                    {"turns", lengths(t->turns, 1)}, {"between_turns_s", lengths(t->between, 1e-9)},
                    {"models", names(t->model)}, {"classes", names(t->klass)}, {"arrivals", arrivals(t)},
                    {"sharing", sharing(t)}, {"reuse", reuse(t)}),
        2, out);
}
