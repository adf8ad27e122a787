/* A request in the engine: queued, then in service on one worker. */
#ifndef KVF_ENGINE_PIPELINE_FLIGHT_H
#define KVF_ENGINE_PIPELINE_FLIGHT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/terms.h"
#include "cache/cache.h"
#include "engine/pipeline/compute.h"
#include "workload/request.h"

/* The stage of a request in service; the order is that of DESIGN's "a request's life". */
#define FLIGHT_STAGE_LIST(X)                                                                                 \
    X(QUEUED, "queued")     /* waits for a slot */                                                           \
    X(ASK, "ask")           /* an index service is asked: a timer runs; or a remote tier elsewhere */        \
    X(LOOKUP, "lookup")     /* waits for blocks that another request writes */                               \
    X(READS, "reads")       /* shared prompt, earlier turns, resident blocks */                              \
    X(COMPUTE, "compute")   /* its context is computed, or waits for its place in the batch */               \
    X(PREFILL, "prefill")   /* writes its context */                                                         \
    X(RETRIEVE, "retrieve") /* reads chunks of a document */                                                 \
    X(DECODE, "decode")     /* reads its entry back, batch by batch */                                       \
    X(GENERATE, "generate") /* a timer runs, or the batching server makes its tokens */                      \
    X(SETTLE, "settle")     /* waits for the moves of its plans, where it may not end before them */         \
    X(ENDED, "ended")
#define X(id, name) FLIGHT_##id,
enum flight_stage { FLIGHT_STAGE_LIST(X) FLIGHT_STAGES };
#undef X

struct flight {
    struct request req;
    struct flight *next;                        /* queue heap spill, mailbox, settling or free list */
    struct flight *service_prev, *service_next; /* in service, by when they got their slot; queue_lock */
    uint32_t worker;                            /* serves it */
    uint32_t pod, router;                       /* where it is, and the router that sent it there */
    uint8_t reason;                             /* enum fleet_reason */
    uint32_t expected_blocks;                   /* that the router took to be there */
    uint32_t number;                            /* among all of the engine, from 1 */
    uint32_t guest;                             /* rank 0's number of it where that sent it here; else 0 */
    bool away;                                  /* that rank, its pod's, has it */
    bool again;                                 /* another rank has counted its arrival */
    bool unwritten;            /* some entries of it in the sample of accesses are not written */
    uint64_t index_ns;         /* that its router waited for the index */
    enum flight_stage stage;   /* set by flight_enter() */
    _Atomic uint32_t shown;    /* stage and tier, for the screen */
    _Atomic uint64_t since_ns; /* when it entered the stage */
    _Atomic uint64_t spent_ns[FLIGHT_STAGES]; /* in those before, by stage */
    bool internal;                            /* preparation: no request of the workload, counted nowhere */
    struct cache_key key;                     /* internal: of the one entry that it writes */
    uint64_t bytes;                           /* internal: of that entry */
    enum kvf_cause cause;                     /* internal: of that write */
    bool failed;                              /* an operation of it failed */
    bool refused;                             /* a write of it found no room: a request fails by that */
    bool kept_out;            /* its context was not let in by the rule of admission; not tried again */
    bool prompt_missed;       /* some of its shared prompt was not resident */
    bool retrieved;           /* it found a document to read chunks of */
    uint64_t owed_bytes;      /* that it has to move before it is done (engine/limits/bound.h) */
    uint64_t slot_ns;         /* when it got its slot; written with queue_lock */
    uint64_t first_token_ns;  /* end of prefill; 0 before */
    uint64_t done_ns;         /* when it ended, for counts and for the log alike; 0 before */
    _Atomic uint64_t ttft_ns; /* the same since its arrival, for the screen */
    uint64_t generate_ns;     /* when generation began */
    uint64_t storage_ns;      /* union of the times with an operation outstanding, or while asking */
    uint64_t storage_since_ns;
    uint32_t outstanding; /* operations not finished, waits included */
    uint64_t room_ns;     /* union of the times with a write that waits for room, or for moves that make it */
    uint64_t room_since_ns;
    uint32_t needing_room;
    /* of storage_ns without room_ns, by the operation that ended last of those that were outstanding
     * together; since when these are, room_ns then, when the last one of each kind has ended (0: none), and
     * the last of all (-1: none, or a wait) */
    uint64_t paced_ns[KVF_TIERS][KVF_DIRS], pace_since_ns, pace_room_ns;
    uint64_t pace_end_ns[KVF_TIERS][KVF_DIRS];
    int pace_tier;
    enum kvf_dir pace_dir;
    uint64_t first_storage_ns, first_room_ns;     /* both until the first token, */
    uint64_t first_paced_ns[KVF_TIERS][KVF_DIRS]; /* and these */
    uint64_t wait_deadline_ns;                    /* end of its patience with other writers; 0: none yet */
    /* block granularity, and the chunks of a document that is ingested */
    uint64_t rank; /* first of its recency ranks */
    uint32_t blocks, hit_blocks, next_block;
    uint64_t load_ns;                /* when the reads of blocks that it has found began .. */
    uint64_t load_end_ns[KVF_TIERS]; /* .. and the last of each tier ended; 0: none did */
    bool room_blocked;               /* a write of it waits for room: no further one is planned */
    /* decode */
    uint32_t reads_left;
    uint64_t decode_bytes; /* of each of these reads, as far as is known */
    bool decode_counted;   /* its one lookup is counted */
    bool decode_read;      /* and has been read once: the other reads are no hits of their own */
    int decode_tier;       /* where that lookup hit; -1: miss */
    _Atomic uint32_t tier_hits[KVF_TIERS]; /* its worker writes, others look on */
    _Atomic uint32_t misses;
    _Atomic uint64_t read_bytes[KVF_TIERS],
        written_bytes; /* of entries that it was given, and that it made */
    uint64_t timer_ns; /* when the worker's timer for it rings; since when its tokens are there */
    /* with a modelled GPU */
    struct compute_seq seq;
    bool computing;        /* the batching server has it */
    bool asking;           /* it waits for the answer of a remote tier that is elsewhere */
    bool prefilled;        /* its prefill has made its first token */
    uint64_t found_tokens; /* of earlier turns, read */
    /* of its blocks found below the gpu tier those before load_from are computed again */
    uint32_t load_from;
    uint64_t again_tokens; /* after the reads, with what is missing */
    uint64_t head_tokens;  /* or beside them */
    uint64_t above_tokens; /* found in the gpu tier */
    uint64_t prefill_ns;   /* when it asked for its prefill; then how long that took */
};

