/* Measures the tiers of this machine under the access patterns of real runs
 * (study/calibrate/calibrate_rig.h): bandwidth at several queue depths, latency of a small operation, the
 * distribution of service times, and interference between reads and writes. Every figure is the median of
 * interleaved windows. A GPU is measured over its link, in chunks to and from host memory, and in its own
 * memory, by entry; a store by value, over its connections. Involves no cache and no requests. Runs on the
 * caller's thread and threads of its own. */
#ifndef KVF_STUDY_CALIBRATE_CALIBRATE_H
#define KVF_STUDY_CALIBRATE_CALIBRATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "metrics/histogram.h"
#include "scenario/scenario.h"
#include "study/calibrate/calibrate_stalls.h"

enum { CALIBRATE_DEPTHS = 8, CALIBRATE_DISTANCES = 7, CALIBRATE_SLICES = 40, CALIBRATE_ROUNDS = 3 };
/* Writes to a drive: over blocks that held an entry before, or to new blocks. */
enum calibrate_room { CALIBRATE_AGAIN, CALIBRATE_FIRST, CALIBRATE_ROOMS };

struct calibrate_setup {
    const struct scenario *scenario; /* workers, staging, io_size, io_depth, layout, path, devices, verify */
    uint64_t bytes;                  /* size of the tier, divided among the workers */
    uint64_t time_ns;                /* total time for all its windows */
    const atomic_bool *stop;         /* true: give up */
    /* Called when a step begins, such as "filling", with the share of the tier done, 0 to 1, and with NULL
     * after every window of the same step. May be NULL. */
    void (*progress)(void *ctx, enum kvf_tier tier, const char *doing, double share);
    void *ctx;
};

/* Over all windows of one kind. */
struct calibrate_rate {
    double median, low, high; /* bytes/s */
};

struct calibrate_curve {
    uint32_t points;
    uint64_t depth[CALIBRATE_DEPTHS]; /* queue depth, ascending */
    uint64_t entry_bytes;             /* of each */
    struct calibrate_rate rate[KVF_DIRS][CALIBRATE_DEPTHS];
    double latency_ns;       /* of a small read: the median; in GPU memory the mean */
    double lookup_ns;        /* of which a store's lookup; median */
    double lookup_behind_ns; /* added to that by each value in flight */
    double gap_ns;           /* between small operations of one worker, in GPU memory; median */
};

struct calibrate_result {
    bool drive;                  /* or a directory as a store */
    struct calibrate_curve link; /* a GPU's link; for other tiers the tier itself */
    struct calibrate_curve own;  /* GPU memory; 0 points for other tiers */
    struct calibrate_rate both;  /* half reads, half writes, at the greatest depth of link */
    /* Other figures leave the time of stalls out. */
    struct calibrate_stalls stalls;
    /* Of a drive: the load that a chunk of the other direction puts on reads, and on writes, in chunks of
     * their own direction; below 0: unknown. */
    double interference[KVF_DIRS];
    /* Distribution of service times at depth 1, of whole entries on a drive, else of chunks: the mean of each
     * equal-sized quantile slice, relative to the overall mean. */
    double spread[KVF_DIRS][CALIBRATE_SLICES];
    double own_spread[CALIBRATE_SLICES]; /* the same for latencies in GPU memory */
    /* GPU memory after CREW_REST_NS of idle time, relative to busy: latency, gap. */
    double woken_latency, woken_gap;
    double first_write; /* time of a first write, relative to a rewrite */
    /* Time for which starting a write to a drive blocks its worker, ns: on an idle drive, and added by each
     * chunk in flight; by quantile slice. */
    double begin_ns[CALIBRATE_ROOMS][CALIBRATE_SLICES], behind_ns[CALIBRATE_ROOMS][CALIBRATE_SLICES];
    double begin_depth[CALIBRATE_ROOMS]; /* mean chunks in flight when the latter was measured */
    /* Time of the first operation after idling, of a drive or of a worker's copy, relative to back-to-back
     * operations. */
    double rested[KVF_DIRS];
    /* Speed of reads from memory by reuse distance in bytes, relative to reads over all its memory. */
    uint32_t distances;
    uint64_t distance[CALIBRATE_DISTANCES]; /* ascending */
    double reuse[CALIBRATE_DISTANCES];
    double worker_ns[KVF_DIRS]; /* of a store: processor time of the workers per MiB; 0: unknown */
    double serving, processors; /* that all but the workers keep busy, and that there are; 0: unknown */
    double staging_bytes_s;     /* of a worker copying from memory to its drive buffers; 0: none */
    uint64_t filled_bytes;
    /* Interference during the measurement: share of all CPUs used by other programs, and the kernel's bytes
     * at the device relative to kvfall's; NaN: unknown. */
    double cpu_others, device_times;
    char description[200]; /* the backend's */
};

/* Opens the tier, fills as much of it as time allows, measures it, and closes it, which removes its files.
 * -KVF_ERR_UNAVAILABLE for an emulated or unusable tier; -KVF_ERR_CANCELLED when stopped. */
int calibrate_tier(const struct calibrate_setup *setup, enum kvf_tier tier, struct calibrate_result *out,
                   struct err *e);

/* Splits a histogram into equal-sized quantile slices; `out` gets the mean of each relative to the overall
 * mean. Returns that mean; for an empty histogram 0, with all slices 1. */
double calibrate_spread(const struct histogram *h, double out[CALIBRATE_SLICES]);
/* The range of the windows of a kind, relative to their median. */
double calibrate_apart(const struct calibrate_rate *rate);
/* The bandwidth net of latency, as scenario keys define it: n operations take latency + n x size / bandwidth.
 */
double calibrate_beyond_latency(const struct calibrate_curve *curve, enum kvf_dir dir, uint32_t point);

#endif
