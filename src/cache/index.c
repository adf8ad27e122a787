#include "cache/index.h"

#include <stdlib.h>

#include "base/buf.h"

/* Slots moved with each insertion: enough to be done long before the next growth. */
enum { SLOTS_FIRST = 1024, SLOTS_MOVED = 8 };
/* Up to here half of the slots stay free, not a fifth: searches stop sooner, and 256 KiB are little. */
enum { SLOTS_SPARSE = 1 << 15 };

static uint32_t hash_of(struct cache_key key) {
    return (uint32_t)cache_key_hash(key);
}

static struct index_table table_make(uint32_t slots) {
    struct index_table t = {.slots = mem_zalloc(slots, sizeof(struct index_slot)), .mask = slots - 1};
    mem_scattered(t.slots, slots * sizeof *t.slots);
    return t;
}

static void table_put(struct index_table *t, struct index_slot slot) {
    uint32_t i = slot.hash & t->mask;
    while (t->slots[i].entry) i = (i + 1) & t->mask;
    t->slots[i] = slot;
    t->count++;
}

/* Empties slot i and closes the gap, so that no search stops before its key. */
static void table_take(struct index_table *t, uint32_t i) {
    for (uint32_t j = (i + 1) & t->mask; t->slots[j].entry; j = (j + 1) & t->mask) {
        uint32_t home = t->slots[j].hash & t->mask;
        if (((j - home) & t->mask) >= ((j - i) & t->mask)) {
            t->slots[i] = t->slots[j];
            i = j;
        }
    }
    t->slots[i].entry = 0;
    t->count--;
}

static inline bool entry_has(const struct index *ix, const struct entry *e, struct cache_key key) {
    if (!extent_is(e)) return cache_key_equal(e->key, key);
    return e->key.hi == key.hi && (key.lo - e->key.lo) * (uint64_t)ix->step < e->blocks;
}

static uint32_t table_find(const struct index *ix, const struct index_table *t, struct cache_key key,
                           uint32_t hash) {
    if (t->count == 0) return ENTRY_NONE;
    for (uint32_t i = hash & t->mask; t->slots[i].entry; i = (i + 1) & t->mask) {
        if (t->slots[i].hash != hash) continue;
        uint32_t entry = t->slots[i].entry - 1;
        /* A found entry is mostly touched next: both misses at the price of one. */
        __builtin_prefetch(&ix->entries->nodes[entry], 1);
        if (entry_has(ix, entry_at(ix->entries, entry), key)) return entry;
    }
    return ENTRY_NONE;
}

/* A search for all of a key ends at the first empty slot, as one for a key that is not there. */
static unsigned table_find_all(const struct index *ix, const struct index_table *t, struct cache_key key,
                               uint32_t hash, uint32_t entries[KVF_TIERS], unsigned n) {
    if (t->count == 0) return n;
    for (uint32_t i = hash & t->mask; t->slots[i].entry && n < KVF_TIERS; i = (i + 1) & t->mask) {
        uint32_t entry = t->slots[i].entry - 1;
        if (t->slots[i].hash == hash && cache_key_equal(entry_at(ix->entries, entry)->key, key))
            entries[n++] = entry;
    }
    return n;
}

static bool table_remove(struct index_table *t, uint32_t entry, uint32_t hash) {
    if (t->count == 0) return false;
    for (uint32_t i = hash & t->mask; t->slots[i].entry; i = (i + 1) & t->mask) {
        if (t->slots[i].entry == entry + 1) {
            table_take(t, i);
            return true;
        }
    }
    return false;
}

static void old_drop(struct index *ix) {
    free(ix->old.slots);
    ix->old = (struct index_table){0};
}

/* Taking a slot pulls a later one into it, so the cursor stays until its slot is empty. */
static void old_move(struct index *ix, int slots) {
    while (ix->old.count && slots-- > 0) {
        while (ix->old.slots[ix->cursor].entry) {
            table_put(&ix->now, ix->old.slots[ix->cursor]);
            table_take(&ix->old, ix->cursor);
        }
        ix->cursor++;
    }
    if (ix->old.slots && ix->old.count == 0) old_drop(ix);
}

void index_init(struct index *ix, const struct entry_pool *entries) {
    *ix = (struct index){.entries = entries, .now = table_make(SLOTS_FIRST)};
}

void index_close(struct index *ix) {
    old_drop(ix);
    free(ix->now.slots);
    ix->now = (struct index_table){0};
}

uint32_t index_find(const struct index *ix, struct cache_key key) {
    uint32_t hash = hash_of(key);
    uint32_t entry = table_find(ix, &ix->now, key, hash);
    return entry == ENTRY_NONE ? table_find(ix, &ix->old, key, hash) : entry;
}

unsigned index_find_all(const struct index *ix, struct cache_key key, uint32_t entries[KVF_TIERS]) {
    uint32_t hash = hash_of(key);
    unsigned n = table_find_all(ix, &ix->now, key, hash, entries, 0);
    return table_find_all(ix, &ix->old, key, hash, entries, n);
}

void index_insert(struct index *ix, uint32_t entry) {
    old_move(ix, SLOTS_MOVED);
    uint32_t slots = ix->now.mask + 1;
    if (ix->now.count >= (slots <= SLOTS_SPARSE ? slots / 2 : slots / 5 * 4)) {
        old_move(ix, INT32_MAX);
        ix->old = ix->now;
        ix->now = table_make(2 * slots);
        ix->cursor = 0;
    }
    table_put(&ix->now, (struct index_slot){hash_of(entry_at(ix->entries, entry)->key), entry + 1});
}

void index_remove(struct index *ix, uint32_t entry) {
    uint32_t hash = hash_of(entry_at(ix->entries, entry)->key);
    if (!table_remove(&ix->now, entry, hash)) table_remove(&ix->old, entry, hash);
}

static bool table_rename(struct index_table *t, uint32_t hash, uint32_t from, uint32_t to) {
    if (t->count == 0) return false;
    uint32_t i = hash & t->mask;
    while (t->slots[i].entry && (t->slots[i].hash != hash || t->slots[i].entry != from + 1))
        i = (i + 1) & t->mask;
    if (!t->slots[i].entry) return false;
    t->slots[i].entry = to + 1;
    return true;
}

/* Keys of one extent with one hash have slots that are alike. */
void index_rename(struct index *ix, struct cache_key key, uint32_t from, uint32_t to) {
    uint32_t hash = hash_of(key);
    if (!table_rename(&ix->now, hash, from, to)) table_rename(&ix->old, hash, from, to);
}

size_t index_bytes(const struct index *ix) {
    size_t slots =
        (ix->now.slots ? ix->now.mask + (size_t)1 : 0) + (ix->old.slots ? ix->old.mask + (size_t)1 : 0);
    return slots * sizeof(struct index_slot);
}
