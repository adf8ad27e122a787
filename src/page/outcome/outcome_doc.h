/* The report on a sweep as a document: its end, its best points, a chart of each metric over the swept
 * values, differences from the baseline, and a table of all points. Reads plain data only. Any thread. */
#ifndef KVF_PAGE_OUTCOME_OUTCOME_DOC_H
#define KVF_PAGE_OUTCOME_OUTCOME_DOC_H

#include "page/doc.h"
#include "record/outcome.h"

/* A document with copies of the data; the caller frees it. */
struct doc *outcome_doc(const struct outcome *o);
/* The closing output of `kvfall sweep`: failures, the answer and warnings, with `table` also the tables of
 * points and peaks. */
struct doc *outcome_doc_end(const struct outcome *o, bool table);

/* Appends a chart for each metric (outcome_charts.c). */
void outcome_put_charts(const struct outcome *o, struct doc *d);
void outcome_put_search(const struct outcome *o, struct doc *d); /* profile capacity */
void outcome_put_curves(const struct outcome *o, struct doc *d); /* profile miss_ratio */
/* Adds a tile for the best of each charted measure. */
void outcome_put_best(const struct outcome *o, struct doc *d);
/* Adds "Best end-to-end P95: 42.0 ms at tiers.cpu.capacity=1GiB", or the points that are as good, where keys
 * vary. */
void outcome_put_best_line(const struct outcome *o, struct doc *d);
/* Warns where the best only looks so: its requests were smaller, or its misses make no work. */
void outcome_put_doubts(const struct outcome *o, struct doc *d);
/* Appends the peaks' differences from the baseline's: columns for the last group of variants, rows for the
 * others. */
void outcome_put_heat(const struct outcome *o, struct doc *d);
/* For a sweep with variants: appends the correlation of each two metrics over all points. */
void outcome_put_correlations(const struct outcome *o, struct doc *d);
/* For a sweep of two keys: appends a coloured table of each metric, one key in columns, the other in rows. */
void outcome_put_table(const struct outcome *o, struct doc *d);
/* Adds targets to a chart of this latency, and knees if the chart is over throughput. */
void outcome_put_limits(const struct outcome *o, const char *metric, struct plot *p);

/* How a chart divides points into lines. */
enum { OUTCOME_LINES = 12, OUTCOME_FACETS = 12 }; /* most lines of a chart; most small charts side by side */
struct outcome_lines {
    unsigned x;      /* dimension of the x axis; OUTCOME_DIMENSIONS: a metric, for profile rates */
    unsigned facet;  /* dimension with a small chart per value; OUTCOME_DIMENSIONS: none */
    bool numbers;    /* the x values are numbers */
    bool log;        /* they grow by factors, so the axis is logarithmic */
    size_t count;    /* number of lines: combinations of the other dimensions that have points */
    size_t *of;      /* line, by point */
    size_t *example; /* a point, by line */
};
void outcome_lines_make(const struct outcome *o, struct outcome_lines *l);
void outcome_lines_free(struct outcome_lines *l);
/* Whether lines differ in a dimension. */
bool outcome_line_part(const struct outcome *o, const struct outcome_lines *l, unsigned dimension);
/* Appends the name of a line: "small, cache.eviction lru"; "all" if only x varies. */
void outcome_line_name(const struct outcome *o, const struct outcome_lines *l, size_t line, struct buf *out);
/* The metrics that get a chart: the sweep's own, and always throughput, TTFT and end-to-end P95. Returns
 * their number. */
enum { OUTCOME_CHARTS = 10 };
size_t outcome_charted(const struct outcome *o, size_t measure[OUTCOME_CHARTS]);

#endif
