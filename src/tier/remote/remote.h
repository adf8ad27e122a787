/* Common part of the backends that keep entries as values in a remote store: places, entry operations, the
 * values that an entry is cut into, lookups, deletes, and reconnecting. The protocol is the backend's, behind
 * struct remote_wire. Only those backends include this. */
#ifndef KVF_TIER_REMOTE_REMOTE_H
#define KVF_TIER_REMOTE_REMOTE_H

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/url.h"
#include "tier/tier.h"

enum {
    REMOTE_SERVER = 2 * URL_WORD + 64,
    REMOTE_KEY = 256,
    REMOTE_BATCH = 64,
    REMOTE_PIECES = 16,
    REMOTE_PLACES = 512,
    REMOTE_OWN = 4096,
    REMOTE_DOUBTS = 65536
};

/* The values of an entry in the store. A tier's place is a pointer to one. */
struct remote_place {
    uint64_t key_hi, key_lo, generation;
    uint64_t bytes;            /* of the entry */
    bool stored;               /* some of its values may be in the store */
    bool remains;              /* some could not be deleted */
    bool shared;               /* its values have names in common with other runs */
    atomic_bool found;         /* another run has written it */
    uint64_t deleting;         /* values whose deletion is in progress */
    struct remote_place *next; /* in the list of free ones, or of those to delete */
    struct remote_place *next_own;
};

/* The first member of a backend's tier. */
struct remote_tier {
    struct tier base;
    const struct remote_wire *wire;
    const struct remote_calls *calls; /* of a library with blocking calls; NULL: the wire's own */
    const struct run_clock *clock;
    char name[REMOTE_SERVER]; /* of the server: "127.0.0.1:6379", "/run/redis.sock" */
    unsigned servers;         /* of its cluster; 0: a single server */
    uint64_t value_bytes;
    uint64_t run_tag;
    bool shares;        /* prompts, or in a fleet everything, with runs of the same tag */
    uint64_t share_tag; /* hash of everything that the content depends on */
    uint64_t timeout_ns;
    uint32_t connections, workers;
    bool asks;                           /* looks an entry up before reading it */
    bool deletes;                        /* deletes what the cache drops */
    atomic_bool claims;                  /* can write only if the name is free */
    bool keeps;                          /* can never delete */
    atomic_bool hung;                    /* a call of the library has not returned */
    bool one_by_one;                     /* looks values up one after another */
    char head[REMOTE_KEY / 2];           /* prefix of names */
    char shared_head[REMOTE_KEY / 2];    /* prefix of names that runs share */
    char description[1400], notice[800]; /* of the server, by the backend; "": none */
    _Atomic uint64_t up, trips, sent_bytes,
        received_bytes;                    /* connections that are up, round trips, bytes; all workers' sum */
    _Atomic uint64_t found, absent;        /* lookups of other runs' entries: hits, misses */
    _Atomic uint64_t alone;                /* generation counter of prompts that are not shared */
    pthread_mutex_t own_lock;              /* protects the next three; innermost */
    struct remote_place *doubts;           /* copies of places whose write had no answer */
    size_t doubt_count;                    /* at most REMOTE_DOUBTS */
    struct remote_place *own[REMOTE_OWN];  /* stored under shared names, by hash, until deleted */
    struct remote_place *free;             /* under the cache lock */
    struct remote_place **slabs;           /* likewise */
    size_t slab_count;                     /* likewise */
    _Atomic(struct remote_place *) dead;   /* to delete; a worker takes all of them */
    _Atomic(struct remote_place *) buried; /* deleted; the next alloc takes all of them */
};

static inline void remote_count(_Atomic uint64_t *v, uint64_t n) {
    atomic_fetch_add_explicit(v, n, memory_order_relaxed);
}

/* ---- remote_places.c: no I/O under the cache lock ---- */

