/* The interface of a workload source: users with a stream each (synthetic), or with the
 * conversations of a file (sharegpt, agentic), or rows of a file in one of several formats. Each is one file,
 * and a row of traits/sources.h, which has what scenarios need to know of it. Not thread safe: one thread or
 * one lock. */
#ifndef KVF_WORKLOAD_SOURCE_H
#define KVF_WORKLOAD_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/rng.h"
#include "workload/arrivals.h"
#include "workload/prompts.h"
#include "workload/rag.h"
#include "workload/trace.h"
#include "workload/workload.h"

struct source_ops {
    int (*open)(struct workload *w, struct err *e); /* on failure `close` is called too */
    void (*close)(struct workload *w);
    void (*grow)(struct workload *w, uint64_t users); /* NULL: users have no state */
    enum workload_next (*next)(struct workload *w, uint64_t user,
                               struct request *r);                 /* r is all zero but for ids */
    bool (*more)(struct workload *w, uint64_t user);               /* whether next would give one */
    void (*soon)(const struct workload *w, uint64_t user);         /* a hint that next comes; may be NULL */
    uint64_t (*first_delay_ns)(struct workload *w, uint64_t user); /* NULL: 0 */
    uint64_t (*think_ns)(struct workload *w, uint64_t user);       /* NULL: 0 */
    uint64_t (*stored_tokens)(struct workload *w, uint64_t user, uint32_t index); /* NULL: 0 */
    bool (*spawned)(struct workload *w, uint64_t user, uint64_t *spawned,
                    uint64_t *delay_ns); /* NULL: users start no others */
};

struct source {
    const struct source_ops *ops;
    trace_parse *parse; /* NULL: does not come in rows */
};

/* Arrivals at a rate: the users that can still be asked, in any order. */
struct workload_rated {
    struct arrivals arrivals;
    uint64_t *user; /* NULL: the source has none */
    uint64_t users;
    uint64_t asked; /* requests so far */
};

struct workload {
    const struct scenario *s; /* the caller's, unchanged while the workload is open */
    const struct source *source;
    const struct traits_source *traits;
    bool open_loop;
    bool at_rate;           /* open loop, arrivals poisson or gamma: `rated` holds */
    bool amid;              /* users begin amid a conversation */
    uint64_t users;         /* it starts with, those of the other ranks included */
    unsigned ranks, number; /* of the run, and which this is */
    struct workload_rated rated;
    struct prompts prompts;
    struct rag rag; /* documents 0: no request retrieves */
    struct workload_rows rows;
    void *state; /* of the source */
};

#define X(id, word, token, ...) extern const struct source source_##token;
TRAITS_SOURCE_LIST(X)
#undef X
extern const struct source_ops trace_ops; /* of every source that comes in rows */

/* A user's share of run.max_requests, which is dealt to the users that a run starts with; users that come
 * later get none. At a rate users are asked in a fixed order, so there it is counted, not dealt. */
#define SOURCE_UNLIMITED UINT64_MAX
uint64_t source_share(const struct workload *w, uint64_t user);
/* How often the scenario's users, rate and max_requests are there: once, or for each rank. */
uint64_t source_copies(const struct workload *w);
/* An index of `n` drawn by relative weight; the weights are `stride` bytes apart. */
uint32_t source_share_draw(struct rng *rng, const double *share, size_t stride, uint32_t n);
uint32_t source_class_draw(const struct scenario *s, struct rng *rng);
/* Full blocks of that many tokens; 0 at request granularity. */
uint64_t source_blocks(const struct scenario *s, uint64_t tokens);
/* A recorded time or pause at the scenario's speed-up; 0 without delays. And a sum of such, which ends
 * where a run cannot last to. */
uint64_t source_speed_up(const struct workload *w, uint64_t ns);
uint64_t source_time_sum(uint64_t a, uint64_t b);
/* Whether a context is prefilled only: the phase, or decode.max_context. */
bool source_prefill_only(const struct scenario *s, uint64_t context_tokens);

#endif
