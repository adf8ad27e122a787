#include "cli/export_sweep.h"

#include <string.h>
#include <unistd.h>

#include "cli/stored.h"
#include "export/export.h"
#include "export/outcome.h"
#include "study/sweep/sweep.h"

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

static int unknown(const char *name, struct err *e) {
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

int export_sweep(const struct options *o, const char *ref, struct buf *out, struct err *e) {
    const char *name = options_value(o, "format"), *path = stored_output(o);
    const struct outcome_format *format = name ? format_named(name) : path ? format_of(path) : NULL;
    struct store *store = NULL;
    struct outcome sweep;
    if (!format && name) return unknown(name, e);
    if (!format && path && export_format_of(path)) return unknown(export_format_of(path)->name, e);
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
