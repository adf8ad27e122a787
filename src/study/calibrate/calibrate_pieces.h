/* The entries that one calibration worker reads and writes: selects the next one, and on a drive evicts the
 * oldest for a new one, as a run with a full cache does. Worker thread only. The tier's places are shared;
 * the caller holds their lock where noted. */
#ifndef KVF_STUDY_CALIBRATE_CALIBRATE_PIECES_H
#define KVF_STUDY_CALIBRATE_CALIBRATE_PIECES_H

#include <stdbool.h>
#include <stdint.h>

#include "cache/cache.h"
#include "tier/tier.h"

enum {
    PIECES_SIZES = 16,    /* distinct sizes of replacing entries, equally frequent: .. */
    PIECES_PER_FIRST = 8, /* .. multiples of first_bytes / PIECES_PER_FIRST */
    PIECES_LARGEST = PIECES_SIZES / PIECES_PER_FIRST /* largest size in units of first_bytes */
};

/* An entry: its place in the tier, and its place in host memory, if any. */
struct piece {
    struct cache_op op;
    uint64_t place, beside; /* beside: in host memory; TIER_NO_PLACE: none */
    uint64_t bytes, generation;
    uint64_t cpu_ns;   /* CPU time of the worker when the operation began */
    uint64_t stall_ns; /* time for which the drive had stalled by then */
    bool busy, made;   /* busy: an operation is on it; made: written */
    bool rested;       /* the worker had idled when the operation began */
};

struct pieces {
    struct tier *tier;
    struct piece *piece;
    uint64_t first_bytes;    /* initial size of each */
    uint64_t count;          /* entries of that size */
    uint64_t slots;          /* room in `piece`, as smaller entries raise the count */
    uint64_t among;          /* pieces_take() cycles over the first so many; 0: all written */
    uint64_t next, made;     /* to be worked on; before that one some are there */
    uint64_t oldest, turn;   /* oldest: next to be replaced; turn: replaced so far */
    uint64_t live, budget;   /* bytes of the entries written; their limit */
    uint64_t *spare, spares; /* places in host memory, for some of a drive's entries */
};

/* Allocates places for `count` entries, each with one in `host` unless that is NULL; fewer if the tier is
 * full.
 */
void pieces_make(struct pieces *set, struct tier *tier, struct tier *host, uint64_t count, uint64_t bytes);
/* Allocates spare places in `host` for that many entries of the largest size. */
void pieces_make_spares(struct pieces *set, struct tier *host, uint64_t count);
void pieces_free(struct pieces *set); /* places are freed with the tier */

/* The three below return NULL if there is none. The next entry in order, which counts as written from then
 * on; with `beside` the next written one that has a place in host memory. */
struct piece *pieces_once(struct pieces *set, bool beside);
/* The next written entry that is not busy; with `beside` only those with a place in host memory. */
struct piece *pieces_take(struct pieces *set, bool beside);
/* A new entry of the next size, for which the oldest are evicted. Holds the lock of the tier's places. */
struct piece *pieces_replace(struct pieces *set);

/* Gives the spare places to the first written entries, as far as they go; without spares nothing changes. */
void pieces_beside_give(struct pieces *set);
/* Takes them back from the next entry on, since data not copied to host memory cannot be read from it. */
void pieces_beside_take(struct pieces *set);
uint64_t pieces_bytes(const struct pieces *set); /* of the entries written */

#endif
