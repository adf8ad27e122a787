#include "cache/ghost.h"

#include <stdlib.h>

#include "base/buf.h"

#define NONE UINT32_MAX

enum { PIECE = 1024 };

struct ghost {
    struct cache_key key;
    uint64_t bytes;
    uint32_t list, older, newer;
    uint32_t chain; /* the next of its bucket, or of the free list */
};
_Static_assert(sizeof(struct ghost) == 40, "what a ghost costs is stated");

/* Buckets below the one to be split next have been split, so they tell by one bit more. */
static inline uint32_t bucket_at(const struct ghosts *g, uint32_t hash) {
    uint32_t b = hash & (2 * g->half - 1);
    return b < g->buckets ? b : hash & (g->half - 1);
}

static inline uint32_t bucket_of(const struct ghosts *g, struct cache_key key) {
    return bucket_at(g, (uint32_t)cache_key_hash(key));
}

static uint32_t *grown(uint32_t *at, uint32_t *cap, uint32_t need) {
    if (need <= *cap) return at;
    *cap += *cap / 8 + PIECE;
    return mem_realloc(at, *cap * sizeof *at);
}

/* The bucket whose number is the new one's less its highest bit is shared between the two. */
static void bucket_split(struct ghosts *g) {
    if (g->buckets == 2 * g->half) g->half *= 2;
    g->bucket = grown(g->bucket, &g->bucket_cap, g->buckets + 1);
    uint32_t i = g->bucket[g->buckets - g->half];
    g->bucket[g->buckets - g->half] = g->bucket[g->buckets] = NONE;
    g->buckets++;
    while (i != NONE) {
        uint32_t next = g->at[i].chain, *to = &g->bucket[bucket_of(g, g->at[i].key)];
        g->at[i].chain = *to;
        *to = i;
        i = next;
    }
}

static uint32_t slot_take(struct ghosts *g) {
    uint32_t i = g->free;
    if (i != NONE) {
        g->free = g->at[i].chain;
        return i;
    }
    if (g->top == g->cap) {
        g->cap += g->cap / 8 + PIECE;
        g->at = mem_realloc(g->at, g->cap * sizeof *g->at);
        mem_scattered(g->at, g->cap * sizeof *g->at);
    }
    return g->top++;
}

static void ghost_forget(struct ghosts *g, uint32_t i) {
    struct ghost *x = &g->at[i];
    struct ghost_list *l = &g->list[x->list];
    uint32_t *link = &g->bucket[bucket_of(g, x->key)];
    if (g->found == i) g->found = NONE;
    while (*link != i) link = &g->at[*link].chain;
    *link = x->chain;
    *(x->older == NONE ? &l->oldest : &g->at[x->older].newer) = x->newer;
    *(x->newer == NONE ? &l->newest : &g->at[x->newer].older) = x->older;
    l->bytes -= x->bytes;
    l->count--;
    x->chain = g->free;
    g->free = i;
}

static uint32_t bucket_find(const struct ghosts *g, uint32_t bucket, struct cache_key key) {
    uint32_t i = g->bucket[bucket];
    while (i != NONE && !cache_key_equal(g->at[i].key, key)) i = g->at[i].chain;
    return i;
}

/* The key that was asked for last is remembered with the answer, as policies ask for one several times. */
static uint32_t ghost_at(struct ghosts *g, struct cache_key key) {
    if (cache_key_equal(g->asked, key)) return g->found;
    g->asked = key;
    g->found = bucket_find(g, bucket_of(g, key), key);
    return g->found;
}

void ghosts_open(struct ghosts *g, uint32_t most) {
    *g = (struct ghosts){.free = NONE, .most = most, .buckets = 1, .half = 1, .found = NONE};
    for (int l = 0; l < GHOST_LISTS; l++) g->list[l] = (struct ghost_list){.oldest = NONE, .newest = NONE};
    g->bucket = grown(NULL, &g->bucket_cap, 1);
    g->bucket[0] = NONE;
}

void ghosts_close(struct ghosts *g) {
    free(g->at);
    free(g->bucket);
}

int ghosts_find(struct ghosts *g, struct cache_key key, uint64_t *bytes) {
    if (ghosts_count(g) == 0) return -1;
    uint32_t i = ghost_at(g, key);
    if (i == NONE) return -1;
    if (bytes) *bytes = g->at[i].bytes;
    return (int)g->at[i].list;
}

bool ghosts_remove(struct ghosts *g, struct cache_key key) {
    if (ghosts_count(g) == 0) return false;
    uint32_t i = ghost_at(g, key);
    if (i != NONE) ghost_forget(g, i);
    return i != NONE;
}

void ghosts_add(struct ghosts *g, struct cache_key key, uint64_t bytes, int list) {
    uint32_t hash = (uint32_t)cache_key_hash(key), known = bucket_find(g, bucket_at(g, hash), key);
    if (known != NONE) ghost_forget(g, known);
    uint64_t count = ghosts_count(g);
    if (count >= g->most) ghost_forget(g, g->list[g->list[list].count ? list : !list].oldest);
    uint32_t i = slot_take(g);
    struct ghost_list *l = &g->list[list];
    if (count >= g->buckets) bucket_split(g);
    uint32_t *bucket = &g->bucket[bucket_at(g, hash)];
    g->at[i] = (struct ghost){.key = key,
                              .bytes = bytes,
                              .list = (uint32_t)list,
                              .older = l->newest,
                              .newer = NONE,
                              .chain = *bucket};
    *bucket = i;
    *(l->newest == NONE ? &l->oldest : &g->at[l->newest].newer) = i;
    l->newest = i;
    l->bytes += bytes;
    l->count++;
    if (cache_key_equal(g->asked, key)) g->found = i;
}

void ghosts_cut(struct ghosts *g, int list, uint64_t bytes) {
    while (g->list[list].bytes > bytes) ghost_forget(g, g->list[list].oldest);
}

bool ghosts_check(const struct ghosts *g) {
    uint64_t all = 0, chained = 0;
    for (int l = 0; l < GHOST_LISTS; l++) {
        uint64_t bytes = 0, count = 0;
        uint32_t last = NONE;
        for (uint32_t i = g->list[l].oldest; i != NONE; last = i, i = g->at[i].newer) {
            if (++count > g->list[l].count || g->at[i].older != last || g->at[i].list != (unsigned)l)
                return false;
            if (bucket_find(g, bucket_of(g, g->at[i].key), g->at[i].key) != i) return false;
            bytes += g->at[i].bytes;
        }
        if (count != g->list[l].count || bytes != g->list[l].bytes || last != g->list[l].newest) return false;
        all += count;
    }
    if (g->found != bucket_find(g, bucket_of(g, g->asked), g->asked)) return false;
    for (uint32_t b = 0; b < g->buckets; b++) {
        for (uint32_t i = g->bucket[b]; i != NONE && chained <= all; i = g->at[i].chain) chained++;
    }
    return chained == all && all <= g->most;
}

size_t ghosts_memory(const struct ghosts *g) {
    return g->cap * sizeof *g->at + g->bucket_cap * sizeof *g->bucket;
}
