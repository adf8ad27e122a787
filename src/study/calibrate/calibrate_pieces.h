/* The entries that a calibration's worker reads and writes: which comes next, and of a drive which ones go
 * for a new one, as in a run whose cache is full. One worker's thread only; the tier's places are shared, and
 * whoever calls holds their lock where that is said. */
#ifndef KVF_STUDY_CALIBRATE_CALIBRATE_PIECES_H
#define KVF_STUDY_CALIBRATE_CALIBRATE_PIECES_H

#include <stdbool.h>
#include <stdint.h>

#include "cache/cache.h"
#include "tier/tier.h"

enum {
    PIECES_SIZES = 16,    /* of entries that replace others: so many, each as often, .. */
    PIECES_PER_FIRST = 8, /* .. multiples of that part of the size that entries have first */
    PIECES_LARGEST = PIECES_SIZES / PIECES_PER_FIRST /* in parts of that size */
};

/* An entry: where it is, and in the host's memory as well, or nowhere there. */
struct piece {
    struct cache_op op;
    uint64_t place, beside; /* beside: TIER_NO_PLACE is nowhere */
    uint64_t bytes, generation;
    uint64_t cpu_ns; /* of the worker, when the operation began */
    bool busy, made; /* worked on; it is there */
    bool rested;     /* its worker had, when the operation began */
};

struct pieces {
    struct tier *tier;
    struct piece *piece;
    uint64_t first_bytes;    /* of each at first */
    uint64_t count;          /* of that size */
    uint64_t slots;          /* and as many more when they have become smaller */
    uint64_t among;          /* so many of the first are taken in turn; 0: all that are there */
    uint64_t next, made;     /* to be worked on; before that one some are there */
    uint64_t oldest, turn;   /* of those that are replaced; how many were */
    uint64_t live, budget;   /* bytes of those that are there; the most that they may be */
    uint64_t *spare, spares; /* places beside, for some of a drive's entries */
};

/* Places for `count` entries, and beside each in `host`, if that is not NULL. Fewer where there is no place.
 */
void pieces_make(struct pieces *set, struct tier *tier, struct tier *host, uint64_t count, uint64_t bytes);
/* Places in `host` for that many entries of the largest size. */
void pieces_make_spares(struct pieces *set, struct tier *host, uint64_t count);
void pieces_free(struct pieces *set); /* the tier's places go with the tier */

/* All return NULL where there is none. The next in order, which is there from now on; `beside`: the next that
 * is there already and has a place beside. */
struct piece *pieces_once(struct pieces *set, bool beside);
/* The next of those that are there, or have a place beside as well, that nobody works on. */
struct piece *pieces_take(struct pieces *set, bool beside);
/* A new one of the next size; the oldest go, as many as it takes. With the lock of the tier's places. */
struct piece *pieces_replace(struct pieces *set);

/* The first that are there get the spare places beside, as far as these go; without any all keep theirs. */
void pieces_beside_give(struct pieces *set);
/* From the next on they have none: what did not go there cannot come from there. */
void pieces_beside_take(struct pieces *set);
uint64_t pieces_bytes(const struct pieces *set); /* of those that are there */

#endif
