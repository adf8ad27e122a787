#include "engine/pipeline/pipeline.h"

#include <stdio.h>

#include "base/clock.h"
#include "engine/pipeline/access.h"
#include "engine/pipeline/account.h"
#include "engine/pipeline/ask.h"
#include "engine/pipeline/entries.h"
#include "engine/pipeline/inference.h"
#include "engine/pipeline/reuse.h"
#include "engine/pipeline/settle.h"

/* Plans under one hold of the cache lock; more would keep other workers waiting. */
enum { PLANS_PER_HOLD = 16, DROPS_PER_HOLD = 16 };

/* ---- request granularity ---- */

static void prompt_begin(struct pipeline *p, struct executor *x, struct flight *f) {
    struct cache_key key = prompt_key(&f->req);
    cache_shared_guess(p->cache, key, kv_bytes(p->scenario, f->req.prompt_tokens), KVF_CAUSE_PREFIX);
    if (!access_missed(p, x, f, key, KVF_CAUSE_PREFIX, ROLE_PROMPT_READ, ROLE_PROMPT_WAIT)) return;
    f->prompt_missed = true;
    (void)access_write(p, x, f, key, kv_bytes(p->scenario, f->req.prompt_tokens), KVF_CAUSE_PREFIX, 0,
                       ROLE_PROMPT_WRITE);
}

static void turn_begin(struct pipeline *p, struct executor *x, struct flight *f, struct cache_key key) {
    if (!access_before(p, x, f, key))
        access_missed(p, x, f, key, KVF_CAUSE_CONVERSATION, ROLE_TURN_READ, ROLE_TURN_WAIT);
}

static void reads_begin(struct pipeline *p, struct executor *x, struct flight *f) {
    const struct request *r = &f->req;
    flight_enter(f, FLIGHT_READS, executor_now(x));
    executor_enter(x);
    if (r->kind == REQUEST_READ) {
        turn_begin(p, x, f, own_key(r));
    } else if (r->kind == REQUEST_INFERENCE) {
        if (r->prompt != REQUEST_NO_PROMPT) prompt_begin(p, x, f);
        for (uint32_t t = first_turn_read(p->scenario, r); t < r->turn; t++)
            turn_begin(p, x, f, turn_key(r, t));
    }
    executor_leave(x);
}

static void prefill_begin(struct pipeline *p, struct executor *x, struct flight *f) {
    flight_enter(f, FLIGHT_PREFILL, executor_now(x));
    if (f->req.kind == REQUEST_READ) return;
    enum cache_verdict verdict;
    executor_enter(x);
    if (f->internal)
        verdict = access_write(p, x, f, f->key, f->bytes, f->cause, f->rank, ROLE_PREFILL_WRITE);
    else
        verdict = access_write(p, x, f, own_key(&f->req), own_bytes(p->scenario, &f->req), KVF_CAUSE_PREFILL,
                               0, ROLE_PREFILL_WRITE);
    executor_leave(x);
    f->kept_out = verdict == CACHE_NOT_ADMITTED;
}

/* ---- block granularity ---- */

static bool touches_forward(const struct pipeline *p, const struct flight *f) {
    return p->scenario->cache.touch_order == KVF_TOUCH_FORWARD || f->req.kind == REQUEST_INGEST;
}

/* Chunks have the ranks of the moments at which they are written. */
static uint64_t block_rank(const struct pipeline *p, const struct flight *f, uint32_t i) {
    if (f->req.kind == REQUEST_INGEST) return 0;
    return f->rank + (touches_forward(p, f) ? i : f->blocks - 1 - i);
}

/* The i-th block in touch order. */
static uint32_t block_at(const struct pipeline *p, const struct flight *f, uint32_t k) {
    return touches_forward(p, f) ? k : f->blocks - 1 - k;
}

