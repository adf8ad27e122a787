/* Preparation before the clock starts, in consecutive steps. Each step is a stream of entries that all
 * workers write in parallel, in the same way as entries of requests. They are not counted as requests, and
 * their I/O is not part of the results.
 *
 * During a step any thread with a free slot calls next(), with queue_lock held; the control thread calls
 * begin(), progress() and end(). */
#ifndef KVF_ENGINE_ARRIVALS_PREPARE_H
#define KVF_ENGINE_ARRIVALS_PREPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/arrivals/ingest.h"
#include "engine/pipeline/flight.h"

struct engine;
struct sizes;

/* Entries of the step under way, queue_lock. */
struct prepare {
    uint64_t made;       /* so far */
    uint64_t out;        /* not ended yet */
    uint64_t total;      /* entries, or bytes, there will be */
    uint64_t made_bytes; /* of what was made */
    uint64_t out_bytes;  /* not ended yet */
    uint64_t done_bytes; /* ended well */
    struct sizes *sizes; /* precondition, prepopulate */
    int tier;            /* prepopulate: that is being filled */
    uint64_t room_bytes; /* prepopulate: left to fill in it */
};

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

struct preparation {
    const struct prepare_step *step; /* under way; NULL: none; queue_lock */
    struct prepare now;
    struct ingest ingest;                              /* queue_lock */
    uint64_t preconditioned_bytes, prepopulated_bytes; /* of the steps that have ended; control thread */
};

/* In order; the last one has no name. */
extern const struct prepare_step prepare_steps[];

/* Goes on with a step of the preparation: true while any of it is under way. Then, or when the run ends,
 * prepare_end(), after which the step is not called any more. */
bool prepare_go_on(struct engine *e, const struct prepare_step *step, char *what, size_t len, double *share);
void prepare_end(struct engine *e);
/* An entry of the step under way has ended. The caller holds queue_lock. */
void prepare_ended(struct engine *e, const struct flight *f);

#endif
