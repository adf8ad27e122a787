/* Miss-ratio curves: the misses of a scenario's accesses in one tier alone, over its capacity, by policy.
 *
 * A miss is a lookup that does not hit, from an empty cache on; re-reads by the decode of what a request has
 * just written are left out. LRU over blocks comes from stack distances, all capacities in one pass. Other
 * policies are tried on the cache itself, one capacity at a time; of many accesses a sample: the entries of
 * which a hash of the key is below a threshold, in a cache that is smaller by the same part (Waldspurger,
 * Park, Garthwaite, Ahmad: Efficient MRC Construction with SHARDS, FAST 2015; Waldspurger, Saemundsson,
 * Ahmad, Park: Cache Modeling and Optimization using Miniature Simulations, ATC 2017). One thread for each
 * curve. */
#ifndef KVF_STUDY_SWEEP_CURVE_H
#define KVF_STUDY_SWEEP_CURVE_H

#include <stddef.h>

#include "base/err.h"
#include "engine/pipeline/references.h"
#include "record/outcome.h"

/* Usable bytes of a tier of that capacity. */
uint64_t curve_usable_bytes(const struct scenario *s, enum kvf_tier tier, uint64_t capacity_bytes);
/* The misses of LRU over blocks at each out->capacity_bytes. Exact where the tier holds the largest request
 * as a whole. */
void curve_stack(const struct references *r, const struct scenario *s, enum kvf_tier tier,
                 struct sweep_curve *out, size_t count);
/* Simulates a policy at out->capacity_bytes with out->sample of the entries. 0 or a negative code. */
int curve_try(const struct references *r, const struct scenario *s, enum kvf_tier tier,
              enum scenario_eviction policy, struct sweep_curve *out, struct err *e);
/* The share of entries to sample so that about that many accesses remain: 1, or a power of a half. */
double curve_sample(const struct references *r, uint64_t accesses);
/* The share `part`, or a larger one where the scaled-down tier of so many usable bytes would not hold a
 * hundred entries, because its misses would then say nothing. */
double curve_sample_at(const struct references *r, uint64_t usable_bytes, double part);

#endif
