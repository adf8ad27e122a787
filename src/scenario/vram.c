#include <math.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/units.h"
#include "scenario/scenario.h"

/* In whole parts, as a part of so many bytes is the same number everywhere. */
static uint64_t part_of(uint64_t bytes, double part) {
    const uint64_t parts = 1000000;
    return (uint64_t)((unsigned __int128)bytes * (uint64_t)llround(part * (double)parts) / parts);
}

static int nothing_left(const struct scenario *s, const struct scenario_vram *v, struct err *e) {
    char memory[32], weights[32], margin[32];
    return err_set(
        e, KVF_ERR_USAGE,
        "%u x %s of memory at gpu_memory_utilization %.4g leave nothing for KV beside %s of weights "
        "and %s of activations on each; give more GPUs (compute.tp), larger ones (compute.gpu), or "
        "weights of fewer bits (model.weights)",
        v->devices, units_size_human((double)v->vram_bytes, memory, sizeof memory),
        s->compute.gpu_memory_utilization, units_size_human((double)v->weight_bytes, weights, sizeof weights),
        units_size_human((double)v->margin_bytes, margin, sizeof margin));
}

int scenario_vram(const struct scenario *s, struct scenario_vram *v, struct err *e) {
    const struct roofline_device *d = roofline_device(s->compute.gpu);
    uint64_t vram = s->compute.vram_bytes != KVF_UNSET ? s->compute.vram_bytes : d ? d->vram_bytes : 0;
    *v = (struct scenario_vram){.devices = scenario_compute_devices(s),
                                .vram_bytes = vram,
                                .used_bytes = part_of(vram, s->compute.gpu_memory_utilization),
                                .margin_bytes = s->compute.activation_margin_bytes,
                                .weight_bytes = model_weight_bytes(&s->model)};
    if (vram == 0) return err_set(e, KVF_ERR_USAGE, "gpu custom has no memory of its own; give compute.vram");
    uint64_t left = v->used_bytes > v->margin_bytes ? (v->used_bytes - v->margin_bytes) * v->devices : 0;
    /* one rank's part, in tokens: what ranks keep twice, as the latent of MLA, takes room twice */
    uint64_t token = model_bytes_per_token(&s->model, v->devices);
    v->kv_bytes = left > v->weight_bytes ? left - v->weight_bytes : 0;
    v->tokens = v->kv_bytes / v->devices / (token ? token : 1);
    v->capacity_bytes = v->tokens * model_bytes_per_token(&s->model, s->tensor_parallel);
    return v->tokens > 0 ? 0 : nothing_left(s, v, e);
}

static void text_line(struct buf *out, const char *name, double bytes, const char *how) {
    char size[32];
    buf_addf(out, "%-12s %10s  %s\n", name, units_size_human(bytes, size, sizeof size), how);
}

void scenario_vram_text(const struct scenario *s, struct buf *out) {
    struct scenario_vram v;
    char how[160], one[32], count[32];
    if (scenario_vram(s, &v, NULL)) return;
    double devices = v.devices;
    (void)snprintf(how, sizeof how, "%u x %s, of which gpu_memory_utilization %.4g is used", v.devices,
                   units_size_human((double)v.vram_bytes, one, sizeof one),
                   s->compute.gpu_memory_utilization);
    text_line(out, "memory", devices * (double)v.used_bytes, how);
    (void)snprintf(how, sizeof how, "- %.4g parameters, %s", s->model.parameters,
                   model_weights_name(s->model.weights));
    text_line(out, "weights", (double)v.weight_bytes, how);
    (void)snprintf(how, sizeof how, "- activation_margin %s on each of %u",
                   units_size_human((double)v.margin_bytes, one, sizeof one), v.devices);
    text_line(out, "activations", devices * (double)v.margin_bytes, how);
    (void)snprintf(how, sizeof how, "= KV of %s tokens",
                   units_count_human((double)v.tokens, count, sizeof count));
    text_line(out, "left", (double)v.kv_bytes, how);
    if (!s->tier[KVF_TIER_GPU].on || s->tier[KVF_TIER_GPU].capacity_bytes != KVF_AUTO) return;
    (void)snprintf(how, sizeof how, "tiers.gpu.capacity: auto%s; headroom %.3g is taken off it",
                   s->tensor_parallel > 1 ? ", of one rank as all sizes are" : "", s->cache.headroom);
    text_line(out, "gpu tier", (double)v.capacity_bytes, how);
}
