/* Preparation before the clock starts: steps, one after the other, each a stream of entries that are written
 * like those of requests, by all workers side by side, but are no requests of the workload: they are
 * counted nowhere as such, and what they read and write is before the results.
 *
 * While a step is under way its next() is called by whichever thread has a slot to fill, with queue_lock
 * held; begin(), progress() and end() by the control thread. */
#ifndef KVF_ENGINE_PREPARE_H
#define KVF_ENGINE_PREPARE_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/pipeline/flight.h"

struct engine;
struct prepare_step {
    const char *name;
    /* Whether the scenario asks for the step and it has anything to do. */
    bool (*begin)(struct engine *e);
    /* The next entry: its key, size and cause are put into the flight. False: there are no more now;
     * asked again after each end of one. */
    bool (*next)(struct engine *e, struct flight *f);
    /* How much of it is done, 0 to 1, and what is being done in a few words. queue_lock is held. */
    double (*progress)(const struct engine *e, char *what, size_t len);
    /* Nothing of it is under way any more, or the run ends (complete false) and no call follows. NULL:
     * nothing to do. */
    void (*end)(struct engine *e, bool complete);
};

/* In order; the last one has no name. */
extern const struct prepare_step prepare_steps[];

#endif
