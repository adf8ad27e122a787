#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/output_file.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/stored.h"
#include "study/output.h"
#include "study/trace/trace_doc.h"
#include "study/trace/trace_fit.h"
#include "study/trace/trace_write.h"

/* The part of the requests that is wanted, and what becomes of them. */
struct wish {
    uint64_t from_ns, to_ns;
    double sample; /* of the sessions, of rows where there are none */
    uint64_t seed;
    uint64_t policies; /* a bit for each */
    const char *report, *json;
    const struct doc_form *form;
    struct trace_write *write; /* NULL: described */
    struct trace_fit *fit;     /* NULL: no scenario is made of them */
    bool learning;             /* for the fit, which reads them twice */
};

/* ---- the command line ---- */

/* H:MM, H:MM:SS or a duration, from the first request on. */
static int moment_parse(const char *text, uint64_t *ns) {
    unsigned h, m, s = 0;
    char end;
    if (sscanf(text, "%u:%2u:%2u%c", &h, &m, &s, &end) == 3 || sscanf(text, "%u:%2u%c", &h, &m, &end) == 2) {
        *ns = ((uint64_t)h * 3600 + m * 60 + s) * KVF_NS_PER_S;
        return m < 60 && s < 60 && h < 1000000 ? 0 : -1;
    }
    return units_parse_duration(text, ns);
}

static int cut_parse(const char *text, struct wish *w, struct err *e) {
    const char *dots = text ? strstr(text, "..") : NULL;
    char from[32];
    w->to_ns = UINT64_MAX;
    if (!text) return 0;
    if (dots && dots - text < (long)sizeof from) {
        snprintf(from, sizeof from, "%.*s", (int)(dots - text), text);
        if ((!from[0] || moment_parse(from, &w->from_ns) == 0) &&
            (!dots[2] || moment_parse(dots + 2, &w->to_ns) == 0) && w->from_ns < w->to_ns)
            return 0;
    }
    return err_set(
        e, KVF_ERR_USAGE,
        "--cut is FROM..TO, from the first request on, such as 10:00..11:30 or 90s..5m, not \"%s\"", text);
}

static int sample_parse(const char *text, struct wish *w, struct err *e) {
    char *end;
    w->sample = text ? strtod(text, &end) : 1;
    if (!text || (*end == '\0' && w->sample > 0 && w->sample <= 1)) return 0;
    return err_set(e, KVF_ERR_USAGE, "--sample is a part of the sessions above 0 and up to 1, not \"%s\"",
                   text);
}

static int policies_parse(const char *text, uint64_t *out, struct err *e) {
    char *list = mem_strdup(text ? text : "2q,arc,s3fifo"), *at = list, *word;
    int rc = 0;
    *out = 0;
    while (!rc && (word = strsep(&at, ","))) {
        unsigned i = 0;
        while (traits_policy(i) && strcmp(traits_policy(i)->word, word) != 0) i++;
        if (!traits_policy(i) || traits_policy(i)->caps & POLICY_BY_RULES)
            rc = err_set(
                e, KVF_ERR_USAGE,
                "--policies: there is no policy \"%s\" to try; kvfall check --keys and kvfall-scenario(5) list them",
                word);
        else
            *out |= UINT64_C(1) << i;
    }
    free(list);
    return rc;
}

static int wish_parse(const struct options *o, struct wish *w, struct err *e) {
    const char *report = options_value(o, "report");
    w->seed = 42;
    int rc = cut_parse(options_value(o, "cut"), w, e);
    if (!rc) rc = sample_parse(options_value(o, "sample"), w, e);
    if (!rc) rc = policies_parse(options_value(o, "policies"), &w->policies, e);
    if (!rc) rc = options_number(o, "seed", 0, UINT64_MAX, &w->seed, e);
    w->report = report;
    w->json = options_value(o, "json");
    w->form = report ? doc_form_of(report) : NULL;
    if (!rc && report && !w->form)
        rc = err_set(e, KVF_ERR_USAGE, "the ending of %s is of no report; end with .html, .md or .txt",
                     report);
    bool overwrite = options_has(o, "overwrite");
    if (!rc) rc = stored_apart(o, (const char *[]){stored_output(o), report, w->json}, 3, e);
    if (!rc && report) rc = output_file_check(report, overwrite, e);
    if (!rc && w->json && strcmp(w->json, "-") != 0) rc = output_file_check(w->json, overwrite, e);
    if (!rc && o->operands == 0) rc = err_set(e, KVF_ERR_USAGE, "trace needs a file: kvfall trace FILE");
    return rc;
}

