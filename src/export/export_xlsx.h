/* The sheets of a workbook of runs. One thread; each returns 0 or a negative code. */
#ifndef KVF_EXPORT_EXPORT_XLSX_H
#define KVF_EXPORT_EXPORT_XLSX_H

#include "export/book.h"
#include "export/export.h"

struct xlsx {
    struct book book;
    const struct export_run *runs;
    size_t count;
};

/* Each adds a page; 0 or -KVF_ERR_IO. */
int xlsx_summary(struct xlsx *x, struct err *e);    /* what ran and how it ended; a column for each run */
int xlsx_parameters(struct xlsx *x, struct err *e); /* the configurations, key by key, likewise */
int xlsx_metrics(struct xlsx *x, struct err *e);    /* all results with their units and samples, likewise */
int xlsx_qos(struct xlsx *x, struct err *e);        /* a row for each run and class */
int xlsx_intervals(struct xlsx *x, struct err *e);  /* a row for each run and interval, and charts of them */

#endif
