#include "engine/sampling/gpus.h"

#include <math.h>

#include "engine/service/service.h"

static void gpus_add(struct gpus *g, uint32_t index) {
    if (g->count < SNAPSHOT_GPUS_MAX) g->device[g->count++] = index;
}

/* Where MIG cuts a GPU, the driver has figures of the whole. */
static void gpus_add_of_tier(struct service *v, struct gpus *g, const struct nvml *n,
                             const struct tier_device *d) {
    int index = nvml_find(n, d->uuid, d->bus);
    if (index < 0) {
        events_add(v->events, "warning",
                   "no figures of device %u of the gpu tier (%s, %s): the management library of the driver "
                   "does not show it",
                   d->number, d->uuid, d->bus);
        return;
    }
    gpus_add(g, (uint32_t)index);
    if (nvml_device(n, (uint32_t)index)->mig == NVML_MIG_ON)
        events_add(
            v->events, "info",
            "device %u of the gpu tier is a slice of GPU %d: its figures describe the whole GPU, and its utilisation is unknown",
            d->number, index);
}

static void gpus_choose(struct service *v, struct gpus *g, const struct nvml *n) {
    struct tier *t = v->tiers[KVF_TIER_GPU];
    struct tier_device device[SNAPSHOT_GPUS_MAX];

    if (t && t->ops->devices) {
        uint32_t count = t->ops->devices(t, device, SNAPSHOT_GPUS_MAX);
        for (uint32_t i = 0; i < count; i++) gpus_add_of_tier(v, g, n, &device[i]);
        return;
    }
    uint32_t all = nvml_devices(n);
    for (uint32_t i = 0; i < all; i++) gpus_add(g, i);
    if (all > SNAPSHOT_GPUS_MAX)
        events_add(v->events, "info", "only the first %d of %u GPUs have figures", SNAPSHOT_GPUS_MAX, all);
}

void gpus_open(struct gpus *g, struct service *v) {
    struct err err = {0};
    struct nvml *n;
    struct tier *t = v->tiers[KVF_TIER_GPU];
    bool real = t && t->ops->devices;

    *g = (struct gpus){0};
    if (service_is_virtual(v)) return;
    if (nvml_open(&n, NULL, &err) == 0) {
        gpus_choose(v, g, n);
        if (g->count == 0)
            nvml_close(n);
        else if (nvml_watch_start(&g->watch, n, g->device, g->count, v->s->run.interval_ns, &err))
            events_add(v->events, "warning", "no figures of GPUs: %s", err.text);
    } else if (real) {
        events_add(v->events, "warning", "no figures of GPUs: %s", err.text);
    }
    if (!g->watch) g->count = 0;
}

/* Said once for each time that it happens. */
static void gpus_note_silence(struct gpus *g, struct events *v, bool silent) {
    if (silent && !g->silent)
        events_add(v, "warning",
                   "figures of GPUs are missing: the NVIDIA driver does not answer; the kernel log (dmesg, "
                   "NVRM) may say why");
    else if (!silent && g->silent)
        events_add(v, "info", "the NVIDIA driver answers again: there are figures of GPUs");
    g->silent = silent;
}

void gpus_snap(struct gpus *g, struct events *v, struct snapshot *snap) {
    struct nvml_sample now[SNAPSHOT_GPUS_MAX];

    if (!g->watch) return;
    gpus_note_silence(g, v, nvml_watch_read(g->watch, now) == 0);
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
                                             .ecc_errors = now[i].ecc_errors,
                                             .energy_j = now[i].energy_j};
}

void gpus_measure_from_here(struct gpus *g) {
    if (g->watch) (void)nvml_watch_read(g->watch, g->from);
    g->sent_bytes = g->received_bytes = g->linked_s = 0;
}

void gpus_measure_to_here(struct gpus *g) {
    if (g->watch) (void)nvml_watch_read(g->watch, g->to);
}

void gpus_note(struct gpus *g, const struct snapshot *snap) {
    double sent = 0, received = 0, s = snap->interval.length_s;
    for (uint32_t i = 0; i < g->count; i++) {
        sent += snap->gpu[i].pcie_tx_bytes_s;
        received += snap->gpu[i].pcie_rx_bytes_s;
    }
    if (g->count == 0 || !kvf_present(sent + received)) return;
    g->sent_bytes += sent * s;
    g->received_bytes += received * s;
    g->linked_s += s;
}

double gpus_power_w(const struct gpus *g) {
    double watts = 0;
    for (uint32_t i = 0; i < g->count; i++) {
        double s = (double)(g->to[i].at_ns - g->from[i].at_ns) / 1e9;
        if (g->from[i].at_ns == 0 || g->to[i].at_ns <= g->from[i].at_ns) return KVF_MISSING;
        watts += (g->to[i].energy_j - g->from[i].energy_j) / s;
    }
    return g->count > 0 && isfinite(watts) ? watts : KVF_MISSING;
}

double gpus_pcie_bytes_s(const struct gpus *g, bool sent) {
    return g->linked_s > 0 ? (sent ? g->sent_bytes : g->received_bytes) / g->linked_s : KVF_MISSING;
}

void gpus_close(struct gpus *g) {
    nvml_watch_stop(g->watch);
    g->watch = NULL;
}
