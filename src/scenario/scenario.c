#include "scenario/scenario.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "scenario/loading.h"

/* The capacities that named tiers would have. */
void scenario_begin(struct loading *l) {
    for (int t = 0; t < KVF_TIERS; t++) value_default(l, &key_table[key_of_tier(t, "capacity")], l->s);
    l->prompt_lengths = (uint32_t)l->s->workload.prefix.count;
}

/* A capacity in blocks takes the place of one in bytes; what is loaded again gives both, and they agree. */
static void finish_blocks(struct loading *l, enum kvf_tier tier) {
    struct scenario_tier *of = &l->s->tier[tier];
    uint64_t bytes = of->blocks * scenario_block_bytes(l->s);
    const char *key = key_table[key_of_tier(tier, "blocks")].pub.name;

    if (of->blocks == 0 || l->model_bad) return;
    if (l->given[key_of_tier(tier, "capacity")] && of->capacity_bytes != bytes)
        problem_of(l, key, NULL, "and capacity give the tier two different sizes; leave one of them out");
    of->capacity_bytes = bytes;
}

static void finish_tiers(struct loading *l) {
    link_presets_apply(l);
    link_engine_apply(l);
    for (int t = 0; t < KVF_TIERS; t++) {
        struct scenario_tier *of = &l->s->tier[t];
        if (l->tier_named[t])
            finish_blocks(l, t);
        else
            of->capacity_bytes = 0;
        of->on = of->capacity_bytes > 0 && !scenario_backend_has(l->s, t, BACKEND_NONE);
        if (!of->eviction_set) of->eviction = l->s->cache.eviction;
    }
}

static void finish_prompts(struct loading *l) {
    struct scenario *s = l->s;
    uint64_t *tokens = s->workload.prefix.prompt_tokens, *count = &s->workload.prefix.count;

    if (l->prompt_single) {
        for (uint64_t i = 1; i < *count; i++) tokens[i] = tokens[0];
        return;
    }
    if (place_given(l, "workload.prefix.count") && *count != l->prompt_lengths)
        problem_of(l, "workload.prefix.count", NULL,
                   "%" PRIu64 ", but prompt_tokens has %u lengths; give one length, or leave count out",
                   (uint64_t)*count, l->prompt_lengths);
    *count = l->prompt_lengths;
}

/* Requests are held against the P95 target; where 99 % shall be within a time, so shall 95 %. */
static void target_of_most(struct scenario_class *c) {
    const uint64_t higher_ns[] = {c->p99_ns, c->p999_ns, c->p9999_ns};
    for (size_t i = 0; i < sizeof higher_ns / sizeof *higher_ns && c->p95_ns == KVF_UNSET; i++)
        c->p95_ns = higher_ns[i];
}

/* Requests of a trace belong to the first class unless classes are given: the shares say so. */
static void finish_classes(struct loading *l) {
    struct scenario *s = l->s;

    if (!s->qos.classes_set && !scenario_source_has(s, SOURCE_USERS))
        for (uint32_t i = 0; i < s->qos.classes; i++) s->qos.klass[i].share = i == 0 ? 1 : 0;
    for (uint32_t i = 0; i < s->qos.classes; i++) target_of_most(&s->qos.klass[i]);
    if (l->defaults) s->qos.classes_set = true;
}

/* A document of a large model is shorter, so that its chunks are of a similar size in bytes. */
static void finish_rag(struct loading *l) {
    struct scenario *s = l->s;
    bool large = s->model.layers >= 64 || s->model.hidden >= 8192;

    if (s->workload.rag.documents == KVF_AUTO) s->workload.rag.documents = SCENARIO_RAG_DOCUMENTS;
    if (!s->workload.rag.tokens_set)
        s->workload.rag.tokens =
            large ? (struct scenario_range){1024, 4096} : (struct scenario_range){4000, 12000};
    if (l->defaults) s->workload.rag.tokens_set = true; /* from here on it is this one */
}

