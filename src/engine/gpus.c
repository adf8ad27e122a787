#include "engine/gpus.h"

#include <stdlib.h>

#include "engine/core.h"

/* Whether the gpu tier moves bytes in device memory. */
static bool tier_is_real(const struct engine *e) {
    struct tier *t = e->tiers[KVF_TIER_GPU];
    return t && !(t->ops->caps(t) & TIER_EMULATED);
}

static void gpus_choose(struct engine *e, struct gpus *g, const struct nvml *n, bool real) {
    uint32_t wanted = real ? e->s->gpu.device_count : nvml_devices(n);

    for (uint32_t i = 0; i < wanted; i++) {
        uint32_t number = real ? e->s->gpu.devices[i] : i;
        int index = real ? nvml_ordinal(n, number, getenv("CUDA_VISIBLE_DEVICES")) : (int)i;
        if (index < 0)
            engine_event(e, "warning",
                         "no figures of GPU %u: the management library of the driver does not show it",
                         number);
        else if (g->count < SNAPSHOT_GPUS_MAX)
            g->device[g->count++] = (uint32_t)index;
    }
    if (wanted > SNAPSHOT_GPUS_MAX)
        engine_event(e, "info", "figures of the first %d GPUs alone are kept, of %u", SNAPSHOT_GPUS_MAX,
                     wanted);
}

void gpus_open(struct engine *e, struct gpus *g) {
    struct err err = {0};
    struct nvml *n;
    bool real = tier_is_real(e);

    *g = (struct gpus){0};
    if (nvml_open(&n, NULL, &err) == 0) {
        gpus_choose(e, g, n, real);
        if (g->count == 0)
            nvml_close(n);
        else if (nvml_watch_start(&g->watch, n, g->device, g->count, e->s->run.interval_ns, &err))
            engine_event(e, "warning", "no figures of GPUs: %s", err.text);
    } else if (real) {
        engine_event(e, "warning", "no figures of GPUs: %s", err.text);
    }
    if (!g->watch) g->count = 0;
}

void gpus_snap(struct gpus *g, struct snapshot *snap) {
    struct nvml_sample now[SNAPSHOT_GPUS_MAX];

    if (!g->watch) return;
    (void)nvml_watch_read(g->watch, now);
    snap->gpus = g->count;
    for (uint32_t i = 0; i < g->count; i++)
        snap->gpu[i] = (struct snapshot_gpu){.device = g->device[i],
                                             .utilisation = now[i].utilisation,
                                             .memory_used_bytes = now[i].memory_used_bytes,
                                             .memory_total_bytes = now[i].memory_total_bytes,
                                             .pcie_rx_bytes_s = now[i].pcie_rx_bytes_s,
                                             .pcie_tx_bytes_s = now[i].pcie_tx_bytes_s,
                                             .power_w = now[i].power_w,
                                             .temperature_c = now[i].temperature_c,
                                             .clock_sm_mhz = now[i].clock_sm_mhz,
                                             .clock_mem_mhz = now[i].clock_mem_mhz,
                                             .ecc_errors = now[i].ecc_errors};
}

void gpus_close(struct gpus *g) {
    nvml_watch_stop(g->watch);
    g->watch = NULL;
}