/* ---- requests ---- */

static bool wanted(const struct wish *w, const struct trace_item *item, uint64_t number) {
    uint64_t who = item->session ? item->session : item->q->id ^ number << 56;
    if (item->at_ns < w->from_ns || item->at_ns >= w->to_ns) return false;
    return w->sample >= 1 || (double)(hash_mix64(hash_mix64(who) ^ w->seed) >> 11) < w->sample * 0x1p53;
}

/* The part of a recording with gaps says so, too, in its first row. Of joined recordings a later one may have
 * gaps. */
static void write_item(struct trace_write *to, uint64_t lost, bool joined, const struct trace_item *item) {
    struct trace_line_out line = {.at_ns = item->at_ns,
                                  .input_tokens = item->q->sequence_tokens,
                                  .output_tokens = item->q->generate_tokens,
                                  .ids = item->q->ids,
                                  .count = item->q->id_count,
                                  .session = item->session,
                                  .lost = item->lost,
                                  .model = item->model,
                                  .klass = item->klass};
    to->lost = lost;
    if (to->requests == 0) to->tells_lost = to->form == TRACE_FORM_MOONCAKE && (to->lost > 0 || joined);
    trace_write_add(to, &line);
}

/* One file behind the other: each begins a mean gap after the last request of those before. */
static uint64_t file_follows(const struct trace_stats *t) {
    uint64_t gap = t->requests > 1 ? t->span_ns / (t->requests - 1) : 0;
    return t->requests ? t->span_ns + (gap ? gap : KVF_NS_PER_S) : 0;
}

static int writer_begin(const struct options *o, const struct trace_input *in, struct wish *w,
                        struct err *e) {
    const char *form = options_value(o, "format"), *path = stored_output(o);
    enum trace_form f = form ? trace_form_named(form) : TRACE_FORM_MOONCAKE;
    uint64_t tokens = in->s.cache.block_tokens;
    if (f == TRACE_FORMS)
        return err_set(e, KVF_ERR_USAGE, "--format is mooncake, csv or oracleGeneral, not \"%s\"", form);
    if (!in->blocks)
        return err_set(e, KVF_ERR_USAGE, "%s names no blocks, so it cannot be written as a trace of blocks",
                       o->operand[0]);
    int rc = stored_output_check(o, e);
    return rc ? rc
              : trace_write_begin(w->write, path, f, tokens,
                                  model_kv_bytes(&in->s.model, in->s.tensor_parallel, tokens), e);
}

static void rows_count(struct trace_stats *t, const struct trace_input *in) {
    const struct workload_rows *rows = workload_rows(in->w);
    for (int i = 0; i < WORKLOAD_REJECTS; i++) t->rejected += rows->rejected[i];
    t->rows += rows->read;
    t->lost += rows->lost;
    t->files++;
}

static int read_all(const struct options *o, struct wish *w, struct trace_input *in, struct trace_stats *t,
                    struct err *e) {
    uint64_t salt[OPTIONS_OPERANDS_MAX];
    int rc = 0;
    for (size_t f = 0; f < o->operands && !rc; f++) {
        struct trace_item item;
        uint64_t base = file_follows(t), first = UINT64_MAX, block = in->s.cache.block_tokens;
        if (in->w) trace_input_close(in);
        in->number = f;
        rc = trace_input_open(in, o->operand[f], o, e);
        salt[f] = in->salt;
        in->kin = 0; /* of the first with this salt, which may be itself */
        while (in->kin < f && (in->salt == 0 || salt[in->kin] != in->salt)) in->kin++;
        if (!rc && f && in->s.cache.block_tokens != block)
            rc = err_set(e, KVF_ERR_USAGE,
                         "%s has blocks of %" PRIu64 " tokens, and %s of %" PRIu64
                         "; traces are joined that have blocks alike",
                         o->operand[f], in->s.cache.block_tokens, o->operand[0], block);
        if (!rc && w->write && !f) rc = writer_begin(o, in, w, e);
        while (!rc && !(w->write && w->write->errnum) && trace_input_next(in, &item)) {
            if (!wanted(w, &item, f)) continue;
            if (first == UINT64_MAX) first = item.at_ns;
            item.at_ns = item.at_ns - first + base;
            if (w->fit && !w->learning) {
                trace_fit_measure(w->fit, t, in, &item);
            } else if (w->write || w->fit) {
                if (w->fit)
                    trace_fit_learn(w->fit, &item);
                else
                    write_item(w->write, t->lost + workload_rows(in->w)->lost, o->operands > 1, &item);
                t->requests++;
                t->span_ns = item.at_ns > t->span_ns ? item.at_ns : t->span_ns;
            } else {
                trace_stats_add(t, in, &item);
            }
        }
        if (in->w) rows_count(t, in);
        if (w->write) w->write->lost = t->lost;
    }
    if (!rc && t->requests == 0)
        rc = err_set(e, KVF_ERR_USAGE,
                     "no request is left of %s; ask for a longer --cut or a larger --sample", o->operand[0]);
    return rc;
}

