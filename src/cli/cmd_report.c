#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/output_file.h"
#include "cli/commands.h"
#include "cli/compared.h"
#include "cli/stored.h"
#include "page/outcome/outcome_doc.h"
#include "page/run_doc.h"
#include "study/output.h"
#include "study/suite/suite.h"
#include "study/sweep/sweep.h"

static int unknown_form(const char *name, struct err *e) {
    struct buf known = {0};
    for (size_t i = 0; i < doc_form_count; i++) buf_choice(&known, i, doc_form_count, doc_forms[i].name);
    int rc = err_set(e, KVF_ERR_USAGE, "--format is %s, not \"%s\"", buf_text(&known), name);
    buf_free(&known);
    return rc;
}

/* Whether the name of a file ends as that of some other kind of document. */
static bool has_ending(const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
    return dot && dot > name && dot[1];
}

/* As told, else as the ending of the file says, else HTML. */
static int choose_form(const struct options *o, const struct doc_form **out, struct err *e) {
    const char *name = options_value(o, "format"), *path = stored_output(o);
    *out = name ? doc_form_named(name) : path ? doc_form_of(path) : NULL;
    if (!*out && !name && path && has_ending(path))
        return err_set(e, KVF_ERR_USAGE,
                       "the ending of %s is of no report; end with .html, .md or .txt, or say --format",
                       path);
    if (!*out && !name) *out = doc_form_named("html");
    if (!*out) return unknown_form(name, e);
    if ((*out)->page && !path && isatty(STDOUT_FILENO))
        return err_set(e, KVF_ERR_USAGE,
                       "an HTML page cannot be shown on a terminal; name a file with --output");
    if (options_has(o, "runs") && (!(*out)->page || !path))
        return err_set(e, KVF_ERR_USAGE, "--runs makes pages beside that of --output; name FILE.html there");
    return 0;
}

/* ---- runs ---- */

static int load_run(struct store *store, int64_t id, struct run_doc_source *r, struct err *e) {
    int rc = store_load_run(store, id, &r->run, e);
    if (!rc) rc = store_load_series(store, &r->run, &r->series, e);
    return rc ? rc : stored_trials(store, &r->run, &r->trials, e);
}

/* As `compare` does. */
static int compare_runs(struct store *store, const int64_t *ids, size_t count, struct comparison *out,
                        struct err *e) {
    enum { DIGITS = 24 };
    char *texts = mem_zalloc(count, DIGITS);
    const char **refs = mem_zalloc(count, sizeof *refs);
    struct compared compared = {0};
    for (size_t i = 0; i < count; i++) {
        snprintf(texts + i * DIGITS, DIGITS, "%" PRId64, ids[i]);
        refs[i] = texts + i * DIGITS;
    }
    int rc = compared_load(store, refs, count, false, &compared, e);
    if (!rc) comparison_make(compared.input, count, &(struct comparison_wish){0}, out);
    compared_free(&compared);
    free(refs);
    free(texts);
    return rc;
}

/* Runs as a document; with the requests of a log, which is of one run; NULL: its own. */
static int make_doc(struct store *store, const int64_t *ids, size_t count, const char *log, struct doc **out,
                    struct err *e) {
    struct comparison comparison = {0};
    int rc = 0;
    struct run_doc_source *runs = mem_zalloc(count + 1, sizeof *runs);
    for (size_t i = 0; i < count; i++) {
        run_record_init(&runs[i].run);
        series_init(&runs[i].series, RUN_DOC_PARTS);
    }
    if (!rc && count > 1) rc = compare_runs(store, ids, count, &comparison, e);
    for (size_t i = 0; i < count && !rc; i++) rc = load_run(store, ids[i], &runs[i], e);
    if (!rc && log) rc = run_requests_read(log, &runs[0].requests, e);
    if (!rc && !log && count == 1) run_requests_own(&runs[0].run, &runs[0].requests);
    if (!rc) *out = run_doc_new(runs, count, &comparison);
    for (size_t i = 0; i < count; i++) {
        run_record_free(&runs[i].run);
        series_free(&runs[i].series);
        trials_free(&runs[i].trials);
        run_requests_free(&runs[i].requests);
    }
    comparison_free(&comparison);
    free(runs);
    return rc;
}

