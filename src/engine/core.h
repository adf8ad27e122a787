/* Shared by the files of the engine; no other room includes it.
 *
 * Threads: the control thread (the caller of engine_run: phases, sampling, commands), the generator
 * (arrivals), the workers (everything a request needs), the log thread (traces), and outside the
 * engine the database's writer. On a virtual clock the control thread does what generator and workers do.
 * Locks, in order; a thread that holds one takes only later ones:
 *   queue_lock   queue, slots, requests in service, users, workload, free flights. Held for an
 *                arrival, a completion or a sum of the counters (under 1 ms an interval).
 *   cache_lock   the caches and the tiers' places. Held for one decision.
 *   moved_lock   what is to be told of this pod's blocks. Held for one of them.
 *   writes.lock  the turns of entry writes. Held for one operation.
 *   error_lock   the first error and the list of events.
 *   compute's    the batch of the modelled GPU; taken inside its functions, which make no callbacks.
 * Everything else is one thread's own, or atomic. */
#ifndef KVF_ENGINE_CORE_H
#define KVF_ENGINE_CORE_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/heap.h"
#include "base/rng.h"
#include "cache/cache.h"
#include "engine/engine.h"
#include "engine/hang.h"
#include "engine/ingest.h"
#include "engine/move/simmover.h"
#include "engine/move/transfer.h"
#include "engine/move/verify.h"
#include "engine/pipeline/executor.h"
#include "engine/pipeline/flights.h"
#include "engine/pods/gone.h"
#include "engine/pods/pods.h"
#include "engine/pods/shards.h"
#include "engine/pods/slots.h"
#include "engine/prepare.h"
#include "engine/simulator.h"
#include "engine/users.h"
#include "fleet/lineup.h"
#include "metrics/counters.h"
#include "metrics/histogram.h"
#include "metrics/usage.h"
#include "probe/blockdev.h"
#include "probe/host.h"
#include "workload/workload.h"

struct channels;
struct holders;
struct outages;
struct together;
struct tracelog;

struct wait_list { /* by deadline */
    struct cache_op *first, *last;
};

struct worker {
    struct executor x; /* first: the pipeline's view of a worker */
    struct engine *engine;
    struct pod *pod; /* that it serves */
    pthread_t thread;
    bool started;
    int wake_fd;
    _Atomic int sleeping;
    _Atomic(struct flight *) flights_in; /* mailbox: requests that got a slot, or whose computing has ended */
    _Atomic(struct cache_op *) ops_in;   /* mailbox: operations that became ready elsewhere */
    struct cache_op *run, **run_tail;    /* ready operations to begin */
    struct wait_list waits[2];           /* operations that wait: begun with this wait, going on */
    struct heap timers;                  /* flights that generate, by time */
    struct mover *mover;
    struct simmover *simulated; /* in its place on a virtual clock; else NULL */
    int open_rc;                /* what became of its opening, once workers_open was posted */
    struct err open_err;
    struct rng wake_rng; /* virtual clock: how late it sees requests */
    uint32_t deaths;     /* of its pod, that it has seen */
    uint32_t in_service; /* queue_lock */
};

/* Arrivals of one class, queue_lock. */
struct class_counts {
    uint64_t arrived, dropped, queued, in_service;
    uint64_t overtaken; /* how often a request of another class, arrived later, got a slot before one of it */
    /* integrals over time, complete to counted_ns; a request waits from its scheduled arrival on */
    uint64_t waiting_ns, service_ns;
};

/* Entries of the step under way, queue_lock. */
struct prepare {
    uint64_t made;       /* so far */
    uint64_t out;        /* not ended yet */
    uint64_t total;      /* entries, or bytes, there will be */
    uint64_t made_bytes; /* of what was made */
    uint64_t out_bytes;  /* not ended yet */
    uint64_t done_bytes; /* ended well */
    struct sizes *sizes; /* precondition, prepopulate */
    int tier;            /* prepopulate: that is being filled */
    uint64_t room_bytes; /* prepopulate: left to fill in it */
};

/* The user that the screen follows, queue_lock; its ended requests in a ring. */
struct follow {
    bool known;
    uint64_t user, next_ns; /* next_ns: run time at which it asks again; KVF_NEVER: not known */
    uint64_t ended;
    uint64_t ended_ns[SNAPSHOT_ENDED];
    struct snapshot_ended end[SNAPSHOT_ENDED];
};

