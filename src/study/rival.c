#include "study/rival.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/incoming.h"
#include "record/snapshot.h"
#include "workload/format/json.h"

/* A report may hold every request and its text: only the figures are kept of what is read past. */
enum { CHUNK = 64 * 1024 };

/* Members of the outermost object, or of one of its parts. TensorRT-LLM and aiperf call the same figures by
 * names of their own. */
enum key {
    ELAPSED,
    TOTAL_TOKENS,
    REQUESTS,
    TOKENS_PER_S,
    REQUESTS_PER_S,
    DURATION,
    COMPLETED,
    INPUT_TOKENS,
    OUTPUT_TOKENS,
    TOTAL_THROUGHPUT,
    OUTPUT_THROUGHPUT,
    REQUEST_THROUGHPUT,
    TTFT,
    TPOT,
    RETOKENIZED, /* SGLang's alone */
    SGL_TOTAL,
    TRT_TOTAL,
    TRT_OUTPUT,
    TRT_REQUESTS,
    TRT_TTFT,
    TRT_TPOT,
    AI_OUTPUT,
    AI_INPUT_LENGTH,
    AI_OUTPUT_LENGTH,
    AI_TTFT,
    AI_TPOT,
    KEYS
};
static const char *const keys[KEYS] = {"elapsed_time",
                                       "total_num_tokens",
                                       "num_requests",
                                       "tokens_per_second",
                                       "requests_per_second",
                                       "duration",
                                       "completed",
                                       "total_input_tokens",
                                       "total_output_tokens",
                                       "total_token_throughput",
                                       "output_throughput",
                                       "request_throughput",
                                       "mean_ttft_ms",
                                       "mean_tpot_ms",
                                       "total_output_tokens_retokenized",
                                       "total_throughput",
                                       "system_total_throughput_tok_s",
                                       "system_output_throughput_tok_s",
                                       "request_throughput_req_s",
                                       "avg_ttft_ms",
                                       "avg_tpot_ms",
                                       "output_token_throughput",
                                       "input_sequence_length",
                                       "output_sequence_length",
                                       "time_to_first_token",
                                       "inter_token_latency"};
/* Parts whose members count as the outermost object's: of TensorRT-LLM, of aiperf's first versions. */
static const char *const parts[] = {"performance", "streaming_metrics", "records"};
enum { PARTS = sizeof parts / sizeof *parts };

/* The measures of a benchmark of GuideLLM, each with a mean for the requests of a status, or one in itself.
 */
enum figure { F_TOTAL, F_OUTPUT, F_REQUESTS, F_TTFT, F_TPOT, FIGURES };
static const char *const figures[FIGURES] = {"tokens_per_second", "output_tokens_per_second",
                                             "requests_per_second", "time_to_first_token_ms",
                                             "inter_token_latency_ms"};
enum { STATUSES = 3, BARE = STATUSES, MEANS };

struct benchmark {
    bool nested;                    /* the measures are those of its "metrics" */
    double mean[2][FIGURES][MEANS]; /* in itself, in its metrics */
};

struct report {
    double value[KEYS];
    bool there[KEYS];
    bool guide; /* it has benchmarks */
    uint64_t count, chosen;
    struct benchmark best; /* the one that was asked for, or the fastest so far */
};

static double first_of(double a, double b) {
    return isnan(a) ? b : a;
}

/* ---- reading ---- */

struct incoming {
    int fd;
    size_t before;
    long error; /* 0, or that of the last look */
};

static long take(void *ctx, char *buf, size_t len) {
    struct incoming *in = ctx;
    long n = incoming_read(in->fd, buf, len, in->before);
    if (n > 0) in->before += (size_t)n;
    if (n < 0) in->error = n;
    return n;
}

/* Which of the names the key at hand is; `count` when it is none. */
static size_t key_of(struct json *j, const char *const *names, size_t count) {
    size_t i = 0;
    while (i < count && !json_text_is(j, names[i])) i++;
    return i;
}

