#include "scenario/loading.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Keys that contradict the policy of a tier, and keys that a policy needs. */

/* The key that names a tier's policy. */
static void policy_key(const struct scenario *s, int tier, char *out, size_t len) {
    if (s->tier_eviction_set[tier])
        (void)snprintf(out, len, "tiers.%s.eviction", tier_name((enum kvf_tier)tier));
    else
        (void)snprintf(out, len, "cache.eviction");
}

/* The first tier that is on and has the policy; -1. */
static int tier_with(const struct scenario *s, enum scenario_eviction eviction) {
    for (int t = 0; t < KVF_TIERS; t++)
        if (scenario_tier_on(s, (enum kvf_tier)t) && s->eviction[t] == eviction) return t;
    return -1;
}

static void check_belady(struct loading *l) {
    const struct scenario *s = l->s;
    int t = tier_with(s, KVF_EVICTION_BELADY);
    char key[32];

    if (t < 0) return;
    policy_key(s, t, key, sizeof(key));
    if (s->mode != KVF_MODE_SIMULATE)
        problem_add(l, place_of_key(l, key, "mode"), key,
                    "belady looks ahead in the trace, which only a simulation can; set mode: simulate");
    else if (s->workload.source != KVF_SOURCE_MOONCAKE && s->workload.source != KVF_SOURCE_OPS)
        problem_add(l, place_of_key(l, key, "workload.source"), key,
                    "belady needs to know every access beforehand; take source mooncake or ops");
}

static void check_leaves(struct loading *l) {
    const struct scenario *s = l->s;
    int t = tier_with(s, KVF_EVICTION_LEAF_LRU);
    char key[32];

    if (t < 0) return;
    policy_key(s, t, key, sizeof(key));
    if (s->cache.granularity != KVF_GRANULARITY_BLOCK)
        problem_add(l, place_of_key(l, key, "cache.granularity"), key,
                    "leaf_lru goes by what block follows what; set cache.granularity: block");
    if (s->cache.placement == KVF_PLACEMENT_INCLUSIVE)
        problem_add(
            l, place_of_key(l, key, "cache.placement"), key,
            "leaf_lru knows one entry of a block, and placement inclusive keeps several; take another "
            "policy or placement");
}

static bool class_known(const struct scenario *s, const char *name) {
    for (uint32_t i = 0; i < s->qos.classes; i++)
        if (!strcmp(s->qos.klass[i].name, name)) return true;
    return false;
}

static void check_priorities(struct loading *l) {
    const struct scenario *s = l->s;
    int t = tier_with(s, KVF_EVICTION_PRIORITY);
    char key[48];

    if (t >= 0 && s->cache.priorities == 0) {
        policy_key(s, t, key, sizeof(key));
        problem_add(l, place_of_key(l, key, NULL), key,
                    "priority needs cache.priorities, such as [{cause: prefix, priority: 80}]");
    }
    for (uint32_t i = 0; i < s->cache.priorities; i++) {
        const char *name = s->cache.priority[i].klass;
        if (!*name || class_known(s, name)) continue;
        (void)snprintf(key, sizeof(key), "cache.priorities[%" PRIu32 "].class", i);
        problem_add(l, place_of_key(l, "cache.priorities", NULL), key, "\"%s\" is no class of qos.classes",
                    name);
    }
}

void scenario_check_policies(struct loading *l) {
    check_belady(l);
    check_leaves(l);
    check_priorities(l);
}
