/* Detection of a hanging device: it has work, or a call into it has not returned, and nothing completes.
 * Watched during the run and at its end, which waits for the workers. */
#ifndef KVF_ENGINE_SERVICE_HANG_H
#define KVF_ENGINE_SERVICE_HANG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/terms.h"

struct service;
struct run_record;

/* The last observation of a worker at a tier. */
struct hang_seen {
    uint64_t completions; /* chunks completed */
    uint64_t call;        /* number of its call; odd: under way */
    uint64_t stalled_ns;  /* time without a completion */
    uint64_t called_ns;   /* time in this call */
    bool waiting;         /* chunks were in flight */
};

struct hang {
    struct hang_seen *seen; /* worker after worker, KVF_TIERS each; NULL: nothing is watched */
    bool watched[KVF_TIERS];
    double hung_s[KVF_TIERS]; /* now; 0: it does not hang */
    double most_s[KVF_TIERS]; /* in the interval */
    uint64_t limit_ns;        /* stall time that counts as a hang */
    uint64_t looked_ns;       /* real time of the last look */
    char at_end[200];         /* what hung when the run ended; "" nothing */
    _Atomic bool given_up;    /* the end no longer waits; workers that return stop */
};

/* All by the control thread. */
/* When tiers and counters are there; limit_ns 0: the usual. */
void hang_open(struct service *v, uint64_t limit_ns);
void hang_close(struct service *v);
void hang_look(struct service *v); /* reports tiers that begin to hang, or recover */
/* The longest time the control thread may sleep; KVF_NEVER: no limit. */
uint64_t hang_patience_ns(const struct service *v);
bool hang_is(const struct service *v); /* whether any tier hangs */
/* The longest hang in the interval so far, in seconds; starts a new interval unless `peek`. Missing for a
 * tier that cannot hang. */
double hang_interval_s(struct service *v, enum kvf_tier tier, bool peek);
/* Joins the workers, and watches them meanwhile. false: a device did not recover within three times the
 * limit; its worker is left behind, and nothing that it may touch can be freed. */
bool hang_join(struct service *v);
/* Makes a run failed whose device hung at its end. */
void hang_fail(const struct hang *h, struct run_record *run);

#endif
