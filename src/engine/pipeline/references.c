#include "engine/pipeline/references.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/heap.h"
#include "workload/workload.h"

void references_free(struct references *r) {
    free(r->at);
    free(r->key);
    free(r->bytes);
    free(r->slot);
    free(r->arrival_ns);
    memset(r, 0, sizeof *r);
}

/* ---- keys as numbers ---- */

static uint64_t slot_of(const struct references *r, struct cache_key key) {
    uint64_t i = hash_mix64(key.hi ^ hash_mix64(key.lo)) & (r->slots - 1);
    while (r->slot[i] && !cache_key_equal(r->key[r->slot[i] - 1], key)) i = (i + 1) & (r->slots - 1);
    return i;
}

static void slots_grow(struct references *r) {
    free(r->slot);
    r->slots = r->slots ? 2 * r->slots : 1024;
    r->slot = mem_zalloc(r->slots, sizeof *r->slot);
    for (uint32_t id = 0; id < r->ids; id++) r->slot[slot_of(r, r->key[id])] = id + 1;
}

static bool is_last(const struct references *r, struct cache_key key) {
    return r->count > 0 && cache_key_equal(r->key[r->at[r->count - 1].id], key);
}

static uint32_t id_again(struct references *r, uint32_t id, uint64_t bytes) {
    if (r->bytes[id] == 0) r->total_bytes += r->bytes[id] = bytes;
    return id;
}

static uint32_t id_of(struct references *r, struct cache_key key, uint64_t bytes) {
    if (2 * (uint64_t)r->ids >= r->slots) slots_grow(r);
    if (is_last(r, key)) return id_again(r, r->at[r->count - 1].id, bytes);
    uint64_t i = slot_of(r, key);
    if (r->slot[i]) return id_again(r, r->slot[i] - 1, bytes);
    if (r->ids == r->id_cap) {
        r->id_cap = r->id_cap ? 2 * r->id_cap : 1024;
        r->key = mem_realloc(r->key, r->id_cap * sizeof *r->key);
        r->bytes = mem_realloc(r->bytes, r->id_cap * sizeof *r->bytes);
    }
    r->key[r->ids] = key;
    r->bytes[r->ids] = bytes;
    r->total_bytes += bytes;
    r->slot[i] = ++r->ids;
    return r->ids - 1;
}

bool references_find(const struct references *r, struct cache_key key, uint32_t *id) {
    if (r->slots == 0) return false;
    uint32_t number = r->slot[slot_of(r, key)];
    if (number > 0) *id = number - 1;
    return number > 0;
}

void references_add(struct references *r, enum reference_kind kind, struct cache_key key, uint64_t bytes,
                    enum kvf_cause cause, uint8_t klass) {
    bool block = kind == REFERENCE_BLOCK || kind == REFERENCE_LAST_BLOCK;
    if (r->count == 0) r->blocks = true;
    mem_room(r->at, r->count, r->cap);
    uint32_t id = id_of(r, key, bytes);
    r->at[r->count++] = (struct reference){id, (uint8_t)kind, (uint8_t)cause, klass, false};
    r->blocks = r->blocks && block;
    r->lookups += kind != REFERENCE_WRITE && kind != REFERENCE_READ && cause != KVF_CAUSE_DECODE;
    r->block_from += r->bytes[id];
    if (r->block_from > r->largest_bytes) r->largest_bytes = r->block_from;
    if (kind != REFERENCE_BLOCK) r->block_from = 0;
}

void references_request(struct references *r, uint64_t arrival_ns) {
    mem_room(r->arrival_ns, r->requests, r->request_cap);
    r->arrival_ns[r->requests++] = arrival_ns;
}

/* ---- requests, as the pipeline serves them ---- */

