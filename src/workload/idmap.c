#include "workload/idmap.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/hash.h"

static inline struct idmap_slot *slot_of(const struct idmap *m, uint64_t key) {
    uint64_t i = hash_mix64(key) & (m->slots - 1);
    while (m->slot[i].value && m->slot[i].key != key) i = (i + 1) & (m->slots - 1);
    return &m->slot[i];
}

static void grow(struct idmap *m) {
    struct idmap old = *m;
    m->slots = old.slots ? 2 * old.slots : 1024;
    m->slot = mem_zalloc(m->slots, sizeof *m->slot);
    for (uint64_t i = 0; i < old.slots; i++)
        if (old.slot[i].value) *slot_of(m, old.slot[i].key) = old.slot[i];
    free(old.slot);
}

uint64_t *idmap_at(struct idmap *m, uint64_t key) {
    if (2 * m->count >= m->slots) grow(m);
    struct idmap_slot *s = slot_of(m, key);
    if (s->value == 0) {
        s->key = key;
        m->count++;
    }
    return &s->value;
}

uint64_t idmap_get(const struct idmap *m, uint64_t key) {
    return m->slots ? slot_of(m, key)->value : 0;
}

void idmap_prefetch(const struct idmap *m, uint64_t key) {
    if (m->slots) __builtin_prefetch(&m->slot[hash_mix64(key) & (m->slots - 1)]);
}

/* Entries behind the gap that a search would no longer reach move into it. */
uint64_t idmap_remove(struct idmap *m, uint64_t key) {
    struct idmap_slot *gone = m->slots ? slot_of(m, key) : NULL;
    uint64_t value = gone ? gone->value : 0;
    if (value == 0) return 0;
    uint64_t mask = m->slots - 1, gap = (uint64_t)(gone - m->slot);
    for (uint64_t i = (gap + 1) & mask; m->slot[i].value; i = (i + 1) & mask) {
        uint64_t home = hash_mix64(m->slot[i].key) & mask;
        if (((i - home) & mask) < ((i - gap) & mask)) continue;
        m->slot[gap] = m->slot[i];
        gap = i;
    }
    m->slot[gap].value = 0;
    m->count--;
    return value;
}

void idmap_free(struct idmap *m) {
    free(m->slot);
    memset(m, 0, sizeof *m);
}
