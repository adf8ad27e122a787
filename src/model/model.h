/* Geometry of a model: bytes of KV of a context, bytes of its weights, and the figures that a model of its
 * computing time needs. Pure; any thread. */
#ifndef KVF_MODEL_MODEL_H
#define KVF_MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define MODEL_DTYPE_LIST(X)                                                                                  \
    X(FP32, "fp32", 4) X(BF16, "bf16", 2) X(FP16, "fp16", 2) X(FP8, "fp8", 1) X(INT8, "int8", 1)
#define X(id, name, bytes) MODEL_DTYPE_##id,
enum model_dtype { MODEL_DTYPE_LIST(X) MODEL_DTYPES };
#undef X

/* Number formats of weights, in bits per parameter. Four-bit formats keep a scale beside every group: int4
 * 16 bits and a zero point of 4 for 128 weights (AWQ, GPTQ), mxfp4 8 bits for 32 (OCP Microscaling Formats).
 */
#define MODEL_WEIGHTS_LIST(X)                                                                                \
    X(FP32, "fp32", 32.0)                                                                                    \
    X(BF16, "bf16", 16.0)                                                                                    \
    X(FP16, "fp16", 16.0)                                                                                    \
    X(FP8, "fp8", 8.0) X(INT8, "int8", 8.0) X(INT4, "int4", 4.15625) X(MXFP4, "mxfp4", 4.25)
#define X(id, name, bits) MODEL_WEIGHTS_##id,
enum model_weights { MODEL_WEIGHTS_LIST(X) MODEL_WEIGHTS };
#undef X

/* layers counts all; sliding_layers of them keep only the last `window` tokens. MLA models have
 * kv_lora_rank > 0 and keep one latent of kv_lora_rank + rope_head_dim per layer and token. */
struct model {
    char preset[48]; /* name of the preset it started from */
    uint32_t layers;
    uint32_t sliding_layers; /* of layers; 0: all attend to everything */
    uint32_t window;         /* tokens a sliding layer keeps; 0 with no sliding layers */
    uint32_t kv_heads;
    uint32_t head_dim;
    uint32_t kv_lora_rank;  /* MLA; 0 for GQA and MHA */
    uint32_t rope_head_dim; /* MLA */
    uint32_t hidden;        /* model width; 0 where unknown */
    enum model_dtype dtype; /* of the KV cache, not of the weights */
    /* for weights and computing time */
    double parameters;          /* all of them; 0: unknown */
    double active_parameters;   /* that a token uses; 0: all (MoE uses fewer) */
    double parameters_16bit;    /* that stay at 16 bits when the weights have fewer: embeddings and such */
    uint32_t attention_width;   /* attention heads x head_dim; MLA: x mean of key and value; 0: unknown */
    uint32_t experts;           /* of an MoE layer; 0: dense */
    uint32_t experts_per_token; /* that are chosen among these */
    enum model_weights weights; /* number format of the others */
};

struct model_preset {
    struct model model;
    const char *note; /* one phrase for the table; "" */
};
extern const struct model_preset model_presets[];
extern const size_t model_preset_count;

const struct model_preset *model_find(const char *preset); /* NULL when unknown */
const char *model_nearest(const char *name);               /* nearest preset name by edit distance, or NULL */
const char *model_dtype_name(enum model_dtype d);          /* "bf16" */
const char *model_weights_name(enum model_weights w);      /* "int4" */
double model_weights_bits(enum model_weights w); /* of a parameter, scales included; w is one of the list */
/* The short name of a format that frameworks spell out: "bf16" for "bfloat16"; any other word unchanged. */
const char *model_format_name(const char *word);
/* Checks that the geometry does not contradict itself: 0, or -KVF_ERR_USAGE with a sentence. */
int model_check(const struct model *m, struct err *e);

/* KV bytes of a context of `tokens` tokens as one of `tp` tensor-parallel ranks keeps it.
 * GQA/MHA: layers x 2 x heads x head_dim x dtype, heads = max(1, kv_heads / tp); MLA: layers x
 * (kv_lora_rank + rope_head_dim) x dtype, the same on every rank. Sliding layers count
 * min(tokens, window). Sources: the models' published configurations. */
uint64_t model_kv_bytes(const struct model *m, uint32_t tp, uint64_t tokens);
/* KV bytes of the tokens [first, first + count) of a context: model_kv_bytes(first + count) - (first). */
uint64_t model_kv_bytes_range(const struct model *m, uint32_t tp, uint64_t first, uint64_t count);
/* Tokens of a context whose KV has that many bytes, the inverse of model_kv_bytes(). Where all layers slide,
 * the answer is at most the window. */
uint64_t model_kv_tokens(const struct model *m, uint32_t tp, uint64_t bytes);
/* KV bytes of a token inside every window. */
uint64_t model_bytes_per_token(const struct model *m, uint32_t tp);
/* The part of them in layers that do not slide. */
uint64_t model_full_bytes_per_token(const struct model *m, uint32_t tp);
/* Bytes of all weights at their own precision, of all ranks together: parameters x bits / 8, where those
 * that stay at 16 bits take 16. 0 when the number of parameters is unknown. */
uint64_t model_weight_bytes(const struct model *m);

#endif
