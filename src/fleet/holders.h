/* The pods and tiers that hold each block: an open-addressing table from a block to a chain of holders. The
 * number after the last pod is the store that all pods can read, their remote tier. A block is the 64-bit
 * hash of its key. Two keys with one hash count as one block; among 10^9 blocks the chance of that is 3 %.
 * With a limit each pod keeps its most recent blocks only. One thread. */
#ifndef KVF_FLEET_HOLDERS_H
#define KVF_FLEET_HOLDERS_H

#include <stddef.h>
#include <stdint.h>

#include "base/terms.h"

struct holders;
/* limit: blocks of a pod, the least recently added forgotten first; 0: no limit. */
struct holders *holders_open(uint32_t pods, uint64_t limit);
void holders_close(struct holders *h); /* takes NULL */
/* The pod has the block in that tier (too); with a limit it is the pod's most recent. */
void holders_add(struct holders *h, uint64_t block, uint32_t pod, enum kvf_tier tier);
void holders_remove(struct holders *h, uint64_t block, uint32_t pod, enum kvf_tier tier); /* if it is there */

/* That of the fastest of the tiers in the set, which is not empty. */
static inline double holders_weight(uint32_t pod_tiers, const double weight[KVF_TIERS]) {
    return weight[__builtin_ctz(pod_tiers)];
}

/* The beginning of a request that a pod has. */
struct holders_prefix {
    uint32_t pod;
    uint32_t blocks; /* consecutive from the first */
    double weight;   /* of these, each by the fastest tier that holds it */
};
/* Every pod that has the first block, and the store if it has, in any order; valid until the next call. What
 * is in the store continues the prefix of each. Of the others nothing is said: those that come to hold blocks
 * behind a first one which the store alone has count as having what the store has. Returns how many. */
uint32_t holders_match(struct holders *h, const uint64_t *block, uint32_t blocks,
                       const double weight[KVF_TIERS], const struct holders_prefix **out);
void holders_empty(struct holders *h);           /* empty, without a limit */
uint64_t holders_count(const struct holders *h); /* pairs of a block and a pod */
size_t holders_bytes(const struct holders *h);   /* memory of the table, its blocks and holders */

#endif
