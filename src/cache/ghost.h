/* The memory of policies and of admission: keys that were in the cache or were asked for, with their sizes,
 * in up to two queues from oldest to newest. The number of keys is bounded at the opening; policies also
 * bound the bytes of a queue. At most 60 bytes a key. Grows in small steps, so no call is long. Caller's
 * lock. */
#ifndef KVF_CACHE_GHOST_H
#define KVF_CACHE_GHOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/key.h"

/* A policy remembers no more keys than this, whatever their bytes: 256 MiB at most. */
#define GHOSTS_MAX  (UINT32_C(1) << 22)
#define GHOST_LISTS 2
/* Keys on their way into a tier of which a policy remembers what it learned when room was made for them. */
#define GHOSTS_BACK (UINT32_C(1) << 12)

struct ghost;
struct ghost_link;
struct ghost_list {
    uint32_t oldest, newest;
    uint64_t bytes, count;
};
struct ghosts {
    struct ghost *at;
    struct ghost_link *link;            /* by ghost */
    uint32_t cap, top, free, most;      /* top: first never used; free: head of the free list */
    uint32_t *bucket;                   /* linear hashing: two buckets more with each ghost more */
    uint32_t buckets, bucket_cap, half; /* half: the highest power of two that is no more than buckets */
    struct ghost_list list[GHOST_LISTS];
    struct cache_key asked; /* the key looked up last */
    uint32_t found;         /* where it is now, or nowhere */
};

void ghosts_open(struct ghosts *g, uint32_t most); /* `most` keys in both queues together */
void ghosts_close(struct ghosts *g);               /* takes a zeroed one */
/* The queue that has the key, -1: none. *bytes (may be NULL) is the size of its entry. */
int ghosts_find(struct ghosts *g, struct cache_key key, uint64_t *bytes);
/* Makes the key the newest of a queue, wherever it was. When there are too many, the oldest of that queue is
 * forgotten first, or of the other where that one is empty. */
void ghosts_add(struct ghosts *g, struct cache_key key, uint64_t bytes, int list);
/* The same of a key that is in neither queue. */
void ghosts_add_new(struct ghosts *g, struct cache_key key, uint64_t bytes, int list);
bool ghosts_remove(struct ghosts *g, struct cache_key key);  /* whether it was there */
void ghosts_cut(struct ghosts *g, int list, uint64_t bytes); /* see ghosts_trim */
bool ghosts_check(const struct ghosts *g);    /* walks everything: whether the structure is sound */
size_t ghosts_memory(const struct ghosts *g); /* bytes allocated */

static inline uint64_t ghosts_bytes(const struct ghosts *g, int list) {
    return g->list[list].bytes;
}
static inline uint64_t ghosts_count(const struct ghosts *g) {
    return g->list[0].count + g->list[1].count;
}
/* Forgets the oldest keys of a queue until it has at most so many bytes. */
static inline void ghosts_trim(struct ghosts *g, int list, uint64_t bytes) {
    if (g->list[list].bytes > bytes) ghosts_cut(g, list, bytes);
}

#endif