/* Of those that the command line names. */
static int make_runs_doc(const struct options *o, struct store *store, struct doc **out, struct err *e) {
    const char *log = options_value(o, "request-log");
    int64_t *ids = NULL;
    size_t count = 0;
    int rc = stored_runs(o, store, &ids, &count, e);
    if (!rc && options_has(o, "runs"))
        rc =
            err_set(e, KVF_ERR_USAGE, "--runs is for one sweep:ID or suite:ID; runs have pages of their own");
    else if (!rc && log && count != 1)
        rc =
            err_set(e, KVF_ERR_USAGE, "--request-log is of one run, and these are %zu; name that run", count);
    if (!rc) rc = make_doc(store, ids, count, log, out, e);
    free(ids);
    return rc;
}

/* ---- sweeps ---- */

static int make_sweep_doc(struct store *store, const char *ref, struct doc **out, struct err *e) {
    struct outcome sweep;
    outcome_init(&sweep);
    int rc = sweep_stored(store, ref, &sweep, e);
    if (!rc) *out = outcome_doc(&sweep);
    outcome_free(&sweep);
    return rc;
}

/* ---- suites ---- */

/* The suite that is the only operand, as such; beside others it stands for its runs. */
static bool is_suite(const struct options *o, const char **ref) {
    return o->operands == 1 && stored_kind_of(o->operand[0], ref) == STORED_SUITE;
}

static int make_suite_doc(struct store *store, const char *ref, struct doc **out, struct err *e) {
    struct suite *suite = mem_zalloc(1, sizeof *suite);
    int64_t first;
    int rc = store_resolve_suite(store, ref, &first, e);
    if (!rc) rc = suite_stored(store, first, suite, e);
    if (!rc) *out = suite_doc(suite);
    suite_free(suite);
    free(suite);
    return rc;
}

/* ---- pages of the runs of a sweep or suite ---- */

struct run_pages {
    const struct options *o;
    struct store *store;
    const char *path; /* of the page that links to them, without its ending */
    bool check;       /* whether they may be written, before any is */
    int rc;
    struct err *e;
};

static void put_run_page(void *ctx, int64_t run_id) {
    struct run_pages *p = ctx;
    struct buf path = {0}, out = {0};
    struct doc *doc = NULL;
    if (p->rc) return;
    doc_run_page(p->path, run_id, &path);
    if (p->check) {
        p->rc = output_file_check(buf_text(&path), options_has(p->o, "overwrite"), p->e);
    } else {
        struct format_style style = output_style(p->o);
        p->rc = make_doc(p->store, &run_id, 1, NULL, &doc, p->e);
        if (!p->rc) {
            doc_script(doc, !options_has(p->o, "no-script"));
            doc_form_named("html")->write(doc, &style, &out);
            p->rc = output_file_write(buf_text(&path), &out, p->e);
        }
        doc_free(doc);
    }
    buf_free(&path);
    buf_free(&out);
}

/* Where the page goes, without its ending, for the runs beside it. */
static int put_run_pages(const struct options *o, struct store *store, struct doc *doc, struct err *e) {
    char *stem = mem_strdup(stored_output(o)), *slash = strrchr(stem, '/'), *dot = strrchr(stem, '.');
    if (dot && dot > (slash ? slash + 1 : stem)) *dot = '\0';
    struct run_pages p = {o, store, stem, true, 0, e};
    doc_runs(doc, put_run_page, &p);
    p.check = false;
    doc_runs(doc, put_run_page, &p);
    doc_run_pages(doc, slash ? slash + 1 : stem);
    free(stem);
    return p.rc;
}

/* ---- the command ---- */

int cmd_report(const struct options *o, struct command_reply *r, struct err *e) {
    (void)r;
    const struct doc_form *form;
    struct store *store = NULL;
    struct doc *doc = NULL;
    struct buf out = {0};
    struct format_style style = output_style(o);
    const char *sweep, *suite;
    int rc = choose_form(o, &form, e);
    if (!rc) rc = stored_sweep_alone(o, &sweep, e);
    if (!rc && options_has(o, "request-log") && (sweep || is_suite(o, &suite)))
        rc = err_set(e, KVF_ERR_USAGE, "--request-log is of one run; name that run");
    if (!rc) rc = stored_output_check(o, e);
    if (!rc) rc = stored_open(o, STORE_READ, &store, e);
    if (!rc)
        rc = sweep                 ? make_sweep_doc(store, sweep, &doc, e)
             : is_suite(o, &suite) ? make_suite_doc(store, suite, &doc, e)
                                   : make_runs_doc(o, store, &doc, e);
    if (!rc && options_has(o, "runs")) rc = put_run_pages(o, store, doc, e);
    store_close(store);
    if (!rc) {
        doc_script(doc, !options_has(o, "no-script"));
        form->write(doc, &style, &out);
        rc = stored_output_write(o, &out, e);
    }
    doc_free(doc);
    buf_free(&out);
    return rc;
}
