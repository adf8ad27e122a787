/* One inference request (or one operation of an ops file) as a workload hands it to the engine. */
#ifndef KVF_WORKLOAD_REQUEST_H
#define KVF_WORKLOAD_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

/* No sibling folder may be included here, so keys are built by the engine from these numbers. */
enum request_kind {
    REQUEST_INFERENCE,
    REQUEST_READ,
    REQUEST_WRITE,
    REQUEST_INGEST /* writes a document in chunks; the engine's own */
};

#define REQUEST_NO_PROMPT UINT32_MAX
enum { REQUEST_KEY = 72 }; /* bytes, the NUL counted */

struct request {
    uint64_t id;         /* synthetic: user << 32 | number; traces: row from 1 */
    uint64_t arrival_ns; /* scheduled, run time; set by the engine for users, by the source for traces
                            (there: ns after the start of the run, speed-up applied) */
    enum request_kind kind;
    uint64_t user;           /* its user; a free number if another user started it */
    uint64_t conversation;   /* unique in the run: user << 24 | number, or row; ingestion: the document */
    uint32_t turn;           /* from 1 */
    uint32_t klass;          /* index of its QoS class */
    uint64_t context_tokens; /* drawn for this turn, the shared prompt already taken off */
    uint64_t generate_tokens;
    bool prefill_only; /* no decode reads (phase, or decode.max_context) */
    bool decode_only;  /* reads one stored entry, writes nothing */
    uint32_t stored;   /* decode_only: which of its user's stored entries */
    uint32_t prompt;   /* index of its shared prompt, or REQUEST_NO_PROMPT */
    uint64_t prompt_tokens;
    bool retrieves;     /* after its prefill it reads chunks of a document */
    uint64_t retrieval; /* which ones is drawn from this: rag_pick() */
    /* block granularity, synthetic: full blocks of the prompt, then of the conversation so far */
    uint64_t prompt_blocks, conversation_blocks;
    /* block granularity: of the whole sequence, prompt and what came before in the conversation included */
    uint64_t sequence_tokens;
    /* the first request of a user who begins amid a conversation: of the turns before, which nobody has
     * asked. Those that are missing are written and not computed */
    uint64_t before_tokens;
    /* synthetic, with a prefill: contexts of the conversation so far, this one and shared prompts included,
     * and what they are in the mean over all requests that its user will ever make. 0: not known */
    uint64_t load_tokens, usual_tokens;
    /* block granularity, traces with ids; owned by the request, reused: request_reserve_ids() */
    uint64_t *ids;
    uint32_t id_count, id_cap;
    uint64_t cycle;        /* replay cycle, from 0; what tells its ids from those of other files */
    uint64_t entry_bytes;  /* ops: of its one entry; 0: what the context takes */
    char key[REQUEST_KEY]; /* ops: the key column, NUL-terminated; "" otherwise */
};

/* Room for n ids; aborts when memory is exhausted. A request starts all zero. */
void request_reserve_ids(struct request *r, uint32_t n);
void request_free(struct request *r); /* frees the ids, not the struct */

#endif
