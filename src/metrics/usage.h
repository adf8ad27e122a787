/* Integrals over time of the number of chunks at a tier, a count that several threads change. A mean over
 * time is the difference of two readings divided by the time between them. */
#ifndef KVF_METRICS_USAGE_H
#define KVF_METRICS_USAGE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/terms.h"

/* Counted beside the tiers: the link between gpu and host, and the gpu's own memory. */
enum { USAGE_LINK = KVF_TIERS, USAGE_GPU_MEMORY, USAGES };

/* A stall: so many chunks are there for at least that long, for so many times the mean time between two that
 * leave, and for so many times the usual silence, and none of them leaves. Fewer chunks may each be slow by
 * themselves; at the end of a long way many leave together, and between them is silence. The usual one is the
 * mean at a random moment, sum of squares / sum, of some hundred silences before, without stalls. */
enum { USAGE_STALL_CHUNKS = 4, USAGE_STALL_TIMES = 10, USAGE_STALL_USUAL = 3, USAGE_STALL_LENGTHS = 9 };
#define USAGE_STALL_NS (100 * KVF_NS_PER_MS)

struct usage_sums {
    uint64_t chunk_ns[KVF_DIRS]; /* chunks there x time */
    uint64_t busy_ns[KVF_DIRS];  /* time with at least one there */
    uint64_t any_ns;             /* time with at least one of either direction */
    uint64_t gone;               /* chunks that left */
    /* Stalls that are over, and their time, by length, each twice that of the one before; of one that looks
     * for them. */
    uint64_t stalls[USAGE_STALL_LENGTHS], stall_ns[USAGE_STALL_LENGTHS];
};

struct usage {
    pthread_mutex_t lock;  /* of all below, unless one thread does everything */
    bool alone;            /* it does */
    bool watched;          /* it looks for stalls */
    uint64_t at[KVF_DIRS]; /* chunks there now */
    uint64_t since_ns;     /* run time up to which the sums are complete */
    uint64_t still_ns;     /* run time since which there have been chunks enough for a stall, and none left */
    double silent_ns, silent_ns2; /* fading sums of such silences, and of their squares */
    struct usage_sums sums;
};

/* Before other threads use it; `alone`: none will, as in a simulation. */
void usage_init(struct usage *u, bool alone);
void usage_watch(struct usage *u);   /* looks for stalls from now on; before other threads use it */
void usage_destroy(struct usage *u); /* after they have ended */
/* `n` chunks came at a run time. A time in the past corrects chunk_ns. Any thread. */
void usage_come(struct usage *u, enum kvf_dir dir, uint64_t n, uint64_t at_ns);
/* `n` chunks left, the last one at last_ns; earlier_ns is the sum of how much earlier the others left. A time
 * in the past corrects chunk_ns. Any thread. */
void usage_go(struct usage *u, enum kvf_dir dir, uint64_t n, uint64_t last_ns, uint64_t earlier_ns);
/* Whether so long a time, where `mean_ns` is usual, is a stall. */
bool usage_is_stall(uint64_t ns, double mean_ns);
void usage_add(struct usage_sums *to, const struct usage_sums *more);
struct usage_sums usage_between(const struct usage_sums *from, const struct usage_sums *to);
uint64_t usage_stall_ns(const struct usage_sums *s); /* of all lengths */
/* The sums from the first chunk to that run time. Any thread. */
struct usage_sums usage_read(struct usage *u, uint64_t now_ns);

#endif
