/* A sweep as text, JSON and CSV, as it ends or from the database. Knows neither. */
#ifndef KVF_REPORT_OUTCOME_H
#define KVF_REPORT_OUTCOME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "record/outcome.h"
#include "report/format.h"
#include "report/report.h"

/* Where a point is: "tiers.cpu.capacity=1GiB workload.users=10". */
void outcome_label(const struct outcome *o, size_t point, struct buf *out);
/* Combination of variants: "small, fast"; "" without groups. */
void outcome_configuration_label(const struct outcome *o, size_t configuration, struct buf *out);
/* A measure without its _ms, whose values have their unit beside them. */
struct outcome_title {
    char text[64];
} outcome_measure_title(const char *metric);
/* "--" when missing. */
struct cell outcome_cell(const struct outcome *o, double v, size_t measure);
struct cell outcome_change(double delta); /* "+1.5 %" */

/* The table of all points, the best, and the peaks. */
void outcome_table(const struct outcome *o, const struct report_style *style, struct buf *out);
/* Below it: points that failed, the answer, warnings. */
void outcome_closing(const struct outcome *o, struct buf *out);

/* The version rises when a member goes or changes its meaning, not when one comes. */
#define OUTCOME_JSON_SCHEMA "kvfall-sweep"
enum { OUTCOME_JSON_VERSION = 1 };
/* {"schema", "version", "sweep": {...}, "points": [...], "peaks": [...], "curves": [...], "warnings": [...]};
 * missing is null. */
void outcome_json(const struct outcome *o, struct buf *out);
/* A row for each point: where it is, how it ended, every measure of the runs. Of profile miss_ratio a row for
 * each policy and capacity. */
void outcome_csv(const struct outcome *o, struct buf *out);
/* A row for each combination of variants, or the best point alone without them. */
void outcome_peaks_csv(const struct outcome *o, struct buf *out);
/* A workbook with the sheets sweep, peaks and points; of profile miss_ratio sweep and curves. 0 or a negative
 * code. */
int outcome_xlsx(const struct outcome *o, struct buf *out, struct err *e);

/* What `export` makes of a sweep; the first is what it makes unless told. */
struct outcome_format {
    const char *name;   /* as --format has it */
    const char *suffix; /* of the files that are written so unless told; NULL: none */
    const char *help;   /* one phrase */
    bool binary;        /* nothing for a terminal */
    int (*write)(const struct outcome *o, struct buf *out, struct err *e);
};
extern const struct outcome_format outcome_formats[];
extern const size_t outcome_format_count;
/* Adds a line for each that runs do not have: help. */
void outcome_formats_list(struct buf *out);

#endif
