/* What the measures of a run are called, and which way is good: one table, for comparisons, sweeps and
 * reports. Any thread. */
#ifndef KVF_RECORD_MEASURE_H
#define KVF_RECORD_MEASURE_H

#include <stdbool.h>
#include <stddef.h>

enum measure_better { MEASURE_NEUTRAL, MEASURE_HIGHER, MEASURE_LOWER };

/* A row; the first that fits a metric counts, and the last fits all. */
struct measure_kind {
    const char *metric; /* a name, or a pattern with one star */
    const char *label;  /* with a star for what the pattern's stands for; NULL: the name */
    enum measure_better better;
    bool main;    /* of the usual selection */
    bool watched; /* for regressions, unless told */
    bool quiet;   /* no row of the usual selection where it is 0 everywhere */
};
extern const struct measure_kind measure_kinds[];
extern const size_t measure_kind_count;
const struct measure_kind *measure_kind(const char *metric);
/* What people call it, of its kind. */
void measure_label(const struct measure_kind *k, const char *metric, char *out, size_t len);
enum measure_better measure_better(const char *metric);
/* The i-th metric of the usual selection, but for those of classes; NULL behind the last. */
const char *measure_usual(size_t i);
const char *measure_better_word(enum measure_better b); /* "higher", "lower", "" */

#endif
