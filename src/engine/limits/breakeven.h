/* From how many tokens of context on it takes less time to load them from a tier than to compute them again:
 * the reads of the measured part, as time = a + b x bytes by least squares, against a prefill of that many
 * tokens on the GPU that compute.gpu names, alone on it. Where entries are blocks, those that a request finds
 * at a tier are one read, which ends with the last of them. Pure; any thread. */
#ifndef KVF_ENGINE_LIMITS_BREAKEVEN_H
#define KVF_ENGINE_LIMITS_BREAKEVEN_H

#include "metrics/counters.h"
#include "record/run.h"
#include "scenario/scenario.h"

enum { BREAKEVEN_MOST = 1 << 20, BREAKEVEN_LOADS = 20 };

/* Tokens; 0: not up to BREAKEVEN_MOST; NaN: fewer than BREAKEVEN_LOADS reads, or no such GPU. */
double breakeven_tokens(const struct scenario *s, const struct counters *d, enum kvf_tier tier);
void breakeven_results(const struct scenario *s, const struct counters *d, struct result_list *out);

#endif
