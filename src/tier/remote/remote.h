/* Shared by the backends whose entries are values in a store that is spoken to: places, entry operations and
 * the values that these are cut into, lookups, deletes, connections that come and go. How a value is asked
 * for is the backend's, behind struct remote_wire. Included by those backends alone. */
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

/* An entry's values in the store; a place of the cache is a pointer to one. */
struct remote_place {
    uint64_t key_hi, key_lo, generation;
    uint64_t bytes;            /* of the entry */
    bool stored;               /* something of it may be in the store */
    bool remains;              /* and could not be deleted */
    bool shared;               /* its values have names that other runs give them, too */
    atomic_bool found;         /* another run has written it */
    uint64_t deleting;         /* values whose deletion has not ended */
    struct remote_place *next; /* of those that are free, or to be deleted */
    struct remote_place *next_own;
};

/* The first member of a backend's tier. */
struct remote_tier {
    struct tier base;
    const struct remote_wire *wire;
    const struct remote_calls *calls; /* of a library whose calls wait; NULL: the wire has its own way */
    const struct run_clock *clock;
    char name[REMOTE_SERVER]; /* of the server, as people write it: "127.0.0.1:6379", "/run/redis.sock" */
    unsigned servers;         /* of the cluster that it is one of; 0: it stands alone */
    uint64_t value_bytes;
    uint64_t run_tag;
    bool shares;        /* prompts, or all with the pods of a fleet, with runs whose tag is the same .. */
    uint64_t share_tag; /* .. that of all that their content depends on */
    uint64_t timeout_ns;
    uint32_t connections, workers;
    bool asks;                           /* a lookup goes before a read */
    bool deletes;                        /* what the cache drops */
    atomic_bool claims;                  /* a write may be told to leave what is there */
    bool keeps;                          /* nothing can be deleted, at the end either */
    atomic_bool hung;                    /* a call has not returned, and uses the tier's library still */
    bool one_by_one;                     /* a lookup asks for one value after another */
    char head[REMOTE_KEY / 2];           /* of every name .. */
    char shared_head[REMOTE_KEY / 2];    /* .. but those that runs share */
    char description[1400], notice[800]; /* of the server, by the backend; "" nothing to say */
    _Atomic uint64_t up, trips, sent_bytes, received_bytes; /* connections; by all workers */
    _Atomic uint64_t found, absent;                         /* entries of other runs */
    _Atomic uint64_t alone;                                 /* generations of prompts that are not shared */
    pthread_mutex_t own_lock;    /* of the next three; no other lock is taken under it */
    struct remote_place *doubts; /* copies: of entries whose write had no answer .. */
    size_t doubt_count;          /* .. REMOTE_DOUBTS at most */
    struct remote_place
        *own[REMOTE_OWN];                /* stored under shared names, by hash; also while they are deleted */
    struct remote_place *free;           /* the cache lock's */
    struct remote_place **slabs;         /* likewise */
    size_t slab_count;                   /* likewise */
    _Atomic(struct remote_place *) dead; /* to be deleted; workers take all */
    _Atomic(struct remote_place *) buried; /* deleted; the cache takes all */
};

static inline void remote_count(_Atomic uint64_t *v, uint64_t n) {
    atomic_fetch_add_explicit(v, n, memory_order_relaxed);
}

/* ---- remote_places.c: no I/O is done under the cache lock ---- */

/* Takes from the scenario all that is the same for every store; the name and the wire are the backend's. */
void remote_open(struct remote_tier *t, const struct tier_setup *setup);
void remote_close(struct remote_tier *t); /* frees the places; what they name stays */
/* Members of struct tier_ops. What is dropped waits for whichever worker comes next to delete it. */
uint64_t remote_alloc(struct tier *t, uint64_t bytes);
void remote_drop(struct tier *t, uint64_t place, uint64_t bytes);
uint32_t remote_caps(const struct tier *t);
void remote_expect(struct tier *t, uint64_t place, uint64_t key_hi, uint64_t key_lo);
void remote_push(_Atomic(struct remote_place *) *stack, struct remote_place *p);
uint64_t remote_values(const struct remote_tier *t, uint64_t bytes); /* of an entry of so many bytes */
/* Something of a place is in the store from now on, or nothing any more. Any thread. */
void remote_stored(struct remote_tier *t, struct remote_place *p, bool stored);
/* A write of the entry ended without an answer: the store may still carry it out, even after its values were
 * deleted. They are deleted once more when the run ends. Any thread. */
void remote_doubt(struct remote_tier *t, const struct remote_place *p);
/* Whether this run has written values of a place's shared names for another place. Any thread. */
bool remote_is_own(struct remote_tier *t, const struct remote_place *p);
/* <head><entry>.<generation>:<value>, or <shared head><entry>.<bytes>:<value>; its length. */
size_t remote_name(const struct remote_tier *t, const struct remote_place *p, uint64_t value,
                   char out[REMOTE_KEY]);