/* A number that says something; NaN for any other value, which is read past. */
static double number_take(struct json *j, enum json_token token) {
    if (token != JSON_NUMBER) {
        (void)json_skip(j, token);
        return KVF_MISSING;
    }
    const char *text = json_text(j, NULL);
    double x = text ? strtod(text, NULL) : KVF_MISSING;
    return isfinite(x) && x >= 0 ? x : KVF_MISSING;
}

/* {"mean": 5, ...}, or as aiperf has it {"avg": 5, ...}. */
static double mean_take(struct json *j, enum json_token token) {
    static const char *const mean[] = {"mean", "avg"};
    double x = KVF_MISSING;
    if (token != JSON_OBJECT) {
        (void)json_skip(j, token);
        return x;
    }
    while (json_next(j) == JSON_KEY) {
        bool wanted = key_of(j, mean, 2) < 2;
        token = json_next(j);
        if (wanted)
            x = number_take(j, token);
        else
            (void)json_skip(j, token);
    }
    return x;
}

/* {"successful": {"mean": 5}, ...} or {"mean": 5}. */
static void means_take(struct json *j, enum json_token token, double out[MEANS]) {
    static const char *const names[MEANS] = {"successful", "completed", "total", "mean"};
    if (token != JSON_OBJECT) {
        (void)json_skip(j, token);
        return;
    }
    while (json_next(j) == JSON_KEY) {
        size_t which = key_of(j, names, MEANS);
        token = json_next(j);
        if (which < STATUSES)
            out[which] = mean_take(j, token);
        else if (which == BARE)
            out[BARE] = number_take(j, token);
        else
            (void)json_skip(j, token);
    }
}

/* The members of a benchmark, or of its metrics. */
static void benchmark_take(struct json *j, struct benchmark *b, int inside) {
    static const char *const metrics[] = {"metrics"};
    while (json_next(j) == JSON_KEY) {
        bool nested = !inside && key_of(j, metrics, 1) == 0;
        size_t which = nested ? FIGURES : key_of(j, figures, FIGURES);
        enum json_token token = json_next(j);
        if (nested && token == JSON_OBJECT) {
            b->nested = true;
            benchmark_take(j, b, 1);
        } else if (which < FIGURES) {
            means_take(j, token, b->mean[inside][which]);
        } else {
            (void)json_skip(j, token);
        }
    }
}

static double figure_of(const struct benchmark *b, enum figure f) {
    for (int i = 0; i < MEANS; i++)
        if (!isnan(b->mean[b->nested][f][i])) return b->mean[b->nested][f][i];
    return KVF_MISSING;
}

static void benchmark_clear(struct benchmark *b) {
    b->nested = false;
    for (int inside = 0; inside < 2; inside++)
        for (int f = 0; f < FIGURES; f++)
            for (int i = 0; i < MEANS; i++) b->mean[inside][f][i] = KVF_MISSING;
}

/* Keeps the one with the number, or without one that with most tokens per second. */
static void benchmarks_take(struct json *j, struct report *r, uint64_t number) {
    enum json_token token;
    while ((token = json_next(j)) != JSON_ARRAY_END && token != JSON_ERROR && token != JSON_END) {
        struct benchmark one;
        benchmark_clear(&one);
        if (token == JSON_OBJECT)
            benchmark_take(j, &one, 0);
        else
            (void)json_skip(j, token);
        r->count++;
        double v = figure_of(&one, F_TOTAL);
        bool faster = !isnan(v) && (!r->chosen || v > figure_of(&r->best, F_TOTAL));
        if (number ? r->count != number : !faster) continue;
        r->chosen = r->count;
        r->best = one;
    }
}

