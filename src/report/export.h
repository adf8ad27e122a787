/* A run with its intervals in the form that another program reads. One table of formats drives --format, the
 * help and the manual; each format is one file. Knows no database. */
#ifndef KVF_REPORT_EXPORT_H
#define KVF_REPORT_EXPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "record/run.h"
#include "record/series.h"

struct export_run {
    struct run_record run;
    struct series series; /* with the parts that the format wants, or none */
};

struct export_format {
    const char *name;   /* as --format has it */
    const char *suffix; /* of the files that are written so unless told; NULL: none */
    const char *help;   /* one phrase */
    bool intervals;     /* wants the series, with these parts */
    unsigned parts;
    bool one;    /* takes one run alone */
    bool binary; /* nothing for a terminal */
    /* Adds what the file holds to `out`; 0 or a negative code when the runs cannot be put so. */
    int (*write)(const struct export_run *runs, size_t count, struct buf *out, struct err *e);
};
extern const struct export_format export_formats[];
extern const size_t export_format_count;
/* By its name, or by the ending of a file's; NULL: none. */
const struct export_format *export_format_named(const char *name);
const struct export_format *export_format_of(const char *path);

/* Tidy: a row for each run, interval and tier. */
int export_csv(const struct export_run *runs, size_t count, struct buf *out, struct err *e);

#endif
