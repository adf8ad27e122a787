#include <ctype.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare/comparison_parts.h"
#include "draw/format.h"
#include "record/standing.h"

/* A question about one side. */
struct question {
    const struct run_record *run;
    const struct comparison_input *input;
    uint64_t seed;                             /* of a group that of its first trial */
    const json_t *environment, *configuration; /* NULL where there is none */
    bool computed;                             /* every side is a simulation, which no machine is part of */
};

static void add_text(const json_t *v, const char *between, struct buf *out) {
    const char *text = json_string_value(v);
    if (!text || !*text) return;
    if (out->len) buf_add(out, between);
    buf_add(out, text);
}

static const json_t *inside(const json_t *o, const char *first, const char *second) {
    const json_t *v = json_object_get(o, first);
    return second ? json_object_get(v, second) : v;
}

/* ---- one answer each; nothing where it is not known or does not matter ---- */

static void ask_host(const struct question *q, struct buf *out) {
    if (!q->computed) buf_add(out, q->run->host);
}

static void ask_version(const struct question *q, struct buf *out) {
    buf_add(out, q->run->version);
}

static void ask_cpu(const struct question *q, struct buf *out) {
    if (q->computed) return;
    add_text(inside(q->environment, "cpu", "model"), "", out);
    json_int_t usable = json_integer_value(inside(q->environment, "cpu", "usable"));
    if (usable > 0) buf_addf(out, "%s%" PRId64 " CPUs", out->len ? ", " : "", (int64_t)usable);
}

static void ask_kernel(const struct question *q, struct buf *out) {
    if (!q->computed) add_text(inside(q->environment, "kernel", NULL), "", out);
}

static bool device_used(const struct question *q, enum kvf_tier t) {
    return !q->computed && q->run->tier[t].on && !q->run->tier[t].emulated;
}

/* Several paths, each with its model and firmware, or the name of its disk where it has no model. */
static void ask_drive(const struct question *q, struct buf *out) {
    const json_t *paths = inside(q->environment, "nvme_paths", NULL);
    for (size_t i = 0; device_used(q, KVF_TIER_NVME) && i < json_array_size(paths); i++) {
        const json_t *p = json_array_get(paths, i);
        const json_t *model = json_object_get(p, "model");
        add_text(json_is_string(model) ? model : json_object_get(p, "disk"), ", ", out);
        add_text(json_object_get(p, "firmware"), " firmware ", out);
    }
}

static void ask_file_system(const struct question *q, struct buf *out) {
    const json_t *paths = inside(q->environment, "nvme_paths", NULL);
    for (size_t i = 0; device_used(q, KVF_TIER_NVME) && i < json_array_size(paths); i++) {
        const json_t *p = json_array_get(paths, i);
        add_text(json_object_get(p, "filesystem"), ", ", out);
        add_text(json_object_get(p, "mount_options"), " ", out);
    }
}

static void ask_direct(const struct question *q, struct buf *out) {
    const json_t *paths = inside(q->environment, "nvme_paths", NULL);
    for (size_t i = 0; device_used(q, KVF_TIER_NVME) && i < json_array_size(paths); i++)
        add_text(json_object_get(json_array_get(paths, i), "direct_io"), ", ", out);
}

static void ask_gpu(const struct question *q, struct buf *out) {
    if (device_used(q, KVF_TIER_GPU)) add_text(inside(q->environment, "gpu", "name"), "", out);
}

static void ask_driver(const struct question *q, struct buf *out) {
    if (device_used(q, KVF_TIER_GPU)) add_text(inside(q->environment, "gpu", "driver"), "", out);
}

static void ask_flags(const struct question *q, struct buf *out) {
    if (!q->computed) add_text(inside(q->environment, "build", "flags"), "", out);
}

static void ask_sanitizer(const struct question *q, struct buf *out) {
    const char *text = json_string_value(inside(q->environment, "build", "sanitizer"));
    if (!q->computed && text) buf_addf(out, "%.*s", (int)strcspn(text, ":"), text);
}

static void ask_mode(const struct question *q, struct buf *out) {
    buf_add(out, q->run->mode);
}

static void ask_model(const struct question *q, struct buf *out) {
    buf_add(out, q->run->model);
}

static void ask_verify(const struct question *q, struct buf *out) {
    add_text(inside(q->configuration, "cache", "verify"), "", out);
}

