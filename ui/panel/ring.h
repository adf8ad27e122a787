/* A ring of time slots for history.c: each holds one interval or several that lie in the same stretch of
 * slot_s, joined as each series asks, and knows from when to when it speaks. A ring with a span drops
 * its oldest slots; one without (span_s 0) joins neighbours and doubles slot_s when it is full. Screen thread
 * only. */
#ifndef KVF_UI_PANEL_RING_H
#define KVF_UI_PANEL_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ui/panel/history.h"

enum ring_join { JOIN_MEAN, JOIN_MAX, JOIN_LAST };

struct ring_slot {
    double from_s, to_s; /* run time; slots are in order and do not overlap */
    int64_t place;       /* the stretch of slot_s its intervals have their middle in */
};
struct ring_cell {
    float value;  /* NaN: missing */
    float weight; /* seconds that speak for it */
};
struct ring_axis {
    double top;     /* where the axis ends; 0: no data */
    double calm_at; /* below it the top may fall */
    float peak;     /* largest value in the span */
    uint8_t calm;   /* intervals in a row below calm_at */
    bool stale;     /* the peak has to be looked for again */
};
struct ring {
    double slot_s, span_s;
    bool lost;            /* slots have been dropped */
    size_t first, count;  /* in the arrays below, going round */
    size_t hidden;        /* the oldest of them, which lie before the span */
    const uint8_t *joins; /* enum ring_join of each series */
    struct ring_slot slot[HISTORY_SLOTS];
    struct ring_cell cell[SERIES_NUMBER][HISTORY_SLOTS];
    uint32_t heat[HISTORY_SLOTS][SNAPSHOT_HEATS][SNAPSHOT_HEAT_BINS];
    struct ring_axis axis[SERIES_NUMBER];
};

void ring_init(struct ring *r, double slot_s, double span_s, const uint8_t *joins); /* r is zeroed */
/* An interval after all before it: from_s < to_s, not below the last to_s. values: SERIES_NUMBER. */
void ring_add(struct ring *r, double from_s, double to_s, const float *values,
              const uint32_t heat[][SNAPSHOT_HEAT_BINS]);
bool ring_reaches(const struct ring *r, double from_s); /* nothing from then on has been dropped */
void ring_series(const struct ring *r, int series, double from_s, double to_s, size_t points, float *out);
void ring_heat(const struct ring *r, int scope, double from_s, double to_s, size_t points, uint32_t *counts);
double ring_top(const struct ring *r, int series);
/* The round number at the end of an axis over that stretch alone; 0 when there is no data. */
double ring_top_of(const struct ring *r, int series, double from_s, double to_s);

#endif
