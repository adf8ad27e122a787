#include "scenario/loading.h"

#include <stdio.h>

/* Whether a tier that is on takes cache.eviction. */
static bool uses_common_eviction(const struct scenario *s) {
    for (int t = 0; t < KVF_TIERS; t++)
        if (scenario_tier_on(s, (enum kvf_tier)t) && !s->tier_eviction_set[t]) return true;
    return false;
}

static bool has_turns(const struct scenario *s) {
    return s->workload.source == KVF_SOURCE_SYNTHETIC && s->workload.phase != KVF_WORKLOAD_PHASE_DECODE;
}

/* Whether requests are asked by users: always where users are made, else where they wait for answers. */
static bool has_users(const struct scenario *s) {
    if (s->workload.source == KVF_SOURCE_SYNTHETIC || s->workload.source == KVF_SOURCE_SHAREGPT) return true;
    return s->workload.source != KVF_SOURCE_OPS && s->workload.arrival.process != KVF_ARRIVAL_TRACE &&
           !scenario_at_rate(s);
}

/* A row of an azure or burstgpt trace is a conversation of one turn. */
static bool has_prefixes(const struct scenario *s) {
    return has_turns(s) || s->workload.source == KVF_SOURCE_AZURE ||
           s->workload.source == KVF_SOURCE_BURSTGPT || s->workload.source == KVF_SOURCE_SHAREGPT;
}

static bool decodes(const struct scenario *s) {
    return s->workload.source != KVF_SOURCE_OPS && s->workload.phase != KVF_WORKLOAD_PHASE_PREFILL;
}

static bool has_token_time(const struct scenario *s) {
    return s->workload.source != KVF_SOURCE_OPS &&
           (s->compute.mode == KVF_COMPUTE_FIXED || s->compute.mode == KVF_COMPUTE_DETERMINISTIC);
}

static bool swept(const struct scenario *s, enum scenario_sweep_profile profile) {
    return s->sweep.on && s->sweep.profile == profile;
}

/* Whether a tier goes by it, or a curve. */
static bool tries_eviction(const struct scenario *s, enum scenario_eviction eviction) {
    return scenario_evicts_by(s, eviction) ||
           (swept(s, KVF_SWEEP_MISS_RATIO) && (s->sweep.policies >> eviction & 1));
}

/* Real tiers are estimated by their links. */
static bool estimates_loads(const struct scenario *s) {
    return s->cache.on_hit == KVF_ON_HIT_FASTER || s->cache.on_hit == KVF_ON_HIT_BOTH;
}