/* Fills in all members that do not depend on the kind of store; name and wire are the backend's. */
void remote_open(struct remote_tier *t, const struct tier_setup *setup);
void remote_close(struct remote_tier *t); /* frees the places; their values stay in the store */
/* Members of struct tier_ops. The next worker with time deletes what was dropped. */
uint64_t remote_alloc(struct tier *t, uint64_t bytes);
void remote_drop(struct tier *t, uint64_t place, uint64_t bytes);
uint32_t remote_caps(const struct tier *t);
void remote_expect(struct tier *t, uint64_t place, uint64_t key_hi, uint64_t key_lo);
void remote_push(_Atomic(struct remote_place *) *stack, struct remote_place *p);
uint64_t remote_values(const struct remote_tier *t,
                       uint64_t bytes); /* number of values of an entry of this size */
/* Records that some of a place's values are in the store, or none any more. Any thread. */
void remote_stored(struct remote_tier *t, struct remote_place *p, bool stored);
/* Records a write that had no answer. The store may still carry it out, even after its values were deleted,
 * so the end of the run deletes them again. Any thread. */
void remote_doubt(struct remote_tier *t, const struct remote_place *p);
/* Whether this run has written values of a place's shared names for another place. Any thread. */
bool remote_is_own(struct remote_tier *t, const struct remote_place *p);
/* Writes the name of a value and returns its length: <head><entry>.<generation>:<value>, or shared
 * <shared_head><entry>.<bytes>:<value>. */
size_t remote_name(const struct remote_tier *t, const struct remote_place *p, uint64_t value,
                   char out[REMOTE_KEY]);
/* Sets the error of a tier that cannot be opened, and returns its negative code. */
int remote_refuse(struct err *e, const struct err *why);
/* More members of struct tier_ops. */
void remote_describe(const struct tier *t, char *out, size_t len);
const char *remote_notice(const struct tier *t);
/* The end of a description: with TLS or without. Sets the notice about --insecure. */
const char *remote_tls_words(struct remote_tier *t, bool tls, bool insecure);
/* This run's metrics; the server's are NaN. Any thread. */
void remote_figures(const struct tier *t, struct tier_server *out);

/* ---- remote_clean.c ---- */

/* Deletes all values that are still in the store, over as many connections as a run has. A warning says how
 * many remain. Every queue must be closed. */
void remote_clean(struct remote_tier *t);

/* ---- remote_job.c: entry operations and their values ---- */

/* The use of a chunk's internal words. */
enum { CHUNK_LEFT, CHUNK_BEFORE, CHUNK_BEHIND };

/* An entry operation, from its first chunk until forget. */
struct remote_op {
    const void *operation; /* NULL: free */
    struct remote_place *place;
    enum kvf_dir dir;
    uint64_t bytes, values;
    struct tier_chunk *first, *last; /* chunks not yet handed back, in order */
    struct remote_job *jobs;         /* values in progress or waiting, the newest first */
    uint64_t known;                  /* values that have had a job */
    uint64_t asked, answered;        /* lookups of values */
    uint64_t missing;                /* lookups that found nothing */
    uint64_t began_ns;               /* run clock at its first chunk */
    bool looking;                    /* its jobs wait for the lookup */
    bool there;                      /* write: another run has written the entry already */
    bool own;                        /* at the lookup this run had such values itself */
    bool claiming;                   /* write: its first value decides which run writes the entry */
    int error;                       /* for all of its chunks */
    unsigned round;                  /* lookups of it that were interrupted */
    struct remote_op *next;          /* in its bucket, or free */
    struct remote_op *next_asking;   /* in the queue for lookups */
    bool asking;
};

/* A transfer of one value. */
struct remote_job {
    struct remote_op *op; /* NULL: cancelled while it waited */
    uint64_t value;
    uint64_t at, len;         /* bytes within the entry */
    uint64_t passed;          /* bytes sent or received */
    uint64_t hold;            /* last bytes, which count once the server has confirmed */
    struct tier_chunk *chunk; /* with the next byte; NULL: not submitted yet */
    struct remote_conn *conn; /* NULL: waits for one */
    struct remote_job *next_of_op, *next;
    uint64_t order; /* position of its first wait, from 1; 0: none yet */
    unsigned tries;
    bool lined;
    bool first; /* write only if the name is free */
};

