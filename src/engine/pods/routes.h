/* The routing side of a fleet: its routers and what they know, pods elsewhere, and outages. */
#ifndef KVF_ENGINE_PODS_ROUTES_H
#define KVF_ENGINE_PODS_ROUTES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "fleet/fleet.h"
#include "metrics/histogram.h"

struct extents_part;
struct holders;
struct outages;
struct shards;

struct routes {
    struct fleet *fleet;     /* of several pods, queue_lock; NULL: there is one, or rank 0 routes */
    struct shards *shards;   /* of a fleet whose messages take time; NULL: they do not */
    struct outages *outages; /* of the fleet; NULL: there are none */
    bool ended;              /* of a real fleet, queue_lock: see pods_read() */
    uint64_t on_way;         /* sent to other ranks less taken from them: of all ranks, those on their way */
    struct buf moved;        /* by away_moved() and not handed on yet; moved_lock */
    pthread_mutex_t moved_lock;
    struct fleet_stats base, end, last;      /* last: of the interval before */
    struct histogram index_base, index_took; /* lookups in a server, before the measured part and in it */
    struct holders *stored;     /* of pods that share a server: what is in it; NULL: none, or rank 0 has it */
    bool index_lost;            /* that server, which has been told */
    uint64_t *hashes;           /* of the blocks of the request that is being routed */
    struct extents_part *parts; /* the same blocks by contexts */
    uint32_t hash_cap;          /* of both */
};

#endif
