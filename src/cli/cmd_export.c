#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/stored.h"
#include "export/export.h"
#include "export/outcome_format.h"
#include "study/options.h"
#include "study/output.h"
#include "study/sweep/sweep.h"

static int unknown_format(const char *name, struct err *e) {
    struct buf known = {0};
    for (size_t i = 0; i < export_format_count; i++)
        buf_choice(&known, i, export_format_count, export_formats[i].name);
    int rc = err_set(e, KVF_ERR_USAGE, "--format is %s, not \"%s\"", buf_text(&known), name);
    buf_free(&known);
    return rc;
}

/* As told, else as the ending of the file says, else CSV. */
static int choose_format(const struct options *o, const struct export_format **out, struct err *e) {
    const char *name = options_value(o, "format"), *path = stored_output(o);
    *out = name ? export_format_named(name) : path ? export_format_of(path) : NULL;
    if (!*out && !name) *out = export_format_named("csv");
    if (!*out) return unknown_format(name, e);
    if ((*out)->one && o->operands > 1)
        return err_set(e, KVF_ERR_USAGE, "--format %s takes one run at a time", (*out)->name);
    if ((*out)->binary && !path && isatty(STDOUT_FILENO))
        return err_set(e, KVF_ERR_USAGE, "%s cannot be shown on a terminal; name a file with --output",
                       (*out)->name);
    return 0;
}

static int load_run(const struct export_format *f, struct store *store, int64_t id, struct export_run *r,
                    struct err *e) {
    int rc = store_load_run(store, id, &r->run, e);
    if (!rc && f->intervals) rc = store_load_series(store, &r->run, &r->series, e);
    return rc;
}

static int export_runs(const struct options *o, struct buf *out, struct err *e) {
    const struct export_format *format;
    struct store *store = NULL;
    int64_t *ids = NULL;
    size_t count = 0;
    int rc = choose_format(o, &format, e);
    if (!rc) rc = stored_output_check(o, e);
    if (!rc) rc = stored_open(o, STORE_READ, &store, e);
    if (rc) return rc;

    rc = stored_runs(o, store, &ids, &count, e);
    if (!rc && format->one && count > 1)
        rc = err_set(e, KVF_ERR_USAGE, "--format %s takes one run at a time", format->name);
    if (rc) count = 0;
    struct export_run *runs = mem_zalloc(count + 1, sizeof *runs);
    for (size_t i = 0; i < count; i++) {
        run_record_init(&runs[i].run);
        series_init(&runs[i].series, format->parts);
    }
    for (size_t i = 0; i < count && !rc; i++) rc = load_run(format, store, ids[i], &runs[i], e);
    if (!rc) rc = format->write(runs, count, out, e);
    for (size_t i = 0; i < count; i++) {
        run_record_free(&runs[i].run);
        series_free(&runs[i].series);
    }
    free(runs);
    free(ids);
    store_close(store);
    return rc;
}

/* ---- a sweep ---- */

static const struct outcome_format *format_named(const char *name) {
    for (size_t i = 0; i < outcome_format_count; i++)
        if (strcmp(outcome_formats[i].name, name) == 0) return &outcome_formats[i];
    return NULL;
}

static const struct outcome_format *format_of(const char *path) {
    size_t len = strlen(path);
    for (size_t i = 0; i < outcome_format_count; i++) {
        const char *suffix = outcome_formats[i].suffix;
        if (len > strlen(suffix) && strcmp(path + len - strlen(suffix), suffix) == 0)
            return &outcome_formats[i];
    }
    return NULL;
}

static int unknown_sweep_format(const char *name, struct err *e) {
    struct buf known = {0};
    for (size_t i = 0; i < outcome_format_count; i++)
        buf_choice(&known, i, outcome_format_count, outcome_formats[i].name);
    int rc =
        export_format_named(name)
            ? err_set(e, KVF_ERR_USAGE, "--format %s is for runs; a sweep takes %s", name, buf_text(&known))
            : err_set(e, KVF_ERR_USAGE, "--format of a sweep is %s, not \"%s\"", buf_text(&known), name);
    buf_free(&known);
    return rc;
}

static int export_sweep(const struct options *o, const char *ref, struct buf *out, struct err *e) {
    const char *name = options_value(o, "format"), *path = stored_output(o);
    const struct outcome_format *format = name ? format_named(name) : path ? format_of(path) : NULL;
    struct store *store = NULL;
    struct outcome sweep;
    if (!format && name) return unknown_sweep_format(name, e);
    if (!format && path && export_format_of(path))
        return unknown_sweep_format(export_format_of(path)->name, e);
    if (!format) format = &outcome_formats[0];
    if (format->binary && !path && isatty(STDOUT_FILENO))
        return err_set(e, KVF_ERR_USAGE, "%s cannot be shown on a terminal; name a file with --output",
                       format->name);
    int rc = stored_output_check(o, e);
    if (!rc) rc = stored_open(o, STORE_READ, &store, e);
    if (rc) return rc;
    outcome_init(&sweep);
    rc = sweep_stored(store, ref, &sweep, e);
    if (!rc) rc = format->write(&sweep, out, e);
    outcome_free(&sweep);
    store_close(store);
    return rc;
}

int cmd_export(const struct options *o, struct command_reply *r, struct err *e) {
    const char *sweep = NULL;
    int rc = stored_sweep_alone(o, &sweep, e);
    if (!rc) rc = sweep ? export_sweep(o, sweep, &r->text, e) : export_runs(o, &r->text, e);
    if (!rc) rc = stored_output_write(o, &r->text, e);
    buf_free(&r->text);
    return rc;
}
