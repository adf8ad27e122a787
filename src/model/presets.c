#include "model/model.h"

#define GQA(name, layer_count, heads, dim, width, type)                                                      \
    {                                                                                                        \
        .preset = name, .layers = layer_count, .kv_heads = heads, .head_dim = dim, .hidden = width,          \
        .dtype = MODEL_DTYPE_##type                                                                          \
    }
#define SLIDING(name, layer_count, sliding, keep, heads, dim, width)                                         \
    {                                                                                                        \
        .preset = name, .layers = layer_count, .sliding_layers = sliding, .window = keep, .kv_heads = heads, \
        .head_dim = dim, .hidden = width, .dtype = MODEL_DTYPE_BF16                                          \
    }
#define MLA(name, layer_count, rank, rope, width)                                                            \
    {                                                                                                        \
        .preset = name, .layers = layer_count, .kv_lora_rank = rank, .rope_head_dim = rope, .hidden = width, \
        .dtype = MODEL_DTYPE_BF16                                                                            \
    }

/* From the models' published configurations. The type is that of the KV cache: quantised weights
 * (AWQ) leave it at 16 bits. A chunked layer of Llama 4 counts as a window of one chunk. */
const struct model_preset model_presets[] = {
    {GQA("tiny-1b", 12, 4, 128, 0, BF16), "synthetic, for small machines"},
    {GQA("llama2-7b", 32, 32, 128, 4096, FP16), "MHA"},
    {GQA("llama2-13b", 40, 40, 128, 5120, FP16), "MHA"},
    {GQA("llama3.1-8b", 32, 8, 128, 4096, BF16), ""},
    {GQA("llama3.1-70b-instruct", 80, 8, 128, 8192, BF16), ""},
    {GQA("llama3.1-405b", 126, 8, 128, 16384, BF16), ""},
    {GQA("llama3.2-1b", 16, 8, 64, 2048, BF16), ""},
    {GQA("llama3.2-3b", 28, 8, 128, 3072, BF16), ""},
    {SLIDING("llama4-scout", 48, 36, 8192, 8, 128, 5120), "MoE, 36 layers in chunks of 8,192"},
    {GQA("mistral-7b", 32, 8, 128, 4096, BF16), ""},
    {GQA("qwen3-0.6b", 28, 8, 128, 1024, BF16), ""},
    {GQA("qwen3-8b", 36, 8, 128, 4096, BF16), ""},
    {GQA("qwen3-14b", 40, 8, 128, 5120, BF16), ""},
    {GQA("qwen3-32b", 64, 8, 128, 5120, BF16), ""},
    {GQA("qwen3-32b-awq", 64, 8, 128, 5120, FP16), "4-bit weights, 16-bit KV"},
    {GQA("qwen3-30b-a3b", 48, 4, 128, 2048, BF16), "MoE"},
    {GQA("qwen3-235b-a22b", 94, 4, 128, 4096, BF16), "MoE"},
    {GQA("glm-4.5", 92, 8, 128, 5120, BF16), "MoE"},
    {SLIDING("gpt-oss-20b", 24, 12, 128, 8, 64, 2880), "MoE, 12 layers with a window of 128"},
    {SLIDING("gpt-oss-120b", 36, 18, 128, 8, 64, 2880), "MoE, 18 layers with a window of 128"},
    {MLA("deepseek-v3", 61, 512, 64, 7168), "MoE, MLA"},
    {MLA("deepseek-r1", 61, 512, 64, 7168), "MoE, MLA"},
    {MLA("kimi-k2", 61, 512, 64, 7168), "MoE, MLA"},
};
const size_t model_preset_count = sizeof(model_presets) / sizeof(model_presets[0]);
