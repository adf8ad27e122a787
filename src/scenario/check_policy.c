#include "scenario/loading.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Keys that contradict the policy of a tier, and keys that a policy needs. */

/* The key that names a tier's policy. */
static void policy_key(const struct scenario *s, int tier, char *out, size_t len) {
    bool own = s->tier[tier].eviction_set;
    (void)snprintf(out, len, "%s%s.eviction", own ? "tiers." : "", own ? tier_name(tier) : "cache");
}

/* The first tier that is on whose policy has the capability: its row, and the key that names it; NULL. */
static const struct traits_policy *policy_with(const struct scenario *s, enum traits_policy_caps caps,
                                               char *key, size_t len) {
    for (int t = 0; t < KVF_TIERS; t++) {
        const struct traits_policy *row = traits_policy(s->tier[t].eviction);
        if (!s->tier[t].on || (row->caps & caps) == 0) continue;
        policy_key(s, t, key, len);
        return row;
    }
    return NULL;
}

static void check_looking_ahead(struct loading *l) {
    const struct scenario *s = l->s;
    char key[32];
    const struct traits_policy *policy = policy_with(s, POLICY_LOOKS_AHEAD, key, sizeof key);

    if (policy && s->mode != KVF_MODE_SIMULATE)
        problem_of(l, key, "mode",
                   "%s looks ahead in the trace, which only a simulation can; set mode: simulate",
                   policy->word);
    else if (policy && !scenario_source_has(s, SOURCE_KNOWN))
        problem_of(l, key, "workload.source",
                   "%s needs to know every access beforehand; take source mooncake or ops", policy->word);
}

static void check_parents(struct loading *l) {
    const struct scenario *s = l->s;
    char key[32];
    const struct traits_policy *policy = policy_with(s, POLICY_BY_PARENTS, key, sizeof key);

    if (policy && s->cache.granularity != KVF_GRANULARITY_BLOCK)
        problem_of(l, key, "cache.granularity",
                   "%s goes by what block follows what; set cache.granularity: block", policy->word);
    if (policy && s->cache.placement == KVF_PLACEMENT_INCLUSIVE)
        problem_of(l, key, "cache.placement",
                   "%s knows one entry of a block, and placement inclusive keeps several; take another "
                   "policy or placement",
                   policy->word);
}

static bool class_known(const struct scenario *s, const char *name) {
    for (uint32_t i = 0; i < s->qos.classes; i++)
        if (strcmp(s->qos.klass[i].name, name) == 0) return true;
    return false;
}

static void check_priorities(struct loading *l) {
    const struct scenario *s = l->s;
    char key[48];
    const struct traits_policy *policy = policy_with(s, POLICY_BY_RULES, key, sizeof key);

    if (policy && s->cache.priorities == 0)
        problem_of(l, key, NULL, "%s needs cache.priorities, such as [{cause: prefix, priority: 80}]",
                   policy->word);
    for (uint32_t i = 0; i < s->cache.priorities; i++) {
        const char *name = s->cache.priority[i].klass;
        if (!*name || class_known(s, name)) continue;
        (void)snprintf(key, sizeof key, "cache.priorities[%" PRIu32 "].class", i);
        problem_add(l, place_of_key(l, "cache.priorities", NULL), key, "\"%s\" is no class of qos.classes",
                    name);
    }
}

void check_policies(struct loading *l) {
    check_looking_ahead(l);
    check_parents(l);
    check_priorities(l);
}