/* The same rows in another folder are the same trace. */
static void ask_trace(const struct question *q, struct buf *out) {
    const char *slash = strrchr(q->run->trace_path, '/');
    if (q->run->trace_sha256[0])
        buf_addf(out, "%s (SHA-256 %.12s)", slash ? slash + 1 : q->run->trace_path, q->run->trace_sha256);
}

/* Only where requests are drawn: rows of a trace are what they are. */
static void ask_seed(const struct question *q, struct buf *out) {
    const char *source = json_string_value(inside(q->configuration, "workload", "source"));
    bool drawn = source && (strcmp(source, "synthetic") == 0 || strcmp(source, "agentic") == 0);
    if (drawn) comparison_seeds(q->input, out);
    if (drawn && !out->len) buf_addf(out, "%" PRIu64, q->seed);
}

static const struct {
    const char *what;
    void (*ask)(const struct question *q, struct buf *out);
} questions[] = {{"modes", ask_mode},
                 {"models", ask_model},
                 {"versions of kvfall", ask_version},
                 {"compiler flags", ask_flags},
                 {"sanitizers", ask_sanitizer},
                 {"hosts", ask_host},
                 {"CPUs", ask_cpu},
                 {"kernels", ask_kernel},
                 {"drives under the nvme tier", ask_drive},
                 {"file systems under the nvme tier", ask_file_system},
                 {"kinds of direct I/O", ask_direct},
                 {"GPUs", ask_gpu},
                 {"GPU drivers", ask_driver},
                 {"traces", ask_trace},
                 {"seeds, by which users and what they ask are drawn,", ask_seed},
                 {"kinds of verification", ask_verify}};

/* ---- sentences ---- */

/* "The hosts differ: lab (run 1), lab2 (run 2)." */
static void warn_of(struct comparison *c, const char *what, char *const answer[]) {
    struct buf list = {0};
    const char *first = NULL;
    bool alike = true;
    for (size_t s = 0; s < c->sides; s++) {
        if (!answer[s] || !*answer[s]) continue;
        alike = alike && (!first || strcmp(first, answer[s]) == 0);
        first = first ? first : answer[s];
        buf_addf(&list, "%s%.200s (%s)", list.len ? ", " : "", answer[s], c->side[s].label);
    }
    if (!alike) comparison_warn(c, "The %s differ: %s.", what, buf_text(&list));
    buf_free(&list);
}

static void warn_differences(const struct question *q, struct comparison *c) {
    char **answer = mem_zalloc(c->sides, sizeof *answer);
    for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++) {
        for (size_t s = 0; s < c->sides; s++) {
            struct buf text = {0};
            questions[i].ask(&q[s], &text);
            answer[s] = mem_strdup(buf_text(&text));
            buf_free(&text);
        }
        warn_of(c, questions[i].what, answer);
        for (size_t s = 0; s < c->sides; s++) free(answer[s]);
    }
    free(answer);
}

static const char *tier_kind(const struct question *q, int t) {
    const struct run_tier *tier = &q->run->tier[t];
    if (!tier->on || strcmp(q->run->mode, "simulate") == 0) return "";
    return tier->emulated ? "emulated" : tier->compat ? "by way of host memory" : "real";
}

static void warn_tiers(const struct question *q, struct comparison *c) {
    char **answer = mem_zalloc(c->sides, sizeof *answer), what[48];
    for (int t = 0; t < KVF_TIERS; t++) {
        snprintf(what, sizeof what, "kinds of %s tier", tier_name((enum kvf_tier)t));
        for (size_t s = 0; s < c->sides; s++) answer[s] = mem_strdup(tier_kind(&q[s], t));
        warn_of(c, what, answer);
        for (size_t s = 0; s < c->sides; s++) free(answer[s]);
    }
    free(answer);
}

/* Lengths in seconds, by side; missing: it is not held against the others. */
static void warn_apart(struct comparison *c, const char *what, const double *seconds) {
    double least = INFINITY, most = 0;
    struct buf list = {0};
    for (size_t s = 0; s < c->sides; s++) {
        if (isnan(seconds[s])) continue;
        least = fmin(least, seconds[s]);
        most = fmax(most, seconds[s]);
        buf_addf(&list, "%s%s (%s)", list.len ? ", " : "", format_seconds(seconds[s]).text, c->side[s].label);
    }
    if (most > 1.05 * least)
        comparison_warn(c, "The %s differ in length by more than 5 %%: %s.", what, buf_text(&list));
    buf_free(&list);
}

