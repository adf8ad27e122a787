#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "cli/commands.h"
#include "cli/stored.h"
#include "record/run.h"
#include "record/standing.h"
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

/* The run at that place of the command line, of a single or no run that one. */
static int run_load(const struct options *o, struct store *store, size_t at, struct run_record *run,
                    struct err *e) {
    const char *name = o->operands == 0 ? "latest" : o->operand[o->operands == 1 ? 0 : at];
    int64_t id;

    int rc = store_resolve(store, name, &id, e);
    return rc ? rc : store_load_run(store, id, run, e);
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

static void row(struct buf *out, const char *name, double ours, double theirs, double within) {
    char difference[32] = "--";
    bool known = isfinite(ours) && theirs > 0;
    if (known) snprintf(difference, sizeof difference, "%+.1f %%", 100 * (ours / theirs - 1));
    buf_addf(out, "%-18s", name);
    cell(out, ours, 14);
    cell(out, theirs, 14);
    buf_addf(out, "%14s", difference);
    buf_addf(out, "%10s\n", !known ? "--" : fabs(ours / theirs - 1) <= within ? "within" : "outside");
}

static void table(const struct run_record *run, const struct rival *r, double within, struct buf *out) {
    const struct result_list *l = &run->results;
    buf_addf(out, "run %" PRId64 ", %s, against %s\n\n", run->run_id, run->name, r->what);
    buf_addf(out, "%-18s%14s%14s%14s%10s\n", "", "run", "engine", "difference", "verdict");
    row(out, "total tokens/s", total_of(run), r->total_tok_s, within);
    row(out, "output tokens/s", result_value(l, "throughput_tok_s"), r->output_tok_s, within);
    row(out, "requests/s", result_value(l, "requests_per_s"), r->requests_per_s, within);
    row(out, "TTFT mean ms", result_value(l, "ttft_mean_ms"), r->ttft_mean_ms, within);
    row(out, "TPOT mean ms", result_value(l, "tpot_mean_ms"), r->tpot_mean_ms, within);
}

/* Files in the order of the command line; how many there are. */
static size_t files_find(const struct options *o, const char *files[OPTIONS_GIVEN_MAX]) {
    size_t n = 0;
    for (size_t i = 0; i < o->given_count; i++)
        if (strcmp(o->given[i].spec->name, "against") == 0) files[n++] = o->given[i].value;
    return n;
}

/* One run beside one file, `apart` from what stands above it; *inside: total tokens a second are. */
static int validate_one(const struct options *o, struct store *store, size_t at, const struct rival *rival,
                        double within, bool apart, bool *inside, struct buf *out, struct err *e) {
    struct run_record run;

    run_record_init(&run);
    int rc = run_load(o, store, at, &run, e);
    double ours = rc ? (double)NAN : total_of(&run);
    if (!rc && !(ours > 0))
        rc = err_set(e, KVF_ERR_USAGE,
                     "run %" PRId64
                     " has no tokens per second: it is still going on, or none of its requests was done",
                     run.run_id);
    if (!rc) {
        char why[STANDING_TEXT];
        bool near = fabs(ours / rival->total_tok_s - 1) <= within;
        standing_run_why(&run.results, why);
        *inside = near && !why[0];
        if (apart) buf_add(out, "\n");
        table(&run, rival, within, out);
        buf_addf(out, "\ntotal tokens/s %s %g %% of the engine's", near ? "is within" : "is not within",
                 100 * within);
        buf_addf(out, why[0] ? "; the run is not comparable: %s\n" : "%s\n", why);
    }
    run_record_free(&run);
    return rc;
}

/* All files, before anything is said of one. */
static int rivals_read(const struct options *o, const char *const *files, size_t count, struct rival *rivals,
                       struct err *e) {
    uint64_t number = 0;
    bool chosen = false;

    int rc = options_number(o, "benchmark", 1, BENCHMARKS_MAX, &number, e);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        rc = rival_read(&rivals[i], files[i], number, e);
        chosen = chosen || rivals[i].benchmarks;
    }
    if (rc == 0 && number > 0 && !chosen)
        rc = err_set(e, KVF_ERR_USAGE,
                     "--benchmark applies to GuideLLM reports, and no file here is one; leave it out");
    return rc;
}

int cmd_validate(const struct options *o, struct command_reply *r, struct err *e) {
    const char *files[OPTIONS_GIVEN_MAX];
    struct rival rivals[OPTIONS_GIVEN_MAX];
    double within = WITHIN_DEFAULT;
    struct store *store = NULL;
    size_t count = files_find(o, files), told = 0, met = 0;
    int status = 0;

    if (count == 0)
        return err_set(e, KVF_ERR_USAGE,
                       "validate needs a file to compare with: --against FILE, the JSON of vllm bench, "
                       "GuideLLM, SGLang, TensorRT-LLM or aiperf");
    if (o->operands > 1 && o->operands != count)
        return err_set(
            e, KVF_ERR_USAGE,
            "%zu runs and %zu files do not pair; give one run for all files, or a run for each in the "
            "same order",
            o->operands, count);
    int rc = within_parse(options_value(o, "within"), &within, e);
    if (rc == 0) rc = rivals_read(o, files, count, rivals, e);
    if (rc == 0) rc = stored_open(o, STORE_READ, &store, e);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        bool inside = false;
        rc = validate_one(o, store, i, &rivals[i], within, told > 0, &inside, &r->text, e);
        if (rc && o->operands > 1) { /* the other runs are still worth telling */
            rc = 0;
            status = output_fail(e);
            err_clear(e);
            continue;
        }
        told += rc == 0;
        met += inside;
    }
    store_close(store);
    if (rc) return rc;
    if (told > 1)
        buf_addf(&r->text, "\n%zu of %zu are within %g %% by total tokens/s\n", met, told, 100 * within);
    return status == 0 && met < told ? OUTSIDE_STATUS : status;
}
