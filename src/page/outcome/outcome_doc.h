/* The report on a sweep as a document: how it ended, the best, charts of every measure over what was swept,
 * differences from the baseline, and the table of all points. Knows no database. */
#ifndef KVF_PAGE_OUTCOME_OUTCOME_DOC_H
#define KVF_PAGE_OUTCOME_OUTCOME_DOC_H

#include "page/doc.h"
#include "record/outcome.h"

/* The document copies its data; the caller frees it. */
struct doc *outcome_doc(const struct outcome *o);
/* The end of `kvfall sweep`: the tables of points and peaks where `table`, what failed, the answer, warnings.
 */
struct doc *outcome_doc_end(const struct outcome *o, bool table);

/* Its charts, each a block of the document (outcome_charts.c). */
void outcome_put_charts(const struct outcome *o, struct doc *d);
void outcome_put_search(const struct outcome *o, struct doc *d); /* profile capacity */
void outcome_put_curves(const struct outcome *o, struct doc *d); /* profile miss_ratio */
/* Differences of the peaks from the baseline's: the last group of variants across, the others in rows. */
void outcome_put_heat(const struct outcome *o, struct doc *d);
/* Of a sweep with variants: how each two of its measures go along over all points. */
void outcome_put_correlations(const struct outcome *o, struct doc *d);
/* Of a sweep of two keys: each measure as a table of colours, one key across and the other in rows. */
void outcome_put_table(const struct outcome *o, struct doc *d);
/* Targets in a chart of this latency, and the knees of one over throughput. */
void outcome_put_limits(const struct outcome *o, const char *metric, struct plot *p);

/* How the points fall into lines over an axis. */
enum { OUTCOME_LINES = 12, OUTCOME_FACETS = 12 }; /* that one chart shows; small charts side by side */
struct outcome_lines {
    unsigned x;     /* the dimension along the axis; OUTCOME_DIMENSIONS: what is measured, of profile rates */
    unsigned facet; /* the dimension with a small chart for each value; OUTCOME_DIMENSIONS: none */
    bool numbers;   /* its values are numbers */
    bool log;       /* they grow by factors rather than by steps */
    size_t count;   /* lines: combinations of the other dimensions that have points */
    size_t *of;     /* by point: its line */
    size_t *example; /* by line: a point of it */
};
void outcome_lines_make(const struct outcome *o, struct outcome_lines *l);
void outcome_lines_free(struct outcome_lines *l);
/* Whether a dimension tells lines apart. */
bool outcome_line_part(const struct outcome *o, const struct outcome_lines *l, unsigned dimension);
/* "small, cache.eviction lru"; "all" when nothing but x varies. */
void outcome_line_name(const struct outcome *o, const struct outcome_lines *l, size_t line, struct buf *out);
/* Measures worth a chart: those the sweep is about, and throughput, TTFT and end-to-end P95 in any case. */
enum { OUTCOME_CHARTS = 10 };
size_t outcome_charted(const struct outcome *o, size_t measure[OUTCOME_CHARTS]);

#endif
