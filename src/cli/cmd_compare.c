#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/output_file.h"
#include "cli/commands.h"
#include "cli/compared.h"
#include "cli/stored.h"
#include "page/comparison_doc.h"
#include "study/options.h"
#include "study/output.h"

enum { FAILED_STATUS = 3 };

/* The options beyond the runs. */
struct asked {
    struct comparison_limit limit[OPTIONS_GIVEN_MAX];
    size_t limits;                                   /* of the metrics that were named */
    const char *extra[OPTIONS_GIVEN_MAX + 1];        /* their names */
    double fail_over;                                /* NaN: not given */
    const char *reference[OPTIONS_OPERANDS_MAX + 1]; /* the baseline first */
    size_t references;
    enum sheet_form form;
};

/* "5%", "2.5 %", "5": 0.05, 0.025, 0.05. */
static bool percent_parse(const char *text, double *out) {
    char *end;
    double v = strtod(text, &end);
    while (*end == ' ') end++;
    if (end == text || (*end && strcmp(end, "%") != 0) || !(v >= 0) || !isfinite(v)) return false;
    *out = v / 100;
    return true;
}

static int no_metric(const char *name, struct err *e) {
    char near[METRIC_NAME];
    const char *nearest = metric_nearest(name, NULL, 0, near);
    if (nearest) return err_set(e, KVF_ERR_USAGE, "there is no metric %s; did you mean %s?", name, nearest);
    return err_set(e, KVF_ERR_USAGE, "there is no metric %s; kvfall-results(7) lists them under METRICS",
                   name);
}

static int read_metric(const char *text, struct asked *a, struct err *e) {
    struct comparison_limit *l = &a->limit[a->limits];
    const char *eq = strchr(text, '=');
    size_t len = eq ? (size_t)(eq - text) : strlen(text);
    l->most = a->fail_over;
    if (eq && !percent_parse(eq + 1, &l->most))
        return err_set(e, KVF_ERR_USAGE,
                       "--metric is NAME or NAME=PERCENT, such as e2e_p95_ms=5%%, not \"%s\"", text);
    if (len == 0 || len >= sizeof l->metric)
        return err_set(e, KVF_ERR_USAGE, "--metric needs the name of a metric, not \"%s\"", text);
    memcpy(l->metric, text, len);
    l->metric[len] = '\0';
    if (!metric_find(l->metric)) return no_metric(l->metric, e);
    if (metric_better(l->metric) == METRIC_NEUTRAL)
        return err_set(
            e, KVF_ERR_USAGE,
            "a change of %s is neither good nor bad; --metric takes a metric that has a better direction (`better` in `kvfall compare --all --json`)",
            l->metric);
    if (isnan(l->most))
        return err_set(e, KVF_ERR_USAGE, "--metric %s needs its limit: %s=5%%, or --fail-over 5%% for all",
                       l->metric, l->metric);
    for (size_t i = 0; i < a->limits; i++)
        if (strcmp(a->limit[i].metric, l->metric) == 0)
            return err_set(e, KVF_ERR_USAGE, "--metric %s is given twice", l->metric);
    a->extra[a->limits] = l->metric;
    a->limits++;
    return 0;
}

static int read_limits(const struct options *o, struct asked *a, struct err *e) {
    const char *over = options_value(o, "fail-over");
    int rc = 0;
    a->fail_over = (double)NAN;
    if (options_has(o, "junit") && !over && !options_has(o, "metric"))
        return err_set(e, KVF_ERR_USAGE,
                       "--junit needs a limit to check: --fail-over 5%%, or --metric NAME=5%%");
    if (options_has(o, "junit"))
        rc = output_file_check(options_value(o, "junit"), options_has(o, "overwrite"), e);
    if (rc) return rc;
    if (over && !percent_parse(over, &a->fail_over))
        return err_set(e, KVF_ERR_USAGE, "--fail-over is a percentage such as 5%%, not \"%s\"", over);
    for (size_t i = 0; i < o->given_count && !rc; i++)
        if (strcmp(o->given[i].spec->name, "metric") == 0) rc = read_metric(o->given[i].value, a, e);
    return rc;
}

static int read_runs(const struct options *o, struct asked *a, struct err *e) {
    const char *baseline = options_value(o, "baseline");
    if (baseline) a->reference[a->references++] = baseline;
    for (size_t i = 0; i < o->operands; i++) a->reference[a->references++] = o->operand[i];
    if (o->operands == 0 || a->references < 2)
        return err_set(
            e, KVF_ERR_USAGE,
            "compare needs two runs: ids, latest, latest~2, UUIDs or names, or one and --baseline RUN");
    return 0;
}

/* The baseline may be among the others, too: it is not held against itself. */
static int drop_baseline(struct store *s, const struct options *o, struct asked *a, struct err *e) {
    int64_t baseline, id;
    size_t kept = 1;
    if (!options_has(o, "baseline") || compared_tag(a->reference[0])) return 0;
    int rc = store_resolve(s, a->reference[0], &baseline, e);
    for (size_t i = 1; i < a->references && !rc; i++) {
        rc = store_resolve(s, a->reference[i], &id, e);
        if (!rc && id != baseline) a->reference[kept++] = a->reference[i];
    }
    if (rc) return rc;
    a->references = kept;
    if (kept < 2)
        return err_set(e, KVF_ERR_USAGE, "%s is the baseline itself; name another run to hold against it",
                       o->operand[0]);
    return 0;
}

