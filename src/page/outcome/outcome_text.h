/* Names and numbers of a sweep, as in its document. Any thread. */
#ifndef KVF_PAGE_OUTCOME_OUTCOME_TEXT_H
#define KVF_PAGE_OUTCOME_OUTCOME_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "draw/format.h"
#include "record/outcome.h"

/* Appends the values of a point: "tiers.cpu.capacity=1GiB workload.users=10". */
void outcome_label(const struct outcome *o, size_t point, struct buf *out);
/* The name of a metric in table heads: "tokens/s". */
struct outcome_title {
    char text[64];
} outcome_measure_title(const char *metric);
/* The name of a dimension: "cpu capacity", "users". */
struct outcome_title outcome_dimension_words(const struct outcome_dimension *d);
/* A value of a metric; "--": missing. */
struct format_cell outcome_cell(const struct outcome *o, double v, size_t measure);
struct format_cell outcome_change(double delta); /* "+1.5 %" */
/* Why fewer hits can be faster at a granularity, with a modelled GPU or without. Static. */
const char *outcome_why_faster(bool by_blocks, bool computes);

#endif
