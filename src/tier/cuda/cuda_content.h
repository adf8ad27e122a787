/* The content of entries in device memory, in vectors of 16 bytes: the same bytes that tier/payload.h
 * generates in host memory. The work of one kernel thread is here too, in code that both nvcc and a host
 * compiler accept, so tests run every thread of a launch on the host.
 *
 * An extent says where a part of an entry is: its bytes [offset, offset + bytes) are at `address`. Extents
 * are in order and without gaps. Offsets and addresses are multiples of 16. The last extent may have any
 * length, but its memory extends to the next multiple of 16. */
#ifndef KVF_TIER_CUDA_CUDA_CONTENT_H
#define KVF_TIER_CUDA_CUDA_CONTENT_H

#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define CUDA_BOTH       static __host__ __device__ __forceinline__
#define CUDA_UNROLLED_8 _Pragma("unroll 8")
#else
#define CUDA_BOTH static inline __attribute__((unused))
#define CUDA_UNROLLED_8
#endif

/* These limits keep a kernel's parameters within 4 KiB. */
enum {
    CUDA_EXTENTS = 120,
    CUDA_BLOCK = 4096,
    CUDA_VECTOR = 16,
    CUDA_BLOCK_VECTORS = 256,
    CUDA_STAMP_VECTORS = 4,
    CUDA_THREADS = 256, /* per thread block; in one step they process one block of content */
    CUDA_LANES = 32,
    CUDA_WARPS = CUDA_THREADS / CUDA_LANES,
    CUDA_TILE = 65536, /* bytes per thread block */
    CUDA_STEPS = CUDA_TILE / (CUDA_THREADS * CUDA_VECTOR),
    CUDA_COPIES = 4 /* uses of noise that is read once, where an extent repeats it */
};

struct cuda_extent {
    uint64_t offset; /* within the entry */
    uint64_t address;
    uint64_t bytes;
};

/* A launch: bytes [from, to) of an entry, which the extents cover. */
struct cuda_work {
    struct cuda_extent extent[CUDA_EXTENTS];
    uint32_t extents;
    uint64_t from, to;
};

/* By extent, the number of tiles before it: a thread block looks up its own. */
struct cuda_tiles {
    uint32_t first[CUDA_EXTENTS + 1];
};

struct cuda_content {
    uint64_t magic, key_hi, key_lo, generation, seed;
    uint64_t base;         /* hash of all the above, for the checks */
    uint64_t noise;        /* device address */
    uint64_t noise_blocks; /* at that address */
    uint64_t first;        /* noise block of the entry's first block */
    uint64_t window;       /* noise blocks in use, a power of two */
};

