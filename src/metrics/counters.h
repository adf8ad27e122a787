/* The counters of one worker thread: padded, one writer (the worker), relaxed atomics, read by the
 * sampler alone. */
#ifndef KVF_METRICS_COUNTERS_H
#define KVF_METRICS_COUNTERS_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/terms.h"
#include "metrics/histogram.h"

/* Per-tier totals of one cause and direction. Bytes count per completed chunk, ops per completed
 * entry. */
struct counters_io {
    _Atomic uint64_t ops;
    _Atomic uint64_t bytes;
};

/* Powers of two of KiB that sizes of loads are counted by; the first has what is smaller too. */
enum { COUNTERS_LOAD_SIZES = 40 };

struct counters_class {
    _Atomic uint64_t done;
    _Atomic uint64_t failed;
    _Atomic uint64_t missed; /* of done: beyond the P95 target of their class */
    struct histogram e2e;
    struct histogram ttft;
};

struct counters {
    alignas(64) struct counters_io io[KVF_TIERS][KVF_DIRS][KVF_CAUSES];
    _Atomic uint64_t errors[KVF_TIERS][KVF_DIRS]; /* entry operations that failed */
    _Atomic uint64_t lost[KVF_TIERS];             /* reads whose entry the tier did not have any more */
    _Atomic uint64_t
        line_ns[KVF_TIERS][KVF_DIRS];       /* of completed operations' host time: in line, no buffer free */
    _Atomic uint64_t verified[KVF_TIERS];   /* blocks checked */
    _Atomic uint64_t mismatched[KVF_TIERS]; /* blocks that were not what was written */
    _Atomic uint64_t unverified[KVF_TIERS]; /* entry reads of emulated tiers under verify */
    _Atomic uint64_t requests_done;
    _Atomic uint64_t requests_failed;
    _Atomic uint64_t requests_refused; /* of these: a write of it found no room */
    _Atomic uint64_t tokens_generated;
    _Atomic uint64_t carried_tokens;    /* of these: work that was done before the measured part began */
    _Atomic uint64_t owed_bytes;        /* that the requests done had to move (engine/limits/bound.h) */
    _Atomic uint64_t context_tokens;    /* of the requests done */
    _Atomic uint64_t load_tokens;       /* of these, as in struct request */
    _Atomic uint64_t usual_tokens;      /* the same */
    _Atomic uint64_t prompt_seen;       /* requests that start with a shared prompt */
    _Atomic uint64_t prompt_hits;       /* the ones that found all of it resident */
    _Atomic uint64_t prompt_rebuilt;    /* the others */
    _Atomic uint64_t rebuilt_tokens;    /* of the prompts of these */
    _Atomic uint64_t hits_recomputed;   /* blocks found and computed again, not read */
    _Atomic uint64_t recomputed_tokens; /* of these */
    _Atomic uint64_t room_ns;           /* of the requests done, with a write of it waiting for room */
    _Atomic uint64_t first_room_ns;     /* of this, and of the time in storage, the part that was */
    _Atomic uint64_t first_storage_ns;  /* before the first token of each */
    /* of their time in storage without waits for room, by the operation that ended last; the same before the
     * first token */
    _Atomic uint64_t paced_ns[KVF_TIERS][KVF_DIRS], first_paced_ns[KVF_TIERS][KVF_DIRS];
    _Atomic uint64_t prefill_ns;     /* of the requests done, on the modelled GPU and waiting for it */
    _Atomic uint64_t writes_held;    /* entry writes of requests that waited for their turn */
    _Atomic uint64_t writes_held_ns; /* for so long in all */
    /* of a simulated run, the time in which workers copy, and in which staging buffers carry chunks of nvme,
     * as the part of all that there are */
    _Atomic uint64_t copying_ns, staging_ns;
    _Atomic uint64_t rag_requests; /* done, that read chunks of a document */
    _Atomic uint64_t rag_empty;    /* done, that found no document to read chunks of */
    _Atomic uint64_t rag_evicted;  /* chunks dropped with their documents */
    /* loads by requests, each of an entry or of all blocks that one found at a tier: how many, and sums of
     * size, its square, time, its square, and the product of size and time */
    _Atomic uint64_t loads[KVF_TIERS], load_kib[KVF_TIERS], load_kib_kib[KVF_TIERS], load_us[KVF_TIERS],
        load_us_us[KVF_TIERS], load_kib_us[KVF_TIERS];
    _Atomic uint64_t
        load_sizes[KVF_TIERS][COUNTERS_LOAD_SIZES]; /* loads of 2^i KiB and less, down to half of that */
    _Atomic uint64_t counting; /* one more as a request begins to be counted, and as it has been */
    _Atomic uint64_t cpu_ns;   /* of the thread, set by itself now and then */
    _Atomic uint64_t chunks_in_flight[KVF_TIERS];
    _Atomic uint64_t completions[KVF_TIERS]; /* chunks that came back, well or badly */
    _Atomic uint64_t device_call[KVF_TIERS]; /* one more as a call into the tier begins, and as it ends */
    struct histogram latency[REQUEST_LATENCIES];
    struct histogram op_total[KVF_TIERS][KVF_DIRS];  /* entry operation: issue to completion, ns */
    struct histogram op_device[KVF_TIERS][KVF_DIRS]; /* the part at the device, ns */
    struct histogram op_host[KVF_TIERS][KVF_DIRS];   /* the rest, ns */
    struct histogram op_cause[KVF_TIERS][KVF_DIRS][KVF_CAUSES];
    struct histogram lookup;      /* the remote tier's answer to whether it has an entry, ns */
    struct histogram entry_bytes; /* sizes of entries written by requests */
    struct counters_class klass[KVF_CLASSES_MAX];
};

