#include "cache/ghost.h"

#include <stdlib.h>

#include "base/buf.h"

#define NONE UINT32_MAX

enum { PIECE = 1024 };

struct ghost {
    struct cache_key key;
    uint64_t bytes : 63;
    uint64_t list : 1;
    uint32_t older, newer;
};
/* Beside the ghosts, so that the search for a key reads none but its own. */
struct ghost_link {
    uint32_t hash;
    uint32_t next; /* of its bucket, or of the free list */
};
_Static_assert(sizeof(struct ghost) + sizeof(struct ghost_link) == 40, "what a ghost costs is stated");

/* Two words from registers: copied as a whole a key passes through the stack, where gcc writes it in halves
 * and reads it in one, which no processor forwards. */
static void key_set(struct cache_key *to, struct cache_key key) {
    uint64_t hi = key.hi, lo = key.lo;
    __asm__("" : "+r"(hi), "+r"(lo));
    to->hi = hi;
    to->lo = lo;
}

static uint32_t hash_of(struct cache_key key) {
    return (uint32_t)cache_key_hash(key);
}

/* Buckets below the one to be split next have been split, so they tell by one bit more. */
static uint32_t *bucket_of(const struct ghosts *g, uint32_t hash) {
    uint32_t b = hash & (2 * g->half - 1);
    return &g->bucket[b < g->buckets ? b : hash & (g->half - 1)];
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
        uint32_t next = g->link[i].next, *to = bucket_of(g, g->link[i].hash);
        g->link[i].next = *to;
        *to = i;
        i = next;
    }
}

static uint32_t slot_take(struct ghosts *g) {
    uint32_t i = g->free;
    if (i != NONE) {
        g->free = g->link[i].next;
        return i;
    }
    if (g->top == g->cap) {
        g->cap += g->cap / 8 + PIECE;
        g->at = mem_realloc(g->at, g->cap * sizeof *g->at);
        g->link = mem_realloc(g->link, g->cap * sizeof *g->link);
        mem_scattered(g->at, g->cap * sizeof *g->at);
        mem_scattered(g->link, g->cap * sizeof *g->link);
    }
    return g->top++;
}

static void ghost_forget(struct ghosts *g, uint32_t i) {
    struct ghost *x = &g->at[i];
    struct ghost_list *l = &g->list[x->list];
    uint32_t *link = bucket_of(g, g->link[i].hash);
    if (g->found == i) g->found = NONE;
    while (*link != i) link = &g->link[*link].next;
    *link = g->link[i].next;
    *(x->older == NONE ? &l->oldest : &g->at[x->older].newer) = x->newer;
    *(x->newer == NONE ? &l->newest : &g->at[x->newer].older) = x->older;
    l->bytes -= x->bytes;
    l->count--;
    g->link[i].next = g->free;
    g->free = i;
}

static uint32_t ghost_at(const struct ghosts *g, struct cache_key key, uint32_t hash) {
    uint32_t i = *bucket_of(g, hash);
    while (i != NONE && (g->link[i].hash != hash || !cache_key_equal(g->at[i].key, key))) i = g->link[i].next;
    return i;
}

/* The key that was asked for last is remembered with the answer, as policies ask for one several times. */
static uint32_t ghost_asked(struct ghosts *g, struct cache_key key) {
    if (cache_key_equal(g->asked, key)) return g->found;
    key_set(&g->asked, key);
    g->found = ghost_at(g, key, hash_of(key));
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
    free(g->link);
    free(g->bucket);
}

int ghosts_find(struct ghosts *g, struct cache_key key, uint64_t *bytes) {
    if (ghosts_count(g) == 0) return -1;
    uint32_t i = ghost_asked(g, key);
    if (i == NONE) return -1;
    if (bytes) *bytes = g->at[i].bytes;
    return (int)g->at[i].list;
}

bool ghosts_remove(struct ghosts *g, struct cache_key key) {
    if (ghosts_count(g) == 0) return false;
    uint32_t i = ghost_asked(g, key);
    if (i != NONE) ghost_forget(g, i);
    return i != NONE;
}

void ghosts_add_new(struct ghosts *g, struct cache_key key, uint64_t bytes, int list) {
    uint64_t count = ghosts_count(g);
    uint32_t hash = hash_of(key);
    if (count >= g->most) ghost_forget(g, g->list[g->list[list].count ? list : !list].oldest);
    uint32_t i = slot_take(g);
    struct ghost_list *l = &g->list[list];
    while (2 * count >= g->buckets) bucket_split(g);
    uint32_t *bucket = bucket_of(g, hash);
    struct ghost *x = &g->at[i];
    key_set(&x->key, key);
    x->bytes = bytes & (UINT64_MAX >> 1);
    x->list = (unsigned)list & 1;
    x->older = l->newest;
    x->newer = NONE;
    g->link[i] = (struct ghost_link){hash, *bucket};
    *bucket = i;
    *(l->newest == NONE ? &l->oldest : &g->at[l->newest].newer) = i;
    l->newest = i;
    l->bytes += bytes;
    l->count++;
    if (cache_key_equal(g->asked, key)) g->found = i;
}

void ghosts_add(struct ghosts *g, struct cache_key key, uint64_t bytes, int list) {
    (void)ghosts_remove(g, key);
    ghosts_add_new(g, key, bytes, list);
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
            if (ghost_at(g, g->at[i].key, hash_of(g->at[i].key)) != i) return false;
            bytes += g->at[i].bytes;
        }
        if (count != g->list[l].count || bytes != g->list[l].bytes || last != g->list[l].newest) return false;
        all += count;
    }
    if (g->found != ghost_at(g, g->asked, hash_of(g->asked))) return false;
    for (uint32_t b = 0; b < g->buckets; b++) {
        for (uint32_t i = g->bucket[b]; i != NONE && chained <= all; i = g->link[i].next) chained++;
    }
    return chained == all && all <= g->most;
}

size_t ghosts_memory(const struct ghosts *g) {
    return g->cap * (sizeof *g->at + sizeof *g->link) + g->bucket_cap * sizeof *g->bucket;
}
