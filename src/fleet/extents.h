/* Which pods hold which blocks, in which tiers: the index of a fleet, in memory. A block is known by its
 * context and its number there, and consecutive blocks of one context that a pod holds in the same tiers are
 * one run: a context that comes and goes as a whole takes as much memory as one block. Behind the last pod,
 * by number, comes the store that all of them can read: their remote tier. One thread.
 *
 *     context ──► a list of pods that hold any of it
 *     context, pod ──► its first run ──► the next run, by number
 *
 * The first run of a pod keeps its place as long as the pod has any, so that the list of pods stands. */
#ifndef KVF_FLEET_EXTENTS_H
#define KVF_FLEET_EXTENTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/terms.h"
#include "fleet/holders.h"

struct extents;
struct extents *extents_open(uint32_t pods); /* empty; ends the program without memory */
void extents_close(struct extents *x);       /* takes NULL */
/* The pod has the block in that tier (too), or no longer. */
void extents_add(struct extents *x, uint64_t context, uint32_t number, uint32_t pod, enum kvf_tier tier);
void extents_remove(struct extents *x, uint64_t context, uint32_t number, uint32_t pod, enum kvf_tier tier);

/* Blocks of a request: of a context those from its first on. */
struct extents_part {
    uint64_t context;
    uint32_t blocks;
};
/* As holders_match() of the same blocks. */
uint32_t extents_match(struct extents *x, const struct extents_part *part, uint32_t parts,
                       const double weight[KVF_TIERS], const struct holders_prefix **out);
void extents_empty(struct extents *x);           /* nobody has anything */
uint64_t extents_count(const struct extents *x); /* pairs of a block and a pod */
uint64_t extents_runs(const struct extents *x);  /* that keep them */
size_t extents_bytes(const struct extents *x);   /* memory of the runs and of the tables to find them */

#endif
