/* The serving machines of a run: one, or the pods of a fleet, each with its cache, queue, slots and modelled
 * GPU; a fleet routes every request to a pod. On a real clock a process has one pod, which all workers serve;
 * the pods of a fleet are ranks, and rank 0 has the routers and a row for each remote pod, with counts of
 * what it sent (away.h). On a virtual clock each pod has its own worker, and all run on the control thread.
 * With message delay the pods may be divided among ranks (shards.h): a rank's own pods come first, and rank
 * 0, which has the routers, keeps a row for each of the others. */
#ifndef KVF_ENGINE_PODS_PODS_H
#define KVF_ENGINE_PODS_PODS_H

#include <stdbool.h>
#include <stdint.h>

#include "cache/cache.h"
#include "engine/move/writegate.h"
#include "engine/pipeline/pipeline.h"
#include "engine/pods/farstore.h"
#include "engine/service/queue.h"
#include "fleet/fleet.h"
#include "record/run.h"

struct engine;
struct reading;
struct service;
struct worker;

/* Counted since the begin of the run; queue_lock. Of pods that are ranks, what was done is as their newest
 * readings say, and the rest is rank 0's. */
struct pod_counts {
    uint64_t routed, done, tokens;
    uint64_t expected_blocks, wrong_blocks; /* that routers took to be there; of these were not */
    uint64_t load_ns; /* requests queued and in service, over time, complete to counted_ns */
    uint64_t counted_ns;
};

struct pod {
    struct service *service;
    uint32_t number;
    struct cache *cache;
    struct pipeline pipeline; /* its compute is closed with the pod */
    struct writegate writes;
    struct queue queue;
    uint64_t in_service;
    uint32_t *crew_load; /* requests in service of each worker that a simulation models; NULL: none */
    struct farstore_asks asks;
    struct pod_counts counts, read; /* read: as in the newest reading of the sampler */
    struct pod_counts base, end;    /* of the measured part */
    struct cache_stats base_cache, end_cache;
    struct cache_stats told; /* of a pod that is a rank: as its newest reading says */
    struct pod_counts last;  /* at the end of the interval before, with lookups and hits of its cache */
    uint64_t last_lookups, last_hits;
    bool expects; /* blocks in a server that other pods put there; cache_lock */
    bool touched; /* in the list of those whose slots are to be filled */
    struct pod *next_touched;
};

/* In the order of opening: queues and gates, with what hands a write to the worker that carries it out; then
 * caches and GPUs, with workload and tiers open. */
void pods_init(struct engine *e, void (*post)(void *pod, struct cache_op *op));
/* Before anything is created: whether there is a rank for each pod of a real fleet. */
int pods_refused(const struct engine *e, struct err *err);
int pods_open(struct engine *e, struct err *err);
int pods_check(const struct engine *e, struct err *err); /* all caches; as cache_check() */
void pods_close(struct engine *e);

/* Its cache refuses all that waits, and its gate holds nobody: the end of the run, or of the pod. */
void pod_stop(struct pod *p);

uint32_t pods_blocks_of(const struct request *r); /* that it is made of, at that granularity */

/* Which pod serves a request that has arrived. The caller holds queue_lock. */
void pods_route(struct engine *e, struct flight *f);
/* A routed request has ended, or found the queue full. Likewise. */
void pods_done(struct engine *e, struct flight *f, bool served);
void pods_count_done(struct pod *p, const struct flight *f); /* by a pod of a simulation, without failing */

/* Counts of its cache, of this moment or as a rank's newest reading has them. */
void pods_cache_of(const struct pod *p, struct cache_stats *out);
/* The sampler reads all counts. The caller holds queue_lock. From the last reading of the measured part on
 * rank 0 of a real fleet routes nothing, so that a request is sent in that part or not at all. */
void pods_read(struct engine *e);
/* Takes over the counts of a rank of a real fleet, from a reading of it alone. Rank 0's control thread. */
void pods_told(struct engine *e, uint32_t pod, const struct reading *r);

/* Sums over all pods. The caller holds cache_lock for the first. */
void pods_cache_stats(const struct engine *e, struct cache_stats *out);
void pods_compute_read(const struct engine *e, uint64_t now_ns, struct compute_stats *out);
uint32_t pods_routed_to(const struct engine *e);         /* that the routers here know; 0: none */
uint32_t pods_machines(const struct scenario *s);        /* of the whole run, pods and ranks */
uint32_t pods_tiers(const struct scenario *s, int tier); /* of these, with a tier of that kind of their own */
uint64_t pods_slots(const struct scenario *s);           /* of these */
uint64_t pods_writes_most(struct engine *e);             /* of the pod with the most */
/* Scheduled arrival of the longest waiting request of a class; how many of it arrived before a time. */
uint64_t pods_oldest_ns(const struct engine *e, uint32_t klass);
uint64_t pods_older(const struct engine *e, uint32_t klass, uint64_t arrival_ns);

/* The fleet and its pods in the interval that ends now, or so far where it is a peek. Nothing for one pod. */
void pods_interval(struct engine *e, struct snapshot *snap);

/* The measured part begins, and ends: the counts between the two are in the results. */
void pods_measure_from_here(struct engine *e);
void pods_measure_to_here(struct engine *e);
/* Measures of the fleet and a row for each pod; nothing where there is one. */
void pods_results(struct engine *e, struct run_record *run);

#endif
