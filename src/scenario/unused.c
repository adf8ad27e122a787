#include "scenario/loading.h"

#include <stdio.h>
#include <string.h>

/* Whether a tier that is on takes cache.eviction. */
static bool uses_common_eviction(const struct scenario *s) {
    for (int t = 0; t < KVF_TIERS; t++)
        if (s->tier[t].on && !s->tier[t].eviction_set) return true;
    return false;
}

static unsigned tiers_on(const struct scenario *s) {
    unsigned on = 0;
    for (int t = 0; t < KVF_TIERS; t++) on += s->tier[t].on;
    return on;
}

static bool stores_alone(const struct scenario *s) {
    return s->workload.phase == KVF_WORKLOAD_PHASE_DECODE;
}

static bool has_turns(const struct scenario *s, enum traits_source_caps caps) {
    return scenario_source_has(s, caps) && !stores_alone(s);
}

/* Whether requests are asked by users: always where users are made, else where they wait for answers. */
static bool has_users(const struct scenario *s) {
    if (scenario_source_has(s, SOURCE_USERS)) return true;
    return scenario_source_has(s, SOURCE_INFERS) && s->workload.arrival.process != KVF_ARRIVAL_TRACE &&
           !scenario_at_rate(s);
}

static bool decodes(const struct scenario *s) {
    return scenario_source_has(s, SOURCE_INFERS) && s->workload.phase != KVF_WORKLOAD_PHASE_PREFILL;
}

static bool has_token_time(const struct scenario *s) {
    return scenario_source_has(s, SOURCE_INFERS) &&
           (s->compute.mode == KVF_COMPUTE_FIXED || s->compute.mode == KVF_COMPUTE_DETERMINISTIC);
}

static bool swept(const struct scenario *s, enum scenario_sweep_profile profile) {
    return s->sweep.on && s->sweep.profile == profile;
}

/* Whether a tier goes by it, or a curve. */
static bool tries_eviction(const struct scenario *s, enum scenario_eviction eviction) {
    for (int t = 0; t < KVF_TIERS; t++)
        if (s->tier[t].on && s->tier[t].eviction == eviction) return true;
    return swept(s, KVF_SWEEP_MISS_RATIO) && (s->sweep.policies >> eviction & 1);
}

/* Real tiers are estimated by their links. */
static bool estimates_loads(const struct scenario *s) {
    return s->cache.on_hit == KVF_ON_HIT_FASTER || s->cache.on_hit == KVF_ON_HIT_BOTH;
}

static bool has_link(const struct scenario *s, enum kvf_tier tier) {
    return s->mode == KVF_MODE_SIMULATE || scenario_backend_has(s, tier, BACKEND_LINK) || estimates_loads(s);
}

static bool is_real(const struct scenario *s) {
    return s->mode == KVF_MODE_REAL;
}

static bool by_blocks(const struct scenario *s) {
    return s->cache.granularity == KVF_GRANULARITY_BLOCK;
}

static bool has_vram(const struct scenario *s) {
    return is_real(s) && s->tier[KVF_TIER_GPU].on && scenario_backend_has(s, KVF_TIER_GPU, BACKEND_DEVICE);
}

/* Whether reads of slower tiers go on to the modelled gpu. */
static bool lands(const struct scenario *s) {
    return s->mode == KVF_MODE_SIMULATE && s->tier[KVF_TIER_GPU].on;
}

static bool routes(const struct scenario *s, enum traits_routing_caps caps) {
    return s->fleet.pods > 1 && (traits_routing(s->fleet.routing)->caps & caps) != 0;
}

/* Whether a sweep sets such a key. */
static bool varies(const struct scenario *s, const char *key) {
    return s->sweep.on && (strstr(s->sweep.keys, key) || strstr(s->sweep.variants, key));
}

