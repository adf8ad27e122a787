/* The context length from which loading from a tier is faster than recomputing: compares the reads of the
 * measured part, fitted as time = a + b x bytes by least squares, with a prefill of that length alone on the
 * GPU of compute.gpu. At block granularity the blocks that a request finds in a tier count as one read, which
 * ends with the last of them. Pure; any thread. */
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
