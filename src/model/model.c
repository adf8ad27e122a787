#include "model/model.h"

#include <math.h>
#include <string.h>

#include "base/nearest.h"

#define X(id, name, bytes) {name, bytes},
static const struct {
    const char *name;
    uint32_t bytes;
} dtypes[] = {MODEL_DTYPE_LIST(X)};
#undef X

#define X(id, name, bits) {name, bits},
static const struct {
    const char *name;
    double bits;
} weights[] = {MODEL_WEIGHTS_LIST(X)};
#undef X

const struct model_preset *model_find(const char *preset) {
    for (size_t i = 0; i < model_preset_count; i++)
        if (strcmp(model_presets[i].model.preset, preset) == 0) return &model_presets[i];
    return NULL;
}

const char *model_nearest(const char *name) {
    struct nearest n = nearest_start(name);
    for (size_t i = 0; i < model_preset_count; i++) nearest_offer(&n, model_presets[i].model.preset);
    return n.best;
}

const char *model_dtype_name(enum model_dtype d) {
    return (unsigned)d < MODEL_DTYPES ? dtypes[d].name : "?";
}

double model_weights_bits(enum model_weights w) {
    return weights[w].bits;
}

const char *model_weights_name(enum model_weights w) {
    return (unsigned)w < MODEL_WEIGHTS ? weights[w].name : "?";
}

const char *model_format_name(const char *word) {
    static const struct {
        const char *spelt, *name;
    } formats[] = {{"float32", "fp32"}, {"bfloat16", "bf16"}, {"float16", "fp16"}};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (strcmp(word, formats[i].spelt) == 0) return formats[i].name;
    return word;
}

static uint32_t dtype_bytes(enum model_dtype d) {
    return (unsigned)d < MODEL_DTYPES ? dtypes[d].bytes : 0;
}

static int check_heads(const struct model *m, struct err *e) {
    if (m->kv_lora_rank) {
        if (m->kv_heads || m->head_dim)
            return err_set(
                e, KVF_ERR_USAGE,
                "kv_lora_rank %u means one latent per layer (MLA), which has no KV heads; set kv_heads and "
                "head_dim to 0, or kv_lora_rank and rope_head_dim",
                m->kv_lora_rank);
        return 0;
    }
    if (m->rope_head_dim)
        return err_set(e, KVF_ERR_USAGE,
                       "rope_head_dim %u belongs to MLA; give kv_lora_rank too, or set it to 0",
                       m->rope_head_dim);
    if (!m->kv_heads) return err_set(e, KVF_ERR_USAGE, "kv_heads is missing; name a preset or give it");
    if (!m->head_dim) return err_set(e, KVF_ERR_USAGE, "head_dim is missing; name a preset or give it");
    return 0;
}

static int check_parameters(const struct model *m, struct err *e) {
    if ((unsigned)m->weights >= MODEL_WEIGHTS)
        return err_set(e, KVF_ERR_USAGE, "number format %u of the weights is unknown", m->weights);
    if (m->active_parameters > m->parameters)
        return err_set(e, KVF_ERR_USAGE, "active_parameters %.4g is more than all %.4g parameters",
                       m->active_parameters, m->parameters);
    if (m->parameters_16bit > m->parameters)
        return err_set(e, KVF_ERR_USAGE, "parameters_16bit %.4g is more than all %.4g parameters",
                       m->parameters_16bit, m->parameters);
    if (m->experts_per_token > m->experts)
        return err_set(e, KVF_ERR_USAGE, "experts_per_token %u is more than all %u experts",
                       m->experts_per_token, m->experts);
    if (m->experts && !m->experts_per_token)
        return err_set(e, KVF_ERR_USAGE,
                       "%u experts need experts_per_token; give it, or set experts to 0 for a dense model",
                       m->experts);
    return 0;
}

int model_check(const struct model *m, struct err *e) {
    if (!m->layers) return err_set(e, KVF_ERR_USAGE, "layers is missing; name a preset or give it");
    if ((unsigned)m->dtype >= MODEL_DTYPES) return err_set(e, KVF_ERR_USAGE, "dtype %u is unknown", m->dtype);
    if (m->sliding_layers > m->layers)
        return err_set(e, KVF_ERR_USAGE, "sliding_layers %u is more than all %u layers", m->sliding_layers,
                       m->layers);
    if (m->sliding_layers && !m->window)
        return err_set(e, KVF_ERR_USAGE,
                       "%u sliding layers need a window; give window in tokens, or set sliding_layers to 0",
                       m->sliding_layers);
    if (m->window && !m->sliding_layers)
        return err_set(e, KVF_ERR_USAGE,
                       "a window of %u tokens needs sliding layers; give sliding_layers, or set window to 0",
                       m->window);
    if (check_heads(m, e)) return -KVF_ERR_USAGE;
    return check_parameters(m, e);
}

/* Bytes of one token in one layer on one rank. */
static uint64_t layer_bytes(const struct model *m, uint32_t tp) {
    uint64_t dtype = dtype_bytes(m->dtype);
    if (m->kv_lora_rank) return ((uint64_t)m->kv_lora_rank + m->rope_head_dim) * dtype;
    uint64_t heads = tp > 1 ? m->kv_heads / tp : m->kv_heads;
    if (heads == 0) heads = 1; /* ranks beyond the number of heads keep copies */
    return 2 * heads * m->head_dim * dtype;
}

uint64_t model_kv_bytes(const struct model *m, uint32_t tp, uint64_t tokens) {
    uint64_t kept = tokens < m->window ? tokens : m->window;
    unsigned __int128 places = (unsigned __int128)(m->layers - m->sliding_layers) * tokens;
    places += (unsigned __int128)m->sliding_layers * kept;
    unsigned __int128 bytes = places * layer_bytes(m, tp);
    return bytes > UINT64_MAX ? UINT64_MAX : (uint64_t)bytes;
}

uint64_t model_kv_bytes_range(const struct model *m, uint32_t tp, uint64_t first, uint64_t count) {
    return model_kv_bytes(m, tp, first + count) - model_kv_bytes(m, tp, first);
}

uint64_t model_bytes_per_token(const struct model *m, uint32_t tp) {
    return m->layers * layer_bytes(m, tp);
}

uint64_t model_full_bytes_per_token(const struct model *m, uint32_t tp) {
    return (m->layers - m->sliding_layers) * layer_bytes(m, tp);
}

uint64_t model_kv_tokens(const struct model *m, uint32_t tp, uint64_t bytes) {
    uint64_t all = model_bytes_per_token(m, tp), full = model_full_bytes_per_token(m, tp);
    if (m->sliding_layers == 0 || bytes / all < m->window) return bytes / all;
    return m->window + (full > 0 ? (bytes - all * m->window) / full : 0);
}

uint64_t model_weight_bytes(const struct model *m) {
    double bits = model_weights_bits(m->weights), kept = bits < 16 ? m->parameters_16bit : 0;
    double bytes = (m->parameters - kept) * (bits / 8);
    return (uint64_t)llround(bytes) + (uint64_t)llround(kept * 2);
}