/* Which of the blocks found below the gpu tier are computed again, and when. */
static void blocks_choose(struct pipeline *p, struct flight *f) {
    const struct request *r = &f->req;
    enum scenario_on_hit how = p->scenario->cache.on_hit;
    if (how == KVF_ON_HIT_LOAD || !p->compute || f->hit_blocks == 0) return;
    uint64_t tokens = p->scenario->cache.block_tokens, cached;
    struct reuse_found found = {.missing = inference_tokens(p, f, &cached)};
    for (uint32_t i = 0; i < f->hit_blocks; i++) {
        int tier = cache_where(p->cache, block_key(r, i));
        *(tier == KVF_TIER_GPU ? &found.above : &found.below) += tokens;
        if (tier != KVF_TIER_GPU) found.bytes[tier] += block_bytes(p, r, i);
    }
    if (how == KVF_ON_HIT_FASTER && reuse_loads(p->scenario, compute_roofline(p->compute), &found)) return;
    f->load_from = f->hit_blocks;
    f->again_tokens = found.below;
    if (how != KVF_ON_HIT_BOTH) return;
    struct reuse_split split;
    reuse_split_begin(&split, p->scenario, compute_roofline(p->compute), &found);
    for (uint32_t i = f->hit_blocks; i-- > 0 && split.head > 0;) {
        int tier = cache_where(p->cache, block_key(r, i));
        if (tier == KVF_TIER_GPU) continue;
        if (!reuse_split_take(&split, tier, tokens, block_bytes(p, r, i))) break;
        f->load_from = i;
    }
    if (f->load_from == f->hit_blocks) return;
    f->again_tokens = 0;
    f->head_tokens = split.head;
    f->above_tokens = found.above;
}

/* A block that was found is read, or accessed where it is and computed again. */
static void block_use(struct pipeline *p, struct executor *x, struct flight *f, uint32_t i) {
    const struct request *r = &f->req;
    struct cache_key key = block_key(r, i);
    if (i >= f->load_from || cache_where(p->cache, key) == KVF_TIER_GPU) {
        access_read(p, x, f, key, block_cause(r, i), block_rank(p, f, i), ROLE_BLOCK_READ);
        return;
    }
    access_touch(p, f, key, block_rank(p, f, i));
    counters_add(&x->counters->hits_recomputed, 1);
    counters_add(&x->counters->recomputed_tokens, p->scenario->cache.block_tokens);
}

static void blocks_touch(struct pipeline *p, struct executor *x, struct flight *f) {
    const struct request *r = &f->req;
    f->rank = cache_ranks(p->cache, f->blocks);
    blocks_choose(p, f);
    for (uint32_t i = 0; i < f->blocks; i++) {
        bool hit = i < f->hit_blocks, before = i < r->before_tokens / p->scenario->cache.block_tokens;
        if (hit || !before)
            access_count(p, f, block_cause(r, i), hit ? cache_where(p->cache, block_key(r, i)) : -1);
    }
    for (uint32_t k = 0; k < f->blocks; k++) {
        uint32_t i = block_at(p, f, k);
        if (i < f->hit_blocks)
            block_use(p, x, f, i);
        else
            access_touch(p, f, block_key(r, i), block_rank(p, f, i));
    }
    f->prompt_missed = f->hit_blocks < r->prompt_blocks;
}

/* The blocks of a tier are loaded when the last of them is there. */
static void blocks_loaded(struct executor *x, const struct flight *f) {
    for (int t = 0; t < KVF_TIERS; t++)
        if (f->load_end_ns[t] > 0)
            counters_load(x->counters, t, atomic_load(&f->read_bytes[t]), f->load_end_ns[t] - f->load_ns);
}

/* Finds the longest resident prefix. A block in it that is being written is waited for before
 * anything is counted or pinned, and the scan begins again. */
