/* The screen's memory of a run: every interval goes in once, on arrival, into three rings of
 * time slots (last minute, last ten minutes, all), so that a run of any length takes the same memory
 * and is shown in full: where a ring's slots are longer than an interval, several intervals share a
 * slot, by the mean, the largest or the last value as the series asks. The slots of the ring for all
 * double in length whenever it is full.
 *
 * Memory: HISTORY_SLOTS slots a ring, and HISTORY_EVENTS and HISTORY_DECISIONS newest of their kind, all
 * of it from the beginning, whatever the length of the run. One thread. */
#ifndef KVF_UI_PANEL_HISTORY_H
#define KVF_UI_PANEL_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/publish.h"
#include "record/snapshot.h"

#define ZOOM_LIST(X) X(MINUTE, "1 min") X(TEN, "10 min") X(ALL, "all")
#define X(id, name)  ZOOM_##id,
enum zoom { ZOOM_LIST(X) ZOOMS };
#undef X
const char *zoom_name(enum zoom z); /* "1 min" */

enum { HISTORY_SLOTS = 1200, HISTORY_EVENTS = 1000, HISTORY_DECISIONS = 500 };

/* X(id, how slots are joined, unit) of the whole run; rates are per second of run time. */
#define SERIES_RUN_LIST(X)                                                                                   \
    X(USERS, LAST)                                                                                           \
    X(QUEUE, MAX)                                                                                            \
    X(IN_SERVICE, MEAN)                                                                                      \
    X(TOKENS_PER_S, MEAN)                                                                                    \
    X(REQUESTS_PER_S, MEAN)                                                                                  \
    X(HIT_RATIO, MEAN)                                                                                       \
    X(IO_IN_FLIGHT, MEAN) /* of all tiers */                                                                 \
    X(E2E_P50_MS, MEAN)                                                                                      \
    X(E2E_P95_MS, MAX)                                                                                       \
    X(E2E_P99_MS, MAX)                                                                                       \
    X(TTFT_P95_MS, MAX)                                                                                      \
    X(WAIT_P95_MS, MAX)                                                                                      \
    X(STORAGE_P95_MS, MAX)                                                                                   \
    X(GENERATION_P95_MS, MAX)                                                                                \
    X(SATURATION, MEAN)                                                                                      \
    X(PROCESS_CORES, MEAN) /* (user + kernel) CPU seconds per second */                                      \
    X(HOST_CPU, MEAN)                                                                                        \
    X(HOST_STEAL, MEAN)                                                                                      \
    X(RSS, LAST)                                                                                             \
    X(AVAILABLE, LAST)                                                                                       \
    X(DISK_READ, MEAN) /* the kernel's bytes per second */                                                   \
    X(DISK_WRITE, MEAN)                                                                                      \
    X(DISK_BUSY, MEAN)                                                                                       \
    X(DISK_QUEUE, MEAN)                                                                                      \
    X(NET_RX, MEAN)                                                                                          \
    X(NET_TX, MEAN)
#define SERIES_TIER_LIST(X)                                                                                  \
    X(USED_RATIO, LAST) /* used / usable */                                                                  \
    X(READ, MEAN)       /* bytes per second */                                                               \
    X(WRITE, MEAN)                                                                                           \
    X(READ_P95_MS, MAX)                                                                                      \
    X(WRITE_P95_MS, MAX)                                                                                     \
    X(IN_FLIGHT, MEAN)                                                                                       \
    X(FALLS, MEAN) /* demotions and evictions per second */
#define SERIES_CLASS_LIST(X)                                                                                 \
    X(QUEUED, MAX)                                                                                           \
    X(SERVED, MEAN) /* in service */                                                                         \
    X(MET, MEAN)                                                                                             \
    X(OLDEST_MS, MAX)                                                                                        \
    X(VIOLATIONS, MEAN) /* per second */
