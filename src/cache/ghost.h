/* Keys that have been in the cache, or were asked for, and how large they were, in up to two queues
 * from the oldest to the newest: what policies and admission remember. Bounded by a number of keys
 * that is given at the opening; policies bound the bytes of a queue too. At most 60 bytes for each.
 * Grows in small pieces, so that no call is long. One caller at a time. */
#ifndef KVF_CACHE_GHOST_H
#define KVF_CACHE_GHOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/key.h"

/* A policy remembers no more keys than this, whatever their bytes: 256 MiB at most. */
#define GHOSTS_MAX  (UINT32_C(1) << 22)
#define GHOST_LISTS 2
/* Entries on their way into a tier of which a policy knows something from when room was made for them. */
#define GHOSTS_BACK (UINT32_C(1) << 12)

struct ghost;
struct ghost_list {
    uint32_t oldest, newest;
    uint64_t bytes, count;
};
struct ghosts {
    struct ghost *at;
    uint32_t cap, top, free, most;      /* top: first never used; free: head of the free list */
    uint32_t *bucket;                   /* linear hashing: one bucket more with each ghost more */
    uint32_t buckets, bucket_cap, half; /* half: the highest power of two that is no more than buckets */
    struct ghost_list list[GHOST_LISTS];
};

void ghosts_open(struct ghosts *g, uint32_t most);
void ghosts_close(struct ghosts *g);
/* The queue that has the key, -1: none. bytes, unless NULL: of the entry that it was. */
int ghosts_find(const struct ghosts *g, struct cache_key key, uint64_t *bytes);
/* As the newest of a queue, wherever it was. When there are too many the oldest of that queue, or
 * of the other where it is empty, is forgotten first. */
void ghosts_add(struct ghosts *g, struct cache_key key, uint64_t bytes, int list);
bool ghosts_remove(struct ghosts *g, struct cache_key key); /* whether it was there */
/* Forgets the oldest of a queue until it has so many bytes at most. */
void ghosts_trim(struct ghosts *g, int list, uint64_t bytes);
bool ghosts_check(const struct ghosts *g);
size_t ghosts_memory(const struct ghosts *g);

static inline uint64_t ghosts_bytes(const struct ghosts *g, int list) {
    return g->list[list].bytes;
}

#endif