static void walk_blocks(const struct scenario *s, const struct request *q, const struct references_sink *to) {
    uint64_t n = q->ids ? q->id_count : q->prompt_blocks + q->conversation_blocks;
    for (uint64_t i = 0; i < n; i++) {
        bool prompt = !q->ids && i < q->prompt_blocks;
        struct cache_key key = q->ids ? cache_key_make(CACHE_KEY_TRACE, q->cycle, q->ids[i])
                               : prompt
                                   ? cache_key_make(CACHE_KEY_PROMPT_BLOCK, q->prompt, i)
                                   : cache_key_make(CACHE_KEY_BLOCK, q->conversation, i - q->prompt_blocks);
        uint64_t bytes = model_kv_bytes_range(&s->model, s->tensor_parallel, i * s->cache.block_tokens,
                                              s->cache.block_tokens);
        to->access(to->ctx, i + 1 < n ? REFERENCE_BLOCK : REFERENCE_LAST_BLOCK, key, bytes,
                   q->ids || prompt ? KVF_CAUSE_PREFIX : KVF_CAUSE_CONVERSATION, (uint8_t)q->klass);
    }
}

/* Reads of the batch-by-batch decode: the first looks the entry up. */
static void walk_decode(const struct scenario *s, const struct request *q, struct cache_key own,
                        uint64_t bytes, const struct references_sink *to) {
    enum reference_kind first = q->decode_only ? REFERENCE_LOOKUP : REFERENCE_FILL;
    uint64_t batch = s->workload.decode.batch_tokens, reads = 1 + (q->generate_tokens + batch - 1) / batch;
    for (uint64_t i = 0; i < reads; i++)
        to->access(to->ctx, i == 0 ? first : REFERENCE_READ, own, bytes, KVF_CAUSE_DECODE, (uint8_t)q->klass);
}

static void walk_entries(const struct scenario *s, const struct request *q,
                         const struct references_sink *to) {
    uint8_t klass = (uint8_t)q->klass;
    struct cache_key own;
    uint64_t bytes =
        q->entry_bytes ? q->entry_bytes : model_kv_bytes(&s->model, s->tensor_parallel, q->context_tokens);
    if (q->decode_only) {
        walk_decode(s, q, cache_key_make(CACHE_KEY_STORED, q->user, q->stored), 0, to);
        return;
    }
    if (!q->key[0] || cache_key_parse(q->key, &own) != 0)
        own = cache_key_make(CACHE_KEY_TURN, q->conversation, q->turn);
    if (q->kind != REQUEST_INFERENCE) {
        to->access(to->ctx, q->kind == REQUEST_READ ? REFERENCE_LOOKUP : REFERENCE_WRITE, own, bytes,
                   q->kind == REQUEST_READ ? KVF_CAUSE_CONVERSATION : KVF_CAUSE_PREFILL, klass);
        return;
    }
    if (q->prompt != REQUEST_NO_PROMPT)
        to->access(to->ctx, REFERENCE_FILL, cache_key_make(CACHE_KEY_PROMPT, 0, q->prompt),
                   model_kv_bytes(&s->model, s->tensor_parallel, q->prompt_tokens), KVF_CAUSE_PREFIX, klass);
    bool all = s->workload.conversation.reads == KVF_READS_ALL;
    for (uint32_t t = all || q->turn < 2 ? 1 : q->turn - 1; t < q->turn; t++)
        to->access(to->ctx, REFERENCE_LOOKUP, cache_key_make(CACHE_KEY_TURN, q->conversation, t), 0,
                   KVF_CAUSE_CONVERSATION, klass);
    to->access(to->ctx, REFERENCE_WRITE, own, bytes, KVF_CAUSE_PREFILL, klass);
    if (!q->prefill_only) walk_decode(s, q, own, bytes, to);
}

void references_walk(const struct scenario *s, const struct request *q, const struct references_sink *to) {
    if (s->cache.granularity == KVF_GRANULARITY_BLOCK && q->kind == REQUEST_INFERENCE)
        walk_blocks(s, q, to);
    else
        walk_entries(s, q, to);
}

static void add_access(void *ctx, enum reference_kind kind, struct cache_key key, uint64_t bytes,
                       enum kvf_cause cause, uint8_t klass) {
    references_add(ctx, kind, key, bytes, cause, klass);
}

