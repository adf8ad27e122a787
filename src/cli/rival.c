#include "cli/rival.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "record/snapshot.h"

/* A number that says something; NaN where there is none. */
static double number_of(const json_t *object, const char *key) {
    const json_t *v = json_object_get(object, key);
    double x = json_is_number(v) ? json_number_value(v) : KVF_MISSING;
    return isfinite(x) && x >= 0 ? x : KVF_MISSING;
}

static double first_of(double a, double b) {
    return isnan(a) ? b : a;
}

/* ---- vllm bench throughput: {"elapsed_time", "num_requests", "total_num_tokens", "tokens_per_second", ...}
 */

static bool is_throughput(const json_t *root) {
    return json_object_get(root, "elapsed_time") && json_object_get(root, "total_num_tokens");
}

static void throughput_read(struct rival *r, const json_t *root) {
    double s = number_of(root, "elapsed_time");
    snprintf(r->what, sizeof r->what, "vllm bench throughput");
    r->total_tok_s = first_of(number_of(root, "tokens_per_second"), number_of(root, "total_num_tokens") / s);
    r->requests_per_s = first_of(number_of(root, "requests_per_second"), number_of(root, "num_requests") / s);
}

/* ---- vllm bench serve, benchmark_serving.py: {"duration", "completed", "total_input_tokens", ...}; its
 * first versions had no total_token_throughput */

static bool is_serve(const json_t *root) {
    return json_object_get(root, "total_token_throughput") ||
           (json_object_get(root, "duration") && json_object_get(root, "total_input_tokens") &&
            json_object_get(root, "total_output_tokens"));
}

static void serve_read(struct rival *r, const json_t *root) {
    double s = number_of(root, "duration"), out = number_of(root, "total_output_tokens");
    double sum = (number_of(root, "total_input_tokens") + out) / s;
    snprintf(r->what, sizeof r->what, "vllm bench serve");
    r->total_tok_s = first_of(number_of(root, "total_token_throughput"), sum);
    r->output_tok_s = first_of(number_of(root, "output_throughput"), out / s);
    r->requests_per_s = first_of(number_of(root, "request_throughput"), number_of(root, "completed") / s);
    r->ttft_mean_ms = number_of(root, "mean_ttft_ms");
    r->tpot_mean_ms = number_of(root, "mean_tpot_ms");
}

/* ---- GuideLLM: {"benchmarks": [{"metrics": {"tokens_per_second": {"successful": {"mean"}}}}]}; in the first
 * versions of this form the metrics stand in the benchmark itself, and what succeeded is "completed" */

static double mean_of(const json_t *metrics, const char *name) {
    const json_t *all = json_object_get(metrics, name);
    static const char *const status[] = {"successful", "completed", "total"};
    for (size_t i = 0; i < sizeof status / sizeof *status; i++) {
        double v = number_of(json_object_get(all, status[i]), "mean");
        if (!isnan(v)) return v;
    }
    return number_of(all, "mean");
}

static const json_t *metrics_of(const json_t *benchmark) {
    const json_t *metrics = json_object_get(benchmark, "metrics");
    return json_is_object(metrics) ? metrics : benchmark;
}

static double guide_total(const json_t *benchmark) {
    return mean_of(metrics_of(benchmark), "tokens_per_second");
}

/* The one with most tokens per second; the number of benchmarks when none has any. */
static size_t guide_fastest(const json_t *list) {
    size_t best = json_array_size(list);
    for (size_t i = 0; i < json_array_size(list); i++) {
        double v = guide_total(json_array_get(list, i));
        if (isnan(v) || (best < json_array_size(list) && v <= guide_total(json_array_get(list, best))))
            continue;
        best = i;
    }
    return best;
}

static int guide_read(struct rival *r, const json_t *list, const char *path, uint64_t number, struct err *e) {
    size_t count = json_array_size(list);
    if (number > count)
        return err_set(e, KVF_ERR_USAGE, "%s has %zu benchmarks; --benchmark %" PRIu64 " is none of them",
                       path, count, number);
    size_t index = number ? (size_t)number - 1 : guide_fastest(list);
    const json_t *metrics = index < count ? metrics_of(json_array_get(list, index)) : NULL;
    if (count > 1)
        snprintf(r->what, sizeof r->what, "GuideLLM, benchmark %zu of %zu%s", index + 1, count,
                 number ? "" : ", the fastest");
    else
        snprintf(r->what, sizeof r->what, "GuideLLM");
    r->total_tok_s = mean_of(metrics, "tokens_per_second");
    r->output_tok_s = mean_of(metrics, "output_tokens_per_second");
    r->requests_per_s = mean_of(metrics, "requests_per_second");
    r->ttft_mean_ms = mean_of(metrics, "time_to_first_token_ms");
    r->tpot_mean_ms = mean_of(metrics, "inter_token_latency_ms");
    return 0;
}

static int root_read(struct rival *r, const json_t *root, const char *path, uint64_t number, struct err *e) {
    const json_t *list = json_object_get(root, "benchmarks");
    int rc = 0;
    if (json_is_array(list))
        rc = guide_read(r, list, path, number, e);
    else if (is_throughput(root))
        throughput_read(r, root);
    else if (is_serve(root))
        serve_read(r, root);
    else
        return err_set(e, KVF_ERR_USAGE,
                       "%s is no result of vllm bench throughput (--output-json), vllm bench serve "
                       "(--save-result) or GuideLLM (benchmarks.json)",
                       path);
    if (rc) return rc;
    if (!(isfinite(r->total_tok_s) && r->total_tok_s > 0))
        return err_set(e, KVF_ERR_USAGE, "%s looks like a result of %s, but has no total tokens per second",
                       path, r->what);
    return 0;
}

int rival_read(struct rival *r, const char *path, uint64_t number, struct err *e) {
    json_error_t why;
    *r = (struct rival){.total_tok_s = KVF_MISSING,
                        .output_tok_s = KVF_MISSING,
                        .requests_per_s = KVF_MISSING,
                        .ttft_mean_ms = KVF_MISSING,
                        .tpot_mean_ms = KVF_MISSING};
    json_t *root = json_load_file(path, 0, &why);
    if (!root && why.line < 1) return err_set(e, KVF_ERR_USAGE, "%s cannot be read: %s", path, why.text);
    if (!root) return err_set(e, KVF_ERR_USAGE, "%s is no JSON: line %d: %s", path, why.line, why.text);
    int rc = root_read(r, root, path, number, e);
    json_decref(root);
    return rc;
}
