/* A sweep as JSON, CSV and workbook, as it ends or from the database. Knows neither. Any thread. */
#ifndef KVF_EXPORT_OUTCOME_FORMAT_H
#define KVF_EXPORT_OUTCOME_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "record/outcome.h"

/* The version rises when a member goes or changes its meaning, not when one comes. */
#define OUTCOME_JSON_SCHEMA "kvfall-sweep"
enum { OUTCOME_JSON_VERSION = 1 };
/* {"schema", "version", "sweep": {...}, "points": [...], "peaks": [...], "curves": [...], "warnings": [...]};
 * missing is null. */
void outcome_json(const struct outcome *o, struct buf *out);
/* A row for each point: where it is, how it ended, every measure of the runs. Of profile miss_ratio a row for
 * each policy and capacity. */
void outcome_csv(const struct outcome *o, struct buf *out);
/* A workbook with the sheets sweep, peaks and points; of profile miss_ratio sweep and curves. 0 or a negative
 * code. */
int outcome_xlsx(const struct outcome *o, struct buf *out, struct err *e);

/* The formats in which `export` writes a sweep; the first is the default. */
struct outcome_format {
    const char *name;   /* as --format has it */
    const char *suffix; /* default ending of its files */
    const char *help;   /* one phrase */
    bool binary;        /* nothing for a terminal */
    int (*write)(const struct outcome *o, struct buf *out, struct err *e);
};
extern const struct outcome_format outcome_formats[];
extern const size_t outcome_format_count;

#endif
