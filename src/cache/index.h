/* From key to entry, or to the extent that has it: an open-addressing hash table with linear probing. It
 * keeps 32 bits of the hash per slot and compares keys exactly in the entries themselves. Growing moves a few
 * slots with each insertion, so that no call is long. Caller's lock. */
#ifndef KVF_CACHE_INDEX_H
#define KVF_CACHE_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "cache/key.h"
#include "cache/pool.h"

struct index_slot {
    uint32_t hash;
    uint32_t entry; /* its number plus one; 0 empty */
};
struct index_table {
    struct index_slot *slots;
    uint32_t mask;  /* slots - 1 */
    uint32_t count; /* of them taken */
};
struct index {
    const struct entry_pool *entries;
    struct index_table now, old; /* old: being emptied into now, no slots when it is empty */
    uint32_t cursor;             /* all slots of old before it are empty */
    int step;                    /* of the keys of an extent, 1 or -1; 0: there are none */
};

void index_init(struct index *ix, const struct entry_pool *entries); /* empty; `entries` outlives it */
void index_close(struct index *ix);                                  /* frees its slots */
uint32_t index_find(const struct index *ix, struct cache_key key); /* an entry of the key; ENTRY_NONE: none */
/* Prefetches the slot of a key that is looked up, inserted or removed soon. */
static inline void index_soon(const struct index *ix, struct cache_key key) {
    mem_soon(&ix->now.slots[(uint32_t)cache_key_hash(key) & ix->now.mask]);
}
/* All entries of a key, at most one a tier; returns their number. */
unsigned index_find_all(const struct index *ix, struct cache_key key, uint32_t entries[KVF_TIERS]);
void index_insert(struct index *ix, uint32_t entry); /* must have its key, and not be in the index */
void index_remove(struct index *ix, uint32_t entry); /* must be in the index */
/* The key, in the index as `from`, is found as `to` from now on. */
void index_rename(struct index *ix, struct cache_key key, uint32_t from, uint32_t to);
static inline uint32_t index_count(const struct index *ix) {
    return ix->now.count + ix->old.count;
}
size_t index_bytes(const struct index *ix); /* allocated */

#endif
