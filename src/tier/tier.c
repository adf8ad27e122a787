#include "tier/tier.h"

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
    const char *why = ops->refusal ? ops->refusal(setup) : NULL;
    if (!why) return ops;
    if (scenario_backend_has(setup->scenario, setup->tier, BACKEND_DEVICE))
        err_set(e, KVF_ERR_UNAVAILABLE,
                "tiers.%s.backend is %s, and it cannot be used: %s; auto or emulated run without",
                tier_name(setup->tier), traits_backend(setup->tier, backend)->word, why);
    else
        err_set(e, KVF_ERR_UNAVAILABLE, "the %s tier cannot be used: %s", tier_name(setup->tier), why);
    return NULL;
}

int tier_remote_check(const struct scenario *s, struct err *e) {
    const struct tier_ops *ops = ops_of[KVF_TIER_REMOTE][s->tier[KVF_TIER_REMOTE].backend];
    return scenario_remote_is_real(s) && ops->check ? ops->check(s, e) : 0;
}