static bool has_effect(enum key_use use, const struct scenario *s) {
    bool block = s->cache.granularity == KVF_GRANULARITY_BLOCK;
    enum scenario_arrival process = s->workload.arrival.process;

    switch (use) {
    case KEY_USE_SIMULATE:
        return s->mode == KVF_MODE_SIMULATE;
    case KEY_USE_REAL:
        return s->mode == KVF_MODE_REAL;
    case KEY_USE_GPU:
    case KEY_USE_GPU_LINK:
        return s->gpu.on;
    case KEY_USE_VRAM:
        return s->mode == KVF_MODE_REAL && s->gpu.on && s->gpu.backend == KVF_BACKEND_CUDA;
    case KEY_USE_CPU:
        return s->cpu.on;
    case KEY_USE_CPU_REAL:
        return s->cpu.on && s->mode == KVF_MODE_REAL;
    case KEY_USE_CPU_LINK:
        return s->cpu.on && (s->mode == KVF_MODE_SIMULATE || estimates_loads(s));
    case KEY_USE_NVME:
        return s->nvme.on;
    case KEY_USE_NVME_REAL:
        return s->nvme.on && s->mode == KVF_MODE_REAL;
    case KEY_USE_NVME_VRAM:
        return has_effect(KEY_USE_NVME_REAL, s) && has_effect(KEY_USE_VRAM, s);
    case KEY_USE_NVME_LINK:
        return s->nvme.on && (s->mode == KVF_MODE_SIMULATE || estimates_loads(s));
    case KEY_USE_REMOTE:
        return s->remote.on;
    case KEY_USE_REMOTE_LINK:
        return s->remote.on && (!scenario_remote_is_real(s) || estimates_loads(s));
    case KEY_USE_REMOTE_REAL:
        return scenario_remote_is_real(s);
    case KEY_USE_STAGED:
        return scenario_stages(s);
    case KEY_USE_EVICTION:
        return uses_common_eviction(s);
    case KEY_USE_SIZE_LIMIT:
        return s->cache.admission == KVF_ADMISSION_SIZE_LIMIT;
    case KEY_USE_TTL:
        return tries_eviction(s, KVF_EVICTION_TTL);
    case KEY_USE_PRIORITIES:
        return tries_eviction(s, KVF_EVICTION_PRIORITY);
    case KEY_USE_BELOW:
        return s->cpu.on || s->nvme.on || s->remote.on;
    case KEY_USE_BACKGROUND:
        return s->cache.make_room == KVF_MAKE_ROOM_BACKGROUND;
    case KEY_USE_MOVES:
        return s->gpu.on + s->cpu.on + s->nvme.on + s->remote.on > 1;
    case KEY_USE_HEADROOM:
        return s->gpu.on || s->cpu.on;
    case KEY_USE_BYTES:
        return (s->cpu.on || scenario_stages(s)) && s->mode == KVF_MODE_REAL;
    case KEY_USE_BLOCK:
        return block;
    case KEY_USE_FILE:
        return s->workload.source != KVF_SOURCE_SYNTHETIC;
    case KEY_USE_SYNTHETIC:
        return s->workload.source == KVF_SOURCE_SYNTHETIC;
    case KEY_USE_TIMES:
        return process == KVF_ARRIVAL_TRACE ||
               (s->workload.source == KVF_SOURCE_AGENTIC && !scenario_at_rate(s));
    case KEY_USE_RATE:
        return scenario_at_rate(s);
    case KEY_USE_GAMMA:
        return process == KVF_ARRIVAL_GAMMA;
    case KEY_USE_SHAREGPT:
        return s->workload.source == KVF_SOURCE_SHAREGPT;
    case KEY_USE_STORED:
        return s->workload.phase == KVF_WORKLOAD_PHASE_DECODE;
    case KEY_USE_AGING:
        return s->qos.scheduler == KVF_SCHEDULER_AGING;
    case KEY_USE_SCALED:
        return s->autoscaler.mode != KVF_AUTOSCALER_OFF;
    case KEY_USE_TURNS:
        return has_turns(s);
    case KEY_USE_TURN_READS:
        return (has_turns(s) || s->workload.source == KVF_SOURCE_SHAREGPT) && !block;
    case KEY_USE_PROMPTS:
        return has_prefixes(s) && s->workload.prefix.probability > 0;
    case KEY_USE_PREFIX:
        return has_prefixes(s);
    case KEY_USE_USERS:
        return has_users(s);
    case KEY_USE_DOCUMENTS:
        return scenario_can_retrieve(s);
    case KEY_USE_RAG:
        return scenario_retrieves(s);
    case KEY_USE_LOOKUPS:
    case KEY_USE_REQUESTS:
        return s->workload.source != KVF_SOURCE_OPS;
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

const char *key_unused_reason(const struct key *k, const struct scenario *s) {
#define X(id, reason) reason,
    static const char *const reasons[] = {KEY_USE_LIST(X)};
#undef X
    enum key_use use = k->use;
    if (use == KEY_USE_CPU_REAL && !s->cpu.on) use = KEY_USE_CPU;
    if ((use == KEY_USE_NVME_REAL || use == KEY_USE_NVME_VRAM) && !s->nvme.on) use = KEY_USE_NVME;
    if (use == KEY_USE_REMOTE_REAL && !s->remote.on) use = KEY_USE_REMOTE;
    if (use == KEY_USE_REMOTE_LINK && s->remote.on) use = KEY_USE_CPU_LINK;
    if (use == KEY_USE_NVME_VRAM && s->nvme.direct_to_gpu == KVF_DIRECT_TO_GPU_ON)
        return NULL; /* it refuses the run where there is no such path */
    return has_effect(k->use, s) ? NULL : reasons[use];
}

void scenario_list_unused(struct scenario_report *r, const struct scenario *s) {
    r->unused_count = 0;
    for (size_t i = 0; i < key_count; i++) {
        /* An included file may set more than one scenario uses. */
        const char *why = r->given[i].own ? key_unused_reason(&key_table[i], s) : NULL;
        if (!why || r->unused_count == SCENARIO_UNUSED_MAX) continue;
        r->unused_by[r->unused_count] = r->given[i].origin;
        (void)snprintf(r->unused[r->unused_count++], sizeof(r->unused[0]), "%s: %s", key_table[i].pub.name,
                       why);
    }
}