void scenario_finish(struct loading *l) {
    struct scenario *s = l->s;

    /* before the tiers, whose capacities may be numbers of blocks */
    uint64_t of_trace = traits_source(s->workload.source)->block_tokens;
    if (of_trace > 0 && !place_given(l, "cache.block_tokens")) s->cache.block_tokens = of_trace;
    finish_tiers(l);
    finish_prompts(l);
    finish_classes(l);
    finish_rag(l);
    if (!s->sweep.on && (strcmp(s->sweep.keys, "{}") != 0 || strcmp(s->sweep.variants, "{}") != 0)) {
        s->sweep.on = true;
        s->sweep.profile = KVF_SWEEP_KEYS;
    }
    s->seed_missing = s->submission && !place_given(l, "seed");
    if (!s->cache.promotion_set)
        s->cache.promotion =
            s->cache.placement == KVF_PLACEMENT_INCLUSIVE ? KVF_PROMOTION_ON_HIT : KVF_PROMOTION_NEVER;
    if (l->defaults) s->cache.promotion_set = true; /* from here on it is this one */
    if (!s->workload.arrival.process_set)
        s->workload.arrival.process =
            scenario_source_has(s, SOURCE_BY_TIMES) ? KVF_ARRIVAL_TRACE : KVF_ARRIVAL_CLOSED;
    if (l->defaults) s->workload.arrival.process_set = true; /* from here on it is this one */
    switch (s->compute.mode) {
    case KVF_COMPUTE_FAST:
        s->compute.ns_per_token = 2 * 1000000;
        break;
    case KVF_COMPUTE_REALISTIC:
        s->compute.ns_per_token = 30 * 1000000;
        break;
    case KVF_COMPUTE_FIXED:
    case KVF_COMPUTE_DETERMINISTIC:
        s->compute.ns_per_token = (uint64_t)llround(s->compute.ms_per_token * 1e6);
        break;
    default:
        s->compute.ns_per_token = 0;
        break;
    }
}

void scenario_default(struct scenario *s) {
    struct loading l = {.s = s};

    memset(s, 0, sizeof *s);
    for (size_t i = 0; i < key_count; i++) {
        const struct key *k = &key_table[i];
        if (!key_in_list(k) && strncmp(k->pub.name, "model", 5) != 0) value_default(&l, k, s);
    }
    scenario_finish(&l);
}

bool scenario_policy_has(const struct scenario *s, enum traits_policy_caps caps) {
    for (int t = 0; t < KVF_TIERS; t++)
        if (s->tier[t].on && traits_policy(s->tier[t].eviction)->caps & caps) return true;
    return false;
}

bool scenario_remote_is_real(const struct scenario *s) {
    return s->tier[KVF_TIER_REMOTE].on && s->mode == KVF_MODE_REAL &&
           scenario_backend_has(s, KVF_TIER_REMOTE, BACKEND_STORE);
}

bool scenario_remote_is_measured(const struct scenario *s) {
    const struct scenario_tier *remote = &s->tier[KVF_TIER_REMOTE];
    return s->mode == KVF_MODE_SIMULATE && remote->on && remote->service.depths.count > 0;
}

bool scenario_stages(const struct scenario *s) {
    return s->tier[KVF_TIER_NVME].on || scenario_remote_is_real(s) || scenario_remote_is_measured(s);
}

bool scenario_any_in_memory(const struct scenario *s) {
    for (int t = 0; t < KVF_TIERS; t++)
        if (scenario_in_memory(s, (enum kvf_tier)t)) return true;
    return false;
}

bool scenario_holds_bytes(const struct scenario *s) {
    bool gpu = s->tier[KVF_TIER_GPU].on && s->tier[KVF_TIER_GPU].backend != KVF_BACKEND_EMULATED;
    return gpu || scenario_any_in_memory(s) || scenario_stages(s);
}

uint64_t scenario_value_bytes(const struct scenario *s) {
    return s->remote.chunk_tokens * model_bytes_per_token(&s->model, s->tensor_parallel);
}

uint64_t scenario_capacity_bytes(const struct scenario *s, enum kvf_tier tier) {
    return s->tier[tier].on ? s->tier[tier].capacity_bytes : 0;
}

uint64_t scenario_usable_bytes(const struct scenario *s, enum kvf_tier tier) {
    const uint64_t parts = 1000000000;
    uint64_t capacity = scenario_capacity_bytes(s, tier);
    if (tier >= KVF_TIER_NVME) return capacity;
    /* In whole parts: 1 - 0.9 of 10 bytes is 1 byte, which binary fractions would round to 0. */
    uint64_t kept = parts - (uint64_t)llround(s->cache.headroom * (double)parts);
    return (uint64_t)((unsigned __int128)capacity * kept / parts);
}

static uint64_t low_bit(uint64_t v) {
    return v & (~v + 1);
}

/* Bytes of a token in the layers that attend to everything, and in the sliding ones. */
static uint64_t full_bytes(const struct scenario *s) {
    return model_full_bytes_per_token(&s->model, s->tensor_parallel);
}

static uint64_t sliding_bytes(const struct scenario *s) {
    return model_bytes_per_token(&s->model, s->tensor_parallel) - full_bytes(s);
}

uint64_t scenario_page_bytes(const struct scenario *s) {
    /* Every entry is a sum of multiples of these; a block that straddles the end of a window takes
     * only a part of its tokens in the sliding layers. */
    uint64_t full = full_bytes(s), sliding = sliding_bytes(s), grain;

    if (!scenario_source_has(s, SOURCE_INFERS)) return 4 * KVF_KIB; /* entries of any size */
    if (s->cache.granularity == KVF_GRANULARITY_BLOCK && !scenario_retrieves(s))
        grain = full * s->cache.block_tokens | sliding * s->cache.block_tokens |
                sliding * (s->model.window % s->cache.block_tokens);
    else
        grain = full | sliding;
    uint64_t page = low_bit(grain);
    if (page < 4 * KVF_KIB) return 4 * KVF_KIB;
    return page < 2 * KVF_MIB ? page : 2 * KVF_MIB;
}

