/* The autoscaler in the engine: gives it each interval of the measured part, carries out its decisions and
 * records them. Saturation is computed for every interval, with or without it. Control thread only. */
#ifndef KVF_ENGINE_SCALING_H
#define KVF_ENGINE_SCALING_H

#include "engine/sampling/sampler.h"
#include "engine/scale/autoscaler.h"

struct scaling;
void scaling_open(struct engine *e);  /* before the run begins */
void scaling_close(struct engine *e); /* takes an engine without one */

/* The measured part begins: starts the autoscaler that the scenario or a command asked for. */
void scaling_begin(struct engine *e);
/* An interval with its saturation was closed: adds the decisions since the last one to it. `d` has its
 * counters. The autoscaler takes only intervals of the measured part. */
void scaling_interval(struct engine *e, struct snapshot *snap, const struct counters *d);
/* Why the run should stop: the search has ended, with or without an answer. NULL: it goes on. */
const char *scaling_finished(const struct engine *e);
/* The measured part is about to end: records the knowledge so far as the last decision. */
void scaling_end(struct engine *e);
/* Carries out COMMAND_AUTOSCALER, whose value is an enum autoscaler_mode. Ends a running search; users stay.
 * On ranks but the first, which hear of it from that one, users begin amid conversations from now on. */
void scaling_command(struct engine *e, const struct command *cmd);
/* The users were changed by hand, which ends the autoscaler. */
void scaling_by_hand(struct engine *e, const struct command *cmd);
/* The saturation of an interval from its otherwise complete snapshot; NaN: unknown. */
double scaling_saturation(struct engine *e, const struct snapshot *snap);
/* Appends autoscaler_users and the other results; none without an autoscaler. */
void scaling_results(const struct engine *e, struct result_list *out);
/* Warns in the verdict, from the results, of an answer that misses without work have made higher. */
void scaling_warn(const struct engine *e, struct run_record *run);

#endif
