#include "cache/policy.h"

#include <stddef.h>
#include <string.h>

static const struct policy_ops *const policies[] = {
    &policy_lru,    &policy_fifo, &policy_clock,    &policy_lfu,     &policy_slru,
    &policy_twoq,   &policy_arc,  &policy_s3fifo,   &policy_sieve,   &policy_gdsf,
    &policy_belady, &policy_ttl,  &policy_priority, &policy_leaf_lru};

const struct policy_ops *policy_find(enum scenario_eviction id) {
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        if (policies[i]->id == id) return policies[i];
    }
    return NULL;
}

const struct policy_ops *policy_named(const char *name) {
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        if (strcmp(policies[i]->name, name) == 0) return policies[i];
    }
    return NULL;
}
