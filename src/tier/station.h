/* How a tier that was measured serves chunks, at a bandwidth that depends on how many are under way, as was
 * measured. In queueing theory a load-dependent, flow-equivalent server (Chandy, Herzog and Woo, 1975), one a
 * direction.
 *
 * A drive takes all that is under way a little at a time: many chunks that were handed over together are
 * complete together, and not one after the other (processor sharing; Kleinrock, Queueing Systems, volume 2,
 * 1976). So does a store that is spoken to over several connections, value by value. A link copies those of a
 * direction one after the other.
 *
 *     N      = chunks of this direction + share x chunks of the other
 *     speed  = chunks of this direction / N x bandwidth(N)
 *
 * `share` says how much the other direction is in the way of this one: 0 not at all, 1 as another user of one
 * queue. Of a drive it was measured for reads and for writes; else it follows from the bandwidth of both
 * together and is the same for each. Between depths that were measured the bandwidth goes by the logarithm of
 * the depth. What a chunk has to move is its bytes times a factor drawn from the measured spread of service
 * times, by its caller. One thread; the same draws and floating-point operations in each run. */
#ifndef KVF_TIER_STATION_H
#define KVF_TIER_STATION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/heap.h"
#include "base/rng.h"
#include "scenario/scenario.h"

/* After so long with nothing under way a drive has rested: it, or what serves it, is slow for as long again.
 */
#define STATION_REST_NS (50 * KVF_NS_PER_MS)

struct station {
    const struct scenario_figures *depths, *rates[KVF_DIRS], *spread[KVF_DIRS];
    double share[KVF_DIRS];
    bool together;     /* all that is under way is served at once */
    uint64_t now_ns;   /* of the virtual times */
    uint64_t idle_ns;  /* nothing has been under way since then, if nothing is */
    uint64_t since_ns; /* it has not rested since then */
    double
        passed[KVF_DIRS]; /* virtual time: bytes moved since the direction was last idle, together: of each */
    double taken[KVF_DIRS];   /* the same when the last that is under way will be through */
    double speed[KVF_DIRS];   /* bytes per ns, now */
    double chunks[KVF_DIRS];  /* under way */
    double most[KVF_DIRS];    /* of its rates, bytes per ns */
    double used_ns[KVF_DIRS]; /* time at that rate that what was moved would have taken */
    struct heap busy[KVF_DIRS];
    uint64_t joined;
    struct rng rng[KVF_DIRS];
};

struct station_end {
    void *who;
    enum kvf_dir dir;
};

/* Whether calibration measured the tier; `own`: a device in its own memory. */
bool station_measured(const struct scenario_service *service, bool own);
/* Empty. The scenario outlives it. */
void station_init(struct station *s, const struct scenario *scenario, enum kvf_tier tier, bool own,
                  uint32_t pod);
/* The stream of draws of a pod's tier: service times by direction, then two more kinds. */
static inline uint64_t station_stream(uint32_t pod, int tier, int kind) {
    return ((uint64_t)pod * KVF_TIERS + (uint64_t)tier) * 4 + (uint64_t)kind;
}
bool station_is_on(const struct station *s); /* initialised */
void station_empty(struct station *s);       /* all leave, without notice */
void station_free(struct station *s);
/* The value at x, which lies above the first and not above the last of those that were measured, by the
 * logarithm of x. */
double station_between(const struct scenario_figures *at, const struct scenario_figures *values, double x);
/* Bytes per ns with so many chunks under way. */
double station_rate(const struct scenario_figures *depths, const struct scenario_figures *rates, double n);
/* A factor of service times: of any spread, and the next of the station's. */
double station_draw(const struct scenario_figures *spread, struct rng *rng);
double station_factor(struct station *s, enum kvf_dir dir);
/* Whether what joins now finds a drive that rests, or has just rested. */
bool station_rested(const struct station *s, uint64_t now_ns);
/* `who` leaves when its bytes have passed. */
void station_join(struct station *s, void *who, enum kvf_dir dir, double bytes, uint64_t now_ns);
/* About how many are under way at that time, if none joins: by the work that is left of those that are now.
 */
double station_chunks(const struct station *s, uint64_t at_ns);
/* When the next operation has moved its bytes if none joins; KVF_NEVER: there is none. */
uint64_t station_next_ns(const struct station *s);
/* For how long, in all and until then, its best rate in a direction was in use. */
uint64_t station_used_ns(const struct station *s, enum kvf_dir dir, uint64_t now_ns);
/* One that has by now, which leaves with that; false: none has. */
bool station_leave(struct station *s, uint64_t now_ns, struct station_end *out);

#endif
