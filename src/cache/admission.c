#include "cache/admission.h"

void admission_open(struct admission *a, enum scenario_admission rule, uint64_t limit_bytes, uint32_t keys) {
    *a = (struct admission){.rule = rule, .limit_bytes = limit_bytes};
    ghosts_open(&a->seen, keys);
}

void admission_close(struct admission *a) {
    ghosts_close(&a->seen);
}

/* An admitted key is forgotten: after it has left the cache, it starts anew. */
static bool seen_before(struct admission *a, struct cache_key key) {
    if (ghosts_remove(&a->seen, key)) return true;
    ghosts_add(&a->seen, key, 0, 0);
    return false;
}

bool admission_ask(struct admission *a, struct cache_key key, uint64_t bytes) {
    switch (a->rule) {
    case KVF_ADMISSION_SECOND_HIT:
        return seen_before(a, key);
    case KVF_ADMISSION_SIZE_LIMIT:
        return bytes <= a->limit_bytes;
    default:
        return true;
    }
}
