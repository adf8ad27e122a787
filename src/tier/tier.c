#include "tier/tier.h"

uint64_t tier_pages(const struct tier_setup *setup) {
    const struct scenario *s = setup->scenario;
    uint64_t page = setup->page_bytes, min_entry = setup->min_entry_bytes ? setup->min_entry_bytes : 1;
    uint64_t full = setup->usable_bytes / page + (setup->usable_bytes % page != 0);
    /* Sizes are multiples of the smallest entry unless sliding windows make later tokens cheaper, or
     * operations name their sizes. */
    bool mixed = s->model.sliding_layers > 0 || s->workload.source == KVF_SOURCE_OPS;
    if (min_entry % page == 0 && !mixed) return full ? full : 1;
    return full + setup->usable_bytes / min_entry + 1; /* each entry wastes less than a page */
}

const struct tier_ops *tier_backend(const struct tier_setup *setup, struct err *e) {
    const struct tier_ops *ops = NULL;
    switch (setup->tier) {
    case KVF_TIER_GPU:
        ops = setup->scenario->gpu.backend == KVF_BACKEND_CUDA ? &tier_cuda_ops : &tier_emulated_ops;
        break;
    case KVF_TIER_CPU:
        ops = &tier_memory_ops;
        break;
    case KVF_TIER_NVME:
        ops = &tier_nvme_ops;
        break;
    case KVF_TIER_REMOTE:
        ops = scenario_remote_is_real(setup->scenario) ? &tier_resp_ops : &tier_emulated_ops;
        break;
    case KVF_TIERS:
        break;
    }
    if (!ops) {
        err_set(e, KVF_ERR_INTERNAL, "there is no tier number %d", (int)setup->tier);
        return NULL;
    }
    const char *why = ops->refusal(setup);
    if (why) {
        if (ops == &tier_cuda_ops)
            err_set(e, KVF_ERR_UNAVAILABLE,
                    "tiers.gpu.backend is cuda, and it cannot be used: %s; auto or emulated run without",
                    why);
        else
            err_set(e, KVF_ERR_UNAVAILABLE, "the %s tier cannot be used: %s", tier_name(setup->tier), why);
        return NULL;
    }
    return ops;
}