static void report_take(struct json *j, struct report *r, uint64_t number, bool outermost) {
    static const char *const list[] = {"benchmarks"};
    while (json_next(j) == JSON_KEY) {
        bool guide = outermost && key_of(j, list, 1) == 0;
        bool part = outermost && key_of(j, parts, PARTS) < PARTS;
        size_t which = guide || part ? KEYS : key_of(j, keys, KEYS);
        enum json_token token = json_next(j);
        if (guide && token == JSON_ARRAY) {
            r->guide = true;
            benchmarks_take(j, r, number);
        } else if (part && token == JSON_OBJECT) {
            report_take(j, r, number, false);
        } else if (which < KEYS) {
            r->value[which] = token == JSON_OBJECT ? mean_take(j, token) : number_take(j, token);
            r->there[which] = true;
        } else {
            (void)json_skip(j, token);
        }
    }
}

static void report_begin(struct report *r) {
    *r = (struct report){.count = 0};
    for (int i = 0; i < KEYS; i++) r->value[i] = KVF_MISSING;
    benchmark_clear(&r->best);
}

static int report_read(struct report *r, const char *path, uint64_t number, struct err *e) {
    struct incoming in = {.fd = incoming_open(path)};
    struct json j;
    int rc = 0;
    if (in.fd < 0) return err_set(e, KVF_ERR_USAGE, "%s cannot be read: %s", path, incoming_error(in.fd));
    report_begin(r);
    json_open_stream(&j, take, &in, CHUNK);
    j.lenient = true; /* texts of requests are not ours to judge */
    j.lines = true;   /* SGLang appends a line for each run: the last one counts */
    enum json_token token = json_next(&j);
    if (token != JSON_OBJECT) {
        (void)json_skip(&j, token);
        token = json_next(&j);
    }
    for (; token == JSON_OBJECT; token = json_next(&j)) {
        report_begin(r);
        report_take(&j, r, number, true);
    }
    bool whole = token == JSON_END;
    if (in.error)
        rc = err_set(e, KVF_ERR_USAGE, "%s cannot be read: %s", path, incoming_error(in.error));
    else if (!whole)
        rc = err_set(e, KVF_ERR_USAGE, "%s is no JSON: %s", path, json_error(&j));
    json_close(&j);
    (void)close(in.fd);
    return rc;
}

/* ---- what was read ---- */

/* vllm bench throughput: {"elapsed_time", "num_requests", "total_num_tokens", "tokens_per_second", ...} */
static void throughput_tell(struct rival *out, const struct report *r) {
    double s = r->value[ELAPSED];
    snprintf(out->what, sizeof out->what, "vllm bench throughput");
    out->total_tok_s = first_of(r->value[TOKENS_PER_S], r->value[TOTAL_TOKENS] / s);
    out->requests_per_s = first_of(r->value[REQUESTS_PER_S], r->value[REQUESTS] / s);
}

/* vllm bench serve, benchmark_serving.py: {"duration", "completed", "total_input_tokens", ...}; its first
 * versions had no total_token_throughput. */
static void serve_tell(struct rival *out, const struct report *r) {
    double s = r->value[DURATION], sum = (r->value[INPUT_TOKENS] + r->value[OUTPUT_TOKENS]) / s;
    snprintf(out->what, sizeof out->what,
             r->there[RETOKENIZED] ? "SGLang bench_serving" : "vllm bench serve");
    out->total_tok_s = first_of(first_of(r->value[TOTAL_THROUGHPUT], r->value[SGL_TOTAL]), sum);
    out->output_tok_s = first_of(r->value[OUTPUT_THROUGHPUT], r->value[OUTPUT_TOKENS] / s);
    out->requests_per_s = first_of(r->value[REQUEST_THROUGHPUT], r->value[COMPLETED] / s);
    out->ttft_mean_ms = r->value[TTFT];
    out->tpot_mean_ms = r->value[TPOT];
}

/* trtllm-bench --report_json: {"performance": {"system_total_throughput_tok_s", ...}, "streaming_metrics":
 * {...}}. */
static void trtllm_tell(struct rival *out, const struct report *r) {
    snprintf(out->what, sizeof out->what, "TensorRT-LLM trtllm-bench");
    out->total_tok_s = r->value[TRT_TOTAL];
    out->output_tok_s = r->value[TRT_OUTPUT];
    out->requests_per_s = r->value[TRT_REQUESTS];
    out->ttft_mean_ms = r->value[TRT_TTFT];
    out->tpot_mean_ms = r->value[TRT_TPOT];
}

