/* Replays a run's accesses on a cache with other capacities or another policy, one request after another,
 * with every operation instantaneous (Waldspurger, Saemundsson, Ahmad, Park: Cache Modeling and Optimization
 * using Miniature Simulations, ATC 2017). No bytes, no time. One thread. */
#ifndef KVF_ENGINE_PIPELINE_TRIAL_H
#define KVF_ENGINE_PIPELINE_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "cache/cache.h"
#include "engine/pipeline/references.h"

enum { TRIAL_PARTS = 8 };
/* Requests of a user, and the bytes that it read of entries of its own, by part. */
struct trial_user {
    double requests[TRIAL_PARTS], bytes[TRIAL_PARTS][KVF_TIERS];
};
struct trial_setup {
    const struct scenario *scenario;
    struct cache_config cache; /* all but ctx, alloc and drop */
    double part;               /* of the entries that are tried, by a hash of their keys */
    uint64_t counts_from;      /* index of the access from which on there are counts */
    bool one_by_one;           /* each write ends before the next one begins */
    uint64_t users;            /* the first so many alone, with what all share; 0: all */
    struct trial_user *user;   /* the caller's, zeroed, of the first user_count users; NULL: not counted */
    uint64_t user_count;
};
struct trial_counts {
    uint64_t lookups, misses; /* decode's left out */
    uint64_t contexts;        /* written, or looked up as a whole: for each request one */
    uint64_t ops[KVF_TIERS][KVF_DIRS], bytes[KVF_TIERS][KVF_DIRS]; /* of entries, moves included */
    /* The same by part: as many accesses each, one part after the other. */
    uint64_t part_contexts[TRIAL_PARTS], part_bytes[TRIAL_PARTS][KVF_TIERS][KVF_DIRS];
};

/* 0 or a negative code: there is no such cache. */
int trial_run(const struct references *r, const struct trial_setup *setup, struct trial_counts *out,
              struct err *e);
/* Bytes of a tier and direction for each context, in so many parts from one on; 0 without contexts. */
double trial_bytes_per_context(const struct trial_counts *c, unsigned from, unsigned parts, int t, int d);

#endif
