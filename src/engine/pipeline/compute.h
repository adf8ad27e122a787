/* The batching server: the GPU as serving engines drive it, one iteration after another over whatever
 * sequences are there (Yu et al.: Orca, OSDI 2022; vLLM's scheduler with chunked prefill).
 *
 * A step takes one token of every sequence that decodes, then, of a budget of max_batch_tokens in all, the
 * prefills under way and new ones in the order in which they were asked for, cut into chunks where the budget
 * ends. At most max_batch sequences are in the batch, and a new one comes in when the KV of its whole length
 * has room beside that of the others: no sequence is thrown out again. One that has no room at all comes in
 * when the batch is empty. A sequence keeps its place from its first chunk to its last token, also while its
 * context is being written. The last chunk of a prefill makes the first token.
 *
 * The roofline of its sequences sets the time of a step. Sequences come and go at the borders of steps
 * only. Between such changes the steps of a batch grow evenly and are one event: their sum is exact, and
 * whoever comes in between ends it at the border at which a walk from step to step would have let him in. So
 * an event is a chunk of prefill or a change of the batch, never a token.
 *
 * It knows no thread and no clock: callers say what time it is, and call compute_tick() when asked to. All
 * functions take the server's own lock, which is the last in the order of locks, and make no callbacks. Any
 * thread; what happens at one time happens in the order of the calls. */
#ifndef KVF_ENGINE_PIPELINE_COMPUTE_H
#define KVF_ENGINE_PIPELINE_COMPUTE_H

#include <stdint.h>

#include "model/roofline.h"

struct compute_config {
    struct roofline roofline;
    uint64_t max_batch;               /* sequences */
    uint64_t max_batch_tokens;        /* of a step */
    uint64_t kv_bytes;                /* room for the KV of the batch; UINT64_MAX: no limit */
    uint64_t full_bytes, slide_bytes; /* of a token's KV: in all layers that keep it; that slide */
};

enum compute_state {
    COMPUTE_OUT,     /* not in the batch */
    COMPUTE_WAITING, /* for its place in it */
    COMPUTE_PREFILL,
    COMPUTE_HELD,  /* prefill is over, decode is not asked for yet */
    COMPUTE_JOINS, /* decodes from the next step on */
    COMPUTE_DECODE
};

/* A sequence; zeroed by the caller, who keeps it in place until it is out. The server's while it waits,
 * prefills or decodes. */
struct compute_seq {
    struct compute_seq *prev, *next;
    enum compute_state state;
    uint64_t number;  /* order of asking */
    uint64_t context; /* tokens whose KV there is */
    uint64_t left;    /* to prefill, or to decode before that has begun */
    uint64_t chunk;   /* of the prefill, in the step under way */
    uint64_t shared;  /* tokens whose KV others in the batch may have too: no room of its own; the caller's */
    uint64_t reserved; /* bytes of KV of its whole length, without what it shares */
};

/* Sums over time, to be subtracted: femtoseconds in which a step was under way, and femtoseconds x sequences
 * in the batch, x sequences that wait for a place in it, x sequences that have one and ask for nothing, x
 * bytes of their KV, x bytes kept for the KV of their whole length. Flops and memory: the parts of busy that
 * no larger batch saves, as roofline_run_work() has them, each as if the other took no time, spread evenly
 * over the steps between two changes; prefill: the part by which steps are longer for their prefills. Full
 * and no_room: the time in which the first of those that wait is kept out by max_batch, or by kv_bytes.
 */
struct compute_stats {
    roofline_fs busy, flops, memory, prefill, running, waiting, held, kv, reserved, full, no_room;
    uint64_t prefill_tokens, decode_tokens; /* computed */
    uint64_t steps;
};

/* Sums of another GPU, or of its rank's. */
void compute_stats_add(struct compute_stats *to, const struct compute_stats *from);

struct compute;
/* An idle GPU; copies `config`. The program ends when memory is exhausted. */
struct compute *compute_open(const struct compute_config *config);
const struct roofline *compute_roofline(const struct compute *c); /* while it is open */
/* All sequences are let go of, their callers with them; the sums go on. */
void compute_clear(struct compute *c, uint64_t now_ns);
void compute_close(struct compute *c); /* whoever is in it is forgotten; takes NULL */

/* Asks for n > 0 tokens behind `cached` ones that are there, of a sequence that is out; `generate` tokens
 * will be made behind them. Returns when compute_tick() is to be called, KVF_NEVER: as said before. */
uint64_t compute_prefill(struct compute *c, struct compute_seq *q, uint64_t now_ns, uint64_t n,
                         uint64_t cached, uint64_t generate);
/* Asks a sequence whose prefill has ended, and which keeps its place, for n > 0 tokens more, behind `cached`
 * ones: those that it computed and what has been loaded beside. Returns as above. */
uint64_t compute_prefill_more(struct compute *c, struct compute_seq *q, uint64_t now_ns, uint64_t n,
                              uint64_t cached);
/* Asks for steps > 0 further tokens, of a sequence whose prefill has ended, or that is out and has `context`
 * tokens already. It is out when they are made. Returns as above. */
uint64_t compute_decode(struct compute *c, struct compute_seq *q, uint64_t now_ns, uint64_t context,
                        uint64_t steps);
/* A sequence whose prefill has ended, if any, gives up its place. Returns as above. */
uint64_t compute_leave(struct compute *c, struct compute_seq *q, uint64_t now_ns);
/* The sequences that have ended by now, linked by `next` in order of ending; the callers' again. Sets when
 * to call it next. May be called at any other time too. */
struct compute_seq *compute_tick(struct compute *c, uint64_t now_ns, uint64_t *next_ns);
void compute_read(struct compute *c, uint64_t now_ns, struct compute_stats *stats);

#endif
