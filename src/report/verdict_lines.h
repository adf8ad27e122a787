/* The verdict as lines of the text summary: warnings, what limited the run, what would help by how much. */
#ifndef KVF_REPORT_VERDICT_LINES_H
#define KVF_REPORT_VERDICT_LINES_H

#include "record/verdict.h"
#include "report/format.h"

void verdict_lines(struct format_page *p, const struct verdict *v);

#endif