/* aiperf's profile_export_aiperf.json: {"request_throughput": {"unit", "avg"}, "output_token_throughput":
 * ...}; total tokens are not in every version, and follow from the mean lengths. */
static void aiperf_tell(struct rival *out, const struct report *r) {
    double lengths = r->value[AI_INPUT_LENGTH] + r->value[AI_OUTPUT_LENGTH];
    snprintf(out->what, sizeof out->what, "aiperf");
    out->total_tok_s = first_of(r->value[TOTAL_THROUGHPUT], r->value[REQUEST_THROUGHPUT] * lengths);
    out->output_tok_s = r->value[AI_OUTPUT];
    out->requests_per_s = r->value[REQUEST_THROUGHPUT];
    out->ttft_mean_ms = r->value[AI_TTFT];
    out->tpot_mean_ms = r->value[AI_TPOT];
}

/* GuideLLM: {"benchmarks": [{"metrics": {"tokens_per_second": {"successful": {"mean"}}}}]}; in the first
 * versions of this form the metrics stand in the benchmark itself, and what succeeded is "completed". */
static int guide_tell(struct rival *out, const struct report *r, const char *path, uint64_t number,
                      struct err *e) {
    if (number > r->count)
        return err_set(e, KVF_ERR_USAGE,
                       "%s has %" PRIu64 " benchmarks; --benchmark %" PRIu64 " is none of them", path,
                       r->count, number);
    out->benchmarks = true;
    if (r->count > 1)
        snprintf(out->what, sizeof out->what, "GuideLLM, benchmark %" PRIu64 " of %" PRIu64 "%s", r->chosen,
                 r->count, number ? "" : ", the fastest");
    else
        snprintf(out->what, sizeof out->what, "GuideLLM");
    out->total_tok_s = figure_of(&r->best, F_TOTAL);
    out->output_tok_s = figure_of(&r->best, F_OUTPUT);
    out->requests_per_s = figure_of(&r->best, F_REQUESTS);
    out->ttft_mean_ms = figure_of(&r->best, F_TTFT);
    out->tpot_mean_ms = figure_of(&r->best, F_TPOT);
    return 0;
}

int rival_read(struct rival *out, const char *path, uint64_t number, struct err *e) {
    struct report r = {.count = 0};
    *out = (struct rival){.total_tok_s = KVF_MISSING,
                          .output_tok_s = KVF_MISSING,
                          .requests_per_s = KVF_MISSING,
                          .ttft_mean_ms = KVF_MISSING,
                          .tpot_mean_ms = KVF_MISSING};
    int rc = report_read(&r, path, number, e);
    if (rc != 0) return rc;
    if (r.guide)
        rc = guide_tell(out, &r, path, number, e);
    else if (r.there[ELAPSED] && r.there[TOTAL_TOKENS])
        throughput_tell(out, &r);
    else if (r.there[TRT_TOTAL])
        trtllm_tell(out, &r);
    else if (r.there[AI_OUTPUT])
        aiperf_tell(out, &r);
    else if (r.there[TOTAL_THROUGHPUT] ||
             (r.there[DURATION] && r.there[INPUT_TOKENS] && r.there[OUTPUT_TOKENS]))
        serve_tell(out, &r);
    else
        return err_set(e, KVF_ERR_USAGE,
                       "%s is not a result of vllm bench throughput (--output-json), vllm bench serve "
                       "(--save-result), GuideLLM (benchmarks.json), SGLang bench_serving (--output-file), "
                       "trtllm-bench (--report_json) or aiperf (profile_export_aiperf.json)",
                       path);
    if (rc == 0 && !(isfinite(out->total_tok_s) && out->total_tok_s > 0))
        return err_set(e, KVF_ERR_USAGE, "%s looks like a result of %s, but has no total tokens per second",
                       path, out->what);
    return rc;
}
