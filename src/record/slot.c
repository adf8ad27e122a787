#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "record/publish.h"

enum { WORD = sizeof(uint64_t), WORDS = (sizeof(struct snapshot) + WORD - 1) / WORD };

/* Version v, from 1, lies in copy[v % 2] once `version` has reached v. The sampler writes v + 1 into
 * the other copy, so a reader of v is disturbed only by v + 2, which begins after `version` became
 * v + 1. Words are stored with release and loaded with acquire: who reads a word of v + 2 therefore
 * also sees that `version` is no longer v, and reads again. */
struct slot {
    _Atomic uint64_t version;
    _Atomic uint64_t copy[2][WORDS];
};

struct slot *slot_new(void) {
    return mem_zalloc(1, sizeof(struct slot));
}

void slot_free(struct slot *s) {
    free(s);
}

static size_t word_len(size_t i) {
    return i + 1 < WORDS ? (size_t)WORD : sizeof(struct snapshot) - (WORDS - 1) * (size_t)WORD;
}

void slot_put(struct slot *s, const struct snapshot *snap) {
    uint64_t version = atomic_load_explicit(&s->version, memory_order_relaxed) + 1;
    _Atomic uint64_t *copy = s->copy[version % 2];

    for (size_t i = 0; i < WORDS; i++) {
        uint64_t word = 0;
        memcpy(&word, (const char *)snap + i * WORD, word_len(i));
        atomic_store_explicit(&copy[i], word, memory_order_release);
    }
    atomic_store_explicit(&s->version, version, memory_order_release);
}

bool slot_get(struct slot *s, struct snapshot *out, uint64_t *version) {
    uint64_t newest = atomic_load_explicit(&s->version, memory_order_acquire);
    uint64_t taken;

    if (newest == 0 || newest == *version) return false;
    do {
        taken = newest;
        const _Atomic uint64_t *copy = s->copy[taken % 2];
        for (size_t i = 0; i < WORDS; i++) {
            uint64_t word = atomic_load_explicit(&copy[i], memory_order_acquire);
            memcpy((char *)out + i * WORD, &word, word_len(i));
        }
        newest = atomic_load_explicit(&s->version, memory_order_acquire);
    } while (newest != taken);
    *version = taken;
    return true;
}