static inline struct flight *flight_of_seq(struct compute_seq *q) {
    return (struct flight *)(void *)((char *)q - offsetof(struct flight, seq));
}

/* For an operation, the batching server, or a remote tier that is elsewhere. */
static inline bool flight_waits(const struct flight *f) {
    return f->outstanding > 0 || f->computing || f->asking;
}

/* Other threads may read a flight's stage while its worker goes on: one word, so that the
 * stage and the tier in it belong together, with the worker as its only writer. The low byte is the
 * tier + 1: zero is queued and nowhere. The times may lag behind by one stage. */
static inline void flight_enter(struct flight *f, enum flight_stage stage, uint64_t now_ns) {
    uint64_t since = atomic_load_explicit(&f->since_ns, memory_order_relaxed);
    uint64_t spent = atomic_load_explicit(&f->spent_ns[f->stage], memory_order_relaxed);
    atomic_store_explicit(&f->since_ns, now_ns, memory_order_relaxed); /* first: no time is seen twice */
    if (since > 0 && now_ns > since)
        atomic_store_explicit(&f->spent_ns[f->stage], spent + now_ns - since, memory_order_release);
    uint32_t tier = atomic_load_explicit(&f->shown, memory_order_relaxed) & 0xff;
    f->stage = stage;
    atomic_store_explicit(&f->shown, (uint32_t)stage << 8 | tier, memory_order_relaxed);
}
/* Adds to, or takes from, its hits; only its worker calls it. */
static inline void flight_count(_Atomic uint32_t *count, int by) {
    uint32_t n = atomic_load_explicit(count, memory_order_relaxed);
    atomic_store_explicit(count, n + (uint32_t)by, memory_order_relaxed);
}
static inline void flight_moved(_Atomic uint64_t *bytes, uint64_t more) {
    uint64_t n = atomic_load_explicit(bytes, memory_order_relaxed);
    atomic_store_explicit(bytes, n + more, memory_order_relaxed);
}
/* Where its context was found or is being written; -1: nowhere. */
static inline void flight_at(struct flight *f, int tier) {
    atomic_store_explicit(&f->shown, (uint32_t)f->stage << 8 | (uint32_t)(tier + 1), memory_order_relaxed);
}
/* Any thread, as long as the flight is in service. */
static inline enum flight_stage flight_shown(const struct flight *f, int *tier) {
    uint32_t shown = atomic_load_explicit(&f->shown, memory_order_relaxed);
    *tier = (int)(shown & 0xff) - 1;
    return (enum flight_stage)(shown >> 8);
}

/* Tokens that the request came with: a shared prompt counts in every turn at request granularity, and
 * in the first at block granularity, where later turns find it in front of the conversation. */
static inline uint64_t flight_context_tokens(const struct flight *f) {
    const struct request *r = &f->req;
    bool counted = r->turn < 2 || (r->prompt_blocks == 0 && r->conversation_blocks == 0);
    return r->context_tokens + (counted ? r->prompt_tokens : 0);
}

#endif
