/* Judges a run: the criteria of its profile, then those of the scenario, each over one measure of the
 * results. Pure; nothing is left out: a criterion without data says so and does not pass. */
#ifndef KVF_ENGINE_ASSESS_H
#define KVF_ENGINE_ASSESS_H

#include <stddef.h>

#include "record/run.h"
#include "scenario/scenario.h"

/* Adds run->criteria from run->results. Profile latency is that of the MLPerf Storage KV-cache benchmark;
 * throughput asks for nvme traffic (assess.nvme_tok_s, or any at all in each direction that the phase
 * uses) and for no errors. */
void assess_run(const struct scenario *s, struct run_record *run);

/* The rules of a submission that the scenario breaks, "no seed is given; RAG is on"; "" when it is none or
 * keeps them. */
void assess_submission(const struct scenario *s, char *out, size_t len);

#endif