static void blocks_lookup(struct pipeline *p, struct executor *x, struct flight *f) {
    const struct request *r = &f->req;
    flight_enter(f, FLIGHT_LOOKUP, executor_now(x));
    f->blocks = r->ids ? r->id_count : (uint32_t)(r->prompt_blocks + r->conversation_blocks);
    executor_enter(x);
    uint32_t i = 0;
    bool waiting = false;
    for (uint32_t k = 0; k < f->blocks && p->scenario->fleet.pods > 1; k++)
        cache_shared_refresh(p->cache, block_key(r, k));
    bool shares = p->scenario->remote.share_prompts && !r->ids;
    for (uint32_t k = 0; k < r->prompt_blocks && shares; k++)
        cache_shared_guess(p->cache, block_key(r, k), block_bytes(p, r, (uint32_t)k), KVF_CAUSE_PREFIX);
    for (; i < f->blocks; i++) {
        struct cache_key key = block_key(r, i);
        enum cache_presence presence = cache_peek(p->cache, key);
        if (presence == CACHE_WRITING)
            waiting = access_wait(p, x, f, key, block_cause(r, i), ROLE_BLOCK_WAIT);
        if (presence != CACHE_RESIDENT) break;
    }
    if (!waiting) {
        f->load_ns = executor_now(x);
        flight_enter(f, FLIGHT_READS, f->load_ns);
        f->hit_blocks = i;
        blocks_touch(p, x, f);
    }
    executor_leave(x);
    if (!waiting) inference_head(p, x, f);
}

/* Blocks are written in either direction: both neighbours of a new one may be there. */
static void block_link(struct pipeline *p, const struct flight *f, uint32_t i) {
    if (f->req.kind == REQUEST_INGEST || !cache_links(p->cache)) return;
    if (i > 0) cache_link(p->cache, block_key(&f->req, i), block_key(&f->req, i - 1));
    if (i + 1 < f->blocks) cache_link(p->cache, block_key(&f->req, i + 1), block_key(&f->req, i));
}

/* Plans the writes of the missing blocks in touch order, until one has to wait for room. */
static void blocks_write(struct pipeline *p, struct executor *x, struct flight *f) {
    const struct request *r = &f->req;
    enum kvf_cause cause = r->kind == REQUEST_INGEST ? KVF_CAUSE_RAG : KVF_CAUSE_PREFILL;
    flight_enter(f, FLIGHT_PREFILL, executor_now(x));
    while (f->next_block < f->blocks && !f->room_blocked && !f->refused) {
        executor_enter(x);
        for (int n = 0; n < PLANS_PER_HOLD && f->next_block < f->blocks && !f->room_blocked && !f->refused;
             n++) {
            uint32_t i = block_at(p, f, f->next_block++);
            if (i < f->hit_blocks) continue;
            enum cache_verdict verdict = access_write(p, x, f, block_key(r, i), block_bytes(p, r, i), cause,
                                                      block_rank(p, f, i), ROLE_BLOCK_WRITE);
            block_link(p, f, i);
            f->room_blocked = verdict == CACHE_NO_ROOM_NOW;
        }
        executor_leave(x);
    }
}

/* ---- documents ---- */

/* One chunk; one that is missing is a miss and stays missing. */
static void chunk_begin(struct pipeline *p, struct executor *x, struct flight *f, struct cache_key key) {
    access_missed(p, x, f, key, KVF_CAUSE_RAG, ROLE_CHUNK_READ, ROLE_CHUNK_WAIT);
}

KVF_APART static void retrieve_begin(struct pipeline *p, struct executor *x, struct flight *f) {
    uint32_t chunk[RAG_TOP_MAX];
    uint64_t document;
    flight_enter(f, FLIGHT_RETRIEVE, executor_now(x));
    f->wait_deadline_ns = 0;
    uint32_t chunks = rag_pick(p->rag, pipeline_documents(p), f->req.retrieval, &document, chunk);
    f->retrieved = chunks > 0;
    for (uint32_t i = 0; i < chunks;) {
        executor_enter(x);
        for (int n = 0; n < PLANS_PER_HOLD && i < chunks; n++)
            chunk_begin(p, x, f, chunk_key(document, chunk[i++]));
        executor_leave(x);
    }
}

