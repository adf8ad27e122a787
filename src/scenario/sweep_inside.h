/* Series of numbers between two ends, which the loader checks and the plan expands. One thread at a time. */
#ifndef KVF_SCENARIO_SWEEP_INSIDE_H
#define KVF_SCENARIO_SWEEP_INSIDE_H

#include "scenario/loading.h"
#include "scenario/sweep_plan.h"

struct series {
    enum key_kind kind;
    double from, to; /* in the base unit */
    double grain;    /* whole kinds: values between are multiples of it */
    size_t points;
    bool log;
};

/* Reads {from, to, points, scale} for values of a kind. False when it cannot be used (reported). */
bool sweep_series_read(struct loading *l, const char *name, enum key_kind kind, const struct node *n,
                       struct series *out);
double sweep_series_value(const struct series *s, size_t i); /* point i from 0, in the base unit */
/* Appends a value as JSON, which YAML reads as the same value. */
void sweep_node_json(const struct node *n, struct buf *out);
bool sweep_kind_counts(enum key_kind kind); /* whether its values are numbers */
/* A text of the kind as a number in its base unit, false when it is none; and back. */
bool sweep_series_number(enum key_kind kind, const char *text, double *v);
char *sweep_series_text(enum key_kind kind, double v, char out[SWEEP_VALUE]);

#endif