/* The longest context that a request may have, its earlier turns apart; UINT64_MAX: it is not known. */
static uint64_t longest_context(const struct scenario *s) {
    uint64_t longest = 0;
    if (!scenario_source_has(s, SOURCE_PERSONAS) || varies(s, "personas")) return UINT64_MAX;
    for (uint32_t i = 0; i < s->workload.personas; i++) {
        const struct scenario_range *r = &s->workload.persona[i].context;
        uint64_t most = s->compute.mode == KVF_COMPUTE_DETERMINISTIC ? r->lo + (r->hi - r->lo) / 2 : r->hi;
        if (s->workload.persona[i].share > 0 && most > longest) longest = most;
    }
    return longest;
}

/* Whether some context has room for a shared prompt, which is shorter. */
static bool prompt_fits(const struct scenario *s) {
    uint64_t longest = longest_context(s);
    if (varies(s, "workload.prefix")) return true;
    for (uint64_t i = 0; i < s->workload.prefix.count && i < SCENARIO_PROMPTS_MAX; i++)
        if (s->workload.prefix.on_top || s->workload.prefix.prompt_tokens[i] < longest) return true;
    return false;
}

#define X(id, reason, condition)                                                                             \
    static bool acts_##id(const struct scenario *s) {                                                        \
        (void)s;                                                                                             \
        return condition;                                                                                    \
    }
KEY_USE_LIST(X)
#undef X

/* Whether and why not, by use. */
static const struct {
    bool (*acts)(const struct scenario *s);
    const char *reason;
} uses[] = {
#define X(id, reason, condition) {acts_##id, reason},
    KEY_USE_LIST(X)
#undef X
};

/* The tier that the key of a tier is about. */
static enum kvf_tier tier_of(const struct key *k) {
    return (enum kvf_tier)((k->offset - offsetof(struct scenario, tier)) / sizeof(struct scenario_tier));
}

/* The tier whose blocks the index weighs by the key. */
static enum kvf_tier weighed_tier(const struct key *k) {
    return (enum kvf_tier)((k->offset - offsetof(struct scenario, fleet.index.tier_weight)) / sizeof(double));
}

static const char *tier_is_off(const struct scenario *s, enum kvf_tier tier) {
#define X(id, name) "the " name " tier is off",
    static const char *const off[] = {KVF_TIER_LIST(X)};
#undef X
    return s->tier[tier].on ? NULL : off[tier];
}

/* Why no tier and no curve has the policy that reads the key. */
static const char *policy_missing(const struct key *k, const struct scenario *s) {
    const struct traits_policy *row = NULL;
    for (unsigned id = 0; (row = traits_policy(id)) && (!row->key || strcmp(row->key, k->pub.name) != 0);
         id++) {}
    return row && !tries_eviction(s, (enum scenario_eviction)(row - traits_policy(0))) ? row->unread : NULL;
}

static const char *source_missing(const struct key *k, const struct scenario *s) {
    const struct traits_source *row = NULL;
    for (unsigned id = 0; (row = traits_source(id)) && (!row->key || strcmp(row->key, k->pub.name) != 0);
         id++) {}
    return row != traits_source(s->workload.source) ? row->unread : NULL;
}

/* A use that needs others first, and why it has none of them. */
static const char *needed_missing(const struct key *k, const struct scenario *s) {
    static const struct {
        enum key_use use, needs;
    } first[] = {{KEY_USE_SIZE_LIMIT, KEY_USE_ADMITS},      {KEY_USE_PICK, KEY_USE_PROMPTS},
                 {KEY_USE_AGING, KEY_USE_CLASSES},          {KEY_USE_TURN_ENDS, KEY_USE_TURNS},
                 {KEY_USE_TURN_COUNT, KEY_USE_TURNS},       {KEY_USE_SCALED_QOS, KEY_USE_SCALED},
                 {KEY_USE_SCALED_CAPACITY, KEY_USE_SCALED}, {KEY_USE_SATURATION, KEY_USE_SCALED},
                 {KEY_USE_BY_LOAD, KEY_USE_FLEET},          {KEY_USE_EXCHANGE, KEY_USE_ROOFLINE},
                 {KEY_USE_SHARED_BLOCKS, KEY_USE_ROOFLINE}};
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        if (first[i].use == k->use && !uses[first[i].needs].acts(s)) return uses[first[i].needs].reason;
    return NULL;
}

