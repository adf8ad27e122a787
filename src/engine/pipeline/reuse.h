/* Chooses how a request uses blocks found below the gpu tier: read them, recompute them, or both, computing
 * from the head of the context while the tail is read (Jin et al.: Compute Or Load KV Cache? Why Not Both?,
 * 2024). Time estimates assume no other load: a read takes the scenario's latency + bytes / read_bandwidth on
 * the slowest tier involved, with two messages before where simulated pods share the tier; a computation
 * takes one step of the roofline model. Pure functions: any thread.
 */
#ifndef KVF_ENGINE_PIPELINE_REUSE_H
#define KVF_ENGINE_PIPELINE_REUSE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/roofline.h"
#include "scenario/scenario.h"

/* Tokens of a context. */
struct reuse_found {
    uint64_t above;            /* found in the gpu tier */
    uint64_t below;            /* found in slower tiers */
    uint64_t missing;          /* that are computed whatever is done, at least 1 */
    uint64_t bytes[KVF_TIERS]; /* of `below`, by tier */
};

/* Reading as many bytes from each tier. */
uint64_t reuse_load_ns(const struct scenario *s, const uint64_t bytes[KVF_TIERS]);
/* Whether reading all of `below`, then computing what is missing, ends no later than computing both. */
bool reuse_loads(const struct scenario *s, const struct roofline *r, const struct reuse_found *found);

/* The split of on_hit both: the blocks of `below` from the last to the first are offered for reading, until
 * one is not taken. So the first ones are left to be computed beside it, and both take as nearly the same
 * time as whole blocks let them. */
struct reuse_split {
    const struct scenario *s;
    const struct roofline *r;
    uint64_t above;
    uint64_t head;             /* tokens left to compute */
    uint64_t bytes[KVF_TIERS]; /* taken for reading */
    uint64_t ns;               /* the longer of the two */
};
void reuse_split_begin(struct reuse_split *split, const struct scenario *s, const struct roofline *r,
                       const struct reuse_found *found);
/* Takes the block, unless both together would take longer then. */
bool reuse_split_take(struct reuse_split *split, int tier, uint64_t tokens, uint64_t bytes);

#endif
