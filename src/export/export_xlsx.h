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

/* Adds a row for each run and interval, and charts of them. 0 or -KVF_ERR_IO. */
int xlsx_intervals(struct xlsx *x, struct err *e);

#endif
