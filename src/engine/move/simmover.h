/* The mover of a simulated run: moves no bytes, but completes every read, write and move at the time that the
 * models of the tiers give, on a virtual clock.
 *
 * An operation first waits for the resources that a worker would need, first come, first served:
 *   with a leg on nvme: staging buffers, one per chunk but at most what one worker has; all workers' are one
 *     pool, so that no more than workers x depth chunks are in flight;
 *   else with one on cpu: a worker that copies; engine.workers copy at a time;
 *   else: nothing.
 *
 * Then each leg takes a turn at the channels of its tier (tier/channels.h) as a whole. The write of a move
 * starts when its first chunk has been read and ends with its channel, but no earlier than one chunk time
 * after the last read. A worker's depth limits a leg on nvme: a round of one chunk per buffer takes at least
 * the latency plus one chunk time.
 *
 * Operations on calibrated tiers are carried out by modelled workers, chunk by chunk (engine/move/crew.h).
 *
 * Bytes are counted when an operation completes; an aborted operation counts none. */
#ifndef KVF_ENGINE_MOVE_SIMMOVER_H
#define KVF_ENGINE_MOVE_SIMMOVER_H

#include "engine/move/transfer.h"

struct simmover;
/* Of the set-up: scenario, clock, tiers, counters, buffers (of one worker), done and its ctx. Control thread
 * only, all. */
struct simmover *simmover_open(const struct mover_setup *setup);
void simmover_close(struct simmover *m); /* takes NULL */
void simmover_begin(struct simmover *m, struct cache_op *op);
/* The turn that was asked for by that number (mover_setup.ask). It is no longer waited for after a stop, and
 * then without effect. */
void simmover_answered(struct simmover *m, uint64_t number, const struct mover_turn *turn);
bool simmover_pump(struct simmover *m); /* ends all due work; whether there was any */
/* Channel time that legs of a direction have had at a tier by now, divided among its channels; exact. */
uint64_t simmover_used_ns(const struct simmover *m, int tier, enum kvf_dir dir);
/* The same of the gpu's own memory, where it was measured apart from its link; else 0. */
uint64_t simmover_memory_used_ns(const struct simmover *m, enum kvf_dir dir);
/* Everything ends at once, abandoned; it may be used on. Time that channels have given out stays taken. */
void simmover_stop(struct simmover *m);
uint64_t
simmover_next_ns(const struct simmover *m); /* when the next thing happens; KVF_NEVER: nothing will */

#endif
