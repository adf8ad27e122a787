/* The slowest rank of a run, and the reason: its load or its machine. Pure; any thread. */
#ifndef KVF_ENGINE_LIMITS_SLOWEST_H
#define KVF_ENGINE_LIMITS_SLOWEST_H

#include "record/run.h"

/* More than this many times the median of the other ranks is a difference. */
#define SLOWEST_DIFFERS 1.25

/* Marks the rank of `run` with the highest P95 of end-to-end latency and says why it is: with more load than
 * the others by its load; at no more than theirs by what of its machine is slower; or by neither. A rank that
 * differs is in the verdict: its sentence and its evidence. A rank that was lost is compared with none. Fewer
 * than two ranks with requests: nothing. */
void slowest_judge(struct run_record *run);

#endif
