/* Simulates the workers of a run with calibrated tiers (scenario_service) chunk by chunk, as the mover of a
 * real run works (engine/move/transfer.h). Each is one thread: it reaps, issues as many chunks as it has
 * buffers, copies through memory and submits, and meanwhile does nothing else. Drives and links serve the
 * chunks of all workers at their measured rates (tier/station.h). Concurrent copies share the measured memory
 * bandwidth.
 *
 *   cpu read or write    up to four chunks, then the drive again;
 *   with a leg on nvme   a buffer per chunk; chunks from cpu to nvme are copied before they are submitted;
 *   between cpu and gpu  one copy over the link, without the worker;
 *   in GPU memory        whole entries, one after another per worker.
 *
 * After idling a worker copies more slowly at first, and a GPU responds later, by the factors measured after
 * CREW_REST_NS; after a shorter idle time t by the square root of t / CREW_REST_NS. On an H100 behind a
 * hypervisor small operations in GPU memory took 1.2, 1.6 and 2.5 times as long after 0.5, 2 and 10 ms.
 *
 * Starting a write to nvme blocks its worker for the measured time, which grows with the chunks at the drive:
 * the calls that create, extend and truncate files wait for it. To or from a tier that was not measured an
 * entry passes as a whole, through the channels of that tier. */
#ifndef KVF_ENGINE_MOVE_CREW_H
#define KVF_ENGINE_MOVE_CREW_H

#include "base/clock.h"
#include "engine/move/transfer.h"

/* After so long without work a worker has rested: its processor, or what runs it, copies slower for a while.
 */
#define CREW_REST_NS (10 * KVF_NS_PER_MS)
#define CREW_SLOW_NS (3 * KVF_NS_PER_MS)

/* Whether a tier of the scenario that is on was measured. */
bool crew_wanted(const struct scenario *s);

struct channels;
struct crew;
/* NULL where no tier of the scenario was measured. `channels` are those of the tiers that were not, which
 * others may use as well. Control thread only, all. */
struct crew *crew_open(const struct mover_setup *setup, struct channels *const channels[KVF_TIERS]);
void crew_close(struct crew *l); /* takes NULL */
/* Whether one of the operation's tiers was measured; if so it may be begun here. */
bool crew_take(const struct crew *l, const struct cache_op *op);
void crew_begin(struct crew *l, struct cache_op *op);
/* As simmover_answered(); false: the crew has not asked that. */
bool crew_answered(struct crew *l, uint64_t number, const struct mover_turn *turn);
bool crew_pump(struct crew *l); /* does all due work; whether there was any */
void crew_stop(struct crew *l); /* everything ends at once, abandoned */
uint64_t crew_next_ns(const struct crew *l);
/* Time that a measured tier's best rate in a direction was in use, so far. */
uint64_t crew_used_ns(const struct crew *l, int tier, enum kvf_dir dir);
/* The same of the gpu's own memory, where that was measured beside its link; else 0. */
uint64_t crew_memory_used_ns(const struct crew *l, enum kvf_dir dir);
bool crew_measured(const struct crew *l, int tier);

#endif
