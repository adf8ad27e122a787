/* The content of entries in device memory, by 16 bytes: the same that payload makes in host memory, written
 * so that a kernel and a host compiler both take it. All functions are pure.
 *
 * Extents say where a part of an entry is: logical bytes [offset, offset + bytes) lie at `address`. They
 * follow each other without gaps, and all begin at a multiple of 16 bytes. */
#ifndef KVF_TIER_CUDA_CONTENT_H
#define KVF_TIER_CUDA_CONTENT_H

#include <stdint.h>

#ifdef __CUDACC__
#define CUDA_BOTH static __host__ __device__ __forceinline__
#else
#define CUDA_BOTH static inline __attribute__((unused))
#endif

/* What fits the parameters of a kernel beside the rest: these are limited to 4 KiB. */
enum {
    CUDA_EXTENTS = 120,
    CUDA_BLOCK = 4096,
    CUDA_VECTOR = 16,
    CUDA_BLOCK_VECTORS = 256,
    CUDA_STAMP_VECTORS = 4
};

struct cuda_extent {
    uint64_t offset; /* within the entry */
    uint64_t address;
    uint64_t bytes;
};

/* One launch: the bytes [from, to) of an entry, which the extents cover. */
struct cuda_work {
    struct cuda_extent extent[CUDA_EXTENTS];
    uint32_t extents;
    uint64_t from, to;
};

struct cuda_content {
    uint64_t magic, key_hi, key_lo, generation, seed;
    uint64_t base;         /* of the checks, from all the above */
    uint64_t noise;        /* device address */
    uint64_t noise_blocks; /* there */
    uint64_t first;        /* noise block of the entry's first block */
    uint64_t window;       /* noise blocks that entries are made from, a power of two */
};

/* What a check of an entry found. */
struct cuda_verdict {
    uint64_t bad;  /* blocks */
    uint64_t last; /* ~index of the first of them: the greatest; 0: none */
};

struct cuda_vector {
    uint64_t lo, hi;
};

CUDA_BOTH uint64_t cuda_mix64(uint64_t x) { /* hash_mix64() */
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

CUDA_BOTH uint64_t cuda_noise_block(const struct cuda_content *c, uint64_t block) {
    return (c->first + block) & (c->window - 1);
}

/* The four vectors of a stamp: struct payload_stamp. */
CUDA_BOTH struct cuda_vector cuda_stamp_vector(const struct cuda_content *c, uint64_t block,
                                               uint64_t noise_block, uint32_t index) {
    struct cuda_vector v;
    v.lo = index == 0 ? c->magic : index == 1 ? c->key_lo : index == 2 ? block : noise_block;
    v.hi = index == 0   ? c->key_hi
           : index == 1 ? c->generation
           : index == 2 ? c->seed
                        : cuda_mix64(cuda_mix64(c->base ^ block) + noise_block);
    return v;
}

/* Whether `valid` bytes (1 to 16, from the first on) of two vectors differ. */
CUDA_BOTH int cuda_vector_differs(struct cuda_vector a, struct cuda_vector b, uint64_t valid) {
    uint64_t lo = a.lo ^ b.lo, hi = a.hi ^ b.hi;
    if (valid < 8) return (lo << (64 - 8 * valid)) != 0;
    if (valid < 16) return lo != 0 || (valid > 8 && (hi << (128 - 8 * valid)) != 0);
    return (lo | hi) != 0;
}

/* Whether a vector of a block's stamp is not what it should be. A stamp that the end of the entry cuts
 * short is judged by the bytes it has, its check only when it is whole. */
CUDA_BOTH int cuda_stamp_wrong(const struct cuda_content *c, uint64_t block, uint32_t index,
                               struct cuda_vector got, uint64_t valid) {
    if (index < 3) return cuda_vector_differs(got, cuda_stamp_vector(c, block, 0, index), valid);
    if (valid < 16) return 0;
    return got.lo >= c->noise_blocks || cuda_vector_differs(got, cuda_stamp_vector(c, block, got.lo, 3), 16);
}

/* The extent that has a byte of the entry; the caller knows that one has. */
CUDA_BOTH uint32_t cuda_find(const struct cuda_work *w, uint64_t offset) {
    uint32_t low = 0, high = w->extents - 1;
    while (low < high) {
        uint32_t middle = (low + high + 1) / 2;
        if (w->extent[middle].offset <= offset)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

CUDA_BOTH uint64_t cuda_address(const struct cuda_work *w, uint64_t offset) {
    const struct cuda_extent *e = &w->extent[cuda_find(w, offset)];
    return e->address + (offset - e->offset);
}

#endif