/* Finds an operation; NULL: none of its chunks was submitted. Starts a new one, with a lookup if needed. */
struct remote_op *remote_op_find(struct tier_queue *q, const void *operation);
struct remote_op *remote_op_new(struct tier_queue *q, const struct tier_chunk *c, uint64_t now_ns);
/* Queues it for a lookup. */
void remote_op_ask(struct tier_queue *q, struct remote_op *op);
/* Adds a submitted chunk: starts the values that begin in it, and resumes the one that waited for it. */
void remote_op_chunk(struct tier_queue *q, struct remote_op *op, struct tier_chunk *c, uint64_t now_ns);
/* Hands back every chunk of the operation, present and future, with this error; 0: none. For EREMOTEIO q->why
 * has the sentence. */
void remote_op_fail(struct tier_queue *q, struct remote_op *op, int error);
void remote_op_forget(struct tier_queue *q, struct remote_op *op);
/* The lookup is done: starts the values. */
void remote_op_go(struct tier_queue *q, struct remote_op *op);
/* Hands one chunk back. */
void remote_chunk_done(struct tier_queue *q, struct tier_chunk *c);

/* Fills in at most `room` buffers for the rest of the value, as far as chunks were submitted, and returns
 * their number. *whole: they reach its end. */
int remote_job_pieces(const struct remote_job *job, struct iovec *iov, int room, bool *whole);
/* Advances a job by bytes sent or received; hands complete chunks back. */
void remote_job_pass(struct tier_queue *q, struct remote_job *job, uint64_t bytes);
void remote_job_done(struct tier_queue *q, struct remote_job *job);
/* Another run wrote the first value of a shared entry earlier, so the entry is that run's. */
void remote_job_forestalled(struct tier_queue *q, struct remote_job *job);
/* Restarts a value at its first byte. False: a write whose chunks were partly handed back. */
bool remote_job_rewind(struct remote_job *job);
/* The connection was lost: queues the job again if it can restart, else fails the operation. */
void remote_job_interrupted(struct tier_queue *q, struct remote_job *job);
/* Takes the next waiting job; NULL: none. */
struct remote_job *remote_job_take(struct tier_queue *q);

/* ---- remote_conn.c: connections as a queue sees them ---- */

enum remote_item_kind { ITEM_GREETING, ITEM_LOOKUP, ITEM_DELETE };
struct remote_item {
    enum remote_item_kind kind;
    uint64_t value;
    struct remote_op *op;       /* lookup; NULL: the operation has ended */
    unsigned round;             /* lookup; answers of an earlier round are ignored */
    struct remote_place *place; /* lookup and delete */
};

/* The first member of a backend's connection, which carries one value or one batch of items at a time. */
struct remote_conn {
    struct tier_queue *q;
    bool down;            /* closed; to be opened again at retry_ns */
    bool up;              /* the server has answered */
    uint64_t deadline_ns; /* when it counts as lost without progress; KVF_NEVER: not */
    uint64_t retry_ns;
    unsigned failures; /* since the last successful command */
    unsigned attempts; /* to connect, at any server, since it was last up */
    struct remote_conn *next_idle;
    struct remote_job *job;
    struct remote_item item[REMOTE_BATCH];
    unsigned items, answered;
};

/* The connection is free for the next work. */
void remote_conn_idle(struct remote_conn *c);
/* The server has answered on it. */
void remote_conn_up(struct remote_conn *c);
/* There was progress: sets the deadline to the timeout from now. */
void remote_conn_moves(struct remote_conn *c, uint64_t now_ns);
/* Closed: to be opened again after a pause, which grows with each failure. The caller handles its job. */
void remote_conn_down(struct remote_conn *c, uint64_t now_ns);
/* Likewise; its work in flight starts again on another connection, or fails. */
void remote_conn_lost(struct remote_conn *c, uint64_t now_ns);
/* Sets the sentence of the next failure, without control characters. */
void remote_why(struct tier_queue *q, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void remote_vwhy(struct tier_queue *q, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));

/* ---- remote_queue.c: a worker's queue ---- */

