/* The differences of a scenario from another whose rules it has to keep. Any thread. */
#ifndef KVF_SCENARIO_RULES_H
#define KVF_SCENARIO_RULES_H

#include "base/buf.h"
#include "scenario/scenario.h"

/* Appends (`out` may be NULL) each key that a submission fixes and that differs in `s` from `rules`:
 * "run.trials is 1, not 3", with "; " between them. Returns their number. Names, the seed, the drive and its
 * use past the page cache, threads and memory of the program, sampling, classes and criteria are free. */
unsigned rules_deviations(const struct scenario *s, const struct scenario *rules, struct buf *out);
/* Appends the rules of every submission that the scenario breaks: no seed, RAG, an autoscaler, scaled to a
 * machine. Returns their number. */
unsigned rules_broken(const struct scenario *s, struct buf *out);

#endif
