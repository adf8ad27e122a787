/* Models CPU caches, which speed up reads of recently copied entries, by reuse distance (Mattson and others,
 * Evaluation techniques for storage hierarchies, 1970): the bytes that all workers, which share the
 * last-level cache, have copied or moved to and from drives since the entry was copied. One thread. */
#ifndef KVF_ENGINE_MOVE_CREW_REUSE_H
#define KVF_ENGINE_MOVE_CREW_REUSE_H

#include <stdint.h>

#include "cache/key.h"
#include "scenario/scenario.h"

/* Entries that are remembered, each in the slot of its hash: of two in one slot the later. */
enum { CREW_REUSE_SLOTS = 1024 };
struct crew_reuse {
    uint64_t copied; /* bytes so far */
    struct {
        struct cache_key key;
        uint64_t at; /* bytes that had been copied when it was; 0: none */
    } slot[CREW_REUSE_SLOTS];
};

/* Both take NULL, which remembers nothing. A copy of the entry begins. Returns the distance in bytes;
 * UINT64_MAX: it was not copied before, or is forgotten. */
uint64_t crew_reuse_begin(struct crew_reuse *r, struct cache_key key);
void crew_reuse_copied(struct crew_reuse *r, uint64_t bytes);
/* Speed of a read at such a distance, in parts of that of one from far away: by the logarithm of the distance
 * between those that were measured; 1 beyond the last, or where none were. */
double crew_reuse_speed(const struct scenario_service *service, uint64_t distance);

#endif
