/* The autoscaler in the engine: hands it each interval of the measured part, obeys what it decides, and
 * records that. Saturation is told for every interval, with or without it. Control thread only. */
#ifndef KVF_ENGINE_SCALING_H
#define KVF_ENGINE_SCALING_H

#include "engine/sampling/sampler.h"
#include "engine/scale/autoscaler.h"

struct scaling;
void scaling_open(struct engine *e);  /* before the run begins */
void scaling_close(struct engine *e); /* takes an engine without one */

/* The measured part begins, and with it what the scenario or a command asked for. */
void scaling_begin(struct engine *e);
/* An interval was closed: saturation was filled in; adds the decisions since the last one. `d` is what was
 * counted in it. The autoscaler takes only intervals of the measured part. */
void scaling_interval(struct engine *e, struct snapshot *snap, const struct counters *d);
/* The answer was found and the run is to stop at it. */
bool scaling_finished(const struct engine *e);
/* The measured part is about to end: what is known is the last decision. */
void scaling_end(struct engine *e);

/* COMMAND_AUTOSCALER: value is an enum autoscaler_mode. One that goes on is ended, the users stay. */
void scaling_command(struct engine *e, const struct command *cmd);
/* The users were changed by hand: that ends the autoscaler. */
void scaling_by_hand(struct engine *e, const struct command *cmd);

/* Saturation of an interval whose snapshot is complete but for it; NaN when nothing tells it. */
double scaling_saturation(struct engine *e, const struct snapshot *snap);
/* autoscaler_users and the others; none where there was no autoscaler. */
void scaling_results(const struct engine *e, struct result_list *out);

#endif