/* A run that a number of requests ends is as long as they take: that is its result. The state of the tiers
 * when the measured part begins goes by the warm-up. */
static void warn_lengths(const struct comparison_input *input, struct comparison *c) {
    double *measured = mem_alloc(c->sides * sizeof *measured), *warmup = mem_alloc(c->sides * sizeof *warmup);
    for (size_t s = 0; s < c->sides; s++) {
        const char *unit;
        bool by_requests = result_value(&input[s].run->results, "requests_asked") > 0;
        measured[s] = by_requests ? KVF_MISSING : comparison_value(&input[s], "measured_s", &unit);
        warmup[s] = c->side[s].warmup_s;
    }
    warn_apart(c, "measured parts", measured);
    warn_apart(c, "warm-ups", warmup);
    free(measured);
    free(warmup);
}

static char *at_start(const struct comparison_side *s, char *out, size_t len) {
    snprintf(out, len, "%s", s->label);
    out[0] = (char)toupper((unsigned char)out[0]);
    return out;
}

static void warn_group(const struct trials *t, struct comparison *c, const struct comparison_side *side) {
    char who[sizeof side->label];
    for (size_t i = 0; i < t->count; i++)
        if (t->trial[i].incomplete[0])
            comparison_warn(c, "Run %" PRId64 ", trial %u of %s, is left out: %s.", t->trial[i].run_id,
                            t->trial[i].number, side->label, t->trial[i].incomplete);
    if (side->complete == 0)
        comparison_warn(c, "%s: no trial is complete, there is nothing to compare.",
                        at_start(side, who, sizeof who));
    else if (side->complete < COMPARISON_TRIALS_LEAST && t->count > 1)
        comparison_warn(c, "%s: noise is told from %d complete trials on, there %s %zu.",
                        at_start(side, who, sizeof who), COMPARISON_TRIALS_LEAST,
                        side->complete == 1 ? "is" : "are", side->complete);
}

static void warn_run(const struct run_record *r, struct comparison *c, const struct comparison_side *side) {
    char who[sizeof side->label], why[sizeof r->status_reason + 40];
    at_start(side, who, sizeof who);
    trials_incomplete(r, why, sizeof why);
    if (r->status == RUN_RUNNING)
        comparison_warn(c, "%s still goes on: %s.", who,
                        side->results ? "its figures are those so far" : "it has no results yet");
    else if (!side->results)
        comparison_warn(c, "%s has no results: %s.", who, why[0] ? why : run_status_name(r->status));
    else if (why[0])
        comparison_warn(c, "%s is not a whole run: %s.", who, why);
}

/* Of a group it is known of the run that was named. */
static void warn_state(const struct run_record *r, struct comparison *c, const struct question *q) {
    static const char missed[] = "not reached: ";
    char who[32];
    snprintf(who, sizeof who, "Run %" PRId64, r->run_id);
    if (strncmp(r->steady, missed, sizeof missed - 1) == 0)
        comparison_warn(c, "%s never reached a steady state: %s.", who, r->steady + sizeof missed - 1);
    if (r->not_comparable[0])
        comparison_warn(c, "%s is not comparable as a submission: %s.", who, r->not_comparable);
    const char *flags = json_string_value(inside(q->environment, "build", "flags"));
    const char *sanitizer = json_string_value(inside(q->environment, "build", "sanitizer"));
    if (q->computed) return;
    if (flags && (!strstr(flags, "-O") || strstr(flags, "-O0")))
        comparison_warn(c, "%s is of a build without optimisation (%s).", who, flags);
    if (sanitizer && *sanitizer && strncmp(sanitizer, "off", 3) != 0)
        comparison_warn(c, "%s is of a build with a sanitizer (%s).", who, sanitizer);
}

/* Free them with close_questions(). */
static struct question *open_questions(const struct comparison_input *input, size_t sides) {
    struct question *q = mem_zalloc(sides, sizeof *q);
    bool computed = true;
    for (size_t s = 0; s < sides; s++) computed = computed && strcmp(input[s].run->mode, "simulate") == 0;
    for (size_t s = 0; s < sides; s++) {
        const struct run_record *r = input[s].run;
        uint64_t seed = comparison_group(&input[s]) ? input[s].trials->trial[0].seed : r->seed;
        q[s] = (struct question){r,
                                 &input[s],
                                 seed,
                                 r->environment ? json_loads(r->environment, 0, NULL) : NULL,
                                 r->effective_json ? json_loads(r->effective_json, 0, NULL) : NULL,
                                 computed};
    }
    return q;
}