struct engine {
    const struct engine_setup *setup;
    const struct scenario *s;
    struct run_clock clock;
    struct simulator simulator; /* of a virtual clock */
    struct payload *payload;
    struct tier *tiers[KVF_TIERS];
    bool pinning; /* the tier that opens is being page-locked */
    struct pod *pods;
    uint32_t pod_first, pod_count; /* number of the first that is here; of these */
    struct shards *shards;         /* of a fleet whose messages take time; NULL: they do not */
    struct pod store; /* the remote tier of several pods: no more than a cache; without: they have none */
    struct channels *store_link; /* to it; NULL likewise */
    struct fleet *fleet;         /* of several pods, queue_lock; NULL: there is one, or rank 0 routes */
    uint64_t away;               /* requests that other ranks or shards serve for this one, queue_lock */
    uint64_t on_way;    /* sent to other ranks less taken from them: of all ranks, those on their way */
    bool routing_ended; /* of a real fleet, queue_lock: see pods_read() */
    struct buf moved;   /* by away_moved() and not handed on yet; moved_lock */
    pthread_mutex_t moved_lock;
    uint64_t moved_on;       /* arrived here and given to another rank, less the reverse; queue_lock */
    struct gone gone;        /* of a pod that is a rank */
    struct outages *outages; /* of the fleet; NULL: there are none */
    struct fleet_stats fleet_base, fleet_end, fleet_last; /* last: of the interval before */
    struct histogram index_base, index_took; /* lookups in a server, before the measured part and in it */
    struct holders *stored;     /* of pods that share a server: what is in it; NULL: none, or rank 0 has it */
    bool index_lost;            /* that server, which has been told */
    uint64_t *hashes;           /* of the blocks of the request that is being routed */
    struct extents_part *parts; /* the same blocks by contexts */
    uint32_t hash_cap;          /* of both */
    pthread_mutex_t cache_lock; /* of all caches */
    struct counters *counters;
    uint32_t counter_count; /* of them: one for each thread that serves requests */
    struct usage usage[USAGES];
    struct worker *workers;
    uint32_t worker_count; /* threads; on a virtual clock one for each pod, without a thread */
    struct lineup lineup;  /* of these */
    sem_t workers_open;    /* posted by every worker when its opening has ended */
    struct tracelog *log;

    pthread_mutex_t queue_lock;
    struct users users;
    struct follow follow;
    struct workload *workload;
    struct oracle *oracle;       /* of policy belady, else NULL */
    uint64_t slots;              /* of a pod */
    uint64_t queued, in_service; /* of all */
    struct pod *touched;         /* pods whose slots are to be filled */
    struct class_counts klass[KVF_CLASSES_MAX];
    uint64_t arrived, dropped, counted_ns;
    struct histogram *lateness; /* arrivals behind schedule, ns; generator writes */
    /* in service, by when they got their slot; those of the preparation are not here */
    struct flight *service_first, *service_last;
    struct flights flights;
    struct flight *next_row;  /* open loop: read and not due yet */
    uint64_t users_ended;     /* of the active ones: they have asked their last */
    uint64_t lanes;           /* users started by responses and not ended */
    uint64_t begin_ns;        /* run time of the start of arrivals */
    _Atomic bool arrivals_on; /* the clock of the workload runs, and the sampler's has begun */
    bool source_ended;
    const struct prepare_step *step; /* of the preparation, under way; NULL: none */
    struct prepare prepare;
    struct ingest ingest;                              /* queue_lock */
    uint64_t preconditioned_bytes, prepopulated_bytes; /* of the steps that have ended; control thread */
    uint64_t generator_wake_ns;                        /* end of the generator's sleep */
    bool generator_due;                                /* virtual clock: it was woken */
    struct {
        uint64_t late_ns; /* of the next that arrives */
        bool used;        /* one has arrived since it was drawn */
        struct rng rng;
    } sight; /* virtual clock: how late arrivals are seen */
    pthread_t generator;
    bool generator_started;
    int generator_fd;

    struct hang hang;        /* control thread */
    struct verify_dump dump; /* of all workers */

    _Atomic bool stopping; /* nothing new is issued */
    _Atomic bool drained;  /* the cache has let everything go; workers may leave */
    int control_fd;        /* wakes the control thread: workload done, error */
    _Atomic bool control_woken;
    _Atomic bool workload_done;
    pthread_mutex_t error_lock;
    _Atomic bool failed;
    char error[700];
    uint64_t error_count;
    struct record_event *events; /* since the control thread last took them */
    size_t event_count, event_cap;

    /* the control thread's own */
    struct together *together; /* NULL: the only rank */
    uint64_t late_ns;          /* that this rank began after the time that rank 0 named */
    uint64_t moment;           /* intervals ended, as all ranks count them: together.h */
    struct sampler *sampler;
    struct scaling *scaling;
    struct blockdev *devices;
    uint32_t device_count;
    struct block_trace *block; /* NULL: the block layer is not traced */
};

