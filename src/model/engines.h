/* Serving engines on GPUs: the part of the data sheet that they reach, and the overhead of their steps,
 * fitted to published figures. `make validation` fits the rows on half of those figures, tests them on the
 * other half and writes both to docs/VALIDATION.md; a row here is that fit, rounded. Overheads are those of
 * one engine on every GPU. */
#ifndef KVF_MODEL_ENGINES_H
#define KVF_MODEL_ENGINES_H

#include <stdint.h>

#include "model/roofline.h"

/* id; word in scenarios; gpu; weights that were served; part of the peak; of the bandwidth; us of a step, of
 * a step with prefills, of a layer's exchange between GPUs */
#define ENGINES_LIST(X)                                                                                      \
    X(VLLM_H100_BF16, "vllm-h100-bf16", H100, BF16, 0.49, 0.87, 1050, 2300, 20)                              \
    X(VLLM_H100_FP8, "vllm-h100-fp8", H100, FP8, 0.43, 0.87, 1050, 2300, 20)                                 \
    X(VLLM_A100_BF16, "vllm-a100-bf16", A100, BF16, 0.49, 0.87, 1050, 2300, 20)                              \
    X(NIM_H100_FP8, "nim-h100-fp8", H100, FP8, 0.46, 0.69, 1050, 0, 20)                                      \
    X(H200_BF16, "h200-bf16", H200, BF16, 0.49, 0.78, 1050, 0, 20)
#define X(id, ...) ENGINES_##id,
enum engines_preset { ENGINES_LIST(X) ENGINES_PRESETS };
#undef X

struct engines_fit {
    const char *name;
    enum roofline_gpu gpu;
    enum model_weights weights; /* of the models that it was fitted with */
    double mfu, efficiency;
    uint64_t overhead_ns, prefill_overhead_ns, exchange_ns;
};
/* A constant row. Any thread. */
const struct engines_fit *engines_fit(enum engines_preset preset);

#endif
