/* Identity of an entry. It is exact, so two entries are never confused, except for names of more than 15
 * bytes, of which it keeps 120 bits of hash. Pure; any thread. */
#ifndef KVF_CACHE_KEY_H
#define KVF_CACHE_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

/* hi = kind (8 bits) | owner (56 bits), lo = index. */
enum cache_key_kind {
    CACHE_KEY_TURN = 1,     /* owner conversation, index turn */
    CACHE_KEY_PROMPT,       /* owner 0, index shared prompt */
    CACHE_KEY_BLOCK,        /* owner conversation, index block */
    CACHE_KEY_PROMPT_BLOCK, /* owner shared prompt, index block */
    CACHE_KEY_TRACE,        /* owner replay cycle, index the trace's id */
    CACHE_KEY_STORED,       /* owner user, index entry; written before a decode-only run */
    CACHE_KEY_CHUNK,        /* owner document, index chunk (RAG) */
    CACHE_KEY_TEXT,         /* up to 15 bytes of text packed into the other 120 bits */
    CACHE_KEY_FILL,         /* owner 0, index entry; fills a tier before the clock */
    CACHE_KEY_HASH          /* longer text: 120 bits of its hash */
};

struct cache_key {
    uint64_t hi, lo;
};

static inline struct cache_key cache_key_make(enum cache_key_kind kind, uint64_t owner, uint64_t index) {
    return (struct cache_key){((uint64_t)kind << 56) | (owner & ((UINT64_C(1) << 56) - 1)), index};
}
static inline bool cache_key_equal(struct cache_key a, struct cache_key b) {
    return a.hi == b.hi && a.lo == b.lo;
}
static inline uint64_t cache_key_hash(struct cache_key k) {
    return hash_mix64(k.lo ^ hash_mix64(k.hi));
}
static inline enum cache_key_kind cache_key_kind(struct cache_key k) {
    return (enum cache_key_kind)(k.hi >> 56);
}

/* Whether the key is of a shared prompt, whose content is the same in every run of one seed. */
static inline bool cache_key_of_prompt(struct cache_key k) {
    return cache_key_kind(k) == CACHE_KEY_PROMPT || cache_key_kind(k) == CACHE_KEY_PROMPT_BLOCK;
}

/* Parses the key column of an ops file: a key as cache_key_text() prints it ("3/4" is a TURN), else a TEXT or
 * HASH. 0, or -1 for an empty text. */
int cache_key_parse(const char *text, struct cache_key *key);
/* Prints a key for people and traces: "12" for TRACE of the first cycle, "12@3" of a later one, "owner/index"
 * for TURN and BLOCK, "prompt-2", "prompt-2/7", "stored-5/1", "doc-3/2", "fill-7", the text itself, "#" and
 * 30 digits for HASH. Parsing it gives the key back, except for BLOCK and FILL. At most 48 bytes with NUL. */
enum { CACHE_KEY_TEXT_MAX = 48 };
char *cache_key_text(struct cache_key key, char *buf, size_t len);

#endif
