/* Arrivals: turns users and trace rows into requests, which join the queue of their pod, and lets users
 * continue when their requests end. Generator thread, or control thread on a virtual clock. */
#ifndef KVF_ENGINE_ARRIVALS_DISPATCH_H
#define KVF_ENGINE_ARRIVALS_DISPATCH_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"
#include "engine/arrivals/prepare.h"
#include "engine/arrivals/users.h"
#include "metrics/histogram.h"
#include "record/snapshot.h"
#include "workload/workload.h"

struct engine;
struct flight;
struct pod;
struct service;
struct worker;

/* The user that the screen follows, queue_lock; its ended requests in a ring. */
struct follow {
    bool known;
    uint64_t user, next_ns; /* next_ns: run time at which it asks again; KVF_NEVER: not known */
    uint64_t ended;
    uint64_t ended_ns[SNAPSHOT_ENDED];
    struct snapshot_ended end[SNAPSHOT_ENDED];
};

/* The moment of an arrival. */
struct dispatch_mark {
    uint64_t run_ns;
    uint64_t arrived; /* requests until then */
    uint64_t open;    /* requests that it found waiting or in service */
    uint64_t open_ns; /* integral of them over time */
};

/* queue_lock, where nothing else is said. */
struct dispatch {
    struct workload *workload;
    struct users users;
    struct follow follow;
    uint64_t arrived, dropped;
    /* the first arrival, and the last with all users, where nobody waits for answers and all are served here
     */
    struct dispatch_mark first, last;
    uint64_t moved_on;          /* arrived here and given to another rank, less the reverse */
    uint64_t away;              /* requests that other ranks or shards serve for this one */
    struct histogram *lateness; /* arrivals behind schedule, ns; generator writes */
    struct flight *next_row;    /* open loop: read and not due yet */
    uint64_t lanes;             /* users started by responses and not ended */
    uint64_t begin_ns;          /* run time of the start of arrivals */
    _Atomic bool on;            /* the clock of the workload runs, and the sampler's has begun */
    bool source_ended;
    _Atomic bool done; /* the workload is, and all its requests */

    /* the generator */
    pthread_t thread;
    bool started;
    int fd;           /* wakes it */
    uint64_t wake_ns; /* end of its sleep */
    bool due;         /* virtual clock: it was woken */
    struct {
        uint64_t late_ns; /* of the next that arrives */
        bool used;        /* one has arrived since it was drawn */
        struct rng rng;
    } sight; /* virtual clock: how late arrivals are seen */
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
void dispatch_set_users(struct engine *e, uint64_t users);
void dispatch_done(struct engine *e, struct worker *w, struct flight *f);
/* Pods that are ranks (engine/pods/away.h): a request of rank 0's has come, by the number of its flight
 * there; the answer to one of this rank's, from the rank that it was sent to. */
void dispatch_guest(struct engine *e, uint64_t number, const void *bytes, size_t len);
void dispatch_answer(struct engine *e, unsigned from, uint64_t number, const void *bytes, size_t len);
/* Messages between routers and pods of a simulation (engine/pods/shards.h) whose time has come. A pod: it is
 * gone now, for outages_pod_goes(), and there may be more messages. */
struct pod *dispatch_messages(struct engine *e);
/* Sends requests that wait at a pod which is down to others, or back to rank 0, whose routers do; how many.
 */
uint64_t dispatch_reroute(struct engine *e, struct pod *p);
/* Whether nobody waits for answers, all are served here, and the last request has come, or most users have
 * asked their last. The caller holds queue_lock. */
bool dispatch_ended(const struct engine *e);
void dispatch_wake(struct engine *e); /* the generator, after a pause or a stop */
/* Fills the requests of a snapshot. The caller holds queue_lock, and now_ns was read under it. */
void dispatch_requests(const struct dispatch *d, const struct service *v, uint64_t now_ns,
                       struct snapshot *snap);
/* From now on snapshots tell of this user. */
void dispatch_follow(struct engine *e, uint64_t user);
/* A request has ended, and its user, if it is followed, asks again then. The caller holds queue_lock. */
void follow_ended(struct dispatch *d, const struct flight *f, uint64_t now_ns);
void follow_next(struct dispatch *d, uint64_t user, uint64_t at_ns);

#endif
