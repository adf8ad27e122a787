/* Names and numbers of a sweep as its document has them. Any thread. */
#ifndef KVF_PAGE_OUTCOME_OUTCOME_TEXT_H
#define KVF_PAGE_OUTCOME_OUTCOME_TEXT_H

#include <stddef.h>

#include "base/buf.h"
#include "draw/format.h"
#include "record/outcome.h"

/* Where a point is: "tiers.cpu.capacity=1GiB workload.users=10". */
void outcome_label(const struct outcome *o, size_t point, struct buf *out);
/* A measure in words, as the heads of tables have them: "tokens/s". */
struct outcome_title {
    char text[64];
} outcome_measure_title(const char *metric);
/* The same as titles have it: "TTFT P95", "Tokens/s". */
struct outcome_title outcome_measure_words(const char *metric);
/* A dimension in words: "cpu capacity", "users". */
struct outcome_title outcome_dimension_words(const struct outcome_dimension *d);
/* "--" when missing. */
struct format_cell outcome_cell(const struct outcome *o, double v, size_t measure);
struct format_cell outcome_change(double delta); /* "+1.5 %" */

#endif