/* Takes the chunks of a document out of the cache. */
static void document_drop(struct pipeline *p, struct executor *x, uint64_t document) {
    uint32_t chunks = rag_chunks(p->rag, document);
    for (uint32_t i = 0; i < chunks;) {
        uint64_t dropped = 0;
        executor_enter(x);
        for (int n = 0; n < DROPS_PER_HOLD && i < chunks; n++)
            dropped += cache_drop(p->cache, cache_key_make(CACHE_KEY_CHUNK, document, i++));
        executor_leave(x);
        counters_add(&x->counters->rag_evicted, dropped);
    }
}

/* The document in whose place this one comes leaves first. */
static void ingest_begin(struct pipeline *p, struct executor *x, struct flight *f) {
    uint64_t document = f->req.conversation, most = p->rag->max_documents;
    if (most > 0 && document >= most) document_drop(p, x, document - most);
    f->blocks = rag_chunks(p->rag, document);
    blocks_write(p, x, f);
}

/* ---- decode, generation, end ---- */

static void decode_begin(struct pipeline *p, struct executor *x, struct flight *f) {
    flight_enter(f, FLIGHT_DECODE, executor_now(x));
    uint64_t batch = p->scenario->workload.decode.batch_tokens;
    f->reads_left = (uint32_t)(1 + (f->req.generate_tokens + batch - 1) / batch);
    f->decode_bytes = f->req.decode_only ? 0 : own_bytes(p->scenario, &f->req);
    f->owed_bytes += f->reads_left * f->decode_bytes;
}

/* The size is that of the entry which is there. */
static void decode_read(struct pipeline *p, struct executor *x, struct flight *f, struct cache_key key) {
    uint64_t bytes = access_read(p, x, f, key, KVF_CAUSE_DECODE, 0, ROLE_DECODE_READ);
    f->owed_bytes += f->reads_left * bytes - f->reads_left * f->decode_bytes;
    f->decode_bytes = bytes;
    f->reads_left--;
}

/* There is nothing to read, and nothing that it could write: somebody else writes it and has had all its
 * patience, or it is kept out. A request that consists of these reads has failed. */
static void decode_ends(struct flight *f) {
    f->failed = f->failed || f->req.decode_only;
    f->owed_bytes -= f->reads_left * f->decode_bytes;
    f->reads_left = 0;
}

/* One read of the batch-by-batch decode; the first counts the one lookup. An entry that has gone
 * is written again, unless it is kept out or the request only reads. Between enter and leave. */
static void decode_look(struct pipeline *p, struct executor *x, struct flight *f) {
    struct cache_key key = own_key(&f->req);
    cache_shared_refresh(p->cache, key);
    enum cache_presence presence = cache_peek(p->cache, key);
    if (presence == CACHE_WRITING && access_wait(p, x, f, key, KVF_CAUSE_DECODE, ROLE_DECODE_WAIT)) return;
    if (!f->decode_counted) {
        f->decode_counted = true;
        f->decode_tier = cache_where(p->cache, key);
        access_count(p, f, KVF_CAUSE_DECODE, f->decode_tier);
    }
    if (presence == CACHE_RESIDENT) {
        decode_read(p, x, f, key);
    } else if (f->req.decode_only || f->kept_out ||
               !access_under_way(access_write(p, x, f, key, own_bytes(p->scenario, &f->req), KVF_CAUSE_DECODE,
                                              0, ROLE_DECODE_WRITE))) {
        decode_ends(f);
    }
}

static void decode_step(struct pipeline *p, struct executor *x, struct flight *f) {
    executor_enter(x);
    decode_look(p, x, f);
    executor_leave(x);
}

static void flight_end(struct pipeline *p, struct executor *x, struct flight *f) {
    if (settle_begin(p, x, f)) return;
    flight_enter(f, FLIGHT_ENDED, executor_now(x));
    inference_leave(p, x, f);
    if (!f->internal) account_flight(p, x, f);
}

