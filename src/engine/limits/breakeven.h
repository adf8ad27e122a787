/* The context length from which loading from a tier is faster than recomputing: compares the reads of the
 * measured part, fitted as time = a + b x bytes by least squares, with a prefill of that length alone on the
 * GPU of compute.gpu. It holds for contexts between the smallest and the largest read, to the next
 * powers of two, and no other size has a time. At block granularity the blocks that a request finds in a tier
 * count as one read, which ends with the last of them. Pure; any thread. */
#ifndef KVF_ENGINE_LIMITS_BREAKEVEN_H
#define KVF_ENGINE_LIMITS_BREAKEVEN_H

#include "metrics/counters.h"
#include "record/run.h"
#include "scenario/scenario.h"

enum { BREAKEVEN_MOST = 1 << 20, BREAKEVEN_LOADS = 20 };

/* Tokens, and the contexts that they hold for, at most BREAKEVEN_MOST. Tokens are 0 where the longest of
 * these is computed sooner, and from_tokens where all are loaded sooner. All NaN: fewer than BREAKEVEN_LOADS
 * reads, or no such GPU. */
struct metric_break_even breakeven_of(const struct scenario *s, const struct counters *d, enum kvf_tier tier);
void breakeven_results(const struct scenario *s, const struct counters *d, struct result_list *out);

#endif