/* Of what is said of shared prompts, but for the key that puts them on top. */
static const char *prompt_missing(const struct key *k, const struct scenario *s) {
    bool about = k->use == KEY_USE_PREFIX || k->use == KEY_USE_PROMPTS || k->use == KEY_USE_PICK;
    bool on_top = k->offset == offsetof(struct scenario, workload.prefix.on_top);
    if (!about || on_top || !(s->workload.prefix.probability > 0) || prompt_fits(s)) return NULL;
    return uses[KEY_USE_PREFIX].acts(s) ? "no prompt is shorter than a context" : NULL;
}

/* Of a conversation of one turn the reads of earlier ones. */
static const char *turns_missing(const struct key *k, const struct scenario *s) {
    const struct scenario *made = scenario_source_has(s, SOURCE_PERSONAS) ? s : NULL;
    bool one =
        made && (s->workload.conversation.max_turns == 1 || s->workload.conversation.end_probability >= 1);
    return k->use == KEY_USE_TURN_READS && one ? uses[KEY_USE_TURN_ENDS].reason : NULL;
}

/* Why no tier is there for it at all, which says more than that it holds no real bytes. */
static const char *tier_missing(enum key_use use, const struct scenario *s) {
    switch (use) {
    case KEY_USE_CPU_REAL:
        return tier_is_off(s, KVF_TIER_CPU);
    case KEY_USE_NVME_REAL:
    case KEY_USE_NVME_VRAM:
        return tier_is_off(s, KVF_TIER_NVME);
    case KEY_USE_REMOTE_REAL:
    case KEY_USE_REMOTE_SERVER:
    case KEY_USE_REMOTE_RESP:
    case KEY_USE_REMOTE_S3:
        return tier_is_off(s, KVF_TIER_REMOTE);
    default:
        return NULL;
    }
}

const char *unused_reason(const struct key *k, const struct scenario *s) {
    const char *off;
    switch (k->use) {
    case KEY_USE_OF_TIER:
        return tier_is_off(s, tier_of(k));
    case KEY_USE_LINK:
        off = tier_is_off(s, tier_of(k));
        return off ? off : has_link(s, tier_of(k)) ? NULL : uses[k->use].reason;
    case KEY_USE_POLICY:
        return policy_missing(k, s);
    case KEY_USE_SOURCE:
        return source_missing(k, s);
    case KEY_USE_INDEX_TIER:
        off = uses[k->use].acts(s) ? NULL : uses[k->use].reason;
        return off ? off : tier_is_off(s, weighed_tier(k));
    default:
        break;
    }
    if ((off = needed_missing(k, s)) || (off = prompt_missing(k, s))) return off;
    if ((off = tier_missing(k->use, s))) return off;
    if (k->use == KEY_USE_NVME_VRAM && s->nvme.direct_to_gpu == KVF_DIRECT_TO_GPU_ON)
        return NULL; /* it refuses the run where there is no such path */
    return uses[k->use].acts(s) ? turns_missing(k, s) : uses[k->use].reason;
}

void scenario_unused_list(struct scenario_report *r, const struct scenario *s) {
    r->unused_count = 0;
    for (size_t i = 0; i < key_count; i++) {
        /* Of a list's members that is told that has no effect where the list has one. */
        if (key_in_list(&key_table[i]) && key_table[i].use != KEY_USE_THINK) continue;
        /* An included file may set more than one scenario uses. */
        const char *why = r->given[i].own ? unused_reason(&key_table[i], s) : NULL;
        if (!why || r->unused_count == SCENARIO_UNUSED_MAX) continue;
        r->unused_by[r->unused_count] = r->given[i].origin;
        (void)snprintf(r->unused[r->unused_count++], sizeof r->unused[0], "%s: %s", key_table[i].pub.name,
                       why);
    }
}
