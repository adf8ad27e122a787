/* The queueing model of a tier: so many channels, each with its part of the bandwidth, served first come,
 * first served. At half duplex, as a drive or memory is, readers and writers share them; at full duplex, as
 * PCIe and Ethernet are, each direction has as many of its own.
 *
 *     start    = max(now, when the channel that is free first is free)
 *     free     = start + size / (bandwidth of the direction / channels)
 *     complete = free + latency
 *
 * At full duplex both directions may have a limit together: every operation then also passes, at that
 * bandwidth and in order of arrival, what they share, and is complete when it has passed both.
 *
 * The latency passes outside of the channel: it delays, it takes no bandwidth. With one channel, arrivals
 * of a Poisson process and entries of one size this is M/D/1, with c channels and sizes of an exponential
 * distribution M/M/c. Integers alone: the same on every machine. */
#ifndef KVF_TIER_CHANNELS_H
#define KVF_TIER_CHANNELS_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/terms.h"
#include "scenario/scenario.h"

struct channels {
    struct scenario_emulation speed;
    _Atomic uint64_t free_ns[KVF_DIRS][SCENARIO_CHANNELS_MAX]; /* run time from which on each is idle */
    _Atomic uint64_t taken_ns[KVF_DIRS]; /* channel time given out so far, also what lies ahead */
    _Atomic uint64_t both_free_ns;       /* what both directions pass through */
};

/* When an operation that was submitted at some time is served. */
struct channels_turn {
    uint64_t start_ns;    /* its channel begins with it */
    uint64_t complete_ns; /* its last byte has arrived */
};

void channels_init(struct channels *c, const struct scenario_emulation *speed); /* all free */
/* Takes the next stretch of a channel. Any thread; of operations submitted at once by several threads each
 * has a stretch of its own. */
struct channels_turn channels_take(struct channels *c, enum kvf_dir dir, uint64_t bytes, uint64_t now_ns);
/* Channel time that operations of a direction have had by now, divided among the channels: how long all of
 * them together were busy. A channel has no gaps ahead, so that this is exact, but for the share of each
 * direction in what half duplex has still ahead: that is split like what was given out. Any thread. */
uint64_t channels_used_ns(const struct channels *c, enum kvf_dir dir, uint64_t now_ns);
/* How long a channel is busy with so many bytes. */
uint64_t channels_busy_ns(const struct channels *c, enum kvf_dir dir, uint64_t bytes);

#endif
