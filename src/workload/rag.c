#include "workload/rag.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/rng.h"
#include "base/units.h"
#include "workload/weights.h"

enum { WORD = 64 };

bool rag_note(const struct scenario *s, char *buf, size_t len) {
    uint64_t asked = s->workload.rag.chunk_tokens, taken = scenario_chunk_tokens(s);
    char size[32], most[32];
    if (!scenario_retrieves(s) || taken == asked) return false;
    uint64_t bytes = model_kv_bytes(&s->model, s->tensor_parallel, asked);
    snprintf(buf, len,
             "workload.rag.chunk_tokens: %" PRIu64 " tokens are %s of KV, and a chunk has %s at most: chunks "
             "have %" PRIu64 " tokens",
             asked, units_size_human((double)bytes, size, sizeof size),
             units_size_human((double)SCENARIO_CHUNK_BYTES, most, sizeof most), taken);
    return true;
}

static uint64_t most_chunks(const struct rag *g) {
    return (g->tokens.hi + g->chunk_tokens - 1) / g->chunk_tokens;
}

/* One array serves documents and chunks: a prefix of it is the running sums of however many there are. */
static void sums_make(struct rag *g) {
    uint64_t ranks = g->documents > g->max_documents ? g->documents : g->max_documents;
    double sum = 0;
    if (ranks < most_chunks(g)) ranks = most_chunks(g);
    g->sums = mem_alloc((size_t)ranks * sizeof *g->sums);
    for (uint64_t i = 0; i < ranks; i++) g->sums[i] = sum += 1.0 / (double)(i + 1);
}

void rag_init(struct rag *g, const struct scenario *s) {
    *g = (struct rag){.seed = s->seed,
                      .probability = s->workload.rag.probability,
                      .documents = s->workload.rag.documents,
                      .max_documents = s->workload.rag.max_documents,
                      .chunk_tokens = scenario_chunk_tokens(s),
                      .top_k = (uint32_t)s->workload.rag.top_k,
                      .tokens = s->workload.rag.tokens};
    if (g->top_k > RAG_TOP_MAX) g->top_k = RAG_TOP_MAX;
    if (s->compute.mode == KVF_COMPUTE_DETERMINISTIC)
        g->tokens.lo = g->tokens.hi = g->tokens.lo + (g->tokens.hi - g->tokens.lo) / 2;
    if (s->workload.rag.distribution == KVF_PICK_ZIPF) sums_make(g);
}

void rag_free(struct rag *g) {
    free(g->sums);
    *g = (struct rag){0};
}

uint64_t rag_tokens(const struct rag *g, uint64_t document) {
    struct rng rng;
    rng_init(&rng, g->seed, KVF_RNG_DOCUMENT, document);
    return rng_range(&rng, g->tokens.lo, g->tokens.hi);
}

uint32_t rag_chunks(const struct rag *g, uint64_t document) {
    return (uint32_t)((rag_tokens(g, document) + g->chunk_tokens - 1) / g->chunk_tokens);
}

uint64_t rag_chunk_tokens(const struct rag *g, uint64_t document, uint32_t chunk) {
    uint64_t tokens = rag_tokens(g, document), before = chunk * g->chunk_tokens;
    if (before >= tokens) return 0;
    return tokens - before < g->chunk_tokens ? tokens - before : g->chunk_tokens;
}

void rag_draw(const struct rag *g, struct request *r) {
    struct rng rng;
    if (r->kind != REQUEST_INFERENCE || r->decode_only) return;
    rng_init(&rng, g->seed, KVF_RNG_RETRIEVAL, r->id + (r->cycle << 48));
    r->retrieves = rng_double(&rng) < g->probability;
    if (r->retrieves) r->retrieval = rng_u64(&rng);
}

static uint32_t place_draw(const struct rag *g, struct rng *rng, uint32_t places) {
    if (g->sums) return weights_draw(g->sums, places, rng_double(rng));
    return (uint32_t)rng_range(rng, 0, places - 1);
}

/* A document's place is its number modulo max_documents; of a window the places are in part filled, from
 * some place on to the last and then from 0. */
static uint64_t document_at(const struct rag *g, struct rag_window in, uint32_t place) {
    uint64_t most = g->max_documents, count = in.next - in.first;
    if (most == 0) return in.first + place;
    uint64_t start = in.first % most, wrapped = start + count > most ? start + count - most : 0;
    return place < wrapped ? in.next - wrapped + place : in.first + (place - wrapped);
}

uint32_t rag_pick(const struct rag *g, struct rag_window in, uint64_t retrieval, uint64_t *document,
                  uint32_t chunk[RAG_TOP_MAX]) {
    uint64_t taken[SCENARIO_CHUNKS_MAX / WORD];
    struct rng rng;
    if (in.next <= in.first) return 0;
    rng_init(&rng, g->seed, KVF_RNG_RETRIEVAL, retrieval);
    *document = document_at(g, in, place_draw(g, &rng, in.next - in.first));
    uint32_t chunks = rag_chunks(g, *document), wanted = g->top_k < chunks ? g->top_k : chunks;
    for (uint32_t i = 0; i < wanted; i++) chunk[i] = i;
    if (wanted == chunks) return wanted;
    for (uint32_t i = 0; i * WORD < chunks; i++) taken[i] = 0;
    /* Drawing again what has been drawn already leaves the others in their proportions. */
    for (uint32_t n = 0; n < wanted;) {
        uint32_t place = place_draw(g, &rng, chunks);
        uint64_t bit = UINT64_C(1) << place % WORD;
        if (taken[place / WORD] & bit) continue;
        taken[place / WORD] |= bit;
        chunk[n++] = place;
    }
    return wanted;
}
