/* The flights of an engine: a free list that grows to the peak number in use. Guarded by the caller's lock.
 */
#ifndef KVF_ENGINE_PIPELINE_FLIGHTS_H
#define KVF_ENGINE_PIPELINE_FLIGHTS_H

#include <stddef.h>

#include "engine/pipeline/flight.h"

struct flights {
    struct flight *spare;
    struct flight **slabs;
    size_t slab_count;
};

/* All of it zero, but for its number, and the buffer for block ids that it had. */
struct flight *flights_new(struct flights *l);
void flights_release(struct flights *l, struct flight *f);
struct flight *flights_at(const struct flights *l, uint64_t number); /* NULL: there is none of that number */
void flights_free(struct flights *l);

#endif