/* A backend's protocol. A call may fail operations, which may detach other connections. */
struct remote_wire {
    size_t conn_size;
    unsigned batch; /* items of a connection, at most REMOTE_BATCH */
    /* Opens q->own, the backend's part of a queue. 0 or an error. */
    int (*queue_open)(struct tier_queue *q, struct err *e);
    void (*queue_close)(struct tier_queue *q);
    void (*look)(struct tier_queue *q, uint64_t now_ns);  /* handles what has arrived */
    uint64_t (*next_ns)(const struct tier_queue *q);      /* its own next timer; NULL: none */
    void (*open)(struct remote_conn *c, uint64_t now_ns); /* connects again */
    void (*close)(struct remote_conn *c);                 /* for good, in any state */
    void (*late)(struct remote_conn *c, uint64_t now_ns); /* its deadline has passed */
    void (*begin)(struct remote_conn *c, struct remote_job *job, uint64_t now_ns);
    void (*ask)(struct remote_conn *c, uint64_t now_ns);    /* sends its items */
    void (*go_on)(struct remote_conn *c, uint64_t now_ns);  /* its job's next chunk was submitted */
    void (*detach)(struct remote_conn *c, uint64_t now_ns); /* its job was cancelled */
    /* The name of a value, for messages. */
    void (*value_name)(const struct remote_tier *t, const struct remote_place *p, uint64_t value,
                       char out[REMOTE_KEY]);
};

struct tier_queue {
    struct remote_tier *tier;
    void *own; /* the backend's */
    int epoll_fd;
    uint32_t depth, in_flight; /* chunks submitted and not handed back */
    uint32_t conns, ready;     /* all connections; those that are up */
    unsigned idle_turns;       /* reaps since the last check of the sockets */
    uint64_t down_ns;          /* since when no connection is up; KVF_NEVER: one is */
    uint8_t *conn;
    struct remote_conn *idle;
    struct remote_op *bucket[64], *op_free;
    struct remote_job *job_free, *line, **line_end;
    uint64_t jobs_lined;
    struct remote_op *asking, **asking_end;
    struct remote_place *dead; /* to delete */
    uint64_t dead_value;       /* next value of the first one */
    uint64_t dead_retry_ns;    /* time of the next try after failed deletes */
    uint64_t deleting;         /* places with deletes in progress */
    uint64_t deleted;          /* places deleted so far */
    struct tier_chunk *done_head, **done_end;
    void **slabs;
    size_t slab_count;
    char why[2 * REMOTE_SERVER];
};

static inline struct remote_conn *remote_conn_at(const struct tier_queue *q, uint32_t i) {
    return (struct remote_conn *)(void *)(q->conn + i * q->tier->wire->conn_size);
}

/* Members of struct tier_ops. */
int remote_queue_open(struct tier *t, struct tier_queue **out, uint32_t worker, uint32_t depth,
                      struct err *e);
void remote_queue_close(struct tier_queue *q);
unsigned remote_queue_submit(struct tier_queue *q, struct tier_chunk **chunks, unsigned n);
unsigned remote_queue_reap(struct tier_queue *q, struct tier_chunk **done, unsigned max);
void remote_queue_forget(struct tier_queue *q, const void *operation);
int remote_queue_fd(const struct tier_queue *q);
uint64_t remote_queue_next_ns(const struct tier_queue *q);
const char *remote_queue_why(const struct tier_queue *q);
void remote_queue_where(struct tier_queue *q, uint64_t place, uint64_t offset, char *out, size_t len);
#define REMOTE_OPS                                                                                           \
    .alloc = remote_alloc, .drop = remote_drop, .queue_open = remote_queue_open,                             \
    .queue_close = remote_queue_close, .submit = remote_queue_submit, .reap = remote_queue_reap,             \
    .fd = remote_queue_fd, .next_ns = remote_queue_next_ns, .why = remote_queue_why,                         \
    .forget = remote_queue_forget, .where = remote_queue_where, .caps = remote_caps,                         \
    .describe = remote_describe, .notice = remote_notice, .expect = remote_expect

/* The answer to an item has come, or never will. */
void remote_item_answered(struct tier_queue *q, const struct remote_item *item, bool there);
void remote_item_lost(struct tier_queue *q, const struct remote_item *item);

#endif
