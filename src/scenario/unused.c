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
    bool emulated = tier == KVF_TIER_GPU || s->mode == KVF_MODE_SIMULATE ||
                    (tier == KVF_TIER_REMOTE && !scenario_remote_is_real(s));
    return emulated || estimates_loads(s);
}

/* Whether a key has an effect; each of the three knows some of the uses. */
static bool acts_on_tiers(enum key_use use, const struct scenario *s) {
    bool real = s->mode == KVF_MODE_REAL;
    const struct scenario_tier *gpu = &s->tier[KVF_TIER_GPU];

    switch (use) {
    case KEY_USE_SIMULATE:
        return !real;
    case KEY_USE_REAL:
        return real;
    case KEY_USE_VRAM:
        return real && gpu->on && scenario_backend_has(s, KVF_TIER_GPU, BACKEND_DEVICE);
    case KEY_USE_CPU_REAL:
        return s->tier[KVF_TIER_CPU].on && real;
    case KEY_USE_NVME:
        return s->tier[KVF_TIER_NVME].on;
    case KEY_USE_NVME_REAL:
        return s->tier[KVF_TIER_NVME].on && real;
    case KEY_USE_NVME_VRAM:
        return acts_on_tiers(KEY_USE_NVME_REAL, s) && acts_on_tiers(KEY_USE_VRAM, s);
    case KEY_USE_REMOTE_REAL:
        return scenario_remote_is_real(s);
    case KEY_USE_STAGED:
        return scenario_stages(s);
    case KEY_USE_EVICTION:
        return uses_common_eviction(s);
    case KEY_USE_SIZE_LIMIT:
        return s->cache.admission == KVF_ADMISSION_SIZE_LIMIT;
    case KEY_USE_BELOW:
        return tiers_on(s) > gpu->on;
    case KEY_USE_BACKGROUND:
        return s->cache.make_room == KVF_MAKE_ROOM_BACKGROUND;
    case KEY_USE_MOVES:
        return tiers_on(s) > 1;
    case KEY_USE_HEADROOM:
        return gpu->on || s->tier[KVF_TIER_CPU].on;
    case KEY_USE_BYTES:
        return (s->tier[KVF_TIER_CPU].on || scenario_stages(s)) && real;
    default:
        return true;
    }
}

static bool acts_on_requests(enum key_use use, const struct scenario *s) {
    bool block = s->cache.granularity == KVF_GRANULARITY_BLOCK;
    enum scenario_arrival process = s->workload.arrival.process;

    switch (use) {
    case KEY_USE_BLOCK:
        return block;
    case KEY_USE_FILE:
        return scenario_source_has(s, SOURCE_FILE);
    case KEY_USE_SYNTHETIC:
        return scenario_source_has(s, SOURCE_PERSONAS);
    case KEY_USE_TIMES:
        return process == KVF_ARRIVAL_TRACE ||
               (scenario_source_has(s, SOURCE_RECORDED) && !scenario_at_rate(s));
    case KEY_USE_RATE:
        return scenario_at_rate(s);
    case KEY_USE_GAMMA:
        return process == KVF_ARRIVAL_GAMMA;
    case KEY_USE_STORED:
        return stores_alone(s);
    case KEY_USE_AGING:
        return s->qos.scheduler == KVF_SCHEDULER_AGING;
    case KEY_USE_SCALED:
        return s->autoscaler.mode != KVF_AUTOSCALER_OFF;
    case KEY_USE_TURNS:
        return has_turns(s, SOURCE_PERSONAS);
    case KEY_USE_TURN_READS:
        return has_turns(s, SOURCE_USERS) && !block;
    case KEY_USE_PROMPTS:
        return has_turns(s, SOURCE_PROMPTS) && s->workload.prefix.probability > 0;
    case KEY_USE_PREFIX:
        return has_turns(s, SOURCE_PROMPTS);
    case KEY_USE_USERS:
        return has_users(s);
    case KEY_USE_DOCUMENTS:
        return scenario_can_retrieve(s);
    case KEY_USE_RAG:
        return scenario_retrieves(s);
    case KEY_USE_REQUESTS:
        return scenario_source_has(s, SOURCE_INFERS);
    case KEY_USE_DECODE:
        return decodes(s);
    case KEY_USE_REREADS:
        return decodes(s) && !block;
    case KEY_USE_ROOFLINE:
        return scenario_computes(s);
    case KEY_USE_TOKEN_TIME:
        return has_token_time(s);
    case KEY_USE_THROUGHPUT:
        return s->assess.profile == KVF_PROFILE_THROUGHPUT;
    default:
        return true;
    }
}