/* The sentence of a tier that cannot be opened; its code, negative. */
int remote_refuse(struct err *e, const struct err *why);
/* Members of struct tier_ops as well. */
void remote_describe(const struct tier *t, char *out, size_t len);
const char *remote_notice(const struct tier *t);
/* The end of a description, of a server behind TLS or without; sets the notice that belongs to --insecure. */
const char *remote_tls_words(struct remote_tier *t, bool tls, bool insecure);
/* Our own figures; all of the server's are NaN. Any thread. */
void remote_figures(const struct tier *t, struct tier_server *out);

/* ---- remote_clean.c ---- */

/* Deletes what is still in the store, with as many connections as a run has; a warning says how many values
 * stay. No worker may have a queue any more. */
void remote_clean(struct remote_tier *t);

/* ---- remote_job.c: entry operations and their values ---- */

/* A chunk's internal words while it is here. */
enum { CHUNK_LEFT, CHUNK_BEFORE, CHUNK_BEHIND };

/* An entry operation, from its first chunk until it is forgotten. */
struct remote_op {
    const void *operation; /* NULL: free */
    struct remote_place *place;
    enum kvf_dir dir;
    uint64_t bytes, values;
    struct tier_chunk *first, *last; /* chunks that are here, in order */
    struct remote_job *jobs;         /* values begun or to be begun, the newest first */
    uint64_t known;                  /* values that have had a job */
    uint64_t asked, answered;        /* lookups of its values */
    uint64_t missing;                /* of which were not there */
    uint64_t began_ns;               /* when its first chunk came */
    bool looking;                    /* its jobs wait for the lookup */
    bool there;                      /* of a write: another run was sooner, there is nothing to do */
    bool own;                        /* when it was asked for, this run had such values itself */
    bool claiming;                   /* of a write: its first value says whose the entry is */
    int error;                       /* that every chunk of it gets */
    unsigned round;                  /* lookups of it that were interrupted */
    struct remote_op *next;          /* in its bucket, or free */
    struct remote_op *next_asking;   /* in line for a lookup */
    bool asking;
};

/* A value on its way. */
struct remote_job {
    struct remote_op *op; /* NULL: it was given up while it stood in line */
    uint64_t value;
    uint64_t at, len;         /* in the entry */
    uint64_t passed;          /* bytes of it that were sent or have come */
    uint64_t hold;            /* bytes at its end that count when the server has said yes */
    struct tier_chunk *chunk; /* with the byte behind `passed`; NULL: it has not come */
    struct remote_conn *conn; /* NULL: in line */
    struct remote_job *next_of_op, *next;
    uint64_t order; /* in which values first stood in line, from 1; 0: not yet */
    unsigned tries;
    bool lined;
    bool first; /* it is written only where no value of its name is */
};

/* The operation of a chunk; NULL: no chunk of it has come. A new one, with its lookup if it needs one. */
struct remote_op *remote_op_find(struct tier_queue *q, const void *operation);
struct remote_op *remote_op_new(struct tier_queue *q, const struct tier_chunk *c, uint64_t now_ns);
/* Puts it in line for a lookup. */
void remote_op_ask(struct tier_queue *q, struct remote_op *op);
/* A chunk of it has come: values that begin there, and those that waited for it. */
void remote_op_chunk(struct tier_queue *q, struct remote_op *op, struct tier_chunk *c, uint64_t now_ns);
/* Every chunk of the operation goes back with this error, or with none; EREMOTEIO: q->why says what it was.
 */
void remote_op_fail(struct tier_queue *q, struct remote_op *op, int error);
void remote_op_forget(struct tier_queue *q, struct remote_op *op);
/* Its values may be read, or written. */
void remote_op_go(struct tier_queue *q, struct remote_op *op);
/* Hands a chunk back. */
void remote_chunk_done(struct tier_queue *q, struct tier_chunk *c);

/* Parts of the job's value from where it stands, as far as chunks are there, `room` at most; *whole: up to
 * its end. */
int remote_job_pieces(const struct remote_job *job, struct iovec *iov, int room, bool *whole);
/* Moves a job on by bytes that were sent or have come; chunks that are complete go back. */
void remote_job_pass(struct tier_queue *q, struct remote_job *job, uint64_t bytes);
void remote_job_done(struct tier_queue *q, struct remote_job *job);
/* Another run was sooner with the first value of a shared entry, which is its from then on. */
void remote_job_forestalled(struct tier_queue *q, struct remote_job *job);
/* A write goes back to its first byte; false: some of it is not here any more. A read always may. */
bool remote_job_rewind(struct remote_job *job);
/* Its connection is gone: it begins again, if it can. */
void remote_job_interrupted(struct tier_queue *q, struct remote_job *job);
/* The next in line; NULL: none. */
struct remote_job *remote_job_take(struct tier_queue *q);

