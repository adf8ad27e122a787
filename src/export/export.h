/* A run with its intervals in a form that other programs read. One table of formats drives --format, the help
 * and the manual; each format is one file. Knows no database. One thread at a time. */
#ifndef KVF_EXPORT_EXPORT_H
#define KVF_EXPORT_EXPORT_H

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
    const char *suffix; /* default ending of its files; NULL: none */
    const char *help;   /* one phrase */
    bool intervals;     /* wants the series, with these parts */
    unsigned parts;
    bool one;    /* takes one run alone */
    bool binary; /* nothing for a terminal */
    /* Adds the content of the file to `out`; 0 or a negative code when the runs cannot be put so. */
    int (*write)(const struct export_run *runs, size_t count, struct buf *out, struct err *e);
};
extern const struct export_format export_formats[];
extern const size_t export_format_count;
/* The format of a name, or of a file's ending; NULL: none. */
const struct export_format *export_format_named(const char *name);
const struct export_format *export_format_of(const char *path);

/* Appends a line of help for each format: "csv  a row for ...; FILE.csv". */
void export_formats_list(struct buf *out);

/* Tidy: a row for each run, interval and tier. */
int export_csv(const struct export_run *runs, size_t count, struct buf *out, struct err *e);
/* One run as the JSON of MLPerf Storage's kv-cache.py, which kvfall-mlperf(7) describes. */
int export_mlperf(const struct export_run *runs, size_t count, struct buf *out, struct err *e);

/* The summary, intervals and histograms, as one object that kvfall-export(5) describes member by member.
 * The version rises when a member goes or changes its meaning, not when one comes. */
/* Whether a field holds a time of day. */
bool export_field_is_moment(const struct snapshot_field *f);

#define EXPORT_JSON_SCHEMA "kvfall-export"
enum { EXPORT_JSON_VERSION = 1 };
/* Appends {"schema", "version", "runs": [...]}, each run with its intervals; missing is null. 0, or a
 * negative code. */
int export_json(const struct export_run *runs, size_t count, struct buf *out, struct err *e);

/* The results, in the families of export/openmetrics.h. */
int export_prometheus(const struct export_run *runs, size_t count, struct buf *out, struct err *e);

/* The latency histograms of one run as a log of HdrHistogram: those of intervals, and of the whole measured
 * part what intervals have none of. */
int export_hdr(const struct export_run *runs, size_t count, struct buf *out, struct err *e);

/* A fio job that repeats on a drive what one run did on its nvme tier; an error when it did nothing. */
int export_fio(const struct export_run *runs, size_t count, struct buf *out, struct err *e);

/* A workbook: summary, parameters, metrics and classes with the runs side by side, intervals with charts. */
int export_xlsx(const struct export_run *runs, size_t count, struct buf *out, struct err *e);

/* A number as CSV and JSON write it; a whole one without a point. False, and nothing added, for one that is
 * missing. */
void export_add_count(uint64_t v, struct buf *out);
bool export_add_real(double v, struct buf *out);
/* The value of a field of a part of an interval: the word that it stands for, else NULL, and its number. */
const char *export_field_word(const void *part, const struct snapshot_field *f);
bool export_add_field(const void *part, const struct snapshot_field *f, struct buf *out);

#endif
