#include "scenario/loading.h"

#include <stdio.h>

/* Whether the tier's key was given in the same source as the preset, or in a later one. */
static bool given_since(const struct loading *l, enum kvf_tier tier, const char *name, size_t order) {
    int key = key_of_tier(tier, name);
    return l->given[key] && l->place[key].order >= order;
}

void link_presets_apply(struct loading *l) {
    for (int t = 0; t < KVF_TIERS; t++) {
        struct scenario_emulation *to = &l->s->tier[t].emulation;
        const struct traits_link *from = traits_link(t, l->s->tier[t].preset);
        size_t order = l->place[key_of_tier(t, "preset")].order;
        if (!l->s->tier[t].preset_set) continue;
        bool reads = given_since(l, t, "read_bandwidth", order);
        bool writes = given_since(l, t, "write_bandwidth", order);
        if (!reads) to->read_bytes_per_s = from->read_bytes_per_s;
        if (!writes) to->write_bytes_per_s = from->write_bytes_per_s;
        if (!given_since(l, t, "latency", order)) to->latency_ns = from->latency_ns;
        /* what a direction of one's own carries, both together are not known to */
        bool limited = !reads && !writes && from->both_bytes_per_s > 0;
        if (!given_since(l, t, "both_bandwidth", order))
            to->both_bytes_per_s = limited ? from->both_bytes_per_s : KVF_UNSET;
    }
}

/* Whether a key of the preset's is left to it: not given beside the preset or by a later source. */
static bool left(const struct loading *l, const char *name) {
    char key[64];
    (void)snprintf(key, sizeof key, "compute.%s", name);
    int given = key_index(key), preset = key_index("compute.preset");
    return !l->given[given] || l->place[given].order < l->place[preset].order;
}

void link_engine_apply(struct loading *l) {
    struct scenario *s = l->s;
    const struct engines_fit *from = engines_fit(s->compute.preset);
    if (!s->compute.preset_set) return;
    if (left(l, "gpu")) s->compute.gpu = from->gpu;
    if (left(l, "mfu")) s->compute.mfu = from->mfu;
    if (left(l, "efficiency")) s->compute.efficiency = from->efficiency;
    if (left(l, "overhead")) s->compute.overhead_ns = from->overhead_ns;
    if (left(l, "prefill_overhead")) s->compute.prefill_overhead_ns = from->prefill_overhead_ns;
    if (left(l, "exchange")) s->compute.exchange_ns = from->exchange_ns;
    if (left(l, "kernels")) s->compute.kernels = KVF_KERNELS_APART;
}

/* The one for weights of these bits on the same GPU; NULL: there is none. */
static const char *engine_for(enum roofline_gpu gpu, double bits) {
    for (enum engines_preset i = 0; i < ENGINES_PRESETS; i++) {
        const struct engines_fit *fit = engines_fit(i);
        if (fit->gpu == gpu && model_weights_bits(fit->weights) == bits) return fit->name;
    }
    return NULL;
}

void link_engine_check(struct loading *l) {
    const struct scenario *s = l->s;
    const struct engines_fit *fit = engines_fit(s->compute.preset);
    double bits = model_weights_bits(s->model.weights);
    if (!s->compute.preset_set || (!left(l, "mfu") && !left(l, "efficiency"))) return;
    if (bits == model_weights_bits(fit->weights)) return;
    const char *other = engine_for(fit->gpu, bits);
    problem_of(l, "compute.preset", "model.weights",
               "%s was fitted with %s weights, and those of the model are %s; %s%s%sgive compute.mfu and "
               "compute.efficiency of your own",
               fit->name, model_weights_name(fit->weights), model_weights_name(s->model.weights),
               other ? "take " : "", other ? other : "", other ? ", or " : "");
}
