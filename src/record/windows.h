/* Windows: the measurements of the last second, ten seconds or minute of run time, or of the measured part so
 * far. One writer, the sampler; any number of readers, which may miss some. */
#ifndef KVF_RECORD_WINDOWS_H
#define KVF_RECORD_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "record/metric.h"
#include "record/snapshot.h"
#include "record/verdict.h"

/* X(id, seconds of run time, name); 0: all of it. */
#define WINDOWS_LIST(X)                                                                                      \
    X(SECOND, 1, "1 s")                                                                                      \
    X(TEN, 10, "10 s")                                                                                       \
    X(MINUTE, 60, "60 s")                                                                                    \
    X(RUN, 0, "run")
#define X(id, seconds, name) WINDOWS_##id,
enum windows_span { WINDOWS_LIST(X) WINDOWS_SPANS };
#undef X
const char *windows_name(enum windows_span s);
double windows_seconds(enum windows_span s); /* 0 for all of the run */

/* P50, P95 and P99 in ms; NaN where the samples are too few. */
struct windows_levels {
    double p50_ms, p95_ms, p99_ms;
};
/* Parts of an entry's read or write: all of it, the part at the device, the rest (queueing, software). */
enum windows_part { WINDOWS_TOTAL, WINDOWS_DEVICE, WINDOWS_LINE, WINDOWS_PARTS };
/* Latencies of a class's requests. */
enum windows_latency { WINDOWS_TTFT, WINDOWS_E2E, WINDOWS_LATENCIES };

/* One window: a snapshot whose counts, rates, percentiles and means cover its whole time (interval.length_s)
 * and whose gauges are those at its end; percentiles that no snapshot has; and the verdict on it. */
struct windows_view {
    struct snapshot snap;
    struct windows_levels op[KVF_TIERS][KVF_DIRS][WINDOWS_PARTS];
    struct windows_levels klass[KVF_CLASSES_MAX][WINDOWS_LATENCIES];
    struct metric_break_even break_even[KVF_TIERS]; /* of the run so far (engine/limits/breakeven.h) */
    struct verdict verdict;
};

struct windows;
struct windows *windows_new(void);    /* aborts when memory is exhausted */
void windows_free(struct windows *w); /* takes NULL */
/* Publishes a window; never waits. Sampler thread only. */
void windows_put(struct windows *w, enum windows_span s, const struct windows_view *view);
/* Copies the newest one; false (out untouched) when there is none newer than *version, which starts at 0 and
 * is updated. Any thread. */
bool windows_get(struct windows *w, enum windows_span s, struct windows_view *out, uint64_t *version);

#endif
