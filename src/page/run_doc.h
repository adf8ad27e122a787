/* The report on stored runs as a document: results and criteria, the machine, the course over time, and every
 * metric. Several runs are compared first. Knows no database. One thread at a time. */
#ifndef KVF_PAGE_RUN_DOC_H
#define KVF_PAGE_RUN_DOC_H

#include <stddef.h>

#include "base/err.h"
#include "compare/comparison.h"
#include "page/doc.h"
#include "record/run.h"
#include "record/series.h"
#include "record/trials.h"

/* The requests of a log of --request-log, in the order of their arrival. */
struct run_request {
    double arrival_s, e2e_ms;
    uint32_t klass; /* its number below */
    bool failed;
};
struct run_requests {
    struct run_request *of;
    size_t count, cap;
    char **name; /* of the classes */
    uint32_t classes;
};
/* 0, or -KVF_ERR_USAGE for a file that cannot be read or is not a request log. Call run_requests_free() in
 * any case. */
int run_requests_read(const char *path, struct run_requests *out, struct err *e);
/* Reads the run's own request log if it still exists unchanged; otherwise there are no requests. */
void run_requests_own(const struct run_record *r, struct run_requests *out);
void run_requests_free(struct run_requests *r);

struct run_doc_source { /* a run as it is stored */
    struct run_record run;
    struct series series;         /* with RUN_DOC_PARTS */
    struct trials trials;         /* of the group it is one of; zeroed: none */
    struct run_requests requests; /* zeroed: none */
};
enum { RUN_DOC_PARTS = SERIES_TIERS | SERIES_CLASSES | SERIES_GPUS | SERIES_REMOTE };

/* With more runs than this, only the verdict of each follows the comparison. */
enum { RUN_DOC_WHOLE = 8 };

/* `count` is at least 1; from two on `c` compares them, in their order. The document copies its data;
 * the caller frees it. */
struct doc *run_doc_new(const struct run_doc_source *runs, size_t count, const struct comparison *c);

/* A chart of latencies over their percentile, and the curve of a stored histogram in it, if there is one:
 * colour and dash are of this number. */
struct plot *run_plot_distribution(const char *title);
void run_plot_curve(struct plot *plot, const struct run_record *r, const char *scope, const char *name,
                    unsigned number);

/* Complete lists; a summary shows only their most important rows. */
enum run_list {
    RUN_DECISIONS, /* of the autoscaler */
    RUN_EVENTS,
    RUN_CRITERIA, /* of the assessment */
    RUN_MEASURES, /* all results */
    RUN_RANKS,    /* of a run of several */
    RUN_LISTS
};
const char *run_list_name(enum run_list list); /* "decisions", ... */
/* For a terminal: a heading and a table at its natural width, or ": none". */
void run_list_text(enum run_list list, const struct run_record *r, const struct format_style *style,
                   struct buf *out);
/* The summary of a run on a terminal, one screen: load, latencies, tiers, hits by cause, the kernel's
 * counters beside ours, classes, and last the sentence "Bottleneck: ...". Missing data is "--". */
void run_summary_text(const struct run_record *r, const struct format_style *style, struct buf *out);
/* For a run that is one of several trials: a line for each, then median, mean, spread and confidence interval
 * of the usual metrics. */
void run_trials_text(const struct run_record *r, const struct trials *t, const struct format_style *style,
                     struct buf *out);
/* The table of criteria of a run, or of each of its trials; nothing without criteria. */
void run_doc_criteria(struct doc *d, const struct run_record *runs, size_t count);

#endif
