/* The entries of a request: their keys, sizes and causes. Pure; any thread. */
#ifndef KVF_ENGINE_PIPELINE_ENTRIES_H
#define KVF_ENGINE_PIPELINE_ENTRIES_H

#include "engine/pipeline/pipeline.h"

static inline struct cache_key prompt_key(const struct request *r) {
    return cache_key_make(CACHE_KEY_PROMPT, 0, r->prompt);
}

static inline struct cache_key turn_key(const struct request *r, uint32_t turn) {
    return cache_key_make(CACHE_KEY_TURN, r->conversation, turn);
}

/* The first of the earlier turns that a request reads; its own: none. */
static inline uint32_t first_turn_read(const struct scenario *s, const struct request *r) {
    return s->workload.conversation.reads == KVF_READS_ALL || r->turn < 2 ? 1 : r->turn - 1;
}

/* The one entry of requests that have just one: an ops row, a stored entry, this turn's context. */
static inline struct cache_key own_key(const struct request *r) {
    struct cache_key key;
    if (r->key[0] != '\0' && cache_key_parse(r->key, &key) == 0) return key;
    if (r->decode_only) return cache_key_make(CACHE_KEY_STORED, r->user, r->stored);
    return turn_key(r, r->turn);
}

static inline uint64_t kv_bytes(const struct scenario *s, uint64_t tokens) {
    return model_kv_bytes(&s->model, s->tensor_parallel, tokens);
}

/* The size of that one entry. */
static inline uint64_t own_bytes(const struct scenario *s, const struct request *r) {
    return r->entry_bytes ? r->entry_bytes : kv_bytes(s, r->context_tokens);
}

static inline struct cache_key chunk_key(uint64_t document, uint64_t chunk) {
    return cache_key_make(CACHE_KEY_CHUNK, document, chunk);
}

/* Key of block i of a request at block granularity, or of chunk i of a document. */
static inline struct cache_key block_key(const struct request *r, uint64_t i) {
    if (r->kind == REQUEST_INGEST) return chunk_key(r->conversation, i);
    if (r->ids) return cache_key_make(CACHE_KEY_TRACE, r->cycle, r->ids[i]);
    if (i < r->prompt_blocks) return cache_key_make(CACHE_KEY_PROMPT_BLOCK, r->prompt, i);
    return cache_key_make(CACHE_KEY_BLOCK, r->conversation, i - r->prompt_blocks);
}

/* The key of access i of a request of a trace: block i of its ids, or its one entry. */
static inline struct cache_key access_key(const struct request *r, uint32_t i) {
    return r->ids ? block_key(r, i) : own_key(r);
}

/* A chunk's KV is that of a context of its own, wherever in the document it stands. */
static inline uint64_t block_bytes(const struct pipeline *p, const struct request *r, uint32_t i) {
    const struct scenario *s = p->scenario;
    if (r->kind == REQUEST_INGEST) return kv_bytes(s, rag_chunk_tokens(p->rag, r->conversation, i));
    return model_kv_bytes_range(&s->model, s->tensor_parallel, i * s->cache.block_tokens,
                                s->cache.block_tokens);
}

/* Blocks of traces and of shared prompts are found through their prefix. */
static inline enum kvf_cause block_cause(const struct request *r, uint64_t i) {
    return r->ids || i < r->prompt_blocks ? KVF_CAUSE_PREFIX : KVF_CAUSE_CONVERSATION;
}

#endif
