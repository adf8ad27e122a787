/* A device that hangs: it has been given work, or a call into it has not come back, and nothing of it ends.
 * Looked for while the run goes on and at its end, which waits for the workers. */
#ifndef KVF_ENGINE_HANG_H
#define KVF_ENGINE_HANG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/terms.h"

struct engine;
struct run_record;

/* The last observation of a worker at a tier. */
struct hang_seen {
    uint64_t completions; /* chunks that had come back */
    uint64_t call;        /* number of its call; odd: under way */
    uint64_t stalled_ns;  /* for so long nothing has come back */
    uint64_t called_ns;   /* for so long it has been in this call */
    bool waiting;         /* chunks were there */
};

struct hang {
    struct hang_seen *seen; /* worker after worker, KVF_TIERS each; NULL: nothing is watched */
    bool watched[KVF_TIERS];
    double hung_s[KVF_TIERS]; /* now; 0: it does not hang */
    double most_s[KVF_TIERS]; /* in the interval */
    uint64_t limit_ns;        /* from which on it hangs */
    uint64_t looked_ns;       /* real time of the last look */
    char at_end[200];         /* what hung when the run ended; "" nothing */
    _Atomic bool given_up;    /* the end does not wait any more; workers that come back stand still */
};

/* All by the control thread. */
void hang_open(struct engine *e); /* when tiers and counters are there */
void hang_close(struct engine *e);
void hang_look(struct engine *e); /* says what begins to hang and what goes on again */
/* For how long the control thread may sleep at most; KVF_NEVER: as long as it likes. */
uint64_t hang_patience_ns(const struct engine *e);
bool hang_is(const struct engine *e); /* some tier does */
/* The longest in the interval until now, which begins anew unless it is only peeked at; missing: the tier is
 * none that can hang. */
double hang_interval_s(struct engine *e, enum kvf_tier tier, bool peek);
/* Joins the workers, looking on meanwhile. false: what hangs did not come back in three times the time that
 * makes it hang. Its worker goes on for ever, and nothing that it may touch can be freed. */
bool hang_join(struct engine *e);
/* A run whose device hung at its end has failed, whatever else is said of it. */
void hang_fail(const struct engine *e, struct run_record *run);

#endif
