/* Integrals over time of the number of chunks at a tier, a count that several threads change. A mean over
 * time is the difference of two readings divided by the time between them. */
#ifndef KVF_METRICS_USAGE_H
#define KVF_METRICS_USAGE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/terms.h"

/* Counted beside the tiers: the link between gpu and host, and the gpu's own memory. */
enum { USAGE_LINK = KVF_TIERS, USAGE_GPU_MEMORY, USAGES };

struct usage_sums {
    uint64_t chunk_ns[KVF_DIRS]; /* chunks there x time */
    uint64_t busy_ns[KVF_DIRS];  /* time with at least one there */
    uint64_t any_ns;             /* time with at least one of either direction */
};

struct usage {
    pthread_mutex_t lock;  /* of all below, unless one thread does everything */
    bool alone;            /* it does */
    uint64_t at[KVF_DIRS]; /* chunks there now */
    uint64_t since_ns;     /* run time up to which the sums are complete */
    struct usage_sums sums;
};

/* Before other threads use it; `alone`: none will, as in a simulation. */
void usage_init(struct usage *u, bool alone);
void usage_destroy(struct usage *u); /* after they have ended */
/* `n` chunks came at a run time. A time in the past corrects chunk_ns. Any thread. */
void usage_come(struct usage *u, enum kvf_dir dir, uint64_t n, uint64_t at_ns);
/* `n` chunks left, the last one at last_ns; earlier_ns is the sum of how much earlier the others left. A time
 * in the past corrects chunk_ns. Any thread. */
void usage_go(struct usage *u, enum kvf_dir dir, uint64_t n, uint64_t last_ns, uint64_t earlier_ns);
/* The sums from the first chunk to that run time. Any thread. */
struct usage_sums usage_read(struct usage *u, uint64_t now_ns);

#endif