uint64_t scenario_block_bytes(const struct scenario *s) {
    uint64_t beyond = full_bytes(s) * s->cache.block_tokens; /* of a block behind every window */
    return beyond ? beyond : sliding_bytes(s);
}

/* The last chunk of a document may be one token. */
uint64_t scenario_min_entry_bytes(const struct scenario *s) {
    uint64_t token = model_bytes_per_token(&s->model, s->tensor_parallel);
    if (s->cache.granularity != KVF_GRANULARITY_BLOCK) return token;
    uint64_t block = scenario_block_bytes(s);
    return scenario_retrieves(s) && token < block ? token : block;
}

bool scenario_can_retrieve(const struct scenario *s) {
    return scenario_source_has(s, SOURCE_PROMPTS) && s->workload.phase != KVF_WORKLOAD_PHASE_DECODE;
}

bool scenario_retrieves(const struct scenario *s) {
    return s->workload.rag.documents > 0 && scenario_can_retrieve(s);
}

uint64_t scenario_chunk_tokens(const struct scenario *s) {
    uint64_t fits = 1, over = s->workload.rag.chunk_tokens + 1;
    while (over - fits > 1) {
        uint64_t mid = fits + (over - fits) / 2;
        if (model_kv_bytes(&s->model, s->tensor_parallel, mid) <= SCENARIO_CHUNK_BYTES)
            fits = mid;
        else
            over = mid;
    }
    return fits;
}

bool scenario_pods_are_ranks(const struct scenario *s) {
    return s->fleet.pods > 1 && s->mode != KVF_MODE_SIMULATE;
}

bool scenario_pods_share_server(const struct scenario *s) {
    return scenario_pods_are_ranks(s) && s->tier[KVF_TIER_REMOTE].on;
}

uint32_t scenario_ranks(const struct scenario *s) {
    bool divided = s->fleet.pods > 1 && s->mode == KVF_MODE_SIMULATE;
    return s->ranks.count > 0 && !divided ? s->ranks.count : 1;
}

bool scenario_at_rate(const struct scenario *s) {
    return s->workload.arrival.process == KVF_ARRIVAL_POISSON ||
           s->workload.arrival.process == KVF_ARRIVAL_GAMMA;
}

double scenario_arrival_dispersion(const struct scenario *s) {
    double batch = (double)(s->workload.arrival.batch ? s->workload.arrival.batch : 1),
           cv = s->workload.arrival.cv;
    switch (s->workload.arrival.process) {
    case KVF_ARRIVAL_POISSON:
        return batch;
    case KVF_ARRIVAL_GAMMA:
        return cv * cv * batch;
    case KVF_ARRIVAL_PACED:
        return SCENARIO_THINK_SPREAD * SCENARIO_THINK_SPREAD / 3; /* evenly within that of their mean */
    default:
        return NAN;
    }
}

static bool arrives_by_itself(const struct scenario *s) {
    return scenario_at_rate(s) || s->workload.arrival.process == KVF_ARRIVAL_TRACE;
}

static bool has_p95(const struct scenario *s) {
    for (uint32_t k = 0; k < s->qos.classes; k++)
        if (s->qos.klass[k].p95_ns != KVF_UNSET) return true;
    return false;
}

bool scenario_users_run_out(const struct scenario *s) {
    bool dealt = scenario_source_has(s, SOURCE_FILE) &&
                 (scenario_source_has(s, SOURCE_USERS) || scenario_source_has(s, SOURCE_RECORDED));
    return dealt && !arrives_by_itself(s) && s->workload.arrival.cycles > 0;
}