static void first_token(struct executor *x, struct flight *f) {
    f->first_token_ns = executor_now(x);
    access_first_token(f);
    atomic_store_explicit(&f->ttft_ns, f->first_token_ns - f->req.arrival_ns, memory_order_relaxed);
}

static void generate_begin(struct pipeline *p, struct executor *x, struct flight *f) {
    uint64_t now = executor_now(x);
    if (f->first_token_ns == 0 && f->req.kind != REQUEST_READ) first_token(x, f);
    flight_enter(f, FLIGHT_GENERATE, now);
    f->generate_ns = now;
    if (inference_generate(p, x, f)) return;
    uint64_t ns = f->req.kind == REQUEST_INFERENCE && !p->compute
                      ? f->req.generate_tokens * atomic_load_explicit(&p->ns_per_token, memory_order_relaxed)
                      : 0;
    if (ns > 0)
        x->ops->timer(x, f, now + ns);
    else
        flight_end(p, x, f);
}

static bool decodes(const struct pipeline *p, const struct request *r) {
    return r->kind == REQUEST_INFERENCE && !r->prefill_only &&
           p->scenario->cache.granularity == KVF_GRANULARITY_REQUEST;
}

static void answer_begin(struct pipeline *p, struct executor *x, struct flight *f) {
    if (decodes(p, &f->req))
        decode_begin(p, x, f);
    else
        generate_begin(p, x, f);
}

/* The context is in the cache: prefill is over. */
static void prefill_ended(struct pipeline *p, struct executor *x, struct flight *f) {
    const struct request *r = &f->req;
    if (r->kind != REQUEST_READ) first_token(x, f);
    if (r->kind == REQUEST_INGEST)
        flight_end(p, x, f);
    else if (r->retrieves)
        retrieve_begin(p, x, f);
    else
        answer_begin(p, x, f);
}

static void flight_first(struct pipeline *p, struct executor *x, struct flight *f) {
    if (f->stage == FLIGHT_QUEUED && ask_begin(p, x, f)) return;
    if (f->req.decode_only)
        decode_begin(p, x, f);
    else if (f->req.kind == REQUEST_INGEST)
        ingest_begin(p, x, f);
    else if (f->req.kind == REQUEST_INFERENCE && p->scenario->cache.granularity == KVF_GRANULARITY_BLOCK)
        blocks_lookup(p, x, f);
    else
        reads_begin(p, x, f);
}

static void write_begin(struct pipeline *p, struct executor *x, struct flight *f) {
    if (x->ops->writes) x->ops->writes(x, f);
    if (p->scenario->cache.granularity == KVF_GRANULARITY_BLOCK && f->req.kind == REQUEST_INFERENCE)
        blocks_write(p, x, f);
    else
        prefill_begin(p, x, f);
}

/* One step from a point at which nothing is outstanding. */
static void flight_step(struct pipeline *p, struct executor *x, struct flight *f) {
    bool blocks = f->blocks > 0;
    switch (f->stage) {
    case FLIGHT_QUEUED:
    case FLIGHT_ASK:
        flight_first(p, x, f);
        break;
    case FLIGHT_LOOKUP:
        blocks_lookup(p, x, f);
        break;
    case FLIGHT_READS:
        f->wait_deadline_ns = 0;
        if (blocks) blocks_loaded(x, f);
        if (!inference_prefill(p, x, f)) write_begin(p, x, f);
        break;
    case FLIGHT_COMPUTE:
        write_begin(p, x, f);
        break;
    case FLIGHT_PREFILL:
        if (blocks && f->next_block < f->blocks && !f->refused)
            blocks_write(p, x, f);
        else
            prefill_ended(p, x, f);
        break;
    case FLIGHT_RETRIEVE:
        f->wait_deadline_ns = 0;
        answer_begin(p, x, f);
        break;
    case FLIGHT_DECODE:
        if (f->reads_left > 0)
            decode_step(p, x, f);
        else
            generate_begin(p, x, f);
        break;
    default:
        break;
    }
}

