#include "model/model.h"

/* The KV geometry, then what the weights and the computing time need: attention heads x head_dim,
 * parameters, and of these the embeddings, which quantised checkpoints keep at 16 bits. */
#define GQA(name, layer_count, heads, dim, width, type)                                                      \
    .preset = name, .layers = layer_count, .kv_heads = heads, .head_dim = dim, .hidden = width,              \
    .dtype = MODEL_DTYPE_##type, .weights = MODEL_WEIGHTS_##type
#define SLIDING(name, layer_count, sliding, keep, heads, dim, width)                                         \
    GQA(name, layer_count, heads, dim, width, BF16), .sliding_layers = sliding, .window = keep
#define MLA(name, layer_count, rank, rope, hide)                                                             \
    .preset = name, .layers = layer_count, .kv_lora_rank = rank, .rope_head_dim = rope, .hidden = hide,      \
    .dtype = MODEL_DTYPE_BF16
#define DENSE(width, all, embeddings)                                                                        \
    .attention_width = width, .parameters = all, .parameters_16bit = embeddings
#define MOE(width, all, active, embeddings, count, chosen)                                                   \
    DENSE(width, all, embeddings), .active_parameters = active, .experts = count, .experts_per_token = chosen

/* From the models' published configurations: parameters are the sums of the tensors that these describe,
 * without heads for multi-token prediction and towers for images. The type is that of the KV cache:
 * quantised weights (AWQ) leave it at 16 bits. A chunked layer of Llama 4 counts as a window of one chunk.
 * Weights of gpt-oss and DeepSeek are of the format they were published in; of gpt-oss the attention stays
 * at 16 bits as well. */
const struct model_preset model_presets[] = {
    {{GQA("tiny-1b", 12, 4, 128, 0, BF16), DENSE(1024, 1e9, 0)}, "synthetic, for small machines"},
    {{GQA("llama2-7b", 32, 32, 128, 4096, FP16), DENSE(4096, 6738415616, 262144000)}, "MHA"},
    {{GQA("llama2-13b", 40, 40, 128, 5120, FP16), DENSE(5120, 13015864320, 327680000)}, "MHA"},
    {{GQA("llama3.1-8b", 32, 8, 128, 4096, BF16), DENSE(4096, 8030261248, 1050673152)}, ""},
    {{GQA("llama3.1-70b-instruct", 80, 8, 128, 8192, BF16), DENSE(8192, 70553706496, 2101346304)}, ""},
    {{GQA("llama3.1-405b", 126, 8, 128, 16384, BF16), DENSE(16384, 405853388800, 4202692608)}, ""},
    {{GQA("llama3.2-1b", 16, 8, 64, 2048, BF16), DENSE(2048, 1235814400, 262668288)}, ""},
    {{GQA("llama3.2-3b", 28, 8, 128, 3072, BF16), DENSE(3072, 3212749824, 394002432)}, ""},
    {{SLIDING("llama4-scout", 48, 36, 8192, 8, 128, 5120),
      MOE(5120, 107769873408, 17172907008, 2068971520, 16, 1)},
     "MoE, 36 layers in chunks of 8,192"},
    {{GQA("mistral-7b", 32, 8, 128, 4096, BF16), DENSE(4096, 7241732096, 262144000)}, ""},
    {{GQA("qwen3-0.6b", 28, 8, 128, 1024, BF16), DENSE(2048, 596049920, 155582464)}, ""},
    {{GQA("qwen3-8b", 36, 8, 128, 4096, BF16), DENSE(4096, 8190735360, 1244659712)}, ""},
    {{GQA("qwen3-14b", 40, 8, 128, 5120, BF16), DENSE(5120, 14768307200, 1555824640)}, ""},
    {{GQA("qwen3-32b", 64, 8, 128, 5120, BF16), DENSE(8192, 32762123264, 1555824640)}, ""},
    {{.preset = "qwen3-32b-awq",
      .layers = 64,
      .kv_heads = 8,
      .head_dim = 128,
      .hidden = 5120,
      .dtype = MODEL_DTYPE_FP16,
      .weights = MODEL_WEIGHTS_INT4,
      DENSE(8192, 32762123264, 1555824640)},
     "4-bit weights, 16-bit KV"},
    {{GQA("qwen3-30b-a3b", 48, 4, 128, 2048, BF16), MOE(4096, 30532122624, 3353032704, 622329856, 128, 8)},
     "MoE"},
    {{GQA("qwen3-235b-a22b", 94, 4, 128, 4096, BF16),
      MOE(8192, 235093634560, 22190763520, 1244659712, 128, 8)},
     "MoE"},
    {{GQA("glm-4.5", 92, 8, 128, 5120, BF16), MOE(12288, 352796495872, 33630932992, 1551892480, 160, 8)},
     "MoE"},
    {{.preset = "gpt-oss-20b",
      .layers = 24,
      .sliding_layers = 12,
      .window = 128,
      .kv_heads = 8,
      .head_dim = 64,
      .hidden = 2880,
      .dtype = MODEL_DTYPE_BF16,
      .weights = MODEL_WEIGHTS_MXFP4,
      MOE(4096, 20907930432, 3.61e9, 1795276800, 32, 4)},
     "MoE, 12 layers with a window of 128"},
    {{.preset = "gpt-oss-120b",
      .layers = 36,
      .sliding_layers = 18,
      .window = 128,
      .kv_heads = 8,
      .head_dim = 64,
      .hidden = 2880,
      .dtype = MODEL_DTYPE_BF16,
      .weights = MODEL_WEIGHTS_MXFP4,
      MOE(4096, 116789053248, 5.13e9, 2113781760, 128, 4)},
     "MoE, 18 layers with a window of 128"},
    {{MLA("deepseek-v3", 61, 512, 64, 7168), .weights = MODEL_WEIGHTS_FP8,
      MOE(20480, 671026419200, 37552297472, 1853358080, 256, 8)},
     "MoE, MLA"},
    {{MLA("deepseek-r1", 61, 512, 64, 7168), .weights = MODEL_WEIGHTS_FP8,
      MOE(20480, 671026419200, 37552297472, 1853358080, 256, 8)},
     "MoE, MLA"},
    {{MLA("kimi-k2", 61, 512, 64, 7168), .weights = MODEL_WEIGHTS_FP8,
      MOE(10240, 1026408232448, 32861500928, 2348810240, 384, 8)},
     "MoE, MLA"},
};
const size_t model_preset_count = sizeof model_presets / sizeof model_presets[0];
