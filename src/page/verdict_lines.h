/* The verdict as lines of the text summary: warnings, what limited the run, what would help by how much. */
#ifndef KVF_PAGE_VERDICT_LINES_H
#define KVF_PAGE_VERDICT_LINES_H

#include "draw/format.h"
#include "record/verdict.h"

void verdict_lines(struct format_page *p, const struct verdict *v);

#endif
