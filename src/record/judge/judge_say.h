/* The verdicts, one function each: it fills limit, cause and share, adds the evidence that only this verdict
 * has, and writes the sentence. judge_run() decides which. Pure; any thread. */
#ifndef KVF_RECORD_JUDGE_JUDGE_SAY_H
#define KVF_RECORD_JUDGE_JUDGE_SAY_H

#include "record/judge/judge.h"

/* No request was done: what operations took most time so far. */
void judge_say_nothing_done(struct phrase *t, const struct judge_input *in, struct verdict *v);
/* Half of the requests that ended failed, or more: the last tier's capacity where most of them found no room,
 * else nothing is named. */
void judge_say_failing(struct phrase *t, const struct judge_input *in, struct verdict *v);
/* Requests were done, and have no latency. */
void judge_say_unknown_latency(struct phrase *t, const struct judge_input *in, struct verdict *v);
/* Targets were met until the run failed. */
void judge_say_failed_within_targets(struct phrase *t, const struct judge_input *in, struct verdict *v);
/* All targets are met: the most loaded resource. */
void judge_say_none(struct phrase *t, const struct judge_input *in, struct verdict *v);
/* Too little arrives to use what there is. */
void judge_say_load(struct phrase *t, const struct judge_input *in, struct verdict *v);
/* Another program at the device under nvme, whose tier is busy for that share of the time, negative: unknown;
 * or on the host's CPUs. */
void judge_say_neighbour(struct phrase *t, const struct judge_input *in, struct verdict *v, double busy);
void judge_say_neighbour_computes(struct phrase *t, const struct judge_input *in, struct verdict *v);
/* The tiers are too small for what is used again. */
void judge_say_capacity(struct phrase *t, const struct judge_input *in, struct verdict *v);
/* A resource bounds throughput. */
void judge_say_saturated(struct phrase *t, const struct judge_input *in, struct verdict *v,
                         const struct judge_resource *r);
/* The batch of a modelled GPU would do more at once. */
void judge_say_batch(struct phrase *t, const struct judge_input *in, struct verdict *v);
/* Writes wait for room in their tier. */
void judge_say_room(struct phrase *t, const struct judge_input *in, struct verdict *v);
/* Writes wait for their turn under a limit on those in flight. */
void judge_say_gate(struct phrase *t, const struct judge_input *in, struct verdict *v,
                    const struct judge_leader *l);
/* Requests wait for a slot, and hold it for what they do inside, of which nothing is saturated. */
void judge_say_slots(struct phrase *t, const struct judge_input *in, struct verdict *v);
/* The largest of the parts of the latency, which operations take by themselves. */
void judge_say_latency(struct phrase *t, const struct judge_input *in, struct verdict *v,
                       const double part[JUDGE_PARTS]);

#endif