/* Goes on until something is outstanding, a timer runs or the request has ended. An ended flight is
 * the executor's at once and may be another request before done() returns: this is its last use. */
static void flight_run(struct pipeline *p, struct executor *x, struct flight *f) {
    while (!x->stopping && !flight_waits(f) && f->stage < FLIGHT_GENERATE) {
        if (f->failed)
            flight_end(p, x, f);
        else
            flight_step(p, x, f);
    }
    if (f->stage == FLIGHT_ENDED) x->ops->done(x, f);
}

static void settled_end(struct pipeline *p, struct executor *x) {
    struct flight *next;
    for (struct flight *f = settle_end(p, x); f; f = next) {
        next = f->next;
        flight_end(p, x, f);
        x->ops->done(x, f);
    }
}

/* ---- what the executor calls ---- */

void pipeline_computed(struct pipeline *p, struct executor *x, struct flight *f) {
    f->computing = false;
    if (f->stage == FLIGHT_COMPUTE) f->prefill_ns = executor_now(x) - f->prefill_ns;
    if (f->stage == FLIGHT_GENERATE) {
        f->timer_ns = executor_now(x);
        flight_end(p, x, f);
    }
    flight_run(p, x, f);
}

void pipeline_answered(struct pipeline *p, struct executor *x, struct flight *f,
                       const struct cache_note *notes, uint32_t count) {
    ask_end(p, x, f, notes, count);
    flight_run(p, x, f);
}

void pipeline_abort(struct pipeline *p, struct executor *x, struct flight *f) {
    f->failed = true;
    flight_enter(f, FLIGHT_ENDED, executor_now(x));
    account_flight(p, x, f);
    x->ops->done(x, f);
}

void pipeline_start(struct pipeline *p, struct executor *x, struct flight *f) {
    uint64_t cost = p->scenario->cache.lookup_cost_ns + f->index_ns;
    if (cost > 0 && !f->internal && f->req.kind == REQUEST_INFERENCE) {
        flight_enter(f, FLIGHT_ASK, executor_now(x));
        x->ops->timer(x, f, executor_now(x) + cost);
    } else {
        flight_run(p, x, f);
    }
}

void pipeline_timer(struct pipeline *p, struct executor *x, struct flight *f) {
    if (f == &x->tick) {
        inference_tick(p, x);
        return;
    }
    if (f->stage == FLIGHT_ASK) {
        f->timer_ns = 0;
        flight_enter(f, FLIGHT_QUEUED, executor_now(x));
        flight_run(p, x, f);
        return;
    }
    flight_end(p, x, f);
    x->ops->done(x, f);
}

void pipeline_op_ready(struct executor *x, struct cache_op *op) {
    if (op->owner) access_room_found(x, op->owner, op);
}

void pipeline_op_begins(const struct cache_op *op) {
    if (op->owner) flight_at(op->owner, op->from >= 0 ? op->from : op->to);
}

static void write_ended(struct executor *x, struct flight *f, const struct cache_op *op,
                        enum cache_outcome outcome) {
    if (op->refused) access_refused(f);
    if (outcome == CACHE_DONE && !f->internal) histogram_record(&x->counters->entry_bytes, op->bytes);
    if (op->role == ROLE_BLOCK_WRITE && op->deadline_ns != 0) f->room_blocked = false;
}

/* A request's own writes are read before waiting writes can evict them, so that
 * every write comes to at least one read and the request to its end. One that retrieves before it decodes
 * may have to write once more. */
static void own_written(struct pipeline *p, struct executor *x, struct flight *f) {
    if (f->stage == FLIGHT_PREFILL) {
        if (!decodes(p, &f->req) || f->req.retrieves) return;
        prefill_ended(p, x, f);
    }
    decode_look(p, x, f);
}

