/* Remedies and their estimates: combines a queueing network of the run's resources (network.h) with a replay
 * of its accesses on caches of other sizes (trial.h). Control thread, after the run. */
#ifndef KVF_ENGINE_FORECAST_H
#define KVF_ENGINE_FORECAST_H

#include "record/judge/judge.h"
#include "record/run.h"

struct engine;

/* Adds remedies to the run's verdict: 2 and 4 times each tier's capacity, twice its bandwidth, twice the
 * slots, half the users. None where the model does not hold: work was left undone (standing.h), an autoscaler
 * changes the users, a modelled GPU is saturated, or the accesses tried at the run's own capacities do not
 * move the bytes that it moved. None either where the bandwidth or the slots that the verdict names have no
 * certain estimate: a lesser change alone would read as the answer. */
void forecast_remedies(struct engine *e, const struct judge_input *in, struct run_record *run);

/* Adds remedies to the verdict of a run in progress, from the measurements over the time of `snap`: by the
 * network alone, with the hits of larger tiers from the sample's distances, in a few milliseconds at most.
 * None for more than a thousand users or slots. */
void forecast_recent(struct engine *e, const struct judge_input *in, const struct snapshot *snap,
                     struct verdict *v);

#endif
