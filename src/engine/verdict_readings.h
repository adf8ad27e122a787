/* Hands the sampler's readings to the rule behind verdicts (record/judge/judge.h): those of the last ten
 * seconds for each snapshot, of the measured part for the run. Control thread only. */
#ifndef KVF_ENGINE_VERDICT_READINGS_H
#define KVF_ENGINE_VERDICT_READINGS_H

#include "engine/sampling/sampler.h"

/* Fills the sentence of an otherwise complete snapshot; an interval also counts for the following ones. */
void verdict_snap(struct engine *e, struct snapshot *snap, const struct use *use);
/* The verdict on the time from a reading to p->now, of which `snap` is; after verdict_snap() of the interval
 * that ends there. `out` has the last one of its kind: remedies stay while the limit and its cause do, unless
 * `forecasts`. */
void verdict_between(struct engine *e, const struct reading *from, const struct snapshot *snap,
                     const struct use *use, bool forecasts, struct verdict *out);
/* Bytes that a tier holds, of all pods and ranks, as a reading knows of its server. */
double verdict_holds(const struct engine *e, const struct reading *at, int tier);
/* Whether so few of the misses so far make work that all are taken for those that make none. */
bool verdict_free_misses(const struct engine *e);
/* The verdict on the measured part, of which the snapshot and the results are: of the same two readings. */
void verdict_run(struct engine *e, const struct snapshot *snap, const struct use *use,
                 struct run_record *run);

#endif