/* ---- what is told ---- */

static int tell(const struct options *o, const struct wish *w, const struct trace_stats *t,
                struct command_reply *r, struct err *e) {
    struct format_style style = output_style(o);
    struct doc *d = trace_doc(t, o->operand[0]);
    struct buf out = {0};
    int rc = 0;
    if (w->form) {
        w->form->write(d, &style, &out);
        rc = output_file_write(w->report, &out, e);
        out.len = 0;
    }
    if (!rc && w->json) {
        bool here = strcmp(w->json, "-") == 0;
        trace_json(t, o->operand[0], here ? &r->text : &out);
        if (!here) rc = output_file_write(w->json, &out, e);
        if (here) r->print = output_print_data;
    } else if (!rc && !w->form) {
        doc_terminal(d, &style, &r->text);
        r->print = output_print_styled;
    }
    doc_free(d);
    buf_free(&out);
    return rc;
}

/* A scenario, to standard output or to --output. */
static int fit(const struct options *o, struct wish *w, struct trace_input *in, struct trace_stats *t,
               struct command_reply *r, struct err *e) {
    struct trace_fit f = {0};
    struct fit_quality q;
    struct buf yaml = {0};
    const char *path = stored_output(o);
    int rc = path ? stored_output_check(o, e) : 0;
    w->fit = &f;
    w->learning = true;
    if (!rc) rc = read_all(o, w, in, t, e);
    trace_fit_learned(&f);
    trace_stats_free(t);
    trace_stats_init(t);
    w->learning = false;
    if (!rc) rc = read_all(o, w, in, t, e);
    if (!rc) rc = trace_fit_write(&f, t, path ? &yaml : &r->text, &q, e);
    if (!rc && path) rc = output_file_write(path, &yaml, e);
    if (!rc && path)
        buf_addf(&r->text,
                 "%s: a scenario for %" PRIu64 " request%s, miss ratios of lru within %.1f points\n", path,
                 t->requests, t->requests == 1 ? "" : "s", 100 * q.curve);
    if (!path) r->print = output_print_data;
    trace_fit_free(&f);
    buf_free(&yaml);
    return rc;
}

int cmd_trace(const struct options *o, struct command_reply *r, struct err *e) {
    struct trace_input *in = mem_zalloc(1, sizeof *in);
    struct trace_stats *t = mem_zalloc(1, sizeof *t);
    struct trace_write write = {0};
    struct wish w = {0};
    trace_stats_init(t);
    int rc = wish_parse(o, &w, e);
    bool fits = options_has(o, "fit-personas");
    if (!rc && stored_output(o) && !fits) w.write = &write;
    if (!rc) rc = fits ? fit(o, &w, in, t, r, e) : read_all(o, &w, in, t, e);
    if (w.write && write.file) {
        int ended = trace_write_end(&write, rc ? &(struct err){0} : e);
        if (!rc) rc = ended;
        if (!rc)
            buf_addf(&r->text, "%s: %" PRIu64 " request%s, %" PRIu64 " access%s to blocks\n", write.path,
                     write.requests, write.requests == 1 ? "" : "s", write.accesses,
                     write.accesses == 1 ? "" : "es");
    } else if (!rc && !fits) {
        rc = trace_stats_end(t, w.policies, e);
        if (!rc) rc = tell(o, &w, t, r, e);
    }
    trace_stats_free(t);
    trace_input_close(in);
    free(t);
    free(in);
    return rc;
}