/* One zeroed, initialised block of `count` counters; NULL when memory is exhausted. The memory is
 * touched lazily: unused histograms cost nothing. The caller frees it with counters_free(). */
struct counters *counters_new(unsigned count);
void counters_free(struct counters *c, unsigned count); /* takes NULL */
/* sum (private to the caller) = total over `count` writers: of each request all or nothing, unless one is
 * counted at every look, of which there are a few; subtract takes an earlier sum away, but
 * leaves chunks_in_flight, which says how many there are now. */
void counters_sum(struct counters *sum, const struct counters *c, unsigned count);
void counters_subtract(struct counters *sum, const struct counters *earlier);
/* sum += c, both private to the caller. */
void counters_merge(struct counters *sum, const struct counters *c);
/* The counters as bytes for another process of the same build. counters_unpack() returns 0, or -1 and all
 * zeroes on bytes that are no counters. */
void counters_pack(const struct counters *c, struct buf *out);
int counters_unpack(struct counters *c, const unsigned char *bytes, size_t len);
/* histogram_restart(), _extend() and _forget() of all histograms: extremes count from now on; a sum takes
 * over the extremes of an earlier one; a sum forgets its own. */
void counters_restart(struct counters *c, unsigned count);
void counters_extend(struct counters *sum, const struct counters *earlier);
void counters_forget(struct counters *sum);
/* Bytes that `count` writers moved at a tier in a direction, for all causes. Any thread, while they count. */
uint64_t counters_bytes(const struct counters *c, unsigned count, int tier, int dir);

/* An addition by the one writer: plain load, add, store. */
static inline void counters_add(_Atomic uint64_t *v, uint64_t n) {
    atomic_store_explicit(v, atomic_load_explicit(v, memory_order_relaxed) + n, memory_order_relaxed);
}
/* A load of so many bytes from a tier; the one writer. */
static inline void counters_load(struct counters *c, int tier, uint64_t bytes, uint64_t ns) {
    uint64_t kib = bytes / 1024, us = ns / 1000;
    unsigned size = kib > 1 ? 64 - (unsigned)__builtin_clzll(kib - 1) : 0;
    if (size >= COUNTERS_LOAD_SIZES) size = COUNTERS_LOAD_SIZES - 1;
    counters_add(&c->load_sizes[tier][size], 1);
    counters_add(&c->loads[tier], 1);
    counters_add(&c->load_kib[tier], kib);
    counters_add(&c->load_kib_kib[tier], kib * kib);
    counters_add(&c->load_us[tier], us);
    counters_add(&c->load_us_us[tier], us * us);
    counters_add(&c->load_kib_us[tier], kib * us);
}
/* The last addition of an event: a counters_sum() that contains it also contains what the writer recorded
 * before it. */
static inline void counters_add_last(_Atomic uint64_t *v, uint64_t n) {
    atomic_store_explicit(v, atomic_load_explicit(v, memory_order_relaxed) + n, memory_order_release);
}
/* Around all that is counted of a request that has ended; the one writer. */
static inline void counters_request_begin(struct counters *c) {
    atomic_fetch_add_explicit(&c->counting, 1, memory_order_acq_rel);
}
static inline void counters_request_end(struct counters *c) {
    counters_add_last(&c->counting, 1);
}
static inline uint64_t counters_get(const _Atomic uint64_t *v) {
    return atomic_load_explicit(v, memory_order_relaxed);
}

#endif