/* A metric that no run has a value of may still be one that they could have. */
static int known_metric(const struct comparison *c, const struct compared *runs, const char *metric,
                        struct err *e) {
    const struct comparison_metric *m = comparison_metric(c, metric);
    struct nearest n = nearest_start(metric);
    for (size_t s = 0; s < runs->count; s++) {
        const struct result_list *l = &runs->input[s].run->results;
        if ((m && !isnan(m->change[s].value)) || result_find(l, metric)) return 0;
        for (size_t i = 0; i < l->count; i++) nearest_offer(&n, l->items[i].metric);
    }
    for (size_t s = 0; s < c->sides; s++)
        if (!c->side[s].results) return 0; /* a run without any is told of as such */
    if (n.best)
        return err_set(e, KVF_ERR_USAGE, "none of the runs has a metric %s; did you mean %s?", metric,
                       n.best);
    return err_set(e, KVF_ERR_USAGE, "none of the runs has a metric %s; `kvfall show --measures` lists them",
                   metric);
}

/* The metrics that were named, else the usual ones. */
static int check(struct comparison *c, const struct compared *runs, struct asked *a, struct err *e) {
    int rc = 0;
    for (size_t i = 0; i < a->limits && !rc; i++) rc = known_metric(c, runs, a->limit[i].metric, e);
    if (rc || (a->limits == 0 && isnan(a->fail_over))) return rc;
    for (size_t i = 0; a->extra[0] == NULL && i < c->metrics; i++) {
        if (!c->metric[i].watched) continue;
        struct comparison_limit *l = &a->limit[a->limits++];
        memcpy(l->metric, c->metric[i].metric, sizeof l->metric);
        l->most = a->fail_over;
        l->usual = true;
    }
    comparison_check(c, a->limit, a->limits);
    return 0;
}

static void print(const struct options *o, const struct comparison *c, enum sheet_form form,
                  struct buf *out) {
    struct format_style style = output_style(o);
    if (stored_output(o)) style = (struct format_style){.ascii = options_has(o, "ascii"), .columns = 80};
    if (form == SHEET_JSON)
        comparison_json(c, out);
    else if (form == SHEET_CSV)
        comparison_csv(c, out);
    else
        comparison_text(c, &style, out);
}

/* Files apart from each other, and none whose ending says that it is something else. */
static int check_outputs(const struct options *o, const struct asked *a, struct err *e) {
    static const char *const endings[] = {
        [SHEET_TABLE] = ".txt", [SHEET_CSV] = ".csv", [SHEET_JSON] = ".json"};
    static const char *const others[] = {".txt", ".csv", ".json", ".html", ".md", ".xlsx", ".xml"};
    const char *path = stored_output(o), *junit = options_value(o, "junit");
    const char *dot = path ? strrchr(path, '.') : NULL;
    if (path && junit && output_file_same(path, junit))
        return err_set(e, KVF_ERR_USAGE, "%s is named for two files at once; give each a name of its own",
                       path);
    for (size_t i = 0; dot && i < sizeof others / sizeof *others; i++)
        if (strcmp(dot, others[i]) == 0 && strcmp(dot, endings[a->form]) != 0)
            return err_set(
                e, KVF_ERR_USAGE,
                "%s would hold %s; end with %s, or take --csv, --json, or for a page `kvfall report`", path,
                a->form == SHEET_TABLE ? "text"
                : a->form == SHEET_CSV ? "CSV"
                                       : "JSON",
                endings[a->form]);
    return 0;
}

static int compare(const struct options *o, struct comparison *c, struct asked *a, struct err *e) {
    struct store *store = NULL;
    struct compared runs = {0};
    struct comparison_wish wish = {options_has(o, "all"), a->extra};
    int rc = output_form(o, &a->form, e);
    if (!rc) rc = read_limits(o, a, e);
    if (!rc) rc = read_runs(o, a, e);
    if (!rc) rc = stored_output_check(o, e);
    if (!rc) rc = check_outputs(o, a, e);
    if (!rc) rc = stored_open(o, STORE_READ, &store, e);
    if (!rc) rc = drop_baseline(store, o, a, e);
    if (!rc) rc = compared_load(store, a->reference, a->references, options_has(o, "single"), &runs, e);
    if (!rc) comparison_make(runs.input, runs.count, &wish, c);
    if (!rc) rc = check(c, &runs, a, e);
    compared_free(&runs);
    store_close(store);
    return rc;
}

static int write_junit(const struct options *o, const struct comparison *c, struct err *e) {
    const char *path = options_value(o, "junit");
    struct buf xml = {0};
    if (!path) return 0;
    comparison_junit(c, &xml);
    int rc = output_file_write(path, &xml, e);
    buf_free(&xml);
    return rc;
}

int cmd_compare(const struct options *o, struct command_reply *r, struct err *e) {
    struct asked asked = {0};
    struct comparison c = {0};
    int rc = compare(o, &c, &asked, e);
    if (!rc) print(o, &c, asked.form, &r->text);
    if (!rc) rc = stored_output_write(o, &r->text, e);
    if (!rc) rc = write_junit(o, &c, e);
    /* a reader without the text is told what failed all the same */
    for (size_t i = 0; !rc && i < c.failures && (asked.form != SHEET_TABLE || stored_output(o)); i++)
        output_say("kvfall: %s\n", c.failure[i]);
    if (!rc && c.failures) rc = FAILED_STATUS;
    comparison_free(&c);
    buf_free(&r->text);
    return rc;
}