static bool acts_on_sweep(enum key_use use, const struct scenario *s) {
    switch (use) {
    case KEY_USE_SWEPT_KEYS:
        return swept(s, KVF_SWEEP_KEYS);
    case KEY_USE_SWEPT_VARIANTS:
        return swept(s, KVF_SWEEP_KEYS) || swept(s, KVF_SWEEP_RATES);
    case KEY_USE_SWEPT_POINTS:
        return swept(s, KVF_SWEEP_RATES) || (swept(s, KVF_SWEEP_MISS_RATIO) && s->sweep.capacities == 0);
    case KEY_USE_SWEPT_RUNS:
        return s->sweep.on && !swept(s, KVF_SWEEP_MISS_RATIO);
    case KEY_USE_SWEPT_SIZES:
        return swept(s, KVF_SWEEP_MISS_RATIO);
    case KEY_USE_SOUGHT:
        return swept(s, KVF_SWEEP_CAPACITY);
    default:
        return true;
    }
}

/* The tier that the key of a tier is about. */
static enum kvf_tier tier_of(const struct key *k) {
    return (enum kvf_tier)((k->offset - offsetof(struct scenario, tier)) / sizeof(struct scenario_tier));
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

/* Why no tier is there for it at all, which says more than that it holds no real bytes. */
static const char *tier_missing(enum key_use use, const struct scenario *s) {
    switch (use) {
    case KEY_USE_CPU_REAL:
        return tier_is_off(s, KVF_TIER_CPU);
    case KEY_USE_NVME_REAL:
    case KEY_USE_NVME_VRAM:
        return tier_is_off(s, KVF_TIER_NVME);
    case KEY_USE_REMOTE_REAL:
        return tier_is_off(s, KVF_TIER_REMOTE);
    default:
        return NULL;
    }
}

const char *unused_reason(const struct key *k, const struct scenario *s) {
#define X(id, reason) reason,
    static const char *const reasons[] = {KEY_USE_LIST(X)};
#undef X
    const char *off;
    switch (k->use) {
    case KEY_USE_OF_TIER:
        return tier_is_off(s, tier_of(k));
    case KEY_USE_LINK:
        off = tier_is_off(s, tier_of(k));
        return off ? off : has_link(s, tier_of(k)) ? NULL : reasons[k->use];
    case KEY_USE_POLICY:
        return policy_missing(k, s);
    case KEY_USE_SOURCE:
        return source_missing(k, s);
    default:
        break;
    }
    if ((off = tier_missing(k->use, s))) return off;
    if (k->use == KEY_USE_NVME_VRAM && s->nvme.direct_to_gpu == KVF_DIRECT_TO_GPU_ON)
        return NULL; /* it refuses the run where there is no such path */
    bool acts = acts_on_tiers(k->use, s) && acts_on_requests(k->use, s) && acts_on_sweep(k->use, s);
    return acts ? NULL : reasons[k->use];
}

void scenario_unused_list(struct scenario_report *r, const struct scenario *s) {
    r->unused_count = 0;
    for (size_t i = 0; i < key_count; i++) {
        /* An included file may set more than one scenario uses. */
        const char *why = r->given[i].own ? unused_reason(&key_table[i], s) : NULL;
        if (!why || r->unused_count == SCENARIO_UNUSED_MAX) continue;
        r->unused_by[r->unused_count] = r->given[i].origin;
        (void)snprintf(r->unused[r->unused_count++], sizeof(r->unused[0]), "%s: %s", key_table[i].pub.name,
                       why);
    }
}