static void close_questions(struct question *q, size_t sides) {
    for (size_t s = 0; s < sides; s++) {
        json_decref((json_t *)q[s].environment);
        json_decref((json_t *)q[s].configuration);
    }
    free(q);
}

/* "The runs of the baseline are not of one scenario: tiers.nvme.capacity is 16GiB (run 1), 8GiB (run 4)."
 * Each has a seed of its own, as trials have. */
static void warn_keys(const struct comparison *of, const char *label, struct comparison *c) {
    struct buf list = {0};
    size_t keys = 0;
    for (size_t i = 0; i < of->differences; i++) {
        const struct comparison_difference *d = &of->difference[i];
        if (strcmp(d->key, "seed") == 0 || ++keys > 3) continue;
        buf_addf(&list, "%s%s is ", keys > 1 ? "; " : "", d->key);
        for (size_t s = 0; s < of->sides; s++)
            buf_addf(&list, "%s%.60s (%s)", s ? ", " : "", d->value[s] ? d->value[s] : "not set",
                     of->side[s].label);
    }
    if (keys > 3) buf_addf(&list, "; and %zu more key%s", keys - 3, keys > 4 ? "s" : "");
    if (keys) comparison_warn(c, "The baseline, %s, is not of one scenario: %s.", label, buf_text(&list));
    buf_free(&list);
}

static void warn_members(const struct comparison_input *i, struct comparison *c, const char *label) {
    struct comparison of = {.sides = i->members + 1};
    struct comparison_input *input = mem_zalloc(of.sides, sizeof *input);
    of.side = mem_zalloc(of.sides, sizeof *of.side);
    for (size_t s = 0; s < of.sides; s++) {
        input[s].run = s < i->members ? &i->member[s] : i->run;
        snprintf(of.side[s].label, sizeof of.side[s].label, "run %" PRId64, input[s].run->run_id);
    }
    struct question *q = open_questions(input, of.sides);
    for (size_t s = 0; s < of.sides; s++) q[s].seed = 0;
    comparison_scenarios(input, &of);
    warn_keys(&of, label, c);
    warn_differences(q, &of);
    warn_tiers(q, &of);
    for (size_t k = 0; k < of.warnings; k++) comparison_warn(c, "In the baseline: %s", of.warning[k]);
    close_questions(q, of.sides);
    comparison_free(&of);
    free(input);
}

/* A run has the first that holds, and the trials of a group may have several. */
static void warn_flaws(struct comparison *c, const struct comparison_side *s) {
    for (enum standing_flaw f = STANDING_FLAWLESS + 1; f < STANDING_FLAWS; f++) {
        struct buf text = {0};
        bool alone = f == STANDING_FLAW_BEHIND && s->flaw == f && !s->undone[0];
        if (f != s->flaw && s->flawed[f] == 0) continue;
        comparison_put_flaw(s, f, &text);
        text.data[0] = (char)(text.data[0] == 'r' ? 'R' : text.data[0]);
        comparison_warn(c, "%s.%s", buf_text(&text),
                        !alone                            ? ""
                        : comparison_flawed_in_part(s, f) ? " Compare the group by throughput alone."
                                                          : " Compare it by throughput alone.");
        buf_free(&text);
    }
}

void comparison_fairness(const struct comparison_input *input, struct comparison *c) {
    struct question *q = open_questions(input, c->sides);
    for (size_t s = 0; s < c->sides; s++) {
        const struct run_record *r = input[s].run;
        if (comparison_group(&input[s]))
            warn_group(input[s].trials, c, &c->side[s]);
        else
            warn_run(r, c, &c->side[s]);
        warn_state(r, c, &q[s]);
        if (c->side[s].undone[0])
            comparison_warn(c, "The throughput of %s is not comparable: %s.", c->side[s].label,
                            c->side[s].undone);
        warn_flaws(c, &c->side[s]);
    }
    for (size_t s = 0; s < c->sides; s++)
        if (input[s].members) warn_members(&input[s], c, c->side[s].label);
    warn_differences(q, c);
    warn_tiers(q, c);
    warn_lengths(input, c);
    close_questions(q, c->sides);
}
