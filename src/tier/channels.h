/* The queueing model of a tier: a number of channels, each with an equal share of the bandwidth, served first
 * come, first served. At half duplex (drives, memory) reads and writes share them; at full duplex (PCIe,
 * Ethernet) each direction has its own set.
 *
 *     start    = max(now, earliest time at which a channel is free)
 *     free     = start + size / (bandwidth of the direction / channels)
 *     complete = free + latency
 *
 * At full duplex both directions may have a joint limit: every operation then also passes a shared stage of
 * that bandwidth in order of arrival, and completes when it has passed both.
 *
 * Latency adds delay but uses no bandwidth. With one channel, Poisson arrivals and a fixed entry size this is
 * M/D/1; with c channels and exponential sizes M/M/c. Integer arithmetic: the same on every machine. */
#ifndef KVF_TIER_CHANNELS_H
#define KVF_TIER_CHANNELS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/terms.h"
#include "scenario/scenario.h"

struct channels {
    struct scenario_emulation speed;
    _Atomic uint64_t free_ns[KVF_DIRS][SCENARIO_CHANNELS_MAX]; /* run time at which each becomes idle */
    _Atomic uint64_t taken_ns[KVF_DIRS]; /* channel time assigned so far, future time included */
    _Atomic uint64_t both_free_ns;       /* when the shared stage becomes idle */
    bool alone;                          /* one thread alone takes periods: set behind channels_init() */
};

/* The service times of an operation. */
struct channels_turn {
    uint64_t start_ns;    /* its channel starts it */
    uint64_t complete_ns; /* its last byte has arrived */
    uint64_t busy_ns;     /* for so long it has the channel */
};

void channels_init(struct channels *c, const struct scenario_emulation *speed); /* all free */
/* Assigns the next free period of a channel. Any thread; concurrent callers get separate periods. */
struct channels_turn channels_take(struct channels *c, enum kvf_dir dir, uint64_t bytes, uint64_t now_ns);
/* Channel time that operations of a direction have used by now, divided by the number of channels. Exact,
 * except at half duplex for the assigned time still ahead, which is split between the directions like all
 * time assigned so far. Any thread. */
uint64_t channels_used_ns(const struct channels *c, enum kvf_dir dir, uint64_t now_ns);
/* The time that a channel takes for so many bytes. */
uint64_t channels_busy_ns(const struct channels *c, enum kvf_dir dir, uint64_t bytes);

#endif
