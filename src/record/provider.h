/* The source of a screen's content: the live engine or the database. Every function is called on the screen's
 * thread only and returns soon. */
#ifndef KVF_RECORD_PROVIDER_H
#define KVF_RECORD_PROVIDER_H

#include <stdbool.h>
#include <stdint.h>

#include "record/publish.h"
#include "record/run.h"
#include "record/snapshot.h"
#include "record/windows.h"

struct provider_status {
    bool ended;          /* nothing more will come, and `run` is complete: results, bottleneck, status */
    bool stalled;        /* the run says it goes on and nothing has come for a while (watch) */
    bool storing;        /* the engine has ended; the database still takes what it has left */
    bool paused;         /* it stands still: for stored ones, whose intervals do not say so */
    bool reading;        /* a window is being put together: ask for it again at once */
    bool behind;         /* there is more that could not be read just now: ask again */
    char preparing[120]; /* what is done before the clock, "" otherwise */
    double prepared;     /* share of it, 0 to 1 */
};

struct provider {
    void *ctx;
    /* The run on the screen. While the run goes on only what was known before it began may be read: names,
     * model, mode, seed, classes with their targets, configuration. */
    const struct run_record *run;
    double planned_s;    /* warm-up and duration of the scenario; 0: not known */
    double interval_s;   /* of the scenario */
    char generation[16]; /* compute.mode at the start */
    char autoscaler[16]; /* autoscaler.mode at the start; "" where only decisions tell */
    bool stored;         /* snapshots come from the database, whole and in order */
    /* The next snapshot after *version (0 at first), which it moves on; false when there is none yet. A
     * live provider gives the newest and may leave some out; a stored one gives each. */
    bool (*next)(void *ctx, struct snapshot *out, uint64_t *version);
    /* The last interval that ended at or before run time t_s, or the first one; false when it is not to
     * be had. NULL: there is no way back. */
    bool (*at)(void *ctx, double t_s, struct snapshot *out);
    /* The interval `steps` before (negative) or after the one that ended at t_s, cut to what there is. */
    bool (*step)(void *ctx, double t_s, int steps, struct snapshot *out);
    /* The measurements of a window that ends at run time end_s (NaN: at the newest interval). False when
     * it is not to be had, or is the one of *version, which starts at 0 and is updated. May be NULL. */
    bool (*window)(void *ctx, enum windows_span span, double end_s, struct windows_view *out,
                   uint64_t *version);
    bool (*event)(void *ctx, struct record_event *out); /* the next event, in order; false: none yet */
    void (*status)(void *ctx, struct provider_status *out);
};

#endif
