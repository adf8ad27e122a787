/* Parts of the summary as lines: how the QoS classes did (targets, requests done, failed and open, starved
 * classes), and the verdict with its warnings and what would help by how much. */
#ifndef KVF_PAGE_SUMMARY_LINES_H
#define KVF_PAGE_SUMMARY_LINES_H

#include "draw/format.h"
#include "record/run.h"

void summary_class_lines(struct format_page *p, const struct run_record *run);
void summary_verdict_lines(struct format_page *p, const struct verdict *v);

#endif
