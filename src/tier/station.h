/* The model of a measured tier: serves chunks at a bandwidth that depends on the number in flight, as
 * measured. In queueing theory a load-dependent, flow-equivalent server (Chandy, Herzog and Woo, 1975), one
 * per direction.
 *
 * A drive serves all chunks in flight at once: chunks submitted together complete together, not one after
 * another (processor sharing; Kleinrock, Queueing Systems, volume 2, 1976). A store accessed over several
 * connections serves values in the same way. A link copies the chunks of a direction one after another.
 *
 *     N      = chunks of this direction + share x chunks of the other
 *     speed  = chunks of this direction / N x bandwidth(N)
 *
 * `share` is the interference from the other direction: 0 none, 1 as if both shared one queue. For a drive it
 * was measured for reads and for writes; otherwise it follows from the joint bandwidth and is the same for
 * both. Bandwidth between measured depths is interpolated by the logarithm of the depth. The caller
 * multiplies the bytes of a chunk by a factor drawn from the measured distribution of service times.
 *
 * A drive may also stall: it serves nothing for a while, whatever is in flight (a server with breakdowns;
 * White and Christie, 1958). Stalls come at equal intervals of busy time, the first at a point of the
 * interval that the seed sets, and have the measured lengths in turn, long ones among short ones: every run
 * has as many of each as were measured in as much time.
 *
 * One thread; every run makes the same draws and floating-point operations. */
#ifndef KVF_TIER_STATION_H
#define KVF_TIER_STATION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/heap.h"
#include "base/rng.h"
#include "scenario/scenario.h"

/* A drive idle for this long is slow, or its service is, for as long again. */
#define STATION_REST_NS (50 * KVF_NS_PER_MS)

struct station {
    const struct scenario_figures *depths, *rates[KVF_DIRS], *spread[KVF_DIRS];
    double share[KVF_DIRS];
    bool together;                         /* processor sharing */
    uint64_t now_ns;                       /* of the virtual times */
    uint64_t idle_ns;                      /* start of the current idle period, if idle */
    uint64_t since_ns;                     /* it has not rested since then */
    const struct scenario_figures *stalls; /* ms */
    uint64_t every_ns;                     /* of busy time between two stalls; 0: there are none */
    uint64_t before_ns;                    /* busy time until the next one */
    uint64_t stalled_ns;                   /* run time at which the last one ends or ended */
    uint64_t stall;                        /* number of the next one */
    double
        passed[KVF_DIRS]; /* virtual time: bytes moved since the direction was last idle, together: of each */
    double taken[KVF_DIRS];   /* the same when the last that is under way will be through */
    double speed[KVF_DIRS];   /* bytes per ns, now */
    double chunks[KVF_DIRS];  /* under way */
    double most[KVF_DIRS];    /* of its rates, bytes per ns */
    double part;              /* of its speeds that it has now */
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
/* Of the stage that both directions of a full-duplex link share: the part of its time that a busy direction
 * takes, its bandwidth to the joint one; 0 without such a stage, and where calibration measured what
 * directions cost each other. */
double station_joint(const struct scenario_service *service, const struct scenario_emulation *link,
                     enum kvf_dir dir);
/* Empty. The scenario outlives it. */
void station_init(struct station *s, const struct scenario *scenario, enum kvf_tier tier, bool own,
                  uint32_t pod);
/* The stream of draws of a pod's tier: service times by direction, then two more kinds. */
static inline uint64_t station_stream(uint32_t pod, int tier, int kind) {
    return ((uint64_t)pod * KVF_TIERS + (uint64_t)tier) * 4 + (uint64_t)kind;
}
bool station_is_on(const struct station *s);            /* initialised */
void station_empty(struct station *s, uint64_t now_ns); /* of one that is on: all leave, without notice */
void station_free(struct station *s);
/* Interpolates between measured values by the logarithm of x, which is above the first and at most the last
 * of `at`. */
double station_between(const struct scenario_figures *at, const struct scenario_figures *values, double x);
/* Bytes per ns with n chunks in flight. */
double station_rate(const struct scenario_figures *depths, const struct scenario_figures *rates, double n);
/* A factor of service times: of any spread, and the next of the station's. */
double station_draw(const struct scenario_figures *spread, struct rng *rng);
double station_factor(struct station *s, enum kvf_dir dir);
/* Whether a chunk that joins now finds the drive idle long enough, or just after that. */
bool station_rested(const struct station *s, uint64_t now_ns);
/* `who` leaves when its bytes have passed. */
/* From now on it moves at that part of its speeds. */
void station_slow(struct station *s, double part, uint64_t now_ns);
void station_join(struct station *s, void *who, enum kvf_dir dir, double bytes, uint64_t now_ns);
/* Estimates the chunks in flight at that time if none joins, from the work left of the current ones. */
double station_chunks(const struct station *s, uint64_t at_ns);
/* When the next chunk completes if none joins; KVF_NEVER: none is in flight. */
uint64_t station_next_ns(const struct station *s);
/* Busy time of a direction until then, in units of its best rate. */
uint64_t station_used_ns(const struct station *s, enum kvf_dir dir, uint64_t now_ns);
/* Removes a chunk that is complete by now; false: none is. */
bool station_leave(struct station *s, uint64_t now_ns, struct station_end *out);

#endif
