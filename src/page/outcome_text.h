/* A sweep as text for people, and the names and numbers that its document shares with it. Any thread. */
#ifndef KVF_PAGE_OUTCOME_TEXT_H
#define KVF_PAGE_OUTCOME_TEXT_H

#include <stddef.h>

#include "base/buf.h"
#include "draw/format.h"
#include "record/outcome.h"

/* Where a point is: "tiers.cpu.capacity=1GiB workload.users=10". */
void outcome_label(const struct outcome *o, size_t point, struct buf *out);
/* Combination of variants: "small, fast"; "" without groups. */
void outcome_configuration_label(const struct outcome *o, size_t configuration, struct buf *out);
/* A measure without its _ms, whose values have their unit beside them. */
struct outcome_title {
    char text[64];
} outcome_measure_title(const char *metric);
/* "--" when missing. */
struct format_cell outcome_cell(const struct outcome *o, double v, size_t measure);
struct format_cell outcome_change(double delta); /* "+1.5 %" */

/* The table of all points, the best, and the peaks. */
void outcome_table(const struct outcome *o, const struct format_style *style, struct buf *out);
/* Below it: points that failed, the answer, warnings. */
void outcome_closing(const struct outcome *o, struct buf *out);

#endif