/* A read whose entry has gone from its tier: what a miss would have led to. */
static void role_lost(struct pipeline *p, struct executor *x, struct flight *f, const struct cache_op *op) {
    switch ((enum access_role)op->role) {
    case ROLE_PROMPT_READ:
        f->prompt_missed = true;
        (void)access_write(p, x, f, op->key, kv_bytes(p->scenario, f->req.prompt_tokens), KVF_CAUSE_PREFIX, 0,
                           ROLE_PROMPT_WRITE);
        break;
    case ROLE_BLOCK_READ:
        for (uint32_t i = 0; i < f->hit_blocks; i++)
            if (cache_key_equal(block_key(&f->req, i), op->key)) f->hit_blocks = i;
        f->prompt_missed = f->hit_blocks < f->req.prompt_blocks;
        break;
    case ROLE_DECODE_READ:
        f->failed = f->req.decode_only;
        f->reads_left += !f->failed;
        break;
    default:
        break;
    }
}

/* Between enter and leave, the operation finished with the cache: it is read before another one is made. */
static void role_ended(struct pipeline *p, struct executor *x, struct flight *f, const struct cache_op *op,
                       enum cache_outcome outcome) {
    switch ((enum access_role)op->role) {
    case ROLE_PROMPT_WAIT:
        prompt_begin(p, x, f);
        break;
    case ROLE_TURN_WAIT:
        turn_begin(p, x, f, op->key);
        break;
    case ROLE_CHUNK_WAIT:
        chunk_begin(p, x, f, op->key);
        break;
    case ROLE_PROMPT_WRITE:
    case ROLE_BLOCK_WRITE:
        write_ended(x, f, op, outcome);
        break;
    case ROLE_PREFILL_WRITE:
    case ROLE_DECODE_WRITE:
        write_ended(x, f, op, outcome);
        if (outcome == CACHE_DONE) own_written(p, x, f);
        break;
    case ROLE_DECODE_READ:
        if (f->req.decode_only && f->first_token_ns == 0) first_token(x, f);
        break;
    default:
        break;
    }
}

/* An error is never a hit. All decode reads of a request share one lookup. */
static void hit_withdrawn(struct pipeline *p, struct flight *f, const struct cache_op *op) {
    int tier = op->role == ROLE_DECODE_READ ? f->decode_tier : op->from;
    if (tier >= 0) {
        cache_recount_miss(p->cache, op->cause, tier);
        flight_count(&f->tier_hits[tier], -1);
        flight_count(&f->misses, 1);
    }
    if (op->role == ROLE_DECODE_READ) f->decode_tier = -1;
}

void pipeline_op_done(struct pipeline *p, struct executor *x, struct cache_op *op,
                      enum cache_outcome outcome) {
    struct flight *f = op->owner;
    bool failed = outcome == CACHE_FAILED, lost = outcome == CACHE_LOST, reads = op->kind == CACHE_OP_READ;
    uint32_t role = op->role;
    executor_enter(x);
    if ((failed || lost) && reads) hit_withdrawn(p, f, op);
    cache_finish(p->cache, op, outcome, failed && reads);
    if (!f || x->stopping) {
        executor_leave(x);
        settled_end(p, x);
        return;
    }
    access_room_found(x, f, op);
    access_ends(x, f, op, outcome);
    f->failed = f->failed || failed;
    account_op(f, op, outcome);
    /* before access_ended, so that a wait turning into a read is one stretch of storage time */
    if (!f->failed && lost && op->kind != CACHE_OP_WRITE)
        role_lost(p, x, f, op);
    else if (!f->failed)
        role_ended(p, x, f, op, outcome);
    access_ended(x, f);
    executor_leave(x);
    bool writes = f->stage == FLIGHT_PREFILL && role == ROLE_BLOCK_WRITE;
    if (writes && !f->failed && f->outstanding > 0) blocks_write(p, x, f);
    flight_run(p, x, f);
}