static void add_request(struct references *r, const struct scenario *s, const struct request *q,
                        uint64_t now_ns) {
    uint64_t from = r->count;
    references_walk(s, q, &(struct references_sink){add_access, r});
    r->block_from = 0;
    if (r->count > from) {
        r->at[from].first = true;
        references_request(r, now_ns);
    }
    r->cut = r->count >= REFERENCES_MAX;
}

/* ---- the order of requests ---- */

static void collect_open(struct references *r, const struct scenario *s, struct workload *w,
                         uint64_t end_ns) {
    struct request q = {0};
    while (!r->cut && workload_next(w, 0, &q) == WORKLOAD_REQUEST && q.arrival_ns <= end_ns)
        add_request(r, s, &q, q.arrival_ns);
    request_free(&q);
}

/* On a modelled GPU a request takes what it would alone, nothing of it being there. */
static uint64_t answer_ns(const struct scenario *s, const struct roofline *gpu, const struct request *q) {
    uint64_t n = q->generate_tokens;
    if (!gpu) return n * s->compute.ns_per_token;
    uint64_t prefill = roofline_prefill_ns(gpu, q->context_tokens + q->prompt_tokens, 0);
    return prefill + (n > 1 ? (n - 1) * roofline_decode_ns(gpu, 1, q->context_tokens + q->prompt_tokens) : 0);
}

enum { STILL = 100000 }; /* requests at one time, beside one a user, after which time will not go on */

/* Users ask when they are due; those that a response starts come behind it. False: for ever at one time. */
static bool collect_users(struct references *r, const struct scenario *s, const struct roofline *gpu,
                          struct workload *w, uint64_t end_ns) {
    struct request q = {0};
    struct heap due = {0};
    struct heap_item item;
    uint64_t order = 0, user, delay, now_ns = 0, still = 0;
    for (uint64_t u = 0; u < workload_users(w); u++)
        heap_push(&due, workload_first_delay_ns(w, u), order++, (void *)(uintptr_t)u);
    while (!r->cut && heap_pop(&due, &item) && item.key <= end_ns) {
        uint64_t asked = (uint64_t)(uintptr_t)item.item;
        if (workload_next(w, asked, &q) != WORKLOAD_REQUEST) continue;
        still = item.key == now_ns ? still + 1 : 0;
        now_ns = item.key;
        if (still > workload_users(w) + STILL) break;
        add_request(r, s, &q, item.key);
        uint64_t answered = item.key + answer_ns(s, gpu, &q);
        while (workload_spawned(w, asked, &user, &delay))
            heap_push(&due, answered + delay, order++, (void *)(uintptr_t)user);
        if (workload_more(w, asked))
            heap_push(&due, answered + workload_think_ns(w, asked), order++, (void *)(uintptr_t)asked);
    }
    heap_free(&due);
    request_free(&q);
    return still <= workload_users(w) + STILL;
}

int references_collect(struct references *r, const struct scenario *s, struct err *e) {
    uint64_t end_ns = s->run.warmup_ns + s->run.duration_ns;
    struct roofline gpu;
    struct workload *w;
    bool goes_on = true;
    memset(r, 0, sizeof *r);
    if (scenario_retrieves(s))
        return err_set(e, KVF_ERR_USAGE,
                       "miss ratios are about conversations and blocks; set workload.rag.documents: 0");
    if (s->workload.phase == KVF_WORKLOAD_PHASE_DECODE)
        return err_set(e, KVF_ERR_USAGE,
                       "workload.phase decode reads entries stored before the run; use both or prefill");
    int rc = scenario_computes(s) ? scenario_roofline(s, &gpu, e) : 0;
    if (rc == 0) rc = workload_open(&w, s, e);
    if (rc != 0) return rc;
    if (workload_open_loop(w))
        collect_open(r, s, w, end_ns);
    else
        goes_on = collect_users(r, s, scenario_computes(s) ? &gpu : NULL, w, end_ns);
    workload_close(w);
    if (!goes_on)
        return err_set(
            e, KVF_ERR_USAGE,
            "requests follow each other and take no time: give the users think times, or compute a "
            "time per token");
    if (r->lookups == 0)
        return err_set(e, KVF_ERR_USAGE, "no request of the scenario looks anything up in its duration");
    return 0;
}
