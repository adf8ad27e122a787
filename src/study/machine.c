#include "study/machine.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include "probe/host.h"
#include "tier/tier.h"

void machine_measure(const struct scenario *s, struct budget_machine *m) {
    struct host host;
    dev_t device[SCENARIO_PATHS_MAX] = {0};
    bool known[SCENARIO_PATHS_MAX] = {false};

    if (s->mode == KVF_MODE_SIMULATE) {
        budget_machine_any(m);
        return;
    }
    host_probe(&host);
    *m = (struct budget_machine){.memory_available_bytes = host.memory_available_bytes,
                                 .memory_from_cgroup = host.memory_from_cgroup,
                                 .cpus = host.cpus_usable};
    uint32_t beside = s->ranks.beside > 1 ? s->ranks.beside : 1; /* ranks share what their host has */
    m->memory_available_bytes /= beside;
    m->cpus = m->cpus > beside ? m->cpus / beside : 1;
    for (uint32_t i = 0; i < SCENARIO_PATHS_MAX; i++) m->disk_free_bytes[i] = KVF_UNSET;
    if (!s->tier[KVF_TIER_NVME].on) return;
    m->disk_leftover_bytes = tier_nvme_unmarked(s, m->disk_leftovers, sizeof m->disk_leftovers);
    for (uint32_t i = 0; i < s->nvme.path_count && i < SCENARIO_PATHS_MAX; i++) {
        struct statvfs fs;
        struct stat st;
        if (statvfs(s->nvme.path[i], &fs) || stat(s->nvme.path[i], &st)) continue;
        m->disk_free_bytes[i] = (uint64_t)fs.f_bavail * fs.f_frsize / beside;
        device[i] = st.st_dev;
        known[i] = true;
        for (uint32_t j = 0; j < i; j++)
            if (known[j] && device[j] == device[i]) m->disk_same_fs[i] = true;
    }
}

void machine_choose_gpu(struct scenario *s) {
    char why[400];
    if (s->mode == KVF_MODE_REAL && s->tier[KVF_TIER_GPU].on &&
        s->tier[KVF_TIER_GPU].backend == KVF_BACKEND_AUTO && tier_cuda_ready(s, why, sizeof why))
        s->tier[KVF_TIER_GPU].backend = KVF_BACKEND_CUDA;
}