/* The generator: arrivals, the queue, slots. */
void dispatch_init(struct engine *e);
void dispatch_destroy(struct engine *e);
int dispatch_start(struct engine *e, struct err *err); /* the generator thread */
void dispatch_stop(struct engine *e);                  /* joins it */
/* Virtual clock, where there is no such thread: all that is due now; and when more will be. */
void dispatch_turn(struct engine *e);
uint64_t dispatch_next_ns(const struct engine *e);
/* Arrivals are scheduled from that run time on. */
void dispatch_begin_arrivals(struct engine *e, uint64_t from_ns);
/* Goes on with a step of the preparation: true while any of it is under way. Then, or when the run ends,
 * dispatch_prepare_end(), after which the step is not called any more. */
bool dispatch_prepare(struct engine *e, const struct prepare_step *step, char *what, size_t len,
                      double *share);
void dispatch_prepare_end(struct engine *e);
void dispatch_set_users(struct engine *e, uint64_t users);
void dispatch_done(struct engine *e, struct worker *w, struct flight *f);
/* Pods that are ranks (pods/away.h): a request of rank 0's has come, by the number of its flight there; the
 * answer to one of this rank's, from the rank that it was sent to. */
void dispatch_guest(struct engine *e, uint64_t number, const void *bytes, size_t len);
void dispatch_answer(struct engine *e, unsigned from, uint64_t number, const void *bytes, size_t len);
/* Messages between routers and pods of a simulation (pods/shards.h) whose time has come. A pod: it is gone
 * now, for outages_pod_goes(), and there may be more messages. */
struct pod *dispatch_messages(struct engine *e);
/* Sends requests that wait at a pod which is down to others, or back to rank 0, whose routers do; how many.
 */
uint64_t dispatch_reroute(struct engine *e, struct pod *p);
void dispatch_wake(struct engine *e); /* the generator, after a pause or a stop */
/* When the run has ended: says so if an open loop could not be kept up with. */
void overload_finish(struct engine *e);

/* Fills the requests of a snapshot. The caller holds queue_lock, and now_ns was read under it. */
void dispatch_requests(const struct engine *e, uint64_t now_ns, struct snapshot *snap);
/* From now on snapshots tell of this user. */
void dispatch_follow(struct engine *e, uint64_t user);
/* A request has ended, and its user, if it is followed, asks again then. The caller holds queue_lock. */
void follow_ended(struct engine *e, const struct flight *f, uint64_t now_ns);
void follow_next(struct engine *e, uint64_t user, uint64_t at_ns);

/* Workers: event loops over flights and operations. */
int worker_start(struct engine *e, struct worker *w, uint32_t index, struct err *err);
void worker_join(struct worker *w);
void worker_close(struct worker *w); /* when all are joined: a late one may have woken it */
void worker_wake(struct worker *w);
void worker_post_flight(struct worker *w, struct flight *f);
void worker_post_op(struct worker *w, struct cache_op *op);
void worker_mail_op(struct worker *w, struct cache_op *op); /* without waking it */

/* Virtual clock: the worker of a pod, without a thread, on the control thread. worker_turn() begins and ends
 * what can be now and says whether there was any, worker_next_ns() says when there will be. */
void worker_simulate(struct engine *e, struct worker *w);
bool worker_turn(struct worker *w, bool paused);
uint64_t worker_next_ns(const struct worker *w);
/* The worker of a pod that is gone: its operations end abandoned, its cache having stopped; its requests are
 * forgotten, and the caller's. */
void worker_abandon(struct worker *w);

/* Opens the tiers that are on, with progress, and fills their part of the run's record. Control thread. */
int tiers_open(struct engine *e, struct err *err);
void tiers_close(struct engine *e); /* those that there are */

/* Which tiers there are, of which kind, and their capacity (describe.c). */
void engine_describe_tiers(const struct engine *e, struct snapshot *snap);

/* At the end of a simulated run: no request is counted as done whose bytes were not moved
 * (engine/limits/bound.h).
 */
void overload_check(struct engine *e);
/* Warns in the verdict of writes that found no room, from the results. */
void overload_warn(const struct engine *e, struct run_record *run);

/* The control thread's side. */
void engine_event(struct engine *e, const char *level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* A change by hand or by a signal, of the kind, to the value. */
void engine_changed(struct engine *e, enum record_event_kind kind, const char *value, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void engine_error(struct engine *e, const char *sentence); /* counted; the first one is named */
void engine_wake_control(struct engine *e);
static inline bool engine_is_virtual(const struct engine *e) {
    return run_clock_is_virtual(&e->clock);
}
/* On a real clock the one that is here; its number may be another. */
static inline struct pod *pod_of(const struct engine *e, const struct flight *f) {
    return &e->pods[engine_is_virtual(e) ? f->pod - e->pod_first : 0];
}
/* Of a virtual clock. */
static inline struct worker *pod_worker(const struct pod *p) {
    return &p->engine->workers[p->number - p->engine->pod_first];
}
static inline uint64_t engine_now(const struct engine *e) {
    return run_clock_now(&e->clock);
}

#endif