const char *scenario_autoscaler_refusal(const struct scenario *s, enum scenario_autoscaler mode,
                                        const char **key) {
    bool qos = mode == KVF_AUTOSCALER_QOS, targets = s->autoscaler.signal == KVF_AUTOSCALER_SIGNAL_TARGETS;
    const struct {
        bool refused;
        const char *key, *why;
    } rules[] = {
        {arrives_by_itself(s), "workload.arrival.process",
         "the autoscaler steers users, and these arrivals do not come from users; take closed or paced"},
        {scenario_source_has(s, SOURCE_IN_TURN), "workload.source",
         "the autoscaler steers users, and source ops has one"},
        {scenario_users_run_out(s), "workload.arrival.cycles",
         "users whose conversations are over ask nothing, and the autoscaler would add users in their place; "
         "set workload.arrival.cycles: 0"},
        {s->run.max_requests > 0, "run.max_requests",
         "it is dealt to the users at the start, and users that the autoscaler adds get none; leave it at 0"},
        {s->workload.phase == KVF_WORKLOAD_PHASE_DECODE, "workload.phase",
         "decode stores entries for the users at the start, and users that the autoscaler adds have none; "
         "take both or prefill"},
        {s->autoscaler.min_users > s->autoscaler.max_users, "autoscaler.min_users",
         "is more than autoscaler.max_users; lower it, or raise that"},
        {qos && targets && !has_p95(s), "autoscaler.signal",
         "targets needs a class with a p95; give one, or take saturation"},
        {qos && !targets && !(s->autoscaler.target_saturation > 0), "autoscaler.target_saturation",
         "0 leaves room for nobody; take up to 1"},
        {qos && !targets &&
             !(s->autoscaler.weight_latency + s->autoscaler.weight_queue + s->autoscaler.weight_device > 0),
         "autoscaler.weights.latency", "all weights of the saturation are 0; give one of them a weight"},
        {mode == KVF_AUTOSCALER_CAPACITY && s->autoscaler.objective == KVF_AUTOSCALER_OBJECTIVE_NVME &&
             !s->tier[KVF_TIER_NVME].on,
         "autoscaler.objective", "nvme_tok_s needs the nvme tier, which is off"},
    };
    if (mode == KVF_AUTOSCALER_OFF) return NULL;
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (!rules[i].refused) continue;
        if (key) *key = rules[i].key;
        return rules[i].why;
    }
    return NULL;
}

bool scenario_computes(const struct scenario *s) {
    return s->compute.mode == KVF_COMPUTE_ROOFLINE && scenario_source_has(s, SOURCE_INFERS);
}

bool scenario_recomputes(const struct scenario *s) {
    return scenario_computes(s) && s->cache.granularity == KVF_GRANULARITY_BLOCK;
}

bool scenario_rewrites(const struct scenario *s) {
    return s->cache.granularity == KVF_GRANULARITY_BLOCK && !scenario_computes(s);
}

uint32_t scenario_compute_devices(const struct scenario *s) {
    return s->compute.tp == KVF_UNSET ? s->tensor_parallel : (uint32_t)s->compute.tp;
}

int scenario_roofline(const struct scenario *s, struct roofline *r, struct err *e) {
    uint64_t bandwidth = s->compute.bandwidth_bytes_per_s;
    struct roofline_setup setup = {.gpu = s->compute.gpu,
                                   .peak_flops = s->compute.peak_flops,
                                   .bytes_per_s = bandwidth == KVF_UNSET ? 0 : (double)bandwidth,
                                   .tp = scenario_compute_devices(s),
                                   .mfu = s->compute.mfu,
                                   .efficiency = s->compute.efficiency,
                                   .overhead_ns = s->compute.overhead_ns,
                                   .prefill_overhead_ns = s->compute.prefill_overhead_ns,
                                   .exchange_ns = s->compute.exchange_ns,
                                   .store_token_ns =
                                       (double)s->compute.store_cost_ns / (double)s->cache.block_tokens,
                                   .apart = s->compute.kernels == KVF_KERNELS_APART};
    if (s->compute.store_bytes_per_s != KVF_UNSET)
        setup.store_bytes_per_s = (double)s->compute.store_bytes_per_s;
    return roofline_init(r, &s->model, &setup, e);
}

uint64_t scenario_batch_bytes(const struct scenario *s) {
    struct scenario_vram v;
    if (s->tier[KVF_TIER_GPU].on) return scenario_usable_bytes(s, KVF_TIER_GPU);
    return scenario_vram(s, &v, NULL) == 0 ? v.capacity_bytes : UINT64_MAX;
}

/* ---- comparisons ---- */

#define X(id, name) name,
static const char *const op_names[] = {SCENARIO_OP_LIST(X)};
#undef X
enum { OPS = sizeof op_names / sizeof *op_names };

const char *scenario_op_name(enum scenario_criterion_op op) {
    return (unsigned)op < OPS ? op_names[op] : "";
}

enum scenario_criterion_op scenario_op_parse(const char *name) {
    unsigned op = 0;
    while (op < OPS && strcmp(op_names[op], name) != 0) op++;
    return (enum scenario_criterion_op)op;
}

bool scenario_op_holds(enum scenario_criterion_op op, double value, double target) {
    switch (op) {
    case KVF_OP_LT:
        return value < target;
    case KVF_OP_LE:
        return value <= target;
    case KVF_OP_GT:
        return value > target;
    case KVF_OP_GE:
        return value >= target;
    case KVF_OP_EQ:
        return value == target;
    case KVF_OP_NE:
        return value != target;
    }
    return false;
}