/* ---- remote_conn.c: connections as a queue sees them ---- */

enum remote_item_kind { ITEM_GREETING, ITEM_LOOKUP, ITEM_DELETE };
struct remote_item {
    enum remote_item_kind kind;
    uint64_t value;
    struct remote_op *op;       /* of a lookup; NULL: it was forgotten */
    unsigned round;             /* of the lookup: answers of an earlier one do not count */
    struct remote_place *place; /* of a lookup and of a delete */
};

/* The first member of a backend's connection. One value is in flight on it, or one batch of items. */
struct remote_conn {
    struct tier_queue *q;
    bool down;            /* nothing is there; it is opened again at retry_ns */
    bool up;              /* the server has answered */
    uint64_t deadline_ns; /* without progress it is given up then; KVF_NEVER */
    uint64_t retry_ns;
    unsigned failures; /* since a command last ended well */
    unsigned attempts; /* since it was last up, at any server */
    struct remote_conn *next_idle;
    struct remote_job *job;
    struct remote_item item[REMOTE_BATCH];
    unsigned items, answered;
};

/* It waits for something to do. */
void remote_conn_idle(struct remote_conn *c);
/* The server has answered on it. */
void remote_conn_up(struct remote_conn *c);
/* Its progress: it is given up when none follows within the timeout. */
void remote_conn_moves(struct remote_conn *c, uint64_t now_ns);
/* It is down, and opened again after a pause that grows; its job is the caller's business. */
void remote_conn_down(struct remote_conn *c, uint64_t now_ns);
/* Likewise; what was in flight on it begins again elsewhere, or fails. */
void remote_conn_lost(struct remote_conn *c, uint64_t now_ns);
/* A sentence for what fails next, cleaned for terminals. */
void remote_why(struct tier_queue *q, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));

/* ---- remote_queue.c: a worker's queue ---- */

/* A backend's way to talk. Callees may fail operations, which may detach other connections. */
struct remote_wire {
    size_t conn_size;
    unsigned batch; /* items of a connection, at most REMOTE_BATCH */
    /* Opens q->own, the backend's part of a queue. 0 or an error. */
    int (*queue_open)(struct tier_queue *q, struct err *e);
    void (*queue_close)(struct tier_queue *q);
    void (*look)(struct tier_queue *q, uint64_t now_ns);  /* at what happened meanwhile */
    uint64_t (*next_ns)(const struct tier_queue *q);      /* of timers of its own; NULL: it has none */
    void (*open)(struct remote_conn *c, uint64_t now_ns); /* one that is down */
    void (*close)(struct remote_conn *c);                 /* for good, whatever it does */
    void (*late)(struct remote_conn *c, uint64_t now_ns); /* its deadline has passed */
    void (*begin)(struct remote_conn *c, struct remote_job *job, uint64_t now_ns);
    void (*ask)(struct remote_conn *c, uint64_t now_ns);    /* its items */
    void (*go_on)(struct remote_conn *c, uint64_t now_ns);  /* a chunk of its job has come */
    void (*detach)(struct remote_conn *c, uint64_t now_ns); /* its job is not wanted any more */
    /* The name of a value in words for people. */
    void (*value_name)(const struct remote_tier *t, const struct remote_place *p, uint64_t value,
                       char out[REMOTE_KEY]);
};

struct tier_queue {
    struct remote_tier *tier;
    void *own; /* the backend's */
    int epoll_fd;
    uint32_t depth, in_flight; /* chunks taken and not handed back */
    uint32_t conns, ready;     /* connections, and those that are up */
    unsigned idle_turns;       /* reaps since the sockets were last looked at */
    uint64_t down_ns;          /* since when none is up; KVF_NEVER: some is */
    uint8_t *conn;
    struct remote_conn *idle;
    struct remote_op *bucket[64], *op_free;
    struct remote_job *job_free, *line, **line_end;
    uint64_t jobs_lined;
    struct remote_op *asking, **asking_end;
    struct remote_place *dead; /* to be deleted */
    uint64_t dead_value;       /* of the first of them: next value */
    uint64_t dead_retry_ns;    /* when those are tried again that could not be deleted */
    uint64_t deleting;         /* places whose deletion goes on */
    uint64_t deleted;          /* places so far */
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

/* The answer to an item came, or will not come. */
void remote_item_answered(struct tier_queue *q, const struct remote_item *item, bool there);
void remote_item_lost(struct tier_queue *q, const struct remote_item *item);

#endif
