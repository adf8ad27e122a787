#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "cli/commands.h"
#include "cli/stored.h"
#include "record/run.h"
#include "study/options.h"
#include "study/output.h"
#include "study/rival.h"

#define WITHIN_DEFAULT 0.05
enum { OUTSIDE_STATUS = 3, BENCHMARKS_MAX = 100000 };

/* "5%", "2.5 %": 0.05, 0.025. */
static int within_parse(const char *text, double *within, struct err *e) {
    char *end;
    if (!text) return 0;
    double v = strtod(text, &end);
    while (*end == ' ') end++;
    if (end == text || strcmp(end, "%") != 0 || !(v >= 0) || !isfinite(v))
        return err_set(e, KVF_ERR_USAGE, "--within is a percentage such as 5%%, not \"%s\"", text);
    *within = v / 100;
    return 0;
}

static int run_load(const struct options *o, struct run_record *run, struct err *e) {
    struct store *store = NULL;
    int64_t id;

    int rc = stored_open(o, STORE_READ, &store, e);
    if (!rc) rc = store_resolve(store, o->operands ? o->operand[0] : "latest", &id, e);
    if (!rc) rc = store_load_run(store, id, run, e);
    store_close(store);
    return rc;
}

/* Runs of older versions have its parts. */
static double total_of(const struct run_record *run) {
    double total = result_value(&run->results, "total_tok_s");
    if (!isnan(total)) return total;
    double context = result_value(&run->results, "context_tokens_mean");
    return context * result_value(&run->results, "requests_per_s") +
           result_value(&run->results, "throughput_tok_s");
}

static void cell(struct buf *out, double v, int width) {
    char text[32] = "--";
    if (isfinite(v)) snprintf(text, sizeof text, fabs(v) < 100 ? "%.3f" : "%.1f", v);
    buf_addf(out, "%*s", width, text);
}

static void row(struct buf *out, const char *name, double ours, double theirs) {
    char difference[32] = "--";
    if (isfinite(ours) && theirs > 0)
        snprintf(difference, sizeof difference, "%+.1f %%", 100 * (ours / theirs - 1));
    buf_addf(out, "%-18s", name);
    cell(out, ours, 14);
    cell(out, theirs, 14);
    buf_addf(out, "%14s\n", difference);
}

static void table(const struct run_record *run, const struct rival *r, struct buf *out) {
    const struct result_list *l = &run->results;
    buf_addf(out, "run %lld, %s, against %s\n\n", (long long)run->run_id, run->name, r->what);
    buf_addf(out, "%-18s%14s%14s%14s\n", "", "run", "engine", "difference");
    row(out, "total tokens/s", total_of(run), r->total_tok_s);
    row(out, "output tokens/s", result_value(l, "throughput_tok_s"), r->output_tok_s);
    row(out, "requests/s", result_value(l, "requests_per_s"), r->requests_per_s);
    row(out, "TTFT mean ms", result_value(l, "ttft_mean_ms"), r->ttft_mean_ms);
    row(out, "TPOT mean ms", result_value(l, "tpot_mean_ms"), r->tpot_mean_ms);
}

int cmd_validate(const struct options *o, struct command_reply *r, struct err *e) {
    struct run_record run;
    struct rival rival;
    double within = WITHIN_DEFAULT;
    uint64_t number = 0;
    const char *against = options_value(o, "against");

    if (!against)
        return err_set(e, KVF_ERR_USAGE,
                       "validate needs a file to compare with: --against FILE, the JSON of vllm bench "
                       "or GuideLLM");
    run_record_init(&run);
    int rc = within_parse(options_value(o, "within"), &within, e);
    if (!rc) rc = options_number(o, "benchmark", 1, BENCHMARKS_MAX, &number, e);
    if (!rc) rc = rival_read(&rival, against, number, e);
    if (!rc) rc = run_load(o, &run, e);
    double ours = rc ? (double)NAN : total_of(&run);
    if (!rc && !(ours > 0))
        rc = err_set(
            e, KVF_ERR_USAGE,
            "run %lld has no tokens per second: it is still going on, or none of its requests was done",
            (long long)run.run_id);
    if (!rc) {
        bool inside = fabs(ours / rival.total_tok_s - 1) <= within;
        table(&run, &rival, &r->text);
        buf_addf(&r->text, "\ntotal tokens/s %s %g %% of the engine's\n",
                 inside ? "is within" : "is not within", 100 * within);
        rc = inside ? 0 : OUTSIDE_STATUS;
    }
    run_record_free(&run);
    return rc;
}
