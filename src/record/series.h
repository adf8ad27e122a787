/* The intervals of a run as plain arrays, oldest first, for exports, reports and comparisons. One thread at a
 * time. */
#ifndef KVF_RECORD_SERIES_H
#define KVF_RECORD_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "record/snapshot.h"

/* Parts that are kept beside the interval itself. */
enum series_part {
    SERIES_TIERS = 1,
    SERIES_CLASSES = 2,
    SERIES_CAUSES = 4,
    SERIES_GPUS = 8,
    SERIES_HEAT = 16,
    SERIES_REMOTE = 32,
    SERIES_BLOCK = 64,
    SERIES_ALL = 127,
    SERIES_HISTOGRAMS = 128, /* beside all: the coded ones, which are as large as the rest */
    SERIES_RANKS = 256,      /* beside all: into snapshots, not into a series */
    SERIES_PODS = 512        /* likewise */
};

/* A coded histogram of an interval: its bytes in `coded` of the series. */
struct series_histogram {
    size_t interval; /* index of it */
    int scope;       /* of record_scope_names */
    size_t at, len;
};

struct series {
    unsigned parts; /* of enum series_part; the arrays of those left out are NULL */
    size_t count, cap;
    struct snapshot_interval *interval;
    bool tier_on[KVF_TIERS], tier_emulated[KVF_TIERS];
    char tier_device[KVF_TIERS][SNAPSHOT_NAME]; /* "vda"; "" where there is none */
    struct snapshot_tier (*tier)[KVF_TIERS];    /* of tiers that are on */
    uint32_t classes;
    char class_name[KVF_CLASSES_MAX][SNAPSHOT_NAME];
    struct snapshot_qos (*qos)[KVF_CLASSES_MAX];
    struct snapshot_cause (*cause)[KVF_TIERS][KVF_DIRS][KVF_CAUSES];
    uint32_t gpus;                                 /* most of an interval */
    struct snapshot_gpu (*gpu)[SNAPSHOT_GPUS_MAX]; /* missing but for the device behind those of the interval;
                                                      NULL while no interval has any */
    struct snapshot_remote *remote;     /* missing where an interval has none; NULL while none has any */
    struct snapshot_block *block;       /* likewise */
    struct series_neighbour *neighbour; /* with SERIES_BLOCK; in the order of the intervals */
    size_t neighbours, neighbour_cap;
    uint32_t (*heat)[SNAPSHOT_HEATS][SNAPSHOT_HEAT_BINS];
    struct series_histogram *histogram; /* in the order of the intervals; none where nothing was counted */
    size_t histograms, histogram_cap;
    struct buf coded;
};

/* A neighbour of an interval, of the five with most bytes there. */
struct series_neighbour {
    size_t interval; /* index of it */
    struct snapshot_neighbour at;
};

/* Begins an empty series of these parts. */
void series_init(struct series *s, unsigned parts);
void series_free(struct series *s); /* frees all it owns; leaves it empty */
/* Appends an interval later than those before it. Grows as needed; the program ends when memory is exhausted.
 * Not for hot paths. */
void series_add(struct series *s, const struct snapshot *snap);
/* The neighbours of the measured part or of the whole run, each once with its sums, most bytes first; the
 * caller frees the array. */
struct snapshot_neighbour *series_neighbours(const struct series *s, bool measured, size_t *count);
/* Appends a copy of a histogram of a known interval; intervals ascend. */
void series_add_histogram(struct series *s, size_t interval, int scope, const void *data, size_t len);

#endif
