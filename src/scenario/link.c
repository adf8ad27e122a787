#include "scenario/loading.h"

#include <stdio.h>

/* Links as they were measured or published, in bytes per second and ns. A gpu preset is the way between host
 * and device, what the copies of a cache cost; device memory itself is far faster.
 *   PCIe 5.0 x16 (H100): what this program measured on one (docs/BENCHMARKS.md), 53 GB/s each way and 95 both
 * ways at once; for the H200 about 55 of the 64 that 32 GT/s give, and 83 both ways at once, measured (vLLM).
 * PCIe 4.0 x16 (A100, L40S): 22 to 25 GB/s of 32, measured with pinned memory (vLLM, pull request 40549);
 * both ways the share of the H200 is assumed. NVLink-C2C (GH200): 450 GB/s each way, the link's own rate and
 * not one of copies: NVIDIA's "Grace Hopper Superchip Architecture" and data sheet have 900 GB/s both ways,
 * ten links of 45 GB/s each way. The other tiers: the device classes that storage models commonly use; for
 * remote, Ethernet at 96 % of its line rate (frames of 9,000 bytes) behind a store that answers in a fraction
 * of a millisecond. */
#define GB UINT64_C(1000000000)
#define MB UINT64_C(1000000)
#define US UINT64_C(1000)

struct link {
    const char *name;
    struct {
        uint64_t read_bytes_per_s, write_bytes_per_s, latency_ns, both_bytes_per_s;
    } speed;
};

static const struct link gpu_links[] = {
    {"h100-pcie5", {53 * GB, 53 * GB, 8 * US, 95 * GB}},  {"h200", {55 * GB, 55 * GB, 10 * US, 83 * GB}},
    {"a100-pcie4", {24 * GB, 24 * GB, 10 * US, 36 * GB}}, {"l40s", {24 * GB, 24 * GB, 10 * US, 36 * GB}},
    {"gh200", {450 * GB, 450 * GB, 10 * US, KVF_UNSET}},
};
static const struct link cpu_links[] = {{"dram", {20 * GB, 20 * GB, 1 * US, KVF_UNSET}}};
static const struct link nvme_links[] = {
    {"nvme_gen4", {7000 * MB, 5000 * MB, 80 * US, KVF_UNSET}},
    {"nvme_gen3", {3500 * MB, 3000 * MB, 100 * US, KVF_UNSET}},
    {"sata", {550 * MB, 500 * MB, 150 * US, KVF_UNSET}},
};
static const struct link remote_links[] = {
    {"ethernet-10g", {1200 * MB, 1200 * MB, 200 * US, KVF_UNSET}},
    {"ethernet-25g", {3000 * MB, 3000 * MB, 150 * US, KVF_UNSET}},
    {"ethernet-100g", {12000 * MB, 12000 * MB, 100 * US, KVF_UNSET}},
};
#define COUNTED(id, name) +1
_Static_assert(sizeof gpu_links / sizeof *gpu_links == SCENARIO_GPU_LINK_LIST(COUNTED), "figures for each");
_Static_assert(sizeof cpu_links / sizeof *cpu_links == SCENARIO_CPU_LINK_LIST(COUNTED), "figures for each");
_Static_assert(sizeof nvme_links / sizeof *nvme_links == SCENARIO_NVME_LINK_LIST(COUNTED),
               "figures for each");
_Static_assert(sizeof remote_links / sizeof *remote_links == SCENARIO_REMOTE_LINK_LIST(COUNTED),
               "figures for each");

/* Whether the tier's key was given in the same source as the preset, or in a later one. */
static bool given_since(const struct loading *l, const char *tier, const char *key, size_t order) {
    char name[64];
    (void)snprintf(name, sizeof(name), "tiers.%s.%s", tier, key);
    return loading_given(l, name) && l->place[key_index(name)].order >= order;
}

void link_presets_apply(struct loading *l) {
    static const struct link *const links[KVF_TIERS] = {gpu_links, cpu_links, nvme_links, remote_links};

    for (int t = 0; t < KVF_TIERS; t++) {
        if (!l->s->link_preset_set[t]) continue;
        const struct link *from = &links[t][l->s->link_preset[t]];
        struct scenario_emulation *to = &l->s->emulation[t];
        const char *tier = tier_name((enum kvf_tier)t);
        char preset[64];
        (void)snprintf(preset, sizeof(preset), "tiers.%s.preset", tier);
        size_t order = l->place[key_index(preset)].order;
        if (!given_since(l, tier, "read_bandwidth", order))
            to->read_bytes_per_s = from->speed.read_bytes_per_s;
        if (!given_since(l, tier, "write_bandwidth", order))
            to->write_bytes_per_s = from->speed.write_bytes_per_s;
        if (!given_since(l, tier, "latency", order)) to->latency_ns = from->speed.latency_ns;
        /* what a direction of one's own carries, both together are not known to */
        bool own =
            given_since(l, tier, "read_bandwidth", order) || given_since(l, tier, "write_bandwidth", order);
        if (!given_since(l, tier, "both_bandwidth", order))
            to->both_bytes_per_s = own ? KVF_UNSET : from->speed.both_bytes_per_s;
    }
}
