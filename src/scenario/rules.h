/* The differences of a scenario from another whose rules it has to keep. Any thread. */
#ifndef KVF_SCENARIO_RULES_H
#define KVF_SCENARIO_RULES_H

#include "base/buf.h"
#include "scenario/scenario.h"

/* The keys that a submission fixes and that have another value in `s` than in `rules`, "run.trials is 1, not
 * 3", added to `out` (may be NULL) with "; " between them; how many. Free are names, the seed, the drive and
 * how it is used, threads and memory of the program, sampling, classes and criteria. */
unsigned rules_deviations(const struct scenario *s, const struct scenario *rules, struct buf *out);
/* The rules of every submission that the scenario breaks: no seed, RAG, an autoscaler, scaled to a machine.
 */
unsigned rules_broken(const struct scenario *s, struct buf *out);

#endif
