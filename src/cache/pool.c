#include "cache/pool.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"

/* Nodes have to lie in one piece. An eighth more each time keeps the slack small; the C library
 * moves large pieces by remapping pages. */
static void nodes_grow(struct entry_pool *p, uint32_t need) {
    if (need <= p->node_cap) return;
    uint32_t cap = p->node_cap + p->node_cap / 8;
    if (cap < need) cap = need;
    p->nodes = mem_realloc(p->nodes, (size_t)cap * sizeof *p->nodes);
    mem_scattered(p->nodes, (size_t)cap * sizeof *p->nodes);
    if (p->knows_next_use) p->next_use = mem_realloc(p->next_use, (size_t)cap * sizeof *p->next_use);
    if (p->knows_parents) p->lineage = mem_realloc(p->lineage, (size_t)cap * sizeof *p->lineage);
    p->node_cap = cap;
}

/* Chunks that are allocated together: singly while more would be a large part of all, then as many as fill a
 * huge page. */
static uint32_t chunks_together(uint32_t chunk) {
    return chunk < CHUNKS_SINGLE ? 1 : CHUNKS_TOGETHER;
}

static void entries_grow(struct entry_pool *p) {
    uint32_t n = chunks_together(p->chunk_count);
    size_t bytes = n * ENTRY_CHUNK * sizeof(struct entry);
    p->chunks = mem_realloc(p->chunks, (p->chunk_count + (size_t)n) * sizeof(struct entry *));
    /* Aligned to the size of an entry, which must not straddle two cache lines, or to that of the page. */
    struct entry *piece = aligned_alloc(n == 1 ? sizeof(struct entry) : bytes, bytes);
    if (!piece) mem_exhausted(bytes);
    if (n > 1) mem_scattered(piece, bytes);
    for (uint32_t i = 0; i < n; i++) p->chunks[p->chunk_count++] = piece + (size_t)i * ENTRY_CHUNK;
    nodes_grow(p, p->chunk_count * ENTRY_CHUNK);
}

uint32_t pool_entry_take(struct entry_pool *p) {
    uint32_t i;
    if (p->live < p->top) {
        i = p->free;
        p->free = entry_at(p, i)->busy;
    } else {
        if (p->top == p->chunk_count * ENTRY_CHUNK) entries_grow(p);
        i = p->top++;
    }
    p->live++;
    *entry_at(p, i) = (struct entry){.busy = BUSY_NONE};
    return i;
}

uint32_t pool_entry_like(struct entry_pool *p, const struct entry *like) {
    uint32_t i = pool_entry_take(p);
    struct entry *e = entry_at(p, i);
    e->key = like->key;
    e->bytes = like->bytes;
    e->cause = like->cause;
    e->klass = like->klass;
    return i;
}

/* The free list runs through the busy fields; its length is top - live. */
void pool_entry_give(struct entry_pool *p, uint32_t i) {
    struct entry *e = entry_at(p, i);
    e->state = ENTRY_FREE;
    e->busy = p->free;
    p->free = i;
    p->live--;
}

void pool_entries_close(struct entry_pool *p) {
    for (uint32_t i = 0; i < p->chunk_count; i += chunks_together(i)) free(p->chunks[i]);
    free(p->chunks);
    free(p->nodes);
    free(p->next_use);
    free(p->lineage);
}

void pool_busies_init(struct busy_pool *p) {
    *p = (struct busy_pool){.free = BUSY_NONE};
}

void pool_busies_grow(struct busy_pool *p) {
    uint32_t cap = p->cap ? 2 * p->cap : 256;
    p->at = mem_realloc(p->at, (size_t)cap * sizeof *p->at);
    for (uint32_t i = cap; i-- > p->cap;) {
        p->at[i] = (struct busy){.next = p->free};
        p->free = i;
    }
    p->cap = cap;
}

void pool_busies_close(struct busy_pool *p) {
    free(p->at);
}

void pool_ops_grow(struct op_pool *p) {
    struct op_slot *chunk = mem_zalloc(OP_CHUNK, sizeof *chunk);
    p->chunks = mem_realloc(p->chunks, (p->chunk_count + (size_t)1) * sizeof *p->chunks);
    p->chunks[p->chunk_count++] = chunk;
    for (int i = OP_CHUNK - 1; i >= 0; i--) pool_op_give(p, &chunk[i].op);
}

void pool_ops_close(struct op_pool *p) {
    for (uint32_t i = 0; i < p->chunk_count; i++) free(p->chunks[i]);
    free(p->chunks);
}
