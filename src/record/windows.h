/* Windows: what was measured over the last second, ten seconds or minute of run time, or since the measured
 * part began. One writer, the sampler; any number of readers, who may miss some. */
#ifndef KVF_RECORD_WINDOWS_H
#define KVF_RECORD_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

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
enum windows_span windows_parse(const char *name); /* WINDOWS_SPANS when unknown */
double windows_seconds(enum windows_span s);       /* 0 for all of the run */

/* Of one window: a snapshot whose counts, rates, percentiles and means are of all of its time, which is
 * interval.length_s, and whose gauges are those at its end; and the verdict on it. */
struct windows_view {
    struct snapshot snap;
    struct verdict verdict;
};

struct windows;
struct windows *windows_new(void);    /* aborts when memory is exhausted */
void windows_free(struct windows *w); /* takes NULL */
/* The sampler's thread only; never waits. */
void windows_put(struct windows *w, enum windows_span s, const struct windows_view *view);
/* Copies the newest one; false (out untouched) when there is none newer than *version, which starts at 0 and
 * is updated. Any thread. */
bool windows_get(struct windows *w, enum windows_span s, struct windows_view *out, uint64_t *version);
uint64_t windows_version(const struct windows *w, enum windows_span s); /* of the newest one, 0: none */

#endif
