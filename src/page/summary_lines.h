/* Parts of the summary as lines: the QoS classes (targets, requests done, failed and open, starved classes),
 * and the verdict with its warnings and remedies. One thread at a time. */
#ifndef KVF_PAGE_SUMMARY_LINES_H
#define KVF_PAGE_SUMMARY_LINES_H

#include "draw/format.h"
#include "record/run.h"

/* Append the lines; nothing where there are no classes, or no verdict. */
void summary_class_lines(struct format_page *p, const struct run_record *run);
void summary_verdict_lines(struct format_page *p, const struct verdict *v);

#endif
