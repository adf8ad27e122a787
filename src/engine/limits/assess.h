/* Assesses a run against the criteria of its profile, then those of the scenario, each on one metric of the
 * results. Pure. A criterion without data fails, unless it is of a tier that was not
 * needed. */
#ifndef KVF_ENGINE_LIMITS_ASSESS_H
#define KVF_ENGINE_LIMITS_ASSESS_H

#include "record/run.h"
#include "scenario/scenario.h"

/* Adds run->criteria from run->results. Profile latency is that of the MLPerf Storage KV-cache benchmark, its
 * device latency that of requests by the kernel where the block layer was traced; throughput asks for nvme
 * traffic (assess.nvme_tok_s, or any at all in each direction that the phase uses) and for no errors. Both
 * ask that nothing is refused, falls through, is skipped or dropped and that no class is left unserved;
 * latency asks that the queue of an open loop does not grow. */
void assess_run(const struct scenario *s, struct run_record *run);
/* Judges the criteria that a run has by results that have become others. One on the kernel's latency of the
 * device that has no value now is on ours, and is named so. */
void assess_again(struct run_record *run);
/* A completed run in which no request was done has failed, whatever else went well. */
void assess_nothing_done(const struct scenario *s, struct run_record *run);

#endif
