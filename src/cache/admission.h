/* Which new entries are let into the cache: always; on the second write (second_hit), when the key is
 * among those that were last turned away, so that what is wanted once leaves no trace; or up to a size.
 * Knows keys and sizes, nothing of tiers. Caller's lock. */
#ifndef KVF_CACHE_ADMISSION_H
#define KVF_CACHE_ADMISSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/ghost.h"
#include "scenario/scenario.h"

/* As many keys are remembered by second_hit, the oldest forgotten first: 60 MiB at most. */
#define ADMISSION_KEYS (UINT32_C(1) << 20)

struct admission {
    enum scenario_admission rule;
    uint64_t limit_bytes; /* of size_limit */
    struct ghosts seen;   /* of second_hit */
};

void admission_open(struct admission *a, enum scenario_admission rule, uint64_t limit_bytes, uint32_t keys);
void admission_close(struct admission *a);
/* Whether an entry may be written; remembers it if not. */
bool admission_ask(struct admission *a, struct cache_key key, uint64_t bytes);

#endif
