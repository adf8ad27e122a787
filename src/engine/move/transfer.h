/* Entry operations as chunks. A mover belongs to one worker: it cuts reads, writes and moves into
 * chunks of io_size, keeps the tiers' queues full across entry borders, stamps and checks payload,
 * and times every operation. The bytes of any entry, however large, pass through the worker's few
 * staging buffers.
 *
 *   read   tier ─► buffer (─► check)
 *   write  noise in buffer, restamped ─► tier
 *   move   tier ─► buffer ─► tier, chunk by chunk, so that both legs overlap
 * A tier that makes content itself writes a new entry, and one that reads by itself reads one, as one chunk
 * without a buffer. Between memory of the host and a tier that reaches it, a chunk is one copy: both legs
 * have its time. A read whose target is the gpu goes on, like a move, to that tier's landing area; it ends
 * when all of it is there. Where the slower tier takes buffers in device memory, a chunk between it and the
 * gpu is one operation, too, and is checked afterwards where it lies in device memory. A tier that keeps no
 * bytes takes or gives the whole entry as one timed chunk, before (source) or after (destination) the bytes
 * pass; what leaves it is stamped anew.
 *
 * A leg's device time is the union of the times in which a chunk of it was submitted and not
 * complete; total is issue to completion; host is the difference. Of the host time, that in which
 * all buffers were out while the operation had chunks left is its time in line for the tier. In a move that
 * passes bytes the time in line and for buffers is the slower tier's: the faster leg's total is its device
 * time. */
#ifndef KVF_ENGINE_MOVE_TRANSFER_H
#define KVF_ENGINE_MOVE_TRANSFER_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "cache/cache.h"
#include "metrics/counters.h"
#include "metrics/usage.h"
#include "scenario/scenario.h"
#include "tier/payload.h"
#include "tier/tier.h"

struct transfer_leg {
    int tier;            /* -1: this operation has no such leg */
    bool timed;          /* its tier keeps no bytes */
    bool begun;          /* tier ops begin was called */
    uint64_t begin_ns;   /* for so long it held the worker */
    uint32_t out;        /* chunks made for it and not complete */
    uint32_t at_device;  /* of which submitted */
    bool kept;           /* nothing moved: its tier had the entry */
    uint64_t done_bytes; /* of completed chunks */
    uint64_t start_ns;   /* when the leg could begin */
    uint64_t since_ns;   /* of the present stretch at the device */
    uint64_t device_ns;
    uint64_t end_ns; /* completion of its last chunk */
};

struct transfer {
    struct cache_op *op;
    struct transfer *prev, *next;
    struct transfer_leg leg[KVF_DIRS]; /* READ: from the source, WRITE: to the destination */
    uint64_t issue_ns;
    uint64_t next_offset;  /* of the next chunk to issue */
    uint64_t line_ns;      /* the pool's starved time at its beginning, then its own time in line */
    uint32_t held;         /* buffers that carry chunks of it */
    uint64_t forwarded;    /* of a move to a tier that takes chunks in order: bytes given to it */
    struct staging *early; /* chunks that were read before those in front of them */
    int error;             /* first errno; EBADMSG: data was not what was written */
    enum kvf_dir error_dir;
    char *finding; /* of a verification that failed: where, what was expected, what was there; NULL */
    bool direct;   /* one copy between the host's memory and a tier that reaches it */
    bool device;   /* direct between device memory and a tier that takes buffers there */
    bool dropped;  /* its tier takes nothing now: what was to come there is nowhere */
    bool landing;  /* a read that goes on to the landing area of its write leg's tier */
    bool listed;   /* on a list of transfers with chunks left to issue */
    struct tier_chunk timed_chunk;
};

/* The cause under which a leg is counted: a read that keeps what it loads promotes it. */
static inline enum kvf_cause transfer_cause(const struct transfer *transfer, enum kvf_dir dir) {
    const struct cache_op *op = transfer->op;
    bool keeps = op->kind == CACHE_OP_READ && dir == KVF_DIR_WRITE && op->to >= 0;
    return keeps ? KVF_CAUSE_PROMOTION : op->cause;
}

/* Staging buffers that a worker gets of those of the scenario. */
static inline uint32_t mover_buffers(const struct scenario *s) {
    uint64_t n = s->engine.staging_bytes / s->engine.workers / s->nvme.io_size;
    if (n > s->nvme.io_depth) n = s->nvme.io_depth;
    return n > 0 ? (uint32_t)n : 1;
}

/* A turn at the channels of a remote tier that is elsewhere. KEPT: it has the entry already. LOST: it has no
 * such entry, or takes none. */
enum mover_how { MOVER_TURN, MOVER_KEPT, MOVER_LOST };
struct mover_turn {
    uint64_t start_ns, complete_ns; /* as the mover sees it, not before it hears of it */
    enum mover_how how;
};

struct channels;
struct mover;
struct verify_dump;
struct mover_setup {
    const struct scenario *scenario;
    const struct run_clock *clock;
    const struct payload *payload;
    struct tier *const *tiers; /* KVF_TIERS; NULL: off */
    struct channels *store;    /* simulated: of a remote tier that pods share; NULL: it is its own */
    /* Or they are elsewhere, and a turn at them is asked for, which simmover_answered() brings. NULL: they
     * are here. */
    void (*ask)(void *ctx, uint64_t number, const struct cache_op *op, enum kvf_dir dir);
    const _Atomic bool *given_up; /* whoever comes back from a tier after that stands still; NULL */
    struct verify_dump *dump;     /* NULL: blocks that fail verification are not kept */
    struct counters *counters;
    struct usage *usage; /* USAGES, of all workers; NULL: not wanted */
    uint32_t worker;
    uint32_t pod;     /* of a simulated fleet: each draws service times of its own */
    uint32_t buffers; /* staging buffers for tiers that need waiting, at least 1 */
    /* The operation has ended; the transfer is gone after the call. error: 0 or an errno; abandoned:
     * cut off by mover_stop. `what` is a sentence when there was an error. */
    void (*done)(void *ctx, const struct transfer *t, bool abandoned, const char *what);
    void *ctx;
};

/* Its entry has gone from a tier that others may take entries from: a miss, no error. */
static inline bool transfer_lost(const struct transfer *transfer) {
    return transfer->error == ENODATA && transfer->error_dir == KVF_DIR_READ;
}

/* Adds the times of a complete operation to its worker's counters; caps are the tiers'. */
void transfer_record(const struct transfer *t, struct counters *c, const uint32_t caps[KVF_TIERS],
                     enum scenario_verify verify);

/* All by the worker's thread. */
int mover_open(struct mover **out, const struct mover_setup *setup, struct err *e);
void mover_close(struct mover *m);                      /* takes NULL; nothing may be at a device */
void mover_begin(struct mover *m, struct cache_op *op); /* a READY operation */
/* Reaps, issues, submits; calls done(). `issue` false: only reaps. Returns whether anything moved. */
bool mover_pump(struct mover *m, bool issue);
/* No chunk is issued any more; operations end (abandoned) when their last chunk has returned. */
void mover_stop(struct mover *m);
/* After a stop, with nothing at a device. */
int mover_go_on(struct mover *m, struct err *e);
bool mover_idle(const struct mover *m);        /* nothing at a device */
uint64_t mover_next_ns(const struct mover *m); /* run time of the next timed completion, or KVF_NEVER */
unsigned mover_fds(const struct mover *m, int fds[KVF_TIERS]);

#endif
