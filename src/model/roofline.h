/* Computing time of an inference step on a GPU: the larger of what its arithmetic and what its memory
 * traffic take (Williams, Waterman, Patterson: Roofline, CACM 52(4), 2009).
 *
 *   arithmetic = (2 P t + 2 n (n + 2 c) d L) / (tp x peak_flops x mfu)
 *   memory     = (weights + KV that is read) / (tp x bandwidth x efficiency)
 *   step       = max(arithmetic, memory) + overheads + new KV / store bandwidth + new tokens x store time
 *
 * With kernels `apart` the layers' matrices and attention follow each other, as engines run them, and neither
 * hides the other: step = max(2 P t, weights) + max(pairs, KV that is read) + ..., each side at its rate.
 * Overheads are those of a step, of one that has prefills, of each layer's exchange between GPUs.
 *
 * P parameters that a token uses, t new tokens, n new tokens of a sequence behind c earlier ones (causal:
 * half of the n x n pairs), d attention width, L layers. A sliding layer counts the pairs inside its window.
 * KV is read once a step by every sequence. Of an MoE model a step reads the experts that its tokens choose,
 * a part of 1 - (1 - chosen / experts)^t of them when choices are even.
 *
 * Times are whole femtoseconds, sums and products of integers, so that they are the same on every machine
 * and a sum over steps does not depend on how it is cut. Pure functions of constant structs: any thread. */
#ifndef KVF_MODEL_ROOFLINE_H
#define KVF_MODEL_ROOFLINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "model/model.h"

#define ROOFLINE_GPU_LIST(X)                                                                                 \
    X(H100, "h100") X(H200, "h200") X(A100, "a100") X(L40S, "l40s") X(CUSTOM, "custom")
#define X(id, name) ROOFLINE_GPU_##id,
enum roofline_gpu { ROOFLINE_GPU_LIST(X) ROOFLINE_GPUS };
#undef X

/* One device: dense peak FLOP/s by the width of the weights (weights of four bits are widened to 16 before
 * they are multiplied), bytes/s of its memory, and bytes of it as the maker counts them (GB of 10^9). */
struct roofline_device {
    const char *name;
    double flops_16bit, flops_fp8, flops_int8;
    double bytes_per_s;
    uint64_t vram_bytes;
};
/* Sources: NVIDIA's data sheets of H100 SXM, H200 SXM, A100 SXM (80 GB) and L40S. NULL for custom. */
const struct roofline_device *roofline_device(enum roofline_gpu gpu);

struct roofline_setup {
    enum roofline_gpu gpu;
    double peak_flops;            /* of a device at the width of the weights; 0: of the gpu */
    double bytes_per_s;           /* 0: of the gpu */
    uint32_t tp;                  /* devices that share the model */
    double mfu;                   /* part of the peak that arithmetic gets, above 0 */
    double efficiency;            /* part of the bandwidth that memory traffic gets, above 0 */
    uint64_t overhead_ns;         /* of every step */
    uint64_t prefill_overhead_ns; /* of a step in which a sequence has more than one token */
    uint64_t exchange_ns;         /* of each layer of a step where tp is more than 1 */
    bool apart;                   /* attention behind the matrices, not beside them */
    double store_token_ns;        /* that a step takes for each new token because it is stored */
    double store_bytes_per_s; /* at which a step copies the KV that it makes elsewhere; 0: takes no time */
};

/* Femtoseconds; 128 bits, because a jump over many steps is a product of three large counts. */
__extension__ typedef unsigned __int128 roofline_fs;
#define ROOFLINE_FS_PER_NS UINT64_C(1000000)

struct roofline {
    uint64_t token_fs; /* arithmetic of a token outside attention */
    uint64_t pair_fs,
        pair_slide_fs; /* half that of a pair: in all layers that attend to everything; that slide */
    uint64_t dense_fs, experts_fs;   /* reading the weights that every step reads; all experts */
    uint64_t unchosen_q62;           /* part of the experts that one token leaves alone, in 2^-62 */
    uint64_t kept_fs, kept_slide_fs; /* reading a token's KV */
    uint64_t overhead_fs, store_fs;  /* of a step; of each new token in it */
    uint64_t prefill_fs;             /* of a step with prefills */
    uint64_t window;
    bool apart;
};

/* 0, or -KVF_ERR_USAGE when the model or the device lacks a figure that the formulas need. */
int roofline_init(struct roofline *r, const struct model *m, const struct roofline_setup *setup,
                  struct err *e);

/* The work of a step: set to {0}, then add each sequence. */
struct roofline_load {
    uint64_t tokens, sequences; /* new tokens of all sequences; these */
    roofline_fs pairs, slides;  /* twice the pairs (new, earlier or same): everywhere; inside the window */
    uint64_t kept, kept_slide;  /* earlier tokens whose KV is read */
};
/* A sequence that computes n new tokens behind `cached` earlier ones; n = 1 for a decode. */
void roofline_add(const struct roofline *r, struct roofline_load *load, uint64_t n, uint64_t cached);
/* Takes back what the same call of roofline_add() added. */
void roofline_remove(const struct roofline *r, struct roofline_load *load, uint64_t n, uint64_t cached);

/* Equal steps of a batch that grows by one token per sequence and step. `sequences` of the load's are
 * decoding, and `sliding` of them are shorter than the window and remain so. With sequences = 0 all steps
 * are like the first. */
struct roofline_run {
    roofline_fs flops, memory;               /* of the first step */
    roofline_fs flops_growth, memory_growth; /* of each step against the one before */
    roofline_fs overhead_fs;                 /* all that does not grow, with kernels apart the matrices too */
};
struct roofline_run roofline_run(const struct roofline *r, const struct roofline_load *load,
                                 uint64_t sequences, uint64_t sliding);
/* The same steps without what a larger batch takes no more of: reading the weights, and overheads. */
struct roofline_run roofline_run_work(const struct roofline *r, const struct roofline_load *load,
                                      uint64_t sequences, uint64_t sliding);
/* Time of the first `steps` steps; exact, in constant time. */
roofline_fs roofline_run_fs(const struct roofline_run *run, uint64_t steps);
/* The fewest steps, from 1 up to `most`, that last for at least that time. */
uint64_t roofline_run_reach(const struct roofline_run *run, roofline_fs fs, uint64_t most);

/* Prefill of n tokens behind `cached` ones in one step with nobody else in the batch, and a decode step of
 * `sequences` contexts of `context` tokens; ns, rounded up. Prefill of nothing takes 0. */
uint64_t roofline_prefill_ns(const struct roofline *r, uint64_t n, uint64_t cached);
uint64_t roofline_decode_ns(const struct roofline *r, uint64_t sequences, uint64_t context);

#endif