#define SERIES_GPU_LIST(X)                                                                                   \
    X(UTILISATION, MEAN)                                                                                     \
    X(MEMORY, LAST) /* bytes in use */
#define X(id, join) SERIES_##id,
enum series_run { SERIES_RUN_LIST(X) SERIES_RUN };
#undef X
#define X(id, join) SERIES_TIER_##id,
enum series_tier { SERIES_TIER_LIST(X) SERIES_OF_TIER };
#undef X
#define X(id, join) SERIES_CLASS_##id,
enum series_class { SERIES_CLASS_LIST(X) SERIES_OF_CLASS };
#undef X
#define X(id, join) SERIES_GPU_##id,
enum series_gpu { SERIES_GPU_LIST(X) SERIES_OF_GPU };
#undef X
enum {
    SERIES_TIER0 = SERIES_RUN,
    SERIES_CLASS0 = SERIES_TIER0 + KVF_TIERS * SERIES_OF_TIER,
    SERIES_GPU0 = SERIES_CLASS0 + KVF_CLASSES_MAX * SERIES_OF_CLASS,
    SERIES_NUMBER = SERIES_GPU0 + SNAPSHOT_GPUS_MAX * SERIES_OF_GPU
};
/* The number of a tier's, a class's or a device's series, for the functions below. */
static inline int series_tier(int tier, enum series_tier s) {
    return SERIES_TIER0 + tier * SERIES_OF_TIER + (int)s;
}
static inline int series_class(int class, enum series_class s) {
    return SERIES_CLASS0 + class * SERIES_OF_CLASS + (int)s;
}
static inline int series_gpu(int place, enum series_gpu s) {
    return SERIES_GPU0 + place * SERIES_OF_GPU + (int)s;
}

struct history;
struct history *history_new(void);    /* aborts when memory is exhausted */
void history_free(struct history *h); /* what it owns */

/* Adds an interval, in order of time. Ignores peeks between intervals (snapshot.peek) and intervals that are
 * not newer than the last one. */
void history_add(struct history *h, const struct snapshot *snap);
void history_event(struct history *h, const struct record_event *e);

/* The stretch of run time that a graph of that zoom ending at `end_s` (NaN: the newest) shows. For the
 * minute and ten minutes it has that length even when the run is shorter; all begins at 0 and ends at
 * the newest interval or end_s, whichever is later. */
void history_span(const struct history *h, enum zoom z, double end_s, double *from_s, double *to_s);
/* A series over that stretch in `points` equal parts, oldest first; parts without data are NaN, but a
 * part shorter than a slot repeats what the slot says. Means weigh by time. */
void history_series(const struct history *h, int series, enum zoom z, double end_s, size_t points,
                    float *out);
/* Where an axis for this series may end in a graph that ends at end_s (NaN: the newest): a round number
 * not below what is shown, 1, 1.5, 2, 3, 4, 5, 6 or 8 x 10^n, 0 when there is no data. At the newest it
 * rises at once and falls only when the values have stayed below half of the next lower one for ten
 * intervals, so that it does not flicker. In the past, where the ring may hold other values than near
 * its end, it is the lowest that holds that stretch. */
double history_top(const struct history *h, int series, enum zoom z, double end_s);
/* Heat of a scope (0 end-to-end, 1 nvme reads, 2 nvme writes) over the stretch: counts[i] is the number
 * of operations in bin i % SNAPSHOT_HEAT_BINS of part i / SNAPSHOT_HEAT_BINS; a part shorter than a slot
 * repeats it. */
void history_heat(const struct history *h, int scope, enum zoom z, double end_s, size_t points,
                  uint32_t *counts);

/* Events and decisions, oldest first; i from 0. Pointers are valid until the next one is added. */
size_t history_events(const struct history *h);
const struct record_event *history_event_at(const struct history *h, size_t i);
size_t history_decisions(const struct history *h);
const struct snapshot_decision *history_decision_at(const struct history *h, size_t i, double *t_s);

#endif
