/* Speeds of this machine's tiers, measured as runs use them (study/calibrate/calibrate_rig.h): bandwidth with
 * several numbers of operations under way, the latency of a small one, the spread of service times, how much
 * both directions are in each other's way. Every figure is the median of windows that are taken in turns. A
 * device is measured over its link, chunk by chunk from and to memory of the host, and in its own memory,
 * entry by entry; a store value by value, over its connections. No cache, no requests; the caller's thread,
 * and its own. */
#ifndef KVF_STUDY_CALIBRATE_CALIBRATE_H
#define KVF_STUDY_CALIBRATE_CALIBRATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "metrics/histogram.h"
#include "scenario/scenario.h"

enum { CALIBRATE_DEPTHS = 8, CALIBRATE_DISTANCES = 7, CALIBRATE_SLICES = 40, CALIBRATE_ROUNDS = 3 };
/* Writes to a drive: to room that an entry had before, or to new room. */
enum calibrate_room { CALIBRATE_AGAIN, CALIBRATE_FIRST, CALIBRATE_ROOMS };

struct calibrate_setup {
    const struct scenario *scenario; /* workers, staging, io_size, io_depth, layout, path, devices, verify */
    uint64_t bytes;                  /* of the tier, shared by the workers */
    uint64_t time_ns;                /* of all that is measured of it */
    const atomic_bool *stop;         /* true: give up */
    /* Told when something is begun, "filling", with how much of the tier is done, 0 to 1; and with NULL after
     * every window, when the same goes on. May be NULL. */
    void (*progress)(void *ctx, enum kvf_tier tier, const char *doing, double share);
    void *ctx;
};

/* Of the windows of one kind. */
struct calibrate_rate {
    double median, low, high; /* bytes/s */
};

struct calibrate_curve {
    uint32_t points;
    uint64_t depth[CALIBRATE_DEPTHS]; /* operations under way, ascending */
    uint64_t entry_bytes;             /* of each */
    struct calibrate_rate rate[KVF_DIRS][CALIBRATE_DEPTHS];
    double latency_ns;       /* of a small read; median, in a device's own memory the mean */
    double lookup_ns;        /* the part of it that is a store's lookup; median */
    double lookup_behind_ns; /* what each value under way adds to that */
    double gap_ns;           /* between small ones of one worker, in a device's own memory; median */
};

struct calibrate_result {
    bool otherwise;              /* runs use it in other pieces than were measured: a directory as a store */
    struct calibrate_curve link; /* of a device its link, of another tier itself */
    struct calibrate_curve own;  /* a device's own memory; points 0: it is none */
    struct calibrate_rate both;  /* reads and writes in equal parts, at the greatest depth of link */
    /* Of a drive: as how many chunks of its own direction a chunk of the other counts for reads, and for
     * writes; below 0: not known. */
    double interference[KVF_DIRS];
    /* Of operations one at a time, on a whole entry of a drive, else on a chunk: mean times of slices of
     * equal size, in parts of the mean. */
    double spread[KVF_DIRS][CALIBRATE_SLICES];
    double own_spread[CALIBRATE_SLICES]; /* of latencies in a device's own memory, likewise */
    /* In a device's own memory after a rest of CREW_REST_NS, in parts of those without: latency, gap. */
    double woken_latency, woken_gap;
    double first_write; /* time of filling, in parts of that of writing again */
    /* For how long the beginning of a write to a drive holds its worker, ns: with nothing at the drive, and
     * for each chunk that is there; by slices of equal size. */
    double begin_ns[CALIBRATE_ROOMS][CALIBRATE_SLICES], behind_ns[CALIBRATE_ROOMS][CALIBRATE_SLICES];
    /* Time of an operation at a drive that rested, or of a copy by a worker that did, in parts of one after
     * another. */
    double rested[KVF_DIRS];
    /* Reads from memory, so many bytes after the same were read before: in parts of the speed of those of all
     * its memory. */
    uint32_t distances;
    uint64_t distance[CALIBRATE_DISTANCES]; /* ascending */
    double reuse[CALIBRATE_DISTANCES];
    double staging_bytes_s; /* of a worker that copies from memory to its buffers for the drive; 0: none */
    uint64_t filled_bytes;
    /* Others, while it was measured: part of all processors, and the kernel's bytes of the device to ours;
     * NaN: not known. */
    double cpu_others, device_times;
    char description[200]; /* the backend's */
};

/* Opens the tier, fills it as far as the time allows, measures, and closes the tier, which removes what it
 * made. A tier that is emulated has nothing to measure: -KVF_ERR_UNAVAILABLE, like one that cannot be used;
 * -KVF_ERR_CANCELLED when stopped. */
int calibrate_tier(const struct calibrate_setup *setup, enum kvf_tier tier, struct calibrate_result *out,
                   struct err *e);

/* Mean times of slices of equal size, in parts of the mean, which is returned; of an empty histogram 0, and
 * the parts are 1. */
double calibrate_spread(const struct histogram *h, double out[CALIBRATE_SLICES]);
/* How far the windows of a kind lay apart, in parts of their median. */
double calibrate_apart(const struct calibrate_rate *rate);
/* The bandwidth besides the latency, as scenario keys want it: n operations move n x size in latency + n x
 * size / bandwidth. */
double calibrate_beyond_latency(const struct calibrate_curve *curve, enum kvf_dir dir, uint32_t point);

#endif