/* The result of checking an entry. */
struct cuda_verdict {
    uint64_t bad; /* number of wrong blocks */
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

/* One of the four vectors of a struct payload_stamp. */
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

/* Whether the first `valid` bytes (1 to 16) of two vectors differ. */
CUDA_BOTH int cuda_vector_differs(struct cuda_vector a, struct cuda_vector b, uint64_t valid) {
    uint64_t lo = a.lo ^ b.lo, hi = a.hi ^ b.hi;
    if (valid < 8) return (lo << (64 - 8 * valid)) != 0;
    if (valid < 16) return lo != 0 || (valid > 8 && (hi << (128 - 8 * valid)) != 0);
    return (lo | hi) != 0;
}

/* Whether a vector of a block's stamp is wrong. Of a stamp that the end of the entry cuts short only the
 * bytes that exist are compared, and its check only if it is complete. */
CUDA_BOTH int cuda_stamp_wrong(const struct cuda_content *c, uint64_t block, uint32_t index,
                               struct cuda_vector got, uint64_t valid) {
    if (index < 3) return cuda_vector_differs(got, cuda_stamp_vector(c, block, 0, index), valid);
    if (valid < 16) return 0;
    return got.lo >= c->noise_blocks || cuda_vector_differs(got, cuda_stamp_vector(c, block, got.lo, 3), 16);
}

/* The extent with this byte of the entry, which must exist. */
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

/* ---- memory ---- */

/* Loads through the device's cache if the data is used again, past it otherwise. */
CUDA_BOTH struct cuda_vector cuda_load(uint64_t address, int again) {
    struct cuda_vector v;
#ifdef __CUDA_ARCH__
    const ulonglong2 *at = reinterpret_cast<const ulonglong2 *>(address);
    ulonglong2 got = again ? __ldg(at) : __ldcs(at);
    v.lo = got.x;
    v.hi = got.y;
#else
    (void)again;
    memcpy(&v, (const void *)(uintptr_t)address, sizeof v);
#endif
    return v;
}

CUDA_BOTH void cuda_store(uint64_t address, struct cuda_vector v) {
#ifdef __CUDA_ARCH__
    __stcs(reinterpret_cast<ulonglong2 *>(address), make_ulonglong2(v.lo, v.hi));
#else
    memcpy((void *)(uintptr_t)address, &v, sizeof v);
#endif
}

/* ---- launches ---- */

/* The number of thread blocks for the extents, one per tile. */
CUDA_BOTH uint32_t cuda_tiles_of(const struct cuda_work *w, struct cuda_tiles *t) {
    t->first[0] = 0;
    for (uint32_t i = 0; i < w->extents; i++)
        t->first[i + 1] = t->first[i] + (uint32_t)((w->extent[i].bytes + CUDA_TILE - 1) / CUDA_TILE);
    return t->first[w->extents];
}

/* The number of thread blocks that check the work, one warp per block of content. */
CUDA_BOTH uint32_t cuda_verify_blocks(const struct cuda_work *w) {
    uint64_t blocks = (w->to + CUDA_BLOCK - 1) / CUDA_BLOCK - w->from / CUDA_BLOCK;
    return (uint32_t)((blocks + CUDA_WARPS - 1) / CUDA_WARPS);
}

/* The extent of a thread block's tile. */
CUDA_BOTH uint32_t cuda_extent_of(const struct cuda_work *w, const struct cuda_tiles *t,
                                  uint32_t thread_block) {
    uint32_t low = 0, high = w->extents - 1;
    while (low < high) {
        uint32_t middle = (low + high + 1) / 2;
        if (t->first[middle] <= thread_block)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* ---- what one thread does ---- */

/* A thread's vectors: `steps` of them, CUDA_BLOCK apart, so all have the same offset in their blocks. */
struct cuda_share {
    uint64_t offset, address;
    uint32_t steps;
};

CUDA_BOTH struct cuda_share cuda_share_of(const struct cuda_extent *e, uint32_t tile, uint32_t thread) {
    struct cuda_share s;
    uint64_t at = (uint64_t)tile * CUDA_TILE + thread * CUDA_VECTOR;
    uint64_t left = at < e->bytes ? (e->bytes - at + CUDA_BLOCK - 1) / CUDA_BLOCK : 0;
    s.offset = e->offset + at;
    s.address = e->address + at;
    s.steps = left < CUDA_STEPS ? (uint32_t)left : CUDA_STEPS;
    return s;
}

CUDA_BOTH void cuda_generate_steps(const struct cuda_content *c, const struct cuda_share *s, uint32_t steps) {
    uint64_t block = s->offset / CUDA_BLOCK;
    uint32_t index = (uint32_t)(s->offset / CUDA_VECTOR % CUDA_BLOCK_VECTORS);
    if (index < CUDA_STAMP_VECTORS) {
        for (uint32_t i = 0; i < steps; i++)
            cuda_store(s->address + (uint64_t)i * CUDA_BLOCK,
                       cuda_stamp_vector(c, block + i, cuda_noise_block(c, block + i), index));
        return;
    }
    CUDA_UNROLLED_8
    for (uint32_t i = 0; i < steps; i++) {
        uint64_t noise = c->noise + cuda_noise_block(c, block + i) * CUDA_BLOCK + index * CUDA_VECTOR;
        cuda_store(s->address + (uint64_t)i * CUDA_BLOCK, cuda_load(noise, 1));
    }
}

/* Noise repeats after as many blocks as the window has. A thread fills CUDA_COPIES stretches of blocks at
 * that distance, which need the same noise. */
CUDA_BOTH void cuda_generate_copies(const struct cuda_content *c, uint64_t offset, uint64_t address) {
    enum { STEPS = CUDA_STEPS / CUDA_COPIES };
    uint64_t block = offset / CUDA_BLOCK;
    uint32_t index = (uint32_t)(offset / CUDA_VECTOR % CUDA_BLOCK_VECTORS);
    struct cuda_vector v[STEPS];
    CUDA_UNROLLED_8
    for (uint32_t i = 0; i < STEPS; i++)
        v[i] = cuda_load(c->noise + cuda_noise_block(c, block + i) * CUDA_BLOCK + index * CUDA_VECTOR, 1);
    CUDA_UNROLLED_8
    for (uint32_t k = 0; k < CUDA_COPIES; k++) {
        CUDA_UNROLLED_8
        for (uint32_t i = 0; i < STEPS; i++) {
            uint64_t behind = k * c->window + i;
            if (index < CUDA_STAMP_VECTORS)
                v[i] = cuda_stamp_vector(c, block + behind, cuda_noise_block(c, block + i), index);
            cuda_store(address + behind * CUDA_BLOCK, v[i]);
        }
    }
}

CUDA_BOTH uint64_t cuda_checksum_steps(const struct cuda_share *s, uint32_t steps) {
    uint64_t total = 0;
    CUDA_UNROLLED_8
    for (uint32_t i = 0; i < steps; i++) {
        struct cuda_vector v = cuda_load(s->address + (uint64_t)i * CUDA_BLOCK, 0);
        total += v.lo ^ v.hi;
    }
    return total;
}

/* Generates the thread's part of the content. Full tiles have a constant number of steps, so that several
 * loads are in flight. If an extent repeats its noise CUDA_COPIES times, each tile covers all repetitions of
 * its noise and reads it once. */
CUDA_BOTH void cuda_generate_thread(const struct cuda_work *w, const struct cuda_tiles *t,
                                    const struct cuda_content *c, uint32_t thread_block, uint32_t thread) {
    uint32_t extent = cuda_extent_of(w, t, thread_block), tile = thread_block - t->first[extent];
    const struct cuda_extent *e = &w->extent[extent];
    uint64_t round = CUDA_COPIES * c->window * CUDA_BLOCK;
    uint32_t tiles = (uint32_t)(round / CUDA_TILE);
    if (tile < e->bytes / round * tiles) {
        uint64_t at = tile / tiles * round + (uint64_t)(tile % tiles) * (CUDA_TILE / CUDA_COPIES) +
                      (uint64_t)thread * CUDA_VECTOR;
        cuda_generate_copies(c, e->offset + at, e->address + at);
        return;
    }
    struct cuda_share s = cuda_share_of(e, tile, thread);
    if (s.steps == CUDA_STEPS)
        cuda_generate_steps(c, &s, CUDA_STEPS);
    else
        cuda_generate_steps(c, &s, s.steps);
}

/* The thread's part of the sum, over the exclusive or of the two halves of each vector. */
CUDA_BOTH uint64_t cuda_checksum_thread(const struct cuda_work *w, const struct cuda_tiles *t,
                                        uint32_t thread_block, uint32_t thread) {
    uint32_t extent = cuda_extent_of(w, t, thread_block);
    struct cuda_share s = cuda_share_of(&w->extent[extent], thread_block - t->first[extent], thread);
    return s.steps == CUDA_STEPS ? cuda_checksum_steps(&s, CUDA_STEPS) : cuda_checksum_steps(&s, s.steps);
}

/* The block of content that a warp checks; it may be past the end of the work. */
CUDA_BOTH uint64_t cuda_verify_block(const struct cuda_work *w, uint32_t thread_block, uint32_t thread) {
    return w->from / CUDA_BLOCK + (uint64_t)thread_block * CUDA_WARPS + thread / CUDA_LANES;
}

/* Whether a lane's part of a block is wrong. The stamp says which noise the block has; a stamp with an
 * unknown noise block is itself wrong. */
CUDA_BOTH int cuda_verify_lane(const struct cuda_work *w, const struct cuda_content *c, int full,
                               uint64_t block, uint32_t lane) {
    uint64_t begin = block * CUDA_BLOCK, noise = 0;
    uint64_t bytes = w->to - begin < CUDA_BLOCK ? w->to - begin : CUDA_BLOCK;
    if (full && bytes > CUDA_STAMP_VECTORS * CUDA_VECTOR) {
        uint64_t from = cuda_load(cuda_address(w, begin + 3 * CUDA_VECTOR), 0).lo;
        if (from < c->noise_blocks) noise = c->noise + from * CUDA_BLOCK;
    }
    int wrong = 0;
    for (uint32_t i = lane; i < CUDA_BLOCK_VECTORS; i += CUDA_LANES) {
        if (i * CUDA_VECTOR >= bytes || (i >= CUDA_STAMP_VECTORS && !noise)) break;
        uint64_t left = bytes - i * CUDA_VECTOR, valid = left < CUDA_VECTOR ? left : CUDA_VECTOR;
        struct cuda_vector got = cuda_load(cuda_address(w, begin + i * CUDA_VECTOR), 0);
        wrong |= i < CUDA_STAMP_VECTORS
                     ? cuda_stamp_wrong(c, block, i, got, valid)
                     : cuda_vector_differs(got, cuda_load(noise + i * CUDA_VECTOR, 1), valid);
    }
    return wrong;
}

#endif
