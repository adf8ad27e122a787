/* The rule that admits new entries to the cache: always; on the second write (second_hit), that is when the
 * key is among those refused last, so that a key wanted once leaves no trace; or up to a size. Knows keys and
 * sizes, nothing of tiers. Caller's lock. */
#ifndef KVF_CACHE_ADMISSION_H
#define KVF_CACHE_ADMISSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/ghost.h"
#include "scenario/scenario.h"

/* Keys that second_hit remembers; the oldest is forgotten first. 60 MiB at most. */
#define ADMISSION_KEYS (UINT32_C(1) << 20)

struct admission {
    enum scenario_admission rule;
    uint64_t limit_bytes; /* of size_limit */
    struct ghosts seen;   /* of second_hit */
};

/* `limit_bytes` is for size_limit; `keys` (ADMISSION_KEYS but in tests) is what second_hit remembers. */
void admission_open(struct admission *a, enum scenario_admission rule, uint64_t limit_bytes, uint32_t keys);
void admission_close(struct admission *a); /* takes a zeroed one */
/* Whether an entry may be written; remembers its key if not. */
bool admission_ask(struct admission *a, struct cache_key key, uint64_t bytes);

#endif
