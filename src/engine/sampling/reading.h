/* All counts of a run at one moment, read by the sampler: what happened in a stretch of time is the
 * difference of two readings. Control thread only. */
#ifndef KVF_ENGINE_SAMPLING_READING_H
#define KVF_ENGINE_SAMPLING_READING_H

#include "base/terms.h"
#include "block/block.h"
#include "cache/cache.h"
#include "engine/arrivals/dispatch.h"
#include "engine/pipeline/compute.h"
#include "engine/service/service.h"
#include "metrics/counters.h"
#include "metrics/histogram.h"
#include "metrics/usage.h"
#include "probe/blockdev.h"
#include "probe/host.h"
#include "scenario/scenario.h"
#include "tier/tier.h"

struct buf;
struct engine;
struct snapshot;

static inline uint64_t sampler_target_ns(const struct scenario_class *c, int i) {
    const uint64_t ns[KVF_TARGETS] = {c->p95_ns, c->p99_ns, c->p999_ns, c->p9999_ns};
    return ns[i];
}

/* All counts of the run at one moment. */
struct reading {
    uint64_t run_ns;
    uint64_t ranks;           /* that it is of */
    struct counters *workers; /* summed over the workers */
    struct cache_stats cache;
    struct class_counts klass[KVF_CLASSES_MAX];
    uint64_t arrived, dropped, queued, in_service, users, oldest_ns[KVF_CLASSES_MAX];
    struct histogram *lateness;
    uint64_t
        open_ns[KVF_CLASSES_MAX]; /* arrival of the oldest request not yet done; KVF_NEVER: there is none */
    /* arrival of the oldest that waits, where a later one of another class got a slot before it, else
     * KVF_NEVER; and when the class gave a slot back last; 0: never */
    uint64_t behind_ns[KVF_CLASSES_MAX], left_ns[KVF_CLASSES_MAX];
    /* requests not yet done that are past the target of P95, P99, ...: whatever their latency becomes */
    uint64_t overdue[KVF_CLASSES_MAX][KVF_TARGETS];
    uint64_t waited_half, waited_all; /* requests not yet done that have waited for half of the measured part,
                                         and for all of it */
    uint64_t stranded; /* and for longer than 95 % of those done in it took, where nobody waits for answers */
    struct usage_sums usage[USAGES]; /* of chunks */
    /* of tiers that keep time by channels: how long they were busy, all pods of a simulation added up; and of
     * the gpu's own memory, where a simulation has its figures */
    uint64_t link_ns[KVF_TIERS][KVF_DIRS], memory_ns[KVF_DIRS];
    uint64_t documents_in, documents_refused, documents_evicted, documents_overdue; /* of retrieval */
    /* ranks of which dispatch_ended() is true; the earliest and the latest time, and the sums of the rest */
    uint64_t arrivals_ended;
    struct dispatch_mark first, last;
    uint64_t
        on_way; /* of a real fleet: requests sent less those taken, which of one rank alone may be below 0 */
    struct users_time users_time;
    uint64_t unasked;             /* users that never had anything to ask */
    uint64_t loads_left;          /* ranks whose users have not all asked their last and been answered */
    uint64_t writes_most;         /* entry writes in flight at a time since the measured part began */
    struct tier_server server;    /* behind the remote tier */
    struct compute_stats compute; /* zero without a modelled GPU */
    struct host_counts host;
    struct blockdev_counters device;
    bool device_present;
    struct block_counts *block; /* its own copy, users of rank 0's machine; NULL: not traced */
    uint64_t gather_ns;         /* CPU time that each rank has spent for the others */
    /* Sums over the intervals up to this one, set as it ends. */
    double violations[KVF_CLASSES_MAX];
    double users_s;
    double firsts, sampled; /* lookups of what is new, and all, as the sample of accesses weighs them */
    double unwritten;       /* of the first, those of what another request had yet to write */
    double power_j, power_s, energy_j, energy_s; /* told by this machine, and in how long */
};

/* 0, or -KVF_ERR_NOMEM; the counts are all zero. */
int reading_open(struct reading *r, struct err *e);
void reading_close(struct reading *r); /* takes a zeroed one */
void reading_copy(struct reading *to, const struct reading *from);
void reading_swap(struct reading *a, struct reading *b);
/* Everybody's counters now. The requests in service go straight into `snap`, which may be NULL. */
void reading_take(struct engine *e, struct reading *r, struct snapshot *snap);

/* Adds another rank's counts of the same moment: every sum is then of both, and gauges of requests and bytes
 * are sums as well. Ages count from each one's own clock. same_host: its machine is in `to` already. */
void reading_merge(struct reading *to, const struct reading *from, bool same_host);
/* For another process of the same build. unpack, into an open one: 0, or -1 on bytes that are no reading. */
void reading_pack(const struct reading *r, struct buf *out);
int reading_unpack(struct reading *r, const unsigned char *bytes, size_t len);

#endif
