#include "record/newest.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "base/mem.h"

enum { WORD = sizeof(uint64_t) };

/* Version v, from 1, lies in the copy v % 2 once `version` has reached v. The writer writes v + 1 into the
 * other copy, so a reader of v is disturbed only by v + 2, which begins after `version` became v + 1. Words
 * are stored with release and loaded with acquire: who reads a word of v + 2 therefore also sees that
 * `version` is no longer v, and reads again. */
struct newest {
    _Atomic uint64_t version;
    size_t len, words;     /* of one copy */
    _Atomic uint64_t at[]; /* both, one behind the other */
};

static size_t newest_bytes(size_t words) {
    return sizeof(struct newest) + 2 * words * WORD;
}

struct newest *newest_new(size_t len) {
    size_t words = (len + WORD - 1) / WORD;
    struct newest *n =
        mmap(NULL, newest_bytes(words), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (n == MAP_FAILED) mem_exhausted(newest_bytes(words));
    n->len = len;
    n->words = words;
    return n;
}

void newest_free(struct newest *n) {
    if (n) (void)munmap(n, newest_bytes(n->words));
}

static size_t word_len(const struct newest *n, size_t i) {
    return i + 1 < n->words ? (size_t)WORD : n->len - (n->words - 1) * (size_t)WORD;
}

void newest_put(struct newest *n, const void *value) {
    uint64_t version = atomic_load_explicit(&n->version, memory_order_relaxed) + 1;
    _Atomic uint64_t *copy = n->at + version % 2 * n->words;

    for (size_t i = 0; i < n->words; i++) {
        uint64_t word = 0;
        memcpy(&word, (const char *)value + i * WORD, word_len(n, i));
        atomic_store_explicit(&copy[i], word, memory_order_release);
    }
    atomic_store_explicit(&n->version, version, memory_order_release);
}

bool newest_get(struct newest *n, void *out, uint64_t *version) {
    uint64_t now = atomic_load_explicit(&n->version, memory_order_acquire);
    uint64_t taken;

    if (now == 0 || now == *version) return false;
    do {
        taken = now;
        const _Atomic uint64_t *copy = n->at + taken % 2 * n->words;
        for (size_t i = 0; i < n->words; i++) {
            uint64_t word = atomic_load_explicit(&copy[i], memory_order_acquire);
            memcpy((char *)out + i * WORD, &word, word_len(n, i));
        }
        now = atomic_load_explicit(&n->version, memory_order_acquire);
    } while (now != taken);
    *version = taken;
    return true;
}

uint64_t newest_version(const struct newest *n) {
    return atomic_load_explicit(&n->version, memory_order_acquire);
}
