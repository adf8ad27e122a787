/* A comparison as blocks of a document, for reports and for the terminal. Any thread. */
#ifndef KVF_PAGE_COMPARISON_DOC_H
#define KVF_PAGE_COMPARISON_DOC_H

#include "compare/comparison.h"
#include "page/doc.h"

/* Adds the verdicts, the sides, warnings, keys that differ, metrics and how noise was told. In `columns`
 * characters the metrics of many sides take several tables, and intervals only what is left; 0: for a page.
 */
void comparison_put(struct doc *d, const struct comparison *c, unsigned columns);
/* The same for a terminal, with what was checked: 80 columns for two runs. */
void comparison_text(const struct comparison *c, const struct format_style *style, struct buf *out);

#endif
