#include "traits/traits.h"

#define COUNT(rows) (sizeof rows / sizeof *rows)

#define X(id, word, token, caps, key, help) {word, caps, key, "no tier's policy is " word, help},
static const struct traits_policy policies[] = {TRAITS_POLICY_LIST(X)};
#undef X

#define X(id, word, token, caps, block, context, key, marks, help)                                           \
    {word, caps, block, context, key, "the source is not " word, marks, help},
static const struct traits_source sources[] = {TRAITS_SOURCE_LIST(X)};
#undef X

#define X(id, word, token, caps, help) {word, caps, help},
static const struct traits_routing routings[] = {TRAITS_ROUTING_LIST(X)};
static const struct traits_backend gpu_backends[] = {TRAITS_GPU_BACKEND_LIST(X)};
static const struct traits_backend cpu_backends[] = {TRAITS_CPU_BACKEND_LIST(X)};
static const struct traits_backend nvme_backends[] = {TRAITS_NVME_BACKEND_LIST(X)};
#undef X
#define X(id, word, token, caps, help, ...) {word, caps, help},
static const struct traits_backend remote_backends[] = {TRAITS_REMOTE_BACKEND_LIST(X)};
#undef X

#define MB                                      UINT64_C(1000000)
#define US                                      UINT64_C(1000)
#define X(id, word, read, write, latency, both) {word, read * MB, write * MB, latency * US, both * MB},
static const struct traits_link gpu_links[] = {TRAITS_GPU_LINK_LIST(X)};
static const struct traits_link cpu_links[] = {TRAITS_CPU_LINK_LIST(X)};
static const struct traits_link nvme_links[] = {TRAITS_NVME_LINK_LIST(X)};
static const struct traits_link remote_links[] = {TRAITS_REMOTE_LINK_LIST(X)};
#undef X

/* The lists that every tier has. */
static const struct {
    const struct traits_backend *backends;
    size_t backend_count;
    const struct traits_link *links;
    size_t link_count;
} tiers[KVF_TIERS] = {
    [KVF_TIER_GPU] = {gpu_backends, COUNT(gpu_backends), gpu_links, COUNT(gpu_links)},
    [KVF_TIER_CPU] = {cpu_backends, COUNT(cpu_backends), cpu_links, COUNT(cpu_links)},
    [KVF_TIER_NVME] = {nvme_backends, COUNT(nvme_backends), nvme_links, COUNT(nvme_links)},
    [KVF_TIER_REMOTE] = {remote_backends, COUNT(remote_backends), remote_links, COUNT(remote_links)},
};

const struct traits_policy *traits_policy(unsigned id) {
    return id < COUNT(policies) ? &policies[id] : NULL;
}

const struct traits_source *traits_source(unsigned id) {
    return id < COUNT(sources) ? &sources[id] : NULL;
}

const struct traits_routing *traits_routing(unsigned id) {
    return id < COUNT(routings) ? &routings[id] : NULL;
}

const struct traits_backend *traits_backend(enum kvf_tier tier, unsigned id) {
    return id < tiers[tier].backend_count ? &tiers[tier].backends[id] : NULL;
}

const struct traits_link *traits_link(enum kvf_tier tier, unsigned id) {
    return id < tiers[tier].link_count ? &tiers[tier].links[id] : NULL;
}
