#include "tier/tier.h"

uint64_t tier_pages(const struct tier_setup *setup) {
    const struct scenario *s = setup->scenario;
    uint64_t page = setup->page_bytes, min_entry = setup->min_entry_bytes ? setup->min_entry_bytes : 1;
    uint64_t full = setup->usable_bytes / page + (setup->usable_bytes % page != 0);
    /* Sizes are multiples of the smallest entry unless sliding windows make later tokens cheaper, or
     * operations name their sizes. */
    bool mixed = s->model.sliding_layers > 0 || !scenario_source_has(s, SOURCE_INFERS);
    if (min_entry % page == 0 && !mixed) return full ? full : 1;
    return full + setup->usable_bytes / min_entry + 1; /* each entry wastes less than a page */
}

#define X(id, word, token, ...) &tier_##token##_ops,
static const struct tier_ops *const gpu_ops[] = {TRAITS_GPU_BACKEND_LIST(X)};
static const struct tier_ops *const cpu_ops[] = {TRAITS_CPU_BACKEND_LIST(X)};
static const struct tier_ops *const nvme_ops[] = {TRAITS_NVME_BACKEND_LIST(X)};
static const struct tier_ops *const remote_ops[] = {TRAITS_REMOTE_BACKEND_LIST(X)};
#undef X
static const struct tier_ops *const *const ops_of[KVF_TIERS] = {gpu_ops, cpu_ops, nvme_ops, remote_ops};

const struct tier_ops *tier_backend(const struct tier_setup *setup, struct err *e) {
    unsigned backend = setup->scenario->tier[setup->tier].backend;
    const struct tier_ops *ops = ops_of[setup->tier][backend];
    const char *why = ops->refusal(setup);
    if (!why) return ops;
    if (scenario_backend_has(setup->scenario, setup->tier, BACKEND_DEVICE))
        err_set(e, KVF_ERR_UNAVAILABLE,
                "tiers.%s.backend is %s, and it cannot be used: %s; auto or emulated run without",
                tier_name(setup->tier), traits_backend(setup->tier, backend)->word, why);
    else
        err_set(e, KVF_ERR_UNAVAILABLE, "the %s tier cannot be used: %s", tier_name(setup->tier), why);
    return NULL;
}
