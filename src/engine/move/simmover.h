/* Operations that move nothing: the mover of a simulated run. It gives every read, write and move its times
 * by models of the tiers, on a virtual clock, and ends it then.
 *
 * An operation waits first for what a worker would need for it, first come, first served:
 *   with a leg on nvme: staging buffers, one per chunk but at most what one worker has; all workers' are one
 *     pool, so that no more than workers x depth chunks are in flight;
 *   else with one on cpu: a worker that copies; engine.workers copy at a time;
 *   else: nothing.
 *
 * Then its legs take their turns at the channels of their tiers (tier/channels.h), each as a whole. Of a move
 * the write begins when the first chunk has been read, and ends with its channel, but no earlier than a chunk
 * after the last was read. A worker's depth bounds a leg on nvme: a round of as many chunks as it has buffers
 * takes at least latency and a chunk's time.
 *
 * Operations at a tier that calibration has measured are carried out by modelled workers, chunk by chunk
 * (engine/move/crew.h).
 *
 * Bytes count when an operation is complete; one that is cut off counts none. */
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
